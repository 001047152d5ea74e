"""Coordinate descent for a quadratic function plus an L1 penalty: one weight at a time moves to its best value.

Problem    min over d:  <g, d> + 1/2 <d, H d> + sum_j p_j |w_j + d_j|, where H = sum_i h_i x_i x_i^T is that of a Newton step.
Update     s = p_j/H_jj, t = w_j + d_j - (g + H d)_j/H_jj;  d_j = sign(t) max(|t| - s, 0) - w_j.
           H is given as a matrix, or by the columns of X: then u_i = g_i + h_i <x_i, d> is kept for every row.
           A free intercept is at its best value all the time: it is eliminated, which takes one more number per column.
Reference  J. Friedman, T. Hastie and R. Tibshirani, J. Statistical Software 33 (2010); G.-X. Yuan, C.-H. Ho and C.-J. Lin,
           An improved GLMNET, JMLR 13 (2012).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import inlined, kernel, operation
from .rows import CSR, Dense, Rows, dot, prefetch_row, span

ROWS_AHEAD = 4  # columns between a prefetch and its use
MOST_REPEATED = 5  # passes over the weights other than zero between two passes over all
LEAST_CURVATURE = 1e-13  # relative to the curvature before the intercept was eliminated; below it is rounding


class ColumnModel(NamedTuple):
    """The quadratic function of a Newton step, by its rows; one number per row, or per working column."""

    bends: FloatArray  # h_i
    u: FloatArray  # g_i + h_i <x_i, d>, without the intercept
    curvatures: FloatArray  # sum_i h_i x_ij^2
    shifts: FloatArray  # sum_i h_i x_ij, or zero if there is no free intercept
    penalties: FloatArray
    w: FloatArray
    d: FloatArray


@operation
def weighted_axpy(rows: Any, j: int, a: float, weights: FloatArray, u: FloatArray) -> Any:
    """u_i += a weights_i x_ij for all entries of column j"""


@weighted_axpy.of(Dense)
def _(rows: Dense, j: int, a: float, weights: FloatArray, u: FloatArray) -> Any:
    for i in range(u.shape[0]):
        u[i] += a * weights[i] * np.float64(rows.values[j, i])


@weighted_axpy.of(CSR)
def _(rows: CSR, j: int, a: float, weights: FloatArray, u: FloatArray) -> Any:
    start, stop = span(rows, j)
    for k in range(start, stop):
        i = np.uintp(rows.indices[k])
        u[i] += a * weights[i] * np.float64(rows.values[k])


@operation
def weighted_sums(rows: Any, j: int, weights: FloatArray) -> Any:
    """sum_i weights_i x_ij and sum_i weights_i x_ij^2 of column j"""


@weighted_sums.of(Dense, fastmath=frozenset({"reassoc", "contract", "nsz"}))
def _(rows: Dense, j: int, weights: FloatArray) -> Any:
    first = second = 0.0
    for i in range(weights.shape[0]):
        x = np.float64(rows.values[j, i])
        first += weights[i] * x
        second += weights[i] * x * x
    return first, second


@weighted_sums.of(CSR)
def _(rows: CSR, j: int, weights: FloatArray) -> Any:
    start, stop = span(rows, j)
    first = second = 0.0
    for k in range(start, stop):
        x, h = np.float64(rows.values[k]), weights[np.uintp(rows.indices[k])]
        first += h * x
        second += h * x * x
    return first, second


@inlined
def moved(w: float, gradient: float, curvature: float, penalty: float) -> float:
    """The minimum over z of gradient (z - w) + curvature (z - w)^2/2 + penalty |z|; w if there is none."""
    if not curvature > 0.0:
        return 0.0 if abs(gradient) <= penalty else w
    t, s = w - gradient / curvature, penalty / curvature
    return t - s if t > s else (t + s if t < -s else 0.0)


@kernel
def measure_columns(columns: Rows, places: IntArray, bends: FloatArray, curvatures: FloatArray, shifts: FloatArray) -> None:
    """Write the curvature and the shift of each working column."""
    for r in range(places.shape[0]):
        if r + ROWS_AHEAD < places.shape[0]:
            prefetch_row(columns, places[r + ROWS_AHEAD])
        shifts[r], curvatures[r] = weighted_sums(columns, places[r], bends)


@kernel
def descend_columns(
    columns: Rows, places: IntArray, model: ColumnModel, pull: float, weight: float, passes: int, enough: float
) -> float:
    """Make passes over the working columns, at `places` of `columns`, and over the weights other than zero alone, until no
    gradient in a pass over all is farther from its optimality condition than `enough`, relative to the penalty. Return the step
    of the intercept.

    pull, weight : sum_i g_i and sum_i h_i of a free intercept; 0 if there is none.
    """
    w, d, u, bends = model.w, model.d, model.u, model.bends
    step, repeated, full = (-pull / weight if weight > 0.0 else 0.0), 0, True
    for _ in range(passes):
        farthest = 0.0
        for r in range(places.shape[0]):
            z = w[r] + d[r]
            if z == 0.0 and not full:
                continue
            j, curvature, shift, penalty = places[r], model.curvatures[r], model.shifts[r], model.penalties[r]
            gradient = dot(columns, j, u) + step * shift
            if weight > 0.0:
                own = curvature - shift * shift / weight
                curvature = own if own > LEAST_CURVATURE * curvature else 0.0
            to = moved(z, gradient, curvature, penalty)
            if to != z:
                change = to - z
                farthest = max(farthest, abs(change) * curvature / penalty)
                d[r] = to - w[r]
                weighted_axpy(columns, j, change, bends, u)
                if weight > 0.0:
                    pull += change * shift
                    step = -pull / weight
        if full and farthest <= enough:
            break
        repeated = 0 if full else repeated + 1
        full = not full and (farthest <= enough or repeated >= MOST_REPEATED)
    return step


@kernel
def descend_matrix(
    H: FloatArray, q: FloatArray, w: FloatArray, d: FloatArray, penalties: FloatArray, passes: int, enough: float
) -> bool:
    """The same for a symmetric matrix H; q = g + H d. Return whether the conditions are met."""
    repeated, full = 0, True
    for _ in range(passes):
        farthest = 0.0
        for j in range(w.shape[0]):
            z = w[j] + d[j]
            if z == 0.0 and (not full or abs(q[j]) <= penalties[j]):
                continue
            to = moved(z, q[j], H[j, j], penalties[j])
            if to != z:
                change = to - z
                farthest = max(farthest, abs(change) * H[j, j] / penalties[j])
                d[j] = to - w[j]
                for m in range(q.shape[0]):
                    q[m] += change * H[j, m]
        if full and farthest <= enough:
            return True
        repeated = 0 if full else repeated + 1
        full = not full and (farthest <= enough or repeated >= MOST_REPEATED)
    return False
