"""The nearest points of the convex hulls of a few rows, by an active-set method.

Problem    min 1/2 |sum_i a_i z_i|^2 + 1/2 sum_i q_i a_i^2  s.t.  a >= 0, the a_i of each side sum to 1.
           z_i = y_i x_i. With two sides (the classes) the sum is the difference of two points, one of each hull; with one
           side it is the point of least norm. q = 0, except for rows that may violate the margin at a cost.
Update     the corral is a set of rows whose (z_i, side of i) are independent. Add the row that violates the margin most; move
           to the point of least norm of the corral's affine hull; if a weight becomes negative on the way, stop there and drop
           its row; repeat until all weights are positive.
Guarantee  in exact arithmetic every cycle reduces the norm, so no corral repeats and the method ends with the minimum. In
           floats a row that does not reduce the norm is excluded until another one does, so the method cannot cycle.
Reference  P. Wolfe, Finding the nearest point in a polytope, Math. Programming 11 (1976), with his Cholesky factor of
           Z Z' + E'E; refined as in A. Bjorck, Stability analysis of the method of seminormal equations (1987).
"""

from __future__ import annotations

import math
import time
from typing import Literal

import numpy as np
from scipy.linalg import qr_delete
from scipy.linalg.lapack import dtrtrs
from scipy.sparse import issparse

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..certificates.time_limit import check_time
from ..kernels.linear.rows import EPS

MIN_DISTANCE_FROM_SPAN = 1e-12  # relative to the length of a row; nearer rows depend on the corral
MEETING_DISTANCE = 1e-13  # relative to the longest row; nearer hulls meet, up to rounding
POLISH_REFINEMENTS = 3  # most refinements of the point of least norm when the corral is final

# "least": the nearest points were found; "met": the hulls meet; or a limit was reached.
CorralEnd = Literal["least", "met", "time", "steps"]


