"""Errors, intervals, precision, recall and areas against their definitions and scikit-learn's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support, roc_auc_score

from rosenblatt.training.metrics import Confusion, auc, mean_auc, wilson


@pytest.mark.parametrize(("errors", "rows"), [(0, 10), (10, 10), (3, 10), (120, 16281), (1, 1)])
def test_wilson_interval_is_where_the_normal_test_is_undecided(errors, rows):
    low, high = wilson(errors, rows)
    assert 0.0 <= low <= errors / rows <= high <= 1.0
    for end in (low, high):
        if 0.0 < end < 1.0:
            assert abs(errors / rows - end) / math.sqrt(end * (1 - end) / rows) == pytest.approx(norm.ppf(0.975))
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("errors", "rows"), [(0, 10), (10, 10), (3, 10), (120, 16281), (1, 1), (7, 9)])
def test_wilson_interval_against_scipy_and_the_exact_one(errors, rows):
    found = wilson(errors, rows)
    assert found == pytest.approx(tuple(binomtest(errors, rows).proportion_ci(method="wilson")), abs=1e-12)
    exact = binomtest(errors, rows).proportion_ci(method="exact")
    assert abs(found[0] - exact.low) < 0.2 / math.sqrt(rows)
    assert abs(found[1] - exact.high) < 0.2 / math.sqrt(rows)


@pytest.mark.parametrize("rows", [20, 50, 200])
def test_the_interval_holds_the_true_share_in_95_of_100_samples(rows):
    """Coverage computed from the exact binomial distribution."""
    shares = np.linspace(0.02, 0.98, 193)
    low, high = np.array([wilson(errors, rows) for errors in range(rows + 1)]).T
    inside = (low[:, None] <= shares) & (shares <= high[:, None])
    coverage = (binom.pmf(np.arange(rows + 1)[:, None], rows, shares) * inside).sum(axis=0)
    assert coverage.mean() == pytest.approx(0.95, abs=0.01)
    assert coverage.min() > 0.83


def test_intervals_get_narrower_with_more_rows():
    widths = [high - low for low, high in (wilson(rows // 10, rows) for rows in (10, 100, 1000, 10_000))]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_confusion_against_scikit_learn(k):
    rng = np.random.default_rng(k)
    true, predicted = rng.integers(0, k, 200), rng.integers(0, k - 1, 200)  # one class is never predicted
    found = Confusion.of(true, predicted, k)
    assert np.array_equal(found.counts, confusion_matrix(true, predicted, labels=range(k)))
    assert (found.errors, found.rows) == (int((true != predicted).sum()), 200)
    theirs = precision_recall_fscore_support(true, predicted, labels=range(k), zero_division=0)
    for ours, other in zip((found.precision, found.recall, found.f1), theirs[:3], strict=True):
        np.testing.assert_allclose(ours, other)
    parts = Confusion.of(true[:50], predicted[:50], k) + Confusion.of(true[50:], predicted[50:], k)
    assert np.array_equal(parts.counts, found.counts)


def test_area_under_the_curve_counts_pairs():
    rng = np.random.default_rng(0)
    scores, codes = rng.integers(0, 9, 80).astype(float), rng.integers(0, 2, 80)
    pairs = [0.5 if a == b else float(a > b) for a in scores[codes == 1] for b in scores[codes == 0]]
    assert auc(scores, codes == 1) == pytest.approx(np.mean(pairs))
    assert auc(scores, codes == 1) == pytest.approx(roc_auc_score(codes, scores))
    assert math.isnan(auc(scores, codes == 5))


def test_mean_area_of_several_classes():
    rng = np.random.default_rng(1)
    codes, scores = rng.integers(0, 3, 90), rng.standard_normal((90, 3))
    each = [roc_auc_score(codes == k, scores[:, k]) for k in range(3)]
    assert mean_auc(scores, codes) == pytest.approx(np.mean(each))
    assert mean_auc(scores[:, :1], (codes == 1).astype(int)) == pytest.approx(roc_auc_score(codes == 1, scores[:, 0]))


def test_a_confusion_without_rows_has_no_errors():
    nothing = Confusion.of(np.zeros(0, np.int64), np.zeros(0, np.int64), 3)
    assert nothing.to_dict() == {"rows": 0, "errors": 0, "error": 0.0, "interval": [0.0, 1.0]}
    assert nothing.precision.tolist() == nothing.recall.tolist() == nothing.f1.tolist() == [0.0, 0.0, 0.0]


def test_classes_without_rows_are_left_out_of_the_mean_area():
    scores = np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.1], [0.7, 0.3, 0.9], [0.1, 0.6, 0.2]])
    codes = np.array([0, 1, 0, 1])
    assert mean_auc(scores, codes) == pytest.approx(np.mean([auc(scores[:, k], codes == k) for k in (0, 1)]))
    assert math.isnan(mean_auc(scores[:, :1], np.ones(4, np.int64)))
