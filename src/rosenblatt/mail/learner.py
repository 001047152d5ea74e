"""The learner of the filter: AROW on sets of columns, in float32, the same bits with and without compiled code."""

from __future__ import annotations

import sys
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

MUCH = 1 << 23  # columns from which on it pays to import Numba


class Learner:
    """One weight and one variance for each column; a message is the set of its columns, and has length 1.

    Score      s = sum of w_j over its columns / sqrt(their number); over 0 leans to spam
    Update     AROW, where y s < m, towards y s = m:  see `rules/arow.py`. The margin m is 1 for spam and the fourth root of
               ham_weight for ham, so that what is new, and what is like both, leans to ham. (Scaling r instead does nothing
               above 1: what r is added to is far larger. The root is chosen by measurement: the margin itself is too much.)

    Sums are sequential and in float64; each move is computed in float64 and rounded once. The plain way below is the
    definition; where Numba is loaded already, or there is much to learn, `kernels/sets.py` does the same.
    Columns are sorted, each once: uint32.
    """

    def __init__(self, bits: int, r: float = 0.1, ham_weight: float = 1.0) -> None:
        self.bits, self.r, self.ham_weight = bits, r, ham_weight
        self.weights: Any = np.zeros(1 << bits, np.float32)
        self.variances: Any = np.ones(1 << bits, np.float32)

    def score(self, columns: Any) -> float:
        if "numba" in sys.modules:
            from ..kernels.linear.sets import score_sets

            indptr, columns, scores = self._one(columns)
            score_sets(indptr, columns, self.weights, scores)
            return float(scores[0])
        return self._score(columns)

    def learn(self, columns: Any, spam: bool) -> float:
        """Learn a message; returns the score that it had before."""
        if "numba" in sys.modules:
            from ..kernels.linear.sets import learn_sets

            indptr, columns, scores = self._one(columns)
            learn_sets(indptr, columns, np.array([bool(spam)]), *self._asked(), self.weights, self.variances, scores)
            return float(scores[0])
        return self._learn(columns, spam)

    def learn_many(self, indptr: Any, columns: Any, spam: Any) -> Any:
        """Learn many messages, one after the other; returns the score that each had just before it was learnt.

        The columns of message i are columns[indptr[i]:indptr[i + 1]].
        """
        indptr, columns, scores = self._checked(indptr, columns)
        spam = np.ascontiguousarray(spam, dtype=np.bool_)
        if spam.shape != scores.shape:
            raise ValueError(f"spam must have one entry for each of {len(scores)} messages, got {spam.shape}")
        if not _pays(columns):
            each = zip(pairwise(indptr), spam, strict=True)
            scores[:] = [self._learn(columns[start:stop], bool(label)) for (start, stop), label in each]
        else:
            from ..kernels.linear.sets import learn_sets

            learn_sets(indptr, columns, spam, *self._asked(), self.weights, self.variances, scores)
        return scores

    # --- the definition ---------------------------------------------------------------------------------------------------

    def _score(self, columns: Any) -> float:
        if not len(columns):
            return 0.0
        return float(np.cumsum(self.weights[columns], dtype=np.float64)[-1]) / float(np.sqrt(len(columns)))

    def _learn(self, columns: Any, spam: bool) -> float:
        score, y = self._score(columns), 1.0 if spam else -1.0
        r, ham_margin = self._asked()
        margin = 1.0 if spam else ham_margin
        if len(columns) and y * score < margin:
            x = 1.0 / float(np.sqrt(len(columns)))
            s = self.variances[columns].astype(np.float64)
            v = float(np.cumsum(s)[-1]) * x * x
            beta = 1.0 / (v + r)
            alpha = (margin - y * score) * beta
            self.weights[columns] += (alpha * y * x) * s
            self.variances[columns] = s - beta * (s * x) ** 2
        return score

    def _asked(self) -> tuple[float, float]:
        """r, and the margin of ham."""
        return float(self.r), sqrt(sqrt(self.ham_weight))

    def _checked(self, indptr: Any, columns: Any) -> tuple[Any, Any, Any]:
        """(indptr, columns, room for the scores) as the kernels want them: they would read whatever memory is asked of them."""
        indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        columns = np.ascontiguousarray(columns, dtype=np.uint32)
        if indptr.ndim != 1 or not len(indptr) or indptr[0] < 0 or indptr[-1] > len(columns) or (np.diff(indptr) < 0).any():
            raise ValueError(f"indptr must rise from 0 to the number of columns, {len(columns)}")
        self._check_inside(columns)
        return indptr, columns, np.zeros(len(indptr) - 1)

    def _one(self, columns: Any) -> tuple[Any, Any, Any]:
        """The same for one message, in a tenth of the time."""
        columns = np.ascontiguousarray(columns, dtype=np.uint32)
        self._check_inside(columns)
        return np.array([0, len(columns)]), columns, np.zeros(1)

    def _check_inside(self, columns: Any) -> None:
        if len(columns) and int(columns.max()) >> self.bits:
            raise IndexError(f"columns must be under 2**{self.bits}, got {int(columns.max())}")


def _pays(columns: Any) -> bool:
    return "numba" in sys.modules or len(columns) >= MUCH
