"""Missing cells are filled, counted and reported, and constant columns are dropped, whatever the kind of the column."""

from __future__ import annotations

import numpy as np
import pytest
from tables import cut, dense, numbers, strings, table

from rosenblatt.data.table import Table
from rosenblatt.preprocessing import medians
from rosenblatt.preprocessing.recipe import Recipe

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("missing", "value"), [("auto", 2), ("median", 2), ("mean", 3)])
def test_missing_numbers_get_the_median_or_the_mean(missing, value):
    data = table(a=numbers(1, np.nan, 6, 2), b=numbers(1, 2, 3, 4))
    recipe = Recipe.learn([data], scale="none", missing=missing)
    np.testing.assert_array_equal(recipe.rows(data)[:, 0], [1, value, 6, 2])
    assert np.isnan(data.features.columns[0][1]), "the reader's columns are left alone"
    kind = "mean" if missing == "mean" else "median"
    assert recipe.notes == (f"Missing cells: 'a' 1 (filled with the column {kind}).",)
    # A column that had no missing cells in training is filled, too.
    np.testing.assert_array_equal(recipe.rows(table(a=numbers(5), b=numbers(np.nan))), [[5, 2.5]])
    holed = np.array([[1.0, np.nan], [3.0, 4.0]])
    np.testing.assert_array_equal(Recipe.learn([holed], scale="none").rows(holed), [[1, 4], [3, 4]])
    assert np.isnan(holed[0, 1])


def test_missing_cells_of_all_kinds_are_reported_in_one_line():
    data = table(
        a=numbers(1, np.nan, 6), c=strings("x", None, "y"), t=strings("the cat", None, "the cat"), d=strings("u", "v", "u"),
    )  # fmt: skip
    recipe = Recipe.learn([data], scale="none", text=("t",), missing_indicator=True)
    assert recipe.notes[-1] == (
        "Missing cells: 'a' 1 (filled with the column median and marked by a feature); 'c' 1 (category 'missing'); "
        "'t' 1 (text without words)."
    )
    names = ["a", "a=missing", "c=x", "c=y", "c=missing", "t:cat", "t:the", "d=u", "d=v"]
    assert list(recipe.feature_names) == names
    half = 0.5**0.5
    expected = [[1, 0, 1, 0, 0, half, half, 1, 0], [3.5, 1, 0, 0, 1, 0, 0, 0, 1], [6, 0, 0, 1, 0, half, half, 1, 0]]
    np.testing.assert_allclose(dense(recipe.rows(data)), expected, rtol=1e-15)
    later = table(a=numbers(np.nan), c=strings(None), t=strings(None), d=strings(None))
    np.testing.assert_array_equal(dense(recipe.rows(later)), [[3.5, 1, 0, 0, 1, 0, 0, 0, 0]])


def test_constant_columns_are_dropped():
    data = table(
        a=numbers(1, 2, 3), k=numbers(7, 7, 7), e=numbers(np.nan, np.nan, np.nan), h=numbers(4, np.nan, 4),
        one=strings("x", "x", "x"), some=strings("x", None, "x"),
    )  # fmt: skip
    recipe = Recipe.learn([data], scale="none", drop_constant=True)
    assert recipe.notes[1:3] == (
        "Constant columns dropped: 'k', 'e' (no values), 'h' (missing in 1 row), 'one'. "
        "To use what is missing: --missing-indicator.",
        "Missing cells: 'some' 1 (category 'missing').",
    )
    assert (list(recipe.feature_names), recipe.required) == (["a", "some=x", "some=missing"], ("a", "some"))
    np.testing.assert_array_equal(dense(recipe.rows(data)), [[1, 1, 0], [2, 0, 1], [3, 1, 0]])
    again = Recipe.from_parts(*recipe.to_parts())
    assert again == recipe
    assert again.constant == recipe.constant
    marked = Recipe.learn([data], scale="none", drop_constant=True, missing_indicator=True)
    assert list(marked.feature_names) == ["a", "h=missing", "some=x", "some=missing"]
    np.testing.assert_array_equal(dense(marked.rows(data))[:, 1], [0, 1, 0])
    kept = Recipe.learn([data.features], scale="none")
    assert list(kept.feature_names) == ["a", "k", "e", "h", "one=x", "some=x", "some=missing"]
    nothing = Recipe.learn([table(k=numbers(7, 7))], drop_constant=True)
    assert list(nothing.feature_names) == ["k"], "a model needs a column"
    assert nothing.notes[0] == "All columns are constant: the model can only guess the most frequent class."


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_constant_columns_of_arrays_are_dropped(degree):
    X = RNG.normal(size=(20, 5))
    X[:, [0, 3]] = 0.1
    recipe = Recipe.learn([X], drop_constant=True, degree=degree)
    assert recipe.notes[0] == "Constant columns dropped: '0', '3'."
    without = Recipe.learn([X[:, [1, 2, 4]]], degree=degree)
    np.testing.assert_array_equal(recipe.rows(X), without.rows(X[:, [1, 2, 4]]))
    assert len(recipe.feature_names) == recipe.width == without.width
    assert recipe.feature_names[:3] == ["1", "2", "4"]
    assert Recipe.from_parts(*recipe.to_parts()) == recipe


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("places", [[], [10, 11, 30], [1, 2, 3, 40, 70]])
def test_medians_do_not_depend_on_the_cut(monkeypatch, in_memory, places):
    monkeypatch.setattr(medians, "KEPT_CELLS", 40)
    monkeypatch.setattr(medians, "MIN_KEPT_ROWS", 20)
    X = RNG.exponential(size=(101, 2))
    X[RNG.random(X.shape) < 0.3] = np.nan
    features = Table(("a", "b"), (X[:, 0].copy(), X[:, 1].copy()))
    found = Recipe.learn(cut(features, places), in_memory=in_memory).numbers.fill
    kept = X if in_memory else X[::8]  # 101 rows, of which at most 20 are kept: every 8th
    np.testing.assert_array_equal(found, np.nanmedian(kept, axis=0))
