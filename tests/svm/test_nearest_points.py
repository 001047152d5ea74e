"""The nearest points of two hulls: what is claimed of them holds by another route, whatever the rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rosenblatt.data.problem import make_problem
from rosenblatt.progress import Progress
from rosenblatt.svm.active_set import Corral
from rosenblatt.svm.nearest_points import Nearest, nearest_points
from rosenblatt.svm.not_separable import NotSeparable

containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def solve(X: Any, y: Any, *, free: bool = True, **options: Any) -> Nearest:
    return nearest_points(make_problem(X, y, 2, x0=float(free)), **{"tol": 1e-9, **options})


def outcome(X: Any, y: Any, **options: Any) -> Nearest | NotSeparable:
    try:
        return solve(X, y, **options)
    except NotSeparable as proof:
        return proof


def widest(X: Any, y: Any, free: bool) -> float:
    """The oracle: the largest margin over the least points of all affine hulls of few rows that have every row in front."""
    signs = np.where(y == 1, 1.0, -1.0)
    Z, E = signs[:, None] * X, np.column_stack([signs > 0, signs < 0]).astype(float) if free else np.ones((len(X), 1))
    best, k = 0.0, E.shape[1]
    for size in range(k, min(len(X), X.shape[1] + k) + 1):
        for S in map(list, combinations(range(len(X)), size)):
            K = np.block([[Z[S] @ Z[S].T, E[S]], [E[S].T, np.zeros((k, k))]])
            a = np.linalg.lstsq(K, np.r_[np.zeros(size), np.ones(k)], rcond=1e-12)[0][:size]
            v = a @ Z[S]
            if np.allclose(E[S].T @ a, 1.0) and (length := np.linalg.norm(v)) > 1e-9:
                least = [(Z @ v)[E[:, side] > 0].min() for side in range(k)]
                best = max(best, sum(least) / k / length)
    return best


def assert_proven(found: Nearest, X: Any, y: Any, free: bool, tol: float) -> None:
    """Karush, Kuhn and Tucker, and the gap, from the rows alone."""
    rows, signs = np.asarray(X, np.float64), np.where(y == 1, 1.0, -1.0)
    canonical = signs * (rows @ found.coef + found.bias)
    np.testing.assert_allclose(found.canonical, canonical, rtol=1e-7, atol=1e-7)
    assert canonical.min() > 1 - 1e-7
    held = found.support
    assert (found.multipliers > 0).all()
    near = {"rtol": 1e-6, "atol": 1e-7 * abs(found.coef).max()}
    np.testing.assert_allclose((found.multipliers * signs[held]) @ rows[held], found.coef, **near)
    if free:
        assert abs((found.multipliers * signs[held]).sum()) <= 1e-9 * found.multipliers.sum()
    else:
        assert found.bias == 0
    assert found.margin == pytest.approx(1 / np.linalg.norm(found.coef), rel=1e-12)
    # The weights alone bound every margin from above.
    a = found.multipliers / (found.multipliers.sum() / (2 if free else 1))
    upper = np.linalg.norm((a * signs[held]) @ rows[held]) / (2 if free else 1)
    lower = canonical.min() / np.linalg.norm(found.coef)
    assert lower <= upper * (1 + 1e-9)
    assert 1 - lower / upper <= max(tol, 1e-9)
    assert 0 <= found.gap <= tol


# --- small integer grids: one of both, and exactly one ---------------------------------------------------------------------


@st.composite
def grids(draw: Any) -> tuple[Any, Any]:
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    X = draw(arrays(np.float64, (n, d), elements=st.integers(-2, 2).map(float)))
    y = np.array([0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))])
    return X, y


@settings(max_examples=150, deadline=None)
@given(grids(), st.booleans(), st.booleans())
def test_small_grids_are_separated_as_widely_as_can_be_or_proven_inseparable(data: Any, free: bool, sparse: bool) -> None:
    X, y = data
    rows = sp.csr_array(X) if sparse else X
    best = widest(X, y, free)
    found = outcome(rows, y, free=free)
    if isinstance(found, NotSeparable):
        assert best == 0
        assert found.exact
        assert found.check(rows, y)
        assert len(found.rows) <= X.shape[1] + 2
    else:
        assert_proven(found, X, y, free, 1e-9)
        assert found.margin == pytest.approx(best, rel=1e-7)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_degenerate_rows_never_cycle(data: Any) -> None:
    """Repeated, collinear, constant and tied rows, sizes apart by powers of ten, numbers far from the origin."""
    n, d = data.draw(st.integers(2, 30)), data.draw(st.integers(1, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(-2, 3, (n, d)).astype(float)
    shape = data.draw(st.sampled_from(["grid", "line", "repeated", "columns", "far", "float32", "wide"]))
    if shape == "line":
        X = rng.integers(-3, 4, (n, 1)) * rng.integers(-2, 3, (1, d)) / 7.0
    elif shape == "repeated":
        X = X[rng.integers(0, max(1, n // 4), n)]
    elif shape == "columns":
        X *= 10.0 ** rng.integers(-6, 7, d)
    elif shape == "far":
        X += 1e6
    elif shape == "float32":
        X = rng.normal(size=(n, d)).astype(np.float32)
    elif shape == "wide":
        X = rng.normal(size=(n, n + d)).round(1)
    y = (X @ rng.integers(-2, 3, X.shape[1]) > 0).astype(int) if data.draw(st.booleans()) else rng.integers(0, 2, n)
    y[:2] = 0, 1
    free = data.draw(st.booleans())
    found = outcome(X, y, free=free, max_steps=2000)
    if isinstance(found, NotSeparable):
        assert found.check(X, y)
        assert found.exact
    else:
        assert found.stop.reason in ("tolerance", "rounding")
        signs = np.where(y == 1, 1, -1)
        w = [Fraction(float(value)) for value in found.coef]
        exact = [sum((a * Fraction(float(x)) for a, x in zip(w, row, strict=True)), Fraction(found.bias)) for row in X]
        if found.gap < 0.5:
            assert all(s * score > 0 for s, score in zip(signs.tolist(), exact, strict=True))


# --- tight and large ----------------------------------------------------------------------------------------------------------


def separated(n: int, d: int, margin: float, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    y = (X @ w + 0.3 > 0).astype(int)
    return X + margin * np.outer(2 * y - 1, w / np.linalg.norm(w)), y


@containers
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gap_reaches_rounding(container: Any, free: bool, dtype: Any) -> None:
    X, y = separated(400, 12, 0.1)
    if not free:
        y = (X @ np.ones(12) > 0).astype(int)
        X = X + 0.1 * np.outer(2 * y - 1, np.ones(12))
    X = X.astype(dtype)
    found = solve(container(X), y, free=free, tol=1e-12)
    assert_proven(found, X, y, free, 1e-12)
    assert found.coef.dtype == np.float64


def test_few_passes_suffice() -> None:
    """A pass brings many rows to work; the widest margin of 20,000 rows takes a dozen or so."""
    X, y = separated(20_000, 30, 0.05)
    found = solve(X, y, tol=1e-12)
    assert_proven(found, X, y, True, 1e-12)
    assert found.passes <= 20


@pytest.mark.parametrize("exponent", [-1000, -664, -300, 300, 664, 1000])
def test_powers_of_two_change_nothing_but_the_scale(exponent: int) -> None:
    X, y = separated(40, 3, 0.2)
    plain, scaled = solve(X, y), solve(np.ldexp(X, exponent), y)
    np.testing.assert_allclose(np.ldexp(scaled.coef, exponent), plain.coef, rtol=1e-13)
    assert scaled.bias == pytest.approx(plain.bias, rel=1e-13)
    assert np.ldexp(scaled.margin, -exponent) == pytest.approx(plain.margin, rel=1e-13)
    assert scaled.support.tolist() == plain.support.tolist()
    assert scaled.gap <= 1e-12


def test_a_shift_of_all_rows_only_moves_the_bias() -> None:
    X, y = separated(60, 3, 0.2)
    plain, moved = solve(X, y), solve(X + 1000.0, y)
    np.testing.assert_allclose(moved.coef, plain.coef, rtol=1e-8)
    assert moved.support.tolist() == plain.support.tolist()


def test_sizes_that_floats_cannot_hold_together_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="scale the features"):
        solve(np.array([[0.0, 1e-250], [0.0, -1e-250], [1e250, 0.0], [-1e250, 0.0]]), np.array([1, 0, 1, 1]))
    with pytest.raises(ValueError, match="scale the features"):
        solve(np.array([[1e-320], [-1e-320]]), np.array([0, 1]))


def test_a_margin_of_a_few_roundings_is_found_by_fractions() -> None:
    """The rows are apart by one unit in the last place, seen from a million: floats see nothing, fractions do."""
    near = np.nextafter(1e6, 2e6)
    X, y = np.array([[1e6, 1.0], [near, 1.0], [-1e6, 3.0]]), np.array([0, 1, 0])
    found = solve(X, y)
    signs = np.where(y == 1, 1, -1)
    v = [Fraction(near) - Fraction(1e6), Fraction(0)]
    assert found.margin == pytest.approx(float(v[0]) / 2, rel=1e-3)
    assert (signs[:2] * (X[:2] @ found.coef + found.bias)).min() <= found.canonical.max()


# --- where it begins, and where it ends -----------------------------------------------------------------------------------


@containers
@pytest.mark.parametrize("free", [True, False])
def test_a_start_from_the_answer_takes_no_step(container: Any, free: bool) -> None:
    X, y = separated(200, 5, 0.3)
    if not free:
        y = (X[:, 0] > 0).astype(int)
    cold = solve(container(X), y, free=free)
    start = np.zeros(len(y))
    start[cold.support] = cold.multipliers
    warm = solve(container(X), y, free=free, start=start)
    assert warm.steps == 0
    assert warm.passes == 1
    np.testing.assert_allclose(warm.coef, cold.coef, rtol=1e-8)


def test_any_start_leads_to_the_same_plane() -> None:
    X, y = separated(100, 4, 0.3)
    cold = solve(X, y)
    for seed in range(5):
        start = np.random.default_rng(seed).exponential(size=100) * (np.arange(100) % (seed + 1) == 0)
        np.testing.assert_allclose(solve(X, y, start=start).coef, cold.coef, rtol=1e-7)
    one_sided = np.where(y == 1, 1.0, 0.0)
    np.testing.assert_allclose(solve(X, y, start=one_sided).coef, cold.coef, rtol=1e-7)


def test_too_few_steps_are_reported_with_the_gap() -> None:
    X, y = separated(200, 8, 0.05)
    found = solve(X, y, max_steps=3)
    assert found.stop.reason == "steps"
    assert found.gap > 1e-9
    assert f"{found.gap:.2g}" in found.stop.sentence


def test_a_working_set_that_outgrows_its_room_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = separated(3000, 10, 0.02)
    wide = solve(X, y, tol=1e-11)
    monkeypatch.setattr("rosenblatt.svm.nearest_points.WORKING_SET_BYTES", 8 * 10 * 30)
    monkeypatch.setattr("rosenblatt.svm.nearest_points.MIN_ROWS_PER_PASS", 160)
    made = []
    begin = Corral.begin
    monkeypatch.setattr(Corral, "begin", lambda self, places, weights: (made.append(len(places)), begin(self, places, weights)))
    tight = solve(X, y, tol=1e-11)
    np.testing.assert_allclose(tight.coef, wide.coef, rtol=1e-9)
    assert len(made) > 1


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_with_many_columns_work_by_their_products(free: bool, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X = (np.random.default_rng(0).normal(size=(40, 300)) + 3.0).astype(dtype)
    y = np.arange(40) % 2
    narrow = solve(X, y, free=free, tol=1e-12)
    assert narrow.passes == 1
    assert_proven(narrow, X, y, free, 1e-12)
    weights = np.repeat([1.0, 0.0], [30, 10])
    fewer = nearest_points(make_problem(X, y, 2, x0=float(free), weights=weights), tol=1e-12)
    np.testing.assert_allclose(fewer.coef, solve(X[:30], y[:30], free=free, tol=1e-12).coef, rtol=1e-9, atol=1e-12)
    monkeypatch.setattr("rosenblatt.svm.nearest_points.MAX_GRAM_ROWS", 0)
    plain = solve(X, y, free=free, tol=1e-12)
    np.testing.assert_allclose(plain.coef, narrow.coef, rtol=1e-8, atol=1e-10)


def test_where_products_of_rows_do_not_suffice_the_rows_do() -> None:
    """Tiny margins are lost in squares of rows; and rows of two different columns only, repeated, may not be separable."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(10, 100)), 2, axis=0)
    X[1::2, 0] += 1e-7
    y = np.arange(20) % 2
    found = solve(X, y, tol=1e-4)
    assert found.stop.reason == "tolerance"
    assert_proven(found, X, y, True, 1e-4)
    assert 4e-8 < found.margin <= 5e-8
    X[1::2] = X[::2]
    X[1::2, 0] = np.nextafter(X[::2, 0], np.inf)
    tiny = solve(X, y, tol=1e-4)
    assert 0 < tiny.margin < 1e-15
    few = np.tile(rng.integers(-5, 6, (40, 2)), 50).astype(float)
    proof = outcome(few, rng.integers(0, 2, 40))
    assert isinstance(proof, NotSeparable)
    assert proof.exact
    assert len(proof.rows) <= 4


