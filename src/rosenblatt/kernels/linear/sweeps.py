"""Passes over the rows.

`online` updates the weights, `collect_moves` only collects moves, `loss_and_gradient` sums a loss. `apply_moves`,
`record_planes` and `apply_steps` replay moves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...array_types import FloatArray, IntArray
from ..compile import kernel
from .rows import Rows, axpy, dot, prefetch_row
from .rules import loss, step
from .schemes import Binary, Labels, State, Tape, has_stopped, head_of, length, move, propose_moves

# Why a sweep returned: the rows have been visited, the tape is full, a pass of a head was clean, or as said in `Pace`.
DONE, FULL, CLEAN, LIMIT, NORM, OVERFLOW = range(6)


class Pace(NamedTuple):
    """Step sizes and limits of a sweep."""

    rhos: FloatArray  # float64, step sizes rho_1, rho_2, ...; the last one is used for all further updates
    limit: int  # return when a head has made this many updates
    bound: float  # return when the squared norm of a head exceeds this; infinite: norms are not kept
    ahead: int  # rows between a prefetch and its use; 0: no prefetching
    since: int  # rows visited before
    rows: int  # rows in a pass
    begun: int  # rows of the current pass visited before


class Passes(NamedTuple):
    """What a sweep over several passes notes about them."""

    before: IntArray  # int64, the updates of each head at the beginning of the current pass
    ends: IntArray  # int64, the moves on the tape at the end of each pass


@kernel
def online(
    rows: Rows,
    labels: Labels,
    order: IntArray,
    rule: Any,
    pace: Pace,
    state: State,
    sums: State,
    tape: Tape,
    passes: Passes,
) -> tuple[int, int, int, int]:
    """Visit the rows in `order` and update the weights where a row violates the margin: w += rho_k tau y_i x_i.

    `order` has part of a pass, or several passes. `sums`, if not empty, adds up the moves times the number of rows visited
    before, for the average. Returns (rows visited, moves on the tape, passes ended, reason) at the end of the order, or when
    the tape is full, a head has made a pass without an update, has reached the limit or the bound, or a score overflowed.
    """
    n, room, last = order.shape[0], tape.rows.shape[0] - state.counts.shape[0], pace.rhos.shape[0] - 1
    used, ended, why, visited = 0, 0, DONE, pace.begun
    for p in range(n):
        i = order[p]
        if visited == 0:
            for h in range(state.counts.shape[0]):
                passes.before[h] = state.counts[h]
        visited += 1
        if pace.ahead > 0 and p + pace.ahead < n:
            prefetch_row(rows, order[p + pace.ahead])
        after = propose_moves(labels, rows, i, rule, state, tape, used)
        if after < 0:
            return p, used, ended, OVERFLOW
        for s in range(used, after):
            h = head_of(labels, tape.others[s])
            tau = pace.rhos[min(state.counts[h], last)] * tape.steps[s]
            move(labels, rows, i, tape.others[s], tau, state.x0, state.w, state.bias)
            if sums.w.size > 0:
                move(labels, rows, i, tape.others[s], tau * (pace.since + p), state.x0, sums.w, sums.bias)
            state.counts[h] += 1
            tape.steps[s] = tau
            tape.times[s] = p
            if pace.bound < float("inf"):
                state.sqnorms[h] += tau * (2.0 * tape.margins[s] + tau * length(labels, rows, i, state.x0))
                if state.sqnorms[h] > pace.bound:
                    why = NORM
            if state.counts[h] >= pace.limit:
                why = LIMIT
        used = after
        if why == DONE and used > room:
            why = FULL
        if visited == pace.rows:
            visited = 0
            passes.ends[ended] = used
            ended += 1
            for h in range(state.counts.shape[0]):
                if why == DONE and state.counts[h] == passes.before[h] and not has_stopped(labels, h):
                    why = CLEAN
        if why != DONE:
            return p + 1, used, ended, why
    return n, used, ended, DONE


@kernel
def collect_moves(rows: Rows, labels: Labels, order: IntArray, rule: Any, state: State, tape: Tape) -> tuple[int, int, int]:
    """Collect the moves that the rows in `order` trigger, without updating the weights."""
    used = 0
    for p in range(order.shape[0]):
        i = order[p]
        after = propose_moves(labels, rows, i, rule, state, tape, used)
        if after < 0:
            return p, used, OVERFLOW
        used = after
    return order.shape[0], used, DONE


@kernel
def loss_and_gradient(
    rows: Rows,
    labels: Binary,
    rule: Any,
    w: FloatArray,
    bias: FloatArray,
    x0: float,
    downhill: FloatArray,
    lift: FloatArray,
    margins: FloatArray,
) -> float:
    """The sum of c_i loss(m_i), m_i = y_i (<w, x_i> + x_0 bias[0]); margins[i] = m_i.

    Its gradient is subtracted from `downhill` (for w) and from lift[0] (for the bias).

    For `Binary` labels. A margin that is not finite ends the pass with a loss of NaN.
    """
    total = 0.0
    for i in range(margins.shape[0]):
        c = labels.weights[i] if labels.weights.shape[0] > 0 else 1.0
        margin = labels.signs[i] * (dot(rows, i, w) + x0 * bias[0])
        margins[i] = margin
        if not abs(margin) < float("inf"):
            return float("nan")
        if c == 0.0:
            continue
        total += c * loss(rule, margin)
        tau = step(rule, margin, 1.0, c)
        if tau > 0.0:
            axpy(rows, i, labels.signs[i] * tau, downhill)
            lift[0] += labels.signs[i] * tau * x0
    return total


# --- replaying moves -------------------------------------------------------------------------------------------------------


@kernel
def apply_moves(
    rows: Rows, labels: Labels, moved: IntArray, others: IntArray, taus: FloatArray, x0: float, w: FloatArray, bias: FloatArray
) -> None:
    """Apply the moves of the rows `moved`, in order: to replay a log, to sum a batch step, or to sum an average."""
    for s in range(moved.shape[0]):
        move(labels, rows, moved[s], others[s], taus[s], x0, w, bias)


@kernel
def record_planes(
    rows: Rows,
    labels: Labels,
    moved: IntArray,
    others: IntArray,
    taus: FloatArray,
    x0: float,
    w: FloatArray,
    bias: FloatArray,
    planes: FloatArray,
    shifts: FloatArray,
) -> None:
    """Apply the moves of a binary run and record the plane (w, x_0 bias) before the first move and after each."""
    for s in range(planes.shape[0]):
        if s > 0:
            move(labels, rows, moved[s - 1], others[s - 1], taus[s - 1], x0, w, bias)
        for j in range(w.shape[0]):
            planes[s, j] = w[j]
        shifts[s] = x0 * bias[0]


@kernel
def apply_steps(
    rows: Rows, labels: Labels, moved: IntArray, others: IntArray, taus: FloatArray, edges: IntArray,
    state: State, delta: State, flat: tuple[FloatArray, FloatArray, FloatArray], planes: FloatArray, shifts: FloatArray,
) -> None:  # fmt: skip
    """Apply batch steps: the moves between two of `edges` are summed in `delta`, rounded to the type of the weights, and added.

    flat: (weights, those of `delta`, one number of the type of the weights), as vectors. planes, shifts: for binary runs, the
    plane before the first step and after each; else empty.
    """
    weights, sums, rounded = flat
    for n in range(edges.shape[0]):
        if n > 0:
            sums[:] = 0.0
            delta.bias[:] = 0.0
            for s in range(edges[n - 1] - edges[0], edges[n] - edges[0]):
                move(labels, rows, moved[s], others[s], taus[s], state.x0, delta.w, delta.bias)
            for j in range(weights.shape[0]):
                rounded[0] = sums[j]
                weights[j] += rounded[0]
            for h in range(delta.bias.shape[0]):
                state.bias[h] += delta.bias[h]
        if planes.shape[0] > 0:
            for j in range(weights.shape[0]):
                planes[n, j] = weights[j]
            shifts[n] = state.x0 * state.bias[0]
