"""Dual coordinate descent: the multiplier of one row at a time moves to its best value, and the weights follow.

Problem    min over a:  1/2 |sum_i a_i y_i p_i|^2 + sum_i (softness_i/2 a_i^2 - a_i + b y_i a_i),  0 <= a_i <= cap_i,
           p = (x, x_0). softness: 0 for the hinge, 1/(2 C_i) for its square, whose cap is infinite. b: 0, or the center of
           a free intercept (`svm/dual_coordinates.py`).
Update     G = y_i (<w, x_i> + v x_0 + b) - 1 + softness_i a_i;  a_i = clip(a_i - G/(|p_i|^2 + softness_i)).
Reference  C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan, ICML 2008, algorithm 3 (with shrinking).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import kernel
from .random_orders import shuffle
from .rows import Rows, axpy, dot, prefetch_row


class Dual(NamedTuple):
    """The current multipliers and their weights."""

    signs: IntArray  # int8
    caps: FloatArray  # float64, the largest multiplier of each row
    softness: FloatArray  # float64, one per row; empty for the hinge
    curvatures: FloatArray  # float64, |p_i|^2 + softness_i
    multipliers: FloatArray  # float64
    w: FloatArray  # float64, sum a_i y_i x_i
    v: FloatArray  # float64, one number: x_0 sum a_i y_i
    b: FloatArray  # float64, one number
    bounds: FloatArray  # float64, two: rows at a bound whose outward gradients exceed these are skipped
    x0: float


ROWS_AHEAD = 8  # rows between a prefetch and its use


@kernel
def coordinate_passes(rows: Rows, dual: Dual, order: IntArray, kept: int, passes: int, free: bool, seed: IntArray) -> int:
    """Make some passes over the first `kept` rows of `order`, shuffled before each pass. Rows that are shrunk away leave this
    front part, which is all that the next pass visits; return its new length.

    After each pass the bounds are the largest and the smallest inward gradient, and a free intercept moves by
    x_0^2 sum_i a_i y_i.
    """
    v, b = dual.v[0], dual.b[0]
    high, low = dual.bounds[0], dual.bounds[1]
    for _ in range(passes):
        m, kept = shuffle(order, kept, seed), 0
        largest, smallest = -np.inf, np.inf
        for r in range(m):
            i = order[r]
            if r + ROWS_AHEAD < m:
                prefetch_row(rows, order[r + ROWS_AHEAD])
            y, a, cap = dual.signs[i], dual.multipliers[i], dual.caps[i]
            G = y * (dot(rows, i, dual.w) + v * dual.x0 + b) - 1.0
            if dual.softness.shape[0] > 0:
                G += dual.softness[i] * a
            pushed = G
            if a == 0.0:
                if high < G:
                    continue
                pushed = min(G, 0.0)
            elif a == cap:
                if low > G:
                    continue
                pushed = max(G, 0.0)
            order[kept] = i
            kept += 1
            largest, smallest = max(largest, pushed), min(smallest, pushed)
            if pushed != 0.0:
                # A row of zeros has no curvature: its multiplier moves to its bound.
                to = min(max(a - G / dual.curvatures[i], 0.0), cap)
                if to != a:
                    axpy(rows, i, (to - a) * y, dual.w)
                    v += (to - a) * y * dual.x0
                    dual.multipliers[i] = to
        high = largest if largest > 0.0 else np.inf
        low = smallest if smallest < 0.0 else -np.inf
        if free:
            b += dual.x0 * v
    dual.v[0], dual.b[0] = v, b
    dual.bounds[0], dual.bounds[1] = high, low
    return kept


@kernel
def choose_rows(rows: Rows, dual: Dual, visited: IntArray, order: IntArray, scores: FloatArray) -> tuple[int, float, float]:
    """Compute the scores <w, x_i> of all visited rows, and write those rows to the front of `order` that the next pass visits.

    Returns their number, and sum_i a_i and sum_i softness_i a_i^2 of the visited rows.
    """
    shift, m, kept, total, squares = dual.v[0] * dual.x0 + dual.b[0], visited.shape[0], 0, 0.0, 0.0
    for r in range(m):
        i = visited[r]
        if r + ROWS_AHEAD < m:
            prefetch_row(rows, visited[r + ROWS_AHEAD])
        a, own = dual.multipliers[i], dot(rows, i, dual.w)
        G = dual.signs[i] * (own + shift) - 1.0
        if dual.softness.shape[0] > 0:
            G += dual.softness[i] * a
            squares += dual.softness[i] * a * a
        scores[r] = own
        total += a
        if not ((a == 0.0 and dual.bounds[0] < G) or (a == dual.caps[i] and dual.bounds[1] > G)):
            order[kept] = i
            kept += 1
    return kept, total, squares
