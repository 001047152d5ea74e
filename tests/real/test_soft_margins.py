"""Soft margins on real data: libsvm's objective and support vectors, LIBLINEAR's objective, the conditions of the optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC

import rosenblatt as rb
from datasets import data_file, libsvm

SETS = ["heart_scale", "breast-cancer_scale", "australian", "german.numer", "a9a", "w8a", "mushrooms", "sonar", "iris"]


def load(name: str, rows: int = 4000) -> tuple[Any, Any]:
    """Values up to 1 in size; the first rows of large sets, which libsvm would take minutes for."""
    if name == "iris":
        X, y = load_iris(return_X_y=True)
        return X, (y == 1).astype(int)
    if name == "sonar":
        table = np.genfromtxt(data_file("uci/sonar.all-data"), delimiter=",", dtype=str)
        return table[:, :-1].astype(float), (table[:, -1] == "M").astype(int)
    X, y = libsvm(name)
    X = MaxAbsScaler().fit_transform(X[:rows]) if name == "australian" else X[:rows]
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape), y[:rows]


def margins(X: Any, y: Any, w: Any, b: float) -> Any:
    return np.where(y == np.max(y), 1, -1) * (np.asarray(X @ w).ravel() + b)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_optimum_of_libsvm_and_its_support_vectors(name: str) -> None:
    X, y = load(name)
    model = rb.SoftMargin(tol=1e-9).fit(X, y)
    assert model.gap_ <= 1e-9
    svc = SVC(kernel="linear", tol=1e-8, cache_size=1000).fit(X, y)
    coef = svc.coef_.toarray() if sp.issparse(svc.coef_) else svc.coef_
    slack = np.maximum(0, 1 - margins(X, y, coef[0], svc.intercept_[0]))
    theirs = coef[0] @ coef[0] / 2 + slack.sum()
    assert model.objective_ <= theirs * (1 + 1e-12)
    assert model.objective_ == pytest.approx(theirs, rel=1e-6)
    # If several rows are equal, or lie on the margin by accident, any of them may be the support vectors.
    others = np.setxor1d(model.support_, svc.support_)
    assert margins(X, y, model.coef_[0], model.intercept_[0])[others] == pytest.approx(1, abs=1e-4)
    if name not in ("mushrooms", "a9a", "w8a"):
        assert len(others) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_conditions_of_the_optimum(name: str, C: float) -> None:
    """0 < a < C: on the margin. a = 0: beyond it. a = C: inside it. w = sum a y x, sum a y = 0."""
    X, y = load(name)
    model = rb.SoftMargin(C=C, tol=1e-9).fit(X, y)
    signs = np.where(y == np.max(y), 1.0, -1.0)
    a = np.zeros(len(y))
    a[model.support_] = model.multipliers_
    m = margins(X, y, model.coef_[0], model.intercept_[0])
    assert abs(a @ signs) < 1e-9 * a.sum()
    assert model.coef_[0] == pytest.approx(np.asarray((a * signs) @ X).ravel(), abs=1e-9)
    assert (a <= C).all()
    assert m[a == 0].min(initial=np.inf) >= 1 - 1e-4
    assert m[a == C].max(initial=-np.inf) <= 1 + 1e-4
    assert m[(a > 0) & (a < C)] == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("name", ["heart_scale", "breast-cancer_scale", "a9a", "w8a"])
def test_the_optimum_of_liblinear(name: str, loss: str) -> None:
    X, y = load(name)
    model = rb.SoftMargin(C=0.1, loss=loss, penalize_intercept=True, tol=1e-9).fit(X, y)
    svc = LinearSVC(C=0.1, loss=loss, tol=1e-8, max_iter=200_000, random_state=0).fit(X, y)
    slack = np.maximum(0, 1 - margins(X, y, svc.coef_[0], svc.intercept_[0]))
    square = svc.coef_[0] @ svc.coef_[0] + svc.intercept_[0] ** 2
    theirs = square / 2 + 0.1 * (slack @ slack if loss == "squared_hinge" else slack.sum())
    assert model.objective_ <= theirs * (1 + 1e-12)
    assert model.objective_ == pytest.approx(theirs, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("pack", [sp.csr_array, lambda X: X.toarray()], ids=["csr", "dense"])
def test_raw_columns_of_very_different_sizes_are_solved_too(pack: Any) -> None:
    """australian as it is: one column goes up to 100,001. libsvm does not finish."""
    X, y = libsvm("australian")
    model = rb.SoftMargin(tol=1e-6).fit(pack(X), y)
    assert model.gap_ <= 1e-6
    assert model.score(pack(X), y) > 0.8
