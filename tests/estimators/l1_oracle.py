"""Primal and dual of the L1 penalty in plain NumPy, and rows to try them on."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import xlog1py, xlogy


def rows_of(n: int = 120, d: int = 40, seed: int = 0, share: float = 0.3) -> tuple[Any, Any]:
    """Rows of which a third of the values are not zero, with a shift, and labels that six columns decide, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < share) + (rng.random((n, d)) < 0.1)
    scores = X[:, :6] @ rng.standard_normal(6) + 0.7 * rng.standard_normal(n) + 0.3
    return X, (scores > 0).astype(int)


def primal(X: Any, signs: Any, costs: Any, w: Any, b: float, loss: str, penalized: float = 0.0) -> float:
    """penalized: x_0 of a penalized intercept, or 0."""
    margins = signs * (np.asarray(X @ w).ravel() + b)
    losses = np.maximum(0.0, 1.0 - margins) ** 2 if loss == "squared_hinge" else np.logaddexp(0.0, -margins)
    return float(abs(w).sum() + (abs(b) / penalized if penalized else 0.0) + costs @ losses)


def dual(costs: Any, a: Any, loss: str) -> float:
    if loss == "squared_hinge":
        return float(a.sum() - (a * a / costs).sum() / 4.0)
    share = a / costs
    return float(-(costs * (xlogy(share, share) + xlog1py(1.0 - share, -share))).sum())


def check_feasible(X: Any, signs: Any, costs: Any, a: Any, loss: str, free: bool, penalized: float = 0.0) -> Any:
    """Check the constraints of the dual, and return sum_i a_i y_i x_ij for all columns j."""
    assert (a >= 0).all()
    if loss == "logistic":
        assert (a <= costs * (1 + 1e-12)).all()
    total = float(a @ signs)
    if free:
        assert abs(total) <= 1e-12 * max(1.0, a.sum())
    if penalized:
        assert abs(penalized * total) <= 1 + 1e-9
    products = np.asarray((sp.csr_array(X).T if sp.issparse(X) else X.T) @ (a * signs)).ravel()
    assert abs(products).max(initial=0.0) <= 1 + 1e-9
    return products
