"""Dual coordinate descent for eight binary problems on the same sparse rows: classes against the rest, squared hinge.

Problem    that of `dual_coordinates.py` for each of the classes first, ..., first + 7; a penalized intercept, or none.
Update     the same, for all eight multipliers of a row at once: a row is read once, and each of its nonzeros finds the weights
           of all eight problems in one cache line. No row is skipped.
Reference  C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan, ICML 2008, algorithm 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import inlined, kernel
from .random_orders import shuffle
from .rows import CSR, prefetch_row, span

HEADS = 8  # problems that are solved together: their float64 weights of one feature fill a cache line
ROWS_AHEAD = 8  # rows between a prefetch and its use
# Positions in `sums`.
LOSS, TOTAL, SQUARES = 0, 1, 2


class JointDual(NamedTuple):
    """The current multipliers and weights of eight problems."""

    codes: IntArray  # int64, the class of each row
    first: int  # the class of the first problem
    softness: FloatArray  # float64, one per row
    steps: FloatArray  # float64, 1/(|p_i|^2 + softness_i)
    multipliers: FloatArray  # float64, rows x 8
    W: FloatArray  # float64, features x 8
    v: FloatArray  # float64, 8: x_0 sum a_i y_i
    x0: float


@inlined
def _scores(rows: CSR, i: int, W: FloatArray) -> Any:
    """The scores of a row in all problems, without the intercept; eight variables, which become vector registers."""
    start, stop = span(rows, i)
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for k in range(start, stop):
        x, j = np.float64(rows.values[k]), np.uintp(rows.indices[k])
        s0 += x * W[j, 0]
        s1 += x * W[j, 1]
        s2 += x * W[j, 2]
        s3 += x * W[j, 3]
        s4 += x * W[j, 4]
        s5 += x * W[j, 5]
        s6 += x * W[j, 6]
        s7 += x * W[j, 7]
    return s0, s1, s2, s3, s4, s5, s6, s7


@inlined
def _move(dual: JointDual, i: int, h: int, s: float) -> Any:
    """Move one multiplier to its best value; return the move times y."""
    y, a = 1.0 if dual.codes[i] == dual.first + h else -1.0, dual.multipliers[i, h]
    G = y * (s + dual.v[h] * dual.x0) - 1.0 + dual.softness[i] * a
    to = max(a - G * dual.steps[i], 0.0)
    dual.multipliers[i, h] = to
    moved = (to - a) * y
    dual.v[h] += moved * dual.x0
    return moved


@kernel
def joint_passes(rows: CSR, dual: JointDual, order: IntArray, passes: int, seed: IntArray) -> None:
    """Make some passes over all rows, shuffled before each pass."""
    W = dual.W
    for _ in range(passes):
        m = shuffle(order, order.shape[0], seed)
        for r in range(m):
            i = order[r]
            if r + ROWS_AHEAD < m:
                prefetch_row(rows, order[r + ROWS_AHEAD])
            s0, s1, s2, s3, s4, s5, s6, s7 = _scores(rows, i, W)
            d0, d1, d2, d3 = _move(dual, i, 0, s0), _move(dual, i, 1, s1), _move(dual, i, 2, s2), _move(dual, i, 3, s3)
            d4, d5, d6, d7 = _move(dual, i, 4, s4), _move(dual, i, 5, s5), _move(dual, i, 6, s6), _move(dual, i, 7, s7)
            start, stop = span(rows, i)
            for k in range(start, stop):
                x, j = np.float64(rows.values[k]), np.uintp(rows.indices[k])
                W[j, 0] += x * d0
                W[j, 1] += x * d1
                W[j, 2] += x * d2
                W[j, 3] += x * d3
                W[j, 4] += x * d4
                W[j, 5] += x * d5
                W[j, 6] += x * d6
                W[j, 7] += x * d7


@inlined
def _add_loss(dual: JointDual, i: int, h: int, s: float, sums: FloatArray) -> None:
    y, a, soft = 1.0 if dual.codes[i] == dual.first + h else -1.0, dual.multipliers[i, h], dual.softness[i]
    slack = max(0.0, 1.0 - y * (s + dual.v[h] * dual.x0))
    sums[LOSS, h] += slack * slack / soft
    sums[TOTAL, h] += a
    sums[SQUARES, h] += soft * a * a


@kernel
def joint_sums(rows: CSR, dual: JointDual, sums: FloatArray) -> None:
    """Add to `sums`, 3 x 8: the sum of slack_i^2/softness_i, of a_i, and of softness_i a_i^2 of each problem."""
    for i in range(dual.codes.shape[0]):
        s0, s1, s2, s3, s4, s5, s6, s7 = _scores(rows, i, dual.W)
        _add_loss(dual, i, 0, s0, sums)
        _add_loss(dual, i, 1, s1, sums)
        _add_loss(dual, i, 2, s2, sums)
        _add_loss(dual, i, 3, s3, sums)
        _add_loss(dual, i, 4, s4, sums)
        _add_loss(dual, i, 5, s5, sums)
        _add_loss(dual, i, 6, s6, sums)
        _add_loss(dual, i, 7, s7, sums)
