"""The learner of the filter: AROW on sets of columns, in float32, the same bits with and without compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np


class Learner:
    """One weight and one variance for each column; a message is the set of its columns, and has length 1.

    Score      s = sum of w_j over its columns / sqrt(their number); over 0 leans to spam
    Update     AROW, where y s < 1:  see `rules/arow.py`
    """

    def __init__(self, bits: int, r: float = 1.0, ham_weight: float = 1.0) -> None:
        self.bits, self.r, self.ham_weight = bits, r, ham_weight
        self.weights: Any = np.zeros(1 << bits, np.float32)
        self.variances: Any = np.ones(1 << bits, np.float32)

    def score(self, columns: Any) -> float:
        if not len(columns):
            return 0.0
        return float(np.cumsum(self.weights[columns], dtype=np.float64)[-1]) / float(np.sqrt(len(columns)))

    def learn(self, columns: Any, spam: bool) -> float:
        """Learn a message; returns the score that it had before."""
        score, y = self.score(columns), 1.0 if spam else -1.0
        if len(columns) and y * score < 1.0:
            x = 1.0 / float(np.sqrt(len(columns)))
            s = self.variances[columns].astype(np.float64)
            v = float(np.cumsum(s)[-1]) * x * x
            beta = 1.0 / (v + (self.r if spam else self.r / self.ham_weight))
            alpha = (1.0 - y * score) * beta
            self.weights[columns] += (alpha * y * x) * s
            self.variances[columns] = s - beta * (s * x) ** 2
        return score
