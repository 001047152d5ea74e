"""AROW on sets of columns, as the mail filter learns them; the definition is `mail/learner.py`, and these give its bits.

Sums are sequential and in float64, each move is computed in float64 and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import inlined, kernel
from .prefetch import prefetch

AHEAD = 16  # columns whose weights are asked for before their turn


@inlined
def _sum(columns: Any, start: Any, stop: Any, values: Any) -> Any:
    """The sum of the values of columns[start:stop], one after the other."""
    total, last = 0.0, np.int64(columns.shape[0]) - 1
    for j in range(start, stop):
        prefetch(values, np.int64(columns[np.uintp(min(np.int64(j) + AHEAD, last))]) * values.itemsize)
        total += np.float64(values[np.uintp(columns[j])])
    return total


@inlined
def _score(columns: Any, start: Any, stop: Any, weights: Any) -> Any:
    return _sum(columns, start, stop, weights) / np.sqrt(np.float64(stop - start)) if stop > start else 0.0


@kernel
def score_sets(indptr: Any, columns: Any, weights: Any, scores: Any) -> None:
    """scores[i] = what set i = columns[indptr[i]:indptr[i + 1]] scores."""
    for i in range(scores.shape[0]):
        scores[i] = _score(columns, np.uintp(indptr[i]), np.uintp(indptr[i + 1]), weights)


@kernel
def learn_sets(
    indptr: Any, columns: Any, spam: Any, r: float, ham_margin: float, weights: Any, variances: Any, scores: Any
) -> None:
    """Learn the sets one after the other, and write down what each scored before."""
    for i in range(scores.shape[0]):
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        y, margin = (1.0, 1.0) if spam[i] else (-1.0, ham_margin)
        score = _score(columns, start, stop, weights)
        scores[i] = score
        if stop == start or not y * score < margin:
            continue
        x = 1.0 / np.sqrt(np.float64(stop - start))
        v = _sum(columns, start, stop, variances) * x * x
        beta = 1.0 / (v + r)
        a = (margin - y * score) * beta * y * x
        for j in range(start, stop):
            c = np.uintp(columns[j])
            s = np.float64(variances[c])
            sx = s * x
            weights[c] += a * s
            variances[c] = s - beta * (sx * sx)
