"""Crammer-Singer: the multipliers are feasible, the gap is true, and the objective is minimal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from rosenblatt.data.problem import make_rows
from rosenblatt.progress import Progress
from rosenblatt.svm.crammer_singer import CrammerSinger, circulation_scale, solve_crammer_singer

biases = pytest.mark.parametrize(("x0", "free"), [(0.0, False), (1.0, False), (3.0, False), (1.0, True)])
containers = pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def clouds(n: int = 60, d: int = 4, k: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Overlapping clouds, away from the origin."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    return rng.normal(size=(k, d))[codes] + rng.normal(size=(n, d)) + 1.0, codes


def solve(X: Any, codes: Any, C: Any = 1.0, *, k: int | None = None, **options: Any) -> CrammerSinger:
    settings: Any = {"x0": 1.0, "free": False, "tol": 1e-6, "max_iter": 100_000, "seed": 0} | options
    C = np.broadcast_to(np.asarray(C, np.float64), (len(codes),))
    return solve_crammer_singer(make_rows(X), codes, k or int(codes.max()) + 1, C, **settings)


def best_slack(X: Any, codes: Any, W: Any, b: Any) -> Any:
    scores, each = X @ W.T + b, np.arange(len(codes))
    own = scores[each, codes]
    wanted = scores + 1.0
    wanted[each, codes] -= 1.0
    return (wanted - own[:, None]).max(axis=1)


def objective(X: Any, codes: Any, C: Any, W: Any, b: Any, x0: float, free: bool) -> float:
    penalty = 0.0 if free or x0 == 0.0 else 0.5 * float(np.square(b / x0).sum())
    return 0.5 * float(np.square(W).sum()) + penalty + float((C * best_slack(X, codes, W, b)).sum())


def check(found: CrammerSinger, X: Any, codes: Any, C: Any, x0: float, free: bool, atol: float = 1e-9) -> None:
    """What is returned is feasible and belongs together, recomputed with nothing of the solver's."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
    C, alpha, each = np.broadcast_to(C, (len(codes),)), found.multipliers, np.arange(len(codes))
    own, rivals = alpha[each, codes], alpha.copy()
    rivals[each, codes] = 0.0
    assert (rivals <= 0.0).all()
    assert (own >= 0.0).all()
    assert (own <= C).all()
    np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-12 * max(1.0, C.max()))
    np.testing.assert_allclose(found.W, alpha.T @ X, atol=atol * (1.0 + np.abs(found.W).max()))
    sums = alpha.sum(axis=0)
    if free and x0 != 0.0:
        np.testing.assert_allclose(sums, 0.0, atol=1e-11 * (1.0 + own.sum()))
    else:
        np.testing.assert_allclose(found.bias, x0 * x0 * sums, atol=atol * (1.0 + np.abs(found.bias).max()))
    np.testing.assert_allclose(found.slack, best_slack(X, codes, found.W, found.bias), atol=1e-9)
    primal = objective(X, codes, C, found.W, found.bias, x0, free)
    norms = np.square(found.W).sum() + (0.0 if free else x0 * x0 * np.square(sums).sum())
    np.testing.assert_allclose(found.primal, primal, rtol=1e-10, atol=1e-14 * C.sum())
    np.testing.assert_allclose(found.dual, own.sum() - 0.5 * norms, rtol=1e-9)
    assert found.dual <= found.primal * (1.0 + 1e-12)


