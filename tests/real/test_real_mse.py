"""Squared errors on real data: the normal equations hold, and streams, minima and the pseudo-inverse agree."""

from __future__ import annotations

import numpy as np
import pytest

import rosenblatt as rb
from datasets import libsvm


def least(X, y):
    """The shortest least-squares solution of (1, X), by LAPACK."""
    P = np.column_stack([np.ones(X.shape[0]), X.toarray()])
    return P, np.linalg.lstsq(P, np.where(y == y.max(), 1.0, -1.0), rcond=1e-13)


@pytest.mark.parametrize("name", ["heart_scale", "breast-cancer_scale", "australian", "german.numer", "mushrooms", "a9a"])
def test_linear_mse_is_the_shortest_least_squares(name):
    X, y = libsvm(name)
    P, (w, _, rank, _) = least(X, y)
    for rows in (X, X.toarray()):
        model = rb.LinearMSE().fit(rows, y)
        np.testing.assert_allclose(np.append(model.intercept_, model.coef_), w, rtol=1e-6, atol=1e-8 * abs(w).max())
        assert model.rank_ == rank
        errors = np.where(y == y.max(), 1.0, -1.0) - model.decision_function(rows)
        assert model.mse_ == pytest.approx(np.square(errors).mean(), rel=1e-9)
        assert abs(P.T @ errors).max() <= 1e-9 * abs(P).sum(axis=0).max()


@pytest.mark.parametrize("name", ["heart_scale", "german.numer", "mushrooms"])
def test_a_stream_is_the_whole(name):
    X, y = libsvm(name)
    model = rb.LinearMSE()
    for part in np.array_split(np.arange(len(y)), 7):
        model.partial_fit(X[part], y[part], classes=np.unique(y))
    whole = rb.LinearMSE().fit(X, y)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8, atol=1e-10 * abs(whole.coef_).max())
    assert model.rank_ == whole.rank_


@pytest.mark.parametrize("activation", ["tanh", "logistic"])
@pytest.mark.parametrize(
    "name", ["heart_scale", "breast-cancer_scale", "german.numer", pytest.param("a9a", marks=pytest.mark.slow)]
)
def test_the_nonlinear_minimum_is_one_and_beats_single_steps(name, activation):
    X, y = libsvm(name)
    model = rb.NonlinearMSE(activation=activation).fit(X, y)
    assert model.stop_.reason == "solved"
    assert model.gradient_norm_ <= 1e-6
    assert model.loss_ <= rb.NonlinearMSE(activation=activation, solver="online", random_state=0).fit(X, y).loss_
    assert model.score(X, y) >= rb.LinearMSE().fit(X, y).score(X, y) - 0.01
