"""Several classes as a one-sided problem: each row against each rival class (Kesler's construction).

Problem    W separates when (w_l - w_z).p > 0 for every row p of class l and every z != l. Stack the w of all classes: that is
           <W, q> > 0 for the vectors q = (.., p at l, .., -p at z, ..), one for each row and rival.
Guarantee  min <W, q>/|W| is sqrt(2) times the margin of W: the least norm of a convex combination of the q is sqrt(2) times
           the widest margin.
Reference  C. Kesler's construction, in N. J. Nilsson, Learning Machines (1965).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..array_types import FloatArray, IntArray, Matrix
from ..svm.signed_rows import MAX_DENSE_COLUMNS, SignedRows, same_points

MAX_UNSCALED_EXPONENT = 400  # rows whose largest value is within 2 to plus or minus this need no scaled copy


class KeslerRows(SignedRows):
    """The vectors q for the nearest-points solver, computed on demand; place = row (k - 1) + rank of the rival."""

    def __init__(self, X: Matrix, codes: IntArray, n_classes: int, x0: float) -> None:
        self.X, self.codes, self.k, self.x0 = X, np.asarray(codes, np.intp), n_classes, x0
        n, d = X.shape
        self.offset = int(x0 != 0)
        self.width = d + self.offset
        self.n_rows, self.n_features = n * (n_classes - 1), n_classes * self.width
        self.dense = isinstance(X, np.ndarray)
        values: FloatArray = X if isinstance(X, np.ndarray) else X.data
        self.density = 2.0 * (values.size / n + self.offset)
        self.nbytes, self.weights = values.nbytes, np.zeros(0)
        self.index = np.arange(self.n_rows)
        self.signs, self.free, self.n_sides = np.ones(self.n_rows), False, 1
        self.side = np.zeros(self.n_rows, np.intp)
        self.center = np.zeros(self.n_features)
        self.extent = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)), abs(x0))
        self.exponent = -int(np.frexp(self.extent)[1])
        self.near = abs(self.exponent) <= MAX_UNSCALED_EXPONENT

    def pair(self, place: IntArray | int) -> tuple[IntArray, IntArray]:
        """The row and the rival of a place."""
        i, rank = np.divmod(place, self.k - 1)
        return i, rank + (rank >= self.codes[i])

    def place(self, i: int, rival: int) -> int:
        return int(i * (self.k - 1) + rival - (rival > self.codes[i]))

    def products(self, v: FloatArray) -> FloatArray:
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

    def _times(self, block: Matrix, exponent: int) -> Matrix:
        """The rows in float64, times a power of two."""
        if isinstance(block, np.ndarray):
            return np.ldexp(block.astype(np.float64), exponent)
        return sp.csr_array((np.ldexp(block.data.astype(np.float64), exponent), block.indices, block.indptr), block.shape)

    def take(self, places: IntArray) -> Matrix:
        vectors = self._vectors(places, self.exponent)
        return vectors if isinstance(vectors, np.ndarray) or self.n_features > MAX_DENSE_COLUMNS else vectors.toarray()

    def _vectors(self, places: IntArray, exponent: int) -> Matrix:
        i, rivals = self.pair(np.asarray(places))
        rows, own = self._times(self.X[i], exponent), self.codes[i]
        x0 = np.ldexp(self.x0, exponent)
        if isinstance(rows, np.ndarray) and self.n_features > MAX_DENSE_COLUMNS:
            rows = sp.csr_array(rows)  # all but two of the k parts of a vector are zero
        if isinstance(rows, np.ndarray):
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

    def gram(self) -> FloatArray:
        P = self._times(self.X, self.exponent)
        products = P @ P.T + np.ldexp(self.x0, self.exponent) ** 2
        i, rivals = self.pair(self.index)
        E = np.eye(self.k)[self.codes[i]] - np.eye(self.k)[rivals]
        found: FloatArray = (E @ E.T) * products[np.ix_(i, i)]
        return found

    def raw(self, places: IntArray) -> tuple[IntArray, FloatArray]:
        rows = self._vectors(places, 0)  # unscaled: scaling would lose small values beside large ones
        if isinstance(rows, np.ndarray):
            columns = np.flatnonzero(rows.any(axis=0))
            return columns, rows[:, columns]
        columns = np.unique(rows.indices)
        return columns, rows[:, columns].toarray()

    def find_equal_rows(self) -> list[int] | None:
        found = same_points([self.X], self.codes, self.x0 == 0)
        if found is None or len(found) == 1:
            return None if found is None else [found[0] * (self.k - 1)]
        i, j = found
        return sorted([self.place(i, self.codes[j]), self.place(j, self.codes[i])])

    def mean(self) -> FloatArray:
        """The class means minus their mean."""
        members = np.eye(self.k)[self.codes] / np.bincount(self.codes, minlength=self.k)
        means = np.asarray((self._times(self.X, self.exponent).T @ members).T)
        out = np.zeros((self.k, self.width))
        out[:, self.offset :] = means - means.mean(axis=0)
        return out.ravel()
