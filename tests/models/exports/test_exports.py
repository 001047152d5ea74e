"""What is exported scores as the model does: in onnxruntime, in C, in SQLite, and from JSON in plain Python."""

from __future__ import annotations

import ast
import builtins
import json
import math
import pickle
import sqlite3

import numpy as np
import pytest
from export_runners import run_c, run_onnx, score_by_hand
from exported_models import NAMES, Recipe, a_model, category, rows, with_recipe, words
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rosenblatt as rb
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.models.exports.c import _quoted as quoted_in_c
from rosenblatt.models.exports.c import to_c
from rosenblatt.models.exports.export import LANGUAGES, export
from rosenblatt.models.exports.formula import ExportError
from rosenblatt.models.exports.javascript import to_javascript
from rosenblatt.models.exports.json import to_json
from rosenblatt.models.exports.onnx import to_onnx
from rosenblatt.models.exports.sql import identifier, literal, to_sql
from rosenblatt.models.state import model_of
from rosenblatt.scores import linear_scores

pytestmark = pytest.mark.once

MODELS = {
    "two classes": lambda: a_model(2),
    "four classes": lambda: a_model(4),
    "pairs": lambda: a_model(4, pairs=True),
    "float32": lambda: a_model(4, dtype=np.float32),
    "whole labels": lambda: a_model(4, "whole"),
    "float labels": lambda: a_model(4, "floats"),
    "truth": lambda: a_model(2, "truth"),
    "bytes": lambda: a_model(2, "bytes"),
    "no names": lambda: a_model(2, names=None),
}
RECIPES = {
    "scaled": Recipe(5),
    "products": Recipe(3, degree=3),
    "filled": Recipe(5, fill=True),
    "filled products": Recipe(4, degree=2, fill=True),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


@pytest.fixture(params=RECIPES)
def with_scaling(request):
    return with_recipe(RECIPES[request.param], 4)


def with_holes(X, model):
    X = X[:, : model.recipe.numbers.columns].copy()
    if model.recipe.numbers.fill is not None:
        X[::3, 1] = np.nan
    return X


def assert_scores(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12 * abs(wanted).max())


def as_text(labels):
    return [label.decode("latin-1") if isinstance(label, bytes) else label for label in labels.tolist()]


# --- ONNX ------------------------------------------------------------------------------------------------------------------


def test_onnx_scores_and_labels_are_ours(model):
    X, _ = rows(4)
    label, scores, session = run_onnx(to_onnx(model), X)
    assert scores.dtype == np.float64
    assert_scores(scores, model.scores(X))
    assert label.tolist() == as_text(model.labels_of(scores))
    names = json.loads(session.get_modelmeta().custom_metadata_map["columns"])
    assert names == list(model.feature_names or [f"x{j}" for j in range(5)])


def test_onnx_has_the_recipe(with_scaling):
    X = with_holes(rows(4)[0], with_scaling)
    label, scores, _ = run_onnx(to_onnx(with_scaling), X)
    assert_scores(scores, with_scaling.scores(X))
    assert label.tolist() == with_scaling.labels_of(scores).tolist()


def test_onnx_takes_no_rows_and_one(model):
    X, _ = rows(4)
    for n in (0, 1):
        label, scores, _ = run_onnx(to_onnx(model), X[:n])
        assert len(label) == len(scores) == n


def test_ties_go_to_the_smaller_label():
    for k in (2, 4):
        model = a_model(k)
        tied = rb.Model("Perceptron", {}, model.classes, np.zeros_like(model.coef), np.zeros_like(model.intercept))
        X = np.ones((3, 5))
        assert run_onnx(to_onnx(tied), X)[0].tolist() == [model.classes[0]] * 3
        assert [line[-1] for line in run_sql(tied, X)[0]] == [model.classes[0]] * 3


def test_without_onnx_the_message_names_the_extra(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("onnx"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install 'rosenblatt\[onnx\]'"):
        to_onnx(a_model())


# --- C ---------------------------------------------------------------------------------------------------------------------


def test_c_scores_and_labels_are_ours(model, tmp_path):
    X, _ = rows(4)
    wanted = model.scores(X)
    scores, labels = run_c(to_c(model), X, wanted.shape[1], tmp_path)
    assert_scores(scores, wanted)
    assert labels == [str(label) for label in as_text(model.labels_of(scores))]


def test_c_sums_in_the_documented_order_to_the_bit(tmp_path):
    model, (X, _) = a_model(4), rows(4)
    every = CSRMatrix(X.ravel(), np.tile(np.arange(5, dtype=np.int32), len(X)), np.arange(0, X.size + 1, 5), 5)
    wanted = linear_scores(every, model.coef, model.intercept)
    assert np.array_equal(run_c(to_c(model), X, 4, tmp_path)[0], wanted)


def test_c_has_the_recipe(with_scaling, tmp_path):
    X = with_holes(rows(4)[0], with_scaling)
    scores, labels = run_c(to_c(with_scaling), X, 4, tmp_path)
    assert_scores(scores, with_scaling.scores(X))
    assert labels == with_scaling.labels_of(scores).tolist()


# --- SQL -------------------------------------------------------------------------------------------------------------------


def run_sql(model, X, names=None, table="rows", cells=(), columns=None):
    """(rows of the answer, scores)"""
    base = sqlite3.connect(":memory:")
    names = list(names or model.feature_names or [f"x{j}" for j in range(X.shape[1])])
    types = ["REAL"] * X.shape[1] + ["TEXT"] * len(cells)
    fields = ", ".join(f"{identifier(name)} {kind}" for name, kind in zip(names, types, strict=True))
    base.execute(f"CREATE TABLE {identifier(table)} ({fields})")
    values = [[None if math.isnan(x) else x for x in row] for row in X.tolist()]
    values = [[*row, *(column[i] for column in cells)] for i, row in enumerate(values)]
    base.executemany(f"INSERT INTO {identifier(table)} VALUES ({', '.join('?' * len(names))})", values)
    cursor = base.execute(to_sql(model, table=table, columns=columns))
    found = cursor.fetchall()
    heads = [place for place, column in enumerate(cursor.description) if column[0].startswith("rosenblatt_score")]
    assert cursor.description[-1][0] == "rosenblatt_label"
    assert base.execute(f"SELECT COUNT(*) FROM {identifier(table)}").fetchone() == (len(X),)
    return found, [[row[place] for place in heads] for row in found]


def test_sql_scores_and_labels_are_ours(model):
    X, _ = rows(4)
    found, scores = run_sql(model, X)
    assert_scores(np.array(scores), model.scores(X))
    assert [row[-1] for row in found] == as_text(model.labels_of(np.array(scores)))


def test_sql_has_the_recipe(with_scaling):
    X = with_holes(rows(4)[0], with_scaling)
    found, scores = run_sql(with_scaling, X, with_scaling.recipe.number_names)
    assert_scores(np.array(scores), with_scaling.scores(X))
    assert [row[-1] for row in found] == with_scaling.labels_of(np.array(scores)).tolist()


def test_sql_has_columns_of_names():
    recipe = Recipe(3, strings=[category("color's", "red", "it's", 'a "b"'), category("shape", "round", "flat")])
    model, (X, _) = with_recipe(recipe, 4), rows(4, 12)
    cells = [["red", "it's", 'a "b"', "unheard of"] * 3, ["flat", None, "round"] * 4]
    names = [*recipe.number_names, "color's", "shape"]
    found, scores = run_sql(model, X[:, :3], names, cells=cells)
    assert_scores(np.array(scores), model.scores((X[:, :3], cells)))
    assert [row[-1] for row in found] == model.labels_of(np.array(scores)).tolist()


def test_sql_of_pairs_with_a_recipe():
    model, (X, _) = with_recipe(Recipe(5), 4, pairs=True), rows(4)
    found, scores = run_sql(model, X, NAMES)
    assert_scores(np.array(scores), model.scores(X))
    assert [row[-1] for row in found] == model.labels_of(np.array(scores)).tolist()


def test_sql_of_a_missing_number_has_no_label():
    X = rows(4)[0].copy()
    X[1, 2] = np.nan
    for model in (a_model(2), a_model(4), a_model(4, pairs=True)):
        found, scores = run_sql(model, X)
        assert found[1][-1] is None
        assert all(score is None for score in scores[1])
        assert found[0][-1] is not None


def test_sql_takes_other_names_for_table_and_columns():
    model, (X, _) = a_model(2), rows(2)
    names = ["a", "b", 'c"; DROP TABLE x; --', "d", "e"]
    found, _ = run_sql(model, X, names, table='my "table"; --', columns=names)
    assert [row[-1] for row in found] == model.predict(X).tolist()
    assert '"schema"."table"' in to_sql(model, table="schema.table")
    with pytest.raises(ExportError, match="columns must name the 5 columns that the model reads, got 2 names"):
        to_sql(model, columns=["a", "b"])


def test_sql_of_many_columns_runs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 1600))
    model = rb.Model("Perceptron", {}, np.array([0, 1]), rng.normal(size=(1, 1600)), np.zeros(1))
    assert_scores(np.array(run_sql(model, X)[1]), model.scores(X))
    wide = rb.Model("Perceptron", {}, np.array([0, 1]), np.ones((1, 1601)), np.zeros(1))
    with pytest.raises(ExportError, match="supports up to 1,600 columns, the model has 1,601"):
        to_sql(wide)


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_names_that_sql_cannot_hold_are_refused(name):
    with pytest.raises(ExportError):
        to_sql(a_model(), columns=[name, "b", "c", "d", "e"])
    if name:
        with pytest.raises(ExportError):
            literal(name)


SQL_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(SQL_TEXT, min_size=2, max_size=2, unique=True), st.lists(SQL_TEXT.filter(bool), min_size=2, max_size=2))
def test_whatever_names_and_labels_hold_is_only_text(labels, names):
    """Nothing in them ends a string, begins a comment or a second statement."""
    assume(names[0].lower() != names[1].lower())  # SQLite takes them for one
    model = rb.Model(
        "Perceptron", {}, np.array(sorted(labels), object), np.array([[1.0, 0.5]]), np.zeros(1), names=tuple(names)
    )
    found, _ = run_sql(model, np.array([[1.0, 1.0], [-1.0, 0.0]]))
    assert [row[-1] for row in found] == sorted(labels)[::-1]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_string_in_c_is_the_text_in_utf_8(text):
    quoted = quoted_in_c(text)
    assert ast.literal_eval(f"b{quoted}") == text.encode()  # octal is octal in both languages
    assert "?" not in quoted


