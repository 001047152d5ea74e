"""Losses of the margins of rows: their sum, gradient and products with their Hessian, each in one pass over the rows.

Loss       a convex function of the margin m_i = y_i (<w, x_i> + b), times the cost C_i of the row; minus its first derivative
           is the multiplier of the row.
           Logistic: log(1 + exp(-m)). With q = exp(-|m|) no exponential overflows:
           log(1 + exp(-m)) = log(1 + q) + max(-m, 0),  p = s(-m) = (q or 1)/(1 + q),  p (1 - p) = q/(1 + q)^2.
           Slack: with s = max(0, 1 - m), a parabola s^2/(2 width) up to s = limit and its tangent beyond. Width 1/2 without a
           limit is the squared hinge; width = limit tends to the hinge as both shrink.
           The losses of a block of rows are computed in vector lanes, between its products and its share of the gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import inlined, kernel, operation, sum_kernel
from .exponentials import exp_minus, log_one_plus
from .rows import CSR, Dense, Rows, axpy, dot, prefetch_row, span

ROWS_AHEAD = 8  # rows between a prefetch and its use
MAX_BLOCK_ROWS, BLOCK_VALUES = 16, 4096  # rows whose losses are computed in vector lanes, while the rows are in the cache


class Logistic(NamedTuple):
    """The logistic loss."""


class Slack(NamedTuple):
    """A parabola of the slack, and its tangent beyond the limit."""

    width: float
    limit: float


SQUARED_HINGE = Slack(0.5, np.inf)


@operation
def terms(loss: Any, m: float, C: float) -> Any:
    """The loss at margin m, minus its first, and its second derivative."""


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


@terms.of(Logistic)
def _(loss: Logistic, m: float, C: float) -> Any:
    return logistic_terms(m, C)


@terms.of(Slack)
def _(loss: Slack, m: float, C: float) -> Any:
    slack = max(0.0, 1.0 - m)
    near, share = min(slack, loss.limit), C / loss.width
    return share * near * (slack - 0.5 * near), share * near, share if 0.0 < slack < loss.limit else 0.0


@sum_kernel
def sum_losses(loss: Any, margins: FloatArray, costs: FloatArray, pulls: FloatArray, bends: FloatArray) -> float:
    """Return the sum of the losses; set the multipliers of the rows, and the second derivatives of their losses."""
    total = 0.0
    for r in range(margins.shape[0]):
        one, pulls[r], bends[r] = terms(loss, margins[r], costs[r])
        total += one
    return total


@kernel
def loss_gradient(
    loss: Any, rows: Rows, wanted: IntArray, signs: FloatArray, costs: FloatArray, w: FloatArray, shift: float,
    margins: FloatArray, pulls: FloatArray, bends: FloatArray, gradient: FloatArray,
) -> float:  # fmt: skip
    """Return the loss of the wanted rows, and add its gradient in w to `gradient`.

    margins[r] = m_i, pulls[r] is the multiplier of the row, bends[r] the second derivative of its loss.
    """
    count, total = wanted.shape[0], 0.0
    block = max(1, min(MAX_BLOCK_ROWS, BLOCK_VALUES // max(1, row_values(rows))))
    for first in range(0, count, block):
        last = min(first + block, count)
        for r in range(first, last):
            if r + ROWS_AHEAD < count:
                prefetch_row(rows, wanted[r + ROWS_AHEAD])
            margins[r] = signs[r] * (dot(rows, wanted[r], w) + shift)
        total += sum_losses(loss, margins[first:last], costs[first:last], pulls[first:last], bends[first:last])
        for r in range(first, last):
            axpy(rows, wanted[r], -pulls[r] * signs[r], gradient)
    return total


@kernel
def curvature_product(
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
def loss_along(loss: Any, margins: FloatArray, along: FloatArray, costs: FloatArray, t: float) -> tuple[float, float, float]:
    """The loss at margins + t along, and its first and second derivatives in t."""
    total = slope = curvature = 0.0
    for r in range(margins.shape[0]):
        one, pull, bend = terms(loss, margins[r] + t * along[r], costs[r])
        total += one
        slope -= along[r] * pull
        curvature += along[r] * along[r] * bend
    return total, slope, curvature
