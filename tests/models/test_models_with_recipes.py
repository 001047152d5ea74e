"""A model with a recipe, from columns to a file, to labels and to exports."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.data.table import Table
from rosenblatt.models.exports.json import to_json
from rosenblatt.models.exports.onnx import to_onnx
from rosenblatt.models.exports.sql import to_sql
from rosenblatt.models.state import model_of

recipes: Any = pytest.importorskip("rosenblatt.preprocessing.recipe")


def table(n: int = 120) -> tuple[Table, Any]:
    rng = np.random.default_rng(1)
    size, age = rng.normal(size=n) * 1000 + 5000, rng.normal(size=n)
    color = np.array(["red", "blue", "gr'een"], object)[rng.integers(0, 3, n)]
    columns = Table(("size", "age", "color"), (size, age, color))
    return columns, np.where((size > 5000) ^ (color == "red"), "yes", "no")


def only_numbers(columns: Table) -> Table:
    return Table(columns.names[:2], columns.columns[:2])


def learned(columns: Table, y: Any, degree: int) -> rb.Model:
    recipe = recipes.Recipe.learn([columns], degree=degree)
    features = recipe.rows(columns)
    features = features.to_scipy() if hasattr(features, "to_scipy") else features
    return model_of(rb.Perceptron(keep="average").fit(features, y), recipe=recipe)


@pytest.mark.parametrize("degree", [1, 2])
def test_it_comes_back_from_its_file(degree, tmp_path):
    columns, y = table()
    model = learned(columns, y, degree)
    rb.save(model, tmp_path / "model")
    loaded = rb.load(tmp_path / "model")
    assert np.array_equal(loaded.scores(columns), model.scores(columns))
    assert list(loaded.feature_names) == list(model.recipe.feature_names)
    assert loaded.recipe == model.recipe


@pytest.mark.parametrize("degree", [1, 2])
def test_its_query_scores_the_columns_of_the_file(degree):
    columns, y = table()
    model = learned(columns, y, degree)
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE rows ("size" REAL, "age" REAL, "color" TEXT)')
    base.executemany(
        "INSERT INTO rows VALUES (?, ?, ?)", [list(row) for row in zip(*(c.tolist() for c in columns.columns), strict=True)]
    )
    found = base.execute(to_sql(model)).fetchall()
    np.testing.assert_allclose([row[3] for row in found], model.scores(columns)[:, 0], rtol=1e-12, atol=1e-12)
    assert [row[-1] for row in found] == model.predict(columns).tolist()
    exported = json.loads(to_json(model))
    assert exported["recipe"]["blocks"] == [{"column": "color", "values": ["blue", "gr'een", "red"], "missing": False}]


def test_its_graph_has_the_products_and_the_scaling():
    runtime = pytest.importorskip("onnxruntime")
    columns, y = table()
    columns = only_numbers(columns)
    model = learned(columns, y, 3)
    rows = np.column_stack(columns.columns)
    label, scores = runtime.InferenceSession(to_onnx(model)).run(["label", "scores"], {"rows": rows})
    np.testing.assert_allclose(scores, model.scores(columns), rtol=1e-12, atol=1e-12)
    assert label.tolist() == model.predict(columns).tolist()
