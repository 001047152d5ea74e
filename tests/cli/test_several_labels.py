"""Files of rows with several labels: one sentence says how they are learned."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import rosenblatt as rb
from rosenblatt.cli import main

HOW = "rows with several labels are learned in Python, by fit(X, Y) with a column of 0 and 1 in Y for each label"


def write_csv(path, rows, labels):
    lines = [",".join([*map(str, row), label]) for row, label in zip(rows.tolist(), labels, strict=True)]
    path.write_text("\n".join(["a,b,tags", *lines]))
    return path


def run(*arguments):
    found = CliRunner().invoke(main, list(map(str, arguments)))
    return found.exit_code, " ".join(found.output.split())


def test_two_columns_of_labels(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("x,art,law\n1,1,0\n2,0,1\n3,1,1\n")
    code, said = run("train", path, "--label", "art,law")
    assert code == 2
    assert f"--label names one column, got 2: {HOW}" in said


def test_a_column_whose_name_has_a_comma_is_a_column(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text('x,"art,law",art,law\n1,a,0,1\n2,b,1,1\n3,a,0,0\n')
    assert run("train", path, "--label", "art,law", "--algorithm", "average", "-o", tmp_path / "m")[0] == 0


def test_rows_of_svmlight_with_several_labels(tmp_path):
    path = tmp_path / "m.svm"
    path.write_text("2 1:0.5\n1,3 1:0.2 5:1\n")
    code, said = run("train", path)
    assert code == 2
    assert f"line 2, character 1: the row has several labels, '1,3': {HOW}" in said


def test_lists_of_labels_in_a_column_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the models are written
    words = np.array(["art", "law", "art;law", "law;sea", "sea", "art;sea"])
    rows = np.random.default_rng(0).normal(size=(60, 2))
    lists = run("train", write_csv(tmp_path / "t.csv", rows, words[np.arange(60) % 6]), "--algorithm", "average")[1]
    assert f"Labels such as 'art;law' look like lists, but each list is a class of its own: {HOW}" in lists
    words = np.array(["art; old", "art; new", "law; old-fashioned"])
    assert "look like lists" not in run("train", write_csv(tmp_path / "u.csv", rows, words[np.arange(60) % 3]))[1]


def test_a_model_file_of_several_labels_is_for_python(tmp_path):
    rb.save(rb.Perceptron().fit([[0.0], [1.0], [2.0]], [[0, 1], [1, 1], [1, 0]]), tmp_path / "m.safetensors")
    (tmp_path / "m.csv").write_text("x,y\n1,0\n")
    for command in (("predict",), ("evaluate",), ("show",), ("export", "--json")):
        name, *options = command
        data = [] if name in ("show", "export") else [tmp_path / "m.csv"]
        code, said = run(name, tmp_path / "m.safetensors", *data, *options)
        assert code == 2
        assert "an estimator of several labels a row, which only Python can use: load it with rb.load" in said


def test_tune_takes_one_label_a_row():
    with pytest.raises(ValueError, match=r"^rb.tune takes one label a row, but y has an indicator matrix: use rb.SoftMarginCV"):
        rb.tune(rb.SoftMargin(), np.eye(4), np.eye(4, 2))
