"""show, certify, verify, doctor, compare, completion, and the group itself."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.cli import COMMANDS


def test_help_of_every_command_has_an_example():
    for name in COMMANDS:
        found = rosenblatt(name, "--help")
        assert found.code == 0
        assert "Example" in found.out, name


def test_unknown_commands_get_a_hint():
    found = rosenblatt("trian", "x")
    assert found.code == 2
    assert "did you mean 'train'?" in found.err


def test_help_and_small_predictions_import_nothing_heavy(tmp_path):
    target, data = tmp_path / "m.safetensors", tmp_path / "rows.svm"
    data.write_text("1 1:0.5 2:1\n-1 1:-0.5 2:-1\n1 2:3\n-1 1:-3\n")
    assert rosenblatt("train", data, "--holdout", 0, "-o", target).code == 0
    heavy = ("sklearn", "scipy", "numba", "pyarrow", "rich", "pandas", "matplotlib")
    code = (
        "import sys; from rosenblatt.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        f"finally: print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    for arguments in (["--help"], ["predict", str(target), str(data)]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert done.stderr.splitlines()[-1] == "[]", (arguments, done.stderr)


def test_help_of_every_command_imports_nothing_heavy():
    heavy = ("numpy", "sklearn", "scipy", "numba", "pyarrow", "rich", "pandas", "matplotlib")
    code = (
        "import sys; from rosenblatt.cli import COMMANDS, main\n"
        "for name in COMMANDS:\n"
        "    try: main([name, '--help'])\n"
        "    except SystemExit as end: assert not end.code, (name, end.code)\n"
        f"    found = [module for module in {heavy} if module in sys.modules]\n"
        "    assert not found, (name, found)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_show(tmp_path):
    target = tmp_path / "m.safetensors"
    rosenblatt("train", "example:breast-cancer", "-o", target)
    result = rosenblatt("show", target, "--json", "--features", 3).json
    model = rb.load(target)
    heavy = np.argsort(-abs(model.coef[0]))[:3]
    assert [each["feature"] for each in result["heaviest"]] == [model.feature_names[j] for j in heavy]
    assert result["provenance"]["data"] == "example:breast-cancer"
    assert result["parameters"]["keep"] == "average"
    text = rosenblatt("show", target).out
    assert "Perceptron, 30 features, 2 classes: benign, malignant" in text
    assert [line.split("  ")[0] for line in text.split("\n\n")[0].splitlines() if line[0] != " "] == [
        "model", "parameters", "fit", "work", "preprocessing", "data", "size", "read with", "command", "saved by", "saved at",
    ]  # fmt: skip
    assert "456 rows and 30 columns" in text
    assert "--label class --missing refuse" in text


@pytest.mark.parametrize(
    ("algorithm", "work", "weights"),
    [
        ("pocket", "passes, ", "class "),
        ("vote", "passes, ", "no weights to list: the hypotheses of the run vote"),
        ("soft-margin", " iterations\n", "class "),
        ("linear-mse", None, "class "),
    ],
)
def test_show_counts_what_the_algorithm_does(tmp_path, algorithm, work, weights):
    target = tmp_path / "m.safetensors"
    rosenblatt("train", "example:iris", "-a", algorithm, "-o", target)
    text = rosenblatt("show", target).out
    assert ("\nwork " in text) == (work is not None)
    assert work is None or work in text
    assert text.split("\n\n")[1].startswith(weights)


def test_certificates_go_to_a_file_and_back(tmp_path):
    data, cert = tmp_path / "iris.svm", tmp_path / "c.json"
    rosenblatt("convert", "example:separable?rows=30&columns=2&margin=0.1", data)
    found = rosenblatt("certify", data, "-o", cert)
    assert found.code == 0
    assert "separable" in found.out
    assert rosenblatt("verify", cert, data).code == 0
    done = subprocess.run([sys.executable, "-m", "rosenblatt.certificates.verify", cert, data], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    other = tmp_path / "other.svm"
    other.write_text(data.read_text().replace(" 1:", " 1:9e-9 2:1\n1 1:", 1))
    rejected = rosenblatt("verify", cert, other, "--json")
    assert rejected.code == 1
    assert rejected.json["holds"] is False
    assert rosenblatt("certify", "example:xor?rows=40").code == 1
    undecided = rosenblatt("certify", "example:digits", "--time-limit", 0.001)
    assert undecided.code in (0, 3)


def test_names_are_one_hot_in_certificates(tmp_path):
    data, cert = tmp_path / "rows.csv", tmp_path / "c.json"
    data.write_text("color,size,label\n" + "".join(f"{c},{s},{c == 'red'}\n" for c in ("red", "blue") for s in range(4)))
    assert rosenblatt("certify", data, "-o", cert).code == 0
    assert rosenblatt("verify", cert, data).code == 0


def test_doctor_and_compare():
    assert "No plane separates" in rosenblatt("doctor", "example:xor?rows=40").out
    assert rosenblatt("doctor", "example:xor?rows=40", "--json").json["verdict"] == "inseparable"
    result = rosenblatt("compare", "example:xor?rows=60", "--algorithms", "average,pocket,max-margin", "--json").json
    assert [entry["algorithm"] for entry in result["entries"]] == ["average", "pocket", "max-margin"]
    assert result["entries"][2]["failed"] == "no plane separates the rows"
    assert result["winner"] in ("average", "pocket")
    text = rosenblatt("compare", "example:xor?rows=60", "--algorithms", "average,max-margin").out
    assert "best: average, " in text
    assert "max-margin: no plane separates the rows" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_for_this_command(shell):
    assert "_ROSENBLATT_COMPLETE" in rosenblatt("completion", shell).out


def test_json_is_json_everywhere(tmp_path):
    target = tmp_path / "m"
    for arguments in (
        ["train", "example:iris", "-o", target], ["evaluate", target, "example:iris"], ["show", target],
        ["certify", "example:iris"], ["doctor", "example:iris", "--time-limit", 2],
        ["compare", "example:iris", "--algorithms", "average"], ["convert", "example:iris", tmp_path / "iris.csv"],
    ):  # fmt: skip
        json.loads(rosenblatt(*arguments, "--json").out)


@pytest.mark.parametrize("command", ["certify", "doctor"])
def test_one_class_is_an_error_about_the_file(tmp_path, command):
    data = tmp_path / "one.csv"
    data.write_text("a,label\n1,x\n2,x\n")
    found = rosenblatt(command, data)
    assert found.code == 2
    assert found.err == f"rosenblatt: {data}: all rows have the label 'x'; at least two classes are needed\n"


@pytest.mark.parametrize("command", [["certify"], ["doctor"], ["convert"]])
def test_decimal_commas_are_noted(tmp_path, command):
    data = tmp_path / "rows.csv"
    data.write_text("a;label\n" + "".join(f"{i},5;{'xy'[i % 2]}\n" for i in range(10)))
    arguments = [*command, data, *([tmp_path / "rows.svm"] if command == ["convert"] else [])]
    assert "Column 'a' looks numeric but is categorical, because '0,5' is not a number" in rosenblatt(*arguments).err


def test_a_demo_needs_a_folder(tmp_path):
    file = tmp_path / "report.html"
    file.write_text("")
    found = rosenblatt("demo", "-o", file)
    assert (found.code, found.out) == (2, "")
    assert found.err == f"rosenblatt: {file}: is a file, not a folder\n"


def test_errors_of_parameters_name_an_option_only_if_the_command_has_it(tmp_path):
    studio = rosenblatt("studio", "--set", "margin=abc", "--export", tmp_path / "page.html")
    assert (studio.code, studio.err.partition(", got")[0]) == (2, "rosenblatt: margin must be a number from 0 to 10")
    assert rosenblatt("certify", "example:iris", "--time-limit", "-1").err.startswith(
        "rosenblatt: --time-limit must be greater than 0"
    )
    train = rosenblatt("train", "example:iris", "-a", "nonlinear-mse", "--max-iter", "none").err
    reason = "every row moves the weights at every visit"
    assert train == f"rosenblatt: --max-iter must be 'auto' or a whole number, got none: {reason}\n"
