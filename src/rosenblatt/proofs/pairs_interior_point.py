"""The nearest point of a few thousand pairs of rows and rivals, by an interior-point method on their Gram matrix.

Problem    min 1/2 |sum_i a_i q_i|^2  s.t.  a >= 0, sum a = 1; with free intercepts also: the weights for and against each class
           are equal. The q_i are the vectors of `class_pairs.py`.
Update     Mehrotra's predictor and corrector on the products q_i.q_j; then the linear system of the pairs with positive weight.
Guarantee  none: the caller measures the result exactly, as planes and as weights. An active set adds pairs one at a time, which
           is too slow if thousands support the planes; and a free intercept modeled as a long constant loses digits.
Reference  S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optimization 2 (1992).
"""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..array_types import FloatArray, IntArray
from ..certificates.statements import Plane
from .class_pairs import KeslerRows

MAX_STEPS = 60
COMPLEMENTARITY_TOL = 1e-14  # complementarity at the end, relative to the squared distance
MIN_STEP_LENGTH = 1e-8
MAX_REFINEMENTS = 8
STEP_FRACTION = 0.995  # share of the distance to the boundary that a step goes


class PairsInteriorPoint:
    """The interior-point method on the Gram matrix of some pairs of rows and rivals.

    With `free` intercepts, which do not count in norms, the mean of the rows is subtracted first; this changes no margin.
    """

    def __init__(self, rows: KeslerRows, places: IntArray, free: bool) -> None:
        self.rows, self.places, self.free = rows, np.asarray(places), free
        self.i, self.z = rows.pair(self.places)
        members, self.at = np.unique(self.i, return_inverse=True)
        self.own, k = rows.codes[self.i], rows.k
        some = rows.X[members]
        B = (some if isinstance(some, np.ndarray) else some.toarray()).astype(np.float64)
        self.x0 = 0.0 if free else rows.x0
        self.exponent = -int(np.frexp(max(abs(B).max(initial=0.0), self.x0))[1])
        B = np.ldexp(B, self.exponent)
        self.mean = B.mean(axis=0) if free else np.zeros(B.shape[1])
        self.B = np.column_stack([np.full(len(B), np.ldexp(self.x0, self.exponent)), B - self.mean])
        E = np.eye(k)[self.own] - np.eye(k)[self.z]
        sums = [np.ones((len(self.i), 1)), E[:, : k - 1]] if free else [np.ones((len(self.i), 1))]
        self.A = np.concatenate(sums, axis=1)  # constraints: the weights sum to 1, and to 0 for each class
        self.r = np.zeros(self.A.shape[1])
        self.r[0] = 1.0
        self.G = (self.B @ self.B.T)[np.ix_(self.at, self.at)]
        self.G *= E @ E.T

    def point(self, a: FloatArray) -> FloatArray:
        """The combination of the vectors with weights a, one row for each class."""
        by_row = np.zeros((len(self.B), self.rows.k))
        np.add.at(by_row, (self.at, self.own), a)
        np.add.at(by_row, (self.at, self.z), -a)
        combined: FloatArray = by_row.T @ self.B
        return combined

    def products(self, a: FloatArray) -> FloatArray:
        """The product of every vector with their combination, G a."""
        scores = self.B @ self.point(a).T
        products: FloatArray = scores[self.at, self.own] - scores[self.at, self.z]
        return products

    def planes(self, a: FloatArray, y: FloatArray) -> list[Plane]:
        """The planes of weights a and of the multipliers y of the constraints."""
        unit, intercepts = Fraction(2) ** self.exponent, [*y[1:].tolist(), 0.0] if self.free else [0.0] * self.rows.k
        out = []
        for (first, *u), b in zip(self.point(a).tolist(), intercepts, strict=True):
            # Exactly: if the mean is far from zero, a rounded intercept would lose digits of the margin.
            shift = sum((Fraction(f) * Fraction(m) for f, m in zip(u, self.mean.tolist(), strict=True) if m), Fraction(0))
            intercept = Fraction(b) - shift + Fraction(first) * Fraction(self.x0) * unit
            out.append(Plane({c: Fraction(f) * unit for c, f in enumerate(u) if f}, intercept))
        return out

    def nearest(self, deadline: float) -> list[tuple[FloatArray, FloatArray]]:
        """Candidates for weights and multipliers: refined on the pairs with positive weight, if possible, and unrefined.

        min 1/2 a'Ga s.t. A'a = r, a >= 0: with slacks s, G a + A y = s and a s = mu.
        """
        with np.errstate(all="ignore"):
            return self._nearest(deadline)

    def _nearest(self, deadline: float) -> list[tuple[FloatArray, FloatArray]]:
        n, A, r = len(self.i), self.A, self.r
        a, y = np.full(n, 1.0 / n), np.zeros(A.shape[1])
        products = self.products(a)
        s = np.full(n, max(float(abs(products).max()), 1e-300))
        for _ in range(MAX_STEPS):
            square = float(a @ products)
            if not a @ s > COMPLEMENTARITY_TOL * square or time.monotonic() >= deadline:
                break
            system = _System(self.G, A, s / a)
            if system.factor is None:
                break
            dual_residual, primal_residual = -(products + A @ y - s), r - A.T @ a
            da, dy = system.solve(dual_residual - s, primal_residual)
            ds = -s - s / a * da
            predicted = (a + min(1.0, _max_step(a, da)) * da) @ (s + min(1.0, _max_step(s, ds)) * ds)
            mu = (predicted / (a @ s)) ** 3 * (a @ s) / n
            target = mu / a - s - da * ds / a
            da, dy = system.solve(dual_residual + target, primal_residual)
            ds = target - s / a * da
            length = min(1.0, STEP_FRACTION * min(_max_step(a, da), _max_step(s, ds)))
            if not (length > MIN_STEP_LENGTH and np.isfinite(da).all() and np.isfinite(dy).all()):
                break
            a, y, s = a + length * da, y + length * dy, s + length * ds
            products = self.products(a)
        return [*self._refined(a, y, s), (a, y)]

    def _refined(self, a: FloatArray, y: FloatArray, s: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """The solution of the linear system of the pairs whose weight exceeds their slack; empty if it is singular."""
        held = np.flatnonzero(a / a.max() > s / max(float(s.max()), float(a @ self.products(a))))
        a = np.where(np.isin(np.arange(len(a)), held), a, 0.0)
        G, A, last = self.G[np.ix_(held, held)], self.A[held], np.inf
        system = _System(G, A, np.full(len(held), 1e-13 * float(G.diagonal().max(initial=0.0))))
        if system.factor is None:
            return []
        for _ in range(MAX_REFINEMENTS):
            da, dy = system.solve(-(self.products(a)[held] + A @ y), self.r - A.T @ a[held])
            if not abs(da).max() < last / 2:
                break
            a[held], y, last = a[held] + da, y + dy, abs(da).max()
        return [(np.maximum(a, 0.0), y)]


class _System:
    """(G + D) da + A dy = p, A' da = q, factored once; `factor` is None if G + D is not positive definite."""

    def __init__(self, G: FloatArray, A: FloatArray, D: FloatArray) -> None:
        H = G.copy()
        H[np.diag_indices_from(H)] += D
        try:
            self.factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
            self.A, self.B = A, cho_solve(self.factor, A, check_finite=False)
            self.S = np.linalg.pinv(A.T @ self.B, rcond=1e-14, hermitian=True)
        except (np.linalg.LinAlgError, ValueError):
            self.factor = None

    def solve(self, p: FloatArray, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        da = cho_solve(self.factor, p, check_finite=False)
        dy = self.S @ (self.A.T @ da - q)
        return da - self.B @ dy, dy


def _max_step(x: FloatArray, dx: FloatArray) -> float:
    """The largest t with x + t dx >= 0."""
    steepest = float((dx / x).min())
    return -1.0 / steepest if steepest < 0.0 else np.inf
