"""Rows that are the same point and have different labels.

Problem    all sets of equal rows with more than one label among them: no function of the features gets more of such a set right
           than has its most frequent label.
Update     a 64-bit hash of every row, a block of rows at a time; rows of equal hash and different labels are compared value by
           value.
Guarantee  exactly the sets there are: equal rows have equal hashes, and what only shares a hash is told apart.
Reference  the mixing steps of S. Vigna's splitmix64, after G. Steele, D. Lea and C. Flood, OOPSLA (2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

BLOCK = 1 << 18  # values looked at together


@dataclass(frozen=True)
class Duplicates:
    """Groups of equal rows with different labels, as row positions; and the rows outvoted in their group."""

    groups: list[list[int]]
    outvoted: list[int]


def duplicates(X: Any, codes: Any) -> Duplicates:
    """Groups in the order of their first rows; of each, all rows but those of its most frequent label are outvoted."""
    order, starts = _in_groups(hashes(X))
    order, starts = _mixed(order, starts, codes)
    if not _all_equal(X, order, starts):
        order, starts = _mixed(*_in_groups(_names(X, order)), codes[order], order)
    rows, ends = order.tolist(), [*starts.tolist(), len(order)]
    groups = sorted(rows[start:end] for start, end in pairwise(ends))  # rows of equal keys are in their own order
    return Duplicates(groups, sorted(order[_outvoted(codes[order], starts)].tolist()))


def _outvoted(codes: Any, starts: Any) -> Any:
    """Whether a row's code is not the most frequent of its group, the smaller one of equals."""
    if not len(codes):
        return np.zeros(0, bool)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    pairs, counts = np.unique(group * (codes.max() + 1) + codes, return_counts=True)
    of, code = np.divmod(pairs, codes.max() + 1)
    best = np.lexsort((code, -counts, of))
    first = np.flatnonzero(np.diff(of[best], prepend=-1))
    return codes != code[best][first][group]


def hashes(X: Any) -> Any:
    """A number for each row: a sum over its values that are not zero, the same for arrays and sparse matrices."""
    n, d = X.shape
    out = np.zeros(n, np.uint64)
    weights = _mix(np.arange(1, d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
    if isinstance(X, np.ndarray):
        step = max(1, BLOCK // max(1, d))
        for start in range(0, n, step):
            out[start : start + step] = (_of_values(X[start : start + step]) * weights).sum(axis=1, dtype=np.uint64)
        return out
    for start, stop in _spans(X.indptr):
        here = slice(X.indptr[start], X.indptr[stop])
        sums = np.zeros(X.indptr[stop] - X.indptr[start] + 1, np.uint64)
        np.cumsum(_of_values(X.data[here]) * weights[X.indices[here]], out=sums[1:])  # modulo 2^64, so differences are exact
        ends = X.indptr[start : stop + 1] - X.indptr[start]
        out[start:stop] = sums[ends[1:]] - sums[ends[:-1]]
    return out


def _spans(indptr: Any) -> list[tuple[int, int]]:
    """Stretches of rows with about a block of stored values each."""
    n, found, start = len(indptr) - 1, [], 0
    while start < n:
        stop = max(start + 1, min(n, int(np.searchsorted(indptr, indptr[start] + BLOCK))))
        found.append((start, stop))
        start = stop
    return found


def _of_values(values: Any) -> Any:
    return _mix((values.astype(np.float64) + 0.0).view(np.uint64))  # -0.0 + 0.0 is 0.0, whose hash is 0


def _mix(bits: Any) -> Any:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _in_groups(keys: Any) -> tuple[Any, Any]:
    """Positions sorted by key, and where each key begins."""
    order = np.argsort(keys, kind="stable")
    changes = np.flatnonzero(keys[order][1:] != keys[order][:-1]) + 1
    return order, np.concatenate([[0], changes])


def _mixed(order: Any, starts: Any, codes: Any, positions: Any = None) -> tuple[Any, Any]:
    """Only the groups with more than one code."""
    own = codes[order]
    sizes = np.diff(np.append(starts, len(order)))
    wanted = np.minimum.reduceat(own, starts) != np.maximum.reduceat(own, starts)
    kept = order[np.repeat(wanted, sizes)]
    return kept if positions is None else positions[kept], np.concatenate([[0], np.cumsum(sizes[wanted])])[:-1]


def _all_equal(X: Any, order: Any, starts: Any) -> bool:
    """Whether every row is the first of its group, value by value."""
    firsts = np.repeat(order[starts], np.diff(np.append(starts, len(order)))) if len(order) else order
    step = max(1, BLOCK // max(1, X.shape[1])) if isinstance(X, np.ndarray) else BLOCK // 8
    for start in range(0, len(order), step):
        one, other = X[order[start : start + step]], X[firsts[start : start + step]]
        if (one != other).any() if isinstance(X, np.ndarray) else (one != other).nnz:
            return False
    return True


def _names(X: Any, rows: Any) -> Any:
    """A number for each of some rows, the same for equal rows and no others; slow, and hardly ever needed."""
    seen: dict[bytes, int] = {}
    names = np.empty(len(rows), np.intp)
    for place, i in enumerate(rows):
        row = X[[i]] if isinstance(X, np.ndarray) else X[[i]].toarray()
        names[place] = seen.setdefault((row + 0.0).tobytes(), len(seen))
    return names
