"""The nearest points of the hulls of a few rows, by an active set.

Problem    min 1/2 |sum_i a_i z_i|^2 + 1/2 sum_i q_i a_i^2  s.t.  a >= 0, the a_i of each side sum to 1.
           z_i = y_i x_i. With two sides (the classes) the sum is the difference of two points, one of each hull; with one
           side it is the point of least norm. q = 0, but for rows that may cross the plane at a price.
Update     the corral is a set of rows whose (z_i, side of i) are independent. Enter the row that lies furthest behind the
           plane; go to the least point of the corral's affine hull, and where a weight turns negative on the way, stop there
           and drop its row; repeat until all weights are positive.
Guarantee  in exact arithmetic every cycle makes the norm smaller, so that no corral comes back and the method ends with the
           minimum. In floats a row that does not make the norm smaller is set aside until another one does: it cannot cycle.
Reference  P. Wolfe, Finding the nearest point in a polytope, Math. Programming 11 (1976), with his Cholesky factor of
           Z Z' + E'E; refined as in A. Bjorck, Stability analysis of the method of seminormal equations (1987).
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from scipy.linalg import qr_delete
from scipy.linalg.lapack import dtrtrs
from scipy.sparse import issparse

EPS = float(np.finfo(np.float64).eps)
INDEPENDENT = 1e-12  # a row enters when it is at least so far, relative to its length, from the span of the corral
MET = 1e-13  # the hulls meet, as far as floats can tell, when they are as near as this, relative to the longest row
REFINEMENTS = 3


class Corral:
    """Working rows `Z` (signed), the side of each, convex weights `a` over them, and the factor of those in the corral."""

    def __init__(self, Z: Any, side: Any, n_sides: int, price: Any, lengths: Any) -> None:
        self.Z, self.side, self.n_sides, self.price = Z, side, n_sides, price
        self.a = np.zeros(len(side))
        self.v: Any = None  # their point
        self.room = np.empty((0, Z.shape[1]))
        self.held: Any = None  # Z and side of the corral
        self.sides: Any = None
        self.places: list[int] = []  # the rows of the corral, in the order of the factor's columns
        self.factor = np.zeros((8, 8), order="F")
        self.steps = 0
        self.lengths = lengths  # of the working rows
        self.lift = max(1.0, float(lengths.max()))  # the sides count about as much as the rows, whose largest value is about 1

    @property
    def radius(self) -> float:
        return float(self.lengths.max())

    def sums(self, a: Any) -> Any:
        return np.bincount(self.side, a, minlength=self.n_sides)

    def point(self) -> Any:
        """The point of the weights."""
        return self.a[self.places] @ self.held

    def square(self, v: Any) -> float:
        """What is minimised, twice: v is their point."""
        return float(v @ v + (self.price * self.a**2).sum())

    def products(self) -> Any:
        """z_i . (sum_j a_j z_j), and the price, for all working rows."""
        return self.Z @ self.v + self.price * self.a

    # --- the factor: R'R = products of the lifted rows (z_i, lift * side of i, sqrt(q_i) e_i) of the corral ----------------

    def _half(self, b: Any) -> Any:
        """The solution of R'x = b."""
        return dtrtrs(self.factor[:, : len(self.places)], b, trans=1)[0]

    def _whole(self, b: Any) -> Any:
        """The solution of R'R x = b."""
        return dtrtrs(self.factor[:, : len(self.places)], self._half(b))[0]

    def _gather(self, dropped: int | None = None) -> None:
        """Have the rows of the corral at hand: all but the last, or all but those from the one dropped on, are already."""
        s, self.sides = len(self.places), self.side[self.places]
        if issparse(self.Z):
            self.held = self.Z[self.places]
            return
        if s > len(self.room):
            grown = np.empty((2 * s, self.Z.shape[1]))
            grown[: s - 1] = self.room[: s - 1]
            self.room = grown
        first = s - 1 if dropped is None else dropped
        self.room[first:s] = self.Z[self.places[first:]]
        self.held = self.room[:s]

    def hold(self, a: Any, v: Any) -> None:
        """All working rows, their weights and their point, as another solver found them; without a factor."""
        self.places, self.a, self.v = list(range(len(a))), a, v
        self.held, self.sides = self.Z, self.side

    def _enter(self, place: int) -> bool:
        """Append a row to the factor; False where it is not independent of the corral, as far as floats can tell."""
        s, prices = len(self.places), self.price[self.places]
        c, column = np.zeros(s), np.zeros(s)
        z = self.Z[[place]].toarray()[0] if issparse(self.Z) else self.Z[place]
        e = np.zeros(self.n_sides)
        e[self.side[place]] = 1.0
        rest, rest_sides = z, e
        for _ in range(2 if s else 0):  # once more, for what rounding left of the corral's span
            half = self._half(self.held @ rest + self.lift**2 * rest_sides[self.sides] - prices * c)
            column += half
            c += dtrtrs(self.factor[:, :s], half)[0]
            rest, rest_sides = z - c @ self.held, e - np.bincount(self.sides, c, minlength=self.n_sides)
        own = self.price[place] + (prices * c**2).sum()
        left = float(np.sqrt(rest @ rest + self.lift**2 * (rest_sides @ rest_sides) + own))
        if not left > INDEPENDENT * np.hypot(self.lift, self.lengths[place]):
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
        s = len(self.places)
        _, R = qr_delete(np.eye(s), self.factor[:s, :s], j, which="col", check_finite=False)
        self.factor[: s - 1, : s - 1] = R[: s - 1]
        self.a[self.places.pop(j)] = 0.0
        self._gather(j)

    # --- cycles ----------------------------------------------------------------------------------------------------------

    def _affine(self, refinements: int) -> tuple[Any, Any]:
        """The weights, of any sign, of the least point of the corral's affine hull, and the point.

        The point is corrected by itself: summed from weights that were rounded, it would be off by eps times the longest row,
        and its products with rows by that times another row, where hulls may be much nearer to each other than rows are long.
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

    def _system(self) -> tuple[Any, Any, Any]:
        E = (self.sides[:, None] == np.arange(self.n_sides)).astype(np.float64)
        B = self._whole(E)
        return E, B, np.linalg.inv(E.T @ B)

    def _correction(self, system: tuple[Any, Any, Any], y: Any, products: Any) -> Any:
        """What weights y lack of sums of 1 and of products that are equal on each side."""
        E, B, T = system
        level = (E.T @ products) / E.sum(axis=0)
        da = self._whole(level[self.sides] - products)
        return da + B @ (T @ ((1.0 - E.T @ y) - E.T @ da))

    def correct(self, products: Any) -> Any:
        """What the weights of the corral lack, by products that were measured better; they are not changed."""
        return self._correction(self._system(), self.a[self.places], products)

    def settle(self) -> None:
        """Minor cycles: down to the least point of the affine hull, dropping the rows whose weight runs out on the way."""
        while True:
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
        """The same corral's weights and point, as good as floats can hold."""
        y, v = self._affine(REFINEMENTS)
        if (y > 0).all():
            self.a[self.places], self.v = y, v

    def begin(self, places: Any, weights: Any) -> None:
        """Start from rows and weights of which each side has some; rows that depend on others are left out."""
        entered = [place for place in places if self._enter(int(place))]
        self.a[:] = 0.0
        self.a[entered] = np.maximum(weights[np.isin(places, entered)], 1e-300)
        self.a /= np.maximum(self.sums(self.a), 1e-300)[self.side]
        self.settle()

    def solve(self, tol: float, max_steps: int, deadline: float = math.inf) -> str:
        """Major cycles until no working row is behind the plane by more than the tolerance: how it ended, in a word."""
        aside = np.zeros(len(self.side), bool)
        least, entered = np.inf, 0
        polished = False
        while True:
            products, square = self.products(), self.square(self.v)
            level = self.sums(self.a * products)
            if square <= (MET * self.radius) ** 2:
                return "met"
            if square < least * (1.0 - EPS):
                least = square
                aside[:] = False
            elif not polished:
                aside[entered] = True
            behind = level[self.side] - products
            behind[aside] = behind[self.places] = -np.inf
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

    def grow(self, Z: Any, side: Any, price: Any, lengths: Any) -> None:
        """Other working rows, the first of which are those there were."""
        self.a = np.concatenate([self.a, np.zeros(len(side) - len(self.side))])
        self.Z, self.side, self.price, self.lengths = Z, side, price, lengths
