"""Crammer-Singer on real data: scikit-learn's objective within the gap, and a free bias that is never worse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from datasets import libsvm
from rosenblatt.data.problem import make_rows
from rosenblatt.svm.crammer_singer import CrammerSinger, solve_crammer_singer

pytestmark = pytest.mark.slow


def iris() -> tuple[Any, Any]:
    return load_iris(return_X_y=True)


def dna() -> tuple[Any, Any]:
    X, y = libsvm("dna.scale")
    return X.toarray(), y


def letter() -> tuple[Any, Any]:
    X, y = libsvm("letter.scale")
    return X[:1500].toarray(), y[:1500]


def news() -> tuple[Any, Any]:
    X, y = libsvm("news20.bz2")
    return X[:1000], y[:1000]


LONG = [pytest.param(letter, 0.1, marks=pytest.mark.thorough), pytest.param(news, 0.01, marks=pytest.mark.thorough)]


def solve(X: Any, codes: Any, C: float, **options: Any) -> CrammerSinger:
    settings: Any = {"x0": 1.0, "free": False, "tol": 1e-5, "max_iter": 20_000, "seed": 0} | options
    return solve_crammer_singer(make_rows(X), codes, int(codes.max()) + 1, np.full(len(codes), C), **settings)


def objective(X: Any, codes: Any, C: float, W: Any, b: Any, beta: Any) -> float:
    scores, each = X @ W.T + b, np.arange(len(codes))
    wanted = scores + 1.0
    wanted[each, codes] -= 1.0
    slack = wanted.max(axis=1) - scores[each, codes]
    return 0.5 * float(np.square(W).sum() + np.square(beta).sum()) + C * float(slack.sum())


@pytest.mark.parametrize(("load", "C"), [(iris, 0.1), (iris, 1.0), (dna, 0.05), *LONG])
@pytest.mark.parametrize("x0", [1.0, pytest.param(3.0, marks=pytest.mark.thorough)])
def test_the_objective_is_scikit_learns_within_the_gap(load: Any, C: float, x0: float) -> None:
    X, y = load()
    codes = np.unique(y, return_inverse=True)[1]
    found = solve(X, codes, C, x0=x0)
    assert found.reached
    peer = LinearSVC(multi_class="crammer_singer", C=C, tol=1e-6, intercept_scaling=x0, max_iter=20_000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(X, codes)
    theirs = objective(X, codes, C, peer.coef_, peer.intercept_, peer.intercept_ / x0)
    ours = objective(X, codes, C, found.W, found.bias, found.bias / x0)
    assert ours == pytest.approx(found.primal, rel=1e-9)
    assert found.dual <= theirs  # the dual is below every objective there is
    assert ours <= theirs * (1.0 + 1e-5)


@pytest.mark.parametrize(("load", "C"), [(iris, 1.0), (dna, 0.05), *LONG])
def test_a_free_bias_gains_at_least_its_penalty(load: Any, C: float) -> None:
    X, y = load()
    codes = np.unique(y, return_inverse=True)[1]
    free, held = solve(X, codes, C, free=True, tol=1e-4), solve(X, codes, C)
    assert free.reached
    assert free.dual <= held.primal - 0.5 * float(np.square(held.bias).sum())
    assert objective(X, codes, C, free.W, free.bias, 0.0) == pytest.approx(free.primal, rel=1e-9)
    np.testing.assert_allclose(free.multipliers.sum(axis=0), 0.0, atol=1e-11 * (1.0 + np.abs(free.multipliers).sum()))


def test_float32_and_csr_rows_have_the_same_objective() -> None:
    X, y = libsvm("dna.scale")
    codes = np.unique(y, return_inverse=True)[1]
    best = solve(X, codes, 0.05).primal
    for rows in (X.astype(np.float32), X.toarray(), X.toarray().astype(np.float32), sp.csr_array(X)):
        assert solve(rows, codes, 0.05).primal == pytest.approx(best, rel=2e-5)
