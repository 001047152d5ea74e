"""`rosenblatt train`: its results equal the library's, and its files are written where they should be."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.catalog import ALGORITHMS


def test_summary_fields(tmp_path):
    found = rosenblatt("train", "example:iris", "-a", "average", "-o", tmp_path / "m.safetensors")
    assert found.code == 0
    names = [line.split("  ")[0] for line in found.out.splitlines() if not line.startswith(" ")]
    assert names == ["data", "algorithm", "fit", "work", "training", "test", "baseline", "margin", "proof", "time", "model"]
    assert "95 % interval" in found.out
    assert "m.safetensors" in found.out


def test_numbers_are_those_of_the_library(tmp_path):
    target = tmp_path / "m.safetensors"
    given = ("-a", "average", "--holdout", 0, "--scale", "none")
    result = rosenblatt("train", "example:iris", *given, "-o", target, "--json").json
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = rb.Perceptron(keep="average", random_state=0).fit(X, names[y])
    assert result["updates"] == model.n_updates_
    assert result["training"]["errors"] == int((model.predict(X) != names[y]).sum())
    assert result["test"] is None
    assert result["verdict"] == "inseparable"
    loaded = rb.load(target)
    np.testing.assert_array_equal(loaded.coef, model.coef_)
    assert loaded.feature_names[0] == "sepal length (cm)"
    assert result["written"] == {"model": str(target)}


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_every_algorithm_of_the_catalog(tmp_path, algorithm):
    target = tmp_path / "m.safetensors"
    source = "example:separable?rows=60&columns=3&margin=0.2"
    result = rosenblatt("train", source, "-a", algorithm, "-o", target, "--json").json
    assert result["algorithm"] == algorithm
    assert result["training"]["error"] <= 0.2
    assert rb.load(target).kind == ALGORITHMS[algorithm].name


def test_early_stopping_keeps_the_best_pass(tmp_path):
    target, source = tmp_path / "m.safetensors", "example:blobs?rows=200"
    options = ("--early-stopping", "--validation-fraction", 0.3, "--n-iter-no-change", 3)
    result = rosenblatt("train", source, "-a", "perceptron", *options, "-o", target, "--json").json
    model = rb.load(target).estimator()
    errors = model.validation_errors_[0]
    assert result["stop"]["reason"] == "validation"
    assert result["n_iter"] == model.n_iter_ == errors.argmin() + 1 == len(errors) - 3
    (tmp_path / "rows.csv").write_text("a,label\n" + "1,x\n2,y\n" * 20)
    streamed = rosenblatt("train", tmp_path / "rows.csv", "-a", "average", "--early-stopping", "--stream", "-o", target)
    assert "--early-stopping needs all rows in memory: leave out this option or --stream" in streamed.err


def test_updates_stand_beside_what_the_theorem_allows(tmp_path):
    source = "example:separable?rows=60&columns=3&margin=0.2"
    options = ("-a", "perceptron", "--max-iter", "none", "--scale", "none", "-o", tmp_path / "m", "--json")
    result = rosenblatt("train", source, *options).json
    assert result["stop"]["reason"] == "separated"
    assert 0 < result["updates"] <= result["updates_possible"] <= 2 / 0.2**2  # rows in the unit ball, and x_0 = 1
    assert result["margin"] > 0


@pytest.mark.parametrize(
    ("options", "formula"),
    [
        (["-a", "perceptron"], "R^2/gamma^2"),
        (["-a", "margin"], "(R^2 + 2b/rho)/gamma^2"),
        (["-a", "margin", "--step", 0.25, "--margin", "auto"], "(R^2 + 2b/rho)/gamma^2"),
        (["-a", "perceptron", "--intercept-scaling", 2.0], "R^2/gamma^2"),
    ],
)
def test_terminal_json_and_report_give_the_same_bound(tmp_path, options, formula):
    page, target = tmp_path / "report.html", tmp_path / "m"
    command = ["train", "example:separable?rows=60&columns=3&margin=0.2", *options, "--max-iter", "none", "-o", target]
    result = rosenblatt(*command, "--json").json
    bound = f"{math.floor(result['updates_possible']):,}"
    assert f"(at most {bound} are possible: {formula})" in rosenblatt(*command, "--report", page).out
    assert f"<p>At most {bound} updates are possible" in page.read_text()
    assert result["updates"] <= result["updates_possible"]


def test_hold_out_folds_and_test_file_are_three_ways_to_test(tmp_path):
    one = rosenblatt("train", "example:wine", "--holdout", 0.5, "-o", tmp_path / "m", "--json").json
    assert one["test"]["rows"] + one["training"]["rows"] == 178
    assert abs(one["test"]["rows"] - 89) <= 2
    many = rosenblatt("train", "example:wine", "--cv", 5, "-o", tmp_path / "m", "--json").json
    assert sum(fold["rows"] for fold in many["folds"]) == many["training"]["rows"] == 178
    data = tmp_path / "rows.csv"
    data.write_text("a,b,label\n" + "".join(f"{i},{i % 3},{'yes' if i > 5 else 'no'}\n" for i in range(12)))
    other = tmp_path / "other.csv"
    other.write_text("b,label,a\n0,no,0\n1,yes,11\n")
    tested = rosenblatt("train", data, "--test", other, "-o", tmp_path / "m", "--json").json
    assert (tested["training"]["rows"], tested["test"]["rows"]) == (12, 2)
    twice = rosenblatt("train", data, "--test", other, "--cv", 3)
    assert (twice.code, twice.err) == (2, "rosenblatt: --test and --cv exclude each other: give one of them\n")


def test_default_model_path_is_named_after_the_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert rosenblatt("train", "example:xor?rows=40").code == 0
    assert (tmp_path / "xor.safetensors").is_file()
    assert rosenblatt("train", "example:xor?rows=40").code == 0  # ours may be replaced
    (tmp_path / "xor.safetensors").write_text("not a model")
    refused = rosenblatt("train", "example:xor?rows=40")
    assert refused.code == 2
    assert "is not a Rosenblatt model" in refused.err
    assert (tmp_path / "xor.safetensors").read_text() == "not a model"
    assert rosenblatt("train", "example:xor?rows=40", "m.safetensors").code == 0  # as LIBLINEAR has it
    assert (tmp_path / "m.safetensors").is_file()


def test_scaling_is_reported_stored_and_applied(tmp_path):
    data = tmp_path / "rows.csv"
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((80, 2)) * [1.0, 1e6]
    labels = np.where(rows[:, 0] + rows[:, 1] / 1e6 > 0, "up", "down")
    lines = [f"{a!r},{b!r},{y}\n" for (a, b), y in zip(rows.tolist(), labels, strict=True)]
    data.write_text("small,large,label\n" + "".join(lines))
    target = tmp_path / "m.safetensors"
    result = rosenblatt("train", data, "-o", target, "--json").json
    assert any("mean 0 and standard deviation 1" in note for note in result["notes"])
    assert result["training"]["error"] < 0.1
    plain = tmp_path / "unlabeled.csv"
    plain.write_text("large,small\n" + "".join(f"{b!r},{a!r}\n" for a, b in rows.tolist()))
    found = rosenblatt("predict", target, plain).out.split()
    assert np.mean(np.array(found) == labels) > 0.9


def test_report_and_plots(tmp_path):
    page, plot, svg = (tmp_path / name for name in ("r.html", "m.png", "confusion.svg"))
    found = rosenblatt(
        "train", "example:iris", "-o", tmp_path / "m", "--report", page, "--plot", f"margins:{plot}", "--plot", svg, "--json"
    )
    assert found.json["written"] == {
        "model": str(tmp_path / "m"), "report": str(page), "plot of margins": str(plot), "plot of confusion": str(svg),
    }  # fmt: skip
    text = page.read_text()
    assert "setosa" in text
    assert "sepal length" in text
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert svg.read_text().lstrip().startswith("<")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["example:iris", "--alpha", "1"], "--alpha is not a parameter of average"),
        (["example:iris", "--holdout", "1.5"], "--holdout must be at least 0 and less than 1, got 1.5 (0: no row is held out)"),
        (["example:iris", "--max-iter", "0"], "--max-iter must be at least 1, got 0"),
        (["example:iris", "-a", "arow", "--max-iter", "none"], "--max-iter must be a whole number, got none"),
        (["example:iris", "-a", "soft-margin", "--n-jobs", "0"], "--n-jobs must be a whole number other than 0, got 0"),
        (["example:iris", "-a", "soft-margin", "--solver", "online"], "--solver must be one of 'auto', 'newton'"),
        (["example:iris", "--solver", "foo"], "--solver: 'foo' is not one of 'auto', 'newton', 'interior-point'"),
        (["example:iris", "--max-passes", "3"], "there is no option --max-passes; use --max-iter (see "),
        (["example:iris", "--keep", "vote"], "there is no option --keep; use --algorithm (see "),
        (["example:iris", "--ham", "x"], "there is no option --ham (see "),
        (["example:iris", "--max-iter", "ten"], "--max-iter: 'ten' is not a whole number or auto or none (see "),
        (["example:iris", "--cv", "1"], "--cv: must be at least 2, got 1 (see "),
        (["example:iris", "--degree", "21"], "--degree: must be from 1 to 20, got 21 (see "),
        (["example:iris", "--seed", "x"], "--seed: 'x' is not a whole number (see "),
        (["example:iris", "--holdout", "half"], "--holdout: 'half' is not a number (see "),
        (["example:iris", "--algorithm", "perceptrn"], "unknown algorithm 'perceptrn'; did you mean 'perceptron'?"),
        (["example:iris", "--algorithm", "svm"], "unknown algorithm 'svm'; choose from auto, perceptron, pocket"),
        (["example:iris", "--lable", "x"], "there is no option --lable; did you mean --label? (see "),
        ([], "DATA is missing (see "),
        (["example:iris", "--algorithm", "max-margin", "--holdout", "0"], "no plane separates the rows of class versicolor"),
        (["example:nothing"], "nothing"),
        (["absent.csv"], "absent.csv"),
        (["example:iris", "-o", "no/such/folder/m"], "no folder"),
        (["example:iris", "--plot", "nonsense:x.png"], "unknown figure 'nonsense'"),
        (["example:iris", "--plot", "margins:x.bmp"], "x.bmp"),
        (["example:iris", "--stream"], "leave out --stream"),
    ],
)
def test_an_invalid_request_is_one_line(tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    found = rosenblatt("train", *arguments)
    assert found.code == 2
    assert found.out == ""
    assert sentence in found.err
    assert found.err.startswith("rosenblatt: ")
    assert found.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_no_command_overwrites_its_input(tmp_path):
    data = tmp_path / "rows.csv"
    data.write_text("a,label\n" + "".join(f"{i},{'yes' if i > 9 else 'no'}\n" for i in range(20)))
    before = data.read_bytes()
    model = tmp_path / "m"
    assert rosenblatt("train", data, "-a", "average", "-o", model).code == 0
    for arguments in (
        ["train", data, "-o", data], ["train", "example:iris", "--test", data, "--report", data],
        ["predict", model, data, "-o", data], ["predict", model, data, "-o", model], ["convert", data, data],
        ["certify", data, "-o", data],
    ):  # fmt: skip
        refused = rosenblatt(*arguments)
        assert refused.code == 2, arguments
    assert data.read_bytes() == before
    assert rb.load(model).kind == "Perceptron"


def test_a_model_replaces_models_and_empty_files_only(tmp_path):
    test = tmp_path / "test.csv"
    test.write_text("a,label\n1,yes\n")
    refused = rosenblatt("train", "example:iris", "-o", test)
    assert refused.code == 2
    assert f"not overwritten, because it is not a model file; to test on it: --test {test}" in refused.err
    assert test.read_text() == "a,label\n1,yes\n"
    empty = tmp_path / "m"
    empty.touch()
    for _ in range(2):
        assert rosenblatt("train", "example:iris", "-a", "average", empty).code == 0
    assert rb.load(empty).kind == "Perceptron"


def test_proofs_name_the_rows_of_the_file(tmp_path):
    data = tmp_path / "rows.csv"
    rows = [(i, "yes" if i > 50 else "no") for i in range(100)]
    rows[90] = (7, "yes")  # the point of row 7
    data.write_text("a,label\n" + "".join(f"{a},{label}\n" for a, label in rows))
    for seed in range(4):
        result = rosenblatt("train", data, "--seed", seed, "-o", tmp_path / "m", "--json").json
        if result["verdict"] == "inseparable" and "the same point" in result["proof"]:
            assert "rows 8 and 91" in result["proof"]  # counted from 1
            assert result["proof_rows"] == [8, 91]


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["x,label"] + [f"{i},{i * 0.37!r}" for i in range(80)], "80 distinct values: these are quantities"),
    ],
)
def test_files_that_are_not_for_classes(tmp_path, lines, sentence):
    data = tmp_path / "rows.csv"
    data.write_text("\n".join(lines))
    found = rosenblatt("train", data, "--missing", "mean", "--label", "label", "--holdout", 0, "-o", tmp_path / "m")
    assert found.code == 2
    assert sentence in found.err


def test_fractions_and_leading_zeros_are_names(tmp_path):
    data = tmp_path / "rows.csv"
    for pair in (("1.5", "2.5"), ("01", "02"), ("True", "False")):
        data.write_text("a,label\n" + "".join(f"{i},{pair[i > 9]}\n" for i in range(20)))
        assert rosenblatt("train", data, "--holdout", 0, "-o", tmp_path / "m").code == 0
        assert set(rosenblatt("predict", tmp_path / "m", data).out.split()) == set(pair)


def test_columns_far_out_are_refused_before_memory_is(tmp_path):
    data = tmp_path / "rows.svm"
    data.write_text("1 3:2\n-1 2147483647:1\n")
    for more in ((), ("--stream",)):
        found = rosenblatt("train", data, "--holdout", 0, *more, "-o", tmp_path / "m")
        assert found.code == 2
        assert "is the largest column number a mistake?" in found.err


def test_many_folds_and_few_rows(tmp_path):
    assert "got 200 folds for 150 rows" in rosenblatt("train", "example:iris", "--cv", 200).err
    data = tmp_path / "rows.csv"
    data.write_text("a,label\n1,x\n2,y\n3,x\n4,y\n")
    assert "No row was held out" in rosenblatt("train", data, "-o", tmp_path / "m").out


def test_equal_output_names_and_unavailable_figures_are_refused_before_writing(tmp_path):
    both = tmp_path / "same.html"
    assert "the same name" in rosenblatt("train", "example:iris", "-o", both, "--report", both).err
    plot = f"learning:{tmp_path / 'l.svg'}"
    found = rosenblatt("train", "example:iris", "-a", "linear-mse", "-o", tmp_path / "m", "--plot", plot)
    assert (found.code, found.err) == (
        2,
        "rosenblatt: the figure 'learning' is not available for linear-mse: choose another figure\n",
    )
    assert not list(tmp_path.iterdir())


def test_pairs_of_classes_are_named(tmp_path):
    target = tmp_path / "m.safetensors"
    assert rosenblatt("train", "example:iris", "-a", "soft-margin", "--multiclass", "ovo", "-o", target).code == 0
    heavy = rosenblatt("show", target, "--json", "--features", 1).json["heaviest"]
    pairs = ["versicolor (not setosa)", "virginica (not setosa)", "virginica (not versicolor)"]
    assert [each["class"] for each in heavy] == pairs
    assert heavy[1]["feature"].startswith("petal")
    assert heavy[1]["weight"] > 0  # virginicas have the large petals


def test_the_scheme_that_auto_chose_is_printed(tmp_path):
    target, report = tmp_path / "m.safetensors", tmp_path / "report.html"
    chose = "multiclass=auto chose pairs of classes, which vote: 3 planes"
    trained = rosenblatt("train", "example:iris", "-a", "soft-margin", "-o", target, "--report", report)
    assert chose in trained.out
    assert chose in rosenblatt("show", target).out
    assert chose in report.read_text()
    assert "multiclass=auto" not in rosenblatt("train", "example:iris", "-a", "perceptron", "-o", target).out


@pytest.mark.parametrize("ending", ["csv", "jsonl", "npz", "parquet"])
def test_large_whole_numbers_and_truth_values_stay_apart(tmp_path, ending):
    labels = [2**53, 2**53 + 1, 5] * 8
    path = tmp_path / f"rows.{ending}"
    rows = [[float(i % 3), float(i)] for i in range(24)]
    if ending == "npz":
        np.savez(path, X=np.array(rows), y=np.array(labels))
    elif ending == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"a": [row[0] for row in rows], "b": [row[1] for row in rows], "label": labels}), path)
    else:
        form = '{{"a": {}, "b": {}, "label": {}}}' if ending == "jsonl" else "{},{},{}"
        lines = [form.format(a, b, y) for (a, b), y in zip(rows, labels, strict=True)]
        path.write_text("\n".join(([] if ending == "jsonl" else ["a,b,label"]) + lines) + "\n")
    result = rosenblatt("train", path, "--holdout", 0, "-o", tmp_path / "m", "--json").json
    assert sorted(result["classes"]) == sorted([str(2**53), str(2**53 + 1), "5"])


def test_huge_numbers_are_written_shortly_and_are_no_ids(tmp_path):
    values = np.random.default_rng(0).normal(size=(160, 2)) * [1e300, 1.0]
    lines = [f"{a!r},{b!r},{'xy'[row % 2]}" for row, (a, b) in enumerate(values.tolist())]
    data = tmp_path / "rows.csv"
    data.write_text("\n".join(["a,b,class", *lines]) + "\n")
    found = rosenblatt("train", data, "-o", tmp_path / "m.safetensors")
    assert found.code == 0
    assert "scaled to mean 0 and standard deviation 1." in found.out
    assert "row id" not in found.out
