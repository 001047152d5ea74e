"""Least squares of streams against the fit of all rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from inputs import containers, refusal
from least_squares_rows import oracle, planes, rows

import rosenblatt as rb


@containers
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("cuts", [[50], [1, 2, 3, 90], [7, 60, 61]])
def test_a_stream_is_the_whole(container, k, alpha, cuts):
    X, y, c = rows(120, 6, k)
    model = rb.LinearMSE(alpha=alpha)
    for part in np.split(np.arange(120), cuts):
        model.partial_fit(container(X[part]), y[part], classes=range(k), sample_weight=c[part])
    whole = rb.LinearMSE(alpha=alpha).fit(X, y, sample_weight=c)
    np.testing.assert_allclose(planes(model), planes(whole), rtol=1e-10, atol=1e-12)
    assert model.mse_ == pytest.approx(whole.mse_, rel=1e-10)


@pytest.mark.parametrize("labels", ["abc", "cab", "bca"])
def test_a_late_class_had_no_row_so_far(labels):
    X, y, _ = rows(90, 5)
    y = np.array(list(labels))[np.arange(90) // 30]
    model = rb.LinearMSE()
    for part in np.split(np.arange(90), [10, 30, 45, 60]):
        model.partial_fit(X[part], y[part])
    np.testing.assert_allclose(planes(model), planes(rb.LinearMSE().fit(X, y)), rtol=1e-10, atol=1e-12)
    assert model.classes_.tolist() == ["a", "b", "c"]


def test_one_class_so_far_is_predicted():
    X, _, _ = rows(9, 2)
    model = rb.LinearMSE().partial_fit(X, np.full(9, 7))
    assert model.predict(X).tolist() == [7] * 9
    assert "only one class" in model.stop_.sentence


def test_dependent_columns_stay_dependent_in_a_stream():
    X, y, _ = rows(60, 5)
    X[:, 4] = X[:, 0] - X[:, 1]
    model = rb.LinearMSE()
    for part in np.split(np.arange(60), [4, 30]):
        model.partial_fit(X[part], y[part])
    assert model.rank_ == 5
    np.testing.assert_allclose(planes(model), oracle(X, y), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("far", [0.0, 1000.0])
@pytest.mark.parametrize("twins", [False, True])
def test_a_stream_goes_on_from_a_fit(far, twins):
    X, y, _ = rows(90, 5, 3)
    X += far
    if twins:
        X[:, 1] = X[:, 0]
    for k in (2, 3):
        some = y < k
        Z, z = X[some], y[some]
        model = rb.LinearMSE().fit(Z[:40], z[:40]).partial_fit(Z[40:], z[40:])
        np.testing.assert_allclose(model.decision_function(Z), rb.LinearMSE().fit(Z, z).decision_function(Z), atol=1e-8)


def test_a_stream_without_weight_waits():
    X, y, _ = rows(20, 3)
    model = rb.LinearMSE().partial_fit(X, y, sample_weight=np.zeros(20))
    assert "weight 0" in model.stop_.sentence
    model.partial_fit(X, y)
    np.testing.assert_allclose(planes(model), oracle(X, y), rtol=1e-9, atol=1e-12)


def test_too_many_columns_for_a_stream_are_refused():
    X = sp.csr_array((np.ones(2), ([0, 1], [0, 19_999])), shape=(2, 20_000))
    assert "use fit" in refusal(lambda: rb.LinearMSE().partial_fit(X, [0, 1]))
    assert rb.LinearMSE().fit(X, [0, 1]).predict(X).tolist() == [0, 1]
