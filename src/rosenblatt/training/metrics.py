"""How good predictions are: errors with an interval, the confusion matrix, and what is read off it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

# The normal quantile of 97.5 %.
Z = 1.959963984540054


def wilson(errors: int, rows: int) -> tuple[float, float]:
    """The 95 % score interval of a share (E. Wilson, JASA 22, 1927): it stays between 0 and 1 and is of use at 0 errors too.

    >>> [round(end, 4) for end in wilson(0, 100)]
    [0.0, 0.037]
    """
    if rows == 0:
        return 0.0, 1.0
    share, unit = errors / rows, Z * Z / rows
    middle = (share + unit / 2.0) / (1.0 + unit)
    half = Z * math.sqrt(share * (1.0 - share) / rows + unit / (4.0 * rows)) / (1.0 + unit)
    return (0.0 if errors == 0 else middle - half), (1.0 if errors == rows else middle + half)


@dataclass(frozen=True)
class Confusion:
    """How many rows of each class (down) were taken for each class (across)."""

    counts: Any

    @classmethod
    def of(cls, true: Any, predicted: Any, n_classes: int) -> Confusion:
        """From class codes."""
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
        return self.errors / self.rows if self.rows else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.errors, self.rows)

    @property
    def precision(self) -> Any:
        """Of the rows taken for a class, the share that is of it; 0 where none was taken for it."""
        return _shares(np.diag(self.counts), self.counts.sum(axis=0))

    @property
    def recall(self) -> Any:
        """Of the rows of a class, the share that was found; 0 where there is none."""
        return _shares(np.diag(self.counts), self.counts.sum(axis=1))

    @property
    def f1(self) -> Any:
        """2 PR/(P + R)"""
        right = 2.0 * np.diag(self.counts)
        return _shares(right, self.counts.sum(axis=0) + self.counts.sum(axis=1))

    def to_dict(self) -> dict[str, Any]:
        return {"rows": self.rows, "errors": self.errors, "error": self.error, "interval": list(self.interval)}


def _shares(part: Any, whole: Any) -> Any:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def auc(scores: Any, positive: Any) -> float:
    """The area under the ROC curve: how often a positive row scores over a negative one, ties counting half.

    NaN where there are no rows of one of the two. (The Mann-Whitney statistic over its largest value.)

    >>> auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    count = int(positive.sum())
    if count in (0, len(positive)):
        return math.nan
    _, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(times) - (times - 1) / 2.0)[place]
    return float((ranks[positive].sum() - count * (count + 1) / 2.0) / (count * (len(positive) - count)))


def mean_auc(scores: Any, codes: Any) -> float:
    """Of two classes the AUC of the second; of more, the mean over classes of each against the rest, where it has both."""
    if scores.shape[1] == 1:
        return auc(scores[:, 0], codes == 1)
    each = [auc(scores[:, k], codes == k) for k in range(scores.shape[1])]
    known = [one for one in each if not math.isnan(one)]
    return sum(known) / len(known) if known else math.nan
