"""The active-set method on the dual of the hinge: it solves small problems, or leaves them to another solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from test_soft_solvers import INTERCEPTS, kkt, random_svm

import rosenblatt as rb
from rosenblatt.data.problem import make_rows
from rosenblatt.parallel import one_blas_thread
from rosenblatt.svm import dual_active_set as module
from rosenblatt.svm.dual_active_set import dual_active_set, worth_trying
from rosenblatt.svm.hard_margin import hard_margin_by_active_set
from rosenblatt.svm.interior_point import interior
from rosenblatt.svm.limits import SolverLimits
from rosenblatt.svm.nearest_points import nearest_points
from rosenblatt.svm.problem import BinarySVM, heads
from rosenblatt.svm.solver_choice import solve_binary_svm


@pytest.fixture(autouse=True)
def _as_in_fit() -> Any:
    with one_blas_thread():
        yield


@pytest.mark.parametrize(("free", "x0"), INTERCEPTS)
@pytest.mark.parametrize(
    ("n", "d", "noise", "C"), [(60, 3, 1.0, 1.0), (80, 6, 0.0, 1e3), (50, 20, 0.5, 0.01), (90, 30, 0.0, 1.0)]
)
def test_it_ends_where_the_interior_point_does(n: int, d: int, noise: float, C: float, free: bool, x0: float) -> None:
    m = random_svm(n, d, noise=noise, C=C, free=free, x0=x0)
    answer = dual_active_set(m)
    assert answer is not None
    found, steps = answer
    assert 0 < steps < 10 * n
    assert found.gap <= 1e-11
    kkt(m, found, 1e-8)
    other, _ = interior(m, SolverLimits(1e-12))
    assert found.primal == pytest.approx(other.primal, rel=1e-10)
    assert found.w == pytest.approx(other.w, abs=1e-6 * abs(other.w).max())


@pytest.mark.parametrize("free", [True, False])
def test_dependent_and_equal_rows(free: bool) -> None:
    """Small whole numbers: every point occurs several times, some with both labels, and one is the origin."""
    rng = np.random.default_rng(3)
    X = rng.integers(-1, 2, (120, 2)).astype(float)
    y = np.where(X @ [1.0, 0.5] + rng.normal(size=120) > 0.0, 1, -1).astype(np.int8)
    m = BinarySVM(make_rows(X), y, np.ones(120), False, float(free), free)
    answer = dual_active_set(m)
    assert answer is not None
    kkt(m, answer[0], 1e-9)
    inside = (answer[0].multipliers > 0.0) & (answer[0].multipliers < 1.0)
    assert inside.sum() <= 2 + free  # no more rows between their bounds than are independent


@pytest.mark.parametrize(
    ("pack", "dtype"),
    [
        (np.asarray, np.float32),
        (sp.csr_array, np.float64),
        pytest.param(sp.csr_array, np.float32, marks=pytest.mark.thorough),  # compiles the kernels again
    ],
)
def test_containers_and_number_types_give_the_same_plane(pack: Any, dtype: Any) -> None:
    one, other = (random_svm(100, 4, dtype=dtype, pack=each) for each in (np.asarray, pack))
    planes = [solve_binary_svm(m, "auto", SolverLimits(1e-3)) for m in (one, other)]
    assert [used for _, _, used in planes] == ["active-set"] * 2
    assert planes[1][0].w == pytest.approx(planes[0][0].w, rel=1e-9)


def test_a_limit_of_work_leaves_the_rest_to_the_interior_point(monkeypatch: pytest.MonkeyPatch) -> None:
    m = random_svm(400, 20, noise=2.0)
    monkeypatch.setattr(module, "SHARE_OF_WORK", 1e-3)
    assert dual_active_set(m) is None
    found, _, used = solve_binary_svm(m, "auto", SolverLimits(1e-3))
    assert used == "interior-point"
    assert found.gap <= 1e-9


def test_few_products_in_memory_end_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PRODUCTS", 60 * 5)
    assert dual_active_set(random_svm(60, 3)) is None


def test_rounding_errors_end_it() -> None:
    m = random_svm(60, 3)
    far = BinarySVM(make_rows(np.asarray(m.rows.values) + 1e9), m.signs, m.costs, False, 1.0, True)
    assert dual_active_set(far, 1e-3) is None


def test_many_rows_are_not_tried() -> None:
    assert worth_trying(500, 2)
    assert worth_trying(600, 20)
    assert not worth_trying(601, 20)
    assert not worth_trying(4001, 400)
    assert not worth_trying(10, 20)


@pytest.mark.once
def test_pairs_of_digits_take_few_steps_and_end_at_the_optimum() -> None:
    X, y = load_digits(return_X_y=True)
    model = rb.SoftMargin().fit(X, y)
    assert set(model.solver_) == {"active-set"}
    assert model.n_iter_ < 200
    assert model.gap_.max() < 1e-10


def test_the_order_of_the_rows_does_not_change_the_plane() -> None:
    m = random_svm(120, 4)
    order = np.random.default_rng(1).permutation(120)
    turned = BinarySVM(make_rows(np.asarray(m.rows.values)[order]), m.signs[order], m.costs[order], False, 1.0, True)
    one, other = dual_active_set(m), dual_active_set(turned)
    assert one is not None
    assert other is not None
    assert other[0].w == pytest.approx(one[0].w, abs=1e-12)
    assert other[0].intercept == pytest.approx(one[0].intercept, abs=1e-11)


# --- the hard margin -----------------------------------------------------------------------------------------------------


def separated(n: int = 80, d: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    score = X @ np.linspace(1, 2, d)
    keep = abs(score) > 0.1
    return X[keep], (score[keep] > 0).astype(int)


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("x0", [1.0, 0.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_hard_margin_is_that_of_the_nearest_points(weighted: bool, x0: float, pack: Any) -> None:
    X, y = separated()
    weights = np.where(np.arange(len(y)) % 5 == 2, 0.0, 1.0) if weighted else None
    (head,) = heads(pack(X), y, 2, "ovr", x0=x0, weights=weights)
    found, nearest = hard_margin_by_active_set(head.problem, 1e-6), nearest_points(head.problem, tol=1e-12)
    assert found is not None
    assert found.gap <= 1e-10
    assert found.margin == pytest.approx(nearest.margin, rel=1e-9)
    assert found.coef == pytest.approx(nearest.coef, rel=1e-7)
    assert found.support.tolist() == nearest.support.tolist()
    assert found.canonical == pytest.approx(nearest.canonical, rel=1e-7)
    assert found.multipliers == pytest.approx(nearest.multipliers, rel=1e-6)


def test_what_the_active_set_cannot_solve_is_left_to_the_nearest_points() -> None:
    X, y = separated()
    crossed = y.copy()
    crossed[(X @ np.linspace(1, 2, 3)).argmax()] ^= 1
    scales = 1e200
    for rows, labels in ((X, crossed), (X + 1e9, y), (X * scales, y), (X / scales, y)):
        (head,) = heads(rows, labels, 2, "ovr")
        assert hard_margin_by_active_set(head.problem, 1e-6) is None
    (head,) = heads(X, y, 2, "ovr")
    assert hard_margin_by_active_set(head.problem, 1e-6, max_iter=3) is None
    with pytest.raises(rb.NotSeparable) as caught:
        rb.MaxMargin().fit(X, crossed)
    assert caught.value.check(X, crossed)
    assert rb.MaxMargin().fit(X / scales, y).margin_ == pytest.approx(rb.MaxMargin().fit(X, y).margin_ / 1e200)


def test_the_hard_margin_of_pairs_names_rows_of_all_classes() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[y < 3], y[y < 3]
    model = rb.MaxMargin(multiclass="ovo").fit(X, y)
    for (i, j), support, multipliers, w in zip(
        [(0, 1), (0, 2), (1, 2)], model.support_, model.multipliers_, model.coef_, strict=True
    ):
        assert set(y[support]) == {i, j}
        assert (np.where(y[support] == j, 1.0, -1.0) * multipliers) @ X[support] == pytest.approx(w, abs=1e-12)
