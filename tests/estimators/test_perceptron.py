"""The binary perceptron against its oracle, and what the theory promises about it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb
from oracles import augment, batch, cyclic, noisy, perceptron, separable
from rosenblatt.online.schedules import ORDERS, Draws

CONTAINERS = {"dense": np.asarray, "csr": sp.csr_array}
XOR = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]), np.array([1, 1, -1, -1])


def plane(model, x0=1.0):
    """The augmented weights (w_0, w)."""
    return np.append(model.intercept_ / x0, model.coef_)


def visits(order, n, passes, seed):
    """The order of the visits of an estimator with this seed, one line per pass."""
    draws = Draws(seed)
    return [np.concatenate(list(ORDERS[order](n, 10**6, draws))) for _ in range(passes)]


def norm_bound(P, u, y):
    """R^2 and gamma of the rows under the unit vector u."""
    return max(p @ p for p in P), min(y * (P @ u))


def assert_same_run(model, run, x0=1.0):
    assert model.log_.rows.tolist() == run.rows
    assert model.log_.times.tolist() == run.times
    assert model.n_updates_ == len(run.rows)
    np.testing.assert_allclose(plane(model, x0), run.last, rtol=1e-12, atol=1e-12)
    assert model.stop_.separated == run.separated


# --- the textbook ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("options", "textbook"),
    [
        ({}, {}),
        ({"margin": 2.0}, {"margin": 2.0}),
        ({"step": 0.25}, {"rho": lambda k: 0.25}),
        ({"step": 0.5, "margin": 3.0}, {"rho": lambda k: 0.5, "margin": 3.0}),
        ({"step": lambda k: 1 / math.sqrt(k)}, {"rho": lambda k: 1 / math.sqrt(k)}),
        ({"init": [1.0, -2.0, 0.5, 3.0]}, {"w0": [1.0, -2.0, 0.5, 3.0]}),
        ({"init": [-2.0, 0.5, 3.0]}, {"w0": [0.0, -2.0, 0.5, 3.0]}),
    ],
    ids=["plain", "margin", "step", "step and margin", "step callable", "init with weight 0", "init without weight 0"],
)
def test_online_is_the_textbook(container, options, textbook):
    X, codes = noisy(40, 3, 2, seed=3)
    model = rb.Perceptron(order="cyclic", max_iter=4, **options).fit(CONTAINERS[container](X), codes)
    assert_same_run(model, perceptron(augment(X), 2 * codes - 1, cyclic(40, 4), **textbook))


@pytest.mark.parametrize("order", ["cyclic", "permuted", "random"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_order_is_the_textbook_on_the_visited_rows(order, seed):
    X, codes = noisy(50, 2, 2, seed)
    model = rb.Perceptron(order=order, max_iter=3, random_state=seed).fit(X, codes)
    assert_same_run(model, perceptron(augment(X), 2 * codes - 1, visits(order, 50, 3, seed)))


@pytest.mark.parametrize("order", ["cyclic", "permuted", "random"])
def test_every_order_is_the_textbook_until_it_separates(order):
    X, y, _ = separable(30, 2, 0.1, seed=5)
    model = rb.Perceptron(order=order, max_iter=200, random_state=0).fit(X, y)
    run = perceptron(augment(X), y, visits(order, 30, 200, 0))
    assert run.separated
    assert_same_run(model, run)
    assert model.n_iter_ == run.visits // 30


def test_a_permuted_pass_visits_every_row_once():
    for one_pass in visits("permuted", 3000, 3, 0):
        assert sorted(one_pass) == list(range(3000))


def test_a_long_run_with_its_own_steps_is_the_textbook():
    X, codes = noisy(40, 2, 2, seed=1)
    model = rb.Perceptron(order="cyclic", max_iter=40, step=lambda k: 1 + (k % 3)).fit(X, codes)
    assert_same_run(model, perceptron(augment(X), 2 * codes - 1, cyclic(40, 40), rho=lambda k: 1 + (k % 3)))
    assert model.n_updates_ > 200  # the table of steps grew


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_full_tape_and_a_cut_pass_change_nothing(container, monkeypatch):
    X, codes = noisy(300, 3, 2, seed=2)
    whole = rb.Perceptron(max_iter=3, random_state=0, order="cyclic").fit(CONTAINERS[container](X), codes)
    monkeypatch.setattr("rosenblatt.online.solver.TAPE_ENTRIES", 5)
    monkeypatch.setattr("rosenblatt.online.solver.WORK_PER_CALL", 1)
    cut = rb.Perceptron(max_iter=3, random_state=0, order="cyclic").fit(CONTAINERS[container](X), codes)
    assert np.array_equal(cut.coef_, whole.coef_)
    assert cut.log_.rows.tolist() == whole.log_.rows.tolist()
    assert cut.log_.times.tolist() == whole.log_.times.tolist()


def test_a_row_on_the_plane_is_a_mistake_in_training_and_the_smaller_label_in_prediction():
    model = rb.Perceptron(order="cyclic", max_iter=1).fit([[1.0], [-1.0]], ["no", "yes"])
    assert model.log_.rows.tolist() == [0, 1]  # both rows are on the plane of w = 0 or of w = -(1, 1)
    assert model.decision_function([[0.0]]) == [0.0]
    assert model.predict([[0.0]]) == ["no"]


@pytest.mark.parametrize("x0", [0.1, 1.0, 5.0])
def test_the_intercept_is_weight_0_times_its_constant(x0):
    X, codes = noisy(40, 3, 2, seed=4)
    model = rb.Perceptron(order="cyclic", max_iter=3, intercept_scaling=x0).fit(X, codes)
    assert_same_run(model, perceptron(augment(X, x0), 2 * codes - 1, cyclic(40, 3)), x0)
    np.testing.assert_allclose(model.decision_function(X), augment(X, x0) @ plane(model, x0))


def test_without_an_intercept_the_rows_stay_as_they_are():
    X, codes = noisy(40, 3, 2, seed=4)
    model = rb.Perceptron(order="cyclic", max_iter=3, fit_intercept=False, intercept_scaling=7.0).fit(X, codes)
    run = perceptron(augment(X, None), 2 * codes - 1, cyclic(40, 3))
    assert model.intercept_.tolist() == [0.0]
    assert np.array_equal(model.coef_[0], run.last)
    assert model.log_.rows.tolist() == run.rows


def test_weights_scale_the_steps_and_weight_zero_leaves_a_row_out():
    X, codes = noisy(40, 3, 2, seed=6)
    c = np.random.default_rng(0).integers(0, 4, 40).astype(float)
    model = rb.Perceptron(order="cyclic", max_iter=3).fit(X, codes, sample_weight=c)
    seen = np.flatnonzero(c)
    assert 0 < len(seen) < 40
    run = perceptron(augment(X), 2 * codes - 1, np.tile(seen, (3, 1)), c=c)
    assert_same_run(model, run)


def test_class_weight_is_a_sample_weight():
    X, codes = noisy(40, 3, 2, seed=6)
    by_class = rb.Perceptron(order="cyclic", class_weight={0: 1.0, 1: 3.0}).fit(X, codes)
    by_row = rb.Perceptron(order="cyclic").fit(X, codes, sample_weight=np.where(codes == 1, 3.0, 1.0))
    assert np.array_equal(by_class.coef_, by_row.coef_)
    balanced = rb.Perceptron(order="cyclic", class_weight="balanced").fit(X, codes)
    counts = np.bincount(codes)
    by_row = rb.Perceptron(order="cyclic").fit(X, codes, sample_weight=(40 / (2 * counts))[codes])
    assert np.array_equal(balanced.coef_, by_row.coef_)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_sum_start_is_the_sum_of_the_signed_rows(container, weighted):
    X, codes = noisy(40, 3, 2, seed=8)
    P, y, c = augment(X, 2.0), 2 * codes - 1, np.arange(1.0, 41.0) if weighted else np.ones(40)
    model = rb.Perceptron(init="sum", order="cyclic", max_iter=3, intercept_scaling=2.0)
    model.fit(CONTAINERS[container](X), codes, sample_weight=c if weighted else None)
    w0 = (c * y) @ P
    coef, intercept = model.log_.weights_at(0)
    assert np.array_equal(np.append(intercept / 2.0, coef), w0)
    assert_same_run(model, perceptron(P, y, cyclic(40, 3), w0=w0, c=c), 2.0)


def test_a_warm_start_goes_on_from_the_last_weights():
    X, codes = noisy(40, 3, 2, seed=9)
    model = rb.Perceptron(order="cyclic", max_iter=2, warm_start=True).fit(X, codes)
    first = plane(model)
    model.fit(X, codes)
    assert_same_run(model, perceptron(augment(X), 2 * codes - 1, cyclic(40, 2), w0=first))
    cold = rb.Perceptron(order="cyclic", max_iter=2).fit(X, codes)
    assert np.array_equal(plane(cold), first)


# --- batch -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("mean", [False, True], ids=["sum", "mean"])
@pytest.mark.parametrize(
    ("options", "textbook"),
    [
        ({}, {}),
        ({"margin": 2.0}, {"margin": 2.0}),
        ({"step": lambda k: 1 / k}, {"rho": lambda k: 1 / k}),
        ({"init": [1.0, -2.0, 0.5, 3.0]}, {"w0": [1.0, -2.0, 0.5, 3.0]}),
    ],
    ids=["plain", "margin", "step callable", "init"],
)
def test_batch_is_the_textbook(container, mean, options, textbook):
    X, codes = noisy(40, 3, 2, seed=3)
    c = np.random.default_rng(1).integers(1, 4, 40).astype(float)
    update = "batch-mean" if mean else "batch"
    rows = CONTAINERS[container](X)
    model = rb.Perceptron(update=update, max_iter=6, **options).fit(rows, codes, sample_weight=c)
    run = batch(augment(X), 2 * codes - 1, 6, mean=mean, c=c, **textbook)
    assert model.n_updates_ == len(run.times) == 6
    np.testing.assert_allclose(plane(model), run.last, rtol=1e-12, atol=1e-12)
    for t, w in enumerate(run.hypotheses):
        coef, intercept = model.log_.weights_at(t)
        np.testing.assert_allclose(np.append(intercept, coef), w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("update", ["batch", "batch-mean"])
def test_a_batch_run_separates_within_its_bound(update):
    """The mistakes of all steps together are at most N R^2/gamma^2."""
    X, y, u = separable(40, 2, 0.15, seed=2)
    P = augment(X)
    R2, gamma = norm_bound(P, u, y)
    model = rb.Perceptron(update=update, max_iter=None).fit(X, y)
    assert model.stop_.separated
    assert (y * model.decision_function(X) > 0).all()
    assert model.n_iter_ == model.n_updates_ + 1  # the last look finds nothing
    assert len(model.log_) <= len(X) * R2 / gamma**2


@pytest.mark.parametrize("container", CONTAINERS)
def test_rows_that_cancel_exactly_prove_that_no_plane_separates_them(container):
    X, y = XOR
    model = rb.Perceptron(update="batch").fit(CONTAINERS[container](X), y)
    assert model.stop_.reason == "impossible"
    assert not model.stop_.separated
    rows = model.log_.rows
    assert not (y[rows] @ augment(X)[rows]).any()


def test_a_sum_that_is_zero_only_by_rounding_proves_nothing():
    X, y = np.array([[1e16], [1.0], [1e16], [0.0]]), [1, 1, -1, -1]  # the exact sum of y x is 1
    model = rb.Perceptron(update="batch", max_iter=5).fit(X, y)
    assert model.stop_.reason == "tolerance"


@pytest.mark.parametrize("intercept", [True, False])
def test_the_intercept_counts_in_what_cancels(intercept):
    """Without the constant the signed rows 1 - 2 + 1 cancel; with it, a constant of 1 remains."""
    model = rb.Perceptron(update="batch", fit_intercept=intercept).fit([[1.0], [1.0], [2.0]], [1, 1, 0])
    assert (model.stop_.reason == "impossible") == (not intercept)


def test_a_short_batch_step_stops_without_a_claim():
    X, codes = noisy(40, 3, 2, seed=3)
    model = rb.Perceptron(update="batch-mean", step=lambda k: 1 / k**2, tol=0.01, max_iter=500).fit(X, codes)
    assert model.stop_.reason == "tolerance"
    assert not model.stop_.separated
    weights = [np.append(*model.log_.weights_at(t)) for t in range(model.n_updates_ + 1)]
    lengths = [np.linalg.norm(after - before) for before, after in itertools.pairwise(weights)]
    assert lengths[-1] < 0.01
    assert min(lengths[:-1]) >= 0.01


# --- mistakes only -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", CONTAINERS)
def test_mistakes_only_moves_by_misclassified_rows_until_none_is_left(container):
    X, y, u = separable(40, 2, 0.1, seed=7)
    P = augment(X)
    model = rb.Perceptron(order="mistakes", max_iter=None, random_state=1).fit(CONTAINERS[container](X), y)
    w = np.zeros(3)
    for i in model.log_.rows:
        assert y[i] * (P[i] @ w) <= 0
        w = w + y[i] * P[i]
    np.testing.assert_allclose(plane(model), w, rtol=1e-12)
    assert model.stop_.separated
    assert (y * (P @ w) > 0).all()
    R2, gamma = norm_bound(P, u, y)
    assert model.n_updates_ <= R2 / gamma**2


def test_mistakes_only_draws_every_mistake():
    """From w = 0 every row is a mistake, so the first draw is uniform over all of them."""
    X, y = XOR
    firsts = [rb.Perceptron(order="mistakes", max_updates=1, random_state=s).fit(X, y).log_.rows[0] for s in range(200)]
    counts = np.bincount(firsts, minlength=4)
    assert (abs(counts - 50) < 5 * math.sqrt(50)).all()


def test_a_pass_of_mistakes_is_as_many_updates_as_rows():
    X, y = XOR
    model = rb.Perceptron(order="mistakes", max_iter=3, random_state=0).fit(X, y)
    assert (model.n_updates_, model.n_iter_, model.stop_.reason) == (12, 3, "passes")


# --- guarantees --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["cyclic", "permuted", "random", "mistakes"])
@pytest.mark.parametrize("step", [1.0, 0.01, 100.0])
def test_updates_stay_under_the_bound_of_novikoff(order, step):
    X, y, u = separable(60, 3, 0.1, seed=11)
    R2, gamma = norm_bound(augment(X), u, y)
    model = rb.Perceptron(order=order, step=step, max_iter=None, random_state=0).fit(X, y)
    assert model.stop_.separated
    assert 0 < model.n_updates_ <= R2 / gamma**2


@pytest.mark.parametrize(("b", "rho"), [(0.5, 1.0), (5.0, 1.0), (5.0, 0.5), (1.0, 10.0)])
def test_a_margin_is_reached_within_its_bound(b, rho):
    X, y, u = separable(40, 2, 0.15, seed=12)
    P = augment(X)
    R2, gamma = norm_bound(P, u, y)
    model = rb.Perceptron(margin=b, step=rho, order="cyclic", max_iter=None).fit(X, y)
    assert model.stop_.separated
    assert (y * model.decision_function(X) > b).all()
    assert model.n_updates_ <= (R2 + 2 * b / rho) / gamma**2
    if rho == 1.0:
        w = plane(model)
        assert min(y * (P @ w)) / np.linalg.norm(w) >= b * gamma / (R2 + 2 * b)


@pytest.mark.parametrize("seed", range(4))
def test_from_any_start_updates_stay_under_their_bound(seed):
    X, y, u = separable(40, 2, 0.15, seed)
    R2, g = norm_bound(augment(X), u, y)
    w0 = np.random.default_rng(seed).normal(size=3) * 3
    a, c = w0 @ u, np.linalg.norm(w0)
    bound = (R2 - 2 * a * g + math.sqrt((R2 - 2 * a * g) ** 2 + 4 * g**2 * (c**2 - a**2))) / (2 * g**2)
    model = rb.Perceptron(init=w0, order="cyclic", max_iter=None).fit(X, y)
    assert model.stop_.separated
    assert model.n_updates_ <= bound


@pytest.mark.parametrize("seed", range(4))
def test_mistakes_of_one_pass_stay_under_the_bound_of_freund_and_schapire(seed):
    X, codes = noisy(60, 2, 2, seed)
    P, y = augment(X), 2 * codes - 1
    R = max(np.linalg.norm(P, axis=1))
    model = rb.Perceptron(order="cyclic", max_iter=1).fit(X, codes)
    u = np.array([0.0, -1.0, 1.0]) / math.sqrt(2)  # where the labels lean
    for gamma in (0.5, 1.0, 2.0, 4.0):
        D = np.linalg.norm(np.maximum(0, gamma - y * (P @ u)))
        assert model.n_updates_ <= ((R + D) / gamma) ** 2
