"""Equal rows with different labels, and the separability of the rows once every point has one label.

Finding the duplicates:

Problem    all sets of equal rows with more than one label among them: a function of the features classifies at most the rows of
           the most frequent label of each set correctly.
Update     a 64-bit hash of every row, one block of rows at a time; rows of equal hash and different labels are compared value
           by value.
Guarantee  exactly these sets: equal rows have equal hashes, and unequal rows of equal hash are distinguished.
Reference  the mixing steps of S. Vigna's splitmix64, after G. Steele, D. Lea and C. Flood, OOPSLA (2014).

One label per point:

Problem    of equal rows with different labels keep those of the most frequent label; which, if two are equally frequent?
Update     certify the rows without ties. If planes separate them, each tie gets the label that these planes predict; if the
           rows are then not separable, all ways to break ties are tried if there are few.
Guarantee  with two classes and an intercept the rows are separable for some way to break ties if and only if the rows without
           ties are: a plane that separates those has every other point on one of its sides. A statement of inseparability
           holds for the labels that `holds_for` names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, Literal

import numpy as np

from ...array_types import Array, BoolArray, FloatArray, IntArray, Matrix
from ...certificates.statements import Certificate, Inseparable, Plane, Separable
from ...certificates.time_limit import check_time, run_until
from ..certify import LabeledRows

VALUES_PER_BLOCK = 1 << 18
MAX_TIE_CHOICES = 16  # ways to break ties that are tried
MAX_EXACT_VALUES = 100_000  # values of tied points up to which they are multiplied as fractions

Certifier = Callable[[Matrix, Array], Certificate | None]
Tie = dict[int, list[int]]  # the rows of each of the most frequent labels of a point
HoldsFor = Literal["any", "majority", "this"]


@dataclass(frozen=True)
class Duplicates:
    """Groups of equal rows with different labels, as positions; and the rows outvoted by the other labels of their group."""

    groups: list[list[int]]
    outvoted: list[int]


def find_duplicates(X: Matrix, codes: IntArray) -> Duplicates:
    """The groups in the order of their first rows; rows without the most frequent label of their group are outvoted."""
    order, starts = _grouped(row_hashes(X))
    order, starts = _mixed_groups(order, starts, codes)
    if not _all_equal(X, order, starts):
        order, starts = _mixed_groups(*_grouped(_exact_keys(X, order)), codes[order], order)
    rows, ends = order.tolist(), [*starts.tolist(), len(order)]
    groups = sorted(rows[start:end] for start, end in pairwise(ends))
    return Duplicates(groups, sorted(order[_outvoted(codes[order], starts)].tolist()))


def _outvoted(codes: IntArray, starts: IntArray) -> BoolArray:
    """Whether a row's code is not the most frequent of its group; of equally frequent codes the smallest wins."""
    if not len(codes):
        return np.zeros(0, bool)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    pairs, counts = np.unique(group * (codes.max() + 1) + codes, return_counts=True)
    of, code = np.divmod(pairs, codes.max() + 1)
    best = np.lexsort((code, -counts, of))
    first = np.flatnonzero(np.diff(of[best], prepend=-1))
    return np.asarray(codes != code[best][first][group])


