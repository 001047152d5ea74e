"""The columns of a problem with the L1 penalty: products with all of them, and copies of some.

Sparse columns are a second copy of X, made once. Of dense columns, only those in use are copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..array_types import FloatArray, IntArray
from ..data.problem import make_rows, read_only, rows_as_matrix, rows_width
from ..kernels.linear.row_blocks import combine, score
from ..kernels.linear.rows import CSR, Dense, Rows

LARGE = 1e100  # columns of larger values are scaled


class Columns:
    """The columns of X, and a last one of a penalized intercept, if x0 is not 0."""

    def __init__(self, rows: Rows, x0: float) -> None:
        self.rows, self.x0 = rows, x0
        self.n = rows.values.shape[0] if isinstance(rows, Dense) else len(rows.indptr) - 1
        self.width = rows_width(rows) + (x0 != 0.0)
        self._csc: Any = None
        if isinstance(rows, CSR):
            matrix: Any = rows_as_matrix(rows, 0, self.n)
            if x0 != 0.0:
                matrix = sp.hstack([matrix, np.full((self.n, 1), x0, matrix.dtype)], format="csr")
            self._csc = matrix.tocsc()
            self._transposed = _transpose(self._csc)
        self._every = np.arange(self.width)

    def products(self, v: FloatArray) -> FloatArray:
        """The products of all columns with v."""
        out = np.zeros(self.width)
        if self._csc is not None:
            score(self._transposed, self._every, v, 0.0, out)
        else:
            combine(self.rows, np.arange(self.n), v, out[: rows_width(self.rows)])
            if self.x0 != 0.0:
                out[-1] = self.x0 * float(v.sum())
        return out

    def sum(self, weights: FloatArray) -> FloatArray:
        """The sum of all columns, times their weights."""
        used = np.flatnonzero(weights)
        if self._csc is None:
            return score_of(self.rows, self.n, weights[: rows_width(self.rows)], self.x0 * float(weights[-1]))
        total = np.zeros(self.n)
        combine(self._transposed, used, weights[used], total)
        return total

    def as_rows(self, wanted: IntArray) -> Rows:
        """A copy of some columns, ascending, as rows of a problem."""
        if self._csc is not None:
            return make_rows(sp.csr_array(self._csc[:, wanted]))
        values = np.empty((self.n, len(wanted)), self.rows.values.dtype)
        own = wanted[wanted < rows_width(self.rows)]
        values[:, : len(own)] = self.rows.values[:, own]
        values[:, len(own) :] = self.x0
        return Dense(read_only(values))

    def take(self, wanted: IntArray) -> tuple[Rows, IntArray]:
        """Rows of a transpose, and the places of some columns, ascending, among them."""
        if self._csc is not None:
            return self._transposed, wanted
        rows = self.as_rows(wanted)
        assert isinstance(rows, Dense)
        return Dense(read_only(np.ascontiguousarray(rows.values.T))), np.arange(len(wanted))


def large_columns(rows: Rows) -> IntArray | None:
    """The exponents of the largest absolute values of the columns, if a square of a value could overflow; else None."""
    values = rows.values
    if max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))) <= LARGE:
        return None
    largest = np.zeros(rows_width(rows))
    if isinstance(rows, CSR):
        np.maximum.at(largest, rows.indices, abs(values))
    else:
        largest = abs(values).max(axis=0)
    exponents: IntArray = np.where(largest > LARGE, np.frexp(largest)[1], 0)
    return exponents


def scaled_rows(rows: Rows, exponents: IntArray) -> Rows:
    """A copy of the rows with columns times 2^exponent."""
    if isinstance(rows, CSR):
        return rows._replace(values=read_only(np.ldexp(rows.values, exponents[rows.indices])))
    return Dense(read_only(np.ldexp(rows.values, exponents)))


def _transpose(csc: Any) -> Rows:
    return make_rows(sp.csr_array((csc.data, csc.indices, csc.indptr), csc.shape[::-1]))


def score_of(rows: Rows, n: int, w: FloatArray, shift: float) -> FloatArray:
    """<w, x_i> + shift for all n rows."""
    out = np.empty(n)
    score(rows, np.arange(n), np.ascontiguousarray(w), shift, out)
    return out
