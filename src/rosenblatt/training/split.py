"""Which rows are held out to test on, and which fold a row is in: decided row by row, class by class, from a seed.

Problem    hold out a share of the rows of each class, of a file that goes by once and whose length is not known.
Update     the rows of a class are counted 0, 1, 2, ... and grouped by floor(count * share): every group has about 1/share of
           them, and a hash of (seed, label, group) says which one of it is held out. The first row of a class never is.
Guarantee  each class gives its share to within one row, and the choice does not depend on how the file is cut into chunks:
           a streamed run holds out the same rows as one in memory.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from ..data.table import as_text

MIX = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class Holdout:
    """Says of each chunk which rows are held out."""

    def __init__(self, share: float, seed: int = 0) -> None:
        if not 0.0 < share < 1.0:
            raise ValueError(f"--holdout must be over 0 and under 1, got {share:g}")
        self.share, self.seed = share, seed
        self._seen: dict[Any, int] = {}

    def mask(self, labels: Any) -> Any:
        held = np.zeros(len(labels), bool)
        distinct, codes = np.unique(as_text(labels), return_inverse=True)
        by_class = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(distinct)))
        for label, end, size in zip(distinct.tolist(), ends, np.diff(ends, prepend=0), strict=True):
            rows = by_class[end - size : end]
            before = self._seen.get(label, 0)
            held[rows] = self._chosen(str(label), np.arange(before, before + len(rows)))
            self._seen[label] = before + len(rows)
        return held

    def _chosen(self, label: str, count: Any) -> Any:
        group = np.floor(count * self.share)
        first, past = np.ceil(group / self.share), np.ceil((group + 1.0) / self.share)
        first = np.maximum(first, 1.0)
        uniform = _hashed(group.astype(np.uint64), self.seed, label)
        return count == first + np.floor(uniform * (past - first))


def _hashed(group: Any, seed: int, label: str) -> Any:
    """A number from [0, 1) for each group (splitmix64: G. Steele, D. Lea and C. Flood, OOPSLA 2014)."""
    start = np.uint64(zlib.crc32(label.encode()) ^ (seed << 32 & 0xFFFFFFFF00000000))
    z = (group + np.uint64(1)) * MIX[0] + start
    z = (z ^ (z >> np.uint64(30))) * MIX[1]
    z = (z ^ (z >> np.uint64(27))) * MIX[2]
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def folds(codes: Any, count: int, seed: int = 0) -> Any:
    """The fold of each row, 0 to count - 1; every class is spread over all of them as evenly as its size allows."""
    if count < 2:
        raise ValueError(f"--cv must be at least 2, got {count}")
    if count > len(codes):
        raise ValueError(f"--cv {count} is more folds than there are rows, which are {len(codes):,}")
    rng = np.random.default_rng(seed)
    fold = np.empty(len(codes), np.int64)
    rare = np.bincount(codes).min()
    if rare < 2:
        raise ValueError("--cv needs at least two rows of every class, and one class has only one")
    shift = 0
    for code in range(int(codes.max()) + 1):
        rows = rng.permutation(np.flatnonzero(codes == code))
        fold[rows] = (np.arange(len(rows)) + shift) % count
        shift += len(rows)
    return fold
