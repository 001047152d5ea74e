"""Every export agrees with the model on missing cells, indicators, scaling, dropped columns and dates."""

from __future__ import annotations

import itertools
import json
import sqlite3

import numpy as np
import pytest
from exported_models import run_c, run_onnx, score_by_hand

import rosenblatt as rb
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.table import Data, Table
from rosenblatt.models.exports.c import to_c
from rosenblatt.models.exports.export import ExportError
from rosenblatt.models.exports.json import to_json
from rosenblatt.models.exports.onnx import to_onnx
from rosenblatt.models.exports.sql import to_sql
from rosenblatt.models.state import model_of
from rosenblatt.preprocessing.recipe import Recipe

RNG = np.random.default_rng(3)
N = 80


def data(*, colors: bool = False, dates: bool = False) -> Data:
    pay, since = RNG.normal(1e5, 3e4, N), 1.7e9 + RNG.random(N)
    rare = np.where(RNG.random(N) < 0.05, 1e4, 0.0)
    rare[0] = 1e4
    pay[::5], since[1::7] = np.nan, np.nan
    columns = {"pay": pay, "constant": np.full(N, 7.0), "since": since, "rare": rare}
    if dates:
        columns["day"], columns["at"] = 20_000 + np.floor(RNG.random(N) * 900), 20_000 + RNG.random(N) * 300
        columns["clock"] = RNG.random(N)
        columns["day"][::6] = np.nan
    if colors:
        columns["color"] = np.array([["red", "gr'een", None][i % 3] for i in range(N)], object)
        columns["shape"] = np.array([["a", "b"][i % 2] for i in range(N)], object)
    kinds = {"day": "date", "at": "datetime", "clock": "time"} if dates else {}
    return Data("rows.csv", Table(tuple(columns), tuple(columns.values())), None, dates=kinds)


def a_model(rows: Data, degree: int, classes: int, missing: str) -> rb.Model:
    recipe = Recipe.learn([rows], degree=degree, missing=missing, missing_indicator=True, drop_constant=True)
    X = recipe.rows(rows)
    y = np.array(["no", "yes", "other"])[np.arange(N) % classes]
    return model_of(rb.Perceptron(keep="average", random_state=0).fit(X.to_scipy() if isinstance(X, CSRMatrix) else X, y),
                    recipe=recipe)  # fmt: skip


def later(rows: Data) -> Data:
    """Other rows: each column misses cells, also those that had all of them in training; there are new categories."""
    table, columns = rows.features, []
    assert isinstance(table, Table)
    for place, column in enumerate(table.columns):
        changed = np.roll(column, 11).copy()
        changed[place::9] = None if changed.dtype.kind == "O" else np.nan
        if changed.dtype.kind == "O":
            changed[4] = "new"
        columns.append(changed)
    return Data(rows.source, Table(table.names, tuple(columns)), None, dates=rows.dates)


def numbers_of(rows: Data, model: rb.Model) -> np.ndarray:
    assert isinstance(rows.features, Table)
    columns = dict(zip(rows.features.names, rows.features.columns, strict=True))
    assert model.recipe is not None
    return np.column_stack([columns[name] for name in model.recipe.number_names])


CASES = list(itertools.product([1, 2], [2, 3], ["median", "mean"]))


@pytest.mark.parametrize(("degree", "classes", "missing"), CASES)
def test_numbers_and_dates(degree, classes, missing, tmp_path):
    rows = data(dates=True)
    model = a_model(rows, degree, classes, missing)
    assert {"at (hour cos)", "day (weekday sin)", "clock (hour sin)", "day=missing"} <= set(model.feature_names or ())
    for each in (rows, later(rows)):
        wanted, X = model.scores(each), numbers_of(each, model)
        heads = wanted.shape[1]
        tolerance = {"rtol": 1e-9, "atol": 1e-11 * abs(wanted).max()}
        scores, labels = run_c(to_c(model), X, heads, tmp_path)
        np.testing.assert_allclose(scores, wanted, **tolerance)
        assert labels == model.predict(each).tolist()
        exported = json.loads(to_json(model))
        found = [score_by_hand(exported, row)[0] for row in X.tolist()]
        np.testing.assert_allclose(found, wanted, **tolerance)
    with pytest.raises(ExportError, match="SQL export does not support columns of dates") as error:
        to_sql(model)
    assert error.value.option == "--dates ignore"


