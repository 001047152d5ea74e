"""`SoftMargin`: what it promises of its plane, its multipliers and its gap, whatever the rows come in."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

import rosenblatt as rb

LOSSES = ("hinge", "squared_hinge")
INTERCEPTS = {
    "free": {},
    "penalized": {"penalize_intercept": True},
    "none": {"fit_intercept": False},
}


def noisy(n: int = 150, d: int = 4, k: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, d)) + 1.2 * rng.normal(size=(k, d))[y], y


def objective(model: Any, X: Any, y: Any, w: Any, b: float, c: Any = 1.0) -> float:
    """As the docstring writes it, for two classes."""
    slack = np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], 1, -1) * (X @ w + b))
    square = w @ w + (b * b / model.intercept_scaling**2 if model.penalize_intercept else 0.0)
    return float(square / 2 + model.C * np.sum(c * (slack**2 if model.loss == "squared_hinge" else slack)))


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["auto", "dual-coordinates"])
@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
def test_the_attributes_are_those_of_the_problem_and_its_dual(intercept: str, loss: str, solver: str, pack: Any) -> None:
    X, y = noisy()
    model = rb.SoftMargin(C=0.7, loss=loss, **INTERCEPTS[intercept], solver=solver, tol=1e-5, max_iter=100_000).fit(pack(X), y)
    w, b = model.coef_[0], float(model.intercept_[0])
    signs = np.where(y == 1, 1, -1)
    a = np.zeros(len(y))
    a[model.support_[0]] = model.multipliers_[0]
    assert w == pytest.approx((a * signs) @ X, abs=1e-12)
    assert (model.multipliers_[0] > 0).all()
    assert model.objective_.shape == model.gap_.shape == model.dual_gap_.shape == model.margin_.shape == (1,)
    assert model.canonical_.shape == model.slack_.shape == (1, len(y))
    assert model.canonical_[0] == pytest.approx(signs * (X @ w + b), abs=1e-12)
    assert model.slack_ == pytest.approx(np.maximum(0, 1 - model.canonical_))
    assert model.objective_ == pytest.approx(objective(model, X, y, w, b), rel=1e-12)
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(w))
    square, softness = w @ w, 0.0
    if intercept == "free":
        assert abs(a @ signs) < 1e-12
    elif intercept == "penalized":
        square += (a @ signs) ** 2
    else:
        assert b == 0.0
    if loss == "hinge":
        assert (a <= 0.7).all()
    else:
        softness = a @ a / (4 * 0.7)
    dual = a.sum() - square / 2 - softness
    assert model.dual_gap_ == pytest.approx(model.objective_ - dual, abs=1e-12 * model.objective_[0])
    assert model.gap_ == pytest.approx(model.dual_gap_ / model.objective_, abs=1e-13)
    assert model.gap_ <= model.tol
    assert model.stop_.reason == "tolerance"
    (vectors,), (support,) = model.support_vectors_, model.support_
    assert np.array_equal(vectors.toarray() if sp.issparse(vectors) else vectors, X[support])


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_it_is_what_scikit_learn_calls_svc_and_linear_svc(C: float) -> None:
    X, y = noisy()
    free = rb.SoftMargin(C=C, tol=1e-9).fit(X, y)
    svc = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    assert free.coef_ == pytest.approx(svc.coef_, rel=1e-4)
    assert free.intercept_ == pytest.approx(svc.intercept_, rel=1e-3, abs=1e-4)
    assert free.support_[0].tolist() == sorted(svc.support_.tolist())
    assert free.objective_ <= objective(free, X, y, svc.coef_[0], svc.intercept_[0]) * (1 + 1e-12)
    for loss in LOSSES:
        ours = rb.SoftMargin(C=C, loss=loss, penalize_intercept=True, intercept_scaling=2.0, tol=1e-9).fit(X, y)
        theirs = LinearSVC(C=C, loss=loss, intercept_scaling=2.0, tol=1e-9, max_iter=2_000_000, random_state=0).fit(X, y)
        assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-3, abs=1e-5)
        assert ours.objective_ == pytest.approx(objective(ours, X, y, theirs.coef_[0], theirs.intercept_[0]), rel=1e-6)


# --- several classes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_against_the_rest_is_one_machine_for_each_class(loss: str, n_jobs: int) -> None:
    X, y = noisy(k=3)
    model = rb.SoftMargin(loss=loss, multiclass="ovr", tol=1e-9, n_jobs=n_jobs).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.decision_function(X).shape == (150, 3)
    for h in range(3):
        alone = rb.SoftMargin(loss=loss, tol=1e-9).fit(X, y == h)
        assert np.array_equal(model.coef_[h], alone.coef_[0])
        assert model.objective_[h] == alone.objective_
        assert model.support_[h].tolist() == alone.support_[0].tolist()
        assert np.array_equal(model.support_vectors_[h], X[alone.support_[0]])


def test_each_against_each_is_what_svc_does() -> None:
    X, y = load_iris(return_X_y=True)
    model = rb.SoftMargin(multiclass="ovo", tol=1e-9).fit(X, y)
    svc = SVC(kernel="linear", tol=1e-8).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.coef_ == pytest.approx(-svc.coef_, abs=1e-4)
    assert np.array_equal(model.predict(X), svc.predict(X))
    assert np.array_equal(np.floor(model.decision_function(X)), svc.decision_function(X).round())  # the votes
    assert np.isnan(model.slack_[0][y == 2]).all()
    assert not np.isnan(model.slack_[0][y != 2]).any()


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_all_classes_at_once_is_one_machine_with_its_own_gap(intercept: str) -> None:
    """Crammer and Singer: each attribute as documented, and with a penalized intercept LinearSVC's objective."""
    X, y = noisy(k=3)
    model = rb.SoftMargin(
        C=0.3, multiclass="crammer_singer", **INTERCEPTS[intercept], tol=1e-5, max_iter=100_000, random_state=0
    )
    model.fit(X, y)
    a = np.zeros((150, 3))
    a[model.support_[0]] = model.multipliers_[0]
    assert model.coef_ == pytest.approx(a.T @ X, abs=1e-10)
    assert a.sum(axis=1) == pytest.approx(0, abs=1e-12)
    assert (a[np.arange(150), y] <= 0.3 * (1 + 1e-12)).all()
    scores = model.decision_function(X)
    own = scores[np.arange(150), y].copy()
    scores[np.arange(150), y] = -np.inf
    assert model.canonical_[0] == pytest.approx(own - scores.max(axis=1), abs=1e-10)
    assert model.slack_ == pytest.approx(np.maximum(0, 1 - model.canonical_), abs=1e-10)
    square = (model.coef_**2).sum() + ((model.intercept_**2).sum() if intercept == "penalized" else 0.0)
    assert model.objective_ == pytest.approx(square / 2 + 0.3 * model.slack_.sum(), rel=1e-9)
    assert 0 <= model.dual_gap_ <= 1e-5 * model.objective_
    assert model.margin_ == pytest.approx(1 / (np.sqrt(2) * np.linalg.norm(model.coef_)))
    assert np.array_equal(model.support_vectors_[0], X[model.support_[0]])
    if intercept == "penalized":
        svc = LinearSVC(C=0.3, multi_class="crammer_singer", tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)
        theirs = X @ svc.coef_.T + svc.intercept_
        own = theirs[np.arange(150), y].copy()
        theirs[np.arange(150), y] = -np.inf
        slack = np.maximum(0, 1 - own + theirs.max(axis=1))
        objective = ((svc.coef_**2).sum() + (svc.intercept_**2).sum()) / 2 + 0.3 * slack.sum()
        assert model.objective_ == pytest.approx(objective, rel=2e-5)


