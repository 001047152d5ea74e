"""Logistic regression: the objective against an oracle, with a penalty and without one, and classes that are separated."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp

import rosenblatt as rb
from rosenblatt.estimators.base import StopWarning
from rosenblatt.estimators.svm_base import ZeroPlaneWarning

SCHEMES = ["multinomial", "ovr", "ovo"]


def table(k=2, n=120, d=3, seed=0):
    """Noisy classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, k)) + 1.5 * rng.normal(size=(n, k))
    return X, scores.argmax(axis=1)


def least_loss(X, y, C, free=True, x0=1.0, weights=None):
    """The minimum by BFGS: 1/2 |w|^2 (not for C = inf) + C times the loss; joint for more than two classes."""
    k, c = len(np.unique(y)), np.ones(len(y)) if weights is None else weights
    heads = 1 if k == 2 else k
    share = 0.0 if np.isinf(C) else 1.0
    cost = 1.0 if np.isinf(C) else C

    def objective(flat):
        V = flat.reshape(heads, -1)
        W, b = V[:, :-1], x0 * V[:, -1]
        scores = X @ W.T + b
        if heads == 1:
            scores = np.column_stack([np.zeros(len(y)), scores])
        loss = logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]
        penalty = (W * W).sum() + (0.0 if free else (V[:, -1] ** 2).sum())
        return 0.5 * share * penalty + cost * (c @ loss)

    return minimize(objective, np.zeros(heads * (X.shape[1] + 1)), method="BFGS", options={"gtol": 1e-6}).fun


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("C", [0.1, 10.0, np.inf])
def test_the_objective_is_the_least_one(C, kind, k):
    X, y = table(k)
    model = rb.SoftMargin(loss="logistic", C=C, tol=1e-9).fit(kind(X), y)
    assert model.stop_.reason == "tolerance"
    assert model.gap_[0] <= 1e-9
    assert model.objective_[0] == pytest.approx(least_loss(X, y, C), rel=1e-8)


@pytest.mark.parametrize("k", [2, 3])
def test_a_penalized_intercept_and_row_weights(k):
    X, y = table(k)
    weights = np.arange(len(y)) % 3 * 0.5
    given = {"loss": "logistic", "penalize_intercept": True, "intercept_scaling": 2.0, "tol": 1e-9}
    model = rb.SoftMargin(C=0.5, **given).fit(X + 1.0, y, weights)
    expected = least_loss(X + 1.0, y, 0.5, free=False, x0=2.0, weights=weights)
    assert model.objective_[0] == pytest.approx(expected, rel=1e-8)


def test_float32_rows_reach_the_gap():
    X, y = table()
    model = rb.SoftMargin(loss="logistic", tol=1e-9).fit(X.astype(np.float32), y)
    assert model.gap_[0] <= 1e-9
    assert model.objective_[0] == pytest.approx(least_loss(X, y, 1.0), rel=1e-6)


def test_many_rows_start_from_a_sample_and_end_with_the_same_gap():
    X, y = table(n=8000, d=5)
    model = rb.SoftMargin(loss="logistic", tol=1e-10, random_state=0).fit(X, y)
    assert model.gap_[0] <= 1e-10
    assert model.objective_[0] == pytest.approx(least_loss(X, y, 1.0), rel=1e-8)


@pytest.mark.once
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3, 1e-5])
def test_the_gap_holds_at_any_tolerance(tol, k):
    """Wide rows, dense rows and sparse ones: the objective exceeds the least one by at most the gap."""
    for seed, (n, d) in enumerate([(60, 4), (40, 60), (9000, 3)]):
        X, y = table(k, n, d, seed)
        for kind in (np.asarray, sp.csr_array):
            model = rb.SoftMargin(loss="logistic", tol=tol, random_state=0).fit(kind(X), y)
            best = rb.SoftMargin(loss="logistic", tol=1e-12, random_state=0).fit(kind(X), y)
            assert model.gap_[0] <= tol
            assert model.objective_[0] - model.dual_gap_[0] <= best.objective_[0] * (1 + 1e-12)


# --- without a penalty ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_collinear_columns_give_the_shortest_of_the_best_weights(kind, scheme):
    X, y = table(3)
    given = {"loss": "logistic", "C": np.inf, "multiclass": scheme, "tol": 1e-10}
    plain = rb.SoftMargin(**given).fit(X, y)
    doubled = np.column_stack([X, X[:, 0], np.ones(len(X)), np.zeros(len(X))])
    model = rb.SoftMargin(**given).fit(kind(doubled), y)
    np.testing.assert_allclose(model.objective_, plain.objective_, rtol=1e-9)
    np.testing.assert_allclose(model.coef_[:, 0], plain.coef_[:, 0] / 2, rtol=1e-4)  # half of it for each of two equal columns
    np.testing.assert_allclose(model.coef_[:, 3], model.coef_[:, 0], rtol=1e-6)
    np.testing.assert_allclose(model.coef_[:, 4:], 0.0, atol=1e-8)
    np.testing.assert_allclose(model.decision_function(kind(doubled)), plain.decision_function(X), atol=1e-3)


