"""Rows that are the same point and have different labels.

Problem    all sets of equal rows with more than one label among them: no function of the features gets more of such a set right
           than has its most frequent label.
Update     a 64-bit hash of every row, a block of rows at a time; rows of equal hash and different labels are compared value by
           value.
Guarantee  exactly the sets there are: equal rows have equal hashes, and what only shares a hash is told apart.
Reference  the mixing steps of S. Vigna's splitmix64, after G. Steele, D. Lea and C. Flood, OOPSLA (2014).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np

from ...certificates.statements import Certificate, Inseparable, Plane, Separable
from ..inputs import Labelled

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


# --- What is left of the rows once every point has one label, and whether that is separable.
#
# Problem    of equal rows with different labels keep those of the most frequent one; where two are as frequent, which?
# Update     certify the rows whose label is in no doubt. If planes separate them, ties go to the side on which these have the
#            point; where that does not end well, all ways are tried if they are few.
# Guarantee  with two classes and an intercept the rest is separable for some way to break ties if and only if the rows without
#            ties are: a plane that separates those has every other point on one of its sides. What is said not to be separable
#            is so for the labels that `whose` names.

MOST_WAYS = 16  # to break ties are tried
EXACT = 100_000  # values of tied points that are multiplied as fractions

Prover = Callable[[Any, Any], Certificate | None]
Tie = dict[int, list[int]]  # the rows of each of the most frequent labels of a point


@dataclass(frozen=True)
class Rest:
    """The rows that stay, those left out, those without ties; and a certificate of some that stay, `proved`.

    whose : a clash holds for the labels of "any", of the "majority" however ties are broken, or for "this" way to break them.
    """

    kept: Any
    left_out: list[int]
    sure: Any
    certificate: Certificate | None
    proved: Any
    whose: str

    @property
    def separable(self) -> bool:
        return isinstance(self.certificate, Separable)


class OneLabel:
    """Rows, their duplicates, and someone to prove what is asked of some of them, or None for want of time."""

    def __init__(self, given: Labelled, twins: Duplicates, prove: Prover) -> None:
        self.given, self.prove, self.outvoted = given, prove, twins.outvoted
        self.ties = [tie for group in twins.groups if len(tie := _most_frequent(group, given.codes)) > 1]
        inside = [i for tie in self.ties for rows in tie.values() for i in rows]
        self.sure = np.setdiff1d(np.arange(len(given.codes)), [*twins.outvoted, *inside])
        self.core = np.setdiff1d(self.sure, [i for group in twins.groups for i in group])

    def rest(self) -> Rest | None:
        """None where a class has no rows left."""
        if not self._complete(self.sure):
            return self._of_ways()
        certificate = self._certificate(self.sure)
        if isinstance(certificate, Inseparable):
            return self._clash(self._kept([min(tie) for tie in self.ties]), certificate, self.sure)
        if not self.ties or not isinstance(certificate, Separable):
            return self._told(self._kept([min(tie) for tie in self.ties]), certificate, self.sure, "majority")
        kept = self._kept(self._sides(certificate))
        sided = self._certificate(kept)
        if isinstance(sided, Inseparable):
            return self._of_ways()
        return self._told(kept, sided, kept, "majority")

    def _of_ways(self) -> Rest | None:
        """Ties broken in every way, if there are few, until one is separable."""
        last: Rest | None = None
        whose = "majority" if math.prod(len(tie) for tie in self.ties) <= MOST_WAYS else "this"
        for _, way in zip(range(MOST_WAYS), product(*self.ties), strict=False):
            kept = self._kept(way)
            if not self._complete(kept):
                whose = "this"
                continue
            certificate = self._certificate(kept)
            last = self._told(kept, certificate, kept, whose)
            if not isinstance(certificate, Inseparable):
                break
        return None if last is None else replace(last, whose=whose)

    def _clash(self, kept: Any, certificate: Inseparable, rows: Any) -> Rest:
        """Whether rows that are no duplicates clash too: then no labels of the others help."""
        if np.isin(rows[certificate.rows], self.core).all():
            return self._told(kept, certificate, rows, "any")
        if self._complete(self.core):
            core = self._certificate(self.core)
            if isinstance(core, Inseparable):
                return self._told(kept, core, self.core, "any")
        return self._told(kept, certificate, rows, "majority")

    def _told(self, kept: Any, certificate: Certificate | None, proved: Any, whose: str) -> Rest:
        left_out = np.setdiff1d(np.arange(len(self.given.codes)), kept).tolist()
        return Rest(kept, left_out, self.sure, certificate, proved, whose)

    def _complete(self, rows: Any) -> bool:
        return len(np.unique(self.given.codes[rows])) == self.given.n_classes

    def _certificate(self, rows: Any) -> Certificate | None:
        return self.prove(self.given.X[rows], self.given.y[rows])

    def _kept(self, way: Sequence[int]) -> Any:
        chosen = [i for tie, code in zip(self.ties, way, strict=True) for i in tie[code]]
        return np.sort(np.concatenate([self.sure, np.array(chosen, np.intp)]))

    def _sides(self, certificate: Separable) -> list[int]:
        """Of each tie the label that the planes prefer."""
        points = self.given.X[[tie[min(tie)][0] for tie in self.ties]]
        planes = certificate.geometric.planes
        scores: list[list[Any]]
        if points.size * len(planes) <= EXACT:
            scores = [[_score(plane, points[[i]]) for plane in planes] for i in range(len(self.ties))]
        else:
            with np.errstate(all="ignore"):
                scores = np.nan_to_num(points @ np.array(certificate.coef).T + certificate.intercept).tolist()
        scores = [[0, *row] if len(planes) == 1 else row for row in scores]
        return [max(tie, key=row.__getitem__) for tie, row in zip(self.ties, scores, strict=True)]  # the first of equals


def _most_frequent(group: list[int], codes: Any) -> Tie:
    rows: Tie = {}
    for i in group:
        rows.setdefault(int(codes[i]), []).append(i)
    most = max(len(some) for some in rows.values())
    return {code: rows[code] for code in sorted(rows) if len(rows[code]) == most}


def _score(plane: Plane, row: Any) -> Fraction:
    """w.x + b of one row."""
    columns, values = (np.arange(row.shape[1]), row[0]) if isinstance(row, np.ndarray) else (row.indices, row.data)
    pairs = zip(columns.tolist(), values.tolist(), strict=True)
    return sum((plane.weights[c] * Fraction(v) for c, v in pairs if v and c in plane.weights), plane.intercept)