def test_fractions_finish_what_rounding_left_open() -> None:
    """Columns of sizes that are powers of ten apart: the widest margin is there, and floats alone stop far from it."""
    rng = np.random.default_rng(6)
    finished = 0
    for _ in range(60):
        X = rng.integers(-3, 4, (20, 3)) * np.array([1e8, 1.0, 1e-5])
        y = (X @ rng.integers(-2, 3, 3) > 0).astype(int)
        if len(np.unique(y)) == 2:
            found = outcome(X, y, tol=1e-2)
            assert found.exact if isinstance(found, NotSeparable) else found.stop.reason in ("tolerance", "rounding")
            finished += not isinstance(found, NotSeparable) and found.gap <= 1e-2
    assert finished


def test_rows_that_may_cross_are_those_of_the_squared_hinge() -> None:
    """min 1/2 |w|^2 + C/2 sum c_i max(0, 1 - y_i f_i)^2: its gradient is zero."""
    rng = np.random.default_rng(3)
    X, y, c = rng.normal(size=(60, 3)), rng.integers(0, 2, 60), rng.uniform(0.5, 2.0, 60)
    found = nearest_points(make_problem(X, y, 2, weights=c), price=0.5, tol=1e-10)
    signs = np.where(y == 1, 1, -1)
    largest = np.ptp(X, axis=0).max() / 2
    slack = np.maximum(0.0, 1.0 - found.canonical) * c / (0.5 * largest**2)
    np.testing.assert_allclose((slack * signs) @ X, found.coef, rtol=1e-6, atol=1e-8)
    assert abs((slack * signs).sum()) < 1e-7


def test_rows_outside_the_problem_do_not_count() -> None:
    X, y = separated(80, 3, 0.3)
    spoilt = np.concatenate([X, -X])
    both = np.concatenate([y, y])
    weights = np.repeat([1.0, 0.0], 80)
    found = nearest_points(make_problem(spoilt, both, 2, weights=weights), tol=1e-9)
    plain = solve(X, y)
    np.testing.assert_allclose(found.coef, plain.coef, rtol=1e-12)
    assert found.support.tolist() == plain.support.tolist()


def test_progress_is_reported_in_each_pass_and_counts_steps() -> None:
    X, y = separated(100, 3, 0.3)
    reports: list[Progress] = []
    found = solve(X, y, progress=reports.append)
    assert len(reports) == found.passes
    assert reports[-1].passes == found.steps
    assert found.stop.sentence.startswith(f"solved after {found.steps} iterations")
