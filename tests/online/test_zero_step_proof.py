"""A batch step of length zero: a proof that no plane separates the rows where their sum is exactly zero, and only there."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt as rb

TWINS = np.array([[1.0, 0.5], [1.0, 0.5], [0.0, 1.0]])


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("margin", [0.0, 0.25])
def test_equal_rows_of_two_classes_cannot_be_separated_pairwise(pack, fit_intercept, margin):
    start = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, -2.0, 1.0]])[:, 0 if fit_intercept else 1 :]  # right but for them
    model = rb.Perceptron(update="batch", margin=margin, fit_intercept=fit_intercept, init=start, max_iter=100)
    stop = model.fit(pack(TWINS), [0, 1, 2]).stop_
    assert stop.reason == "impossible"
    assert "sum to exactly zero" in stop.sentence


@pytest.mark.parametrize("pack", [np.asarray, sp.csr_array])
def test_twins_that_differ_by_a_hair_are_not_called_impossible(pack):
    X = TWINS.copy()
    X[1, 0] = np.nextafter(1.0, 2.0)
    stop = rb.Perceptron(update="batch", fit_intercept=False, max_iter=100).fit(pack(X), [0, 1, 2]).stop_
    assert stop.reason != "impossible"


def test_a_step_that_rounds_to_zero_proves_nothing():
    """In float64 the rows' sum vanishes beside the largest of them; exactly, it does not."""
    X = np.array([[1e20, 0.0], [1e20, 1e-20], [0.0, 1.0]])
    stop = rb.Perceptron(update="batch", fit_intercept=False, max_iter=20).fit(X, [0, 1, 2]).stop_
    assert stop.reason != "impossible"


def test_weighted_rows_are_not_called_impossible_because_their_products_round():
    stop = rb.Perceptron(update="batch", max_iter=20).fit(TWINS, [0, 1, 2], sample_weight=[0.1, 0.1, 1.0]).stop_
    assert stop.reason != "impossible"
