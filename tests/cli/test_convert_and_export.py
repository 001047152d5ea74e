"""Converted files read back the same; exported models have the same scores."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest

import rosenblatt as rb
from commands import rosenblatt
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.readers import Options
from rosenblatt.data.readers.read import read
from rosenblatt.data.table import typed_labels
from rosenblatt.preprocessing.recipe import Recipe

TEXTS = ('"say, hello there world"', "nothing to say here")
TABLE = 'size,color,"the ""text""",label\n' + "".join(
    f"{i / 7!r},{('red', 'green')[i % 2]},{TEXTS[i % 3 > 0]},{'ab'[i > 9]}\n" for i in range(20)
)


def numbers(path):
    data = read(str(path))
    rows = Recipe.learn([data], scale="none").rows(data)
    return (rows.to_scipy().toarray() if isinstance(rows, CSRMatrix) else rows), typed_labels(data.labels)


@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "jsonl", "parquet", "arrow", "svm", "npz", "csv.gz", "svm.zst", "jsonl.xz", "tsv.bz2"]
)
@pytest.mark.parametrize("source", ["rows.csv", "rows.svm"])
def test_numeric_files_read_back_the_same(tmp_path, source, ending):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 4)) < 0.4, 0.0, rng.standard_normal((30, 4)) * 10.0 ** rng.integers(-8, 8, (30, 4)))
    X[0] = [1.0, -2.5, 1e-300, 123456789.0]
    lines = [",".join(map(repr, row)) + f",{i % 3}" for i, row in enumerate(X.tolist())]
    (tmp_path / "rows.csv").write_text("a,b,c,d,label\n" + "\n".join(lines) + "\n")
    assert rosenblatt("convert", tmp_path / "rows.csv", tmp_path / "rows.svm").code == 0
    found = rosenblatt("convert", tmp_path / source, tmp_path / f"out.{ending}", "--json")
    assert found.code == 0, found.err
    assert found.json["rows"] == 30
    mine, labels = numbers(tmp_path / f"out.{ending}")
    np.testing.assert_array_equal(mine, X)
    np.testing.assert_array_equal(labels, np.arange(30) % 3)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_tables_keep_their_names_and_texts(tmp_path, ending):
    (tmp_path / "t.csv").write_text(TABLE)
    assert rosenblatt("convert", tmp_path / "t.csv", tmp_path / f"out.{ending}").code == 0
    before, after = read(str(tmp_path / "t.csv")), read(str(tmp_path / f"out.{ending}"))
    assert after.features.names == before.features.names == ("size", "color", 'the "text"')
    for mine, other in zip(before.features.columns, after.features.columns, strict=True):
        assert mine.tolist() == other.tolist()
    assert before.labels.tolist() == after.labels.tolist()


