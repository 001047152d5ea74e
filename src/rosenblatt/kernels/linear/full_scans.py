"""Updates that follow a scan of all rows: batch steps, and updates by one violation drawn at random.

One call makes many of them. It returns early when the caller has to look at the last one: at a zero step, a step that may be
shorter than a limit, or weights whose norm may exceed one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...array_types import FloatArray, IntArray
from ..compile import inlined, kernel
from .random_orders import next_below
from .rows import Rows
from .schemes import Labels, State, Tape, move, propose_moves
from .sweeps import CLEAN, DONE, FULL, OVERFLOW


class ScanPace(NamedTuple):
    """Step sizes and limits of a call."""

    rhos: FloatArray  # float64, step sizes rho_1, rho_2, ...; the last one is used for all further updates
    factor: float  # multiplies all of them
    updates: int  # at most this many updates
    since: int  # updates made before, on the clock of the average
    length: float  # return after a step shorter than this, up to rounding; 0: lengths are not computed
    norm: float  # return when the norm of the weights exceeds this, up to rounding; infinite: norms are not computed


@inlined
def _norm(vector: FloatArray, bias: FloatArray) -> Any:
    """The Euclidean norm of both together, scaled so that squares neither overflow nor underflow."""
    scale = 0.0
    for x in vector:
        scale = max(scale, abs(x))
    for x in bias:
        scale = max(scale, abs(x))
    if scale == 0.0:
        return 0.0
    total = 0.0
    for x in vector:
        total += (x / scale) * (x / scale)
    for x in bias:
        total += (x / scale) * (x / scale)
    return scale * math.sqrt(total)


@inlined
def _find_violations(rows: Rows, labels: Labels, order: IntArray, rule: Any, state: State, tape: Tape, used: int) -> Any:
    """Write the moves of all violations to the tape after the first `used`; return their end, or -1 after an overflow."""
    for p in range(order.shape[0]):
        used = propose_moves(labels, rows, order[p], rule, state, tape, used)
        if used < 0:
            return -1
    return used


@kernel
def make_batch_steps(
    rows: Rows, labels: Labels, order: IntArray, rule: Any, pace: ScanPace, state: State, sums: State, delta: State,
    flat: tuple[FloatArray, FloatArray, FloatArray], tape: Tape, ends: IntArray,
) -> tuple[int, int, int]:  # fmt: skip
    """Make batch steps: the moves of all violations are summed in `delta`, rounded to the type of the weights, and added.

    flat: (weights, those of `delta`, one number of the type of the weights), as vectors. `sums`, if not empty, adds up the
    moves times the number of steps made before. ends[k]: the moves on the tape after step k. Returns (steps made, violations
    in the last scan, reason).
    """
    weights, moved, rounded = flat
    used, found, last = 0, 0, pace.rhos.shape[0] - 1
    for k in range(pace.updates):
        if used + order.shape[0] > tape.rows.shape[0]:
            return k, found, FULL
        after = _find_violations(rows, labels, order, rule, state, tape, used)
        if after < 0:
            return k, found, OVERFLOW
        found = after - used
        if found == 0:
            return k, 0, CLEAN
        rho = pace.rhos[min(state.counts[0], last)] * pace.factor
        moved[:] = 0.0
        delta.bias[:] = 0.0
        for s in range(used, after):
            tau = tape.steps[s] * rho
            tape.steps[s] = tau
            tape.times[s] = k
            move(labels, rows, tape.rows[s], tape.others[s], tau, state.x0, delta.w, delta.bias)
            if sums.w.size > 0:
                move(labels, rows, tape.rows[s], tape.others[s], tau * (pace.since + k), state.x0, sums.w, sums.bias)
        still = True
        for j in range(weights.shape[0]):
            still &= moved[j] == 0.0
            rounded[0] = moved[j]
            weights[j] += rounded[0]
        for h in range(delta.bias.shape[0]):
            still &= delta.bias[h] == 0.0
            state.bias[h] += delta.bias[h]
        state.counts[0] += 1
        used = after
        ends[k] = used
        short = pace.length > 0.0 and _norm(moved, delta.bias) < pace.length
        if still or short or (pace.norm < math.inf and _norm(weights, state.bias) > pace.norm):
            return k + 1, found, DONE
    return pace.updates, found, DONE


@kernel
def update_by_mistakes(
    rows: Rows, labels: Labels, order: IntArray, rule: Any, pace: ScanPace, state: State, sums: State,
    weights: FloatArray, tape: Tape, raw: IntArray, place: IntArray,
) -> tuple[int, int, int]:  # fmt: skip
    """Update by one violation at a time, drawn uniformly; each has one entry on the tape.

    weights: those of `state` as a vector. raw, place: see `next_below`. Returns (updates made, violations in the last scan,
    reason).
    """
    found, last = 0, pace.rhos.shape[0] - 1
    for k in range(pace.updates):
        if k + order.shape[0] > tape.rows.shape[0]:
            return k, found, FULL
        after = _find_violations(rows, labels, order, rule, state, tape, k)
        if after < 0:
            return k, found, OVERFLOW
        found = after - k
        if found == 0:
            return k, 0, CLEAN
        drawn = next_below(raw, place, found)
        if drawn < 0:
            return k, found, FULL
        s = k + drawn
        i, other, tau = tape.rows[s], tape.others[s], tape.steps[s] * pace.rhos[min(state.counts[0], last)]
        tape.rows[k], tape.others[k], tape.steps[k], tape.times[k] = i, other, tau, k
        move(labels, rows, i, other, tau, state.x0, state.w, state.bias)
        if sums.w.size > 0:
            move(labels, rows, i, other, tau * (pace.since + k), state.x0, sums.w, sums.bias)
        state.counts[0] += 1
        if pace.norm < math.inf and _norm(weights, state.bias) > pace.norm:
            return k + 1, found, DONE
    return pace.updates, found, DONE
