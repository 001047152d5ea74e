"""Probabilities on the command line: train --calibrate, predict --proba, evaluate, and the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of two classes, and a calibrated model of them."""
    path = tmp_path_factory.mktemp("probabilities")
    rng = np.random.default_rng(0)
    for name, n in (("train", 600), ("test", 400)):
        X = rng.normal(size=(n, 2))
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * X[:, 0] + X[:, 1])), "yes", "no")
        rows = [f"{a!r},{b!r},{label}" for (a, b), label in zip(X.tolist(), y, strict=True)]
        (path / f"{name}.csv").write_text("\n".join(["a,b,bought", *rows]) + "\n")
    done = rosenblatt(
        "train", path / "train.csv", "-o", path / "m.safetensors", "--calibrate", "sigmoid", "--report", path / "r.html"
    )
    assert done.code == 0, done.err
    assert "probabilities" in done.out
    return path


def test_train_prints_the_scores_of_the_held_out_rows(folder: Path, tmp_path: Path) -> None:
    model = ("-o", tmp_path / "m.safetensors", "--calibrate", "isotonic")
    done = rosenblatt("train", folder / "train.csv", *model, "--test", folder / "test.csv", "--json")
    found = json.loads(done.out)["probabilities"]
    assert found["rows"] == 400
    assert 0.3 < found["log_loss"] < found["class_shares"]["log_loss"] < 0.7
    assert found["calibration_error"] < 0.1
    assert sum(each["rows"] for each in found["reliability"]) == 400
    for test, rows in (("--cv", 600), ("--holdout", None)):
        done = rosenblatt("train", folder / "train.csv", *model, test, "3" if test == "--cv" else "0", "--json")
        found = json.loads(done.out)["probabilities"]
        assert found is None if rows is None else found["rows"] == rows  # never of training rows
    done = rosenblatt("train", folder / "train.csv", "-a", "average", *model[:2], "--json")
    assert json.loads(done.out)["probabilities"] is None


def test_the_report_has_the_reliability_diagram(folder: Path) -> None:
    page = (folder / "r.html").read_text()
    assert '<figure id="reliability"><h2>Reliability, test rows</h2>' in page
    assert "<dt>Brier score</dt>" in page


def test_predict_names_the_columns_by_class(folder: Path) -> None:
    done = rosenblatt("predict", folder / "m.safetensors", folder / "test.csv", "--proba")
    head, *lines = [line.split("\t") for line in done.out.splitlines()]
    assert head == ["label", "no", "yes"]
    model: Any = rb.load(folder / "m.safetensors")
    probabilities = np.array([[float(cell) for cell in line[1:]] for line in lines])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert ((probabilities[:, 1] > 0.5) == [line[0] == "yes" for line in lines]).mean() > 0.9
    from rosenblatt.data.readers.read import read

    assert np.array_equal(model.predict_proba(read(str(folder / "test.csv"))), probabilities)


def test_predict_writes_probabilities_as_json(folder: Path) -> None:
    done = rosenblatt("predict", folder / "m.safetensors", folder / "test.csv", "--proba", "--scores", "--json")
    first = json.loads(done.out.splitlines()[0])
    assert list(first) == ["label", "scores", "probabilities"]
    assert list(first["probabilities"]) == ["no", "yes"]


def test_evaluate_prints_scores_and_the_diagram_as_text(folder: Path) -> None:
    done = rosenblatt("evaluate", folder / "m.safetensors", folder / "test.csv")
    assert "log loss 0." in done.out
    assert "probability of yes, and its share of the rows" in done.out
    assert done.out.count(" % of ") >= 8
    found = json.loads(rosenblatt("evaluate", folder / "m.safetensors", folder / "test.csv", "--json").out)
    assert found["probabilities"]["rows"] == 400


def test_a_model_without_probabilities(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "plain.safetensors"
    assert rosenblatt("train", folder / "train.csv", "-a", "average", "-o", model).code == 0
    done = rosenblatt("predict", model, folder / "test.csv", "--proba")
    assert (done.code, done.out) == (2, "")
    assert f"{model} has no probabilities; train it with --calibrate sigmoid" in done.err
    done = rosenblatt("predict", folder / "m.safetensors", folder / "test.csv", "--proba", "--scores")
    assert done.code == 2
    assert "--scores and --proba exclude each other, except with --json" in done.err
    assert "log loss" not in rosenblatt("evaluate", model, folder / "test.csv").out


def test_a_class_with_too_few_rows_is_named_with_the_option(tmp_path: Path) -> None:
    path = tmp_path / "rare.csv"
    path.write_text("a,label\n" + "".join(f"{n},{'rare' if n == 7 else 'common'}\n" for n in range(30)))
    done = rosenblatt("train", path, "-o", tmp_path / "m.safetensors", "--calibrate", "sigmoid")
    assert done.code == 2
    assert "class 'rare' has 1 row, but calibration needs at least 2 of every class" in done.err
    assert "leave out --calibrate" in done.err
    assert not (tmp_path / "m.safetensors").exists()


def test_streams_cannot_be_calibrated(folder: Path, tmp_path: Path) -> None:
    done = rosenblatt("train", folder / "train.csv", "-o", tmp_path / "m.safetensors", "--stream", "--calibrate", "sigmoid")
    assert done.code == 2
    assert "--calibrate sigmoid needs all rows in memory: leave out this option or --stream" in done.err
