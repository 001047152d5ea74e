"""Passes over the multipliers of the Crammer-Singer SVM: the k multipliers of one row at a time, solved exactly.

alpha_i^m <= 0 for rivals m, 0 <= alpha_i^y <= C_i for the row's own class y, and a row's multipliers sum to 0. The weights are
w_m = sum_i alpha_i^m x_i, the biases b_m = center_m + sigma sum_i alpha_i^m. With G_m = score_m + [m != y], row i adds
C_i max_m (G_m - G_y) + sum_m alpha_i^m G_m >= 0 to the gap between primal and dual.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compile import kernel, operation
from .rows import CSR, Dense, axpy, dot, dots, prefetch_row, span

EPS = 2.220446049250313e-16
ROWS_AHEAD = 8  # rows between a prefetch and its use


class Task(NamedTuple):
    """The problem, its multipliers, and which rows and rivals are active."""

    codes: Any  # int32
    C: Any  # float64, one for each row
    sqnorms: Any  # float64, <x_i, x_i>
    multipliers: Any  # float64, n x k
    live: Any  # uint8, n x k: the rivals visited in every pass; the others are visited when the row is due
    still: Any  # uint8: no pass visits the row before it is due
    due: Any  # int64, the next pass in which all classes are visited
    rests: Any  # int64, the number of passes between two such visits


class Plane(NamedTuple):
    """The weights and biases of the multipliers."""

    w: Any  # k x d (dense) or d x k (CSR)
    sums: Any  # sum_i alpha_i^m
    center: Any  # the bias is b_m = center_m + sigma sums_m
    sigma: float


class Buffers(NamedTuple):
    """Work arrays for one row."""

    G: Any  # float64, k
    moves: Any  # float64, k
    seen: Any  # int64, k
    moved: Any  # int64, k
    target: Any  # float64, k
    above: Any  # int64, k
    # float64: the gap of the visited rows, each at its visit; the gains of sum_i alpha_i^y - |W|^2/2 and of its first term
    tally: Any


@operation
def dots_some(rows: Any, i: Any, W: Any, which: Any, count: Any, out: Any) -> Any:
    """out[h] = <x_i, w_h> at least for the first `count` heads h in `which`"""


@operation
def axpy_some(rows: Any, i: Any, moves: Any, which: Any, count: Any, W: Any) -> Any:
    """w_h += moves[h] x_i for the first `count` heads h in `which`"""


@dots_some.of(Dense)
def _(rows: Any, i: Any, W: Any, which: Any, count: Any, out: Any) -> Any:
    if 2 * count > out.shape[0]:  # two heads at a time
        dots(rows, i, W, out)
    else:
        for s in range(count):
            out[which[s]] = dot(rows, i, W[which[s]])


@axpy_some.of(Dense)
def _(rows: Any, i: Any, moves: Any, which: Any, count: Any, W: Any) -> Any:
    for s in range(count):
        axpy(rows, i, moves[which[s]], W[which[s]])


@dots_some.of(CSR)
def _(rows: Any, i: Any, W: Any, which: Any, count: Any, out: Any) -> Any:
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
def _(rows: Any, i: Any, moves: Any, which: Any, count: Any, W: Any) -> Any:
    start, stop = span(rows, i)
    for j in range(start, stop):
        x, column = np.float64(rows.values[j]), W[np.uintp(rows.indices[j])]
        for s in range(count):
            h = np.uintp(which[s])
            column[h] += moves[h] * x


@kernel
def level(B: Any, own: float, cap: float, above: Any, n_above: int) -> Any:
    """(beta, n): the first n rivals in `above`, reordered, end below 0, at (beta - B_m)/A; the own class gets minus their sum.

    sum_m a_m = 0 for a_m = min(cap_m, (beta - B_m)/A) minimizes 1/2 A |a - alpha|^2 + <G, a - alpha>; B = G - A alpha.
    The sum is concave and increases with beta, so Newton's steps from the left end at its root: each step drops the rivals that
    it leaves at their cap, 0. At first the own class has no cap; if it then exceeds C (cap is A C), it is set to C.
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
def plan_moves(G: Any, alpha: Any, y: int, best: int, A: float, C: float, buffers: Any, n_seen: int) -> int:
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
def improve_multipliers(rows: Any, task: Any, order: Any, now: int, longest: int, plane: Any, buffers: Any) -> None:
    """Visit the rows in `order`: set the multipliers of each row to their best values while all others are fixed."""
    G, moves, moved, seen, sums, sigma = buffers.G, buffers.moves, buffers.moved, buffers.seen, plane.sums, plane.sigma
    n, k, center = order.shape[0], buffers.G.shape[0], plane.center
    gap = gain = mass = 0.0
    for p in range(n):
        i = order[p]
        if p + ROWS_AHEAD < n:
            prefetch_row(rows, order[p + ROWS_AHEAD])
        y, C, A = task.codes[i], task.C[i], task.sqnorms[i] + sigma
        alpha, live, full = task.multipliers[i], task.live[i], task.due[i] <= now
        n_seen = 0
        for m in range(k):
            if full or live[m] or m == y:
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
        surprise = False
        for s in range(count):
            m = moved[s]
            surprise |= m != y and not live[m]
            gain -= moves[m] * (G[m] - center[m] - sigma * sums[m] + 0.5 * task.sqnorms[i] * moves[m])
            alpha[m] += moves[m]
            sums[m] += moves[m]
        if count > 0:
            mass += moves[y]
            axpy_some(rows, i, moves, moved, count, plane.w)
        for s in range(n_seen):
            live[seen[s]] = alpha[seen[s]] < 0.0
        task.still[i] = count == 0 or alpha[y] <= 0.0
        if full:
            task.rests[i] = 0 if surprise else min(2 * task.rests[i] + 1, longest)
            task.due[i] = now + 1 + task.rests[i]
    buffers.tally[0] = gap
    buffers.tally[1] = gain
    buffers.tally[2] = mass


@kernel
def build_weights(rows: Any, task: Any, scale: Any, plane: Any, buffers: Any) -> None:
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
def compute_slack(rows: Any, codes: Any, W: Any, bias: Any, G: Any, slack: Any) -> None:
    """slack_i = max_m (score_m + [m != y] - score_y)"""
    for i in range(codes.shape[0]):
        dots(rows, i, W, G)
        y, worst = codes[i], 0.0
        for m in range(G.shape[0]):
            if m != y:
                worst = max(worst, (G[m] + bias[m]) - (G[y] + bias[y]) + 1.0)
        slack[i] = worst
