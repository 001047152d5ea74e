"""The pass over the rows of a rule that keeps a variance s_j beside each weight w_j, as AROW does.

A move is no multiple of a row, so there is no tape of moves: w_j += a s_j x_j, s_j -= beta (s_j x_j)^2. The variances are laid
out as the weights are (see `rows.py`), and both are float64 whatever the rows are; for CSR rows each weight has its variance
beside it, so that one cache line brings both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compile import REORDER, inlined, kernel, operation
from .rows import CSR, Dense, ask, dot, dots, prefetch, span
from .rules import gain
from .schemes import Binary, Joint, Rest, weight_of
from .sweeps import DONE, OVERFLOW


class Spread(NamedTuple):
    """The variances, in the shapes of `State.w` and `State.bias`."""

    w: Any
    bias: Any


# --- operations on one row -------------------------------------------------------------------------------------------------


@operation
def spread_of(rows: Any, i: Any, s: Any) -> Any:
    """The variance of row i's score: sum_j s_j x_j^2."""


@operation
def spread_of_head(rows: Any, i: Any, S: Any, h: Any) -> Any:
    """The same for head h."""


@operation
def sway(rows: Any, i: Any, a: Any, beta: Any, least: Any, w: Any, s: Any) -> Any:
    """w_j += a s_j x_j, then s_j -= beta (s_j x_j)^2, down to the share `least` of itself at most, whatever rounding says."""


@operation
def sway_head(rows: Any, i: Any, a: Any, beta: Any, least: Any, W: Any, S: Any, h: Any) -> Any:
    """The same for head h."""


@spread_of.of(Dense, fastmath=REORDER)
def _(rows: Any, i: Any, s: Any) -> Any:
    total = 0.0
    for j in range(s.shape[0]):
        x = np.float64(rows.values[i, j])
        total += x * x * s[j]
    return total


@spread_of_head.of(Dense)
def _(rows: Any, i: Any, S: Any, h: Any) -> Any:
    return spread_of(rows, i, S[h])


@sway.of(Dense)
def _(rows: Any, i: Any, a: Any, beta: Any, least: Any, w: Any, s: Any) -> Any:
    for j in range(w.shape[0]):
        sx = s[j] * np.float64(rows.values[i, j])
        w[j] += a * sx
        s[j] = max(s[j] - beta * sx * sx, least * s[j])


@sway_head.of(Dense)
def _(rows: Any, i: Any, a: Any, beta: Any, least: Any, W: Any, S: Any, h: Any) -> Any:
    sway(rows, i, a, beta, least, W[h], S[h])


@spread_of.of(CSR)
def _(rows: Any, i: Any, s: Any) -> Any:
    start, stop = span(rows, i)
    total = 0.0
    for j in range(start, stop):
        x = np.float64(rows.values[j])
        total += x * x * s[np.uintp(rows.indices[j])]
    return total


@spread_of_head.of(CSR)
def _(rows: Any, i: Any, S: Any, h: Any) -> Any:
    start, stop = span(rows, i)
    total = 0.0
    for j in range(start, stop):
        x = np.float64(rows.values[j])
        total += x * x * S[np.uintp(rows.indices[j]), h]
    return total


@sway.of(CSR)
def _(rows: Any, i: Any, a: Any, beta: Any, least: Any, w: Any, s: Any) -> Any:
    start, stop = span(rows, i)
    for j in range(start, stop):
        c = np.uintp(rows.indices[j])
        sx = s[c] * np.float64(rows.values[j])
        w[c] += a * sx
        s[c] = max(s[c] - beta * sx * sx, least * s[c])


@sway_head.of(CSR)
def _(rows: Any, i: Any, a: Any, beta: Any, least: Any, W: Any, S: Any, h: Any) -> Any:
    start, stop = span(rows, i)
    for j in range(start, stop):
        c = np.uintp(rows.indices[j])
        sx = S[c, h] * np.float64(rows.values[j])
        W[c, h] += a * sx
        S[c, h] = max(S[c, h] - beta * sx * sx, least * S[c, h])


# --- what a label asks of a row --------------------------------------------------------------------------------------------


@operation
def adapt(labels: Any, rows: Any, i: Any, rule: Any, state: Any, spread: Any) -> Any:
    """Learn row i; False where a number overflowed."""


@inlined
def _sway_bias(state: Any, a: Any, beta: Any, least: Any, spread: Any, h: Any) -> Any:
    """`sway` for the bias of head h, whose feature is x_0."""
    s = spread.bias[h]
    sx = s * state.x0
    state.bias[h] += a * sx
    spread.bias[h] = max(s - beta * sx * sx, least * s)


@adapt.of(Binary)
def _(labels: Any, rows: Any, i: Any, rule: Any, state: Any, spread: Any) -> Any:
    y = labels.signs[i]
    margin = y * (dot(rows, i, state.w) + state.x0 * state.bias[0])
    if not abs(margin) < np.inf:
        return False
    if margin > rule.margin:
        return True
    v = spread_of(rows, i, spread.w) + state.x0 * state.x0 * spread.bias[0]
    alpha, beta, least = gain(rule, margin, v, weight_of(labels, i))
    if not alpha < np.inf:
        return False
    sway(rows, i, y * alpha, beta, least, state.w, spread.w)
    _sway_bias(state, y * alpha, beta, least, spread, 0)
    state.counts[0] += 1
    return True


