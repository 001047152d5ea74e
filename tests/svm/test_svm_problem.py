"""What any multipliers prove, the best intercept, and sums over some rows without a copy."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rosenblatt.data.problem import make_rows
from rosenblatt.svm.problem import BinarySVM, best_intercept
from rosenblatt.svm.row_blocks import Blocks, cholesky_factor, draw_sample, penalty_diagonal, signed_blocks, solve_factored

SHAPES = [(free, x0) for free, x0 in ((True, 1.0), (False, 1.0), (False, 3.0), (False, 0.0))]


def random_svm(
    n: int = 40, d: int = 3, *, squared: bool = False, free: bool = True, x0: float = 1.0, pack: Any = np.asarray
) -> BinarySVM:
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0.3, 1, -1).astype(np.int8)
    costs = rng.uniform(0.1, 2.0, n)
    costs[::7] = 0.0
    return BinarySVM(make_rows(X), y, costs, squared, x0, free)


def primal(m: BinarySVM, w: Any, b: float) -> float:
    """The objective as the textbook writes it."""
    X = m.rows.values
    slack = np.maximum(0.0, 1.0 - m.signs * (X @ w + b))
    square = w @ w if m.free or m.x0 == 0.0 else w @ w + (b / m.x0) ** 2
    return float(square / 2 + m.costs @ (slack**2 if m.squared else slack))


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize(("free", "x0"), SHAPES)
def test_the_dual_of_any_multipliers_is_below_the_primal_of_any_plane(squared: bool, free: bool, x0: float) -> None:
    m = random_svm(squared=squared, free=free, x0=x0)
    rng = np.random.default_rng(0)
    duals, primals = [], []
    for _ in range(200):
        found = m.solution(rng.uniform(0, 1, 40) * m.costs * (rng.random(40) < rng.random()))
        assert found.primal == pytest.approx(primal(m, found.w, found.intercept), rel=1e-12)
        duals.append(found.dual)
        primals += [found.primal, primal(m, rng.normal(size=3), float(rng.normal()) if x0 else 0.0)]
    assert max(duals) < min(primals)


@pytest.mark.parametrize("squared", [False, True])
def test_a_solution_is_made_of_its_multipliers_and_keeps_their_constraints(squared: bool) -> None:
    m = random_svm(squared=squared)
    given = np.random.default_rng(1).uniform(0, 1, 40) * m.costs
    found = m.solution(given)
    assert found.w == pytest.approx((found.multipliers * m.signs) @ m.rows.values, rel=1e-12)
    assert abs(found.multipliers @ m.signs) < 1e-13
    assert (found.multipliers <= given).all()
    assert (found.multipliers[m.costs == 0] == 0).all()
    assert np.isnan(found.margins[m.costs == 0]).all()


def test_without_an_intercept_there_is_none() -> None:
    found = random_svm(free=False, x0=0.0).solution(np.full(40, 0.1))
    assert found.intercept == 0.0


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-4, 4), st.booleans(), st.integers(1, 3)), min_size=2, max_size=12),
    st.booleans(),
    st.sampled_from([0.0, 0.01, 1.0, 100.0]),
    st.booleans(),
)
def test_the_best_intercept_is_no_worse_than_any_on_a_grid(rows: Any, squared: bool, stiffness: float, many: bool) -> None:
    scores, positive, costs = (np.array(column, float) for column in zip(*rows, strict=True))
    y = np.where(positive, 1, -1).astype(np.int8)
    assume(abs(y.sum()) < len(y))

    def cost(b: float) -> float:
        slack = np.maximum(0.0, 1.0 - y * (scores + b))
        return float(stiffness * b * b / 2 + costs @ (slack**2 if squared else slack))

    with patch("rosenblatt.svm.problem.MAX_SORTED_ROWS", 1 if many else 100):
        found = best_intercept(scores, y, costs, squared, stiffness)
    assert cost(found) <= min(cost(b) for b in np.linspace(-8, 8, 641)) + 1e-9


def test_a_whole_stretch_of_best_intercepts_gives_its_middle() -> None:
    """Rows at -3 and 3 with room between: every b from -2 to 2 costs nothing."""
    assert best_intercept(np.array([-3.0, 3.0]), np.array([-1, 1]), np.ones(2), False, 0.0) == 0.0


# --- sums over rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("held", [0, 1 << 21])
def test_sums_products_and_squares_are_those_of_the_signed_rows(
    pack: Any, dtype: Any, n_jobs: int, held: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr("rosenblatt.svm.row_blocks.MAX_HELD_BYTES", held)
    monkeypatch.setattr("rosenblatt.svm.row_blocks.BLOCK_BYTES", 1)
    monkeypatch.setattr("rosenblatt.svm.row_blocks.BLOCKS_PER_TASK", 2)
    rng = np.random.default_rng(2)
    X = (rng.normal(size=(120, 6)) * (rng.random((120, 6)) < 0.6)).astype(dtype)
    wanted = np.flatnonzero(rng.random(120) < 0.8)
    signs = np.where(rng.random(len(wanted)) < 0.5, 1, -1).astype(np.int8)
    blocks = Blocks(make_rows(pack(X)), wanted, signs, 2.0, 6)
    A = signs[:, None] * np.column_stack([X[wanted].astype(float), np.full(len(wanted), 2.0)])
    v, c = rng.normal(size=7), rng.random(len(wanted)) * (rng.random(len(wanted)) < 0.7)
    assert blocks.block() == pytest.approx(A, abs=1e-14)
    assert blocks.sum(c) == pytest.approx(A.T @ c, abs=1e-12)
    assert blocks.product(v) == pytest.approx(A @ v, abs=1e-12)
    assert np.triu(blocks.gram(c, n_jobs)) == pytest.approx(np.triu(A.T @ (c[:, None] * A)), abs=1e-12)
    assert np.array_equal(blocks.gram(c, n_jobs), blocks.gram(c, 1))
    few = rng.random(len(wanted)) < 0.3
    assert blocks.pick(few).sum(c[few]) == pytest.approx(A[few].T @ c[few], abs=1e-12)


def test_a_sample_weighs_as_much_as_the_whole_class_by_class() -> None:
    m = random_svm(9000, 2)
    wanted, costs = draw_sample(m, 0)  # type: ignore[misc]
    assert len(wanted) == len(np.unique(wanted)) == len(m.visited) // 16
    assert (m.costs[wanted] > 0).all()
    for side in (1, -1):
        assert costs[m.signs[wanted] == side].sum() == pytest.approx(m.costs[m.signs == side].sum())
    assert draw_sample(random_svm(500, 2), 0) is None


def test_no_sample_where_it_missed_a_class() -> None:
    m = random_svm(9000, 2)
    m.signs[:] = -1
    m.signs[m.visited[0]] = 1
    assert draw_sample(m, 0) is None


def test_a_singular_matrix_is_factored_all_the_same_but_not_nonsense() -> None:
    x = solve_factored(cholesky_factor(np.array([[1.0, 1.0], [1.0, 1.0]])), np.array([1.0, 1.0]))
    assert x.sum() == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ValueError, match="differ too much for float64"):
        cholesky_factor(np.array([[1.0, 0.0], [0.0, -1.0]]))


def test_a_free_intercept_costs_nothing_and_an_absent_one_stays_away() -> None:
    assert penalty_diagonal(random_svm()).tolist() == [1.0, 1.0, 1.0, 0.0]
    assert penalty_diagonal(random_svm(free=False)).tolist() == [1.0, 1.0, 1.0, 1.0]
    assert len(signed_blocks(random_svm(), random_svm().visited).wanted) == len(random_svm().visited)
