"""Passive-aggressive learning against its oracle, and the theorems of Crammer et al. (2006)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

import rosenblatt as rb
from oracles import augment, cyclic, noisy, one_vs_rest, passive_aggressive, passive_aggressive_argmax, separable

last = partial(rb.PassiveAggressive, keep="last")

CONTAINERS = {"dense": np.asarray, "csr": sp.csr_array}
VARIANTS = ["PA", "PA-I", "PA-II"]


def planes(model):
    return np.column_stack([model.intercept_, model.coef_])


def losses(model, X, y):
    """The hinge loss of every visited row under the weights that met it; rows that moved nothing had none."""
    P = augment(X)
    out = []
    for t, i in enumerate(model.log_.rows):
        coef, intercept = model.log_.weights_at(t)
        out.append(max(0.0, 1 - y[i] * (P[i] @ np.append(intercept, coef))))
    return np.array(out)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_binary_is_the_paper(container, variant, C):
    X, codes = noisy(40, 3, 2, seed=1)
    model = last(C=C, variant=variant, order="cyclic", max_iter=3).fit(CONTAINERS[container](X), codes)
    run = passive_aggressive(augment(X), 2 * codes - 1, cyclic(40, 3), variant=variant, C=C)
    assert model.log_.rows.tolist() == run.rows
    np.testing.assert_allclose(planes(model)[0], run.last, rtol=1e-9)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("k", [3, 5])
def test_multiclass_is_the_paper(container, variant, k):
    X, codes = noisy(50, 4, k, seed=2)
    model = last(C=0.3, variant=variant, order="cyclic", max_iter=3).fit(CONTAINERS[container](X), codes)
    run = passive_aggressive_argmax(augment(X), codes, k, cyclic(50, 3), variant=variant, C=0.3)
    assert model.log_.rows.tolist() == run.rows
    np.testing.assert_allclose(planes(model), run.last, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_one_vs_rest_is_the_paper_for_each_class(container, variant):
    X, codes = noisy(50, 4, 3, seed=2)
    model = last(C=0.3, variant=variant, order="cyclic", max_iter=3, multiclass="ovr").fit(CONTAINERS[container](X), codes)
    runs = one_vs_rest(passive_aggressive, augment(X), codes, 3, cyclic(50, 3), variant=variant, C=0.3)
    for h, run in enumerate(runs):
        assert model.log_.rows[model.log_.heads == h].tolist() == run.rows
        np.testing.assert_allclose(planes(model)[h], run.last, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_weight_scales_the_aggressiveness_of_its_row(variant):
    X, codes = noisy(40, 3, 2, seed=3)
    c = np.random.default_rng(0).uniform(0.1, 3.0, 40)
    model = last(C=0.1, variant=variant, order="cyclic", max_iter=2).fit(X, codes, sample_weight=c)
    run = passive_aggressive(augment(X), 2 * codes - 1, cyclic(40, 2), variant=variant, C=0.1, c=c)
    assert model.log_.rows.tolist() == run.rows
    np.testing.assert_allclose(planes(model)[0], run.last, rtol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_weight_makes_a_step_overshoot_its_row(variant):
    X, codes = noisy(40, 3, 2, seed=3)
    P, y = augment(X), 2 * codes - 1
    model = last(C=1.0, variant=variant, order="cyclic", max_iter=2).fit(X, codes, sample_weight=np.full(40, 1e6))
    for t, i in enumerate(model.log_.rows):
        coef, intercept = model.log_.weights_at(t + 1)
        assert y[i] * (P[i] @ np.append(intercept, coef)) <= 1 + 1e-9


def test_a_pa_step_gives_its_row_a_margin_of_exactly_one():
    X, codes = noisy(40, 3, 2, seed=4)
    P, y = augment(X), 2 * codes - 1
    model = last(variant="PA", max_iter=2, random_state=0).fit(X, codes)
    for t, i in enumerate(model.log_.rows):
        coef, intercept = model.log_.weights_at(t + 1)
        assert y[i] * (P[i] @ np.append(intercept, coef)) == pytest.approx(1.0)


def test_a_multiclass_pa_step_gives_its_row_a_lead_of_exactly_one():
    X, codes = noisy(40, 3, 4, seed=4)
    P = augment(X)
    model = last(variant="PA", max_iter=2, random_state=0).fit(X, codes)
    for t, (i, rival) in enumerate(zip(model.log_.rows, model.log_.rivals, strict=True)):
        coef, intercept = model.log_.weights_at(t + 1)
        scores = coef @ P[i, 1:] + intercept
        assert scores[codes[i]] - scores[rival] == pytest.approx(1.0)


@pytest.mark.parametrize("order", ["cyclic", "permuted", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_2_squared_losses_sum_to_at_most_u2_r2(order, seed):
    X, y, u = separable(40, 3, 0.1, seed)
    P = augment(X)
    u = u / min(y * (P @ u))  # now y <u, p> >= 1 on every row
    model = last(variant="PA", order=order, max_iter=20, random_state=seed).fit(X, y)
    total = (losses(model, X, y) ** 2).sum()
    assert 0 < total <= (u @ u) * max(p @ p for p in P)


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_4_mistakes_of_pa_1_in_one_pass(C, seed):
    """At most max(R^2, 1/C) (|u|^2 + 2 C sum of u's losses) rows are on the wrong side when they are met, for any u."""
    X, codes = noisy(60, 2, 2, seed)
    P, y = augment(X), 2 * codes - 1
    model = last(C=C, variant="PA-I", order="cyclic", max_iter=1).fit(X, codes)
    mistakes = (losses(model, X, y) >= 1).sum()
    R2 = max(p @ p for p in P)
    for scale in (0.05, 0.2, 0.5):
        u = scale * np.array([0.0, -1.0, 1.0])
        slack = np.maximum(0, 1 - y * (P @ u)).sum()
        assert mistakes <= max(R2, 1 / C) * (u @ u + 2 * C * slack)


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_theorem_5_squared_losses_of_pa_2_in_one_pass(C, seed):
    """At most (R^2 + 1/2C) (|u|^2 + 2 C sum of u's squared losses), for any u."""
    X, codes = noisy(60, 2, 2, seed)
    P, y = augment(X), 2 * codes - 1
    model = last(C=C, variant="PA-II", order="cyclic", max_iter=1).fit(X, codes)
    total = (losses(model, X, y) ** 2).sum()
    R2 = max(p @ p for p in P)
    for scale in (0.0, 0.05, 0.2, 0.5):
        u = scale * np.array([0.0, -1.0, 1.0])
        slack = (np.maximum(0, 1 - y * (P @ u)) ** 2).sum()
        assert total <= (R2 + 1 / (2 * C)) * (u @ u + 2 * C * slack)


def test_pa_1_never_steps_further_than_c():
    X, codes = noisy(40, 3, 2, seed=5)
    steps = last(C=0.02, variant="PA-I", max_iter=2, random_state=0).fit(X, codes).log_.steps
    assert steps.max() == 0.02
    assert steps.min() < 0.02


def test_with_a_huge_c_all_variants_are_pa():
    X, y, _ = separable(40, 3, 0.1, seed=1)
    pa, one, two = (last(C=1e12, variant=variant, order="cyclic", max_iter=3).fit(X, y) for variant in VARIANTS)
    assert np.array_equal(pa.coef_, one.coef_)
    np.testing.assert_allclose(pa.coef_, two.coef_, rtol=1e-6)


def test_separated_means_that_every_row_has_its_margin():
    """Two rows that touch nothing of each other: PA gives each its margin in one visit, and 1 needs no second."""
    X, y = np.array([[2.0, 0.0], [0.0, -4.0]]), [1, 0]
    model = last(variant="PA", fit_intercept=False, order="cyclic").fit(X, y)
    assert (model.n_updates_, model.n_iter_, model.stop_.reason) == (2, 2, "separated")
    assert model.decision_function(X).tolist() == [1.0, -1.0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_row_of_zeros_never_counts_as_separated(variant):
    model = last(variant=variant, fit_intercept=False, order="cyclic").fit([[0.0], [2.0], [-2.0]], [1, 1, 0])
    assert model.stop_.reason == "passes"
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(("variant", "theirs"), [("PA-I", "pa1"), ("PA-II", "pa2")])
def test_passive_aggressive_agrees_with_scikit_learn(variant, theirs):
    """Without an intercept: scikit-learn leaves the constant out of the squared length."""
    X, codes = noisy(60, 4, 2, seed=6)
    options = {"penalty": None, "shuffle": False, "max_iter": 3, "tol": None, "fit_intercept": False}
    theirs = SGDClassifier(loss="hinge", learning_rate=theirs, eta0=0.1, **options).fit(X, codes)
    ours = last(C=0.1, variant=variant, order="cyclic", max_iter=3, fit_intercept=False).fit(X, codes)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
