"""Least squares against the pseudo-inverse, by every way it is solved; streams are in `test_linear_mse_streams.py`."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from inputs import containers, refusal
from least_squares_rows import oracle, planes, rows, targets
from sklearn.linear_model import RidgeClassifier

import rosenblatt as rb

SHAPES = {"tall": (90, 7), "square": (30, 30), "one more": (31, 30), "flat": (12, 40), "tiny": (3, 2)}
shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def error_of(model, X, y, c=None):
    scores = model.decision_function(X).reshape(len(y), -1)
    return np.average(np.square(targets(y) - scores).mean(axis=1), weights=c)


@shapes
@containers
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("x0", [1.0, 2.5, 0.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_pseudo_inverse(shape, container, k, x0, weighted):
    X, y, c = rows(*shape, k)
    c = c + (1.0 if shape[0] == 3 else 0.0) if weighted else None
    model = rb.LinearMSE(fit_intercept=bool(x0), intercept_scaling=x0 or 1.0).fit(container(X), y, sample_weight=c)
    np.testing.assert_allclose(planes(model), oracle(X, y, c, x0), rtol=1e-8, atol=1e-9)
    assert model.mse_ == pytest.approx(error_of(model, X, y, c), abs=1e-12)
    assert model.coef_.shape == (1 if k == 2 else k, shape[1])
    assert model.coef_.dtype == np.float64


@shapes
@containers
@pytest.mark.parametrize("damage", ["twins", "zeros", "constant", "sum"])
def test_dependent_columns_give_the_shortest_of_all_minima(shape, container, damage):
    X, y, _ = rows(*shape, 3)
    if damage == "twins":
        X[:, 1] = 2 * X[:, 0]
    elif damage == "zeros":
        X[:, 1] = 0.0
    elif damage == "constant":
        X[:, 0] = 3.0  # depends on the bias, which counts in the norm
    else:
        X[:, 0] = X[:, 1:].sum(axis=1)
    model = rb.LinearMSE().fit(container(X), y)
    expected = oracle(X, y)
    np.testing.assert_allclose(planes(model), expected, rtol=1e-8, atol=1e-9)
    assert np.linalg.norm(planes(model)) <= np.linalg.norm(expected) * (1 + 1e-9)
    assert model.rank_ == np.linalg.matrix_rank(np.column_stack([np.ones(len(X)), X]))


@shapes
@containers
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [2, 3])
def test_a_ridge_is_scikit_learns(shape, container, intercept, k):
    X, y, c = rows(*shape, k)
    c += 0.5
    model = rb.LinearMSE(alpha=0.7, fit_intercept=intercept).fit(container(X), y, sample_weight=c)
    peer = RidgeClassifier(0.7, fit_intercept=intercept, solver="cholesky").fit(X, y, sample_weight=c)
    np.testing.assert_allclose(model.coef_, np.atleast_2d(peer.coef_), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, np.broadcast_to(peer.intercept_, len(model.intercept_)), atol=1e-9)
    if intercept:
        np.testing.assert_allclose(planes(model), oracle(X, y, c, alpha=0.7), rtol=1e-8, atol=1e-10)


@containers
@pytest.mark.parametrize("shape", [(40, 5), (8, 20)], ids=["tall", "flat"])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_a_weight_of_two_is_a_row_given_twice_and_of_zero_none(container, shape, alpha):
    X, y, c = rows(*shape, 3)
    c[:3] = 1.0
    again = np.repeat(np.arange(len(y)), c.astype(int))
    weighted = rb.LinearMSE(alpha=alpha).fit(container(X), y, sample_weight=c)
    repeated = rb.LinearMSE(alpha=alpha).fit(container(X[again]), y[again])
    np.testing.assert_allclose(planes(weighted), planes(repeated), rtol=1e-8, atol=1e-10)
    assert weighted.mse_ == pytest.approx(repeated.mse_, abs=1e-10)


def test_class_weights_multiply_sample_weights():
    X, y, c = rows(40, 4, 3)
    each = {0: 0.5, 1: 2.0, 2: 1.0}
    model = rb.LinearMSE(class_weight=each).fit(X, y, sample_weight=c)
    np.testing.assert_allclose(planes(model), oracle(X, y, c * np.array([0.5, 2.0, 1.0])[y]), rtol=1e-9)
    balanced = rb.LinearMSE(class_weight="balanced").fit(X[:25], np.r_[np.zeros(20), np.ones(5)])
    np.testing.assert_allclose(
        planes(balanced), oracle(X[:25], np.r_[np.zeros(20), np.ones(5)], np.r_[np.full(20, 0.625), np.full(5, 2.5)]), rtol=1e-9
    )


# --- which way -----------------------------------------------------------------------------------------------------------


def hilbert(n, d):
    """Columns so near to dependent that squaring them loses everything."""
    return 1.0 / (np.arange(n)[:, None] / n + np.arange(d) + 1.0)


@pytest.mark.parametrize(
    ("make", "solver"),
    [
        (lambda: rows(90, 7)[0], "normal"),
        (lambda: hilbert(90, 5), "qr"),
        (lambda: np.repeat(rows(90, 4)[0], 2, axis=1), "svd"),
        (lambda: rows(8, 40)[0], "rows"),
        (lambda: np.repeat(rows(8, 40)[0], 2, axis=0)[:, :20], "rows-svd"),
    ],
)
def test_the_solver_fits_the_rows_and_is_reported(make, solver):
    X = make()
    model = rb.LinearMSE().fit(X, np.arange(len(X)) % 2)
    assert model.solver_ == solver
    assert model.stop_.reason == "solved"


def test_near_dependent_columns_keep_the_digits_that_squares_would_lose():
    X = hilbert(200, 6)
    y = (np.arange(200) % 90 > 40).astype(int)
    model = rb.LinearMSE().fit(X, y)
    assert model.solver_ == "qr"
    P = np.column_stack([np.ones(200), X])
    W = np.linalg.lstsq(P, targets(y), rcond=None)[0]
    np.testing.assert_allclose(model.decision_function(X), (P @ W)[:, 0], atol=1e-7)
    assert abs(P.T @ (targets(y)[:, 0] - model.decision_function(X))).max() < 1e-13 * abs(planes(model)).sum()


def test_a_far_mean_costs_no_digits():
    X, y, _ = rows(300, 6)
    near, far = rb.LinearMSE().fit(X, y), rb.LinearMSE().fit(X + 2.0**20, y)
    assert far.solver_ == "normal"
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-8, atol=1e-10)


def test_pairs_of_nonzeros_and_dense_products_agree():
    X = sp.random_array((400, 50), density=0.04, format="csr", rng=np.random.default_rng(0))
    _, y, c = rows(400, 50, 3)
    sparse, dense = (rb.LinearMSE(alpha=0.1).fit(Z, y, sample_weight=c) for Z in (X, X.toarray()))
    np.testing.assert_allclose(planes(sparse), planes(dense), rtol=1e-10, atol=1e-12)


# --- number types, containers, threads ---------------------------------------------------------------------------------------


@shapes
def test_float32_rows_and_long_indices_are_used_as_they_are(shape):
    X, y, _ = rows(*shape)
    X = X.astype(np.float32)
    exact = rb.LinearMSE().fit(X.astype(np.float64), y)
    long = sp.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for Z in (X, sp.csr_array(X), long):
        np.testing.assert_allclose(planes(rb.LinearMSE().fit(Z, y)), planes(exact), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("shape", [(3000, 20), (20, 300)])
def test_threads_do_not_change_a_bit(shape):
    from threadpoolctl import threadpool_limits

    X, y, _ = rows(*shape, 3)
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            found.append(planes(rb.LinearMSE().fit(X, y)))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


# --- bad input ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": -1.0}, "alpha must be at least 0 and finite, got -1.0"),
        ({"alpha": np.nan}, "alpha must be at least 0 and finite, got nan"),
        ({"alpha": np.inf}, "alpha must be at least 0 and finite, got inf"),
        ({"tol": 0.0}, "tol must be greater than 0"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be greater than 0"),
        ({"class_weight": "even"}, "class_weight must be 'balanced'"),
    ],
)
def test_a_bad_parameter_is_named(parameters, words):
    X, y, _ = rows(20, 3)
    assert words in refusal(lambda: rb.LinearMSE(**parameters).fit(X, y))


@shapes
@containers
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_rows_that_are_not_finite_are_refused(shape, container, value, weight):
    X, y, _ = rows(*shape)
    X[2, 1] = value
    c = np.ones(len(y))
    c[2] = weight
    model = rb.LinearMSE()
    words = refusal(lambda: model.fit(container(X), y, sample_weight=c))
    assert ("NaN" if np.isnan(value) else "infinity") in words
    assert not hasattr(model, "coef_")
    assert refusal(lambda: model.partial_fit(container(X), y)) == words


def test_one_class_is_refused():
    X, _, _ = rows(20, 3)
    assert "one class" in refusal(lambda: rb.LinearMSE().fit(X, np.ones(20)))


@containers
@pytest.mark.parametrize("shape", [(40, 1), (40, 6), (5, 9)])
def test_rows_of_zeros_leave_the_mean_target(container, shape):
    model = rb.LinearMSE().fit(container(np.zeros(shape)), np.r_[np.zeros(shape[0] - 1), 1])
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-14)
    np.testing.assert_allclose(model.intercept_, 2 / shape[0] - 1)
    alone = rb.LinearMSE(fit_intercept=False).fit(container(np.zeros(shape)), np.r_[np.zeros(shape[0] - 1), 1])
    assert not alone.coef_.any()
    assert not alone.intercept_.any()


@containers
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("spread", [100, 150, 200, 300])
def test_columns_of_wildly_different_scale_are_solved(container, alpha, spread):
    """Scaling a column by a power of two scales its weight by the inverse: the scores do not change."""
    X, y, _ = rows(60, 4)
    units = np.exp2(np.array([0.0, 3.3219 * spread, -3.3219 * spread, 0.0]).round())
    model = rb.LinearMSE().fit(container(X * units), y)
    np.testing.assert_allclose(planes(model)[0, 1:] * units, planes(rb.LinearMSE().fit(X, y))[0, 1:], rtol=1e-9)
    assert np.isfinite(planes(rb.LinearMSE(alpha=alpha).fit(container(X * units), y))).all()


@containers
@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (40, 3), (5, 9)])
@pytest.mark.parametrize("size", [1e200, 1e308, 1e-200, 5e-324])
def test_huge_and_tiny_rows_end_in_finite_weights_or_a_clear_error(container, shape, size):
    X, y, _ = rows(*shape)
    X = container(X / abs(X).max() * size)
    for alpha in (0.0, 1.0):
        model = rb.LinearMSE(alpha=alpha)
        words = refusal(lambda model=model: model.fit(X, y))
        assert "scale the features" in words or np.isfinite(planes(model)).all()
        stream = rb.LinearMSE(alpha=alpha)
        words = refusal(lambda stream=stream: stream.partial_fit(X, y))
        assert "scale the features" in words or np.isfinite(planes(stream)).all()


def test_rows_are_left_alone():
    X, y, c = rows(40, 4)
    before = X.copy()
    X.flags.writeable = False
    rb.LinearMSE().fit(X, y, sample_weight=c).partial_fit(X, y)
    assert np.array_equal(X, before)
