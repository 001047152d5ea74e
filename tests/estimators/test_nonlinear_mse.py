"""Least squares through tanh and the logistic function: the textbook's steps, the minimum, and the rows that gave up."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from inputs import containers, refusal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from oracles import augment, noisy
from rosenblatt.least_squares import nonlinear as ways
from rosenblatt.online.rules.nonlinear_mse import MAX_CURVATURE
from rosenblatt.reporting.text import short

activations = pytest.mark.parametrize("activation", ["tanh", "logistic"])
minima = pytest.mark.parametrize("few", [400, 0], ids=["newton", "lbfgs"])


def logistic(a):
    return 0.5 * (1 + np.tanh(a / 2))


H = {"tanh": np.tanh, "logistic": logistic}
SLOPE = {"tanh": lambda a: 1 - np.tanh(a) ** 2, "logistic": lambda a: logistic(a) * (1 - logistic(a))}


def targets(own, activation):
    """+1 and -1, or 1 and 0."""
    return np.where(own, 1.0, -1.0 if activation == "tanh" else 0.0)


def textbook(P, t, activation, passes, rho, c=None):
    """w += rho_k c (t - h(a)) h'(a) p, row after row."""
    w, k = np.zeros(P.shape[1]), 0
    for _ in range(passes):
        for i in range(len(P)):
            k += 1
            a = P[i] @ w
            w = w + rho(k) * (1.0 if c is None else c[i]) * (t[i] - H[activation](a)) * SLOPE[activation](a) * P[i]
    return w


def textbook_batch(P, t, activation, steps, rho, c):
    """w -= rho_k gradient of 1/2 sum c (t - h(a))^2."""
    w, losses = np.zeros(P.shape[1]), []
    for k in range(1, steps + 1):
        losses.append(energy(w, P, t, activation, c))
        w = w - rho(k) * gradient(w, P, t, activation, c)
    return w, losses


def energy(w, P, t, activation, c):
    return 0.5 * (c * np.square(t - H[activation](P @ w))).sum()


def gradient(w, P, t, activation, c):
    a = P @ w
    return -(c * (t - H[activation](a)) * SLOPE[activation](a)) @ P


def planes(model, x0=1.0):
    """Weight 0 first."""
    return np.column_stack([model.intercept_ / x0, model.coef_])


# --- single-pattern and batch steps --------------------------------------------------------------------------------------


@activations
@containers
@pytest.mark.parametrize("k", [2, 3])
def test_online_steps_are_the_textbooks(activation, container, k):
    X, codes = noisy(40, 3, k, seed=1)
    c = np.random.default_rng(0).uniform(0.2, 2.0, 40)

    def rho(k):
        return 0.5 / (1 + 0.01 * k)

    model = rb.NonlinearMSE(activation=activation, solver="online", order="cyclic", step=rho, max_iter=3, intercept_scaling=2.0)
    model.fit(container(X), codes, sample_weight=c)
    for h, plane in enumerate(planes(model, 2.0)):
        own = codes == (1 if k == 2 else h)
        expected = textbook(augment(X, 2.0), targets(own, activation), activation, 3, rho, c)
        np.testing.assert_allclose(plane, expected, rtol=1e-6)
    assert model.n_updates_ == 120 * (1 if k == 2 else k)
    assert model.stop_.reason == "passes"


@activations
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_batch_steps_are_the_textbooks(activation, mean, k):
    X, codes = noisy(40, 3, k, seed=2)
    c = np.random.default_rng(0).uniform(0.2, 2.0, 40)
    P, steps = augment(X), 25
    solver, size = ("batch-mean", c.sum()) if mean else ("batch", 1.0)
    rho = 0.3 * size / 40
    model = rb.NonlinearMSE(activation=activation, solver=solver, step=rho, max_iter=steps).fit(X, codes, sample_weight=c)
    total = 0.0
    for h, plane in enumerate(planes(model)):
        t = targets(codes == (1 if k == 2 else h), activation)
        expected, _ = textbook_batch(P, t, activation, steps, lambda _: rho / size, c)
        np.testing.assert_allclose(plane, expected, rtol=1e-8, atol=1e-12)
        total += energy(expected, P, t, activation, c)
    assert model.loss_ == pytest.approx(total, rel=1e-9)


