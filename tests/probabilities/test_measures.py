"""Log loss and Brier score against scikit-learn, and the reliability diagram of probabilities that are true."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from rosenblatt.probabilities.measures import ProbabilityTest


@pytest.mark.parametrize("k", [2, 3, 7])
def test_scores_equal_those_of_scikit_learn(k: int) -> None:
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.ones(k), 300)
    p[:10] = np.eye(k)[0]  # certain, and often wrong
    codes = rng.integers(k, size=300)
    found = ProbabilityTest.of(p, codes)
    assert found.log_loss == pytest.approx(sklearn_log_loss(codes, p, labels=range(k)))
    assert found.brier == pytest.approx(brier_score_loss(codes, p[:, 1] if k == 2 else p, labels=range(k)))
    shares = np.tile(np.bincount(codes, minlength=k) / 300, (300, 1))
    assert found.log_loss_of_shares == pytest.approx(sklearn_log_loss(codes, shares, labels=range(k)))
    assert found.brier_of_shares == pytest.approx(brier_score_loss(codes, shares[:, 1] if k == 2 else shares, labels=range(k)))


@pytest.mark.parametrize("k", [2, 4])
def test_true_probabilities_are_reliable_and_sharper_ones_are_not(k: int) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(k, 0.7), 50_000)
    codes = (p.cumsum(axis=1) < rng.random((50_000, 1))).sum(axis=1)
    true = ProbabilityTest.of(p, codes)
    sharp = ProbabilityTest.of(p**3 / (p**3).sum(axis=1, keepdims=True), codes)
    assert true.calibration_error < 0.01
    assert sharp.calibration_error > 0.05
    assert true.log_loss < sharp.log_loss
    assert true.brier < sharp.brier
    assert sum(each.rows for each in true.bins) == 50_000
    for each in true.bins:
        assert abs(each.predicted - each.observed) < 5 * np.sqrt(0.25 / each.rows)


def test_empty_bins_are_left_out_and_a_probability_of_one_is_in_the_last() -> None:
    found = ProbabilityTest.of(np.array([[0.0, 1.0], [0.0, 1.0], [0.95, 0.05]]), np.array([1, 0, 0]))
    assert [(each.rows, each.predicted, each.observed) for each in found.bins] == [(1, 0.05, 0.0), (2, 1.0, 0.5)]


def test_of_two_classes_the_diagram_shows_the_rarer_one() -> None:
    p, codes = np.array([[0.05, 0.95], [0.05, 0.95], [0.45, 0.55]]), np.array([1, 1, 0])
    found, swapped = ProbabilityTest.of(p, codes), ProbabilityTest.of(p[:, ::-1], 1 - codes)
    assert (found.positive, swapped.positive) == (0, 1)
    assert [(each.rows, each.predicted, each.observed) for each in found.bins] == [(2, 0.05, 0.0), (1, 0.45, 1.0)]
    assert swapped.bins == found.bins
    assert ProbabilityTest.of(p[:2], np.array([0, 1])).positive == 1
