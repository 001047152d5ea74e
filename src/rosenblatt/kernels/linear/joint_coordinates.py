"""Dual coordinate descent for eight binary problems on the same sparse rows: classes against the rest, squared hinge.

Problem    that of `dual_coordinates.py` for each of the classes first, ..., first + 7; a penalized intercept, or none.
Update     the same, for all eight multipliers of a row at once: a row is read once, and each of its nonzeros finds the weights
           of all eight problems in one cache line. No row is skipped.
Reference  C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan, ICML 2008, algorithm 3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ...array_types import FloatArray, IntArray
from ..compile import COMPILED, inlined, kernel
from .random_orders import shuffle
from .rows import CSR, prefetch_row, span

HEADS = 8  # problems that are solved together: their float64 weights of one feature fill a cache line
FIRST, ITEM_BYTES = np.uintp(0), 8
ROWS_AHEAD = 8  # rows between a prefetch and its use
# Positions in `sums`.
LOSS, TOTAL, SQUARES, PULL, STIFFNESS = 0, 1, 2, 3, 4


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
    scores: FloatArray  # float64, 1 x 8: of one row, without the intercepts
    moves: FloatArray  # float64, 1 x 8: of the multipliers of one row, times y


def _vector_code() -> Any:
    def add(typing: Any, to: Any, i: Any, x: Any, source: Any, j: Any) -> Any:
        """to[i] += x source[j] for rows of eight float64, in vector registers."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vector = ir.VectorType(ir.DoubleType(), HEADS)

            def place(array: int) -> Any:
                start = context.make_array(signature.args[array])(context, builder, args[array]).data
                offset = builder.mul(builder.zext(args[array + 1], ir.IntType(64)), ir.Constant(ir.IntType(64), HEADS))
                return builder.bitcast(builder.gep(start, [offset]), vector.as_pointer())

            target, found = place(0), builder.load(place(3), align=ITEM_BYTES)
            factor = builder.insert_element(ir.Constant(vector, ir.Undefined), args[2], ir.Constant(ir.IntType(32), 0))
            everywhere = ir.Constant(ir.VectorType(ir.IntType(32), HEADS), [0] * HEADS)
            factor = builder.shuffle_vector(factor, ir.Constant(vector, ir.Undefined), everywhere)
            total = builder.fadd(builder.load(target, align=ITEM_BYTES), builder.fmul(factor, found))
            builder.store(total, target, align=ITEM_BYTES)
            return context.get_dummy_value()

        return types.void(to, types.uintp, types.float64, source, types.uintp), generate

    return intrinsic(add)


def _add_plain(to: FloatArray, i: int, x: float, source: FloatArray, j: int) -> None:
    to[i] += x * source[j]


_add: Any = _vector_code() if COMPILED else _add_plain


@inlined
def _find_scores(rows: CSR, dual: JointDual, i: int) -> None:
    start, stop = span(rows, i)
    for h in range(HEADS):
        dual.scores[0, h] = 0.0
    for k in range(start, stop):
        _add(dual.scores, FIRST, np.float64(rows.values[k]), dual.W, np.uintp(rows.indices[k]))


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
def joint_pass(rows: CSR, dual: JointDual, order: IntArray, seed: IntArray) -> None:
    """Make a pass over all rows, which are shuffled before."""
    m = shuffle(order, order.shape[0], seed)
    for r in range(m):
        i = order[r]
        if r + ROWS_AHEAD < m:
            prefetch_row(rows, order[r + ROWS_AHEAD])
        _find_scores(rows, dual, i)
        for h in range(HEADS):
            dual.moves[0, h] = _move(dual, i, h, dual.scores[0, h])
        start, stop = span(rows, i)
        for k in range(start, stop):
            _add(dual.W, np.uintp(rows.indices[k]), np.float64(rows.values[k]), dual.moves, FIRST)


@inlined
def _add_loss(dual: JointDual, i: int, h: int, s: float, sums: FloatArray) -> None:
    y, a, soft = 1.0 if dual.codes[i] == dual.first + h else -1.0, dual.multipliers[i, h], dual.softness[i]
    slack = max(0.0, 1.0 - y * (s + dual.v[h] * dual.x0))
    sums[LOSS, h] += slack * slack / soft
    sums[PULL, h] += y * slack / soft
    sums[STIFFNESS, h] += 1.0 / soft if slack > 0.0 else 0.0
    sums[TOTAL, h] += a
    sums[SQUARES, h] += soft * a * a


@kernel
def joint_sums(rows: CSR, dual: JointDual, sums: FloatArray) -> None:
    """Add to `sums`, 5 x 8, of each problem: the sum of slack_i^2/softness_i, of a_i, of softness_i a_i^2, and of y_i
    slack_i/softness_i and of 1/softness_i over the rows with a slack."""
    for i in range(dual.codes.shape[0]):
        _find_scores(rows, dual, i)
        for h in range(HEADS):
            _add_loss(dual, i, h, dual.scores[0, h], sums)