@pytest.mark.once
@activations
@pytest.mark.parametrize("solver", ["batch", "batch-mean"])
def test_batch_steps_of_their_own_choice_only_go_down(activation, solver):
    X, codes = noisy(60, 4, 2, seed=3)
    X[0] *= 30.0
    c = np.random.default_rng(0).uniform(0.0, 5.0, 60)
    losses = [
        rb.NonlinearMSE(activation=activation, solver=solver, max_iter=n, tol=1e-12).fit(X, codes, sample_weight=c).loss_
        for n in (1, 2, 3, 5, 9, 20, 100, 1000)
    ]
    assert (np.diff(losses) <= 1e-12).all()
    P = augment(X)
    assert losses[0] < energy(np.zeros(5), P, targets(codes == 1, activation), activation, c)
    model = rb.NonlinearMSE(activation=activation, solver=solver).fit(X, codes, sample_weight=c)
    over = MAX_CURVATURE[activation] * (c @ np.square(P).sum(axis=1)) / (1.0 if solver == "batch" else c.sum())
    assert model._auto == pytest.approx(1 / over)


def test_readings_and_the_log_of_an_online_run_are_there():
    X, codes = noisy(40, 3, 2, seed=4)
    model = rb.NonlinearMSE(solver="online", random_state=0).fit(X, codes)
    assert np.array_equal(model.log_.weights_at(model.log_.n_updates)[0], model.coef_)
    assert not np.array_equal(model.reading("average").coef_, model.coef_)
    assert model.reading("pocket").score(X, codes) >= model.score(X, codes)
    vote = rb.NonlinearMSE(solver="online", random_state=0, keep="vote").fit(X, codes)
    assert vote.loss_ == model.loss_  # of the last weights


def test_a_run_whose_steps_all_vanished_has_not_separated():
    X, codes = noisy(40, 3, 2, seed=4)
    model = rb.NonlinearMSE(solver="online", step=1e5, max_iter=50, random_state=0).fit(X, codes)
    assert model.score(X, codes) < 1.0
    assert model.stop_.reason == "vanished"
    assert not model.stop_.separated
    wrong = np.flatnonzero(model.predict(X) != codes)
    assert model.saturated_.tolist() == wrong.tolist()
    assert model.gradient_norm_ == 0.0


# --- streams -------------------------------------------------------------------------------------------------------------


@containers
def test_a_stream_is_one_cyclic_pass(container):
    X, codes = noisy(60, 3, 3, seed=5)
    whole = rb.NonlinearMSE(solver="online", step=0.1, order="cyclic", max_iter=1).fit(container(X), codes)
    model = rb.NonlinearMSE(solver="online", step=0.1)
    for part in np.split(np.arange(60), [10, 11, 40]):
        model.partial_fit(container(X[part]), codes[part], classes=[0, 1, 2])
    assert np.array_equal(planes(model), planes(whole))


def test_a_stream_takes_its_step_from_the_first_chunk():
    X, codes = noisy(60, 3, 2, seed=5)
    auto = rb.NonlinearMSE(solver="online").partial_fit(X[:20], codes[:20])
    fixed = rb.NonlinearMSE(solver="online", step=auto._auto).partial_fit(X[:20], codes[:20])
    for model in (auto, fixed):
        model.partial_fit(X[20:] * 7, codes[20:])
    assert np.array_equal(planes(auto), planes(fixed))


@pytest.mark.parametrize("solver", ["minimum", "batch", "batch-mean"])
def test_what_looks_at_all_rows_has_no_partial_fit(solver):
    assert not hasattr(rb.NonlinearMSE(solver=solver), "partial_fit")


def test_one_class_so_far_is_predicted():
    model = rb.NonlinearMSE(solver="online").partial_fit([[0.0], [1.0]], ["a", "a"])
    assert model.predict([[3.0]]).tolist() == ["a"]
    assert model.saturated_.tolist() == []


# --- the minimum ---------------------------------------------------------------------------------------------------------


@activations
@containers
@minima
@pytest.mark.parametrize("k", [2, 3])
def test_the_gradient_vanishes_at_the_minimum(activation, container, few, k, monkeypatch):
    monkeypatch.setattr(ways, "MAX_NEWTON_COLUMNS", few)
    X, codes = noisy(80, 4, k, seed=6)
    c = np.random.default_rng(0).uniform(0.0, 3.0, 80)
    tol = 1e-9 if few else 1e-7  # the line search of L-BFGS sees no further than the digits of E
    model = rb.NonlinearMSE(activation=activation, tol=tol, intercept_scaling=2.0).fit(container(X), codes, sample_weight=c)
    P, total, steepest = augment(X, 2.0), 0.0, 0.0
    for h, plane in enumerate(planes(model, 2.0)):
        t = targets(codes == (1 if k == 2 else h), activation)
        g = gradient(plane, P, t, activation, c)
        steepest = max(steepest, (abs(g) / abs(P).max(axis=0)).max() / c.sum())
        total += energy(plane, P, t, activation, c)
        peer = minimize(energy, np.zeros(5), (P, t, activation, c), method="BFGS", jac=gradient, options={"gtol": 1e-8})
        assert energy(plane, P, t, activation, c) == pytest.approx(peer.fun, rel=1e-9)
    assert steepest <= 2 * tol  # scales are powers of two
    assert model.loss_ == pytest.approx(total, rel=1e-12)
    assert model.gradient_norm_ <= tol
    assert model.stop_.reason == "solved"
    assert f"tol={short(tol)}" in model.stop_.sentence
    assert model.log_ is None