def test_all_classes_at_once_with_two_classes_is_the_plane_of_twice_the_c() -> None:
    X, y = noisy()
    together = rb.SoftMargin(C=0.01, multiclass="crammer_singer", fit_intercept=False, tol=1e-9).fit(X, y)
    svc = LinearSVC(C=0.01, multi_class="crammer_singer", fit_intercept=False, tol=1e-10, max_iter=10**6).fit(X, y)
    assert together.coef_ == pytest.approx(svc.coef_, rel=1e-4)
    assert np.array_equal(together.coef_, rb.SoftMargin(C=0.02, fit_intercept=False, tol=1e-9).fit(X, y).coef_)


@pytest.mark.once
def test_a_warm_start_of_all_classes_at_once_goes_on() -> None:
    X, y = noisy(600, 6, k=4)
    model = rb.SoftMargin(C=0.1, multiclass="crammer_singer", warm_start=True, max_iter=100_000, random_state=0).fit(X, y)
    model.fit(X, y)
    assert model.n_iter_ <= 3
    for scheme, planes in (("ovr", 4), ("ovo", 6), ("crammer_singer", 4)):  # another kind of solution is not gone on from
        model.set_params(multiclass=scheme).fit(X, y)
        assert model.coef_.shape == (planes, 6)


# --- weights, starts, stops --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_of_two_is_a_row_given_twice_and_zero_is_absent(loss: str) -> None:
    X, y = noisy(60)
    c = np.resize([0, 1, 2], 60)
    weighted = rb.SoftMargin(loss=loss, tol=1e-10).fit(X, y, sample_weight=c)
    repeated = rb.SoftMargin(loss=loss, tol=1e-10).fit(np.repeat(X, c, axis=0), np.repeat(y, c))
    assert weighted.coef_ == pytest.approx(repeated.coef_, rel=1e-7)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    assert not np.isin(np.flatnonzero(c == 0), weighted.support_).any()


