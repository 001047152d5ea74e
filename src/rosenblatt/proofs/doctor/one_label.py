"""What is left of the rows once every point has one label, and whether that is separable.

Problem    of equal rows with different labels keep those of the most frequent one; where two are as frequent, which?
Update     certify the rows whose label is in no doubt. If planes separate them, ties go to the side on which these have the
           point; where that does not end well, all ways are tried if they are few.
Guarantee  with two classes and an intercept the rest is separable for some way to break ties if and only if the rows without
           ties are: a plane that separates those has every other point on one of its sides. What is said not to be separable
           is so for the labels that `whose` names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from ...certificates.statements import Certificate, Inseparable, Plane, Separable
from ..inputs import Labelled
from .duplicates import Duplicates

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
