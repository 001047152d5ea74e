"""The fewest errors in low dimension: all ways in which a plane can divide the rows are tried.

Problem    max over v of the number of rows with z_i . v > 0, where z_i = y_i (x_i, 1), or y_i x_i without a bias.
Update     the planes z_i . v = 0 cut the space of v into cones, within which no row changes sides. Each cone has a face in one
           of the planes: for each plane, enumerate the cones into which the others cut it, in one dimension less. Rows with the
           same plane are assigned to the better side together. In two dimensions v makes a full turn: the rows are sorted by
           angle, and those of equal angle change sides together.
Guarantee  signs and the order of angles are those of the rows' exact values: floats decide with an error bound, integers (a
           float is an integer times a power of two) decide if floats cannot. O(n^(m-1) log n) for m weights.
Reference  H. Edelsbrunner, Algorithms in Combinatorial Geometry (1987), on arrangements; for the 0-1 loss: T. Nguyen and
           S. Sanner, Algorithms for direct 0-1 loss optimization in binary classification, ICML (2013).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import pairwise

import numpy as np

from ...array_types import Array, BoolArray, FloatArray, IntArray
from .exact_signs import UNDERFLOW_ERROR, UNIT_ROUNDOFF, IntegerPoints

MAX_WEIGHTS = 4  # number of weights, including the bias
MIN_TIME_PER_TUPLE_S = 1e-7  # least time that a tuple of m - 1 points takes
PIVOTS_BEFORE_ESTIMATE = 8  # pivots after which the total time is estimated

ExactVector = Callable[[int], list[int]]


# --- vectors on a flat -----------------------------------------------------------------------------------------------------


@dataclass
class Flat:
    """The points as functionals on a linear subspace: floats with error bounds, and exact integers on demand.

    off : bounds on the errors of `values`; None: there are no errors.
    exact : `exact(j)` computes vector j in integers.
    pos, neg : the number of rows of each label at a point.
    """

    values: FloatArray
    off: FloatArray | None
    exact: ExactVector
    pos: IntArray
    neg: IntArray
    index: IntArray  # positions of the points among all
    points: IntegerPoints
    level: int = 0

    @classmethod
    def of(cls, points: IntegerPoints, pos: IntArray, neg: IntArray) -> Flat:
        """The whole space."""
        off = None if points.exact else np.zeros_like(points.floats) if points.off is None else points.off
        return cls(points.floats, off, points.row, pos, neg, np.arange(len(pos)), points)

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    def signs(self, column: int) -> Array:
        """The signs of one coordinate of every vector."""
        values = self.values[:, column]
        out = np.sign(values).astype(np.int8)
        if self.off is not None:
            off = self.off[:, column]
            for j in np.flatnonzero((abs(values) <= off) & (off > 0)).tolist():
                number = self.exact(j)[column]
                out[j] = (number > 0) - (number < 0)
        return out

    def zero(self) -> BoolArray:
        """Whether each vector is zero."""
        if self.level == 0 and self.points.free:
            return np.zeros(len(self.values), bool)
        if self.off is None:
            return np.asarray(~self.values.any(axis=1))
        out = np.asarray((abs(self.values) <= self.off).all(axis=1))
        for j in np.flatnonzero(out).tolist():
            out[j] = not any(self.exact(j))
        return out

    def pivot(self, j: int, zero: BoolArray) -> tuple[Flat, IntArray, Array]:
        """The flat on which vector j is 0; the vectors that are 0 on it; and their sides, +1 for that of j.

        On it the coordinate k depends on the others, and vector i becomes z_i[l] z_j[k] - z_i[k] z_j[l].
        """
        bias = self.level == 0 and self.points.free
        k = self.width - 1 if bias else self._largest(j)
        others = np.arange(self.width) != k
        zj, zk = self.values[j], self.values[:, k]
        off: FloatArray | None = None
        if bias:
            values = self.values[:, others] - zj[others]  # the bias is 1, and a difference has the exact sign
            if self.off is not None:
                off = 2 * UNIT_ROUNDOFF * abs(values) + (self.off[:, others] + self.off[j, others])
        else:
            a, b, c, d = self.values[:, others], zj[k], zk[:, None], zj[others]
            values = a * b - c * d
            if self.off is not None:
                off = error_bound(a, b, c, d, self.off[:, others], self.off[j, k], self.off[:, k][:, None], self.off[j, others])
                off += 0.0 if self.points.safe else UNDERFLOW_ERROR
        mine, exact = self.exact(j), self.exact

        def reduced(i: int) -> list[int]:
            row = exact(i)
            return [row[c] * mine[k] - row[k] * mine[c] for c in range(len(row)) if c != k]

        flat = Flat(values, off, reduced, self.pos, self.neg, self.index, self.points, self.level + 1)
        on = np.flatnonzero(flat.zero() & ~zero)
        rest = np.ones(len(zero), bool)
        rest[on] = False
        rest &= ~zero
        side = np.ones(len(on), np.int8)
        if not bias:
            for place, i in enumerate(on.tolist()):
                if i != j:
                    side[place] = 1 if (exact(i)[k] > 0) == (mine[k] > 0) else -1
        return flat._selected(rest), on, side

    def _largest(self, j: int) -> int:
        """A nonzero coordinate of vector j; the largest, if floats can decide."""
        k = int(abs(self.values[j]).argmax())
        if self.off is not None and abs(self.values[j, k]) <= self.off[j, k]:
            row = self.exact(j)
            k = next(c for c in range(len(row)) if row[c])
        return k

    def _selected(self, rest: BoolArray) -> Flat:
        if rest.all():
            return self
        places = np.flatnonzero(rest).tolist()
        exact = self.exact
        off = None if self.off is None else self.off[rest]
        return Flat(
            self.values[rest], off, lambda i: exact(places[i]), self.pos[rest], self.neg[rest], self.index[rest],
            self.points, self.level,
        )  # fmt: skip


def error_bound(
    a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray, off_a: FloatArray, off_b: FloatArray, off_c: FloatArray,
    off_d: FloatArray,
) -> FloatArray:  # fmt: skip
    """A bound on the error of a b - c d, from the errors of the factors and of the roundings."""
    a, b, c, d = abs(a), abs(b), abs(c), abs(d)
    carried = a * off_b + b * off_a + off_a * off_b + c * off_d + d * off_c + off_c * off_d
    return 4 * UNIT_ROUNDOFF * (a * b + c * d) + carried * (1 + 1e-9)


@dataclass(frozen=True)
class Turn:
    """The best of all directions in a plane: the number of correctly classified rows, and the side of every vector."""

    right: int
    up: Array  # int8: +1, -1 for vectors that were negated into the upper half plane, 0 for zero vectors
    passed: IntArray  # the vectors that v has passed
    opposite: bool

    def sides(self) -> Array:
        out = self.up.copy()
        out[self.passed] *= -1
        return -out if self.opposite else out


def best_turn(flat: Flat) -> Turn:
    """Turn v by half a turn, starting where all vectors, negated into the upper half plane, are correct; -v is counted too."""
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
    return Turn(int(total - counts[low] if opposite else counts[high]), up, places[passed], bool(opposite))


def _by_angle(flat: Flat, up: Array, y: Array, places: IntArray) -> tuple[IntArray, IntArray]:
    """The order of the vectors by angle from 0 to a half turn, and the end of each group of equal angles."""
    V = flat.values[places] * up[places, None]
    height = np.where(y[places] == 0, 0.0, np.maximum(V[:, 1], UNDERFLOW_ERROR))
    key = -V[:, 0] / (abs(V[:, 0]) + height + UNDERFLOW_ERROR)
    key[y[places] == 0] = -2.0
    order: IntArray = np.argsort(key, kind="stable")
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
        bound = error_bound(a, b, c, d, off[:-1, 0], off[1:, 1], off[1:, 0], off[:-1, 1])
        if not flat.points.safe:
            bound = bound + UNDERFLOW_ERROR
        unclear = (abs(cross) <= bound) & (bound > 0) | (cross < -bound)
    if unclear.any():
        order, grows = _resolve(flat, up, places, order, grows, unclear)
    return order, np.append(np.flatnonzero(grows), len(order) - 1)


def _resolve(
    flat: Flat, up: Array, places: IntArray, order: IntArray, grows: BoolArray, unclear: BoolArray
) -> tuple[IntArray, BoolArray]:
    """Sort runs of unclear order in integers; if a run does not fit between its neighbors, sort all vectors."""
    known: dict[int, list[int]] = {}

    def vector(o: int) -> list[int]:
        if o not in known:
            place = int(places[o])
            known[o] = [int(up[place]) * value for value in flat.exact(place)]
        return known[o]

    def cross(first: int, second: int) -> int:
        (a, d), (c, b) = vector(first), vector(second)
        return a * b - c * d

    def compare(first: int, second: int) -> int:
        sign = cross(first, second)
        return (sign < 0) - (sign > 0)

    by_angle = cmp_to_key(compare)
    order, grows, n = order.copy(), grows.copy(), len(order)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], unclear, [False]]).astype(np.int8)))
    for low, high in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        run = sorted(order[low : high + 1].tolist(), key=by_angle)
        order[low : high + 1] = run
        grows[low:high] = [cross(first, second) > 0 for first, second in pairwise(run)]
        before = cross(int(order[low - 1]), run[0]) if low else 1
        after = cross(run[-1], int(order[high + 1])) if high + 1 < n else 1
        if before < 0 or after < 0:
            order = np.array(sorted(range(n), key=by_angle))
            return order, np.array([cross(first, second) > 0 for first, second in pairwise(order.tolist())])
        if low:
            grows[low - 1] = before > 0
        if high + 1 < n:
            grows[high] = after > 0
    return order, grows


# --- the enumeration -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Enumerated:
    """The fewest errors of all planes, and one best set of correctly classified rows."""

    errors: int
    right: BoolArray  # whether each row is classified correctly
    tried: int  # flats through m - 1 of the distinct points
    points: int  # distinct points


@dataclass
class _Best:
    right: int
    sides: IntArray  # side of each distinct point: +1, -1, or 0 if no plane classifies it correctly


def enumerate_planes(values: FloatArray, positive: BoolArray, free: bool, deadline: float) -> Enumerated | None:
    """Try all planes for dense float64 rows; None if there is not enough time.

    The number of columns, including the bias, is at most `MAX_WEIGHTS`.
    """
    points, place = np.unique(values + 0.0, axis=0, return_inverse=True)  # -0.0 is 0.0
    place = place.ravel()
    if free:
        points = np.column_stack([points, np.ones(len(points))])
    m = points.shape[1]
    if m > 2 and MIN_TIME_PER_TUPLE_S * len(points) ** (m - 1) > deadline - time.perf_counter():
        return None
    pos, neg = (np.bincount(place[positive == side], minlength=len(points)) for side in (True, False))
    best = _Enumeration(IntegerPoints(points, free), pos, neg, deadline).run()
    if best is None:
        return None
    tried = 1
    for k in range(m - 1):
        tried = tried * max(1, len(points) - k) // (k + 1)
    return Enumerated(len(values) - best.right, best.sides[place] == np.where(positive, 1, -1), tried, len(points))


class _Enumeration:
    def __init__(self, points: IntegerPoints, pos: IntArray, neg: IntArray, deadline: float) -> None:
        self.points, self.deadline = points, deadline
        self.pos, self.neg = pos, neg
        self.best = _Best(-1, np.zeros(len(pos), np.int8))

    def run(self) -> _Best | None:
        """The best sides of all points; None if there is not enough time."""
        whole_space = Flat.of(self.points, self.pos, self.neg)
        return self.best if self._within(whole_space, np.zeros(len(self.pos), np.int8), 0, 0) else None

    def _within(self, flat: Flat, sides: Array, gained: int, first: int) -> bool:
        """Try all cones on a flat, where `gained` rows off the flat are correct already; False if there is not enough time.

        Points before `first` need not be pivots: a cone between two planes is found from either.
        """
        zero = flat.zero()
        if flat.width == 1:
            self._line(flat, zero, sides, gained)
            return True
        if flat.width == 2:
            self._keep(best_turn(flat), flat, sides, gained)
            return True
        begun = time.perf_counter()
        pivots = [j for j in range(len(zero)) if not zero[j] and flat.index[j] >= first]
        if not pivots and gained > self.best.right:
            self.best = _Best(gained, sides)
        for count, j in enumerate(pivots):
            now = time.perf_counter()
            if count == PIVOTS_BEFORE_ESTIMATE and flat.level == 0:
                now += (now - begun) * _remaining_work(count / len(pivots), flat.width)
            if now > self.deadline:
                return False
            lower, on, side = flat.pivot(j, zero)
            mine, other = (int(np.where(side == s, flat.pos[on], flat.neg[on]).sum()) for s in (1, -1))
            chosen = sides.copy()
            chosen[flat.index[on]] = side if mine >= other else -side
            # Of two planes that bound a cone the one of the smaller index is the first pivot; in the last two dimensions
            # all vectors are examined together.
            if not self._within(lower, chosen, gained + max(mine, other), int(flat.index[j]) + 1 if flat.width > 3 else 0):
                return False
        return True

    def _line(self, flat: Flat, zero: BoolArray, sides: Array, gained: int) -> None:
        side = flat.signs(0)
        counts = [int(np.where(side == s, flat.pos, flat.neg)[~zero].sum()) for s in (1, -1)]
        if gained + max(counts) > self.best.right:
            chosen = sides.copy()
            chosen[flat.index] = side if counts[0] >= counts[1] else -side
            self.best = _Best(gained + max(counts), chosen)

    def _keep(self, turn: Turn, flat: Flat, sides: Array, gained: int) -> None:
        if gained + turn.right > self.best.right:
            chosen = sides.copy()
            chosen[flat.index] = turn.sides()
            self.best = _Best(gained + turn.right, chosen)


def _remaining_work(done: float, width: int) -> float:
    """The remaining work relative to the work done: later pivots have fewer pivots of their own."""
    left = (1 - done) ** (width - 2)
    return left / (1 - left)
