"""Label schemes: one plane, k planes that compete with each other (joint), or k planes each against the rest.

Each scheme has two operations. `propose_moves` writes the moves that row i triggers to the tape, without applying them; `move`
applies one of them. Every sweep, replay and average is a loop over these two.

    scheme   the row triggers a move when            the move
    Binary   y <w, p> <= margin                      w += tau y p
    Joint   <w_l, p> - max_z <w_z, p> <= margin     w_l += tau p, w_z -= tau p   (z: the smallest label among equals)
    Rest     y_h <w_h, p> <= margin, each head h     w_h += tau y_h p             (y_h = +1 where h is the row's label)

p is the augmented row (x_0, x); `bias` holds weight 0 of each head in float64, so that a score is <w, x> + x_0 bias.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import operation
from .rows import Rows, axpy, axpy_head, dot, dots, sqnorm
from .rules import step, threshold


class Binary(NamedTuple):
    """Labels of two classes."""

    signs: IntArray  # int8, +1 or -1 for each row
    weights: FloatArray  # float64, one per row; empty if every row has weight 1


class Joint(NamedTuple):
    """Labels of k classes whose planes compete with each other."""

    codes: IntArray  # int32, 0..k-1 for each row
    weights: FloatArray


class Rest(NamedTuple):
    """Labels of k classes, each against the rest."""

    codes: IntArray
    heads: IntArray  # int32, the positive class of each head; STOPPED: it moves no more
    weights: FloatArray


Labels = Binary | Joint | Rest
STOPPED = -1


class State(NamedTuple):
    """The current weights, and counts with one entry per independent head."""

    w: FloatArray  # Binary: d. Joint, Rest: k x d (dense) or d x k (CSR)
    bias: FloatArray  # float64, one per weight vector
    counts: IntArray  # int64, updates made so far
    # float64, the squared norm of the augmented weights; kept current for w_max and for rules with a `threshold`
    sqnorms: FloatArray
    scores: FloatArray  # float64, a buffer for the scores of one row
    x0: float


class Tape(NamedTuple):
    """A buffer of moves, proposed or applied, in order."""

    rows: IntArray  # int64
    steps: FloatArray  # float64, tau > 0
    times: IntArray  # int64, position of the row within this call
    others: IntArray  # int32, Joint: the rival; Rest: the head; Binary: unused
    margins: FloatArray  # float64, the margin of the row before the move


@operation
def write(tape: Any, used: int, i: int, other: int, tau: float, margin: float) -> Any:
    """Write one move to the tape unless tau is 0; return the new number of moves, or -1 after an overflow."""


@operation
def propose_moves(labels: Any, rows: Rows, i: int, rule: Any, state: State, tape: Tape, used: int) -> Any:
    """Write the moves that row i triggers to the tape after the first `used`; return their number, or -1 after an overflow."""


@operation
def move(labels: Any, rows: Rows, i: int, other: int, tau: float, x0: float, w: FloatArray, bias: FloatArray) -> Any:
    """Apply one move of row i, with the factor `tau`."""


@operation
def length(labels: Any, rows: Rows, i: int, x0: float) -> Any:
    """The squared length of the move of row i with tau = 1."""


@operation
def weight_of(labels: Any, i: int) -> Any:
    """The weight of row i."""


@operation
def head_of(labels: Any, other: int) -> Any:
    """The entry of `State.counts` that counts a move."""


@operation
def has_stopped(labels: Any, h: int) -> Any:
    """Whether head h moves no more, although its weights are still with those of the others."""


@write.of(Tape)
def _(tape: Tape, used: int, i: int, other: int, tau: float, margin: float) -> Any:
    if tau == 0.0:
        return used
    if tau != tau:
        return -1
    tape.rows[used] = i
    tape.steps[used] = tau
    tape.others[used] = other
    tape.margins[used] = margin
    return used + 1


@propose_moves.of(Binary)
def _(labels: Binary, rows: Rows, i: int, rule: Any, state: State, tape: Tape, used: int) -> Any:
    margin = labels.signs[i] * (dot(rows, i, state.w) + state.x0 * state.bias[0])
    if not abs(margin) < np.inf:
        return -1
    if margin > threshold(rule, state.sqnorms[0], state.counts[0]):
        return used
    return write(tape, used, i, 0, step(rule, margin, length(labels, rows, i, state.x0), weight_of(labels, i)), margin)


@move.of(Binary)
def _(labels: Binary, rows: Rows, i: int, other: int, tau: float, x0: float, w: FloatArray, bias: FloatArray) -> Any:
    signed = labels.signs[i] * tau
    axpy(rows, i, signed, w)
    bias[0] += signed * x0


@length.of(Binary)
def _(labels: Binary, rows: Rows, i: int, x0: float) -> Any:
    return sqnorm(rows, i) + x0 * x0


@head_of.of(Binary)
def _(labels: Binary, other: int) -> Any:
    return 0


@propose_moves.of(Joint)
def _(labels: Joint, rows: Rows, i: int, rule: Any, state: State, tape: Tape, used: int) -> Any:
    scores, label, rival = state.scores, labels.codes[i], -1
    dots(rows, i, state.w, scores)
    for z in range(scores.shape[0]):
        scores[z] += state.x0 * state.bias[z]
        if z != label and (rival < 0 or scores[z] > scores[rival]):
            rival = z
    margin = scores[label] - scores[rival]
    if not abs(margin) < np.inf:
        return -1
    if margin > threshold(rule, state.sqnorms[0], state.counts[0]):
        return used
    return write(tape, used, i, rival, step(rule, margin, length(labels, rows, i, state.x0), weight_of(labels, i)), margin)


@move.of(Joint)
def _(labels: Joint, rows: Rows, i: int, other: int, tau: float, x0: float, w: FloatArray, bias: FloatArray) -> Any:
    label = labels.codes[i]
    axpy_head(rows, i, tau, w, label)
    axpy_head(rows, i, -tau, w, other)
    bias[label] += tau * x0
    bias[other] -= tau * x0


@length.of(Joint)
def _(labels: Joint, rows: Rows, i: int, x0: float) -> Any:
    return 2.0 * (sqnorm(rows, i) + x0 * x0)


@head_of.of(Joint)
def _(labels: Joint, other: int) -> Any:
    return 0


@propose_moves.of(Rest)
def _(labels: Rest, rows: Rows, i: int, rule: Any, state: State, tape: Tape, used: int) -> Any:
    scores, label = state.scores, labels.codes[i]
    dots(rows, i, state.w, scores)
    for h in range(scores.shape[0]):
        if labels.heads[h] == STOPPED:
            continue
        margin = scores[h] + state.x0 * state.bias[h]
        if labels.heads[h] != label:
            margin = -margin
        if not abs(margin) < np.inf:
            return -1
        if margin <= threshold(rule, state.sqnorms[h], state.counts[h]):
            used = write(tape, used, i, h, step(rule, margin, length(labels, rows, i, state.x0), weight_of(labels, i)), margin)
            if used < 0:
                return -1
    return used


@move.of(Rest)
def _(labels: Rest, rows: Rows, i: int, other: int, tau: float, x0: float, w: FloatArray, bias: FloatArray) -> Any:
    signed = tau if labels.heads[other] == labels.codes[i] else -tau
    axpy_head(rows, i, signed, w, other)
    bias[other] += signed * x0


@length.of(Rest)
def _(labels: Rest, rows: Rows, i: int, x0: float) -> Any:
    return sqnorm(rows, i) + x0 * x0


@head_of.of(Rest)
def _(labels: Rest, other: int) -> Any:
    return other


@has_stopped.of(Rest)
def _(labels: Rest, h: int) -> Any:
    return labels.heads[h] == STOPPED


@has_stopped.of(None)
def _(labels: Labels, h: int) -> Any:
    return False


def _weight(labels: Labels, i: int) -> Any:
    return labels.weights[i] if labels.weights.shape[0] > 0 else 1.0


for _scheme in (Binary, Joint, Rest):
    weight_of.of(_scheme)(_weight)
