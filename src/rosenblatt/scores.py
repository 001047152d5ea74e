"""Scores of a linear model that keep their sign where a plain product would overflow, who wins, and the votes of pairs."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

# Far from overflow, and far above any score that did not overflow.
LARGE = 1e300
# Numbers of rows that overflow which are scored together: sparse ones are made dense for it.
NUMBERS = 1 << 20


def linear_scores(X: Any, coef: Any, intercept: Any) -> Any:
    """X @ coef.T + intercept, rows x heads; rows that overflow are scored on a common scale, about 1e300."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = X @ coef.T + intercept
        lost = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        if len(lost):
            scores, weights = scores.astype(np.float64), coef.astype(np.float64)
        step = max(1, NUMBERS // max(1, coef.shape[1]))
        for start in range(0, len(lost), step):
            some = lost[start : start + step]
            scores[some] = _scaled(X[some], weights, intercept)
    return scores


def _scaled(X: Any, coef: Any, intercept: Any) -> Any:
    rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    longest, heaviest = np.maximum(abs(rows).max(axis=1, keepdims=True), 1.0), max(float(abs(coef).max()), 1.0)
    small = (rows / longest) @ (coef / heaviest).T + intercept / longest / heaviest
    return small * np.minimum(longest * heaviest, LARGE / (coef.shape[1] + 1))


def winners(scores: Any) -> Any:
    """The class code of every row of scores, rows x heads; a tie goes to the smaller one."""
    return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)


def votes_of_pairs(scores: Any, n_classes: int) -> Any:
    """Rows x classes from rows x pairs, a score over 0 being a vote for the pair's second: votes, and less than half a vote for
    the sum of the scores that a class got, which breaks ties as in scikit-learn."""
    votes, total = np.zeros((len(scores), n_classes)), np.zeros((len(scores), n_classes))
    for column, (i, j) in enumerate(combinations(range(n_classes), 2)):
        won = scores[:, column] > 0
        votes[won, j] += 1
        votes[~won, i] += 1
        total[:, i] -= scores[:, column]
        total[:, j] += scores[:, column]
    return votes + total / (3 * (abs(total) + 1))
