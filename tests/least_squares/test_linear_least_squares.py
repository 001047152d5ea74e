"""Least squares of few rows with many columns, where the products of rows alone are not precise enough."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb


@pytest.mark.parametrize("shape", [(18, 18), (12, 30)])
@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_few_rows_with_columns_of_very_different_sizes_are_fitted_right(shape: tuple[int, int], alpha: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * 10.0 ** rng.uniform(-6, 6, shape[1])
    y = np.arange(shape[0]) % 2
    model = rb.LinearMSE(alpha=alpha).fit(X, y)
    t = 2.0 * y - 1.0
    cost = np.sum((t - model.decision_function(X)) ** 2) + alpha * np.sum(model.coef_**2)
    Z, s = (X - X.mean(axis=0), t - t.mean()) if alpha else (np.column_stack([np.ones(len(X)), X]), t)
    left, sizes, right = np.linalg.svd(Z, full_matrices=False)
    w = right.T @ (sizes / (sizes**2 + alpha) * (left.T @ s)) if alpha else np.linalg.pinv(Z, rcond=1e-15) @ s
    assert cost <= (np.sum((s - Z @ w) ** 2) + alpha * np.sum(w**2)) * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
def test_wide_rows_without_room_for_a_copy_are_solved_from_columns(pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.least_squares.linear.MAX_COPIED_VALUES", 0)
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(6, 40)), 2, axis=0)  # every row twice: the products are singular
    y = np.arange(12) // 2 % 2
    model = rb.LinearMSE().fit(pack(X), y)
    assert (model.solver_, model.rank_) == ("rows-svd", 6)
    w = np.linalg.pinv(np.column_stack([np.ones(12), X])) @ (2.0 * y - 1.0)
    assert np.append(model.intercept_, model.coef_) == pytest.approx(w, abs=1e-10)
