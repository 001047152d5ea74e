"""From nearly optimal multipliers to optimal ones, with exact zeros: an interior point stops short of every bound.

Update     guess which rows are at a = 0, which at a = C, and which lie on the margin between (F). For these,
               y_i (<w, x_i> + b) = 1 on F  and  sum_i y_i a_i = 0 (free) or b = x_0^2 sum_i y_i a_i (penalised)
           are as many equations as unknowns. Rows whose multiplier leaves its range are put at the bound they crossed, rows
           that turn up on the wrong side of the margin join F, and it is solved again.
Guarantee  none by itself: the solution counts only where its gap, on all rows, is smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .problem import Machine, Solution
from .row_blocks import blocks_of

MOST = 10_000  # rows on the margin; more of them are too many equations
ROUNDS = 6
CLOSE = 1e-9  # to a bound or to the margin: on it
RANK = 1e-10  # smaller singular values, relative to the largest, are rounding


def cross_over(machine: Machine, before: Solution, low: Any, high: Any) -> tuple[Solution, bool]:
    """The best solution found, and whether every row is where it should be.

    low, high : guesses which of all rows are at a = 0 and at a = C.
    """
    seen, C = machine.visited, machine.costs
    best, low, high = before, low.copy(), high.copy()
    for _ in range(ROUNDS):
        inside = seen[~(low | high)[seen]]
        if len(inside) > MOST:
            return best, False
        a = np.where(high, C, 0.0)
        between = _between(machine, a, inside, best.multipliers[inside])
        little = CLOSE * min(float(max(a.max(), between.max(initial=0.0))), float(C.max()))
        between[between < little] = 0.0
        between = np.where(between > C[inside] - little, C[inside], between)
        a[inside] = between
        found = machine.solution(a)
        if found.gap < best.gap or (best is before and found.gap <= 2.0 * before.gap + 1e-15):
            best = found
        with np.errstate(invalid="ignore"):
            joins = (low & (found.margins < 1.0 - CLOSE)) | (high & (found.margins > 1.0 + CLOSE))
        to_low, to_high = inside[between == 0.0], inside[between == C[inside]]
        if not joins.any() and not len(to_low) and not len(to_high):
            return best, best is found
        low &= ~joins
        high &= ~joins
        low[to_low] = high[to_high] = True
    return best, False


def _between(machine: Machine, fixed: Any, inside: Any, near: Any) -> Any:
    """The multipliers of the rows `inside` that put them on the margin, nearest to `near` where there are many."""
    if not len(inside):
        return near
    start = fixed.copy()
    start[inside] = near
    v = np.append(machine.weights(start), machine.x0 * float(start @ machine.signs))
    A = blocks_of(machine, inside).block()
    if not machine.free:
        return near + _least(A, 1.0 - A @ v)
    # Turned so that the sum of y_i times what is added is its first entry, that entry is known, and b drops out of the others.
    x, edge = A[:, :-1], machine.signs[inside].astype(np.float64)
    turned, first = _reflect(edge, x), -v[-1] / machine.x0 / np.sqrt(len(inside))
    right = _reflect(edge, 1.0 - x @ v[:-1])[1:] - first * (turned[1:] @ turned[0])
    return near + _reflect(edge, np.append(first, _least(turned[1:], right)))


def _least(A: Any, right: Any) -> Any:
    """The shortest z with A A^T z = right, or nearly so where there is none."""
    if not len(A):
        return right
    U, S, _ = scipy.linalg.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesdd")
    kept = RANK * S[0] < S
    return U[:, kept] @ ((U[:, kept].T @ right) / S[kept] ** 2)


def _reflect(edge: Any, x: Any) -> Any:
    """x mirrored so that `edge`, all of whose entries are 1 or -1, would come to lie on the first axis."""
    mirror = edge.copy()
    mirror[0] -= np.sqrt(len(edge))
    square = float(mirror @ mirror)
    return x if square == 0.0 else x - np.multiply.outer(mirror, (2.0 / square) * (mirror @ x))
