"""Logistic regression on values of any size: the gap is that of the stored weights and multipliers, and every fit ends."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import xlog1py, xlogy

import rosenblatt as rb
from effort import amount
from rosenblatt.estimators.base import StopWarning
from rosenblatt.estimators.svm_base import ZeroPlaneWarning

L = np.longdouble


def fit(X: Any, y: Any, **given: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StopWarning)
        warnings.simplefilter("ignore", ZeroPlaneWarning)  # values of 1e-150
        return rb.SoftMargin(loss="logistic", **given).fit(X, y)


def exact_length(X: Any, a: Any) -> float:
    """|sum_i a_i x_i|^2 in fractions."""
    columns = [[Fraction(float(x)) for x in column] for column in X.T]
    weights = [Fraction(float(each)) for each in a]
    return float(sum(sum(w * x for w, x in zip(weights, column, strict=True)) ** 2 for column in columns))


def exact_gap(model: Any, X: Any, y: Any, C: float) -> tuple[float, float]:
    """The objective and the gap of a fit with a free intercept: sums of rows in fractions, losses in long doubles."""
    k, n = len(model.classes_), len(y)
    w, b = model.coef_.astype(L), model.intercept_.astype(L)
    scores = X.astype(L) @ w.T + b
    a = np.zeros((n, k) if k > 2 else n)
    a[model.support_[0]] = model.multipliers_[0]
    if k == 2:
        loss = C * np.logaddexp(L(0), -np.where(y, 1, -1) * scores[:, 0]).sum()
        share = a / C
        entropy = -C * (xlogy(share, share) + xlog1py(1 - share, -share)).sum()
        length = exact_length(X, a * np.where(y, 1, -1))
    else:
        top = scores.max(axis=1, keepdims=True)
        loss = C * (np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0] - scores[np.arange(n), y]).sum()
        shares = -a / C
        shares[np.arange(n), y] += 1.0
        entropy = -C * xlogy(shares, shares).sum()
        length = sum(exact_length(X, column) for column in a.T)
    primal = float((w * w).sum() / 2 + loss)
    return primal, primal - (float(entropy) - 0.5 * length)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1e-150, 1e-5, 1.0, 1e5, 1e9, 1e30, 1e150])
def test_the_gap_is_that_of_the_stored_numbers(scale: float, kind: Any, k: int) -> None:
    for seed in range(amount(1, 20)):
        rng = np.random.default_rng(seed)
        n, d = [(8, 30), (40, 4), (30, 2)][seed % 3]
        X, y = rng.normal(size=(n, d)) * scale, rng.integers(0, k, n)
        y[:k] = np.arange(k)
        model = fit(kind(X), y, tol=1e-6, multiclass="ovr" if k == 2 else "multinomial")
        primal, gap = exact_gap(model, X, y, 1.0)
        assert 0.0 <= model.gap_[0] <= 1.0
        assert model.objective_[0] == pytest.approx(primal, rel=1e-9)
        assert model.dual_gap_[0] == pytest.approx(gap, rel=1e-3, abs=1e-15 + 1e-9 * primal)
        assert model.gap_[0] <= 1e-6 or model.stop_.reason == "rounding"


@pytest.mark.parametrize("k", [2, 3])
def test_a_fit_that_rounding_errors_hold_up_ends_soon(k: int) -> None:
    """Columns of 1e30 and of 1 beside a constant: no step finds a better gap."""
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(30, 3))) * [1e30, 1e30, 1.0], rng.integers(0, k, 30)
    model = fit(np.column_stack([X, np.ones(30)]), y, tol=1e-6, C=10.0)
    assert model.stop_.reason == "rounding"
    assert model.n_iter_ < 1000
    assert 0.0 < model.gap_[0] <= 1.0


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_small_losses_of_several_classes_have_all_digits(kind: Any) -> None:
    """The odds against the class of each row are 1e-10, which log(1 + 1e-10) would round to six digits."""
    X = np.eye(3) * 1e7
    model = rb.SoftMargin(loss="logistic", C=1e-3, tol=1e-9, fit_intercept=False).fit(kind(X), [0, 1, 2])
    scores = X.astype(L) @ model.coef_.T.astype(L)
    odds = (np.exp(scores - np.diag(scores)[:, None]) * (1 - np.eye(3))).sum(axis=1)
    by_hand = (model.coef_.astype(L) ** 2).sum() / 2 + L(1e-3) * np.log1p(odds).sum()
    assert model.objective_[0] == pytest.approx(float(by_hand), rel=1e-12)
    assert model.gap_[0] <= 1e-9
