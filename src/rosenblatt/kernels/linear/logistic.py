"""The logistic loss of rows: its sum, gradient and products with its Hessian, each in one pass over the rows.

Loss       C_i log(1 + exp(-m_i)),  m_i = y_i (<w, x_i> + b). With q = exp(-|m|) no exponential overflows:
           log(1 + exp(-m)) = log(1 + q) + max(-m, 0),  p = s(-m) = (q or 1)/(1 + q),  p (1 - p) = q/(1 + q)^2.
           The losses of a block of rows are computed in vector lanes, between its products and its share of the gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import inlined, kernel, operation, sum_kernel
from .exponentials import exp_minus, log_one_plus
from .rows import CSR, Dense, Rows, axpy, dot, prefetch_row, span

ROWS_AHEAD = 8  # rows between a prefetch and its use
MAX_BLOCK_ROWS, BLOCK_VALUES = 16, 4096  # rows whose losses are computed in vector lanes, while the rows are in the cache


@operation
def row_values(rows: Any) -> Any:
    """The mean number of values in a row."""


@row_values.of(Dense)
def _(rows: Dense) -> Any:
    return rows.values.shape[1]


@row_values.of(CSR)
def _(rows: CSR) -> Any:
    return rows.values.shape[0] // max(1, rows.indptr.shape[0] - 1)


@inlined
def logistic_terms(m: float, C: float) -> tuple[float, float, float]:
    """The loss at margin m, minus its first, and its second derivative."""
    q = exp_minus(abs(m))
    inverse = 1.0 / (1.0 + q)
    share = C * inverse
    return C * (log_one_plus(q) + max(-m, 0.0)), share * (q if m > 0.0 else 1.0), share * q * inverse


@sum_kernel
def logistic_losses(margins: FloatArray, costs: FloatArray, pulls: FloatArray, bends: FloatArray) -> float:
    """Return the sum of the losses; set the multipliers C_i p_i, and C_i p_i (1 - p_i)."""
    total = 0.0
    for r in range(margins.shape[0]):
        loss, pulls[r], bends[r] = logistic_terms(margins[r], costs[r])
        total += loss
    return total


@kernel
def logistic_gradient(
    rows: Rows, wanted: IntArray, signs: FloatArray, costs: FloatArray, w: FloatArray, shift: float,
    margins: FloatArray, pulls: FloatArray, bends: FloatArray, gradient: FloatArray,
) -> float:  # fmt: skip
    """Return the loss of the wanted rows, and add its gradient in w to `gradient`.

    margins[r] = m_i, pulls[r] = C_i p_i (the multiplier of the row), bends[r] = C_i p_i (1 - p_i).
    """
    count, total = wanted.shape[0], 0.0
    block = max(1, min(MAX_BLOCK_ROWS, BLOCK_VALUES // max(1, row_values(rows))))
    for first in range(0, count, block):
        last = min(first + block, count)
        for r in range(first, last):
            if r + ROWS_AHEAD < count:
                prefetch_row(rows, wanted[r + ROWS_AHEAD])
            margins[r] = signs[r] * (dot(rows, wanted[r], w) + shift)
        total += logistic_losses(margins[first:last], costs[first:last], pulls[first:last], bends[first:last])
        for r in range(first, last):
            axpy(rows, wanted[r], -pulls[r] * signs[r], gradient)
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


@sum_kernel
def loss_along(margins: FloatArray, along: FloatArray, costs: FloatArray, t: float) -> tuple[float, float, float]:
    """The loss at margins + t along, and its first and second derivatives in t."""
    total = slope = curvature = 0.0
    for r in range(margins.shape[0]):
        loss, pull, bend = logistic_terms(margins[r] + t * along[r], costs[r])
        total += loss
        slope -= along[r] * pull
        curvature += along[r] * along[r] * bend
    return total, slope, curvature