# --- JSON ------------------------------------------------------------------------------------------------------------------


def test_json_has_what_it_takes_to_score(model):
    X, _ = rows(4)
    exported = json.loads(to_json(model))
    found = [score_by_hand(exported, row) for row in X.tolist()]
    assert_scores(np.array([scores for scores, _ in found]), model.scores(X))
    assert [label for _, label in found] == as_text(model.predict(X))
    assert np.array_equal(np.array(exported["weights"]), model.coef.astype(float))
    assert exported["columns"] == list(model.feature_names or [f"x{j}" for j in range(5)])


def test_json_has_the_recipe(with_scaling):
    X = with_holes(rows(4)[0], with_scaling)
    exported = json.loads(to_json(with_scaling))
    assert_scores(np.array([score_by_hand(exported, row)[0] for row in X.tolist()]), with_scaling.scores(X))


def test_json_has_names_and_words():
    recipe = Recipe(3, strings=[category("color", "red", "blue"), words("message", "cash", "hello")])
    exported = json.loads(to_json(with_recipe(recipe)))
    assert exported["recipe"]["blocks"] == [
        {"column": "color", "values": ["red", "blue"], "missing": False},
        {
            "column": "message",
            "parts": [{"unit": "words", "low": 1, "high": 1, "weight": "binary", "grams": ["cash", "hello"], "idf": None}],
        },
    ]
    assert "square root" in " ".join(exported["how"])


