"""Passes over the multipliers of the Crammer-Singer SVM: the k multipliers of one row at a time, solved exactly.

alpha_i^m <= 0 for rivals m, 0 <= alpha_i^y <= C_i for the row's own class y, and a row's multipliers sum to 0. The weights are
w_m = sum_i alpha_i^m x_i, the biases b_m = center_m + sigma sum_i alpha_i^m. With G_m = score_m + [m != y], row i adds
C_i max_m (G_m - G_y) + sum_m alpha_i^m G_m >= 0 to the gap between primal and dual.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import kernel, operation
from .rows import CSR, EPS, Dense, Rows, axpy, dot, dots, prefetch_row, span

ROWS_AHEAD = 8  # rows between a prefetch and its use


class Task(NamedTuple):
    """The problem, its multipliers, and which rows and rivals are active."""

    codes: IntArray  # int32
    C: FloatArray  # float64, one for each row
    sqnorms: FloatArray  # float64, <x_i, x_i>
    multipliers: FloatArray  # float64, n x k
    # A full visit of a row considers all rivals, any other visit only the active ones.
    active: IntArray  # uint8, n x k: 1 for an active rival, one with a multiplier below 0
    skipped: IntArray  # uint8: 1 if passes skip the row until its next full visit
    next_full_visit: IntArray  # int64, the number of a pass
    passes_between: IntArray  # int64, the number of passes between two full visits


class Plane(NamedTuple):
    """The weights and biases of the multipliers."""

    w: FloatArray  # k x d (dense) or d x k (CSR)
    sums: FloatArray  # sum_i alpha_i^m
    center: FloatArray  # the bias is b_m = center_m + sigma sums_m
    sigma: float


class Buffers(NamedTuple):
    """Work arrays for one row."""

    G: FloatArray  # float64, k
    moves: FloatArray  # float64, k
    seen: IntArray  # int64, k
    moved: IntArray  # int64, k
    target: FloatArray  # float64, k
    above: IntArray  # int64, k
    # float64, the results of a pass: the sum of the gaps of the visited rows, each before its moves; the increase of
    # sum_i alpha_i^y - |W|^2/2; the increase of sum_i alpha_i^y
    tally: FloatArray


@operation
def dots_some(rows: Any, i: int, W: FloatArray, which: IntArray, count: int, out: FloatArray) -> Any:
    """out[h] = <x_i, w_h> at least for the first `count` heads h in `which`"""


@operation
def axpy_some(rows: Any, i: int, moves: FloatArray, which: IntArray, count: int, W: FloatArray) -> Any:
    """w_h += moves[h] x_i for the first `count` heads h in `which`"""


@dots_some.of(Dense)
def _(rows: Dense, i: int, W: FloatArray, which: IntArray, count: int, out: FloatArray) -> Any:
    if 2 * count > out.shape[0]:  # two heads at a time
        dots(rows, i, W, out)
    else:
        for s in range(count):
            out[which[s]] = dot(rows, i, W[which[s]])


@axpy_some.of(Dense)
def _(rows: Dense, i: int, moves: FloatArray, which: IntArray, count: int, W: FloatArray) -> Any:
    for s in range(count):
        axpy(rows, i, moves[which[s]], W[which[s]])


@dots_some.of(CSR)
def _(rows: CSR, i: int, W: FloatArray, which: IntArray, count: int, out: FloatArray) -> Any:
    if 4 * count > out.shape[0]:  # all heads in vector lanes cost less than several single heads
        dots(rows, i, W, out)
    else:
        start, stop = span(rows, i)
        for s in range(count):
            out[which[s]] = 0.0
        for j in range(start, stop):
            x, column = np.float64(rows.values[j]), W[np.uintp(rows.indices[j])]
            for s in range(count):
                h = np.uintp(which[s])
                out[h] += column[h] * x


@axpy_some.of(CSR)
def _(rows: CSR, i: int, moves: FloatArray, which: IntArray, count: int, W: FloatArray) -> Any:
    start, stop = span(rows, i)
    for j in range(start, stop):
        x, column = np.float64(rows.values[j]), W[np.uintp(rows.indices[j])]
        for s in range(count):
            h = np.uintp(which[s])
            column[h] += moves[h] * x


@kernel
def level(B: FloatArray, own: float, cap: float, above: IntArray, n_above: int) -> Any:
    """Solve for the new multipliers of one row; return (beta, n).

    Problem    min over a  1/2 A |a - alpha|^2 + <G, a - alpha>  s.t.  sum_m a_m = 0, a_m <= 0 for rivals m, a_y <= C
    Solution   a_m = (beta - B_m)/A, or its upper bound if that is smaller, with B = G - A alpha and the beta that makes the
               sum 0. The first n entries of `above`, which is reordered, are the rivals below 0; all other rivals are at 0.
    Update     Newton's method for the sum, which is concave and increases with beta: from the left it converges to the root.
               Each step drops the rivals that reach 0. The own class is unbounded at first; if it then exceeds C, it is set
               to C, and the steps continue. `own` is B_y, `cap` is A C.
    """
    capped, fresh, beta = False, True, own  # fresh: beta is not yet the root for the rivals listed
    while True:
        total, count = (-cap, 0) if capped else (own, 0)
        for s in range(n_above):
            m = above[s]
            if beta < B[m]:
                total += B[m]
                above[count] = m
                count += 1
        if count == 0:
            return beta, 0
        if count < n_above or fresh:
            beta, n_above, fresh = total / (count if capped else count + 1), count, False
        elif capped or beta - own <= cap:
            return beta, count
        else:
            capped, fresh = True, True


@kernel
def plan_moves(G: FloatArray, alpha: FloatArray, y: int, best: int, A: float, C: float, buffers: Buffers, n_seen: int) -> int:
    """Write the moves to the best multipliers of the row, the own class last; return their number."""
    seen, moves, moved, above, n_above = buffers.seen, buffers.moves, buffers.moved, buffers.above, 0
    own, mass, count = G[y] - A * alpha[y], 0.0, 0
    if EPS * (1.0 + abs(G[best]) + abs(G[y])) >= A * C:  # the row is too small to change its scores: all on the best rival
        for s in range(n_seen):
            moves[seen[s]] = 0.0
        mass = C if G[best] > G[y] else 0.0
        moves[best] = -mass
    else:
        for s in range(n_seen):
            m = seen[s]
            moves[m] = G[m] - A * alpha[m]
            if m != y and moves[m] > own:
                above[n_above] = m
                n_above += 1
        beta, n_above = level(moves, own, A * C, above, n_above)
        for s in range(n_above):
            m = above[s]
            buffers.target[m] = max(-C, (beta - moves[m]) / A)
            mass -= buffers.target[m]
        for s in range(n_seen):
            moves[seen[s]] = 0.0
        shrink = C / mass if mass > C else 1.0  # rounding errors for a tiny A
        mass = 0.0
        for s in range(n_above):
            m = above[s]
            moves[m] = min(0.0, shrink * buffers.target[m])
            mass -= moves[m]
    for s in range(n_seen):
        m = seen[s]
        if m != y:
            moves[m] -= alpha[m]
            if moves[m] != 0.0:
                moved[count] = m
                count += 1
    if count > 0:
        moves[y] = min(mass, C) - alpha[y]
        moved[count] = y
        count += 1
    return count


@kernel
def improve_multipliers(
    rows: Rows, task: Task, order: IntArray, now: int, max_passes_between: int, plane: Plane, buffers: Buffers
) -> None:
    """Pass `now` over the rows in `order`: the multipliers of a row take their best values while all others are fixed."""
    G, moves, moved, seen, sums, sigma = buffers.G, buffers.moves, buffers.moved, buffers.seen, plane.sums, plane.sigma
    n, k, center = order.shape[0], buffers.G.shape[0], plane.center
    gap = gain = mass = 0.0
    for p in range(n):
        i = order[p]
        if p + ROWS_AHEAD < n:
            prefetch_row(rows, order[p + ROWS_AHEAD])
        y, C, A = task.codes[i], task.C[i], task.sqnorms[i] + sigma
        alpha, active, full = task.multipliers[i], task.active[i], task.next_full_visit[i] <= now
        n_seen = 0
        for m in range(k):
            if full or active[m] or m == y:
                seen[n_seen] = m
                n_seen += 1
        dots_some(rows, i, plane.w, seen, n_seen, G)
        best, held = -1, 0.0
        for s in range(n_seen):
            m = seen[s]
            G[m] += center[m] + sigma * sums[m] + (0.0 if m == y else 1.0)
            held += alpha[m] * G[m]
            if m != y and (best < 0 or G[m] > G[best]):
                best = m
        found = 0.0 if best < 0 else C * max(0.0, G[best] - G[y]) + held
        gap += found
        count = 0
        if found > 0.0:
            count = plan_moves(G, alpha, y, best, A, C, buffers, n_seen)
        inactive_moved = False
        for s in range(count):
            m = moved[s]
            inactive_moved |= m != y and not active[m]
            gain -= moves[m] * (G[m] - center[m] - sigma * sums[m] + 0.5 * task.sqnorms[i] * moves[m])
            alpha[m] += moves[m]
            sums[m] += moves[m]
        if count > 0:
            mass += moves[y]
            axpy_some(rows, i, moves, moved, count, plane.w)
        for s in range(n_seen):
            active[seen[s]] = alpha[seen[s]] < 0.0
        task.skipped[i] = count == 0 or alpha[y] <= 0.0
        if full:
            task.passes_between[i] = 0 if inactive_moved else min(2 * task.passes_between[i] + 1, max_passes_between)
            task.next_full_visit[i] = now + 1 + task.passes_between[i]
    buffers.tally[0] = gap
    buffers.tally[1] = gain
    buffers.tally[2] = mass


@kernel
def build_weights(rows: Rows, task: Task, scale: FloatArray, plane: Plane, buffers: Buffers) -> None:
    """Add the weights of the multipliers: w_m += a x_i, sums_m += a for a = alpha_i^m scale[y_i, m].

    The own class of the row gets the opposite of the sum of its rivals, at most C_i.
    """
    moves, moved = buffers.moves, buffers.moved
    for i in range(task.codes.shape[0]):
        y, count, own = task.codes[i], 0, 0.0
        for m in range(moves.shape[0]):
            if m != y and task.multipliers[i, m] != 0.0:
                moves[m] = task.multipliers[i, m] * scale[y, m]
                own -= moves[m]
                moved[count] = m
                count += 1
        if count > 0:
            moves[y] = min(own, task.C[i])
            moved[count] = y
            for s in range(count + 1):
                plane.sums[moved[s]] += moves[moved[s]]
            axpy_some(rows, i, moves, moved, count + 1, plane.w)


@kernel
def compute_slack(rows: Rows, codes: IntArray, W: FloatArray, bias: FloatArray, G: FloatArray, slack: FloatArray) -> None:
    """slack_i = max_m (score_m + [m != y] - score_y)"""
    for i in range(codes.shape[0]):
        dots(rows, i, W, G)
        y, worst = codes[i], 0.0
        for m in range(G.shape[0]):
            if m != y:
                worst = max(worst, (G[m] + bias[m]) - (G[y] + bias[y]) + 1.0)
        slack[i] = worst
