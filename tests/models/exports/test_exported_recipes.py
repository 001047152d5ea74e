"""Every export agrees with the model on missing cells, indicators, scaling, dropped columns, categories and dates."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from export_runners import LANGUAGES, RefusedError, score_rows

import rosenblatt as rb
from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.table import Data, Table
from rosenblatt.models.exports.formula import ExportError
from rosenblatt.models.exports.sql import to_sql
from rosenblatt.models.state import model_of
from rosenblatt.preprocessing.recipe import Recipe

pytestmark = pytest.mark.once

RNG = np.random.default_rng(3)
N = 80


def data(*, numbers: bool = True, colors: bool = True, dates: bool = True, whole: bool = False) -> Data:
    """Rows of a table; `whole`: none of the cells is missing."""
    columns: dict[str, Any] = {}
    if numbers:
        pay, since = RNG.normal(1e5, 3e4, N), 1.7e9 + RNG.random(N)
        rare = np.where(RNG.random(N) < 0.05, 1e4, 0.0)
        rare[0] = 1e4
        columns = {"pay": pay, "constant": np.full(N, 7.0), "since": since, "rare": rare}
    if colors:
        columns["color"] = np.array([["red", "gr'een", "\u00fc<!-- \u2028"][i % 3] for i in range(N)], object)
    if dates:
        columns["day"], columns["at"] = 20_000 + np.floor(RNG.random(N) * 900), 20_000 + RNG.random(N) * 300
        columns["clock"] = RNG.random(N)
    if colors:
        columns["shape"] = np.array([["a", "b"][i % 2] for i in range(N)], object)
    kinds = {"day": "date", "at": "datetime", "clock": "time"} if dates else {}
    made = Data("rows.csv", Table(tuple(columns), tuple(columns.values())), None, dates=kinds)
    return made if whole else with_holes(made, every=5, only=("pay", "since", "color", "day"))


def with_holes(rows: Data, *, every: int = 9, only: tuple[str, ...] = (), new: bool = False) -> Data:
    """The same rows, where columns miss cells; `new`: with a category that training has not seen."""
    table, columns = rows.features, []
    assert isinstance(table, Table)
    for place, (name, column) in enumerate(zip(table.names, table.columns, strict=True)):
        changed = column.copy()
        if not only or name in only:
            changed[place % every :: every] = None if changed.dtype.kind == "O" else np.nan
        if new and changed.dtype.kind == "O":
            changed[4] = "new"
        columns.append(changed)
    return replace(rows, features=Table(table.names, tuple(columns)))


def a_model(rows: Data, *, degree: int = 1, classes: int = 2, missing: Any = "median", indicator: bool = True,
            calibrate: Any = None, pairs: bool = False) -> rb.Model:  # fmt: skip
    recipe = Recipe.learn([rows], degree=degree, missing=missing, missing_indicator=indicator, drop_constant=True)
    X: Any = recipe.rows(rows)
    X = X.to_scipy() if isinstance(X, CSRMatrix) else X
    y = np.array(["no", "yes", "other", "4"])[np.arange(N) % classes]
    estimator: Any = rb.Perceptron(keep="average", random_state=0, calibrate=calibrate)
    if pairs:
        estimator = rb.SoftMargin(multiclass="ovo", tol=0.1, calibrate=calibrate, random_state=0)
    return replace(model_of(estimator.fit(X, y), recipe=recipe), provenance={"reading": {"missing": missing}})


CASES: dict[str, dict[str, Any]] = {
    "two classes": {},
    "three classes, means": {"classes": 3, "missing": "mean"},
    "products": {"degree": 2, "classes": 3, "calibrate": "isotonic"},
    "no indicators": {"indicator": False, "calibrate": "sigmoid"},
    "pairs": {"classes": 4, "pairs": True, "calibrate": "temperature"},
    "categories alone": {"numbers": False, "dates": False, "classes": 3},
    "numbers alone": {"colors": False, "calibrate": "temperature"},
}


@cache
def rows_and_model(case: str, with_dates: bool) -> tuple[Data, rb.Model]:
    options = dict(CASES[case])
    kinds = {name: options.pop(name, True) for name in ("numbers", "colors", "dates")}
    kinds["dates"] = kinds["dates"] and with_dates
    rows = data(**kinds)
    return rows, a_model(rows, **options)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_export_agrees_with_the_model(language: str, case: str, tmp_path: Any) -> None:
    rows, model = rows_and_model(case, language != "sql")
    later = with_holes(rows, new=True)  # each column misses cells, also those that had all of them in training
    both = replace(rows, features=joined(rows, later))
    assert not CASES[case].get("indicator", True) or any(name.endswith("=missing") for name in model.feature_names or ())
    found, wanted = score_rows(language, model, both, tmp_path), model.scores(both)
    np.testing.assert_allclose(found.scores, wanted, rtol=1e-9, atol=1e-11 * abs(wanted).max())
    assert found.labels == model.predict(both).tolist()
    if model.probability_map is not None and language != "sql":
        np.testing.assert_allclose(found.probabilities, model.predict_proba(both), rtol=1e-8, atol=1e-10)


def joined(first: Data, second: Data) -> Table:
    assert isinstance(first.features, Table)
    assert isinstance(second.features, Table)
    pairs = zip(first.features.columns, second.features.columns, strict=True)
    return Table(first.features.names, tuple(np.concatenate(pair) for pair in pairs))


@cache
def rows_and_refusing_model(pairs: bool) -> tuple[Data, rb.Model]:
    whole = data(dates=False, whole=True)
    return whole, a_model(whole, missing="refuse", indicator=False, classes=3 if pairs else 2, pairs=pairs)


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_model_that_refuses_missing_cells_does_so_everywhere(language: str, pairs: bool, tmp_path: Any) -> None:
    whole, model = rows_and_refusing_model(pairs)
    found = score_rows(language, model, whole, tmp_path)
    assert found.labels == model.predict(whole).tolist()
    for name in ("since", "shape"):
        with pytest.raises(RefusedError):
            score_rows(language, model, with_holes(whole, only=(name,)), tmp_path)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_single_column_far_from_zero(language: str, tmp_path: Any) -> None:
    """Its divisor is a single number, which onnxruntime would round to single precision."""
    rows = Data("rows", Table(("since",), (1.7e9 + RNG.random(N),)), None)
    model = a_model(rows, indicator=False)
    found = score_rows(language, model, rows, tmp_path)
    np.testing.assert_allclose(found.scores, model.scores(rows), rtol=1e-12, atol=1e-12)


def test_dates_in_sql_are_refused() -> None:
    with pytest.raises(ExportError, match="SQL export does not support columns of dates") as error:
        to_sql(a_model(data()))
    assert error.value.option == "--dates ignore"


@pytest.mark.parametrize("features", ["binary", "words-3", "words-2:tfidf,chars-2-4", "words-2-2:counts", "chars-1-3:binary"])
@pytest.mark.parametrize("language", ["json", "js"])
def test_texts_are_scored_as_by_the_model(language: str, features: str, tmp_path: Any) -> None:
    texts = [
        "The cat sat on the mat", "a DOG sat; the cat ran, ran, ran", "the mat\tran", "İstanbul the dog ran", None, "a b c the",
    ]  # fmt: skip
    notes = np.array([texts[i % 6] for i in range(30)], object)
    rows = Data("rows.csv", Table(("pay", "note"), (np.arange(30.0), notes)), None)
    recipe = Recipe.learn([rows], text=("note",), text_features=features)
    X: Any = recipe.rows(rows)
    model = model_of(rb.Perceptron(keep="average", random_state=0).fit(X.to_scipy(), np.arange(30) % 2), recipe=recipe)
    cells = [*texts, "", "nothing known", "the cat the cat sat on on", "ΟΔΟΣ the"]
    later = Data("later.csv", Table(("pay", "note"), (np.arange(len(cells)) * 1.0, np.array(cells, object))), None)
    found = score_rows(language, model, later, tmp_path)
    np.testing.assert_allclose(found.scores, model.scores(later), rtol=1e-12, atol=1e-12)
    assert found.labels == [str(label) for label in model.predict(later).tolist()]
