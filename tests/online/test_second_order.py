"""AROW against its oracles, and the theorem of Crammer, Kulesza and Dredze (2009)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import rosenblatt as rb
from oracles import arow, arow_argmax, augment, cyclic, noisy

CONTAINERS = {"dense": np.asarray, "csr": sp.csr_array}
containers = pytest.mark.parametrize("container", CONTAINERS)


def planes(model: Any) -> Any:
    return np.column_stack([model.intercept_, model.coef_])


# --- the definition --------------------------------------------------------------------------------------------------------


@containers
@pytest.mark.parametrize("r", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary_is_the_paper(container, r, dtype):
    X, codes = noisy(40, 3, 2, seed=1)
    X = X.astype(dtype)
    model = rb.AROW(r=r, order="cyclic", max_iter=3).fit(CONTAINERS[container](X), codes)
    w, S, made, _ = arow(augment(X), 2 * codes - 1, cyclic(40, 3), r=r)
    np.testing.assert_allclose(planes(model)[0], w, rtol=1e-9)
    np.testing.assert_allclose(model.variances_[0], np.diag(S)[1:], rtol=1e-9)
    assert model.n_updates_ == sum(made)
    assert model.coef_.dtype == model.variances_.dtype == np.float64


@containers
@pytest.mark.parametrize("k", [3, 5])
def test_heads_against_each_other_are_the_paper_on_differences_of_rows(container, k):
    X, codes = noisy(50, 4, k, seed=2)
    model = rb.AROW(r=0.3, order="cyclic", max_iter=3, multiclass="joint").fit(CONTAINERS[container](X), codes)
    W, S, updates = arow_argmax(augment(X), codes, k, cyclic(50, 3), r=0.3)
    np.testing.assert_allclose(planes(model), W, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.variances_, S[:, 1:], rtol=1e-8)
    assert model.n_updates_ == updates


@containers
def test_one_vs_rest_is_the_paper_for_each_class(container):
    X, codes = noisy(50, 4, 3, seed=2)
    model = rb.AROW(r=0.3, order="cyclic", max_iter=3, multiclass="ovr").fit(CONTAINERS[container](X), codes)
    runs = [arow(augment(X), np.where(codes == h, 1, -1), cyclic(50, 3), r=0.3) for h in range(3)]
    np.testing.assert_allclose(planes(model), [w for w, *_ in runs], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.variances_, [np.diag(S)[1:] for _, S, *_ in runs], rtol=1e-8)
    assert model.n_updates_ == sum(sum(made) for _, _, made, _ in runs)


@containers
def test_a_weight_divides_r(container):
    X, codes = noisy(40, 3, 2, seed=3)
    c = np.random.default_rng(0).uniform(0.1, 3.0, 40)
    model = rb.AROW(order="cyclic", max_iter=2).fit(CONTAINERS[container](X), codes, sample_weight=c)
    w, *_ = arow(augment(X), 2 * codes - 1, cyclic(40, 2), c=c)
    np.testing.assert_allclose(planes(model)[0], w, rtol=1e-9)


@pytest.mark.parametrize("x0", [None, 0.1, 3.0])
def test_the_bias_is_a_weight_as_any_other(x0):
    X, codes = noisy(40, 3, 2, seed=4)
    options = {"fit_intercept": False} if x0 is None else {"intercept_scaling": x0}
    model = rb.AROW(order="cyclic", max_iter=2, **options).fit(X, codes)
    w, *_ = arow(augment(X, x0), 2 * codes - 1, cyclic(40, 2))
    expected = np.append(0.0, w) if x0 is None else np.append(w[0] * x0, w[1:])
    np.testing.assert_allclose(planes(model)[0], expected, rtol=1e-9)


# --- what is guaranteed ----------------------------------------------------------------------------------------------------


@st.composite
def rows(draw: Any, most: int = 4) -> Any:
    n, d = draw(st.integers(2, 25)), draw(st.integers(1, most))
    numbers = st.floats(-3, 3, allow_subnormal=False).map(lambda x: round(x, 3))
    X = np.array(draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    y[:2] = -1, 1
    u = np.array(draw(st.lists(numbers, min_size=d, max_size=d)))
    return X, y, u, draw(st.sampled_from([0.01, 0.1, 1.0, 10.0]))


def bound(P: Any, y: Any, u: Any, r: float, moved: list[int], right: int) -> float:
    """On the mistakes, from the rows that moved the weights and how many of them were right."""
    A = P[moved].T @ P[moved]
    losses = np.maximum(0.0, 1 - y[moved] * (P[moved] @ u)).sum()
    grown = np.linalg.slogdet(np.eye(len(u)) + A / r)[1]
    return float(np.sqrt(r * u @ u + u @ A @ u) * np.sqrt(grown + right) + losses - right)


@given(rows(), st.integers(1, 3))
def test_the_full_matrix_keeps_the_bound_of_the_paper(given, passes):
    X, y, u, r = given
    _, _, (mistakes, right), moved = arow(X, y, cyclic(len(X), passes), r=r, full=True)
    assert mistakes <= bound(X, y, u, r, moved, right) + 1e-6


@given(rows(), st.integers(1, 3))
def test_the_diagonal_keeps_it_where_no_row_has_two_features(given, passes):
    X, y, u, r = given
    X = np.where(np.arange(X.shape[1]) == (np.arange(len(X)) % X.shape[1])[:, None], X, 0.0)
    one, other = (arow(X, y, cyclic(len(X), passes), r=r, full=full) for full in (True, False))
    np.testing.assert_allclose(one[0], other[0], rtol=1e-9, atol=1e-12)
    model = rb.AROW(r=r, order="cyclic", max_iter=passes, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], one[0], rtol=1e-6, atol=1e-9)
    _, _, (mistakes, right), moved = other
    assert mistakes <= bound(X, y, u, r, moved, right) + 1e-6


@given(rows())
def test_every_update_reduces_the_loss_and_the_variances(given):
    X, y, _, r = given
    model = rb.AROW(r=r, fit_intercept=False).partial_fit(X[:2], y[:2], classes=[-1, 1])
    for i in range(2, len(X)):
        before, s = y[i] * float(model.decision_function(X[i : i + 1])[0]), model.variances_[0].copy()
        made = model.n_updates_
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        after, v = y[i] * float(model.decision_function(X[i : i + 1])[0]), float(s @ X[i] ** 2)
        assert (model.variances_[0] <= s).all()
        assert (model.variances_[0] >= s * r / (v + r) * (1 - 1e-12)).all()
        if model.n_updates_ > made:
            assert before < 1
            assert 1 - after == pytest.approx((1 - before) * r / (v + r), rel=1e-6, abs=1e-9)
        else:
            assert before >= 1 - 1e-9
            assert after == before


@pytest.mark.parametrize("scale", [1.0, 1e8, 1e100])
def test_variances_stay_over_zero_however_long_the_rows(scale):
    X, codes = noisy(40, 3, 2, seed=5)
    model = rb.AROW(order="cyclic", max_iter=20).fit(X[:, :1] * scale, codes)
    assert (model.variances_ > 0).all()
    assert (model.variances_ <= 1).all()


@containers
@pytest.mark.parametrize("order", ["cyclic", "permuted", "random"])
@pytest.mark.parametrize("multiclass", ["ovr", "joint"])
def test_separated_means_a_margin_of_one_on_every_row(container, order, multiclass):
    """An update leaves its own row short of 1, so that only rounding ends a run: with r as small as this, at once."""
    X, y = np.vstack([np.eye(3) * 8] * 2), np.tile(np.arange(3), 2)
    options = {"multiclass": multiclass, "order": order, "fit_intercept": False, "random_state": 0}
    model = rb.AROW(r=1e-20, max_iter=500, **options).fit(CONTAINERS[container](X), y)
    assert model.stop_.separated, model.stop_
    assert model.n_iter_ < 500
    scores, own = model.decision_function(X), np.arange(3) == y[:, None]
    if multiclass == "ovr":
        assert (np.where(own, scores, -scores) >= 1).all()
    else:
        assert (scores[own] - np.where(own, -np.inf, scores).max(axis=1) >= 1).all()
    assert rb.AROW(r=1.0, max_iter=50, **options).fit(X, y).stop_.reason == "passes"


def test_rare_features_move_further_than_common_ones():
    """What the variances are for: the word of one message in a hundred still counts when it comes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = np.column_stack([rng.normal(size=(400, 3)), np.zeros(400)])
    X[::100, 3], y[::100] = 1.0, 1
    model = rb.AROW(order="cyclic", max_iter=1).fit(X, y)
    assert model.variances_[0, 3] > 5 * model.variances_[0, :3].max()
    assert model.coef_[0, 3] > 2 * abs(model.coef_[0, :3]).max()
