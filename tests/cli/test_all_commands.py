"""What several commands or the group have in common: help, imports, JSON, and errors about files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from commands import rosenblatt
from rosenblatt.cli import COMMANDS, main
from rosenblatt.cli.console import print_fields
from rosenblatt.cli.options import Number, WholeNumber


def test_help_of_every_command_has_an_example():
    for name in COMMANDS:
        found = rosenblatt(name, "--help")
        assert found.code == 0
        assert "Example" in found.out, name


def every_command(group: click.Group = main) -> Iterator[click.Command]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield from every_command(command) if isinstance(command, click.Group) else [command]


def test_help_shows_words_as_they_are_typed():
    text = rosenblatt("train", "--help").out
    assert "--max-iter NUMBER|auto|none" in text
    assert "--margin NUMBER|auto" in text


def test_no_option_has_a_number_type_of_click():
    """Their messages are in other words: "1 is not in the range x>=2"."""
    commands = list(every_command())
    assert len(commands) > len(COMMANDS)  # those of `mail`, too
    numbers = (click.IntRange, click.FloatRange, type(click.INT), type(click.FLOAT))
    for command in commands:
        found = {each.name for each in command.params if isinstance(each.type, numbers)}
        assert found == {each.name for each in command.params if isinstance(each.type, WholeNumber | Number)}, command.name


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
    heavy = ("numpy", "sklearn", "scipy", "numba", "pyarrow", "rich", "pandas", "matplotlib", "dask", "distributed")
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
    assert "numbers with decimal comma: 'a'" in rosenblatt(*arguments).err


def test_errors_of_parameters_name_an_option_only_if_the_command_has_it(tmp_path):
    studio = rosenblatt("studio", "--set", "margin=abc", "--export", tmp_path / "page.html")
    assert (studio.code, studio.err.partition(", got")[0]) == (2, "rosenblatt: margin must be a number from 0 to 10")
    certify = rosenblatt("certify", "example:iris", "--time-limit", "-1").err
    assert certify.startswith("rosenblatt: --time-limit must be greater than 0")
    train = rosenblatt("train", "example:iris", "-a", "nonlinear-mse", "--max-iter", "none").err
    reason = "every row moves the weights at every visit"
    assert train == f"rosenblatt: --max-iter must be 'auto' or a whole number, got none: {reason}\n"


def test_a_percent_sign_stays_beside_its_number(capsys):
    for words in range(90, 125):
        print_fields([("error", "x" * words + " 12.50 % of the rows")])
        assert not [line for line in capsys.readouterr().out.splitlines() if line.lstrip().startswith("%")]
