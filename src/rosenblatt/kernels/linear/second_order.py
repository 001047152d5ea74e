"""Second-order updates: rules such as AROW that keep a variance s_j beside each weight w_j.

An update is not a multiple of a row, so there is no tape of updates: w_j += a s_j x_j, s_j -= beta (s_j x_j)^2. `adapt_binary`
is the one update of a single weight vector. It serves the estimators (dense and CSR rows, float64) and the mail filter
(`UnitSets`, float32); the row type selects the bodies of `dot`, `spread_of` and `update_weights`.

The variances have the layout of the weights (see `rows.py`). For the estimators both are float64, whatever the type of the
rows; for CSR rows each weight has its variance next to it, so that one cache line brings both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import BoolArray, FloatArray, IntArray
from ..compile import REORDER, inlined, kernel, operation
from .rows import CSR, Dense, Rows, dot, dots, prefetch, prefetch_row, span
from .rules import gain, target
from .schemes import Binary, Joint, Labels, Rest, State, weight_of
from .sweeps import DONE, OVERFLOW


class Spread(NamedTuple):
    """The variances, in the shapes of `State.w` and `State.bias`."""

    w: FloatArray
    bias: FloatArray


# --- operations on one row -------------------------------------------------------------------------------------------------


@operation
def spread_of(rows: Any, i: int, s: FloatArray) -> Any:
    """The variance of row i's score: sum_j s_j x_j^2."""


@operation
def spread_of_head(rows: Any, i: int, S: FloatArray, h: int) -> Any:
    """The same for head h."""


@operation
def update_weights(rows: Any, i: int, a: float, beta: float, least: float, w: FloatArray, s: FloatArray) -> Any:
    """w_j += a s_j x_j, then s_j -= beta (s_j x_j)^2, but s_j keeps at least the share `least` of itself."""


@operation
def update_head(rows: Any, i: int, a: float, beta: float, least: float, W: FloatArray, S: FloatArray, h: int) -> Any:
    """The same for head h."""


@spread_of.of(Dense, fastmath=REORDER)
def _(rows: Dense, i: int, s: FloatArray) -> Any:
    total = 0.0
    for j in range(s.shape[0]):
        x = np.float64(rows.values[i, j])
        total += x * x * s[j]
    return total


@spread_of_head.of(Dense)
def _(rows: Dense, i: int, S: FloatArray, h: int) -> Any:
    return spread_of(rows, i, S[h])


@update_weights.of(Dense)
def _(rows: Dense, i: int, a: float, beta: float, least: float, w: FloatArray, s: FloatArray) -> Any:
    for j in range(w.shape[0]):
        sx = s[j] * np.float64(rows.values[i, j])
        w[j] += a * sx
        s[j] = max(s[j] - beta * sx * sx, least * s[j])


@update_head.of(Dense)
def _(rows: Dense, i: int, a: float, beta: float, least: float, W: FloatArray, S: FloatArray, h: int) -> Any:
    update_weights(rows, i, a, beta, least, W[h], S[h])


@spread_of.of(CSR)
def _(rows: CSR, i: int, s: FloatArray) -> Any:
    start, stop = span(rows, i)
    total = 0.0
    for j in range(start, stop):
        x = np.float64(rows.values[j])
        total += x * x * s[np.uintp(rows.indices[j])]
    return total


@spread_of_head.of(CSR)
def _(rows: CSR, i: int, S: FloatArray, h: int) -> Any:
    start, stop = span(rows, i)
    total = 0.0
    for j in range(start, stop):
        x = np.float64(rows.values[j])
        total += x * x * S[np.uintp(rows.indices[j]), h]
    return total


@update_weights.of(CSR)
def _(rows: CSR, i: int, a: float, beta: float, least: float, w: FloatArray, s: FloatArray) -> Any:
    start, stop = span(rows, i)
    for j in range(start, stop):
        c = np.uintp(rows.indices[j])
        sx = s[c] * np.float64(rows.values[j])
        w[c] += a * sx
        s[c] = max(s[c] - beta * sx * sx, least * s[c])


