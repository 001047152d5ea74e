"""The logistic loss of rows: its sum, gradient and products with its Hessian, each in one pass over the rows.

Loss       C_i log(1 + exp(-m_i)),  m_i = y_i (<w, x_i> + b). With q = exp(-|m|) no exponential overflows:
           log(1 + exp(-m)) = log(1 + q) + max(-m, 0),  p = s(-m) = (q or 1)/(1 + q),  p (1 - p) = q/(1 + q)^2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import kernel, operation
from .rows import CSR, Dense, Rows, axpy, dot, prefetch_row, span

ROWS_AHEAD = 8  # rows between a prefetch and its use


@kernel
def logistic_gradient(
    rows: Rows, wanted: IntArray, signs: FloatArray, costs: FloatArray, w: FloatArray, shift: float,
    margins: FloatArray, pulls: FloatArray, bends: FloatArray, gradient: FloatArray,
) -> float:  # fmt: skip
    """Return the loss of the wanted rows, and add its gradient in w to `gradient`.

    margins[r] = m_i, pulls[r] = C_i p_i (the multiplier of the row), bends[r] = C_i p_i (1 - p_i).
    """
    count, total = wanted.shape[0], 0.0
    for r in range(count):
        i = wanted[r]
        if r + ROWS_AHEAD < count:
            prefetch_row(rows, wanted[r + ROWS_AHEAD])
        y, C = signs[r], costs[r]
        m = y * (dot(rows, i, w) + shift)
        q = math.exp(-abs(m))
        p = (q if m > 0.0 else 1.0) / (1.0 + q)
        total += C * (math.log1p(q) + max(-m, 0.0))
        margins[r], pulls[r], bends[r] = m, C * p, C * q / ((1.0 + q) * (1.0 + q))
        axpy(rows, i, -C * p * y, gradient)
    return total


@kernel
def logistic_product(
    rows: Rows, wanted: IntArray, bends: FloatArray, w: FloatArray, shift: float, along: FloatArray, out: FloatArray
) -> None:
    """along[r] = <w, x_i> + shift, and out += sum_r bends[r] along[r] x_i."""
    count = wanted.shape[0]
    for r in range(count):
        i = wanted[r]
        if r + ROWS_AHEAD < count:
            prefetch_row(rows, wanted[r + ROWS_AHEAD])
        z = dot(rows, i, w) + shift
        along[r] = z
        axpy(rows, i, bends[r] * z, out)


@operation
def add_row_squares(rows: Any, i: int, a: float, out: FloatArray) -> Any:
    """out_j += a x_ij^2"""


@add_row_squares.of(Dense)
def _(rows: Dense, i: int, a: float, out: FloatArray) -> Any:
    for j in range(out.shape[0]):
        x = np.float64(rows.values[i, j])
        out[j] += a * x * x


@add_row_squares.of(CSR)
def _(rows: CSR, i: int, a: float, out: FloatArray) -> Any:
    start, stop = span(rows, i)
    for j in range(start, stop):
        x = np.float64(rows.values[j])
        out[np.uintp(rows.indices[j])] += a * x * x


@kernel
def add_squares(rows: Rows, wanted: IntArray, coefs: FloatArray, out: FloatArray) -> None:
    """out_j += sum_r coefs[r] x_ij^2 over the wanted rows i."""
    for r in range(wanted.shape[0]):
        add_row_squares(rows, wanted[r], coefs[r], out)


@kernel
def loss_along(margins: FloatArray, along: FloatArray, costs: FloatArray, t: float) -> tuple[float, float, float]:
    """The loss at margins + t along, and its first and second derivatives in t."""
    total = slope = curvature = 0.0
    for r in range(margins.shape[0]):
        m = margins[r] + t * along[r]
        q = math.exp(-abs(m))
        total += costs[r] * (math.log1p(q) + max(-m, 0.0))
        slope -= costs[r] * along[r] * (q if m > 0.0 else 1.0) / (1.0 + q)
        curvature += costs[r] * along[r] * along[r] * q / ((1.0 + q) * (1.0 + q))
    return total, slope, curvature
