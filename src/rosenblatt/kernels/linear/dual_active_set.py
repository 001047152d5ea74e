"""Steps of an active-set method for the dual of the hinge: of two multipliers, and of all that are between their bounds.

Problem    max over b:  sum_i y_i b_i - 1/2 |sum_i b_i p_i|^2,  low_i <= b_i <= high_i, and sum_i b_i = 0 if the intercept is
           free. b_i = y_i a_i, p = (x, x_0). The slope of the dual in b_i is s_i = y_i - <w, p_i>.
Update     pairs: raise the b_i of the largest slope that may rise, and lower the one that gains most with it; without the
           constraint, move the one that gains most. Newton: the maximum for all b_i strictly between their bounds, up to the
           first bound on the way. If the row of one of them depends on the others, a move that changes no <w, p_i> takes one
           of them to its bound first.
Guarantee  every step increases the dual, and Newton's step of the final set ends at its maximum, where no slope of a b_i that
           may rise exceeds one of a b_j that may fall.
Reference  R.-E. Fan, P.-H. Chen and C.-J. Lin, Working set selection using second order information, JMLR 6 (2005); J. J. More
           and G. Toraldo, On the solution of large quadratic programming problems with bound constraints, SIAM J.
           Optimization 1 (1991).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import REORDER, inlined, kernel
from .rows import Rows, axpy, dot

PAIRS_BEFORE_NEWTON = 3  # pair steps after a Newton step that met no bound; 1 to 5 measured alike
MIN_CURVATURE = 1e-12  # of a step, relative to the squared length of a row; less is a rounding error
MIN_PIVOT = 1e-10  # relative to the diagonal; rows of smaller pivots depend on those before them
# Work of a step, in products of two numbers, to compare with that of other solvers.
WORK_PER_PRODUCT_ROW, WORK_PER_PAIR_ROW, WORK_PER_NEWTON_ROW = 16, 16, 8
# Positions in `Ascent.counts`.
LINES, STEPS, BETWEEN, FACTORED = 0, 1, 2, 3


class Ascent(NamedTuple):
    """The current b, the slopes of the dual, and the products of rows that were needed so far."""

    low: FloatArray
    high: FloatArray
    b: FloatArray
    s: FloatArray  # y_i - <w, p_i>
    diagonal: FloatArray  # |p_i|^2
    products: FloatArray  # one line for each row that ever moved: its <p_i, p_j> with all rows
    line: IntArray  # int64: the line of a row in `products`, or -1
    row: FloatArray  # a row as an array
    between: IntArray  # int64: rows strictly between their bounds, in the order of the factor
    listed: IntArray  # int8: 1 for the rows in `between`
    factor: FloatArray  # L, the Cholesky factor of their products
    half: FloatArray  # the solution z of L z = s
    move: FloatArray  # the moves of the rows in `between`
    counts: IntArray  # int64: lines in use, steps, rows in `between`, rows of the factor


@kernel
def ascend(rows: Rows, at: Ascent, free: bool, x0: float, tol: float, max_work: float) -> float:
    """Make steps until the largest violation of the optimality conditions is at most `tol`, or until `max_work`; return it."""
    n, lines = at.products.shape[1], at.products.shape[0]
    pairs, violation, work = 0, np.inf, 0.0
    while work < max_work and at.counts[LINES] + 2 <= lines:
        top, bottom, first = -np.inf, np.inf, -1
        for r in range(n):
            if at.b[r] < at.high[r] and at.s[r] > top:
                first, top = r, at.s[r]
            if at.b[r] > at.low[r] and at.s[r] < bottom:
                bottom = at.s[r]
        violation = top - bottom if free else max(top, -bottom)
        if not violation > tol:
            return violation
        at.counts[STEPS] += 1
        if pairs == PAIRS_BEFORE_NEWTON:
            if not _newton_step(at, free):
                pairs = 0
            m = at.counts[BETWEEN]
            work += n * (WORK_PER_NEWTON_ROW + 2 * m) + m * m
            continue
        pairs += 1
        before = at.counts[LINES]
        if free:
            _pair_step(rows, at, first, top)
        else:
            _single_step(rows, at, x0)
        work += n * (WORK_PER_PAIR_ROW + (at.counts[LINES] - before) * (WORK_PER_PRODUCT_ROW + rows.values.size / n))
    return violation


@inlined
def _line_of(rows: Rows, at: Ascent, i: int, x0: float) -> Any:
    """The line of `products` of row i, which is computed at its first use."""
    if at.line[i] < 0:
        k = at.counts[LINES]
        at.counts[LINES], at.line[i] = k + 1, k
        for j in range(at.row.shape[0]):
            at.row[j] = 0.0
        axpy(rows, i, 1.0, at.row)
        for r in range(at.s.shape[0]):
            at.products[k, r] = dot(rows, r, at.row) + x0 * x0
    return at.line[i]


@kernel
def _pair_step(rows: Rows, at: Ascent, i: int, top: float) -> None:
    """Raise b_i, and lower the b_j that gains most with it."""
    line, j, best = at.products[_line_of(rows, at, i, 0.0)], -1, 0.0
    own, least = at.diagonal[i], MIN_CURVATURE * at.diagonal[i]
    for r in range(at.s.shape[0]):
        slope = top - at.s[r]
        if slope > 0.0 and at.b[r] > at.low[r]:
            bend = max(own + at.diagonal[r] - 2.0 * line[r], least)
            if slope * slope > best * bend:
                j, best = r, slope * slope / bend
    if j < 0:
        return  # products that are not finite
    other = at.products[_line_of(rows, at, j, 0.0)]
    step = (top - at.s[j]) / max(own + at.diagonal[j] - 2.0 * line[j], least)
    up, down = at.high[i] - at.b[i], at.b[j] - at.low[j]
    step = min(step, up, down)
    at.b[i] = at.high[i] if step == up else at.b[i] + step
    at.b[j] = at.low[j] if step == down else at.b[j] - step
    for r in range(at.s.shape[0]):
        at.s[r] -= step * (line[r] - other[r])


@kernel
def _single_step(rows: Rows, at: Ascent, x0: float) -> None:
    """Move the b_i that gains most."""
    i, best = -1, 0.0
    for r in range(at.s.shape[0]):
        s = at.s[r]
        may_move = at.b[r] < at.high[r] if s > 0.0 else at.b[r] > at.low[r]
        if may_move and s * s > best * at.diagonal[r]:
            i, best = r, s * s / at.diagonal[r]
    if i < 0:
        return  # products that are not finite
    line, s = at.products[_line_of(rows, at, i, x0)], at.s[i]
    bound, step = at.high[i] if s > 0.0 else at.low[i], s / at.diagonal[i]
    if not abs(step) < abs(bound - at.b[i]):
        step = bound - at.b[i]
        at.b[i] = bound
    else:
        at.b[i] += step
    for r in range(at.s.shape[0]):
        at.s[r] -= step * line[r]


# --- Newton steps ----------------------------------------------------------------------------------------------------------


@kernel
def _newton_step(at: Ascent, free: bool) -> bool:
    """Move all b_i between their bounds toward their maximum; return whether a bound was met on the way.

    With a free intercept the moves sum to zero: the first row of the list moves against the sum of the others, and the factor
    is that of the differences of their rows from the first.
    """
    _update_list(at)
    m, start = at.counts[BETWEEN], 1 if free else 0
    if m <= start:
        return False
    L, half, move, origin = at.factor, at.half, at.move, at.between[0]
    level = at.s[origin] if free else 0.0
    for i in range(max(start, at.counts[FACTORED]), m):
        rest, whole = _append_row(at, i, start)
        at.counts[FACTORED] = i + 1
        if L[i, i] > 0.0:
            continue
        for j in range(start, i):
            move[j] = -L[i, j]
        _solve_transposed(L, move, start, i)
        move[i], slope = 1.0, at.s[at.between[i]] - level
        for j in range(start, i):
            slope += move[j] * (at.s[at.between[j]] - level)
        if slope < 0.0:
            for j in range(start, i + 1):
                move[j] = -move[j]
        if _make_moves(at, i + 1, free, abs(slope) / rest if rest > MIN_CURVATURE * whole else np.inf):
            return True
        level = at.s[origin] if free else 0.0
    for i in range(start, m):
        total = at.s[at.between[i]] - level - _product(L[i], half, start, i)
        half[i] = move[i] = total / L[i, i] if L[i, i] > 0.0 else 0.0
    _solve_transposed(L, move, start, m)
    return _make_moves(at, m, free, 1.0)


@kernel
def _update_list(at: Ascent) -> None:
    """Update the list of rows between their bounds. The factor of the rows before the first that left stays valid."""
    m, factored = 0, at.counts[FACTORED]
    for i in range(at.counts[BETWEEN]):
        row = at.between[i]
        if at.low[row] < at.b[row] < at.high[row]:
            at.between[m] = row
            m += 1
        else:
            factored = min(factored, m)
            at.listed[row] = 0
    for row in range(at.s.shape[0]):
        if at.low[row] < at.b[row] < at.high[row] and at.listed[row] == 0 and m < at.between.shape[0]:
            at.between[m] = row
            at.listed[row] = 1
            m += 1
    at.counts[BETWEEN], at.counts[FACTORED] = m, factored


@inlined
def _append_row(at: Ascent, i: int, start: int) -> tuple[float, float]:
    """Compute row i of the factor, whose pivot is zero if it depends on the rows before it; return the square of the pivot
    before that, and the squared length of the row."""
    L, row, origin = at.factor, at.between[i], at.between[0]
    line, first = at.products[at.line[row]], at.products[at.line[origin]]
    for j in range(start, i + 1):
        other = at.between[j]
        L[i, j] = line[other]
        if start == 1:
            L[i, j] += (at.diagonal[origin] - line[origin]) - first[other]
    whole = L[i, i]
    for j in range(start, i):
        L[i, j] = (L[i, j] - _product(L[i], L[j], start, j)) / L[j, j] if L[j, j] > 0.0 else 0.0
    rest = whole - _product(L[i], L[i], start, i)
    L[i, i] = np.sqrt(rest) if rest > MIN_PIVOT * whole else 0.0
    return rest, whole


@inlined
def _solve_transposed(L: FloatArray, x: FloatArray, start: int, stop: int) -> None:
    """Solve L^T x = x in place; x is zero at pivots of zero."""
    for i in range(stop - 1, start - 1, -1):
        x[i] = x[i] / L[i, i] if L[i, i] > 0.0 else 0.0
        for k in range(start, i):
            x[k] -= L[i, k] * x[i]


@inlined
def _make_moves(at: Ascent, m: int, free: bool, length: float) -> bool:
    """Make `length` times the moves of the first m rows of the list, or less, to the first bound; return whether it was met."""
    move, met = at.move, False
    if free:
        move[0] = 0.0
        for i in range(1, m):
            move[0] -= move[i]
    for i in range(m):
        row = at.between[i]
        room = abs((at.high[row] if move[i] > 0.0 else at.low[row]) - at.b[row])
        if length * abs(move[i]) >= room:
            length, met = room / abs(move[i]), True
    for i in range(m):
        row, step = at.between[i], length * move[i]
        bound = at.high[row] if step > 0.0 else at.low[row]
        reached = step != 0.0 and abs(step) >= abs(bound - at.b[row]) * (1.0 - 1e-15)
        at.b[row] = bound if reached else at.b[row] + step
        line = at.products[at.line[row]]
        for r in range(at.s.shape[0]):
            at.s[r] -= step * line[r]
    return met


def _sum_of_products(x: FloatArray, y: FloatArray, start: int, stop: int) -> float:
    total = 0.0
    for k in range(start, stop):
        total += x[k] * y[k]
    return total


_product = kernel(_sum_of_products, forceinline=True, fastmath=set(REORDER))
