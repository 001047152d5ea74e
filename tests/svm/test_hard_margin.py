"""The widest margin of many sparse rows by dual coordinates: the same plane as the nearest points', the same refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.svm.hard_margin import widest_margin
from rosenblatt.svm.nearest_points import nearest_points
from rosenblatt.svm.problem import heads
from rosenblatt.svm.signed_rows import SignedRows


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: Any) -> None:
    monkeypatch.setattr("rosenblatt.svm.hard_margin.MIN_SPARSE_SIZE", 5)


def texts(n: int = 60, d: int = 90, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.15)
    return sp.csr_array(X), (X @ rng.normal(size=d) > 0).astype(int)


@pytest.mark.parametrize("x0", [1.0, 0.0])
def test_it_is_the_plane_of_the_nearest_points(x0: float) -> None:
    X, y = texts()
    (head,) = heads(X, y, 2, "ovr", x0=x0)
    found, solver = widest_margin(head.problem, tol=1e-7, positive=1, about="")
    nearest = nearest_points(head.problem, tol=1e-10)
    assert solver == "dual-coordinates"
    assert found.gap <= 1e-7
    assert found.margin == pytest.approx(nearest.margin, rel=1e-6)
    assert found.coef == pytest.approx(nearest.coef, abs=1e-3 * abs(nearest.coef).max())
    assert found.canonical.min() == pytest.approx(1.0)
    signs = np.where(y == 1, 1.0, -1.0)[found.support]
    assert (signs * found.multipliers) @ X[found.support] == pytest.approx(found.coef, abs=1e-9)
    if x0:
        assert abs(signs @ found.multipliers) < 1e-9 * found.multipliers.sum()


def test_the_estimator_reports_its_solver_and_stop() -> None:
    X, y = texts()
    model = rb.MaxMargin(tol=1e-5).fit(X, y)
    assert model.solver_ == ["dual-coordinates"]
    assert model.stop_.reason == "tolerance"
    assert model.score(X, y) == 1.0
    assert rb.SoftMargin(C=np.inf, tol=1e-4).fit(X, y).margin_ == pytest.approx(model.margin_, rel=1e-3)


def test_the_estimator_counts_passes_as_iterations(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = texts()
    model = rb.MaxMargin(tol=1e-5, verbose=1).fit(X, y)
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"iteration {model.n_iter_}: gap ")
    assert f"solved after {model.n_iter_} iterations" in model.stop_.sentence


def test_opposite_twins_are_named_at_once() -> None:
    X, y = texts()
    X, y = sp.vstack([X, X[[7]]], format="csr"), np.append(y, 1 - y[7])
    (head,) = heads(X, y, 2, "ovr")
    assert SignedRows(head.problem).find_equal_rows() == [7, 60]
    with pytest.raises(rb.NotSeparable, match="rows 8 and 61 are the same point with different labels") as caught:
        rb.MaxMargin().fit(X, y)
    assert caught.value.check(X, y)


def test_rows_that_no_plane_separates_get_a_proof_from_the_nearest_points() -> None:
    rng = np.random.default_rng(0)
    X, y = sp.csr_array(rng.integers(0, 3, (60, 8)).astype(float)), np.arange(60) % 2
    with pytest.raises(rb.NotSeparable) as caught:
        rb.MaxMargin().fit(X, y)
    assert caught.value.check(X, y)
