"""Dual coordinates on blocks: the optimum for any number of blocks, feasible multipliers, and bits that blocks alone decide."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_data import noisy_rows

from rosenblatt import SoftMargin
from rosenblatt.array_types import Array
from rosenblatt.cluster import dual_blocks, hinge
from rosenblatt.cluster.block_set import ArraySource, open_blocks
from rosenblatt.cluster.dual_blocks import Ascent, solve_dual
from rosenblatt.cluster.engine import InProcess
from rosenblatt.cluster.fit import fit
from rosenblatt.cluster.objectives import Head
from rosenblatt.svm.limits import SolverLimits

LOSSES = ["hinge", "squared_hinge"]
INTERCEPTS: list[dict[str, Any]] = [{}, {"penalize_intercept": True}, {"fit_intercept": False}]


def texts(n: int, width: int, seed: int = 0) -> tuple[Any, Array]:
    """Sparse rows of length 1, most of whose columns are rare."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), 12)
    columns = np.minimum((rng.pareto(0.6, size=len(rows)) * 3).astype(int), width - 1)
    X = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, width))
    X = sp.csr_array(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1))[:, None]))
    return X, (X @ rng.normal(size=width) + 0.3 * rng.normal(size=n) > 0.0).astype(int)


def model(**options: Any) -> SoftMargin:
    return SoftMargin(**{"tol": 1e-3, "random_state": 0, "multiclass": "ovr", "solver": "dual-coordinates", **options})


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("options", INTERCEPTS, ids=["free", "penalized", "none"])
@pytest.mark.parametrize("block_rows", [700, 99])
def test_the_optimum_is_that_of_one_machine_and_the_multipliers_are_feasible(loss: str, options: Any, block_rows: int) -> None:
    X, y = texts(1200, 3000)
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    alone = model(loss=loss, tol=1e-6, **options).fit(X, y, sample_weight=weights)
    found = fit(model(loss=loss, **options), (X, y, weights), block_rows=block_rows)
    assert found.solver_ == ["dual-coordinates"]
    assert 0.0 <= found.gap_[0] <= 1e-3
    assert alone.objective_[0] * (1 - 1e-6) <= found.objective_[0] <= alone.objective_[0] * (1 + 1e-3)
    signed = found.multipliers_[0] * (2 * y[found.support_[0]] - 1)
    assert X[found.support_[0]].T @ signed == pytest.approx(found.coef_[0], abs=1e-9)
    assert (found.multipliers_[0] > 0.0).all()
    if loss == "hinge":
        assert (found.multipliers_[0] <= weights[found.support_[0]]).all()
    if not options:
        assert signed.sum() == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_several_classes_of_dense_rows(scheme: str, dtype: Any) -> None:
    X, y = noisy_rows(400, 5, 3)
    X = X.astype(dtype)
    alone = model(C=0.02, multiclass=scheme, tol=1e-6).fit(X, y)
    found = fit(model(C=0.02, multiclass=scheme), (X, y), block_rows=150)
    assert found.gap_.max() <= 1e-3
    assert found.objective_ == pytest.approx(alone.objective_, rel=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_bits_depend_on_the_blocks_alone(loss: str) -> None:
    X, y = texts(600, 2500)
    one, three = (fit(model(loss=loss), (X, y), InProcess(jobs), block_rows=50) for jobs in (1, 3))
    assert one.coef_.tobytes() == three.coef_.tobytes()
    assert (one.intercept_, one.gap_, one.n_iter_) == (three.intercept_, three.gap_, three.n_iter_)
    assert one.multipliers_[0].tobytes() == three.multipliers_[0].tobytes()


def blocks_of(X: Any, y: Array, count: int) -> Any:
    edges = np.linspace(0, len(y), count + 1).astype(int)
    spans = [slice(first, last) for first, last in pairwise(edges)]
    return open_blocks(InProcess(), [ArraySource(i, X[span], y[span]) for i, span in enumerate(spans)])


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("count", [2, 17])
def test_added_changes_never_decrease_the_dual(squared: bool, count: int, monkeypatch: Any) -> None:
    """Without extrapolation, even on equal rows, where all blocks pull the same way, and with few local passes."""
    monkeypatch.setattr(dual_blocks, "FIRST_PASSES", 1)
    X = np.ones((85, 3)) + 1e-3 * np.random.default_rng(0).normal(size=(85, 3))
    run = Ascent(blocks_of(X, np.arange(85) % 2, count), Head(1, None, 1.0, 1.0, False), squared, SolverLimits(1e-6))
    before = run._dual()
    for _ in range(20):
        run.momentum = 1.0
        run.improve()
        assert run._dual() >= before - 1e-9
        before = run._dual()
    assert before > 0.0


def test_extrapolation_saves_most_rounds(monkeypatch: Any) -> None:
    X, y = texts(1200, 3000)
    blocks, head, limits = blocks_of(X, y, 8), Head(1, None, 1.0, 1.0, True), SolverLimits(1e-4, 400)
    fast = solve_dual(blocks, head, True, limits).steps
    monkeypatch.setattr(Ascent, "momentum", property(lambda _: 1.0, lambda *_: None), raising=False)
    assert 2 * fast < solve_dual(blocks, head, True, limits).steps


def test_hard_problems_do_not_diverge_and_say_what_they_reached() -> None:
    """Few columns, large costs and small blocks: the local problems are far from solved, which extrapolation would amplify."""
    X, y = noisy_rows(300, 4)
    answer = solve_dual(blocks_of(X, y, 10), Head(1, None, 1.0, 1.0, False), True, SolverLimits(1e-9, 150))
    assert answer.steps == 150
    assert 1e-9 < answer.solution.gap < 0.2


# --- which solver --------------------------------------------------------------------------------------------------------


def test_many_columns_take_dual_coordinates(monkeypatch: Any) -> None:
    X, y = texts(600, 2500)
    assert fit(model(solver="auto"), (X, y), block_rows=200).n_iter_ > 0  # one task solves so few rows
    monkeypatch.setattr(hinge, "MAX_JOINED_BYTES", 0)
    for loss in LOSSES:
        assert fit(model(solver="auto", loss=loss), (X, y), block_rows=200).solver_ == ["dual-coordinates"]
    assert fit(model(solver="newton", loss="squared_hinge"), (X, y), block_rows=200).solver_ == ["newton"]
    with pytest.raises(ValueError, match=r"takes up to 2,000 columns .* got 2,500: use solver='dual-coordinates'"):
        fit(model(solver="interior-point"), (X, y), block_rows=200)


def test_newton_continues_where_dual_coordinates_are_slow(monkeypatch: Any) -> None:
    monkeypatch.setattr("rosenblatt.cluster.soft_margin.DUAL_ROUNDS", 6)
    X, y = texts(600, 2500)
    options: dict[str, Any] = {"solver": "auto", "loss": "squared_hinge", "C": 100.0, "tol": 1e-7}
    found = fit(model(**options), (X, y), block_rows=30)
    assert found.solver_ == ["newton"]
    assert found.gap_[0] <= 1e-7
