"""The fewest errors in low dimension: every way that a plane can part the rows is tried.

Problem    max over v of the number of rows with z_i . v > 0, where z_i = y_i (x_i, 1), or y_i x_i without a bias.
Update     the planes z_i . v = 0 cut the space of v into cones, and within a cone all rows stay where they are. Each cone has a
           side that lies in one of the planes: so go through the planes, within each through the cones that the others cut it
           into, in one dimension less. Rows whose plane is the same go to the better side together. In two dimensions v turns
           once around: the rows are sorted by angle, those of equal angle change sides together.
Guarantee  signs and the order of angles are those of the rows' exact values: floats decide with an error bound, whole numbers
           (a float is one, times a power of two) decide where floats cannot. O(n^(m-1) log n) for m weights.
Reference  H. Edelsbrunner, Algorithms in Combinatorial Geometry (1987), on arrangements; for the 0-1 loss: T. Nguyen and
           S. Sanner, Algorithms for direct 0-1 loss optimization in binary classification, ICML (2013).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from .angles import Flat, Sweep, sweep
from .whole import Whole

MOST = 4  # weights, the bias among them
CHEAP = 1e-7  # seconds for each m - 1 points, at the very least
TRIED = 8  # planes after which the time for all of them is guessed


@dataclass(frozen=True)
class Enumerated:
    """What all planes together can do: the fewest errors, and one best choice of rows to get right."""

    errors: int
    right: Any  # for every row, whether it is among those got right
    tried: int  # flats through m - 1 of the distinct points
    points: int  # that are distinct


@dataclass
class _Best:
    right: int
    sides: Any  # of the distinct points: +1, -1, or 0 for a point that no plane gets right


def enumerate_planes(values: Any, positive: Any, free: bool, deadline: float) -> Enumerated | None:
    """All parts of dense float64 rows with `positive` labels True or False; None where time is too short for them.

    The number of columns, with the bias, is MOST at most.
    """
    points, place = np.unique(values + 0.0, axis=0, return_inverse=True)  # -0.0 is 0.0
    place = place.ravel()
    if free:
        points = np.column_stack([points, np.ones(len(points))])
    m = points.shape[1]
    if m > 2 and CHEAP * len(points) ** (m - 1) > deadline - time.perf_counter():
        return None
    pos, neg = (np.bincount(place[positive == side], minlength=len(points)) for side in (True, False))
    run = _Run(Whole(points, free), pos, neg, deadline)
    best = run.all()
    if best is None:
        return None
    tried = 1
    for k in range(m - 1):
        tried = tried * max(1, len(points) - k) // (k + 1)
    return Enumerated(len(values) - best.right, best.sides[place] == np.where(positive, 1, -1), tried, len(points))


class _Run:
    def __init__(self, whole: Whole, pos: Any, neg: Any, deadline: float) -> None:
        self.whole, self.deadline = whole, deadline
        self.all_pos, self.all_neg = pos, neg
        self.best = _Best(-1, None)

    def all(self) -> _Best | None:
        everything = Flat.of(self.whole, self.all_pos, self.all_neg)
        return self.best if self._within(everything, np.zeros(len(self.all_pos), np.int8), 0, 0) else None

    def _within(self, flat: Flat, sides: Any, gained: int, first: int) -> bool:
        """Try all that can be done on a flat, where `gained` rows off it are right already; False: time is out.

        Points before `first` need not be pivots: what lies between two planes is found from either.
        """
        zero = flat.zero()
        if flat.width == 1:
            self._line(flat, zero, sides, gained)
            return True
        if flat.width == 2:
            self._keep(sweep(flat, zero), flat, sides, gained)
            return True
        begun = time.perf_counter()
        pivots = [j for j in range(len(zero)) if not zero[j] and flat.index[j] >= first]
        if not pivots:
            self._nothing(flat, sides, gained)
        for count, j in enumerate(pivots):
            now = time.perf_counter()
            if count == TRIED and flat.level == 0:
                now += (now - begun) * _left(count / len(pivots), flat.width)
            if now > self.deadline:
                return False
            lower, on, side = flat.pivot(j, zero)
            mine, other = (int(np.where(side == s, flat.pos[on], flat.neg[on]).sum()) for s in (1, -1))
            chosen = sides.copy()
            chosen[flat.index[on]] = side if mine >= other else -side
            # Of two planes that bound a cone the one of the smaller index is the first pivot; on a line all are looked at.
            if not self._within(lower, chosen, gained + max(mine, other), int(flat.index[j]) + 1 if flat.width > 3 else 0):
                return False
        return True

    def _line(self, flat: Flat, zero: Any, sides: Any, gained: int) -> None:
        side = flat.signs(0)
        counts = [int(np.where(side == s, flat.pos, flat.neg)[~zero].sum()) for s in (1, -1)]
        if gained + max(counts) > self.best.right:
            chosen = sides.copy()
            chosen[flat.index] = side if counts[0] >= counts[1] else -side
            self.best = _Best(gained + max(counts), chosen)

    def _keep(self, found: Sweep, flat: Flat, sides: Any, gained: int) -> None:
        if gained + found.right > self.best.right:
            chosen = sides.copy()
            chosen[flat.index] = found.sides()
            self.best = _Best(gained + found.right, chosen)

    def _nothing(self, flat: Flat, sides: Any, gained: int) -> None:
        if gained > self.best.right:
            self.best = _Best(gained, sides)


def _left(done: float, width: int) -> float:
    """How many times as much work is left: later pivots have fewer pivots of their own."""
    left = (1 - done) ** (width - 2)
    return left / (1 - left)