@update_head.of(CSR)
def _(rows: CSR, i: int, a: float, beta: float, least: float, W: FloatArray, S: FloatArray, h: int) -> Any:
    start, stop = span(rows, i)
    for j in range(start, stop):
        c = np.uintp(rows.indices[j])
        sx = S[c, h] * np.float64(rows.values[j])
        W[c, h] += a * sx
        S[c, h] = max(S[c, h] - beta * sx * sx, least * S[c, h])


# --- updates by scheme ------------------------------------------------------------------------------------------------------


@operation
def adapt(labels: Any, rows: Rows, i: int, rule: Any, state: State, spread: Spread) -> Any:
    """Learn row i; False where a number overflowed."""


@inlined
def _update_bias(state: State, a: float, beta: float, least: float, spread: Spread, h: int) -> Any:
    """`update_weights` for the bias of head h, whose feature is x_0."""
    s = spread.bias[h]
    sx = s * state.x0
    state.bias[h] += a * sx
    spread.bias[h] = max(s - beta * sx * sx, least * s)


@inlined
def adapt_binary(
    rows: Rows | UnitSets, i: int, y: float, score: float, rule: Any, weight: float, state: State, spread: Spread
) -> Any:
    """Learn row i, of sign y and this score, with one weight vector; False where a number overflowed."""
    margin, goal = y * score, target(rule, y)
    if not abs(margin) < np.inf:
        return False
    if not margin < goal:
        return True
    v = spread_of(rows, i, spread.w) + state.x0 * state.x0 * spread.bias[0]
    alpha, beta, least = gain(rule, goal - margin, v, weight)
    if not alpha < np.inf:
        return False
    update_weights(rows, i, y * alpha, beta, least, state.w, spread.w)
    _update_bias(state, y * alpha, beta, least, spread, 0)
    state.counts[0] += 1
    return True


@adapt.of(Binary)
def _(labels: Binary, rows: Rows, i: int, rule: Any, state: State, spread: Spread) -> Any:
    score = dot(rows, i, state.w) + state.x0 * state.bias[0]
    return adapt_binary(rows, i, labels.signs[i], score, rule, weight_of(labels, i), state, spread)


@adapt.of(Joint)
def _(labels: Joint, rows: Rows, i: int, rule: Any, state: State, spread: Spread) -> Any:
    scores, label, rival = state.scores, labels.codes[i], -1
    dots(rows, i, state.w, scores)
    for z in range(scores.shape[0]):
        scores[z] += state.x0 * state.bias[z]
        if z != label and (rival < 0 or scores[z] > scores[rival]):
            rival = z
    margin, goal = scores[label] - scores[rival], target(rule, 1.0)
    if not abs(margin) < np.inf:
        return False
    if not margin < goal:
        return True
    v = spread_of_head(rows, i, spread.w, label) + spread_of_head(rows, i, spread.w, rival)
    v += state.x0 * state.x0 * (spread.bias[label] + spread.bias[rival])
    alpha, beta, least = gain(rule, goal - margin, v, weight_of(labels, i))
    if not alpha < np.inf:
        return False
    update_head(rows, i, alpha, beta, least, state.w, spread.w, label)
    update_head(rows, i, -alpha, beta, least, state.w, spread.w, rival)
    _update_bias(state, alpha, beta, least, spread, label)
    _update_bias(state, -alpha, beta, least, spread, rival)
    state.counts[0] += 1
    return True


@adapt.of(Rest)
def _(labels: Rest, rows: Rows, i: int, rule: Any, state: State, spread: Spread) -> Any:
    scores, label, weight = state.scores, labels.codes[i], weight_of(labels, i)
    dots(rows, i, state.w, scores)
    for h in range(scores.shape[0]):
        y = 1.0 if labels.heads[h] == label else -1.0
        margin, goal = y * (scores[h] + state.x0 * state.bias[h]), target(rule, y)
        if not abs(margin) < np.inf:
            return False
        if not margin < goal:
            continue
        v = spread_of_head(rows, i, spread.w, h) + state.x0 * state.x0 * spread.bias[h]
        alpha, beta, least = gain(rule, goal - margin, v, weight)
        if not alpha < np.inf:
            return False
        update_head(rows, i, y * alpha, beta, least, state.w, spread.w, h)
        _update_bias(state, y * alpha, beta, least, spread, h)
        state.counts[h] += 1
    return True