@activations
@containers
def test_newton_and_lbfgs_agree_and_a_weight_of_two_is_a_row_given_twice(activation, container, monkeypatch):
    X, codes = noisy(60, 3, 2, seed=7)
    c = np.arange(60) % 3
    again = np.repeat(np.arange(60), c)
    found = [planes(rb.NonlinearMSE(activation=activation, tol=1e-10).fit(container(X), codes, sample_weight=c.astype(float)))]
    found.append(planes(rb.NonlinearMSE(activation=activation, tol=1e-10).fit(container(X[again]), codes[again])))
    monkeypatch.setattr(ways, "MAX_NEWTON_COLUMNS", 0)
    found.append(
        planes(rb.NonlinearMSE(activation=activation, tol=1e-10).fit(container(X), codes, sample_weight=c.astype(float)))
    )
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-5)


@minima
def test_the_units_of_the_columns_do_not_matter(few, monkeypatch):
    monkeypatch.setattr(ways, "MAX_NEWTON_COLUMNS", few)
    X, codes = noisy(60, 3, 2, seed=7)
    units = np.exp2([300.0, -300.0, 5.0])
    one, other = rb.NonlinearMSE().fit(X, codes), rb.NonlinearMSE().fit(X * units, codes)
    np.testing.assert_allclose(other.coef_ * units, one.coef_, rtol=1e-12)


@minima
def test_too_few_iterations_are_admitted(few, monkeypatch):
    monkeypatch.setattr(ways, "MAX_NEWTON_COLUMNS", few)
    X, codes = noisy(60, 3, 3, seed=7)
    with pytest.warns(ConvergenceWarning, match="above tol=1e-6"):
        model = rb.NonlinearMSE(max_iter=1).fit(X, codes)
    assert model.stop_.reason == "passes"
    assert model.gradient_norm_ > 1e-6


def test_a_warm_start_goes_on_from_the_minimum():
    X, codes = noisy(60, 3, 2, seed=7)
    model = rb.NonlinearMSE(warm_start=True).fit(X, codes)
    first = planes(model)
    assert model.fit(X, codes).n_iter_ == 0
    assert np.array_equal(planes(model), first)


def test_the_minimum_is_lower_than_where_steps_lead():
    X, codes = noisy(60, 3, 2, seed=7)
    found = {s: rb.NonlinearMSE(solver=s, random_state=0).fit(X, codes).loss_ for s in ("minimum", "online", "batch")}
    assert found["minimum"] <= min(found.values())


def test_float32_rows_are_used_as_they_are_and_weights_are_float64():
    X, codes = noisy(60, 3, 3, seed=8)
    X = X.astype(np.float32)
    exact = rb.NonlinearMSE().fit(X.astype(np.float64), codes)
    for container in (np.asarray, sp.csr_array):
        model = rb.NonlinearMSE().fit(container(X), codes)
        assert model.coef_.dtype == np.float64
        np.testing.assert_allclose(planes(model), planes(exact), rtol=1e-7)


@minima
def test_threads_do_not_change_a_bit(few, monkeypatch):
    monkeypatch.setattr(ways, "MAX_NEWTON_COLUMNS", few)
    X, codes = noisy(200, 6, 4, seed=9)
    alone, shared = (rb.NonlinearMSE(n_jobs=n).fit(X, codes) for n in (1, 3))
    assert np.array_equal(planes(alone), planes(shared))


# --- rows that gave up ---------------------------------------------------------------------------------------------------


@pytest.mark.once
@activations
@pytest.mark.parametrize("solver", ["minimum", "batch", "online"])
def test_rows_that_gave_up_are_wrong_and_hardly_pull(activation, solver):
    X = np.r_[np.linspace(-3, -1, 30), np.linspace(1, 3, 30), 2.5, -2.9][:, None]
    codes = np.r_[np.zeros(30), np.ones(30), 0, 1].astype(int)
    model = rb.NonlinearMSE(activation=activation, solver=solver, max_iter=1000, step="auto" if solver == "minimum" else 0.5)
    with_given_up = clone(model).fit(X, codes)
    a = with_given_up.decision_function(X)
    tau = abs((targets(codes == 1, activation) - H[activation](a)) * SLOPE[activation](a))
    longest = (32 if activation == "tanh" else 4) / 27
    expected = np.flatnonzero((with_given_up.predict(X) != codes) & (tau < 0.01 * longest))
    assert with_given_up.saturated_.tolist() == expected.tolist()
    if solver != "online":
        assert set(expected) == {60, 61}
        c = np.ones(62)
        c[60] = 0.0
        assert 60 not in clone(model).fit(X, codes, sample_weight=c).saturated_