@adapt.of(Joint)
def _(labels: Any, rows: Any, i: Any, rule: Any, state: Any, spread: Any) -> Any:
    scores, label, rival = state.scores, labels.codes[i], -1
    dots(rows, i, state.w, scores)
    for z in range(scores.shape[0]):
        scores[z] += state.x0 * state.bias[z]
        if z != label and (rival < 0 or scores[z] > scores[rival]):
            rival = z
    margin = scores[label] - scores[rival]
    if not abs(margin) < np.inf:
        return False
    if margin > rule.margin:
        return True
    v = spread_of_head(rows, i, spread.w, label) + spread_of_head(rows, i, spread.w, rival)
    v += state.x0 * state.x0 * (spread.bias[label] + spread.bias[rival])
    alpha, beta, least = gain(rule, margin, v, weight_of(labels, i))
    if not alpha < np.inf:
        return False
    sway_head(rows, i, alpha, beta, least, state.w, spread.w, label)
    sway_head(rows, i, -alpha, beta, least, state.w, spread.w, rival)
    _sway_bias(state, alpha, beta, least, spread, label)
    _sway_bias(state, -alpha, beta, least, spread, rival)
    state.counts[0] += 1
    return True


@adapt.of(Rest)
def _(labels: Any, rows: Any, i: Any, rule: Any, state: Any, spread: Any) -> Any:
    scores, label, weight = state.scores, labels.codes[i], weight_of(labels, i)
    dots(rows, i, state.w, scores)
    for h in range(scores.shape[0]):
        y = 1.0 if labels.heads[h] == label else -1.0
        margin = y * (scores[h] + state.x0 * state.bias[h])
        if not abs(margin) < np.inf:
            return False
        if margin > rule.margin:
            continue
        v = spread_of_head(rows, i, spread.w, h) + state.x0 * state.x0 * spread.bias[h]
        alpha, beta, least = gain(rule, margin, v, weight)
        if not alpha < np.inf:
            return False
        sway_head(rows, i, y * alpha, beta, least, state.w, spread.w, h)
        _sway_bias(state, y * alpha, beta, least, spread, h)
        state.counts[h] += 1
    return True


@kernel
def adapt_to(rows: Any, labels: Any, order: Any, rule: Any, ahead: int, state: Any, spread: Any) -> tuple[int, int]:
    """Learn the rows in `order`, `ahead` rows ahead of which memory is asked for: (rows visited, why it came back)."""
    n = order.shape[0]
    for p in range(n):
        if ahead > 0 and p + ahead < n:
            ask(rows, order[p + ahead])
        if not adapt(labels, rows, order[p], rule, state, spread):
            return p, OVERFLOW
    return n, DONE


# --- AROW on sets of columns, as the mail filter learns them; the definition is `mail/learner.py`, and these give its bits.
#
# Sums are sequential and in float64, each move is computed in float64 and rounded once.

AHEAD = 16  # columns whose weights are asked for before their turn


@inlined
def _sum(columns: Any, start: Any, stop: Any, values: Any) -> Any:
    """The sum of the values of columns[start:stop], one after the other."""
    total, last = 0.0, np.int64(columns.shape[0]) - 1
    for j in range(start, stop):
        prefetch(values, np.int64(columns[np.uintp(min(np.int64(j) + AHEAD, last))]) * values.itemsize)
        total += np.float64(values[np.uintp(columns[j])])
    return total


@inlined
def _score(columns: Any, start: Any, stop: Any, weights: Any) -> Any:
    return _sum(columns, start, stop, weights) / np.sqrt(np.float64(stop - start)) if stop > start else 0.0


@kernel
def score_sets(indptr: Any, columns: Any, weights: Any, scores: Any) -> None:
    """scores[i] = what set i = columns[indptr[i]:indptr[i + 1]] scores."""
    for i in range(scores.shape[0]):
        scores[i] = _score(columns, np.uintp(indptr[i]), np.uintp(indptr[i + 1]), weights)


@kernel
def learn_sets(
    indptr: Any, columns: Any, spam: Any, r: float, ham_margin: float, weights: Any, variances: Any, scores: Any
) -> None:
    """Learn the sets one after the other, and write down what each scored before."""
    for i in range(scores.shape[0]):
        start, stop = np.uintp(indptr[i]), np.uintp(indptr[i + 1])
        y, margin = (1.0, 1.0) if spam[i] else (-1.0, ham_margin)
        score = _score(columns, start, stop, weights)
        scores[i] = score
        if stop == start or not y * score < margin:
            continue
        x = 1.0 / np.sqrt(np.float64(stop - start))
        v = _sum(columns, start, stop, variances) * x * x
        beta = 1.0 / (v + r)
        a = (margin - y * score) * beta * y * x
        for j in range(start, stop):
            c = np.uintp(columns[j])
            s = np.float64(variances[c])
            sx = s * x
            weights[c] += a * s
            variances[c] = s - beta * (sx * sx)
