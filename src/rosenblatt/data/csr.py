"""Sparse rows outside the kernels: one CSR matrix as three NumPy arrays.

Readers, recipes, caches and models exchange rows as `CSRMatrix`. It needs no SciPy, whose import takes longer than a small
prediction. Kernels use their own NamedTuple, `kernels.linear.rows.CSR`: `data.problem.make_rows` converts to it, and
`CSRMatrix.from_kernel` back, without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..array_types import Array, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy import sparse

    from ..kernels.linear.rows import CSR

# Stored values multiplied at a time, so that temporary arrays stay small.
VALUES_PER_PRODUCT = 1 << 20


@dataclass(frozen=True, eq=False)
class CSRMatrix:
    """A CSR matrix: row i holds `values[indptr[i]:indptr[i + 1]]` in the columns `indices[indptr[i]:indptr[i + 1]]`.

    >>> rows = CSRMatrix.from_dense(np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 3.0]]))
    >>> rows.shape, rows.indptr.tolist(), (rows @ np.array([[10.0], [1.0]])).ravel().tolist()
    ((3, 2), [0, 1, 1, 3], [2.0, 0.0, 13.0])
    """

    values: FloatArray
    # Column numbers from 0, ascending within a row unless `any_order` allows others and repeated ones; int32 or SciPy's type.
    indices: IntArray
    indptr: IntArray  # int64
    width: int  # number of columns

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.width

    @classmethod
    def from_dense(cls, X: FloatArray) -> CSRMatrix:
        """The nonzero values of an array."""
        rows, columns = np.nonzero(X)
        return cls(X[rows, columns], columns.astype(np.int32), row_pointers(np.bincount(rows, minlength=len(X))), X.shape[1])

    @classmethod
    def from_scipy(cls, X: sparse.sparray | sparse.spmatrix, *, any_order: bool = False) -> CSRMatrix:
        """Convert a SciPy matrix. A copy is made if columns do not ascend within rows or are repeated, and not `any_order`."""
        csr: Any = X.tocsr()
        if not (any_order or csr.has_canonical_format):
            csr = csr.copy()  # the caller's matrix is not changed
            csr.sum_duplicates()
        return cls(csr.data, csr.indices, csr.indptr.astype(np.int64, copy=False), int(csr.shape[1]))

    @classmethod
    def from_kernel(cls, rows: CSR) -> CSRMatrix:
        """The kernels' view of CSR rows, sharing its arrays."""
        return cls(rows.values, rows.indices, rows.indptr, int(rows.width))

    def to_scipy(self) -> sparse.csr_array:
        """A SciPy CSR array that shares the arrays."""
        import scipy.sparse as sp

        return sp.csr_array((self.values, self.indices, self.indptr), shape=self.shape, copy=False)

    def toarray(self) -> FloatArray:
        """All rows as a dense float64 array."""
        X = np.zeros(self.shape)
        low, high = int(self.indptr[0]), int(self.indptr[-1])
        X[self.row_numbers(), self.indices[low:high]] = self.values[low:high]
        return X

    def row_numbers(self) -> IntArray:
        """The row of each stored value."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    def slice(self, start: int, stop: int) -> CSRMatrix:
        """The rows from `start` to `stop`; values and indices are views."""
        low, high = int(self.indptr[start]), int(self.indptr[stop])
        return CSRMatrix(self.values[low:high], self.indices[low:high], self.indptr[start : stop + 1] - low, self.width)

    def take(self, rows: Array) -> CSRMatrix:
        """A copy of some rows, given as a mask or as row numbers."""
        lengths = np.diff(self.indptr)[rows]
        indptr = row_pointers(lengths)
        source = np.repeat(self.indptr[:-1][rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return CSRMatrix(self.values[source], self.indices[source], indptr, self.width)

    __getitem__ = take

    def with_width(self, width: int) -> CSRMatrix:
        """The first `width` columns; missing columns are zero."""
        if self.width == width:
            return self
        kept = np.ones(0, bool) if self.width < width else self.indices < width
        if kept.all():
            return CSRMatrix(self.values, self.indices, self.indptr, width)
        before = np.concatenate([[0], np.cumsum(kept)])
        return CSRMatrix(self.values[kept], self.indices[kept], before[self.indptr].astype(np.int64), width)

    def without_zeros(self) -> CSRMatrix:
        """The same matrix without explicit zeros."""
        kept = self.values != 0
        if kept.all():
            return self
        before = np.concatenate([[0], np.cumsum(kept)])
        return CSRMatrix(self.values[kept], self.indices[kept], before[self.indptr].astype(np.int64), self.width)

    def __matmul__(self, weights: FloatArray) -> FloatArray:
        """Rows x heads, the products of a row added in the order of its columns: the same bits as SciPy."""
        n = self.shape[0]
        out = np.zeros((n, weights.shape[1]), np.result_type(weights, self.values))
        start = 0
        while start < n:
            limit = self.indptr[start] + VALUES_PER_PRODUCT
            stop = max(start + 1, int(np.searchsorted(self.indptr, limit, side="right")) - 1)
            part = self.slice(start, stop)
            rows = part.row_numbers()
            for h in range(weights.shape[1]):
                # bincount adds in float64 and in order; np.add.reduceat would add pairwise.
                out[start:stop, h] = np.bincount(rows, part.values * weights[part.indices, h], stop - start)
            start = stop
        return out


def hstack(blocks: Sequence[CSRMatrix], n_rows: int) -> CSRMatrix:
    """Matrices side by side: the columns of all blocks, in their order."""
    counts = [np.diff(block.indptr) for block in blocks]
    indptr = row_pointers(sum(counts, np.zeros(n_rows, np.int64)))
    values, indices = np.empty(int(indptr[-1])), np.empty(int(indptr[-1]), np.int32)
    begin, offset = indptr[:-1].copy(), 0
    for block, count in zip(blocks, counts, strict=True):
        places = np.repeat(begin - block.indptr[:-1], count) + np.arange(len(block.values))
        values[places] = block.values
        indices[places] = block.indices + np.int32(offset)
        begin += count
        offset += block.width
    return CSRMatrix(values, indices, indptr, offset)


def vstack(parts: Sequence[CSRMatrix], width: int) -> CSRMatrix:
    """Matrices one below the other, with `width` columns."""
    counts = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.indptr) for part in parts)])
    values = np.concatenate([part.values for part in parts]) if parts else np.zeros(0)
    indices = np.concatenate([part.indices for part in parts]) if parts else np.zeros(0, np.int32)
    return CSRMatrix(values, indices, row_pointers(counts), width)


def row_pointers(counts: Array) -> IntArray:
    """`indptr` of rows with these numbers of stored values.

    >>> row_pointers(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr
