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

from typing import Any

import numpy as np
from scipy.linalg import qr_delete, solve_triangular

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
        self.places: list[int] = []  # the rows of the corral, in the order of the factor's columns
        self.factor = np.zeros((8, 8))
        self.steps = 0
        self.lengths = lengths  # of the working rows
        self.lift = max(1.0, float(lengths.max()))  # the sides count about as much as the rows, whose largest value is about 1

    # --- the lifted rows (z_i, lift * side of i, sqrt(q_i) e_i) ----------------------------------------------------------

    @property
    def radius(self) -> float:
        return float(self.lengths.max())

    def point(self, a: Any) -> Any:
        return a @ self.Z

    def sums(self, a: Any) -> Any:
        return np.bincount(self.side, a, minlength=self.n_sides)

    def products(self, a: Any) -> Any:
        """z_i . (sum_j a_j z_j), and the price, for all working rows."""
        return self.Z @ self.point(a) + self.price * a

    def _lifted_products(self, a: Any) -> Any:
        return self.products(a) + (self.lift**2 * self.sums(a))[self.side]

    # --- the factor: R'R = products of the lifted rows of the corral -----------------------------------------------------

    def _solve(self, b: Any) -> Any:
        s = len(self.places)
        R = self.factor[:s, :s]
        half = solve_triangular(R, b, trans="T", check_finite=False)
        return solve_triangular(R, half, check_finite=False)

    def _enter(self, place: int) -> bool:
        """Append a row to the factor; False where it is not independent of the corral, as far as floats can tell."""
        s = len(self.places)
        rest = np.zeros(len(self.side))  # the part of the row that is not in the corral's span, as a combination of rows
        rest[place] = 1.0
        column = np.zeros(s)
        for _ in range(2 if s else 0):
            b = self._lifted_products(rest)[self.places]
            half = solve_triangular(self.factor[:s, :s], b, trans="T", check_finite=False)
            column += half
            rest[self.places] -= solve_triangular(self.factor[:s, :s], half, check_finite=False)
        left = np.linalg.norm(self.point(rest)) ** 2 + self.lift**2 * (self.sums(rest) ** 2).sum()
        left = np.sqrt(left + (self.price * rest**2).sum())
        if not left > INDEPENDENT * np.hypot(self.lift, self.lengths[place]):
            return False
        if s == len(self.factor):
            grown = np.zeros((2 * s, 2 * s))
            grown[:s, :s] = self.factor
            self.factor = grown
        self.factor[:s, s], self.factor[s, s] = column, left
        self.places.append(place)
        return True

    def _drop(self, j: int) -> None:
        s = len(self.places)
        _, R = qr_delete(np.eye(s), self.factor[:s, :s], j, which="col", check_finite=False)
        self.factor[: s - 1, : s - 1] = R[: s - 1]
        self.a[self.places.pop(j)] = 0.0

    # --- cycles ----------------------------------------------------------------------------------------------------------

    def _affine(self) -> tuple[Any, Any]:
        """The weights, of any sign, of the least point of the corral's affine hull, and the point.

        The point is corrected by itself: summed from weights that were rounded, it would be off by eps times the longest row,
        and its products with rows by that times another row, where hulls may be much nearer to each other than rows are long.
        """
        s, places = len(self.places), self.places
        sides = self.side[places]
        E = np.zeros((s, self.n_sides))
        E[np.arange(s), sides] = 1.0
        B = self._solve(E)
        T = E.T @ B
        y = B @ np.linalg.solve(T, np.ones(self.n_sides))
        full, last = np.zeros(len(self.side)), np.inf
        full[places] = y
        v = self.point(full)
        for _ in range(REFINEMENTS):
            products = (self.Z @ v)[places] + self.price[places] * y
            level = np.bincount(sides, products, minlength=self.n_sides) / E.sum(axis=0)
            b = level[sides] - products
            da = self._solve(b)
            da += B @ np.linalg.solve(T, (1.0 - E.T @ y) - E.T @ da)
            size = float(abs(da).max())
            if not size < last / 2:
                break
            full[places] = da
            y, v, last = y + da, v + self.point(full), size
        return y, v

    def settle(self) -> None:
        """Minor cycles: down to the least point of the affine hull, dropping the rows whose weight runs out on the way."""
        while True:
            x, (y, v) = self.a[self.places], self._affine()
            out = np.flatnonzero(y <= EPS)
            if not len(out):
                self.a[self.places], self.v = y, v
                return
            way = np.maximum(x[out] - y[out], 1e-300)
            reach = np.minimum(x[out] / way, 1.0)
            first = int(reach.argmin())
            x = np.maximum(x + reach[first] * (y - x), 0.0)
            x[out[first]] = 0.0
            self.a[self.places] = x / np.bincount(self.side[self.places], x, minlength=self.n_sides)[self.side[self.places]]
            self._drop(int(out[first]))

    def begin(self, places: Any, weights: Any) -> None:
        """Start from rows and weights of which each side has some; rows that depend on others are left out."""
        entered = [place for place in places if self._enter(int(place))]
        self.a[:] = 0.0
        self.a[entered] = np.maximum(weights[np.isin(places, entered)], 1e-300)
        self.a /= np.maximum(self.sums(self.a), 1e-300)[self.side]
        self.settle()

    def solve(self, tol: float, max_steps: int) -> str:
        """Major cycles until no working row is behind the plane by more than the tolerance: how it ended, in a word."""
        aside = np.zeros(len(self.side), bool)
        least, entered = np.inf, 0
        while True:
            v = self.v
            products = self.Z @ v + self.price * self.a
            level = self.sums(self.a * products)
            square = float(v @ v + (self.price * self.a**2).sum())
            if square <= (MET * self.radius) ** 2:
                return "met"
            if square < least * (1.0 - EPS):
                least = square
                aside[:] = False
            else:
                aside[entered] = True
            behind = level[self.side] - products
            behind[aside] = behind[self.places] = -np.inf
            entered = int(behind.argmax())
            if not behind[entered] > max(0.1 * tol * square, 2 * EPS * self.lengths[entered] * np.sqrt(square)):
                return "least"
            if self.steps >= max_steps:
                return "steps"
            self.steps += 1
            if self._enter(entered):
                self.settle()

    def grow(self, Z: Any, side: Any, price: Any, lengths: Any) -> None:
        """Other working rows, the first of which are those there were."""
        self.a = np.concatenate([self.a, np.zeros(len(side) - len(self.side))])
        self.Z, self.side, self.price, self.lengths = Z, side, price, lengths
