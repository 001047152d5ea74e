"""Scores of linear models that do not overflow, the predicted class, and the votes of one-vs-one pairs."""

from __future__ import annotations

import numpy as np

from .array_types import FloatArray, IntArray, Matrix

# The size of scores that would overflow: above all other scores, and far from overflow.
OVERFLOWED_SCORE = 1e300
# Values of overflowing rows that are scored together; sparse rows are converted to dense ones.
VALUES_PER_BLOCK = 1 << 20
# The fraction of k times a class score of pairs is at most 0.5. A larger one was rounded down from 0; smaller ones are noise.
LARGEST_SHARE, SMALLEST_SHARE = 0.75, 1e-12


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

    The whole part of a class's score is the number of its votes. The fraction decides between classes with equal votes: first
    the votes among these classes (of two classes, their own plane decides), then the smaller sum of the scores of lost pairs.
    """
    votes = np.zeros((n_classes, len(scores)))
    duels, lost = np.zeros_like(votes), np.zeros_like(votes)
    step = max(1, VALUES_PER_BLOCK // max(1, scores.shape[1]))
    for start in range(0, len(scores), step):
        rows = slice(start, start + step)
        _count_votes(np.ascontiguousarray(scores[rows].T), votes[:, rows], duels[:, rows], lost[:, rows])
    result: FloatArray = np.ascontiguousarray((votes + (duels + 0.5 / (lost + 1.0)) / n_classes).T)
    return result


def lost_pairs(scores: FloatArray) -> FloatArray:
    """Minus the sum of the pair scores that each class lost, read from the class scores of `votes_of_pairs`.

    Votes are whole numbers and say little about how sure they are. The fraction of k times a class score is 0.5/(lost + 1).
    """
    whole = scores.shape[1] * np.asarray(scores, np.float64)
    share = whole - np.floor(whole)
    share = np.where(share > LARGEST_SHARE, SMALLEST_SHARE, np.maximum(share, SMALLEST_SHARE))
    found: FloatArray = np.minimum(1.0 - 0.5 / share, 0.0)
    return found


def _count_votes(columns: FloatArray, votes: FloatArray, duels: FloatArray, lost: FloatArray) -> None:
    """Add to the votes of each class, those against classes with equal votes, and the scores of lost pairs, classes x rows."""
    k = len(votes)
    ends = np.cumsum([0, *range(k - 1, 0, -1)])
    blocks = [columns[ends[i] : ends[i + 1]] for i in range(k - 1)]  # the pairs of class i with every later one
    for i, block in enumerate(blocks):
        won = block > 0
        votes[i] += k - 1 - i - won.sum(axis=0)
        votes[i + 1 :] += won
        lost[i] += np.maximum(block, 0.0).sum(axis=0)
        lost[i + 1 :] -= np.minimum(block, 0.0)
    for i, block in enumerate(blocks):
        won, equal = block > 0, votes[i] == votes[i + 1 :]
        duels[i] += (equal & ~won).sum(axis=0)
        duels[i + 1 :] += equal & won
