"""Errors of some of a run's hypotheses: the log is replayed once, and each time it passes a wanted update, rows are judged.

A training row on the plane counts as an error, as in the run and in the pocket; a test row is judged as `predict` would.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..kernels.schemes import Rest
from ..log import UpdateLog, make_moves
from ..problem import as_heads, copy_state, zero_sums
from ..threads import one_blas_thread
from .facts import density, evenly

# Multiply-adds that may be spent on judging rows: above it, rows are taken evenly. About half a second of one core each.
DENSE_WORK, SPARSE_WORK = 5e9, 4e8
# Values of hypotheses, and of scores, held at a time.
HELD = 1 << 22
LEAST_ROWS = 500


class Judges(NamedTuple):
    """Rows to be judged on: a share of all where all would take too long."""

    X: Any
    codes: Any
    total: int
    ties_are_wrong: bool

    @property
    def rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def sampled(self) -> bool:
        return self.rows < self.total


def judges(X: Any, codes: Any, hypotheses: int, heads: int, ties_are_wrong: bool) -> Judges:
    work = SPARSE_WORK if sp.issparse(X) else DENSE_WORK
    total = X.shape[0]
    some = evenly(total, max(LEAST_ROWS, int(work / max(1.0, density(X) * hypotheses * heads))))
    return (
        Judges(X, codes, total, ties_are_wrong) if len(some) == total else Judges(X[some], codes[some], total, ties_are_wrong)
    )


def errors_along(log: UpdateLog, updates: Any, visits: Any, average: bool, sets: list[Judges]) -> Any:
    """Errors after `updates` (rising), hypotheses x sets; with `average`, of the mean of the weights over `visits` rows."""
    found: list[Any] = []
    with one_blas_thread():
        for weights, bias in _groups(log, updates, visits, average):
            found.append(np.stack([count_errors(each, weights, bias) for each in sets], axis=1))
    return np.concatenate(found)


def _groups(log: UpdateLog, updates: Any, visits: Any, average: bool) -> Iterator[tuple[Any, Any]]:
    """The wanted hypotheses, some at a time: (hypotheses x heads x features, hypotheses x heads)."""
    state, sums, edges = copy_state(log.start), zero_sums(log.start), log.edges
    rows, others, steps, times = log.local_rows, log.others, log.steps, log.times - log.since
    ends = log.durations - log.since
    size = max(1, HELD // max(1, as_heads(state.w, log.problem.rows).size))
    weights, biases, at = [], [], 0
    for t, visited in zip(updates, visits, strict=True):
        stretch = slice(int(edges[at]), int(edges[t]))
        log.advance(state, edges[at : t + 1])
        heads, bias = as_heads(state.w, log.problem.rows).astype(np.float64), state.bias.copy()
        if average:
            make_moves(log.problem, rows[stretch], others[stretch], steps[stretch] * times[stretch], sums)
            over = (
                1.0 / np.maximum(1, np.minimum(visited, ends))
                if isinstance(log.problem.labels, Rest)
                else 1.0 / max(1, visited)
            )
            each = np.broadcast_to(over, bias.shape)
            heads = heads - as_heads(sums.w, log.problem.rows) * each[:, None]
            bias = bias - sums.bias * each
        weights.append(heads)
        biases.append(bias * state.x0)
        at = t
        if len(weights) == size:
            yield np.stack(weights), np.stack(biases)
            weights, biases = [], []
    if weights:
        yield np.stack(weights), np.stack(biases)


def count_errors(on: Judges, weights: Any, bias: Any) -> Any:
    """How many rows each hypothesis gets wrong."""
    n, heads, width = weights.shape
    columns = np.ascontiguousarray(weights.reshape(n * heads, width).T)
    wrong, step = np.zeros(n, np.int64), max(1, HELD // (n * heads))
    for first in range(0, on.rows, step):
        here = slice(first, first + step)
        rows, codes = on.X[here], on.codes[here]
        scores = np.asarray(rows.astype(np.float64, copy=False) @ columns).reshape(-1, n, heads) + bias
        wrong += _wrong(scores, codes, on.ties_are_wrong).sum(axis=0)
    return wrong


def _wrong(scores: Any, codes: Any, ties_are_wrong: bool) -> Any:
    """rows x hypotheses."""
    if scores.shape[2] == 1:
        margins = scores[:, :, 0] * (2.0 * codes - 1.0)[:, None]
        if ties_are_wrong:
            return ~(margins > 0.0)
        return (scores[:, :, 0] > 0.0) != (codes == 1)[:, None]
    if not ties_are_wrong:
        return scores.argmax(axis=2) != codes[:, None]
    own = np.take_along_axis(scores, codes[:, None, None].astype(np.intp), axis=2)
    np.put_along_axis(scores, codes[:, None, None].astype(np.intp), -np.inf, axis=2)
    return ~(own[:, :, 0] > scores.max(axis=2))