def test_it_is_the_limit_of_growing_costs():
    X, y = table(3)
    X = np.column_stack([X, X.sum(axis=1)])
    limit = rb.SoftMargin(loss="logistic", C=np.inf, tol=1e-10).fit(X, y)
    large = rb.SoftMargin(loss="logistic", C=1e7, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(limit.coef_, large.coef_, atol=1e-4)


def test_columns_of_very_different_sizes_and_far_from_zero():
    X, y = table()
    plain = rb.SoftMargin(loss="logistic", C=np.inf, tol=1e-9).fit(X, y)
    model = rb.SoftMargin(loss="logistic", C=np.inf, tol=1e-9).fit(X * [1e-6, 1e7, 1.0] + [0.0, 0.0, 1e5], y)
    assert model.objective_[0] == pytest.approx(plain.objective_[0], rel=1e-8)


def test_the_sums_of_the_multipliers_are_zero():
    X, y = table()
    model = rb.SoftMargin(loss="logistic", C=np.inf, tol=1e-9).fit(X, y)
    signed = np.zeros(len(y))
    signed[model.support_[0]] = model.multipliers_[0]
    signed *= np.where(y, 1, -1)
    np.testing.assert_allclose(np.column_stack([X, np.ones(len(y))]).T @ signed, 0.0, atol=1e-9)
    assert model.multipliers_[0].min() > 0.0


@pytest.mark.parametrize("k", [2, 3])
def test_zero_weights_may_be_the_best(k):
    """The same row once in each class: the likelihood has its maximum where the search for it starts."""
    with pytest.warns(ZeroPlaneWarning):
        model = rb.SoftMargin(loss="logistic", C=np.inf, tol=1e-9).fit(np.array([[-1.0, 1.0]] * k), range(k))
    assert model.stop_.reason == "tolerance"
    assert model.objective_[0] == pytest.approx(k * np.log(k))
    np.testing.assert_array_equal(model.coef_, 0.0)


def rare(k=2):
    """A column of zeros and ones, whose ones are all of one class: an empty cell of a table of counts."""
    X, y = table(k, 300, 3)
    X[:, 1] = np.random.default_rng(5).random(len(y)) < 0.1
    y[X[:, 1] == 1] = 1
    return X, y


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("k", "scheme"), [(2, "auto"), (3, "multinomial"), (3, "ovr"), (3, "ovo")])
def test_separated_rows_have_no_maximum(k, scheme, kind):
    X, y = rare(k)
    with pytest.raises(rb.NoMaximum, match="quasi-complete separation: column 2 separates") as caught:
        rb.SoftMargin(loss="logistic", C=np.inf, multiclass=scheme).fit(kind(X), y)
    assert caught.value.columns == [1]
    assert set(caught.value.separated.first) <= set(np.flatnonzero(X[:, 1]))
    assert caught.value.check(kind(X), y)
    assert not caught.value.check(kind(X), (y + 1) % k)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def test_the_message_has_names_and_rows_of_the_table():
    X, y = rare()
    frame = pd.DataFrame(X, columns=["age", "rare", "height"])
    weights = np.r_[np.zeros(50), np.ones(len(y) - 50)]
    with pytest.raises(rb.NoMaximum, match=r"column 'rare' separates 25 of 250 rows .*: use a finite C") as caught:
        rb.SoftMargin(loss="logistic", C=np.inf).fit(frame, y, weights)
    assert min(caught.value.separated.first) >= 50
    assert caught.value.check(X, y)


def test_one_class_of_several_is_named():
    X, y = rare(3)
    names = np.array(["a", "b", "c"])[y]
    with pytest.raises(rb.NoMaximum, match="no optimum for class b against class a "):
        rb.SoftMargin(loss="logistic", C=np.inf, multiclass="ovo").fit(X, names)
    with pytest.raises(rb.NoMaximum, match="no optimum for class a against the rest "):
        rb.SoftMargin(loss="logistic", C=np.inf, multiclass="ovr").fit(X, names)


def test_complete_separation():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    with pytest.raises(rb.NoMaximum, match="complete separation: column 1 separates all 4 rows"):
        rb.SoftMargin(loss="logistic", C=np.inf).fit(X, [0, 0, 1, 1])
    model = rb.SoftMargin(loss="logistic", C=np.inf).fit(X, [0, 1, 0, 1])
    assert model.gap_[0] <= 1e-3


def test_words_that_occur_once_separate():
    """More columns than rows, and a row that has another label twice."""
    X = sp.csr_array(sp.vstack([sp.eye(30, 1200, format="csr"), sp.eye(2, 1200, format="csr")]))
    y = np.r_[np.arange(30) % 2, 1, 1]
    with pytest.raises(rb.NoMaximum, match="quasi-complete separation"):
        rb.SoftMargin(loss="logistic", C=np.inf).fit(X, y)


def test_a_limit_of_steps_is_reported_not_proved():
    X, y = table(n=500)
    with pytest.warns(StopWarning, match="stopped after 1 iteration"):
        model = rb.SoftMargin(loss="logistic", C=np.inf, max_iter=1, tol=1e-9).fit(X, y)
    assert model.gap_[0] == 1.0