def oracle(X: Any, codes: Any, k: int, C: Any, x0: float, free: bool) -> float:
    """The least objective, by a general solver over (W, beta, xi)."""
    (n, d), scale = X.shape, x0 if not free else 1.0
    P = np.column_stack([X, np.full(n, scale)])
    size = k * (d + 1)
    A = []
    for i in range(n):
        for m in range(k):
            row = np.zeros(size + n)
            if m != codes[i]:
                row[codes[i] * (d + 1) : (codes[i] + 1) * (d + 1)] += P[i]
                row[m * (d + 1) : (m + 1) * (d + 1)] -= P[i]
            row[size + i] = 1.0
            A.append(row)
    A = np.array(A)
    least = np.array([[float(m != codes[i]) for m in range(k)] for i in range(n)]).ravel()
    weight = np.concatenate([np.tile(np.append(np.ones(d), 0.0 if free else 1.0), k), np.zeros(n)])
    cost = np.concatenate([np.zeros(size), np.broadcast_to(C, (n,))])
    begin = np.concatenate([np.zeros(size), np.ones(n)])
    answer = minimize(
        lambda v: 0.5 * (weight * v * v).sum() + cost @ v,
        begin,
        jac=lambda v: weight * v + cost,
        constraints={"type": "ineq", "fun": lambda v: A @ v - least, "jac": lambda v: A},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert answer.success
    return float(answer.fun)


@pytest.mark.slow
@biases
@pytest.mark.parametrize("k", [2, 3, pytest.param(4, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_the_objective_is_the_best_there_is(x0: float, free: bool, k: int, C: float) -> None:
    X, codes = clouds(16, 2, k)
    found = solve(X, codes, C, x0=x0, free=free, tol=1e-7)
    assert found.reached
    assert found.gap <= 1e-7
    check(found, X, codes, C, x0, free)
    assert found.primal == pytest.approx(oracle(X, codes, k, C, x0, free), rel=1e-6)


@pytest.mark.slow
@biases
@pytest.mark.parametrize(
    ("container", "dtype"),
    [
        (np.asarray, np.float32),
        (sp.csr_array, np.float64),
        pytest.param(sp.csr_array, np.float32, marks=pytest.mark.thorough),  # compiles the kernels again
    ],
)
def test_every_container_has_the_same_answer(container: Any, dtype: Any, x0: float, free: bool) -> None:
    X, codes = clouds()
    X = X.astype(dtype)
    X[:, 1] *= np.arange(len(X)) % 2  # zeros
    found = solve(container(X), codes, x0=x0, free=free)
    assert found.reached
    assert found.W.dtype == found.multipliers.dtype == np.float64
    check(found, X, codes, 1.0, x0, free)
    dense = solve(X, codes, x0=x0, free=free)
    assert found.primal == pytest.approx(dense.primal, rel=2e-6)
    np.testing.assert_allclose(found.W, dense.W, atol=0.01)


@biases
@containers
def test_a_rough_answer_is_within_its_gap_of_the_best(container: Any, x0: float, free: bool) -> None:
    X, codes = clouds(12, 2, 3)
    found = solve(container(X), codes, 0.1, x0=x0, free=free, tol=1e-2)
    assert found.reached
    check(found, X, codes, 0.1, x0, free)
    best = oracle(X, codes, 3, 0.1, x0, free)
    assert found.dual <= best * (1.0 + 1e-9)
    assert best * (1.0 - 1e-9) <= found.primal <= best * 1.0102


@containers
@pytest.mark.parametrize("free", [False, True])
def test_an_answer_may_be_started_from(container: Any, free: bool) -> None:
    X, codes = clouds(12, 2, 5)
    first = solve(container(X), codes, 0.1, free=free, tol=1e-2)
    for start in (first, first.multipliers, 30.0 * first.multipliers, np.zeros_like(first.multipliers)):
        found = solve(container(X), codes, 0.05, free=free, tol=1e-2, start=start)
        assert found.reached
        check(found, X, codes, 0.05, 1.0, free)


@biases
def test_the_same_run_has_the_same_bits(x0: float, free: bool) -> None:
    X, codes = clouds(k=5)
    one, two = (solve(X, codes, x0=x0, free=free, tol=1e-2, max_iter=50) for _ in range(2))
    for name in ("W", "bias", "multipliers", "slack", "primal", "dual", "n_iter"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.slow
@biases
def test_a_row_with_a_weight_counts_as_often(x0: float, free: bool) -> None:
    X, codes = clouds(30)
    times = np.arange(30) % 3
    weighted = solve(X, codes, 0.5 * times, x0=x0, free=free)
    repeated = solve(np.repeat(X, times, axis=0), np.repeat(codes, times), 0.5, k=3, x0=x0, free=free)
    check(weighted, X, codes, 0.5 * times, x0, free)
    assert weighted.primal == pytest.approx(repeated.primal, rel=2e-6)
    assert not weighted.multipliers[times == 0].any()


@pytest.mark.slow
@biases
def test_kkt(x0: float, free: bool) -> None:
    X, codes = clouds()
    found = solve(X, codes, x0=x0, free=free, tol=1e-9)
    each = np.arange(len(codes))
    wanted = X @ found.W.T + found.bias + 1.0
    wanted[each, codes] -= 1.0
    short = found.slack[:, None] - (wanted - wanted[each, codes][:, None])  # 0 where a class is the worst
    own = found.multipliers[each, codes]
    mass = -np.where(np.arange(3) == codes[:, None], 0.0, found.multipliers)
    assert (mass * short).max() < 1e-3  # only the worst rivals get anything
    assert ((1.0 - own) * found.slack).max() < 1e-3  # all of C where there is slack


@pytest.mark.slow
def test_two_classes_are_the_binary_machine() -> None:
    """w_1 = -w_0 = w/2, where C is 2 C there and the objective half."""
    svm = pytest.importorskip("sklearn.svm")
    X, codes = clouds(k=2)
    for C in (0.1, 1.0):
        peer = svm.SVC(kernel="linear", C=2.0 * C, tol=1e-9).fit(X, codes)
        found = solve(X, codes, C, free=True, tol=1e-9)
        np.testing.assert_allclose(found.W[0], -found.W[1], atol=1e-9)
        np.testing.assert_allclose(2.0 * found.W[1], peer.coef_[0], atol=1e-3)
        hinge = np.maximum(0.0, 1.0 - np.where(codes == 1, 1, -1) * peer.decision_function(X))
        assert found.primal == pytest.approx(0.5 * (0.5 * np.square(peer.coef_).sum() + 2.0 * C * hinge.sum()), rel=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("free", [False, True])
def test_a_path_of_growing_c_takes_fewer_passes_from_the_fit_before(free: bool) -> None:
    X, codes = clouds(200, 10, 4)
    start, warm, cold = None, 0, 0
    for C in 0.01 * 1.2 ** np.arange(6):
        one = solve(X, codes, C, free=free, tol=1e-4, start=start)
        other = solve(X, codes, C, free=free, tol=1e-4)
        assert one.reached
        check(one, X, codes, C, 1.0, free)
        assert one.primal == pytest.approx(other.primal, rel=2e-4)
        start, warm, cold = one, warm + one.n_iter, cold + other.n_iter
    assert warm < cold


@pytest.mark.slow
@pytest.mark.parametrize("free", [False, True])
def test_from_its_own_answer_there_is_little_to_do(free: bool) -> None:
    X, codes = clouds()
    found = solve(X, codes, free=free)
    assert solve(X, codes, free=free, start=found.multipliers, tol=1e-5).n_iter <= (3 if not free else found.n_iter // 2)


@pytest.mark.slow
@pytest.mark.parametrize("free", [False, True])
def test_a_start_above_c_is_cut_down(free: bool) -> None:
    X, codes = clouds()
    high = solve(X, codes, 10.0, free=free, tol=1e-3).multipliers
    found = solve(X, codes, 0.1, free=free, start=high)
    assert found.reached
    check(found, X, codes, 0.1, 1.0, free)


def test_a_run_out_of_passes_reports_it() -> None:
    X, codes = clouds()
    for free in (False, True):
        found = solve(X, codes, free=free, tol=1e-12, max_iter=3)
        assert (found.n_iter, found.reached) == (3, False)
        assert found.gap > 1e-12
        check(found, X, codes, 1.0, 1.0, free)


@pytest.mark.once
def test_a_callback_receives_every_pass() -> None:
    X, codes = clouds()
    for container in (np.asarray, sp.csr_array):
        seen: list[Progress] = []
        found = solve(container(X), codes, tol=1e-9, progress=seen.append)
        assert [progress.passes for progress in seen] == list(range(1, found.n_iter + 1))
        assert all(progress.gap is not None for progress in seen)


# --- odd data -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@biases
def test_rows_of_zeros(x0: float, free: bool) -> None:
    X, codes = clouds(30)
    X[::3] = 0.0
    found = solve(X, codes, x0=x0, free=free)
    assert found.reached
    check(found, X, codes, 1.0, x0, free)
    nothing = solve(np.zeros((6, 2)), np.arange(6) % 3, x0=x0, free=free)
    assert nothing.reached
    assert nothing.primal == pytest.approx(6.0)


@biases
def test_the_same_row_in_every_class(x0: float, free: bool) -> None:
    X, codes = np.ones((9, 2)), np.arange(9) % 3
    found = solve(X, codes, x0=x0, free=free)
    assert found.reached
    assert found.primal == pytest.approx(9.0)


@pytest.mark.slow
@biases
def test_one_row_for_each_of_many_classes(x0: float, free: bool) -> None:
    k = 100
    found = solve(np.eye(k), np.arange(k), x0=x0, free=free, tol=1e-4, max_iter=2000)
    assert found.reached
    check(found, np.eye(k), np.arange(k), 1.0, x0, free)


@pytest.mark.slow
@pytest.mark.parametrize("free", [False, True])
def test_a_class_without_rows(free: bool) -> None:
    X, codes = clouds(k=3)
    found = solve(X, codes, k=4, free=free, tol=1e-4)
    check(found, X, codes, 1.0, 1.0, free)
    assert found.reached


@biases
def test_no_weight_at_all(x0: float, free: bool) -> None:
    X, codes = clouds(9)
    found = solve(X, codes, 0.0, x0=x0, free=free, max_iter=5)
    assert (found.primal, found.dual, found.reached) == (0.0, 0.0, True)


@biases
@pytest.mark.parametrize("factor", [1e-200, 1e-160, 1e-8, 1e8, 1e140])
def test_any_scale_ends(factor: float, x0: float, free: bool) -> None:
    X, codes = clouds(20)
    found = solve(X * factor, codes, x0=x0, free=free, max_iter=50, tol=1e-2)
    assert np.isfinite(found.W).all()
    assert np.isfinite([found.primal, found.dual]).all()
    assert found.dual <= found.primal * (1.0 + 1e-12)


@biases
def test_rows_out_of_range_are_refused(x0: float, free: bool) -> None:
    X = np.array([[1e200, 1.0], [1.0, -1e200], [3.0, 4.0]])
    with pytest.raises(ValueError, match="exceed the range of float64: scale the features"):
        solve(X, np.arange(3), x0=x0, free=free)


@pytest.mark.slow
def test_a_large_c_separates_exactly() -> None:
    rng = np.random.default_rng(0)
    codes = np.arange(30) % 3
    X = 5.0 * np.eye(3)[codes] + 0.1 * rng.normal(size=(30, 3))
    loose, tight = (solve(X, codes, C, tol=1e-7) for C in (1e2, 1e5))
    assert tight.reached
    assert tight.primal == pytest.approx(loose.primal, rel=1e-6)
    check(tight, X, codes, 1e5, 1.0, False)


# --- circulations ----------------------------------------------------------------------------------------------------------


def random_flow(k: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    flow = rng.exponential(size=(k, k)) * (rng.random((k, k)) < 0.7)
    np.fill_diagonal(flow, 0.0)
    return flow


@pytest.mark.parametrize("k", [2, 3, 5, 20])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_of_a_flow_circulates(k: int, seed: int) -> None:
    flow = random_flow(k, seed)
    scale = circulation_scale(flow)
    left = flow * scale
    assert ((scale >= 0.0) & (scale <= 1.0)).all()
    np.testing.assert_allclose(left.sum(axis=0), left.sum(axis=1), atol=1e-12 * flow.sum())


@pytest.mark.parametrize("k", [2, 3, 20])
def test_a_circulation_is_left_as_it_is(k: int) -> None:
    flow = random_flow(k, 1)
    flow += flow.T
    np.testing.assert_allclose(circulation_scale(flow), flow > 0.0, atol=1e-9)


def test_a_nearly_balanced_flow_loses_about_what_it_is_out_of_balance_by() -> None:
    flow = random_flow(6, 2) + 1.0
    np.fill_diagonal(flow, 0.0)
    flow += flow.T
    flow[0, 1] += 1e-3
    assert flow.sum() - (flow * circulation_scale(flow)).sum() <= 1.1e-3


def test_a_flow_that_never_returns_is_all_given_up() -> None:
    assert not circulation_scale(np.triu(np.ones((4, 4)), 1)).any()
    assert not circulation_scale(np.array([[0.0, 3.0], [0.0, 0.0]])).any()
    assert not circulation_scale(np.zeros((3, 3))).any()