# --- bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"activation": "relu"}, "activation must be one of 'tanh', 'logistic', got 'relu'"),
        ({"solver": "adam"}, "solver must be one of"),
        ({"step": 0.0}, "step must be greater than 0"),
        ({"step": -1.0}, "step must be greater than 0"),
        ({"step": np.nan}, "step must be greater than 0"),
        ({"step": "long"}, "step must be 'auto'"),
        ({"tol": 0.0}, "tol must be greater than 0"),
        ({"tol": np.nan}, "tol must be greater than 0"),
        ({"order": "mistakes"}, "order must be one of"),
        ({"max_iter": None}, "max_iter must be"),
        ({"keep": "vote"}, "keep='vote'"),
        ({"max_updates": 0}, "max_updates must be at least 1"),
        ({"solver": "online", "step": lambda k: -1.0}, "a step must be finite and greater than 0"),
    ],
)
def test_a_bad_parameter_is_named(parameters, words):
    X, codes = noisy(20, 3, 2, seed=0)
    assert words in refusal(lambda: rb.NonlinearMSE(**parameters).fit(X, codes))


def test_the_minimum_has_no_other_readings():
    X, codes = noisy(20, 3, 2, seed=0)
    model = rb.NonlinearMSE().fit(X, codes)
    assert "has no updates to read" in refusal(lambda: model.reading("average"))
    assert np.array_equal(model.reading("last").coef_, model.coef_)


@containers
@pytest.mark.parametrize("solver", ["minimum", "online", "batch"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("step", ["auto", 0.1])
def test_rows_that_are_not_finite_are_refused(container, solver, value, step):
    X, codes = noisy(20, 3, 2, seed=0)
    X[4, 1] = value
    words = refusal(lambda: rb.NonlinearMSE(solver=solver, step=step).fit(container(X), codes))
    assert ("NaN" if np.isnan(value) else "infinity") in words


@pytest.mark.once
@containers
@pytest.mark.parametrize("solver", ["minimum", "online", "batch"])
def test_odd_shapes_are_learned(container, solver):
    rng = np.random.default_rng(0)
    model = rb.NonlinearMSE(solver=solver, random_state=0)
    one_feature, y = np.r_[np.arange(5.0), np.arange(5.0) + 9][:, None], np.arange(10) // 5
    assert clone(model).fit(container(one_feature), y).score(one_feature, y) >= 0.9
    wide = rng.normal(size=(6, 40))
    assert clone(model).fit(container(wide), y[2:8]).score(wide, y[2:8]) == 1.0
    zeros = np.column_stack([np.zeros(10), one_feature])
    assert clone(model).fit(container(zeros), y).coef_[0, 0] == 0.0
    twins = np.repeat(one_feature, 2, axis=0)
    assert np.isfinite(clone(model).fit(container(twins), np.arange(20) % 2).coef_).all()
    nothing = clone(model).fit(container(np.zeros((4, 2))), [0, 1, 1, 1])
    assert nothing.predict(np.zeros((1, 2))).tolist() == [1]
    assert "one class" in refusal(lambda: clone(model).fit(container(wide), np.ones(6)))


@containers
@pytest.mark.parametrize("solver", ["minimum", "online", "batch", "batch-mean"])
@pytest.mark.parametrize("size", [1e200, 1e308, 1e-200, 5e-324])
@pytest.mark.parametrize("step", ["auto", 1.0])
def test_huge_and_tiny_rows_end_in_finite_weights_or_a_clear_error(container, solver, size, step):
    X, codes = noisy(20, 3, 2, seed=0)
    X = container(X / abs(X).max() * size)
    model = rb.NonlinearMSE(solver=solver, step=step, max_iter=500 if solver == "minimum" else 20)
    words = refusal(lambda: model.fit(X, codes))
    assert "scale the features" in words or (np.isfinite(model.coef_).all() and np.isfinite(model.loss_))


def test_rows_are_left_alone():
    X, codes = noisy(40, 4, 2, seed=0)
    before = X.copy()
    X.flags.writeable = False
    rb.NonlinearMSE().fit(X, codes)
    assert np.array_equal(X, before)


@pytest.mark.parametrize("columns", [2, 500])
def test_verbose_writes_the_gradient_of_each_iteration(columns, capsys):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, columns)), np.arange(40) % 3
    model = rb.NonlinearMSE(verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("problem 1, iteration 1: gradient ")
    assert max(int(line.split("iteration ")[1].split(":")[0]) for line in lines) == model.n_iter_