class Corral:
    """Signed working rows `Z`, the side of each, their convex weights `a`, and the Cholesky factor of the corral."""

    def __init__(self, Z: Matrix, side: IntArray, n_sides: int, price: FloatArray, lengths: FloatArray) -> None:
        self.Z, self.side, self.n_sides, self.price = Z, side, n_sides, price
        self.a: FloatArray = np.zeros(len(side))
        self.v: FloatArray = np.zeros(Z.shape[1])  # the point sum_i a_i z_i
        self.buffer = np.empty((0, Z.shape[1]))
        self.held: Matrix = self.buffer  # the rows of the corral
        self.sides: IntArray = side[:0]
        self.places: list[int] = []  # positions of the corral's rows, in the order of the factor's columns
        self.factor = np.zeros((8, 8), order="F")
        self.steps = 0
        self.lengths = lengths  # lengths of the working rows
        self.lift = max(1.0, float(lengths.max()))  # scale of the side columns: similar to the rows

    @property
    def radius(self) -> float:
        """The length of the longest working row."""
        return float(self.lengths.max())

    def sums(self, a: FloatArray) -> Array:
        """The sum of `a` over each side."""
        return np.bincount(self.side, a, minlength=self.n_sides)

    def point(self) -> FloatArray:
        """The point sum_i a_i z_i."""
        found: FloatArray = self.a[self.places] @ self.held
        return found

    def square(self, v: FloatArray) -> float:
        """Twice the objective at the point v of the weights."""
        return float(v @ v + (self.price * self.a**2).sum())

    def products(self) -> FloatArray:
        """z_i . (sum_j a_j z_j) + q_i a_i for all working rows."""
        found: FloatArray = self.Z @ self.v + self.price * self.a
        return found

    # --- the factor: R'R = products of the rows (z_i, lift * side of i, sqrt(q_i) e_i) of the corral ----------------------

    def _half(self, b: FloatArray) -> FloatArray:
        """The solution of R'x = b."""
        found: FloatArray = dtrtrs(self.factor[:, : len(self.places)], b, trans=1)[0]
        return found

    def _full(self, b: FloatArray) -> FloatArray:
        """The solution of R'R x = b."""
        found: FloatArray = dtrtrs(self.factor[:, : len(self.places)], self._half(b))[0]
        return found

    def _gather(self, dropped: int | None = None) -> None:
        """Update `held`, the rows of the corral, after one was appended, or after the one at position `dropped` was removed."""
        s, self.sides = len(self.places), self.side[self.places]
        if issparse(self.Z):
            self.held = self.Z[self.places]
            return
        if s > len(self.buffer):
            grown = np.empty((2 * s, self.Z.shape[1]))
            grown[: s - 1] = self.buffer[: s - 1]
            self.buffer = grown
        first = s - 1 if dropped is None else dropped
        self.buffer[first:s] = self.Z[self.places[first:]]
        self.held = self.buffer[:s]

    def hold(self, a: FloatArray, v: FloatArray) -> None:
        """Take all working rows into the corral with weights and point from another solver; without a factor."""
        self.places, self.a, self.v = list(range(len(a))), a, v
        self.held, self.sides = self.Z, self.side

    def _enter(self, place: int) -> bool:
        """Append a row to the factor; return False if it depends on the corral within rounding errors."""
        s, prices = len(self.places), self.price[self.places]
        c, column = np.zeros(s), np.zeros(s)
        z = self.Z[place] if isinstance(self.Z, np.ndarray) else self.Z[[place]].toarray()[0]
        e = np.zeros(self.n_sides)
        e[self.side[place]] = 1.0
        rest, rest_sides = z, e
        for _ in range(2 if s else 0):  # the second time removes rounding errors of the first
            half = self._half(self.held @ rest + self.lift**2 * rest_sides[self.sides] - prices * c)
            column += half
            c += dtrtrs(self.factor[:, :s], half)[0]
            rest, rest_sides = z - c @ self.held, e - np.bincount(self.sides, c, minlength=self.n_sides)
        own = self.price[place] + (prices * c**2).sum()
        left = float(np.sqrt(rest @ rest + self.lift**2 * (rest_sides @ rest_sides) + own))
        if not left > MIN_DISTANCE_FROM_SPAN * np.hypot(self.lift, self.lengths[place]):
            return False
        if s == len(self.factor):
            grown = np.zeros((2 * s, 2 * s), order="F")
            grown[:s, :s] = self.factor
            self.factor = grown
        self.factor[:s, s], self.factor[s, s] = column, left
        self.places.append(place)
        self._gather()
        return True

    def _drop(self, j: int) -> None:
        """Remove the j-th row of the corral from the factor."""
        s = len(self.places)
        _, R = qr_delete(np.eye(s), self.factor[:s, :s], j, which="col", check_finite=False)
        self.factor[: s - 1, : s - 1] = R[: s - 1]
        self.a[self.places.pop(j)] = 0.0
        self._gather(j)

    # --- cycles ----------------------------------------------------------------------------------------------------------

    def _affine(self, refinements: int) -> tuple[FloatArray, FloatArray]:
        """The weights (of any sign) of the point of least norm of the corral's affine hull, and the point.

        The point is refined separately. Summed from rounded weights, it would have an error of eps times the longest row,
        which may be more than the distance of the hulls.
        """
        system = self._system()
        y, prices = system[1] @ system[2].sum(axis=1), self.price[self.places]
        v, last = y @ self.held, np.inf
        for _ in range(refinements):
            da = self._correction(system, y, self.held @ v + prices * y)
            size = float(abs(da).max())
            if not size < last / 2:
                break
            y, v, last = y + da, v + da @ self.held, size
        return y, v

    def _system(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        E = (self.sides[:, None] == np.arange(self.n_sides)).astype(np.float64)
        B = self._full(E)
        return E, B, np.linalg.inv(E.T @ B)

    def _correction(self, system: tuple[FloatArray, FloatArray, FloatArray], y: FloatArray, products: FloatArray) -> FloatArray:
        """The correction of the weights y toward sums of 1 and equal products on each side."""
        E, B, T = system
        level = (E.T @ products) / E.sum(axis=0)
        da = self._full(level[self.sides] - products)
        found: FloatArray = da + B @ (T @ ((1.0 - E.T @ y) - E.T @ da))
        return found

    def correct(self, products: FloatArray) -> FloatArray:
        """The correction of the corral's weights, given more precise products; the weights are not changed."""
        return self._correction(self._system(), self.a[self.places], products)

    def settle(self) -> None:
        """Minor cycles: move to the point of least norm of the affine hull; drop rows whose weight becomes zero on the way."""
        while True:
            check_time()
            x, (y, v) = self.a[self.places], self._affine(1)
            out = np.flatnonzero(y <= EPS)
            if not len(out):
                self.a[self.places], self.v = y, v
                return
            way = np.maximum(x[out] - y[out], 1e-300)
            reach = np.minimum(x[out] / way, 1.0)
            first = int(reach.argmin())
            x = np.maximum(x + reach[first] * (y - x), 0.0)
            x[out[first]] = 0.0
            self.a[self.places] = x / np.bincount(self.sides, x, minlength=self.n_sides)[self.sides]
            self._drop(int(out[first]))

    def _polish(self) -> None:
        """Refine the weights and the point of the corral to full precision."""
        y, v = self._affine(POLISH_REFINEMENTS)
        if (y > 0).all():
            self.a[self.places], self.v = y, v

    def begin(self, places: IntArray, weights: FloatArray) -> None:
        """Start from weighted rows of every side; rows that depend on others are left out."""
        entered = []
        for place in places.tolist():  # the factor of many rows takes long
            check_time()
            if self._enter(place):
                entered.append(place)
        self.a[:] = 0.0
        self.a[entered] = np.maximum(weights[np.isin(places, entered)], 1e-300)
        self.a /= np.maximum(self.sums(self.a), 1e-300)[self.side]
        self.settle()

    def solve(self, tol: float, max_steps: int, deadline: float = math.inf) -> CorralEnd:
        """Run major cycles until no working row violates the margin by more than the tolerance; returns how they ended."""
        excluded = np.zeros(len(self.side), bool)
        least, entered = np.inf, 0
        polished = False
        while True:
            check_time()
            products, square = self.products(), self.square(self.v)
            level = self.sums(self.a * products)
            if square <= (MEETING_DISTANCE * self.radius) ** 2:
                return "met"
            if square < least * (1.0 - EPS):
                least = square
                excluded[:] = False
            elif not polished:
                excluded[entered] = True
            behind = level[self.side] - products
            behind[excluded] = behind[self.places] = -np.inf
            entered = int(behind.argmax())
            done = not behind[entered] > max(0.1 * tol * square, 2 * EPS * self.lengths[entered] * np.sqrt(square))
            late = time.monotonic() >= deadline
            if (done or late or self.steps >= max_steps) and not polished:
                self._polish()
                polished = True
                continue
            if done or late or self.steps >= max_steps:
                return "least" if done else "time" if late else "steps"
            polished = False
            self.steps += 1
            if self._enter(entered):
                self.settle()

    def grow(self, Z: Matrix, side: IntArray, price: FloatArray, lengths: FloatArray) -> None:
        """Replace the working rows by more rows that begin with the present ones."""
        self.a = np.concatenate([self.a, np.zeros(len(side) - len(self.side))])
        self.Z, self.side, self.price, self.lengths = Z, side, price, lengths
