"""The 0-1 loss along lines: the step along each line with the fewest misclassified rows.

Problem    min over t of the number of rows with s_i + t p_i <= 0; s_i is the signed score of a row, p_i its change
           by a step of 1.
Update     the loss is constant between the points -s_i/p_i. Sort them, count the errors in each interval, step to the middle
           of a best interval (one of several at random), and continue with the next line.
Reference  L. Li and H.-T. Lin, Optimizing 0/1 loss for perceptrons by random coordinate descent, IJCNN (2007).
"""

from __future__ import annotations

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import kernel
from .column_order import sort_with
from .random_orders import HALF_BITS, XORSHIFT_LEFT_1, XORSHIFT_LEFT_2, XORSHIFT_RIGHT

MIN_SPEED = 1e-12  # relative to the fastest row: slower rows do not move
MIN_INTERVAL = 1e-10  # relative to its ends: shorter intervals are rounding errors


@kernel
def search_lines(
    P: FloatArray,
    order: IntArray,
    scores: FloatArray,
    steps: FloatArray,
    keys: FloatArray,
    marks: IntArray,
    stack: IntArray,
    reach: float,
    seed: IntArray,
) -> int:
    """Step along the lines P[r], r in `order`, one by one, updating scores and steps; return the errors at the end.

    Only steps that change scores by up to `reach` times their mean size are considered: sorting is most of the work.
    """
    n, drawn = scores.shape[0], seed[0]
    for r in order:
        p, fastest, speed, size, m, right = P[r], 0.0, 0.0, 0.0, 0, 0
        for i in range(n):
            fastest = max(fastest, abs(p[i]))
            speed += abs(p[i])
            size += abs(scores[i])
        if speed == 0.0 or size == 0.0:
            continue
        edge = reach * size / speed
        for i in range(n):
            s, moves = scores[i], p[i]
            first, last = s - edge * moves, s + edge * moves
            right += first > 0.0
            if (first > 0.0) != (last > 0.0) and abs(moves) > MIN_SPEED * fastest:
                keys[m] = -s / moves
                marks[m] = 1 if moves > 0.0 else -1
                m += 1
        sort_with(keys, marks, m, stack)
        best, step, ties = -1, 0.0, 0
        here = -edge
        for k in range(m + 1):
            after = keys[k] if k < m else edge
            if right >= best and after - here > MIN_INTERVAL * max(abs(here), abs(after)):
                ties = 1 if right > best else ties + 1
                drawn ^= drawn << XORSHIFT_LEFT_1
                drawn ^= drawn >> XORSHIFT_RIGHT
                drawn ^= drawn << XORSHIFT_LEFT_2
                if right > best or ((drawn >> HALF_BITS) * np.uint64(ties)) >> HALF_BITS == np.uint64(0):
                    best, step = right, here + 0.5 * (after - here)
            if k < m:
                right += marks[k]
                here = after
        for i in range(n):
            scores[i] += step * p[i]
        steps[r] += step
    seed[0], wrong = drawn, 0
    for i in range(n):
        wrong += scores[i] <= 0.0
    return wrong
