"""Smaller exports: which features are kept, what the others could do, and weights of 16 bits, in all languages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from export_runners import LANGUAGES, Results, score_rows
from test_exported_recipes import CASES, a_model, data, rows_and_model, with_holes

import rosenblatt as rb
from rosenblatt.data.table import Data, Table
from rosenblatt.models.exports.export import export
from rosenblatt.models.exports.formula import ExportError, formula_of
from rosenblatt.models.exports.javascript import to_javascript
from rosenblatt.models.exports.json import to_json
from rosenblatt.models.exports.reduction import reduce, rounded_up
from rosenblatt.models.exports.sql import to_sql
from rosenblatt.models.state import model_of
from rosenblatt.preprocessing.recipe import Recipe

pytestmark = pytest.mark.once


def linear(weights: list[float], intercept: float = 0.0) -> rb.Model:
    return rb.Model("Perceptron", {}, np.array(["no", "yes"]), np.array([weights]), np.array([intercept]))


def kept(model: rb.Model, prune: float) -> list[int]:
    reduction = reduce(model, "JSON", prune, False)
    assert reduction.kept == (reduction.coef != 0).any(axis=0).sum()
    return np.flatnonzero((reduction.coef != 0).any(axis=0)).tolist()


def test_the_number_or_the_share_of_features_that_are_kept() -> None:
    model = linear([3.0, -4.0, 0.0, 2.0, 1.0])
    assert [kept(model, n) for n in (1, 2, 4, 5, 100)] == [[1], [0, 1], [0, 1, 3, 4], [0, 1, 3, 4], [0, 1, 3, 4]]
    assert [kept(model, share) for share in (0, 0.09, 0.1, 0.29, 0.3, 0.6, 0.99)] == [
        [0, 1, 3, 4], [0, 1, 3, 4], [0, 1, 3], [0, 1, 3], [0, 1], [1], [1],
    ]  # fmt: skip
    zero = linear([0.0, 0.0], 1.0)
    assert json.loads(export(zero, "json", prune=0))["columns"] == ["x0"]


def test_the_weight_counts_the_range_of_the_column() -> None:
    """A column of salaries has a small weight and moves scores most; one that is constant in training moves none."""
    pay, age = np.array([20_000.0, 60_000.0, 100_000.0]), np.array([20.0, 30.0, 40.0])
    table = Table(("pay", "age", "year"), (pay, age, np.full(3, 2000.0)))
    recipe = Recipe.learn([table], scale="none")
    model = replace(linear([0.001, 0.1, 5.0]), recipe=recipe)
    found = reduce(model, "JSON", 1, False)
    assert np.flatnonzero(found.coef[0]).tolist() == [0]
    assert found.intercept.tolist() == [0.1 * 30 + 5.0 * 2000]  # the middle of what is left out
    assert found.bound == 0.1 * 10
    smaller = found.model(model)
    assert abs(smaller.scores(table) - model.scores(table)).max() <= found.bound
    assert json.loads(export(model, "json", prune=1))["columns"] == ["pay"]


@pytest.mark.parametrize("options", [{"degree": 3}, {"degree": 2, "scale": "none"}, {"scale": "max"}, {"dates": True}])
def test_no_score_changes_by_more_than_the_bound(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    options = dict(options)
    rows = data(dates=options.pop("dates", False))
    recipe = Recipe.learn([rows], missing_indicator=True, **options)
    width = recipe.width
    model = rb.Model("Perceptron", {}, np.arange(3), rng.normal(size=(3, width)), rng.normal(size=3), recipe=recipe)
    for prune in (0.05, 0.3, 0.9, 1):
        found = reduce(model, "JSON", prune, False)
        change = abs(found.model(model).scores(rows) - model.scores(rows)).max()
        assert found.bound is not None
        assert 0 < change <= found.bound * (1 + 1e-12)
        assert found.kept < width


def test_sizes_of_weights_that_16_bits_do_not_hold_are_scaled() -> None:
    rng = np.random.default_rng(2)
    for scale in (1.0, 1e-9, 1e12, 1e-300, 1e300):
        model = linear((rng.normal(size=40) * scale).tolist())
        found = reduce(model, "JSON", None, True)
        assert model.coef is not None
        assert (abs(found.coef - model.coef) <= 2.0**-11 * abs(model.coef)).all()
        assert (found.exponent == 0) == (scale == 1.0)
        halves = formula_of(model, "JSON", found).halves(found.coef)
        assert np.array_equal(np.ldexp(halves.astype(float), found.exponent), found.coef)
    mixed = reduce(linear([1e10, 1.0, 1e-10, 0.0]), "JSON", None, True)  # the last ones underflow
    assert mixed.coef[0, 1] == pytest.approx(1.0, rel=0.2)
    assert mixed.coef[0, 2:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_smaller_export_computes_what_is_checked(language: str, case: str, tmp_path: Any) -> None:
    rows, model = rows_and_model(case, language != "sql")
    later = with_holes(rows, new=True)
    float16 = language != "sql"
    for prune in (0.2, 3):
        reduction = reduce(model, language, prune, float16)
        found: Results = score_rows(language, model, later, tmp_path, reduction)
        wanted = reduction.model(model).scores(later)
        np.testing.assert_allclose(found.scores, wanted, rtol=1e-9, atol=1e-11 * abs(wanted).max())
        assert found.labels == reduction.model(model).predict(later).tolist()


def test_weights_of_all_sizes_are_exact_in_every_language(tmp_path: Any) -> None:
    weights = [1.0, -2.0, 65504.0, 2.0**-24, -(2.0**-14), 0.1, 3.14159, -0.0]
    X = np.eye(8)
    rows = Data("rows", Table(tuple(f"x{j}" for j in range(8)), tuple(X)), None)
    for scale in (1.0, 2.0**-60, 1e7):
        model = linear([w * scale for w in weights])
        reduction = reduce(model, "JSON", None, True)
        for language in set(LANGUAGES) - {"sql"}:
            found = score_rows(language, model, rows, tmp_path, reduction)
            assert np.asarray(found.scores)[:, 0].tolist() == (reduction.coef[0] + 0.0).tolist(), language


def test_columns_that_nothing_reads_are_left_out() -> None:
    rows = data()
    model = a_model(rows, degree=2)
    small, whole = json.loads(export(model, "json", prune=2)), json.loads(export(model, "json"))
    assert len(small["weights"][0]) == 2
    assert len(small["columns"]) + len(small["recipe"]["blocks"]) <= 4 < len(whole["columns"]) + len(whole["recipe"]["blocks"])
    for language in ("js", "c", "onnx"):
        assert len(export(model, language, prune=4)) < 0.8 * len(export(model, language))


def test_16_bits_make_files_smaller() -> None:
    rng = np.random.default_rng(0)
    model = rb.Model("Perceptron", {}, np.arange(10), rng.normal(size=(10, 300)), np.zeros(10))
    for language, ratio in (("onnx", 0.35), ("c", 0.45), ("js", 0.35), ("json", 0.85)):
        assert len(export(model, language, float16=True)) < ratio * len(export(model, language)), language


def test_what_cannot_be_smaller_is_refused() -> None:
    model = linear([1.0, 2.0])
    with pytest.raises(ExportError, match="SQL export does not support float16 weights; export to ONNX, C, JavaScript or JSON"):
        export(model, "sql", float16=True)
    assert b'"x1"' in export(model, "sql", prune=1)
    for wrong in (1.5, -1, -0.1, float("nan"), float("inf"), "many", True):
        with pytest.raises(ValueError, match="prune must be the number of features to keep, such as 100, or the share"):
            export(model, "json", prune=wrong)  # type: ignore[arg-type]
    vote = model_of(rb.Perceptron(keep="vote").fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(ExportError, match="JSON export does not support voted perceptrons"):
        export(vote, "json", prune=1)


def test_numbers_are_rounded_up() -> None:
    for value in (0.12345, 999.6, 1e-30, 12345.6, 0.9999, 1.0, 7e250):
        shown = float(rounded_up(value).replace(",", ""))
        assert value <= shown <= value * 1.011


def test_whole_exports_are_as_before() -> None:
    model = a_model(data(dates=False))
    assert export(model, "json") == to_json(model).encode()
    assert (export(model, "js"), export(model, "sql")) == (to_javascript(model).encode(), to_sql(model).encode())
