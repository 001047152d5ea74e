"""Hold-out and folds: which rows are tested on, decided row by row, class by class, from a seed.

Problem    hold out a share of the rows of each class of a file that is read once and whose length is unknown.
Update     the rows of a class are counted 0, 1, 2, ... and grouped by floor(count * share): each group has about 1/share rows,
           and a hash of (seed, label, group) selects the one that is held out. The first row of a class never is.
Guarantee  each class gives its share to within one row, and the choice does not depend on how the file is cut into chunks:
           a streamed run holds out the same rows as one in memory. Without a share in the request, rows are held out only
           if they are enough for a test.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..array_types import Array, BoolArray, FloatArray, IntArray
from ..data.folds import spread_folds
from ..data.table import as_text
from ..reporting.text import plural, quoted_list, short

# Constants of splitmix64: the increment and the two multipliers.
SPLITMIX64 = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))

# A test on fewer rows is not worth their loss: without any error, its 95 % interval still reaches 28 %.
MIN_TEST_ROWS = 10
# From this many rows on, a test is always worthwhile; a stream then need not be read to its end to decide.
MAX_SMALL_ROWS = 1_000


class Holdout:
    """Selects the rows to hold out, chunk by chunk.

    Parameters
    ----------
    share : float
        Share of each class, between 0 and 1.
    seed : int, default=0

    Attributes
    ----------
    worthwhile : bool
        Whether the rows held out so far are enough for a test.

    Examples
    --------
    >>> Holdout(0.5).mask(np.array(["a", "b", "a", "b"], object)).sum()
    np.int64(2)
    """

    def __init__(self, share: float, seed: int = 0) -> None:
        if not 0.0 < share < 1.0:
            raise ValueError(f"share must be greater than 0 and less than 1, got {short(share, 6)}")
        self.share, self.seed = share, seed
        self._seen: dict[Any, int] = {}  # rows of each label in the chunks so far
        self._n_held = 0

    @property
    def worthwhile(self) -> bool:
        return self._n_held >= MIN_TEST_ROWS or sum(self._seen.values()) >= MAX_SMALL_ROWS

    def mask(self, labels: Array) -> BoolArray:
        """Return which rows of the next chunk are held out."""
        held = np.zeros(len(labels), bool)
        distinct, codes = np.unique(as_text(labels), return_inverse=True)
        by_class = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(distinct)))
        for label, end, size in zip(distinct.tolist(), ends, np.diff(ends, prepend=0), strict=True):
            rows = by_class[end - size : end]
            before = self._seen.get(label, 0)
            held[rows] = self._select(str(label), np.arange(before, before + len(rows)))
            self._seen[label] = before + len(rows)
        self._n_held += int(held.sum())
        return held

    def _select(self, label: str, count: IntArray) -> BoolArray:
        group = np.floor(count * self.share)
        first, past = np.ceil(group / self.share), np.ceil((group + 1.0) / self.share)
        first = np.maximum(first, 1.0)
        uniform = _hash_groups(group.astype(np.uint64), self.seed, label)
        selected: BoolArray = count == first + np.floor(uniform * (past - first))
        return selected


def _hash_groups(group: IntArray, seed: int, label: str) -> FloatArray:
    """Hash each group to a number in [0, 1) (splitmix64: G. Steele, D. Lea and C. Flood, OOPSLA 2014)."""
    start = np.uint64(zlib.crc32(label.encode()) ^ (seed << 32 & 0xFFFFFFFF00000000))
    z = (group + np.uint64(1)) * SPLITMIX64[0] + start
    z = (z ^ (z >> np.uint64(30))) * SPLITMIX64[1]
    z = (z ^ (z >> np.uint64(27))) * SPLITMIX64[2]
    hashed: FloatArray = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return hashed


def assign_folds(codes: IntArray, n_folds: int, seed: int = 0, names: Sequence[object] | None = None) -> IntArray:
    """Assign each row a fold, 0 to n_folds - 1, so that each class is spread evenly over the folds.

    The error names the classes by `names`; by default, by their codes.

    Raises
    ------
    ValueError
        If there are fewer than two folds, more folds than rows, or a class with a single row.

    Examples
    --------
    >>> np.bincount(assign_folds(np.array([0, 0, 0, 1, 1, 1]), 3)).tolist()
    [2, 2, 2]
    """
    if n_folds < 2:
        raise ValueError(f"--cv must be at least 2, got {n_folds}")
    if n_folds > len(codes):
        raise ValueError(f"--cv must be at most the number of rows, got {n_folds} folds for {plural(len(codes), 'row')}")
    single = np.flatnonzero(np.bincount(codes) < 2).tolist()
    if single:
        listed = quoted_list([str(code if names is None else names[code]) for code in single])
        has = "class {} has" if len(single) == 1 else "classes {} have"
        raise ValueError(f"--cv needs at least two rows of every class, but {has.format(listed)} a single row")
    return spread_folds(codes, n_folds, seed)
