"""When a run of the binary perceptron ends, what it claims then, and when it warns."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import rosenblatt as rb
from oracles import augment, cyclic, noisy, perceptron, separable

XOR = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]), np.array([1, 1, -1, -1])


def plane(model, x0=1.0):
    """The augmented weights (w_0, w)."""
    return np.append(model.intercept_ / x0, model.coef_)


def passes_by_default(n, **options):
    X = np.tile([[1.0], [-1.0]], (n // 2, 1))  # each point in both classes: never separated
    model = rb.Perceptron(random_state=0, **options).fit(X, np.arange(n) // 2 % 2)
    assert model.stop_.reason == "passes"
    return model.n_iter_


def test_small_sets_get_more_passes_by_default():
    """10,000 / n passes, at least 10 and at most 1,000. A tenth with order="mistakes", where each update scans all rows."""
    assert passes_by_default(4) == 1000
    assert passes_by_default(100) == 100
    assert passes_by_default(2000, log=False) == 10
    assert passes_by_default(40, order="mistakes") == 25


@pytest.mark.parametrize("order", ["cyclic", "permuted", "random", "mistakes"])
@pytest.mark.parametrize("margin", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_separated_is_claimed_only_when_true(order, margin, seed):
    """Few rows and few passes, so that many runs end on the edge."""
    rng = np.random.default_rng(seed)
    X, codes = rng.integers(-2, 3, (6, 2)).astype(float), np.array([0, 1, 0, 1, 0, 1])
    for passes in range(1, 8):
        model = rb.Perceptron(order=order, margin=margin, max_iter=passes, random_state=seed).fit(X, codes)
        all_right = bool(((2 * codes - 1) * model.decision_function(X) > margin).all())
        if model.stop_.separated:
            assert all_right
        else:
            assert model.stop_.reason == "passes"
            assert model.n_iter_ == passes


def test_a_clean_random_pass_that_missed_a_row_is_not_taken_for_separation():
    """Row 19 alone is on the wrong side of the start; draws with replacement miss it in every third pass."""
    X, y = np.append(np.ones(19), -1.0)[:, None], np.ones(20, int)
    X[0], y[0] = -3.0, -1
    missed = 0
    for seed in range(20):
        model = rb.Perceptron(order="random", init=[0.0, 1.0], max_iter=1, random_state=seed).fit(X, y)
        if model.n_updates_ == 0:
            missed += 1
            assert not model.stop_.separated
    assert missed > 0


def test_a_separating_start_needs_no_update_and_one_pass():
    X, y, u = separable(30, 2, 0.1, seed=1)
    model = rb.Perceptron(init=u, order="permuted", random_state=0).fit(X, y)
    assert (model.n_updates_, model.n_iter_, model.stop_.reason) == (0, 1, "separated")
    assert np.array_equal(plane(model), u)


@pytest.mark.parametrize("limit", [1, 7, 20])
def test_max_updates_cuts_the_run_there(limit):
    X, codes = noisy(40, 3, 2, seed=3)
    model = rb.Perceptron(order="cyclic", max_iter=None, max_updates=limit)
    with pytest.warns(ConvergenceWarning, match=r"stopped after \d+ updates? \(the limit\)"):
        model.fit(X, codes)
    run = perceptron(augment(X), 2 * codes - 1, cyclic(40, 5))
    assert model.n_updates_ == limit
    assert model.stop_.reason == "updates"
    assert np.array_equal(plane(model), run.hypotheses[limit])
    assert model.log_.durations.tolist() == [run.times[limit - 1] + 1]


@pytest.mark.parametrize("update", ["batch", "batch-mean"])
def test_max_updates_counts_batch_steps(update):
    X, codes = noisy(40, 3, 2, seed=3)
    model = rb.Perceptron(update=update, max_updates=3, max_iter=50).fit(X, codes)
    assert (model.n_updates_, model.log_.n_updates, model.stop_.reason) == (3, 3, "updates")


@pytest.mark.parametrize("options", [{}, {"update": "batch"}, {"order": "mistakes"}], ids=["online", "batch", "mistakes"])
@pytest.mark.parametrize("w_max", [0.5, 3.0, 6.0])
def test_w_max_stops_at_the_first_weights_that_are_longer(options, w_max):
    X, codes = noisy(40, 3, 2, seed=3)
    model = rb.Perceptron(w_max=w_max, max_iter=500, random_state=0, **options).fit(X, codes)
    assert model.stop_.reason == "norm"
    norms = [np.linalg.norm(np.append(*model.log_.weights_at(t))) for t in range(model.n_updates_ + 1)]
    assert norms[-1] > w_max
    assert max(norms[:-1]) <= w_max


def test_w_max_counts_weight_0_in_its_own_scale():
    X, codes = noisy(40, 3, 2, seed=3)
    model = rb.Perceptron(w_max=6.0, intercept_scaling=4.0, order="cyclic", max_iter=500).fit(X, codes)
    run = perceptron(augment(X, 4.0), 2 * codes - 1, cyclic(40, 500))
    first = next(t for t, w in enumerate(run.hypotheses) if np.linalg.norm(w) > 6.0)
    assert (model.n_updates_, model.stop_.reason) == (first, "norm")


@pytest.mark.parametrize("stop", [{"max_updates": 30}, {"w_max": 3.0}], ids=["updates", "norm"])
def test_a_run_that_must_separate_and_does_not_warns(stop):
    X, y = XOR
    with pytest.warns(ConvergenceWarning, match="not separated"):
        rb.Perceptron(max_iter=None, step=lambda k: float(k), random_state=0, **stop).fit(X, y)


def test_an_impossible_batch_run_ends_and_warns_if_it_must_separate():
    X, y = XOR
    with pytest.warns(ConvergenceWarning, match="no plane separates"):
        rb.Perceptron(update="batch", max_iter=None).fit(X, y)


@pytest.mark.parametrize(
    "options",
    [{"max_iter": 3}, {"max_updates": 5}, {"w_max": 1.0}, {"update": "batch"}, {"update": "batch-mean", "tol": 9.0}],
)
def test_a_limited_run_does_not_warn(options):
    X, y = XOR
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = rb.Perceptron(random_state=0, **options).fit(X, y)
    assert not model.stop_.separated


def test_the_stop_has_a_reason_and_a_sentence():
    X, codes = noisy(40, 3, 2, seed=3)
    stop = rb.Perceptron(max_iter=2).fit(X, codes).stop_
    assert stop.reason == "passes"
    assert "stopped after 2 passes (the limit)" in stop.sentence
    assert str(stop) == stop.sentence
