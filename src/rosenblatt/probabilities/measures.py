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
from typing import Any, NamedTuple

import numpy as np

from ..array_types import BoolArray, FloatArray, IntArray

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
        return ProbabilitySums.of(probabilities, codes).test()

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


class ProbabilitySums(NamedTuple):
    """What a test of probabilities adds up over rows, so that parts of the rows can be measured apart."""

    sizes: IntArray  # rows of each class
    log_loss: float
    brier: float
    rows: IntArray  # in each bin of each diagram: that of either of two classes, or of the most probable of more
    predicted: FloatArray  # the sums of their probabilities
    observed: FloatArray  # how many of them have the class

    @classmethod
    def of(cls, probabilities: FloatArray, codes: IntArray) -> ProbabilitySums:
        """Measure probabilities, rows x classes, of rows of these classes."""
        k = probabilities.shape[1]
        log_loss, brier = _log_losses(probabilities, codes).sum(), _squared_errors(probabilities, codes).sum()
        if k == 2:
            diagrams = [_bins(probabilities[:, code], codes == code) for code in (0, 1)]
        else:
            diagrams = [_bins(probabilities.max(axis=1), probabilities.argmax(axis=1) == codes)]
        rows, predicted, observed = (np.array(part) for part in zip(*diagrams, strict=True))
        return cls(np.bincount(codes, minlength=k), float(log_loss), float(brier), rows, predicted, observed)

    def test(self) -> ProbabilityTest:
        """The test of all rows together."""
        n, k = int(self.sizes.sum()), len(self.sizes)
        codes: IntArray = np.arange(k)
        shares = np.broadcast_to(self.sizes / n, (k, k))
        of_shares = [
            float(self.sizes @ losses(shares, codes)) / n for losses in (_log_losses, _squared_errors)
        ]  # each row of a class has the same loss
        positive = int(self.sizes[1] <= self.sizes[0]) if k == 2 else None
        bins = tuple(
            ReliabilityBin(int(rows), float(total / rows), float(hits / rows))
            for rows, total, hits in zip(*(part[positive or 0] for part in self[3:]), strict=True)
            if rows
        )
        return ProbabilityTest(n, abs(self.log_loss / n), self.brier / n, abs(of_shares[0]), of_shares[1], bins, positive)


def _log_losses(probabilities: FloatArray, codes: IntArray) -> FloatArray:
    """A probability of 0 counts as the smallest distance from 1 that a float has, as in scikit-learn."""
    tiny = np.finfo(np.float64).eps
    losses: FloatArray = -np.log(np.clip(probabilities[np.arange(len(codes)), codes], tiny, 1.0))
    return losses


def _squared_errors(probabilities: FloatArray, codes: IntArray) -> FloatArray:
    if probabilities.shape[1] == 2:
        errors: FloatArray = np.square(probabilities[:, 1] - codes)
        return errors
    own = probabilities[np.arange(len(codes)), codes]
    errors = np.square(probabilities).sum(axis=1) + 1.0 - 2.0 * own
    return errors


def _bins(p: FloatArray, hit: BoolArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """The rows of each bin, the sum of their probabilities, and how many have the class."""
    place = np.minimum((p * BINS).astype(np.intp), BINS - 1)
    sums, hits = (np.bincount(place, weights=each, minlength=BINS).astype(np.float64) for each in (p, hit))
    return np.bincount(place, minlength=BINS), sums, hits