# --- export -----------------------------------------------------------------------------------------------------------------


def test_export_calls_the_function_of_each_language():
    model = a_model(4)
    texts = {"json": to_json(model), "c": to_c(model), "js": to_javascript(model), "sql": to_sql(model)}
    wanted = {"onnx": to_onnx(model)} | {language: text.encode() for language, text in texts.items()}
    assert set(wanted) == set(LANGUAGES)
    for language, raw in wanted.items():
        assert export(model, language) == raw
    assert b'"measured"' in export(model, "sql", table="measured", columns=list("abcde"))
    with pytest.raises(ValueError, match="language must be one of 'c', 'js', 'json', 'onnx', 'sql', got 'fortran'"):
        export(model, "fortran")


# --- unsupported models ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", [to_onnx, to_json, to_c, to_sql, to_javascript])
def test_votes_and_single_classes_are_refused(to):
    X, codes = rows(2)
    vote = model_of(rb.Perceptron(keep="vote").fit(X, codes))
    with pytest.raises(ExportError, match=r"export does not support voted perceptrons.*; train with keep='average'") as caught:
        to(vote)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    one = model_of(rb.Perceptron().partial_fit(X, np.zeros(len(X), int)))
    with pytest.raises(ExportError, match="has only one class, 0"):
        to(one)


@pytest.mark.parametrize("to", [to_onnx, to_c, to_sql])
def test_text_columns_are_refused(to):
    with pytest.raises(ExportError, match=r"export does not support text columns \('message'\)"):
        to(with_recipe(Recipe(3, strings=[words("message", "cash")])))


def test_scaling_that_overflows_is_refused():
    recipe = Recipe(3)
    recipe.numbers.divide = np.full(3, 5e-324)
    with pytest.raises(ExportError, match="cannot be folded"):
        to_sql(with_recipe(recipe))
