"""Quality of probabilities on rows that the model has not seen: log loss, Brier score and the reliability diagram.

Log loss      - mean of log P(true class). A model that gives each class its share of the rows has the entropy of the shares.
Brier score   mean squared error of the probabilities: of the second of two classes, or summed over more classes. Both scores
              are smallest, on average, for the true probabilities, and equal those of scikit-learn.
Reliability   rows are grouped by their probability in ten bins; in each, the share of rows that have the class is compared
              with the mean probability. Of two classes it is that of the one with fewer rows, of equal ones the second: most
              probabilities of the other one are near 1. Of more classes it is that of the most probable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array_types import FloatArray, IntArray

BINS = 10


@dataclass(frozen=True)
class ReliabilityBin:
    """Rows with similar probabilities: their number, the mean probability, and the share that has the class."""

    rows: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class ProbabilityTest:
    """A test of probabilities.

    Parameters
    ----------
    rows : int
        The number of rows.
    log_loss, brier : float
        Both scores.
    log_loss_of_shares, brier_of_shares : float
        The scores of giving each class its share of these rows.
    bins : tuple of ReliabilityBin
        The reliability diagram, without empty bins.
    positive : int, optional
        Of two classes the code of the one in the diagram.

    Examples
    --------
    >>> test = ProbabilityTest.of(np.array([[0.8, 0.2], [0.2, 0.8], [0.2, 0.8], [0.2, 0.8]]), np.array([0, 1, 1, 0]))
    >>> round(test.log_loss, 3), round(test.brier, 3), round(test.calibration_error, 3)
    (0.57, 0.19, 0.15)
    """

    rows: int
    log_loss: float
    brier: float
    log_loss_of_shares: float
    brier_of_shares: float
    bins: tuple[ReliabilityBin, ...]
    positive: int | None = None

    @classmethod
    def of(cls, probabilities: FloatArray, codes: IntArray) -> ProbabilityTest:
        """Measure probabilities, rows x classes, of rows of these classes."""
        n, k = probabilities.shape
        sizes = np.bincount(codes, minlength=k)
        shares = np.broadcast_to(sizes / n, (n, k))
        positive = int(sizes[1] <= sizes[0]) if k == 2 else None
        scores = (_log_loss(probabilities, codes), _brier(probabilities, codes))
        return cls(n, *scores, _log_loss(shares, codes), _brier(shares, codes), _bins(probabilities, codes, positive), positive)

    @classmethod
    def pooled(cls, tests: Sequence[tuple[FloatArray, IntArray] | None]) -> ProbabilityTest | None:
        """Measure several tests, such as folds, as one; None if one of them has no probabilities."""
        found = [test for test in tests if test is not None]
        if len(found) < len(tests):
            return None
        return cls.of(np.concatenate([p for p, _ in found]), np.concatenate([codes for _, codes in found]))

    @property
    def calibration_error(self) -> float:
        """The mean difference of predicted and observed shares over the rows, by bins."""
        return sum(each.rows * abs(each.predicted - each.observed) for each in self.bins) / self.rows

    def to_dict(self) -> dict[str, Any]:
        """Return the test as plain values."""
        bins = [{"rows": each.rows, "predicted": each.predicted, "observed": each.observed} for each in self.bins]
        shares = {"log_loss": self.log_loss_of_shares, "brier": self.brier_of_shares}
        return {
            "rows": self.rows, "log_loss": self.log_loss, "brier": self.brier, "class_shares": shares,
            "calibration_error": self.calibration_error, "reliability": bins, "reliability_class": self.positive,
        }  # fmt: skip


def _log_loss(probabilities: FloatArray, codes: IntArray) -> float:
    """A probability of 0 counts as the smallest distance from 1 that a float has, as in scikit-learn."""
    tiny = np.finfo(np.float64).eps
    return abs(float(np.log(np.clip(probabilities[np.arange(len(codes)), codes], tiny, 1.0)).mean()))  # no -0.0


def _brier(probabilities: FloatArray, codes: IntArray) -> float:
    if probabilities.shape[1] == 2:
        return float(np.square(probabilities[:, 1] - codes).mean())
    own = probabilities[np.arange(len(codes)), codes]
    return float((np.square(probabilities).sum(axis=1) + 1.0 - 2.0 * own).mean())


def _bins(probabilities: FloatArray, codes: IntArray, positive: int | None) -> tuple[ReliabilityBin, ...]:
    if positive is not None:
        p, hit = probabilities[:, positive], codes == positive
    else:
        p, hit = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
    place = np.minimum((p * BINS).astype(np.intp), BINS - 1)
    rows = np.bincount(place, minlength=BINS)
    sums, hits = np.bincount(place, weights=p, minlength=BINS), np.bincount(place, weights=hit, minlength=BINS)
    return tuple(
        ReliabilityBin(int(n), float(total / n), float(hit / n)) for n, total, hit in zip(rows, sums, hits, strict=True) if n
    )
