"""Several classes as one side of one problem: each row against each rival class.

Problem    W separates when (w_l - w_z).p > 0 for every row p of class l and every z != l. Stack the w of all classes: that is
           <W, q> > 0 for the vectors q = (.., p at l, .., -p at z, ..), one for each row and rival.
Guarantee  min <W, q>/|W| is sqrt(2) times the margin of W: the least norm of a convex combination of the q is sqrt(2) times
           the widest margin.
Reference  C. Kesler's construction, in N. J. Nilsson, Learning Machines (1965).
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from ..certificates.statements import Plane
from ..svm.signed_rows import MAX_DENSE_COLUMNS, SignedRows, same_points


class KeslerRows(SignedRows):
    """The vectors q, none of them stored, as the nearest-points solver sees them; place = row (k - 1) + rank of the rival."""

    def __init__(self, X: Any, codes: Any, n_classes: int, x0: float) -> None:
        self.X, self.codes, self.k, self.x0 = X, np.asarray(codes, np.intp), n_classes, x0
        n, d = X.shape
        self.offset = int(x0 != 0)
        self.width = d + self.offset
        self.n_rows, self.n_features = n * (n_classes - 1), n_classes * self.width
        self.dense = isinstance(X, np.ndarray)
        values = X if self.dense else X.data
        self.density = 2.0 * (values.size / n + self.offset)
        self.nbytes, self.weights = values.nbytes, np.zeros(0)
        self.index = np.arange(self.n_rows)
        self.signs, self.free, self.n_sides = np.ones(self.n_rows), False, 1
        self.side = np.zeros(self.n_rows, np.intp)
        self.center = np.zeros(self.n_features)
        self.extent = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)), abs(x0))
        self.exponent = -int(np.frexp(self.extent)[1])
        self.near = abs(self.exponent) <= 400

    def pair(self, place: Any) -> tuple[Any, Any]:
        """The row and the rival of a place."""
        i, rank = np.divmod(place, self.k - 1)
        return i, rank + (rank >= self.codes[i])

    def place(self, i: int, rival: int) -> int:
        return int(i * (self.k - 1) + rival - (rival > self.codes[i]))

    def products(self, v: Any) -> Any:
        U = v.reshape(self.k, self.width)
        if self.near:
            scores = self.X @ np.ldexp(U[:, self.offset :], self.exponent).T
        else:
            scores = self._times(self.X, self.exponent) @ U[:, self.offset :].T
        if self.offset:
            scores += np.ldexp(self.x0, self.exponent) * U[:, 0]
        own = scores[np.arange(len(scores)), self.codes]
        others = np.arange(self.k) != self.codes[:, None]
        return np.asarray((own[:, None] - scores)[others], np.float64)

    def _times(self, block: Any, exponent: int) -> Any:
        """The rows in float64, times a power of two."""
        if self.dense:
            return np.ldexp(block.astype(np.float64), exponent)
        return sp.csr_array((np.ldexp(block.data.astype(np.float64), exponent), block.indices, block.indptr), block.shape)

    def take(self, places: Any) -> Any:
        vectors = self._vectors(places, self.exponent)
        return vectors if self.dense or self.n_features > MAX_DENSE_COLUMNS else vectors.toarray()

    def _vectors(self, places: Any, exponent: int) -> Any:
        i, rivals = self.pair(np.asarray(places))
        rows, own = self._times(self.X[i], exponent), self.codes[i]
        x0 = np.ldexp(self.x0, exponent)
        if self.dense:
            here, out = np.arange(len(i)), np.zeros((len(i), self.k, self.width))
            out[here, own, self.offset :], out[here, rivals, self.offset :] = rows, -rows
            if self.offset:
                out[here, own, 0], out[here, rivals, 0] = x0, -x0
            return out.reshape(len(i), -1)
        row_of = np.repeat(np.arange(len(i)), np.diff(rows.indptr))
        one = np.arange(len(i)) if self.offset else np.zeros(0, np.intp)
        parts = []
        for at, sign in ((own, 1.0), (rivals, -1.0)):
            parts.append((sign * rows.data, row_of, at[row_of] * self.width + self.offset + rows.indices))
            parts.append((np.full(len(one), sign * x0), one, at[one] * self.width))
        values, where, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
        return sp.csr_array((values, (where, columns)), shape=(len(i), self.n_features))

    def gram(self) -> Any:
        P = self._times(self.X, self.exponent)
        products = P @ P.T + np.ldexp(self.x0, self.exponent) ** 2
        i, rivals = self.pair(self.index)
        E = np.eye(self.k)[self.codes[i]] - np.eye(self.k)[rivals]
        return (E @ E.T) * products[np.ix_(i, i)]

    def raw(self, places: Any) -> tuple[Any, Any]:
        rows = self._vectors(places, 0)  # not scaled to and fro: small values beside large ones would be lost
        columns = np.flatnonzero(rows.any(axis=0)) if self.dense else np.unique(rows.indices)
        values = rows[:, columns] if self.dense else rows[:, columns].toarray()
        return columns, values

    def twins(self) -> list[int] | None:
        found = same_points([self.X], self.codes, self.x0 == 0)
        if found is None or len(found) == 1:
            return None if found is None else [found[0] * (self.k - 1)]
        i, j = found
        return sorted([self.place(i, self.codes[j]), self.place(j, self.codes[i])])

    def mean(self) -> Any:
        """The class means, from their own mean."""
        members = np.eye(self.k)[self.codes] / np.bincount(self.codes, minlength=self.k)
        means = np.asarray((self._times(self.X, self.exponent).T @ members).T)
        out = np.zeros((self.k, self.width))
        out[:, self.offset :] = means - means.mean(axis=0)
        return out.ravel()


# --- The nearest point of a few thousand vectors of `kesler.py`, by an interior point on their products with each other.
#
# Problem    min 1/2 |sum_i a_i q_i|^2  s.t.  a >= 0, sum a = 1; where intercepts are free, the weights for and against each
#            class are equal too.
# Update     Mehrotra's predictor and corrector on the products q_i.q_j; then the linear system of the pairs that weigh
#            something.
# Guarantee  none: what is found is measured exactly by whoever asks, as planes and as weights. An active set takes pairs in
#            one by one, which is too slow where thousands hold the planes; and a free intercept as a long constant costs
#            digits.
# Reference  S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optimization 2 (1992).

STEPS = 60  # of the interior-point method
ENOUGH = 1e-14  # complementarity, relative to the squared distance
STUCK = 1e-8  # a step this short leads nowhere
REFINEMENTS = 8


class SomePairs:
    """The vectors q of some rows and rivals, by their products: for the interior-point method of `nearest`.

    free : the intercepts cost nothing. Rows are then taken from their mean, which moves no margin.
    """

    def __init__(self, rows: KeslerRows, places: Any, free: bool) -> None:
        self.rows, self.places, self.free = rows, np.asarray(places), free
        self.i, self.z = rows.pair(self.places)
        members, self.at = np.unique(self.i, return_inverse=True)
        self.own, k = rows.codes[self.i], rows.k
        B = rows.X[members].astype(np.float64) if rows.dense else rows.X[members].toarray().astype(np.float64)
        self.x0 = 0.0 if free else rows.x0
        self.exponent = -int(np.frexp(max(abs(B).max(initial=0.0), self.x0))[1])
        B = np.ldexp(B, self.exponent)
        self.mean = B.mean(axis=0) if free else np.zeros(B.shape[1])
        self.B = np.column_stack([np.full(len(B), np.ldexp(self.x0, self.exponent)), B - self.mean])
        E = np.eye(k)[self.own] - np.eye(k)[self.z]
        sums = [np.ones((len(self.i), 1)), E[:, : k - 1]] if free else [np.ones((len(self.i), 1))]
        self.A = np.concatenate(sums, axis=1)  # what the weights must sum to: 1, and each class to 0
        self.r = np.zeros(self.A.shape[1])
        self.r[0] = 1.0
        self.G = (self.B @ self.B.T)[np.ix_(self.at, self.at)]
        self.G *= E @ E.T

    def point(self, a: Any) -> Any:
        """The combination of the vectors, a line for each class."""
        by_row = np.zeros((len(self.B), self.rows.k))
        np.add.at(by_row, (self.at, self.own), a)
        np.add.at(by_row, (self.at, self.z), -a)
        return by_row.T @ self.B

    def products(self, a: Any) -> Any:
        scores = self.B @ self.point(a).T
        return scores[self.at, self.own] - scores[self.at, self.z]

    def planes(self, a: Any, y: Any) -> list[Plane]:
        """The planes of weights a and of the multipliers y of their sums."""
        unit, intercepts = Fraction(2) ** self.exponent, [*y[1:].tolist(), 0.0] if self.free else [0.0] * self.rows.k
        out = []
        for (first, *u), b in zip(self.point(a).tolist(), intercepts, strict=True):
            # Exactly: where the mean is far from zero, a rounded intercept would cost digits of the margin.
            shift = sum((Fraction(f) * Fraction(m) for f, m in zip(u, self.mean.tolist(), strict=True) if m), Fraction(0))
            intercept = Fraction(b) - shift + Fraction(first) * Fraction(self.x0) * unit
            out.append(Plane({c: Fraction(f) * unit for c, f in enumerate(u) if f}, intercept))
        return out

    def nearest(self, deadline: float) -> list[tuple[Any, Any]]:
        """Weights and multipliers by Mehrotra's predictor and corrector, and once more on the pairs that weigh something.

        min 1/2 a'Ga s.t. A'a = r, a >= 0: with slacks s, G a + A y = s and a s = mu. Nothing is promised: what is found is
        measured, or a start.
        """
        with np.errstate(all="ignore"):
            return self._nearest(deadline)

    def _nearest(self, deadline: float) -> list[tuple[Any, Any]]:
        n, A, r = len(self.i), self.A, self.r
        a, y = np.full(n, 1.0 / n), np.zeros(A.shape[1])
        products = self.products(a)
        s = np.full(n, max(float(abs(products).max()), 1e-300))
        for _ in range(STEPS):
            square = float(a @ products)
            if not a @ s > ENOUGH * square or time.monotonic() >= deadline:
                break
            system = _System(self.G, A, s / a)
            if system.factor is None:
                break
            off, lacks = -(products + A @ y - s), r - A.T @ a
            da, dy = system.solve(off - s, lacks)
            ds = -s - s / a * da
            after = (a + min(1.0, _room(a, da)) * da) @ (s + min(1.0, _room(s, ds)) * ds)
            centre = (after / (a @ s)) ** 3 * (a @ s) / n
            target = centre / a - s - da * ds / a
            da, dy = system.solve(off + target, lacks)
            ds = target - s / a * da
            length = min(1.0, 0.995 * min(_room(a, da), _room(s, ds)))
            if not (length > STUCK and np.isfinite(da).all() and np.isfinite(dy).all()):
                break
            a, y, s = a + length * da, y + length * dy, s + length * ds
            products = self.products(a)
        return [*self._polished(a, y, s), (a, y)]

    def _polished(self, a: Any, y: Any, s: Any) -> list[tuple[Any, Any]]:
        held = np.flatnonzero(a / a.max() > s / max(float(s.max()), float(a @ self.products(a))))
        a = np.where(np.isin(np.arange(len(a)), held), a, 0.0)
        G, A, last = self.G[np.ix_(held, held)], self.A[held], np.inf
        system = _System(G, A, np.full(len(held), 1e-13 * float(G.diagonal().max(initial=0.0))))
        if system.factor is None:
            return []
        for _ in range(REFINEMENTS):
            da, dy = system.solve(-(self.products(a)[held] + A @ y), self.r - A.T @ a[held])
            if not abs(da).max() < last / 2:
                break
            a[held], y, last = a[held] + da, y + dy, abs(da).max()
        return [(np.maximum(a, 0.0), y)]


class _System:
    """(G + D) da + A dy = p, A' da = q, factored once."""

    def __init__(self, G: Any, A: Any, D: Any) -> None:
        H = G.copy()
        H[np.diag_indices_from(H)] += D
        try:
            self.factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
            self.A, self.B = A, cho_solve(self.factor, A, check_finite=False)
            self.S = np.linalg.pinv(A.T @ self.B, rcond=1e-14, hermitian=True)
        except (np.linalg.LinAlgError, ValueError):
            self.factor = None

    def solve(self, p: Any, q: Any) -> tuple[Any, Any]:
        da = cho_solve(self.factor, p, check_finite=False)
        dy = self.S @ (self.A.T @ da - q)
        return da - self.B @ dy, dy


def _room(x: Any, dx: Any) -> float:
    steepest = float((dx / x).min())
    return -1.0 / steepest if steepest < 0.0 else np.inf
