"""Clashes: sets of rows that no plane separates, found among all rows or some, each proved in fractions.

Problem    among these rows, are there some that no plane gets right together?
Update     rows near a good plane are looked at first: of those the nearest points of the classes (`direct/nearest.py`) either
           meet, which makes a clash, or give a plane. That plane may separate all; else more rows join, four times as many.
Guarantee  a clash is one in exact arithmetic, at most d + 2 rows; every plane gets at least one row of it wrong. Where floats
           could not be settled there is neither a clash nor a plane.
Reference  P. Gordan, Math. Annalen 6 (1873); such sets are the irreducible infeasible subsystems of E. Amaldi, M. E. Pfetsch
           and L. E. Trotter, Math. Programming 95 (2003).
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from ...data.problem import Problem, rows_as_matrix, take_rows
from ...svm.nearest_points import nearest_points
from ...svm.not_separable import NotSeparable
from ...svm.signed_rows import entries, keys
from .exact_signs import Plane, plane_of

Clash = tuple[int, ...]

FIRST = 256  # rows looked at first, or so many times as there are columns
PER_COLUMN = 8
MORE = 4
LOOKED = 4096  # rows at a time, for equal ones
STEPS = 20_000  # of the active set
DEAR, HALF_A_MINUTE = 400, 30.0  # so many rows and columns may take so long: they are not begun when less time is left
WIDE = 2000  # no clash is looked for among more: it would have as many rows, and prove one error


class Clashes:
    """Looks for clashes, nearest first as `near` orders the rows."""

    def __init__(self, problem: Problem, deadline: float) -> None:
        self.problem, self.deadline = problem, deadline
        self.signs = np.asarray(problem.labels.signs)
        self.near = np.arange(problem.n_rows)
        self.free = problem.x0 != 0

    def out_of_time(self) -> bool:
        return time.perf_counter() > self.deadline

    def by_nearness(self, plane: Plane) -> None:
        scores = np.zeros(self.problem.n_rows)
        step = 1 << 14
        with np.errstate(all="ignore"):
            for start in range(0, len(scores), step):
                scores[start : start + step] = self.problem.matrix(start, start + step) @ plane.coef + plane.bias
        self.near = np.argsort(abs(np.nan_to_num(scores)), kind="stable")

    def look(self, left: Any) -> Clash | Plane | None:
        """A clash among the rows `left`; or a plane that gets them all right; or neither, where time or floats do not allow."""
        places = self.near[left[self.near]]
        size = max(FIRST, PER_COLUMN * self.problem.n_features)
        while not self.out_of_time():
            found = self._nearest(np.sort(places[:size]))
            if found is None or isinstance(found, tuple):
                return found
            wrong = found.wrong[left[found.wrong]]
            if not len(wrong):
                return found
            if size >= len(places):
                return None
            places = np.concatenate([places[:size], wrong[: len(places)], places[size:]])  # what it got wrong joins first
            places = places[np.sort(np.unique(places, return_index=True)[1])]
            size *= MORE
        return None

    def _nearest(self, some: Any) -> Clash | Plane | None:
        """Of these rows alone."""
        signs = self.signs[some]
        if self.free and (len(some) == 0 or abs(int(signs.sum(dtype=np.int64))) == len(some)):
            bias = 1.0 if len(some) and signs[0] > 0 else -1.0
            return plane_of(self.problem, np.zeros(self.problem.n_features), bias)
        if len(some) == 0:
            return plane_of(self.problem, np.zeros(self.problem.n_features), 0.0)
        size = min(len(some), self.problem.n_features)
        if size > WIDE or (size > DEAR and self.deadline - time.perf_counter() < HALF_A_MINUTE):
            return None
        part = replace(self.problem, visited=some)
        try:
            with np.errstate(all="ignore"):
                found = nearest_points(part, max_steps=STEPS)
        except NotSeparable as proof:
            return tuple(proof.rows) if proof.exact and self._checked(proof) else None
        except ValueError:  # floats do not hold the plane
            return None
        return plane_of(self.problem, found.coef, found.bias)

    def separate(self, right: Any) -> Plane | None:
        """A plane that gets just these rows right, which are known to be separable."""
        found = self._nearest(np.flatnonzero(right))
        return found if isinstance(found, Plane) else None

    def _checked(self, proof: NotSeparable) -> bool:
        """The proof once more, by the checker, on copies of its rows and of one of each class, for there must be two."""
        some = [*proof.rows, int(self.signs.argmin()), int(self.signs.argmax())]
        rows = rows_as_matrix(take_rows(self.problem.rows, np.array(some)), 0, len(some))
        here = NotSeparable(range(len(proof.rows)), proof.weights, 1, self.free)
        return here.check(rows, self.signs[some].tolist())

    def pack(self, left: Any, most: int) -> tuple[list[Clash], Plane | None]:
        """Clashes that share no row, so many at most; and a plane for the rows that are left, if that is how it ends."""
        left, found = left.copy(), list[Clash]()
        while len(found) < most:
            one = self.look(left)
            if not isinstance(one, tuple):
                return found, one
            left[list(one)] = False
            found.append(one)
        return found, None

    def twins(self) -> list[Clash]:
        """Pairs of rows that are the same point with opposite labels, each row in one pair at most; without a bias also rows of
        zeros. Time may end the search before the last row."""
        groups = defaultdict[bytes, tuple[list[int], list[int]]](lambda: ([], []))
        zeros = list[Clash]()
        for start in range(0, self.problem.n_rows, LOOKED):
            if self.out_of_time():
                break
            for i, key in enumerate(keys(self.problem.matrix(start, start + LOOKED)), start):
                if not key and not self.free:
                    zeros.append((i,))
                else:
                    groups[key][int(self.signs[i] > 0)].append(i)
        pairs = [(min(p), max(p)) for group in groups.values() for p in zip(*group, strict=False)]
        return zeros + sorted(pair for pair in pairs if self._same(*pair))

    def _same(self, i: int, j: int) -> bool:
        one, other = (entries(self.problem.matrix(k, k + 1), 0) for k in (i, j))
        return all(map(np.array_equal, one, other))
