"""The three solvers of soft margins: each reaches the optimum that a general-purpose optimizer finds, and proves it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, minimize
from sklearn.preprocessing import PolynomialFeatures

import rosenblatt as rb
from rosenblatt.data.problem import make_rows
from rosenblatt.parallel import one_blas_thread
from rosenblatt.progress import Progress
from rosenblatt.svm.dual_coordinates import FIRST_PASSES, dual_coordinates
from rosenblatt.svm.interior_point import cross_over, interior, interior_point, start_of
from rosenblatt.svm.limits import SolverLimits
from rosenblatt.svm.newton import newton
from rosenblatt.svm.problem import BinarySVM, Solution
from rosenblatt.svm.row_blocks import penalty_diagonal, signed_blocks
from rosenblatt.svm.solver_choice import choose_solver, rotate_rows, solve_binary_svm

INTERCEPTS = [(True, 1.0), (False, 1.0), (False, 2.0), (False, 0.0)]


@pytest.fixture(autouse=True)
def _as_in_fit() -> Any:
    with one_blas_thread():
        yield


def random_svm(
    n: int, d: int, *, squared: bool = False, free: bool = True, x0: float = 1.0, noise: float = 1.0, pack: Any = np.asarray,
    dtype: Any = np.float64, C: float = 1.0, seed: int = 0,
) -> BinarySVM:  # fmt: skip
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ np.linspace(1, 2, d) / np.sqrt(d) + noise * rng.normal(size=n) > 0.2, 1, -1).astype(np.int8)
    y[:2] = 1, -1
    costs = C * rng.choice([0.5, 1.0, 2.0], n)
    costs[3::11] = 0.0
    return BinarySVM(make_rows(pack(X.astype(dtype))), y, costs, squared, x0, free)


def oracle(m: BinarySVM) -> float:
    """The minimum of the dual by a general-purpose optimizer: slow, and good to about 1e-7."""
    seen = m.visited
    A = m.signs[seen, None] * np.column_stack([m.rows.values[seen], np.full(len(seen), 0.0 if m.free else m.x0)])
    Q, C = A @ A.T, m.costs[seen]
    soft = 0.5 / C if m.squared else np.zeros(len(seen))
    found = minimize(
        lambda a: (a @ Q @ a / 2 + soft @ a**2 / 2 - a.sum(), Q @ a + soft * a - 1.0), 0.1 * C, jac=True, method="SLSQP",
        bounds=[(0.0, None if m.squared else c) for c in C], options={"maxiter": 2000, "ftol": 1e-15},
        constraints=[LinearConstraint(m.signs[None, seen].astype(float), 0.0, 0.0)] if m.free else [],
    )  # fmt: skip
    return -float(found.fun)


def kkt(m: BinarySVM, found: Solution, tolerance: float) -> None:
    """0 < a < C: on the margin. a = 0: at or beyond it. a = C: at or inside it."""
    seen = m.visited
    a, margins, C = found.multipliers[seen], found.margins[seen], m.costs[seen]
    assert (a >= 0).all()
    assert (margins[a == 0] >= 1 - tolerance).all()
    if m.squared:
        assert a / C == pytest.approx(2 * np.maximum(0, 1 - margins), abs=tolerance)
        return
    assert (a <= C).all()
    assert (margins[a == C] <= 1 + tolerance).all()
    assert margins[(a > 0) & (a < C)] == pytest.approx(1, abs=tolerance)


@pytest.mark.parametrize(("free", "x0"), INTERCEPTS)
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("solver", ["exact", "dual-coordinates"])
def test_each_solver_reaches_the_optimum_and_its_conditions(solver: str, squared: bool, free: bool, x0: float) -> None:
    m = random_svm(60, 3, squared=squared, free=free, x0=x0)
    exact = "newton" if squared else "interior-point"
    tol = 1e-12 if solver == "exact" else 1e-6
    found, steps, used = solve_binary_svm(m, exact if solver == "exact" else solver, SolverLimits(tol, 100_000))
    assert used == (exact if solver == "exact" else solver)
    assert 0 < steps < 100_000
    assert 0.0 <= found.gap <= tol
    assert found.primal == pytest.approx(oracle(m), rel=2e-6)
    if solver == "exact":
        kkt(m, found, 1e-7)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("squared", [False, True])
def test_large_and_small_c_on_separable_and_noisy_rows(squared: bool, noise: float, C: float) -> None:
    m = random_svm(300, 5, squared=squared, noise=noise, C=C)
    found, _, _ = solve_binary_svm(m, "auto", SolverLimits(1e-10))
    assert found.gap <= 1e-10
    kkt(m, found, 1e-5)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_containers_and_number_types_give_the_same_plane(squared: bool, pack: Any, dtype: Any) -> None:
    plain = random_svm(200, 4, squared=squared, dtype=dtype)
    packed = random_svm(200, 4, squared=squared, dtype=dtype, pack=pack)
    one, other = (solve_binary_svm(m, "auto", SolverLimits(1e-12))[0] for m in (plain, packed))
    assert other.w.dtype == np.float64
    assert other.w == pytest.approx(one.w, rel=1e-8)
    assert other.intercept == pytest.approx(one.intercept, rel=1e-8, abs=1e-9)


# --- sifting -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def eager(monkeypatch: Any) -> None:
    """Small sets are sifted as large ones are."""
    for place in ("row_blocks", "interior_point"):
        monkeypatch.setattr(f"rosenblatt.svm.{place}.MIN_SAMPLED_ROWS", 200)
    monkeypatch.setattr("rosenblatt.svm.row_blocks.SAMPLE_ROWS_PER_COLUMN", 5)


@pytest.mark.once
@pytest.mark.parametrize("noise", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("free", [True, False])
def test_sifting_gives_the_optimum_of_all_rows(noise: float, free: bool, eager: None) -> None:
    m = random_svm(1200, 4, noise=noise, free=free)
    assert len(signed_blocks(m, m.visited).wanted) > 1000
    sifted, _ = interior(m, SolverLimits(1e-10))
    whole, _ = interior_point(
        start_of(m.costs[m.visited], 5), signed_blocks(m, m.visited), penalty_diagonal(m), np.zeros(5), 1e-9, False
    )
    assert sifted.gap <= 1e-10
    assert sifted.primal == pytest.approx(m.norm(whole.v[:-1], float(whole.v[-1])) / 2 + m.losses(whole.Av), rel=1e-8)
    kkt(m, sifted, 1e-6)


def test_rows_fixed_on_the_wrong_side_come_back(eager: None, monkeypatch: Any) -> None:
    """A band far too narrow, around the plane of a poor sample."""
    monkeypatch.setattr("rosenblatt.svm.interior_point.FIRST_BAND", 0.0)
    monkeypatch.setattr("rosenblatt.svm.interior_point.MIN_SHARE_DIVISOR", 500)
    m = random_svm(1200, 4, noise=1.0)
    found, _ = interior(m, SolverLimits(1e-10))
    assert found.gap <= 1e-10
    kkt(m, found, 1e-6)


def test_a_start_is_gone_on_from(eager: None) -> None:
    m = random_svm(1200, 4, noise=1.0)
    first, steps = interior(m, SolverLimits(1e-10))
    again, fewer = interior(m, SolverLimits(1e-10), first)
    assert fewer < steps
    assert again.primal == pytest.approx(first.primal, rel=1e-10)


def test_crossing_over_gives_exact_zeros_and_does_no_harm() -> None:
    m = random_svm(200, 4)
    here, _ = interior_point(
        start_of(m.costs[m.visited], 5), signed_blocks(m, m.visited), penalty_diagonal(m), np.zeros(5), 1e-4, False
    )
    a = np.zeros(200)
    a[m.visited] = here.a
    before = m.solution(a)
    low, high = a == 0.0, np.zeros(200, bool)
    low[m.visited], high[m.visited] = here.at_bounds()
    found, settled = cross_over(m, before, low, high)
    assert settled
    assert (before.multipliers[m.visited] > 0).all()
    assert found.gap < 1e-13 < before.gap
    assert np.isin(found.multipliers, [0.0, *m.costs]).sum() >= 200 - 6
    # Guesses without sense, and nothing worse comes of them.
    nonsense = np.arange(200) % 2 == 0
    assert cross_over(m, before, nonsense, ~nonsense)[0].gap <= 2 * before.gap


# --- wide rows, and choices --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("free", [True, False])
def test_fewer_rows_than_columns_are_turned_and_lose_nothing(squared: bool, pack: Any, free: bool) -> None:
    m = random_svm(30, 80, squared=squared, pack=pack, free=free, noise=3.0)
    small = rotate_rows(m)
    X = (
        m.rows.values
        if pack is np.asarray
        else sp.csr_array((m.rows.values, m.rows.indices, m.rows.indptr), shape=(30, 80)).toarray()
    )
    assert small.rows.values @ small.rows.values.T == pytest.approx(X[m.visited] @ X[m.visited].T, abs=1e-11)
    found, _, _ = solve_binary_svm(m, "auto", SolverLimits(1e-9))
    assert found.gap <= 1e-9
    assert found.w.shape == (80,)
    kkt(m, found, 1e-5)


def test_equal_wide_rows_stay_equal_when_they_are_rotated() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.random((8, 40)).repeat(3, axis=0)
        y = np.array([1, -1, *rng.choice([1, -1], 22)], np.int8)
        m = BinarySVM(make_rows(X), y, np.ones(24), False, 1.0, True)
        rotated = rotate_rows(m).rows.values.reshape(8, 3, -1)
        assert rotated.shape[2] == 8
        assert np.ptp(rotated, axis=1).max() < 1e-14 * abs(rotated).max() * 24
        found, _, _ = solve_binary_svm(m, "interior-point", SolverLimits(1e-12))
        assert found.gap <= 1e-12


def test_the_shape_chooses_the_solver() -> None:
    def shaped(n: int, d: int, squared: bool, sparse: bool) -> str:
        X = sp.csr_array((n, d)) if sparse else np.zeros((n, d))
        y = np.resize(np.array([1, -1], np.int8), n)
        return choose_solver(BinarySVM(make_rows(X), y, np.ones(n), squared, 1.0, True))

    assert shaped(3000, 50, False, False) == "interior-point"
    assert shaped(3000, 50, True, False) == "newton"
    assert shaped(3000, 5000, False, True) == shaped(3000, 5000, True, True) == "dual-coordinates"
    assert shaped(3000, 700, False, False) == "dual-coordinates"
    assert shaped(3000, 700, False, True) == "interior-point"
    assert shaped(100, 5000, False, True) == "interior-point"


def test_many_sparse_rows_try_passes_first(monkeypatch: Any) -> None:
    monkeypatch.setattr("rosenblatt.svm.solver_choice.MIN_SAMPLED_ROWS", 100)
    m = random_svm(600, 4, noise=0.1, pack=sp.csr_array)
    assert solve_binary_svm(m, "auto", SolverLimits(1e-2))[2] == "dual-coordinates"
    found, _, used = solve_binary_svm(m, "auto", SolverLimits(1e-9))
    assert used == "interior-point"
    assert found.gap <= 1e-9


# --- dual coordinates --------------------------------------------------------------------------------------------------


@pytest.mark.once
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("free", [True, False])
def test_every_pass_makes_the_dual_of_a_penalised_intercept_no_worse(squared: bool, free: bool) -> None:
    m = random_svm(120, 4, squared=squared, free=free)
    values = [dual_coordinates(m, SolverLimits(1e-30, passes))[0].dual for passes in range(1, 40)]
    if not free:
        assert (np.diff(values) >= -1e-12 * abs(values[-1])).all()
    assert values[-1] == pytest.approx(solve_binary_svm(m, "auto", SolverLimits(1e-12))[0].dual, rel=2e-2)


def test_shrinking_changes_how_fast_not_where_to() -> None:
    m = random_svm(400, 4, noise=0.2)
    found, _ = dual_coordinates(m, SolverLimits(1e-8, 100_000))
    assert found.gap <= 1e-8
    kkt(m, found, 1e-2)


def test_passes_that_run_out_report_the_gap() -> None:
    m = random_svm(400, 4)
    found, passes = dual_coordinates(m, SolverLimits(1e-9, 3))
    assert passes == 3
    assert found.gap > 1e-9
    assert found.gap == pytest.approx((found.primal - found.dual) / found.primal)


def test_the_callback_sees_the_gap_fall() -> None:
    seen: list[Progress] = []
    dual_coordinates(random_svm(200, 3), SolverLimits(1e-4, 10_000, progress=seen.append))
    assert seen[0].passes == FIRST_PASSES
    assert seen[-1].gap <= 1e-4 < seen[0].gap


def test_a_row_of_zeros_has_its_slack_and_changes_no_weight() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    m = BinarySVM(make_rows(X), np.array([1, 1, -1], np.int8), np.ones(3), False, 0.0, False)
    for solver in ("dual-coordinates", "interior-point"):
        found, _, _ = solve_binary_svm(m, solver, SolverLimits(1e-9))
        assert found.multipliers[0] == 1.0
        assert found.w == pytest.approx([1.0, 0.0])
        assert found.primal == pytest.approx(1.5)


def test_seeds_change_the_order_and_nothing_else() -> None:
    m = random_svm(300, 4)
    one, other, again = (dual_coordinates(m, SolverLimits(1e-6, 100_000, seed=seed)) for seed in (1, 2, 1))
    assert np.array_equal(one[0].w, again[0].w)
    assert not np.array_equal(one[0].w, other[0].w)
    assert one[0].primal == pytest.approx(other[0].primal, rel=2e-6)


# --- newton ------------------------------------------------------------------------------------------------------------


def test_newton_ends_exactly_in_a_handful_of_steps() -> None:
    for free in (True, False):
        found, steps = newton(random_svm(1000, 6, squared=True, free=free), SolverLimits(1e-14))
        assert found.gap <= 1e-14
        assert steps <= 15


def test_newton_on_rows_it_can_take_a_sample_of(eager: None) -> None:
    m = random_svm(1200, 4, squared=True, noise=0.3)
    found, _ = newton(m, SolverLimits(1e-12))
    assert found.gap <= 1e-12
    kkt(m, found, 1e-6)
    again, steps = newton(m, SolverLimits(1e-12), found)
    assert steps <= 2
    assert again.primal == pytest.approx(found.primal, rel=1e-12)


@pytest.mark.parametrize("scale", [1e3, 1e9])
def test_newton_ends_when_its_steps_are_lost_in_rounding_errors(scale):
    """They were repeated up to the limit on steps: for 10 to 24 seconds on ten rows."""
    rng = np.random.default_rng(0)
    points, y = rng.uniform(-scale, scale, (10, 2)), rng.integers(0, 3, 10)
    X = PolynomialFeatures(5, include_bias=False).fit_transform(points)
    began = time.process_time()
    with pytest.raises(ValueError, match="scales of the features differ too much"):
        rb.SoftMargin(C=1000, loss="squared_hinge", multiclass="ovo", tol=0.1).fit(X, y)
    assert time.process_time() - began < 5