def row_hashes(X: Matrix) -> Array:
    """A 64-bit hash of each row: a sum over its nonzero values, equal for arrays and sparse matrices."""
    n, d = X.shape
    out = np.zeros(n, np.uint64)
    weights = _mix(np.arange(1, d + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)
    if isinstance(X, np.ndarray):
        step = max(1, VALUES_PER_BLOCK // max(1, d))
        for start in range(0, n, step):
            check_time()
            out[start : start + step] = (_value_hashes(X[start : start + step]) * weights).sum(axis=1, dtype=np.uint64)
        return out
    for start, stop in _row_ranges(X.indptr):
        check_time()
        here = slice(X.indptr[start], X.indptr[stop])
        sums = np.zeros(X.indptr[stop] - X.indptr[start] + 1, np.uint64)
        np.cumsum(_value_hashes(X.data[here]) * weights[X.indices[here]], out=sums[1:])  # modulo 2^64: differences are exact
        ends = X.indptr[start : stop + 1] - X.indptr[start]
        out[start:stop] = sums[ends[1:]] - sums[ends[:-1]]
    return out


def _row_ranges(indptr: IntArray) -> list[tuple[int, int]]:
    """Ranges of rows with about a block of stored values each."""
    n, found, start = len(indptr) - 1, [], 0
    while start < n:
        stop = max(start + 1, min(n, int(np.searchsorted(indptr, indptr[start] + VALUES_PER_BLOCK))))
        found.append((start, stop))
        start = stop
    return found


def _value_hashes(values: FloatArray) -> Array:
    return _mix((values.astype(np.float64) + 0.0).view(np.uint64))  # -0.0 + 0.0 is 0.0, whose hash is 0


def _mix(bits: Array) -> Array:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: Array = bits ^ (bits >> np.uint64(31))
    return found


def _grouped(keys: Array) -> tuple[IntArray, IntArray]:
    """Positions sorted by key, and the start of each group of equal keys."""
    order = np.argsort(keys, kind="stable")
    changes = np.flatnonzero(keys[order][1:] != keys[order][:-1]) + 1
    return order, np.concatenate([[0], changes])


def _mixed_groups(
    order: IntArray, starts: IntArray, codes: IntArray, positions: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """The groups with more than one code."""
    own = codes[order]
    sizes = np.diff(np.append(starts, len(order)))
    wanted = np.minimum.reduceat(own, starts) != np.maximum.reduceat(own, starts)
    kept = order[np.repeat(wanted, sizes)]
    return kept if positions is None else positions[kept], np.concatenate([[0], np.cumsum(sizes[wanted])])[:-1]


def _all_equal(X: Matrix, order: IntArray, starts: IntArray) -> bool:
    """Whether every row equals the first row of its group, value by value."""
    firsts = np.repeat(order[starts], np.diff(np.append(starts, len(order)))) if len(order) else order
    step = max(1, VALUES_PER_BLOCK // max(1, X.shape[1])) if isinstance(X, np.ndarray) else VALUES_PER_BLOCK // 8
    for start in range(0, len(order), step):
        check_time()
        one, other = X[order[start : start + step]], X[firsts[start : start + step]]
        if (one != other).any() if isinstance(X, np.ndarray) else (one != other).nnz:
            return False
    return True


def _exact_keys(X: Matrix, rows: IntArray) -> IntArray:
    """A key for each of the given rows, equal for equal rows only; slow, and needed only if hashes collide."""
    seen: dict[bytes, int] = {}
    keys = np.empty(len(rows), np.intp)
    for place, i in enumerate(rows):
        check_time()
        row = X[[i]] if isinstance(X, np.ndarray) else X[[i]].toarray()
        keys[place] = seen.setdefault((row + 0.0).tobytes(), len(seen))
    return keys


# --- one label per point ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Deduplicated:
    """Rows with one label per point: those kept, left out and without ties; and a certificate of the rows `proved`.

    `holds_for`: a clash holds for "any" labels, for the "majority" labels with any way to break ties, or for "this" way to
    break them.
    """

    kept: IntArray
    left_out: list[int]
    untied: IntArray
    certificate: Certificate | None
    proved: IntArray
    holds_for: HoldsFor

    @property
    def separable(self) -> bool:
        return isinstance(self.certificate, Separable)


class Deduplication:
    """Chooses one label per point; `certify` returns the certificate of given rows, or None if there is no time.

    Raises `OutOfTimeError` if the deadline, of `time.monotonic`, passes outside of `certify`.
    """

    def __init__(self, given: LabeledRows, duplicates: Duplicates, certify: Certifier, deadline: float = math.inf) -> None:
        self.given, self.certify, self.deadline = given, certify, deadline
        with run_until(deadline):
            self.ties = [tie for group in duplicates.groups if len(tie := _most_frequent(group, given.codes)) > 1]
        tied = [i for tie in self.ties for rows in tie.values() for i in rows]
        self.untied = np.setdiff1d(np.arange(len(given.codes)), [*duplicates.outvoted, *tied])
        self.unique = np.setdiff1d(self.untied, [i for group in duplicates.groups for i in group])

    def result(self) -> Deduplicated | None:
        """The rows and their certificate; None if a class has no rows left."""
        if not self._has_all_classes(self.untied):
            return self._try_tie_choices()
        certificate = self._certificate(self.untied)
        if isinstance(certificate, Inseparable):
            return self._with_clash(self._kept([min(tie) for tie in self.ties]), certificate, self.untied)
        if not self.ties or not isinstance(certificate, Separable):
            return self._result(self._kept([min(tie) for tie in self.ties]), certificate, self.untied, "majority")
        kept = self._kept(self._predicted_labels(certificate))
        kept_certificate = self._certificate(kept)
        if isinstance(kept_certificate, Inseparable):
            return self._try_tie_choices()
        return self._result(kept, kept_certificate, kept, "majority")

    def _try_tie_choices(self) -> Deduplicated | None:
        """Break ties in all ways, or in the first `MAX_TIE_CHOICES`, until the rows are separable."""
        last: Deduplicated | None = None
        holds_for: HoldsFor = "majority" if math.prod(len(tie) for tie in self.ties) <= MAX_TIE_CHOICES else "this"
        for _, choice in zip(range(MAX_TIE_CHOICES), product(*self.ties), strict=False):
            kept = self._kept(choice)
            if not self._has_all_classes(kept):
                holds_for = "this"
                continue
            certificate = self._certificate(kept)
            last = self._result(kept, certificate, kept, holds_for)
            if not isinstance(certificate, Inseparable):
                break
        return None if last is None else replace(last, holds_for=holds_for)

    def _with_clash(self, kept: IntArray, certificate: Inseparable, rows: IntArray) -> Deduplicated:
        """If rows that are not duplicates clash too, no labels of the duplicates make the rows separable."""
        if np.isin(rows[certificate.rows], self.unique).all():
            return self._result(kept, certificate, rows, "any")
        if self._has_all_classes(self.unique):
            unique_certificate = self._certificate(self.unique)
            if isinstance(unique_certificate, Inseparable):
                return self._result(kept, unique_certificate, self.unique, "any")
        return self._result(kept, certificate, rows, "majority")

    def _result(self, kept: IntArray, certificate: Certificate | None, proved: IntArray, holds_for: HoldsFor) -> Deduplicated:
        left_out = np.setdiff1d(np.arange(len(self.given.codes)), kept).tolist()
        return Deduplicated(kept, left_out, self.untied, certificate, proved, holds_for)

    def _has_all_classes(self, rows: IntArray) -> bool:
        return len(np.unique(self.given.codes[rows])) == self.given.n_classes

    def _certificate(self, rows: IntArray) -> Certificate | None:
        return self.certify(self.given.X[rows], self.given.y[rows])

    def _kept(self, choice: Sequence[int]) -> IntArray:
        """The rows without ties, and of each tie those of the chosen label."""
        chosen = [i for tie, code in zip(self.ties, choice, strict=True) for i in tie[code]]
        return np.sort(np.concatenate([self.untied, np.array(chosen, np.intp)]))

    def _predicted_labels(self, certificate: Separable) -> list[int]:
        """For each tie, the one of its labels with the largest score; the first of equal scores."""
        points = self.given.X[[tie[min(tie)][0] for tie in self.ties]]
        planes = certificate.geometric.planes
        scores: list[list[Any]]
        if points.size * len(planes) <= MAX_EXACT_VALUES:
            with run_until(self.deadline):
                scores = [[_score(plane, points[[i]]) for plane in planes] for i in range(len(self.ties))]
        else:
            with np.errstate(all="ignore"):
                scores = np.nan_to_num(points @ np.array(certificate.coef).T + certificate.intercept).tolist()
        scores = [[0, *row] if len(planes) == 1 else row for row in scores]
        return [max(tie, key=row.__getitem__) for tie, row in zip(self.ties, scores, strict=True)]


def _most_frequent(group: list[int], codes: IntArray) -> Tie:
    check_time()
    rows: Tie = {}
    for i in group:
        rows.setdefault(int(codes[i]), []).append(i)
    most = max(len(members) for members in rows.values())
    return {code: rows[code] for code in sorted(rows) if len(rows[code]) == most}


def _score(plane: Plane, row: Matrix) -> Fraction:
    """w.x + b of one row, exactly."""
    check_time()
    columns, values = (np.arange(row.shape[1]), row[0]) if isinstance(row, np.ndarray) else (row.indices, row.data)
    pairs = zip(columns.tolist(), values.tolist(), strict=True)
    return sum((plane.weights[c] * Fraction(v) for c, v in pairs if v and c in plane.weights), plane.intercept)
