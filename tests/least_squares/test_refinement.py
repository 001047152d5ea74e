"""Least squares of sparse rows by refinement: the minimum of least norm, whatever the rank and the condition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb


@pytest.fixture(autouse=True)
def no_other_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.least_squares.linear.MAX_SPARSE_GRAM", 10)
    monkeypatch.setattr("rosenblatt.least_squares.linear.MAX_SPARSE_SVD", 10)
    monkeypatch.setattr("rosenblatt.least_squares.conjugate_gradients.FIRST_PREDICTION", 1)


def counts(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows like word counts: columns of very different sizes, one long row, and rows that occur twice with other labels."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(2.0 / np.arange(1, d + 1) ** 0.7, (n, d)).astype(float)
    X[0] *= 50.0
    X[n // 2 :][:5] = X[:5]
    return X, rng.integers(0, 3, n)


def minimum(X: Any, y: Any, alpha: float, intercept: bool, c: Any) -> tuple[Any, Any]:
    """(weights, bias) by singular values."""
    T, root = np.where(y[:, None] == np.arange(3), 1.0, -1.0), np.sqrt(c)[:, None]
    if alpha and intercept:
        middle, means = c @ X / c.sum(), c @ T / c.sum()
        W = np.linalg.solve(
            (root * (X - middle)).T @ (root * (X - middle)) + alpha * np.eye(X.shape[1]), (c[:, None] * (X - middle)).T @ T
        )
        return W, means - middle @ W
    A = np.column_stack([np.full(len(X), float(intercept)), X]) * root
    left, s, right = np.linalg.svd(A, full_matrices=False)
    kept = s > 1e-10 * s[0]
    W = right[kept].T @ ((s[kept] / (s[kept] ** 2 + alpha))[:, None] * (left[:, kept].T @ (root * T)))
    return W[1:], W[0]


@pytest.mark.parametrize("shape", [(40, 90), (90, 40), (60, 60)])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_minimum_of_least_norm_is_found(shape: tuple[int, int], alpha: float, intercept: bool, weighted: bool) -> None:
    X, y = counts(*shape)
    c = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y)) if weighted else np.ones(len(y))
    model = rb.LinearMSE(alpha=alpha, fit_intercept=intercept).fit(sp.csr_array(X), y, sample_weight=c if weighted else None)
    assert model.solver_ == ("rows-refined" if shape[0] <= shape[1] else "refined")
    assert model.stop_.reason == "solved"
    assert 1 <= model.n_iter_ <= 10
    W, b = minimum(X, y, alpha, intercept, c)
    np.testing.assert_allclose(model.coef_.T, W, rtol=0, atol=1e-8 * abs(W).max())
    assert model.intercept_ == pytest.approx(b, abs=1e-6 * max(1.0, abs(b).max()))


def test_larger_products_and_columns_out_of_proportion_are_left_to_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = counts(40, 60)
    monkeypatch.setattr("rosenblatt.least_squares.linear.MAX_REFINED_GRAM", 39)
    assert rb.LinearMSE(alpha=1.0).fit(sp.csr_array(X), y).solver_ == "cgls"
    monkeypatch.setattr("rosenblatt.least_squares.linear.MAX_REFINED_GRAM", 40)
    monkeypatch.setattr("rosenblatt.least_squares.refinement.MAX_ROUNDS", 0)  # as if the rounds did not converge
    assert rb.LinearMSE(alpha=1.0).fit(sp.csr_array(X), y).solver_ == "cgls"


@pytest.mark.parametrize("shape", [(40, 90), (90, 40)])
def test_a_factor_in_float32_is_refined_to_the_same_minimum_or_left(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = counts(*shape)
    for largest_error, alpha in ((0.1, 1e-1 * np.square(X).sum()), (np.inf, 1e-7)):  # the second one cannot be refined
        monkeypatch.setattr("rosenblatt.least_squares.refinement.MAX_FLOAT32_ERROR", -1.0)
        exact = rb.LinearMSE(alpha=alpha).fit(sp.csr_array(X), y)
        monkeypatch.setattr("rosenblatt.least_squares.refinement.MAX_FLOAT32_ERROR", largest_error)
        model = rb.LinearMSE(alpha=alpha).fit(sp.csr_array(X), y)
        assert model.solver_ == exact.solver_
        np.testing.assert_allclose(model.coef_, exact.coef_, rtol=0, atol=1e-9 * abs(exact.coef_).max())


def test_products_of_rows_with_repeated_columns_are_exact() -> None:
    X, y = counts(40, 60)
    parts = sp.coo_array(X)
    row, column = np.r_[parts.row, parts.row], np.r_[parts.col, parts.col]
    twice = sp.coo_array((np.r_[parts.data, parts.data], (row, column)), shape=X.shape)
    order = np.argsort(row, kind="stable")
    repeated = sp.csr_array((twice.data[order], column[order], np.r_[0, np.bincount(row).cumsum()]), shape=X.shape)
    expected = rb.LinearMSE(alpha=1.0).fit(sp.csr_array(2.0 * X), y)
    np.testing.assert_allclose(rb.LinearMSE(alpha=1.0).fit(repeated, y).coef_, expected.coef_, rtol=1e-9, atol=1e-12)
