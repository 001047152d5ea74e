"""Quality of predictions: error with its confidence interval, confusion matrix, precision, recall, F1 and AUC."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..array_types import Array, BoolArray, FloatArray, IntArray

# The 97.5 % quantile of the normal distribution.
NORMAL_QUANTILE = 1.959963984540054


def wilson(errors: float, rows: float) -> tuple[float, float]:
    """Return the 95 % score interval of a share (E. Wilson, JASA 22, 1927).

    It lies between 0 and 1 and is informative at 0 errors, too.

    >>> [round(end, 4) for end in wilson(0, 100)]
    [0.0, 0.037]
    """
    if rows == 0:
        return 0.0, 1.0
    share, unit = errors / rows, NORMAL_QUANTILE * NORMAL_QUANTILE / rows
    middle = (share + unit / 2.0) / (1.0 + unit)
    half = NORMAL_QUANTILE * math.sqrt(share * (1.0 - share) / rows + unit / (4.0 * rows)) / (1.0 + unit)
    return (0.0 if errors == 0 else middle - half), (1.0 if errors == rows else middle + half)


@dataclass(frozen=True)
class Confusion:
    """Counts of rows by true class (down) and predicted class (across)."""

    counts: IntArray

    @classmethod
    def of(cls, true: IntArray, predicted: IntArray, n_classes: int) -> Confusion:
        """Count class codes."""
        cells = np.bincount(true * n_classes + predicted, minlength=n_classes * n_classes)
        return cls(cells.reshape(n_classes, n_classes))

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(self.counts + other.counts)

    @cached_property
    def rows(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def errors(self) -> int:
        return self.rows - int(np.trace(self.counts))

    @property
    def error(self) -> float:
        """The share of rows that are misclassified; 0 if there are no rows."""
        return self.errors / self.rows if self.rows else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the error."""
        return wilson(self.errors, self.rows)

    @property
    def precision(self) -> FloatArray:
        """For each class, the share of rows predicted as it that belong to it; 0 if it is never predicted."""
        return _shares(np.diag(self.counts), self.counts.sum(axis=0))

    @property
    def recall(self) -> FloatArray:
        """For each class, the share of its rows that are predicted as it; 0 if it has no rows."""
        return _shares(np.diag(self.counts), self.counts.sum(axis=1))

    @property
    def f1(self) -> FloatArray:
        """For each class, 2 PR/(P + R)."""
        right = 2.0 * np.diag(self.counts)
        return _shares(right, self.counts.sum(axis=0) + self.counts.sum(axis=1))

    def to_dict(self) -> dict[str, Any]:
        return {"rows": self.rows, "errors": self.errors, "error": self.error, "interval": list(self.interval)}


def _shares(part: Array, total: Array) -> FloatArray:
    shares: FloatArray = np.divide(part, total, out=np.zeros(len(part)), where=total > 0)
    return shares


def auc(scores: FloatArray, positive: BoolArray) -> float:
    """Return the area under the ROC curve: how often a positive row scores above a negative one, ties counting half.

    NaN if all rows are positive or all are negative. (The Mann-Whitney statistic divided by its largest value.)

    >>> auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    count = int(positive.sum())
    if count in (0, len(positive)):
        return math.nan
    _, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2.0)[place]
    return float((ranks[positive].sum() - count * (count + 1) / 2.0) / (count * (len(positive) - count)))


def mean_auc(scores: FloatArray, codes: IntArray) -> float:
    """Return the AUC of the second of two classes, or the mean AUC of each class against the rest.

    Classes without rows, or without rows of other classes, are left out of the mean.
    """
    if scores.shape[1] == 1:
        return auc(scores[:, 0], codes == 1)
    each = [auc(scores[:, k], codes == k) for k in range(scores.shape[1])]
    known = [one for one in each if not math.isnan(one)]
    return sum(known) / len(known) if known else math.nan