def test_class_weight_scales_c() -> None:
    X, y = noisy(60)
    one = rb.SoftMargin(C=2.0, class_weight={0: 3.0}, tol=1e-10).fit(X, y)
    other = rb.SoftMargin(C=2.0, tol=1e-10).fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    assert np.array_equal(one.coef_, other.coef_)
    assert (one.multipliers_ <= np.where(y[one.support_] == 0, 6.0, 2.0)).all()


@pytest.mark.parametrize(("loss", "solver"), [("hinge", "dual-coordinates"), ("squared_hinge", "newton")])
def test_a_warm_path_of_c_takes_fewer_steps_than_separate_fits(loss: str, solver: str) -> None:
    X, y = noisy(600, 10)
    path = [0.1, 0.12, 0.15, 0.2]
    warm = rb.SoftMargin(loss=loss, solver=solver, warm_start=True, tol=1e-3, max_iter=100_000, random_state=0)
    steps = {"warm": 0, "cold": 0}
    for C in path:
        warm.set_params(C=C).fit(X, y)
        cold = clone(warm).fit(X, y)
        assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-3)
        steps["warm"] += warm.n_iter_
        steps["cold"] += cold.n_iter_
    assert steps["warm"] < steps["cold"]


def test_a_warm_start_on_other_classes_or_columns_is_refused() -> None:
    X, y = noisy()
    model = rb.SoftMargin(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="warm_start continues"):
        model.fit(X[:, :2], y)
    with pytest.raises(ValueError, match="warm_start continues"):
        model.fit(X, y + 1)
    model.fit(X[:100], y[:100])  # other rows are fine


def test_a_gap_that_is_not_reached_is_reported() -> None:
    X, y = noisy()
    with pytest.warns(
        ConvergenceWarning, match=r"was not reached: stopped after 2 iterations \(the limit\) with a relative gap"
    ):
        model = rb.SoftMargin(solver="dual-coordinates", tol=1e-9, max_iter=2).fit(X, y)
    assert model.stop_.reason == "steps"
    assert model.gap_ > 1e-9
    # A slack so expensive that the last digits are lost.
    with pytest.warns(ConvergenceWarning, match="stopped by rounding errors with a relative gap of"):
        model = rb.SoftMargin(C=1e8, tol=1e-16).fit(X, y)
    assert model.stop_.reason == "rounding"
    assert 1e-16 < model.gap_ < 1e-6


