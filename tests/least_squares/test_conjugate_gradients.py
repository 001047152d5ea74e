"""Least squares of sparse rows by conjugate gradients: the minimum of least norm, to the tolerance, or by refinement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from rosenblatt.data.problem import make_problem
from rosenblatt.least_squares.augmented_rows import AugmentedRows
from rosenblatt.least_squares.conjugate_gradients import ConjugateGradients


@pytest.fixture
def no_other_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MAX_SPARSE_GRAM", "MAX_SPARSE_SVD", "MAX_REFINED_GRAM"):
        monkeypatch.setattr(f"rosenblatt.least_squares.linear.{name}", 10)


def sparse(n: int, d: int) -> tuple[Any, Any]:
    return sp.random_array((n, d), density=0.3, format="csr", rng=np.random.default_rng(0)), np.arange(n) % 3


def minimum(X: Any, y: Any, c: Any, alpha: float) -> Any:
    """pinv of the rows, with the ridge as rows below that leave the bias alone: heads x (bias, weights)."""
    P = np.column_stack([np.ones(len(y)), X.toarray()])
    below = np.sqrt(alpha) * np.eye(P.shape[1])[1:]
    T = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    root = np.sqrt(c)[:, None]
    return (np.linalg.pinv(np.vstack([root * P, below])) @ np.vstack([root * T, np.zeros((len(below), 3))])).T


@pytest.mark.usefixtures("no_other_solver")
@pytest.mark.parametrize("shape", [(60, 30), (30, 60)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_the_minimum_of_least_norm_is_found(shape: tuple[int, int], weighted: bool, alpha: float) -> None:
    X, y = sparse(*shape)
    c = np.random.default_rng(1).integers(0, 3, len(y)) + 0.5 if weighted else np.ones(len(y))
    model = rb.LinearMSE(alpha=alpha, tol=1e-13).fit(X, y, sample_weight=c if weighted else None)
    assert model.solver_ == "cgls"
    assert "tol=1e-13" in model.stop_.sentence
    np.testing.assert_allclose(np.column_stack([model.intercept_, model.coef_]), minimum(X, y, c, alpha), rtol=1e-6, atol=1e-8)
    squares = np.square(np.where(y[:, None] == np.arange(3), 1.0, -1.0) - model.decision_function(X))
    assert model.mse_ == pytest.approx(np.average(squares.mean(axis=1), weights=c), abs=1e-12)
    with pytest.raises(ValueError, match=r"cgls.*use partial_fit from the start"):
        model.partial_fit(X, y)


@pytest.mark.usefixtures("no_other_solver")
def test_an_iteration_that_does_not_converge_warns() -> None:
    X, y = sparse(60, 30)
    with pytest.warns(ConvergenceWarning, match="2 iterations"):
        model = rb.LinearMSE(max_iter=2).fit(X, y)
    assert model.stop_.reason == "passes"
    assert model.stop_.limit == model.n_iter_ == 2


@pytest.mark.usefixtures("no_other_solver")
def test_each_iteration_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = sparse(60, 30)
    plain, reports = rb.LinearMSE().fit(X, y), []
    with rb.progress_callback(reports.append):
        model = rb.LinearMSE(verbose=1).fit(X, y)
    assert np.array_equal(model.coef_, plain.coef_)
    assert [progress.passes for progress in reports] == list(range(1, model.n_iter_ + 1))
    assert {progress.max_iter for progress in reports} == {1000}
    assert capsys.readouterr().err.splitlines() == [f"iteration {i}" for i in range(1, model.n_iter_ + 1)]


@pytest.mark.usefixtures("no_other_solver")
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_rows_and_targets_without_information_end_at_once(alpha: float) -> None:
    model = rb.LinearMSE(alpha=alpha).fit(sp.csr_array((40, 30)), np.arange(40) % 2)
    assert model.stop_.reason == "solved"
    assert not model.coef_.any()


def test_a_run_that_is_continued_equals_one_run() -> None:
    X, y = sparse(60, 30)
    A = AugmentedRows(make_problem(X, y, 3, multiclass="ovr"), 0.5)
    whole, parts = ConjugateGradients(A, 1e-12), ConjugateGradients(A, 1e-12)
    assert whole.run(100, None)
    assert not parts.run(100, None, worth=0.0)
    assert parts.iterations == 10
    assert parts.run(100, None)
    assert np.array_equal(whole.W, parts.W)


@pytest.mark.parametrize(("condition", "solver"), [(1.0, "cgls"), (1e4, "rows-refined")])
def test_the_faster_way_is_taken(condition: float, solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rosenblatt.least_squares.linear.MAX_SPARSE_GRAM", 10)
    monkeypatch.setattr("rosenblatt.least_squares.linear.MAX_SPARSE_SVD", 10)
    rng = np.random.default_rng(0)
    X = sp.random_array((600, 900), density=0.02, format="csr", rng=rng)
    scaled = X * np.geomspace(1.0, condition, 900)
    model = rb.LinearMSE(alpha=1.0).fit(sp.csr_array(scaled), np.arange(600) % 2)
    assert model.solver_ == solver
    assert model.stop_.reason == "solved"
