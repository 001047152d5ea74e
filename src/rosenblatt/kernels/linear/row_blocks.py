"""Scores, sums and products of rows, for the batch solvers."""

from __future__ import annotations

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import kernel
from .rows import CSR, Rows, axpy, dot, prefetch_row, span, sqnorm

ROWS_AHEAD = 8  # rows between a prefetch and its use


@kernel
def score(rows: Rows, wanted: IntArray, w: FloatArray, shift: float, out: FloatArray) -> None:
    """out[r] = <x_i, w> + shift for the r-th wanted row i."""
    m = wanted.shape[0]
    for r in range(m):
        if r + ROWS_AHEAD < m:
            prefetch_row(rows, wanted[r + ROWS_AHEAD])
        out[r] = dot(rows, wanted[r], w) + shift


@kernel
def combine(rows: Rows, wanted: IntArray, coefs: FloatArray, w: FloatArray) -> None:
    """w += sum_r coefs[r] x_i over the wanted rows i; rows with a coefficient of zero are skipped."""
    m = wanted.shape[0]
    for r in range(m):
        if r + ROWS_AHEAD < m:
            prefetch_row(rows, wanted[r + ROWS_AHEAD])
        if coefs[r] != 0.0:
            axpy(rows, wanted[r], coefs[r], w)


@kernel
def gather(rows: Rows, wanted: IntArray, scale: FloatArray, x0: float, out: FloatArray) -> None:
    """out[r] = scale[r] (x_i, x_0): a block of float64 rows with the constant in the last column."""
    d = out.shape[1] - 1
    for r in range(wanted.shape[0]):
        row = out[r]
        for j in range(d):
            row[j] = 0.0
        axpy(rows, wanted[r], scale[r], row[:d])
        row[d] = scale[r] * x0


@kernel
def lengths(rows: Rows, shift: float, out: FloatArray) -> None:
    """out[i] = |x_i|^2 + shift"""
    for i in range(out.shape[0]):
        out[i] = sqnorm(rows, i) + shift


@kernel
def add_pairs(rows: CSR, wanted: IntArray, coefs: FloatArray, x0: float, H: FloatArray) -> None:
    """H += sum_r coefs[r] (x_i, x_0) (x_i, x_0)^T for sparse rows: the upper triangle and the last row, one product for each
    pair of nonzeros."""
    d = H.shape[0] - 1
    for r in range(wanted.shape[0]):
        i, a = wanted[r], coefs[r]
        if a == 0.0:
            continue
        start, stop = span(rows, i)
        for j in range(start, stop):
            row, x = H[np.uintp(rows.indices[j])], a * rows.values[j]
            for other in range(j, stop):
                row[np.uintp(rows.indices[other])] += x * rows.values[other]
        axpy(rows, i, a * x0, H[d, :d])
        H[d, d] += a * x0 * x0


@kernel
def add_scaled_pairs(rows: CSR, weights: FloatArray, units: FloatArray, gram: FloatArray) -> None:
    """gram += sum_i c_i x_i x_i', upper triangle only; columns are sorted within each CSR row, and divided by `units`."""
    values, indices, indptr = rows.values, rows.indices, rows.indptr
    for i in range(indptr.shape[0] - 1):
        c = weights[i] if weights.shape[0] > 0 else 1.0
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        for a in range(start, stop):
            column = np.uintp(indices[a])
            scaled, line = c * np.float64(values[a]), gram[column]
            if units.shape[0] == 0:
                for b in range(a, stop):
                    line[np.uintp(indices[b])] += scaled * values[b]
            else:
                scaled /= units[column]
                for b in range(a, stop):
                    other = np.uintp(indices[b])
                    line[other] += scaled * (values[b] / units[other])
