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
from collections.abc import Callable
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

import numpy as np

from .exact_signs import Whole

# --- Vectors on a flat: their signs, the flats within it, and in two dimensions their order by angle, all of it exact.

UNIT = 2.0**-53  # the relative error of one rounding
TINY = 1e-300  # more than what underflow takes away

Exact = Callable[[int], list[int]]


@dataclass
class Flat:
    """The points as functionals on a flat: floats, how far they are off (None: not at all), and themselves on demand.

    Without whole numbers at hand `exact(j)` makes those of vector j. pos, neg : rows of each label at a point.
    """

    values: Any
    off: Any
    exact: Exact
    pos: Any
    neg: Any
    index: Any  # of the points among all
    whole: Whole
    level: int = 0

    @classmethod
    def of(cls, whole: Whole, pos: Any, neg: Any) -> Flat:
        off = None if whole.exact else np.zeros_like(whole.floats) if whole.off is None else whole.off
        return cls(whole.floats, off, whole.row, pos, neg, np.arange(len(pos)), whole)

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def signs(self, column: int) -> Any:
        """Of one coordinate of every vector."""
        values = self.values[:, column]
        out = np.sign(values).astype(np.int8)
        if self.off is not None:
            off = self.off[:, column]
            for j in np.flatnonzero((abs(values) <= off) & (off > 0)).tolist():
                number = self.exact(j)[column]
                out[j] = (number > 0) - (number < 0)
        return out

    def zero(self) -> Any:
        """Which vectors are zero."""
        if self.level == 0 and self.whole.free:
            return np.zeros(len(self.values), bool)
        if self.off is None:
            return ~self.values.any(axis=1)
        out = (abs(self.values) <= self.off).all(axis=1)
        for j in np.flatnonzero(out).tolist():
            out[j] = not any(self.exact(j))
        return out

    def pivot(self, j: int, zero: Any) -> tuple[Flat, Any, Any]:
        """The flat where vector j is 0; which others are, by place here; and on which side of it they then are, +1 that of j.

        On it one coordinate k is what the others make it, and vector i is left with z_i[l] z_j[k] - z_i[k] z_j[l].
        """
        bias = self.level == 0 and self.whole.free
        k = self.width - 1 if bias else self._largest(j)
        others = np.arange(self.width) != k
        zj, zk = self.values[j], self.values[:, k]
        off: Any = None
        if bias:
            values = self.values[:, others] - zj[others]  # the bias is 1, and a difference has its true sign
            if self.off is not None:
                off = 2 * UNIT * abs(values) + (self.off[:, others] + self.off[j, others])
        else:
            a, b, c, d = self.values[:, others], zj[k], zk[:, None], zj[others]
            values = a * b - c * d
            if self.off is not None:
                off = error(a, b, c, d, self.off[:, others], self.off[j, k], self.off[:, k][:, None], self.off[j, others])
                off += 0.0 if self.whole.safe else TINY
        mine, exact = self.exact(j), self.exact

        def reduced(i: int) -> list[int]:
            row = exact(i)
            return [row[c] * mine[k] - row[k] * mine[c] for c in range(len(row)) if c != k]

        flat = Flat(values, off, reduced, self.pos, self.neg, self.index, self.whole, self.level + 1)
        on = np.flatnonzero(flat.zero() & ~zero)
        rest = np.ones(len(zero), bool)
        rest[on] = False
        rest &= ~zero
        side = np.ones(len(on), np.int8)
        if not bias:
            for place, i in enumerate(on.tolist()):
                if i != j:
                    side[place] = 1 if (exact(i)[k] > 0) == (mine[k] > 0) else -1
        return flat._only(rest), on, side

    def _largest(self, j: int) -> int:
        """A coordinate of vector j that is not zero; the largest, if floats can tell."""
        k = int(abs(self.values[j]).argmax())
        if self.off is not None and abs(self.values[j, k]) <= self.off[j, k]:
            row = self.exact(j)
            k = next(c for c in range(len(row)) if row[c])
        return k

    def _only(self, rest: Any) -> Flat:
        if rest.all():
            return self
        places = np.flatnonzero(rest).tolist()
        exact = self.exact
        off = None if self.off is None else self.off[rest]
        return Flat(
            self.values[rest], off, lambda i: exact(places[i]), self.pos[rest], self.neg[rest], self.index[rest],
            self.whole, self.level,
        )  # fmt: skip


def error(a: Any, b: Any, c: Any, d: Any, off_a: Any, off_b: Any, off_c: Any, off_d: Any) -> Any:
    """By how much a b - c d may be off, each of them off by so much: a little more than the roundings add up to."""
    a, b, c, d = abs(a), abs(b), abs(c), abs(d)
    carried = a * off_b + b * off_a + off_a * off_b + c * off_d + d * off_c + off_c * off_d
    return 4 * UNIT * (a * b + c * d) + carried * (1 + 1e-9)