@pytest.mark.parametrize(("degree", "classes", "missing"), CASES)
def test_numbers_and_dates_in_onnx(degree, classes, missing):
    pytest.importorskip("onnxruntime")
    rows = data(dates=True)
    model = a_model(rows, degree, classes, missing)
    for each in (rows, later(rows)):
        wanted = model.scores(each)
        labels, scores, _ = run_onnx(to_onnx(model), numbers_of(each, model))
        np.testing.assert_allclose(scores, wanted, rtol=1e-9, atol=1e-11 * abs(wanted).max())
        assert labels.tolist() == model.predict(each).tolist()


@pytest.mark.parametrize(("degree", "classes", "missing"), CASES)
def test_numbers_and_categories(degree, classes, missing):
    rows = data(colors=True)
    model = a_model(rows, degree, classes, missing)
    assert {"color=missing", "pay=missing"} <= set(model.feature_names or ())
    for each in (rows, later(rows)):
        wanted, labels = model.scores(each), model.predict(each).tolist()
        table = each.features
        assert isinstance(table, Table)
        lines = [
            [None if cell is None or cell != cell else cell for cell in row]
            for row in zip(*(column.tolist() for column in table.columns), strict=True)
        ]
        base = sqlite3.connect(":memory:")
        base.execute(f"CREATE TABLE rows ({', '.join(table.names)})")
        base.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(table.names))})", lines)
        found = base.execute(to_sql(model)).fetchall()
        heads = wanted.shape[1]
        np.testing.assert_allclose([row[-1 - heads : -1] for row in found], wanted, rtol=1e-9, atol=1e-11 * abs(wanted).max())
        assert [row[-1] for row in found] == labels
        exported = json.loads(to_json(model))
        names = [*exported["columns"], *(block["column"] for block in exported["recipe"]["blocks"])]
        for line, score in zip(lines[:20], wanted, strict=False):
            cells = [line[table.names.index(name)] for name in names]
            n = len(exported["columns"])
            np.testing.assert_allclose(score_by_hand(exported, cells[:n], cells[n:])[0], score, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("features", ["binary", "words-3", "words-2:tfidf,chars-2-4", "words-2-2:counts", "chars-1-3:binary"])
def test_json_scores_texts_as_the_model_does(features):
    texts = [
        "The cat sat on the mat",
        "a DOG sat; the cat ran, ran, ran",
        "the mat\tran",
        "İstanbul the dog ran",
        None,
        "a b c the",
    ]
    notes = np.array([texts[i % 6] for i in range(30)], object)
    rows = Data("rows.csv", Table(("pay", "note"), (np.arange(30.0), notes)), None)
    recipe = Recipe.learn([rows], text=("note",), text_features=features)
    X = recipe.rows(rows).to_scipy()
    model = model_of(rb.Perceptron(keep="average", random_state=0).fit(X, np.arange(30) % 2), recipe=recipe)
    exported = json.loads(to_json(model))
    cells = [*texts, "", "nothing known", "the cat the cat sat on on", "ΟΔΟΣ the"]
    later = Data("later.csv", Table(("pay", "note"), (np.arange(len(cells)) * 1.0, np.array(cells, object))), None)
    scores = [score_by_hand(exported, [float(i)], [cell])[0] for i, cell in enumerate(cells)]
    np.testing.assert_allclose(scores, model.scores(later), rtol=1e-12, atol=1e-12)
