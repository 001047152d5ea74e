"""Features are standardized accurately, and sparse ones keep their zeros."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from tables import cut, dense, sparse

from rosenblatt.data.csr import CSRMatrix
from rosenblatt.preprocessing.recipe import Recipe

RNG = np.random.default_rng(0)


def test_columns_are_divided_by_their_largest_on_request():
    X = np.array([[1.0, 1000.0, 0.0], [-2.0, 10.0, 0.0]])
    for rows in (X, sparse(X)):
        recipe = Recipe.learn([rows], scale="max")
        np.testing.assert_array_equal(dense(recipe.rows(rows)), X / [2, 1000, 1])
        assert recipe.notes == ("Numeric columns were scaled by their largest absolute values, as requested.",)
    assert Recipe.learn([X], scale="none").rows(X) is X


def test_small_variations_around_a_large_mean_are_standardized_accurately():
    """Times of the 2020s in seconds, one per second; sums of squares would lose all digits."""
    exact = np.arange(10_000.0)
    expected = (exact - exact.mean()) / exact.std()
    X = (1.7e9 + exact)[:, None]
    for rows in (X, sparse(X)):
        pieces = cut(rows, [1, 17, 5_000])
        recipe = Recipe.learn(pieces)
        np.testing.assert_allclose(dense(recipe.rows(rows))[:, 0], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(Recipe.learn([X / 1e9 + 1e3]).numbers.divide, exact.std() / 1e9, rtol=1e-5)


def test_columns_with_few_nonzero_cells_keep_their_zeros():
    X = np.zeros((100, 2))
    X[:5, 0], X[:, 1] = [1e6, 2e6, 3e6, 4e6, 5e6], np.arange(100.0)
    rows = Recipe.learn([X]).rows(X)
    assert (rows[5:, 0] == 0).all()
    np.testing.assert_allclose((rows[:5, 0] ** 2).mean(), 1)
    np.testing.assert_allclose([rows[:, 1].mean(), rows[:, 1].std()], [0, 1], atol=1e-12)
    thin = np.where(RNG.random((200, 6)) < 0.2, RNG.exponential(size=(200, 6)) * 1000, 0)
    recipe = Recipe.learn([sparse(thin)])
    assert recipe.scale == "rms"
    assert isinstance(recipe.rows(sparse(thin)), CSRMatrix)
    np.testing.assert_allclose(
        dense(recipe.rows(sparse(thin))), thin / np.sqrt((thin**2).sum(axis=0) / (thin != 0).sum(axis=0)), rtol=1e-12
    )
    indicators = sparse(thin > 0)
    np.testing.assert_allclose(Recipe.learn([indicators]).rows(indicators).values, 1, rtol=1e-12)


def test_standard_scaling():
    X = RNG.normal(3, [1, 100, 1e-6], (50, 3))
    recipe = Recipe.learn([X], scale="standard")
    np.testing.assert_allclose(recipe.rows(X), StandardScaler().fit_transform(X), atol=1e-8)
    constant = np.full((4, 1), 0.1)
    np.testing.assert_allclose(Recipe.learn([constant], scale="standard").rows(constant), np.zeros((4, 1)), atol=1e-16)
    np.testing.assert_allclose(dense(Recipe.learn([sparse(X)], scale="standard").rows(X)), recipe.rows(X), atol=1e-8)
    with pytest.raises(ValueError, match="scale must be one of 'auto', 'none', 'max', 'standard', got 'x'"):
        Recipe.learn([X], scale="x")


def test_means_do_not_depend_on_the_cut_beyond_a_block():
    """More rows than a block, with values that no order of addition sums alike."""
    X = np.random.default_rng(2).normal(size=(10_000, 2)) * [1e10, 1]
    whole = Recipe.learn([X], scale="standard")
    for step in (999, 4096, 5000):
        assert Recipe.learn([X[start : start + step] for start in range(0, len(X), step)], scale="standard") == whole
    assert Recipe.learn([X[:1], X[1:4097], X[4097:]], scale="standard") == whole
    np.testing.assert_allclose(whole.numbers.shift, X.mean(axis=0), rtol=1e-9, atol=1e-9)