def test_c_of_infinity_is_the_hard_margin() -> None:
    X, y = load_iris(return_X_y=True)
    setosa = (y == 0).astype(int)
    hard, soft = rb.MaxMargin(tol=1e-9).fit(X, setosa), rb.SoftMargin(C=np.inf, tol=1e-8).fit(X, setosa)
    assert soft.coef_ == pytest.approx(hard.coef_, rel=1e-7)
    assert soft.margin_ == pytest.approx(hard.margin_, rel=1e-8)
    assert soft.gap_ <= 1e-8
    assert (soft.slack_ < 1e-9).all()
    assert rb.SoftMargin(C=1e6, tol=1e-9).fit(X, setosa).coef_ == pytest.approx(hard.coef_, rel=1e-6)
    with pytest.raises(rb.NotSeparable, match="of class 1 from the rest") as caught:
        rb.SoftMargin(C=np.inf, multiclass="ovr").fit(X, y)
    assert caught.value.check(X, y)


@pytest.mark.parametrize("C", [1e6, 1e12, 1e300])
def test_a_c_that_nothing_reaches_is_the_hard_margin_too(C: float) -> None:
    X, y = [[0.0, 0.0], [0.0, 1.0], [3.0, 3.0], [4.0, 4.0]], [0, 0, 1, 1]
    model = rb.SoftMargin(C=C, tol=1e-9).fit(X, y)
    assert model.coef_ == pytest.approx(rb.MaxMargin(tol=1e-12).fit(X, y).coef_, rel=1e-8)
    assert model.gap_ <= 1e-9


def test_a_c_that_floats_cannot_hold_is_refused() -> None:
    X, y = noisy()
    with pytest.raises(ValueError, match=r"C=1e300 overflowed: use a smaller C"):
        rb.SoftMargin(C=1e300, loss="squared_hinge").fit(X, y)


def test_a_tiny_c_and_tiny_rows_are_solved() -> None:
    X, y = noisy(75)
    assert rb.SoftMargin(C=5e-4, tol=1e-4, solver="dual-coordinates").fit(np.round(X), y).gap_ <= 1e-4
    assert rb.SoftMargin(C=1e-300).fit(X, y).gap_ <= 1e-3
    assert rb.SoftMargin().fit([[1e-200, 0], [0, 1e-200], [1e-200, 1e-200]], [0, 1, 1]).gap_ <= 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
def test_dense_rows_with_many_columns_get_another_solver_where_passes_get_stuck(loss: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 600))
    y = (X[:, 0] + 0.5 * rng.normal(size=1500) > 0).astype(int)
    model = rb.SoftMargin(C=100.0, loss=loss, random_state=0).fit(X, y)
    assert model.gap_ <= 1e-3
    if loss == "hinge":
        assert model.solver_ == ["interior-point"]


# --- containers, threads, copies ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_a_bit(loss: str, pack: Any, dtype: Any) -> None:
    X, y = noisy(9000, 6)
    rows = pack(X.astype(dtype))
    alone, two = (rb.SoftMargin(loss=loss, n_jobs=n, random_state=0).fit(rows, y) for n in (1, 2))
    assert np.array_equal(alone.coef_, two.coef_)
    assert np.array_equal(alone.intercept_, two.intercept_)
    assert alone.coef_.dtype == np.float64


@pytest.mark.once
def test_a_pickled_model_keeps_no_rows() -> None:
    X, y = noisy(1000, 200)
    model = rb.SoftMargin().fit(X, y)
    stored = pickle.dumps(model)
    loaded = pickle.loads(stored)
    assert len(stored) < X.nbytes / 10
    assert np.array_equal(loaded.support_[0], model.support_[0])
    assert np.array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(AttributeError, match=r"pickles and model files hold no rows: use X\[support_\[0\]\]"):
        loaded.support_vectors_  # noqa: B018


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("classes", [2, 3])
def test_support_vectors_stay_when_x_changes(pack: Any, classes: int) -> None:
    X, y = noisy(60, 4)
    y = y if classes == 2 else np.arange(60) % 3
    rows = pack(X.copy())
    model = rb.SoftMargin().fit(rows, y)
    (rows.data if sp.issparse(rows) else rows)[:] = 7.0
    for found, support in zip(model.support_vectors_, model.support_, strict=True):
        assert np.array_equal(found.toarray() if sp.issparse(found) else found, X[support])


def test_verbose_writes_the_gap_to_stderr(capsys: Any) -> None:
    X, y = noisy()
    rb.SoftMargin(solver="dual-coordinates", verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("iteration 5: gap")
    assert len(lines) > 2
