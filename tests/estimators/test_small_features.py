"""Features that are small beside the intercept: their products must not drown in it, in whatever order they are added."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb


def small_rows(k, d=2, scale=1e-9, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(300, d)) * scale, rng.integers(0, k, 300)
    X[np.arange(300), y % d] += scale
    return X, y


def decisions(log, X, t):
    coef, intercept = log.weights_at(t)
    scores = X @ coef.T + intercept
    return scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)


@pytest.mark.parametrize("scale", [1e-7, 1e-9])
@pytest.mark.parametrize("k", [2, 3])
def test_a_vote_is_the_vote_of_the_hypotheses(k, scale):
    X, y = small_rows(k, d=k, scale=scale)
    model = rb.Perceptron(keep="vote", max_iter=2, random_state=0).fit(X, y)
    log = model.log_
    lived = np.diff(np.concatenate([[0], log.times, log.durations]))
    votes = np.zeros((len(X), k))
    for t, count in enumerate(lived):
        votes[np.arange(len(X)), decisions(log, X, t)] += count
    assert np.mean(model.predict(X) != votes.argmax(axis=1)) <= 0.01  # a row on a plane may round to either side


@pytest.mark.once
@pytest.mark.parametrize("seed", range(4))
def test_a_joint_pocket_is_the_best_of_the_hypotheses(seed):
    X, y = small_rows(3, d=3, seed=seed)
    model = rb.Perceptron(keep="pocket", max_iter=2, random_state=seed).fit(X, y)
    errors = []
    for t in range(model.log_.n_updates + 1):
        coef, intercept = model.log_.weights_at(t)
        scores = X @ coef.T + intercept
        own = scores[np.arange(300), y].copy()
        scores[np.arange(300), y] = -np.inf
        errors.append(np.count_nonzero(own <= scores.max(axis=1)))
    assert model.pocket_errors_ == pytest.approx(min(errors), abs=1)


def test_the_pocket_of_wide_sparse_rows_is_that_of_dense_ones():
    X = sp.random(300, 60, density=0.05, random_state=0, format="csr")
    X.data = (X.data - 0.5) * 1e-9
    y = np.random.default_rng(0).integers(0, 2, 300)
    sparse, dense = (rb.Perceptron(keep="pocket", max_iter=2, random_state=0).fit(rows, y) for rows in (X, X.toarray()))
    assert sparse.log_.rows.tolist() == dense.log_.rows.tolist()
    assert sparse.pocket_errors_ == dense.pocket_errors_


def test_a_heavy_row_that_is_right_leaves_no_trace_in_the_count():
    """Row 3 alone is wrong, on every plane after the first update: -1 * 1e20 + 1e20 is not under zero."""
    X = np.array([[1.0, 1e9], [1e-9, 0.0], [1.0, 0.0], [-1.0, 0.0], [-3.0, 1e-9]])
    model = rb.Perceptron(keep="pocket", order="cyclic", max_iter=50)
    assert model.fit(X, [1, 1, 1, 0, 0], sample_weight=[1e20, 1.0, 1.0, 1.0, 1.0]).pocket_errors_ == 1.0


def test_a_step_too_large_for_a_float_is_named():
    with pytest.raises(TypeError, match=r"step\(1\) returned"):
        rb.Perceptron(step=lambda k: 10**400).fit([[0.0], [1.0]], [0, 1])