@dataclass(frozen=True)
class Sweep:
    """The best of all directions in a plane: how many rows it gets right, and on which side of it every vector is."""

    right: int
    up: Any  # +1, or -1 for vectors that were turned into the upper half plane, 0 for those that are zero: int8
    turned: Any  # the vectors that v has passed, by place
    opposite: bool

    def sides(self) -> Any:
        out = self.up.copy()
        out[self.turned] *= -1
        return -out if self.opposite else out


def sweep(flat: Flat, zero: Any) -> Sweep:
    """Turn v by half a turn from where all vectors, turned upwards, are right; v and -v are looked at together."""
    y = flat.signs(1)
    level = np.flatnonzero(y == 0)
    up = y
    if len(level):
        up = y.copy()
        up[level] = flat.signs(0)[level]
    places = np.flatnonzero(up != 0)
    p, q = np.where(up > 0, flat.pos, flat.neg)[places], np.where(up > 0, flat.neg, flat.pos)[places]
    order, last = _by_angle(flat, up, y, places)
    begin, total = int(p.sum()), int(p.sum() + q.sum())
    after = begin + np.cumsum((q - p)[order])[last]
    counts = np.concatenate([[begin], after])
    high, low = int(counts.argmax()), int(counts.argmin())
    opposite = total - counts[low] > counts[high]
    which = low if opposite else high
    passed = order[: last[which - 1] + 1] if which else order[:0]
    return Sweep(int(total - counts[low] if opposite else counts[high]), up, places[passed], bool(opposite))


def _by_angle(flat: Flat, up: Any, y: Any, places: Any) -> tuple[Any, Any]:
    """The order of the vectors by angle from 0 to a half turn, and where in it each group of equal angles ends."""
    V = flat.values[places] * up[places, None]
    height = np.where(y[places] == 0, 0.0, np.maximum(V[:, 1], TINY))
    key = -V[:, 0] / (abs(V[:, 0]) + height + TINY)
    key[y[places] == 0] = -2.0
    order = np.argsort(key, kind="stable")
    if len(order) < 2:
        return order, np.arange(len(order))
    V = V[order]
    a, b, c, d = V[:-1, 0], V[1:, 1], V[1:, 0], V[:-1, 1]
    cross = a * b - c * d
    grows = cross > 0
    if flat.off is None:
        unclear = cross < 0
    else:
        off = flat.off[places[order]]
        bound = error(a, b, c, d, off[:-1, 0], off[1:, 1], off[1:, 0], off[:-1, 1])
        if not flat.whole.safe:
            bound = bound + TINY
        unclear = (abs(cross) <= bound) & (bound > 0) | (cross < -bound)
    if unclear.any():
        order, grows = _settle(flat, up, places, order, grows, unclear)
    return order, np.append(np.flatnonzero(grows), len(order) - 1)


def _settle(flat: Flat, up: Any, places: Any, order: Any, grows: Any, unclear: Any) -> tuple[Any, Any]:
    """Sort stretches whose order is unclear in whole numbers; where a stretch does not fit between its neighbours, all."""
    known: dict[int, list[int]] = {}

    def vector(o: int) -> list[int]:
        if o not in known:
            place = int(places[o])
            known[o] = [int(up[place]) * value for value in flat.exact(place)]
        return known[o]

    def cross(first: int, second: int) -> int:
        (a, d), (c, b) = vector(first), vector(second)
        return a * b - c * d

    def before_or_behind(first: int, second: int) -> int:
        sign = cross(first, second)
        return (sign < 0) - (sign > 0)

    by_angle = cmp_to_key(before_or_behind)
    order, grows, n = order.copy(), grows.copy(), len(order)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], unclear, [False]]).astype(np.int8)))
    for low, high in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        stretch = sorted(order[low : high + 1].tolist(), key=by_angle)
        order[low : high + 1] = stretch
        grows[low:high] = [cross(first, second) > 0 for first, second in pairwise(stretch)]
        before = cross(int(order[low - 1]), stretch[0]) if low else 1
        behind = cross(stretch[-1], int(order[high + 1])) if high + 1 < n else 1
        if before < 0 or behind < 0:
            order = np.array(sorted(range(n), key=by_angle))
            return order, np.array([cross(first, second) > 0 for first, second in pairwise(order.tolist())])
        if low:
            grows[low - 1] = before > 0
        if high + 1 < n:
            grows[high] = behind > 0
    return order, grows


# ---

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
