"""Several files, or a pattern, as one: the same rows, models and proofs as of the files joined."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.cli.train import split_model

HEADER = "size,weight,color,label\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table and a sparse file, whole and in three parts each; and a test file of each."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    cells, lines = [], []
    for _ in range(300):
        good = bool(rng.integers(2))
        weight = "" if rng.random() < 0.1 else f"{rng.normal(1000 * good, 500):.3f}"
        cells.append(f"{rng.normal(good):.4f},{weight},{rng.choice(['red', 'green'])},{'yes' if good else 'no'}\n")
        columns = np.sort(rng.choice(30, 5, replace=False)) + 1
        values = rng.standard_normal(5) + (columns % 2 == good)
        lines.append(f"{int(good)} " + " ".join(f"{c}:{v!r}" for c, v in zip(columns, values.tolist(), strict=True)) + "\n")
    (folder / "whole.csv").write_text(HEADER + "".join(cells))
    (folder / "whole.svm").write_text("".join(lines))
    for part in range(3):
        rows = slice(100 * part, 100 * part + 100)
        (folder / f"part-{9 + part}.csv").write_text((HEADER if part != 1 else "") + "".join(cells[rows]))
        (folder / f"part-{9 + part}.svm").write_text("".join(lines[rows]))
    return folder


@pytest.mark.parametrize("ending", ["csv", "svm"])
def test_parts_make_the_model_of_the_whole_file(files, tmp_path, ending):
    parts = [files / f"part-{part}.{ending}" for part in (9, 10, 11)]
    found = {}
    for name, data in (
        ("whole", [files / f"whole.{ending}", "--stream"]),
        ("listed", parts),
        ("pattern", [files / f"part-*.{ending}"]),
    ):
        result = rosenblatt("train", *data, "-o", tmp_path / name, "--json")
        assert result.code == 0, result.err
        found[name] = result.json
    whole = rb.load(tmp_path / "whole")
    for name in ("listed", "pattern"):
        model = rb.load(tmp_path / name)
        assert model.recipe == whole.recipe
        np.testing.assert_array_equal(model.coef, whole.coef)
        assert [found[name][part] for part in ("training", "test")] == [found["whole"][part] for part in ("training", "test")]
        assert "3 files were read as one and streamed, as with --stream." in found[name]["notes"]
    assert found["pattern"]["data"]["source"] == f"{parts[0]} and 2 more files"


def test_a_pattern_of_one_file_is_that_file(files, tmp_path):
    for name, data in (("one", files / "part-9.csv"), ("pattern", files / "part-9.c*")):
        assert rosenblatt("train", data, "-o", tmp_path / name).code == 0
    assert rb.load(tmp_path / "pattern").kind == "SoftMargin"
    np.testing.assert_array_equal(rb.load(tmp_path / "one").coef, rb.load(tmp_path / "pattern").coef)


@pytest.mark.parametrize("stream", [(), ("--stream",)])
def test_the_test_file_may_be_a_pattern(files, tmp_path, stream):
    arguments = ("train", files / "part-9.svm", "-a", "average", *stream, "--json", "-o", tmp_path / "m")
    found = rosenblatt(*arguments, "--test", files / "part-1*.svm").json
    assert found["test"]["rows"] == 200
    assert found["test"]["errors"] == sum(
        rosenblatt(*arguments, "--test", files / f"part-{part}.svm").json["test"]["errors"] for part in (10, 11)
    )


def test_predictions_and_measures_are_those_of_the_joined_rows(files, tmp_path):
    model, parts = tmp_path / "m", files / "part-*.csv"
    rosenblatt("train", files / "whole.csv", "-o", model)
    whole = rosenblatt("predict", model, files / "whole.csv", "--scores")
    assert rosenblatt("predict", model, parts, "--scores").out == whole.out
    output = tmp_path / "labels.tsv"
    listed = [files / f"part-{part}.csv" for part in (9, 10, 11)]
    result = rosenblatt("predict", model, *listed, "--scores", "-o", output)
    assert output.read_text() == whole.out
    assert f"on {listed[0]} and 2 more files (" in result.err
    measured = [rosenblatt("evaluate", model, data, "--json").json for data in (files / "whole.csv", parts)]
    assert measured[0].pop("tested_on_training_rows")
    measured[0].pop("warnings"), measured[1].pop("warnings")
    assert not measured[1].pop("tested_on_training_rows")
    assert measured[0] == measured[1]


def test_a_model_of_parts_knows_them(files, tmp_path):
    parts = files / "part-*.svm"
    rosenblatt("train", parts, "-o", tmp_path / "m")
    assert rosenblatt("evaluate", tmp_path / "m", parts, "--json").json["tested_on_training_rows"]
    assert not rosenblatt("evaluate", tmp_path / "m", files / "part-9.svm", "--json").json["tested_on_training_rows"]


def test_proofs_are_about_the_rows_of_all_files(tmp_path):
    for name, rows in (("a", "1,x\n2,y\n"), ("b", "3,y\n2,x\n")):
        (tmp_path / f"{name}.csv").write_text("size,label\n" + rows)
    found = rosenblatt("certify", tmp_path / "a.csv", tmp_path / "b.csv", "-o", tmp_path / "proof.json")
    assert found.code == 1
    assert "rows 2 and 4 are the same point" in found.out
    assert f"rosenblatt verify {tmp_path / 'proof.json'} {tmp_path / 'a.csv'} {tmp_path / 'b.csv'}" in found.out
    assert rosenblatt("verify", tmp_path / "proof.json", tmp_path / "*.csv").code == 0
    assert rosenblatt("verify", tmp_path / "proof.json", tmp_path / "b.csv", tmp_path / "a.csv").code == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "no-*.csv"], "no-*.csv: no file matches the pattern; its folder is searched from"),
        (["train", "part-9.csv", "absent.csv"], "absent.csv: file not found"),
        (["train", "part-9.csv", "part-9.csv"], "part-9.csv: the file is given twice"),
        (["train", "."], ".: is a folder, not a file; use a pattern such as './*'"),
        (["train", "part-9.csv", "-"], "stdin: several files are read from disk; give it alone"),
        (["train", "part-9.csv", "example:iris"], "example:iris: several files are read from disk; give it alone"),
        (["train", "part-9.csv", "part-9.svm"], "part-9.svm: the file is svmlight, but part-9.csv is csv"),
        (["train", "part-*.csv", "--cv", "3"], "--cv needs the rows in memory: with several files, use --test or --holdout"),
        (["train", "part-*.csv", "--tune"], "--tune needs the rows in memory: join the files to one"),
        (["train", "part-*.csv", "-a", "pocket"], "--algorithm pocket needs all rows in memory: use --algorithm average,"),
        (["train", "part-9.csv", "--test", "no-*"], "no-*: no file matches the pattern"),
        (["train", "part-9.csv", "--mode", "mixed"], "--mode is used by --cluster only: add --cluster, or leave it out"),
        (["predict", "m", "part-9.csv", "absent.csv"], "absent.csv: file not found"),
        (["evaluate", "m", "no-*.csv"], "no-*.csv: no file matches the pattern"),
        (["evaluate", "m", "part-9.csv", "--block-size", "1M"], "--block-size is used by --cluster only"),
        (["certify", "part-9.csv", "part-9.csv"], "part-9.csv: the file is given twice"),
        (["certify", "part-9.csv", "--block-size", "1X"], "--block-size: '1X' is not a size such as 500M or 8G"),
    ],
)  # fmt: skip
def test_wrong_files_are_one_sentence(files, tmp_path, monkeypatch, arguments, sentence):
    for path in files.glob("part-*"):
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    rb.save(rb.Perceptron().fit([[-1.0], [1.0]], ["no", "yes"]), "m")
    before = sorted(Path().iterdir())
    found = rosenblatt(*arguments)
    assert found.code == 2
    assert found.err.startswith(f"rosenblatt: {sentence}"), found.err
    assert found.err.count("\n") == 1
    assert sorted(Path().iterdir()) == before


def test_the_last_argument_may_be_the_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rb.save(rb.Perceptron().fit([[-1.0], [1.0]], ["no", "yes"]), "old")
    for name in ("rows", "rows.t"):
        Path(name).write_text("1 1:1\n-1 1:2\n")
    Path("empty").touch()
    for data, model in (
        (["rows", "m"], "m"), (["rows", "m.safetensors"], "m.safetensors"), (["rows", "old"], "old"),
        (["rows", "empty"], "empty"),
        (["rows", "rows.t", "m.safetensors"], "m.safetensors"), (["rows", "rows.t", "old"], "old"),
        (["rows", "rows.t"], None), (["rows"], None), (["rows", "absent.csv"], None), (["rows", "rows.t", "absent"], None),
        (["rows", "*.t"], None), (["rows", "."], None),
    ):  # fmt: skip
        assert split_model(tuple(data)) == (tuple(data) if model is None else tuple(data[:-1]), model)
