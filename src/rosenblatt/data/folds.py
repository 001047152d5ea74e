"""Folds for a cross-validation: each class is spread evenly over them, from a seed."""

from __future__ import annotations

import numpy as np

from ..array_types import IntArray

NEVER_TESTED = -1  # the fold of a class with a single row: it is trained on in every fold


def spread_folds(codes: IntArray, n_folds: int, seed: int) -> IntArray:
    """Return the fold of each row, 0 to n_folds - 1.

    The rows of a class are in as many folds as possible: if they are at least two, every fold leaves one to learn from.

    >>> np.bincount(spread_folds(np.array([0, 0, 0, 1, 1, 1]), 3, seed=0)).tolist()
    [2, 2, 2]
    """
    rng = np.random.default_rng(seed)
    fold = np.empty(len(codes), np.int64)
    shift = 0
    for code in range(int(codes.max()) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        fold[rows] = (np.arange(len(rows)) + shift) % n_folds
        shift += len(rows)
    return fold


def search_folds(codes: IntArray, n_folds: int, seed: int) -> IntArray:
    """Return the fold of each row for a search: a row that is the only one of its class is never tested.

    There are fewer folds if there are fewer other rows; without two of them, there is no fold at all.
    """
    fold = np.full(len(codes), NEVER_TESTED, np.int64)
    others = np.flatnonzero(np.bincount(codes)[codes] > 1)
    if len(others) >= 2:
        fold[others] = spread_folds(codes[others], min(n_folds, len(others)), seed)
    return fold
