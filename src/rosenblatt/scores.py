"""Scores of linear models that do not overflow, the predicted class, and the votes of one-vs-one pairs."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from .array_types import FloatArray, IntArray, Matrix

# The size of scores that would overflow: above all other scores, and far from overflow.
OVERFLOWED_SCORE = 1e300
# Values of overflowing rows that are scored together; sparse rows are converted to dense ones.
VALUES_PER_BLOCK = 1 << 20


def linear_scores(X: Matrix, coef: FloatArray, intercept: FloatArray) -> FloatArray:
    """X @ coef.T + intercept, rows x heads; overflowing rows are scored on a common scale, with correct signs."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores: FloatArray = X @ coef.T + intercept
        lost = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        if len(lost):
            scores, weights = scores.astype(np.float64), coef.astype(np.float64)
        step = max(1, VALUES_PER_BLOCK // max(1, coef.shape[1]))
        for start in range(0, len(lost), step):
            some = lost[start : start + step]
            scores[some] = _scaled(X[some], weights, intercept)
    return scores


def _scaled(X: Matrix, coef: FloatArray, intercept: FloatArray) -> FloatArray:
    rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    longest, heaviest = np.maximum(abs(rows).max(axis=1, keepdims=True), 1.0), max(float(abs(coef).max()), 1.0)
    small = (rows / longest) @ (coef / heaviest).T + intercept / longest / heaviest
    found: FloatArray = small * np.minimum(longest * heaviest, OVERFLOWED_SCORE / (coef.shape[1] + 1))
    return found


def winners(scores: FloatArray) -> IntArray:
    """The predicted class code of every row of scores, rows x heads; ties go to the smaller code."""
    codes: IntArray = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return codes


def votes_of_pairs(scores: FloatArray, n_classes: int) -> FloatArray:
    """Class scores, rows x classes, from pair scores, rows x pairs; a positive score is a vote for the second class.

    A class scores its votes, plus less than half a vote from the sum of its pair scores, which breaks ties as in scikit-learn.
    """
    votes, total = np.zeros((len(scores), n_classes)), np.zeros((len(scores), n_classes))
    for column, (i, j) in enumerate(combinations(range(n_classes), 2)):
        won = scores[:, column] > 0
        votes[won, j] += 1
        votes[~won, i] += 1
        total[:, i] -= scores[:, column]
        total[:, j] += scores[:, column]
    result: FloatArray = votes + total / (3 * (abs(total) + 1))
    return result