@kernel
def adapt_to(
    rows: Rows, labels: Labels, order: IntArray, rule: Any, ahead: int, state: State, spread: Spread
) -> tuple[int, int]:
    """Learn the rows in `order`, prefetching `ahead` rows ahead; return (rows visited, reason of the return)."""
    n = order.shape[0]
    for p in range(n):
        if ahead > 0 and p + ahead < n:
            prefetch_row(rows, order[p + ahead])
        if not adapt(labels, rows, order[p], rule, state, spread):
            return p, OVERFLOW
    return n, DONE


# --- the rows of the mail filter --------------------------------------------------------------------------------------------
#
# `mail/learner.py` defines this learner in plain NumPy, which saves the import of Numba for a few mails. The kernels give the
# same bits: `tests/mail/test_learner.py` compares them. Sums are sequential and in float64; each update is computed in float64
# and rounded once.

COLUMNS_AHEAD = 16  # columns between a prefetch and its use


class UnitSets(NamedTuple):
    """Rows of length 1: row i is 1/sqrt(n) in its n columns, columns[indptr[i]:indptr[i + 1]], and 0 elsewhere."""

    columns: IntArray  # uint32
    indptr: IntArray  # int64


@span.of(UnitSets)
def _(rows: UnitSets, i: int) -> Any:
    return np.uintp(rows.indptr[i]), np.uintp(rows.indptr[i + 1])


@inlined
def _sum(rows: UnitSets, i: int, values: FloatArray) -> Any:
    """Sum the values of the columns of row i in their order."""
    columns, (start, stop) = rows.columns, span(rows, i)
    total, last = 0.0, np.int64(columns.shape[0]) - 1
    for j in range(start, stop):
        prefetch(values, np.int64(columns[np.uintp(min(np.int64(j) + COLUMNS_AHEAD, last))]) * values.itemsize)
        total += np.float64(values[np.uintp(columns[j])])
    return total


@inlined
def _value(rows: UnitSets, i: int) -> Any:
    """The value of row i in each of its columns."""
    start, stop = span(rows, i)
    return 1.0 / np.sqrt(np.float64(stop - start))


@dot.of(UnitSets)
def _(rows: UnitSets, i: int, w: FloatArray) -> Any:
    start, stop = span(rows, i)
    return _sum(rows, i, w) / np.sqrt(np.float64(stop - start)) if stop > start else 0.0


@spread_of.of(UnitSets)
def _(rows: UnitSets, i: int, s: FloatArray) -> Any:
    x = _value(rows, i)
    return _sum(rows, i, s) * x * x


@update_weights.of(UnitSets)
def _(rows: UnitSets, i: int, a: float, beta: float, least: float, w: FloatArray, s: FloatArray) -> Any:
    """Variances start at 1 and rows have length 1, so that rounding cannot bring s_j to 0; `least` is not needed."""
    start, stop = span(rows, i)
    x = _value(rows, i)
    a *= x
    for j in range(start, stop):
        c = np.uintp(rows.columns[j])
        variance = np.float64(s[c])
        sx = variance * x
        w[c] += a * variance
        s[c] = variance - beta * (sx * sx)


@kernel
def score_sets(rows: UnitSets, weights: FloatArray, scores: FloatArray) -> None:
    """scores[i] = <x_i, w>"""
    for i in range(scores.shape[0]):
        scores[i] = dot(rows, i, weights)


@kernel
def learn_sets(rows: UnitSets, spam: BoolArray, rule: Any, state: State, spread: Spread) -> None:
    """Learn the rows in their order; state.scores[i] is the score of row i before its update."""
    for i in range(state.scores.shape[0]):
        score = dot(rows, i, state.w)
        state.scores[i] = score
        if rows.indptr[i + 1] > rows.indptr[i]:
            adapt_binary(rows, i, 1.0 if spam[i] else -1.0, score, rule, 1.0, state, spread)