def test_text_labels_become_numbers_in_svmlight(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    found = rosenblatt("convert", tmp_path / "t.csv", "-", "--to", "svmlight")
    assert "labels are written as numbers: 0 = a, 1 = b" in found.err
    assert found.out.splitlines()[0].startswith("0 ")


def test_unsupported_output_formats(tmp_path):
    found = rosenblatt("convert", "example:iris", tmp_path / "x.idx")
    assert found.code == 2
    assert "--to" in found.err


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    assert rosenblatt("convert", "example:breast-cancer", folder / "rows.csv").code == 0
    assert rosenblatt("train", folder / "rows.csv", "-o", folder / "m.safetensors").code == 0
    return folder


def test_onnx_scores_as_ours(model):
    onnxruntime = pytest.importorskip("onnxruntime")
    assert rosenblatt("export", model / "m.safetensors", "-o", model / "m.onnx").code == 0
    session = onnxruntime.InferenceSession(str(model / "m.onnx"), providers=["CPUExecutionProvider"])
    data = read(str(model / "rows.csv"))
    rows = np.column_stack(data.features.columns)
    found = dict(zip([each.name for each in session.get_outputs()], session.run(None, {"rows": rows}), strict=True))
    mine = rb.load(model / "m.safetensors")
    scores = mine.scores(data)
    np.testing.assert_allclose(np.asarray(found["scores"]).reshape(scores.shape), scores, rtol=1e-9, atol=1e-9)
    assert np.asarray(found["label"]).ravel().tolist() == mine.predict(data).tolist()


def test_sql_scores_as_ours(model):
    data = read(str(model / "rows.csv"))
    mine = rb.load(model / "m.safetensors")
    query = rosenblatt("export", model / "m.safetensors", "--sql", "--table", "cells").out
    base = sqlite3.connect(":memory:")
    quoted = ", ".join('"' + name + '" REAL' for name in data.features.names)
    base.execute(f"CREATE TABLE cells ({quoted})")
    marks = ", ".join("?" * len(data.features.names))
    base.executemany(f"INSERT INTO cells VALUES ({marks})", np.column_stack(data.features.columns).tolist())
    found = base.execute(query).fetchall()
    assert [row[-1] for row in found] == mine.predict(data).tolist()


def test_json_and_c(model, tmp_path):
    exported = json.loads(rosenblatt("export", model / "m.safetensors", "--json").out)
    assert exported["classes"] == ["benign", "malignant"]
    assert rosenblatt("export", model / "m.safetensors", "--c", "-o", tmp_path / "m.c").code == 0
    assert "rosenblatt_scores" in (tmp_path / "m.c").read_text()


def test_the_language_is_required(model):
    found = rosenblatt("export", model / "m.safetensors")
    assert found.code == 2
    assert "--onnx, --json, --c, --js or --sql" in found.err
    assert rosenblatt("export", model / "m.safetensors", "--c", "--sql").code == 2
    assert rosenblatt("export", model / "m.safetensors", "--onnx", "-o", model / "m.sql").code == 2


def test_a_model_that_cannot_be_exported_is_answered_with_an_option(tmp_path):
    rb.save(rb.Perceptron(keep="vote").fit([[0.0], [1.0]], [0, 1]), tmp_path / "vote.safetensors")
    found = rosenblatt("export", tmp_path / "vote.safetensors", "--sql")
    assert found.code == 2
    problem = "SQL export does not support voted perceptrons, which have no single plane"
    assert found.err == f"rosenblatt: {problem}; train with --algorithm average\n"


@pytest.mark.parametrize("target", ["csv", "jsonl", "parquet", "npz"])
def test_formatted_numbers_are_written_as_programs_write_them_and_dates_as_they_are(tmp_path, target):
    data = tmp_path / "rows.csv"
    data.write_text("price;rate;when;label\n1.200,50;45%;31.12.2024;a\n80;5%;1.2.2024;b\n")
    out = tmp_path / f"out.{target}"
    found = rosenblatt("convert", data, out)
    assert found.code == 0, found
    assert "numbers with decimal comma: 'price'" in found.err
    back = read(out)
    if target == "npz":
        assert back.features.tolist() == [[1200.5, 0.45, 20088.0], [80.0, 0.05, 19754.0]]
        with open(data, "rb") as file:
            piped = rosenblatt("convert", "-", tmp_path / "piped.npz", input=file.read())
        assert piped.code == 0
        assert read(tmp_path / "piped.npz").features.tolist() == back.features.tolist()
        return
    price, rate, _ = back.features.columns
    assert (price.tolist(), rate.tolist()) == ([1200.5, 80.0], [0.45, 0.05])
    if target == "csv":
        assert out.read_text() == "price,rate,when,label\n1200.50,0.45,31.12.2024,a\n80,0.05,1.2.2024,b\n"
        assert back.dates == {"when": "date"}


@pytest.mark.parametrize("target", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(
    ("column", "filled"), [("31.3.2024,,2.4.2024,1.4.2024", "2024-04-01"), ("10:15,?,12:00,11:30", "11:30")]
)
def test_missing_dates_are_filled_with_dates(tmp_path, target, column, filled):
    """They were filled with numbers of days, which no reader takes for dates."""
    rows = "".join(f"{cell},{'xy'[k % 2]}\n" for k, cell in enumerate(column.split(",")))
    (tmp_path / "rows.csv").write_text(f"when,label\n{rows}")
    found = rosenblatt("convert", tmp_path / "rows.csv", tmp_path / f"out.{target}", "--missing", "median")
    assert found.code == 0, found.err
    written = read(tmp_path / f"out.{target}", Options(as_written=True))
    assert written.features.columns[0].tolist() == [cell if cell not in ("", "?") else filled for cell in column.split(",")]
    whole, part = read(tmp_path / f"out.{target}"), read(tmp_path / "rows.csv", Options(missing="mean"))
    assert whole.dates == part.dates
