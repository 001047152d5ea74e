"""Scores, sums and products of rows, for the batch solvers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import inlined, kernel, operation
from .rows import CSR, Dense, Rows, axpy, dot, prefetch_row, span, sqnorm

ROWS_AHEAD = 8  # rows between a prefetch and its use
SPLITTER = 134217729.0  # 2^27 + 1, which splits a float64 into two halves of its digits


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


@inlined
def add_product(a: float, x: float, total: float, rest: float) -> tuple[float, float]:
    """total + rest + a x as a sum and what its rounding left (T. Dekker, Numerische Mathematik 18 (1971))."""
    p, split_a, split_x = a * x, SPLITTER * a, SPLITTER * x
    high_a, high_x = split_a - (split_a - a), split_x - (split_x - x)
    low_a, low_x = a - high_a, x - high_x
    left = ((high_a * high_x - p) + high_a * low_x + low_a * high_x) + low_a * low_x
    after = total + p
    part = after - total
    return after, rest + ((total - (after - part)) + (p - part)) + left


@operation
def axpy_twice(rows: Any, i: int, a: float, total: FloatArray, rest: FloatArray) -> Any:
    """total + rest += a x_i"""


@axpy_twice.of(Dense)
def _(rows: Dense, i: int, a: float, total: FloatArray, rest: FloatArray) -> Any:
    for j in range(total.shape[0]):
        total[j], rest[j] = add_product(a, np.float64(rows.values[i, j]), total[j], rest[j])


@axpy_twice.of(CSR)
def _(rows: CSR, i: int, a: float, total: FloatArray, rest: FloatArray) -> Any:
    start, stop = span(rows, i)
    for k in range(start, stop):
        j = np.uintp(rows.indices[k])
        total[j], rest[j] = add_product(a, np.float64(rows.values[k]), total[j], rest[j])


@kernel
def combine_twice(rows: Rows, wanted: IntArray, coefs: FloatArray, total: FloatArray, rest: FloatArray) -> None:
    """The same with twice the digits: total + rest += sum_r coefs[r] x_i."""
    for r in range(wanted.shape[0]):
        axpy_twice(rows, wanted[r], coefs[r], total, rest)


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
