"""Errors of selected hypotheses of a run: the log is replayed once, and the rows are classified after each selected update.

A training row on the plane counts as an error, as in the run and in the pocket; a test row is classified as by `predict`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..array_types import BoolArray, FloatArray, IntArray, Matrix
from ..data.problem import as_heads, copy_state, zero_sums
from ..online.run_record import make_moves
from ..online.update_log import UpdateLog
from ..parallel import one_blas_thread
from .story import evenly, values_per_row

# Multiply-adds, beyond which an even sample of the rows is classified: about half a second of one core each.
MAX_DENSE_WORK, MAX_SPARSE_WORK = 5e9, 4e8
# Values of hypotheses, and of scores, in memory at a time.
VALUES_PER_BATCH = 1 << 22
# Values of all hypotheses of a curve: the more features, the fewer points it has.
MAX_CURVE_VALUES = 1 << 25
MIN_CURVE_POINTS = 12
MIN_SAMPLE_ROWS = 500


class EvaluationRows(NamedTuple):
    """Rows to classify: all, or a sample if all would take too long."""

    X: Matrix
    codes: IntArray
    total: int
    ties_are_wrong: bool

    @property
    def rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def sampled(self) -> bool:
        return self.rows < self.total


def count_curve_points(log: UpdateLog, limit: int) -> int:
    """Return how many hypotheses of a run a curve shows: at most `limit`, fewer if there are many features."""
    return max(MIN_CURVE_POINTS, min(limit, MAX_CURVE_VALUES // max(1, log._record.n_features * log._record.n_heads)))


def choose_rows(X: Matrix, codes: IntArray, hypotheses: int, heads: int, ties_are_wrong: bool) -> EvaluationRows:
    """Choose the rows on which the hypotheses are evaluated, fewer for more hypotheses."""
    work = MAX_SPARSE_WORK if sp.issparse(X) else MAX_DENSE_WORK
    total = X.shape[0]
    some = evenly(total, max(MIN_SAMPLE_ROWS, int(work / max(1.0, values_per_row(X) * hypotheses * heads))))
    if len(some) < total:
        X, codes = X[some], codes[some]
    return EvaluationRows(X, codes, total, ties_are_wrong)


class Hypotheses:
    """A batch of hypotheses in the layout of matrix products: feature by feature for sparse rows."""

    def __init__(self, size: int, heads: int, width: int, sparse: bool) -> None:
        self.weights = np.empty((width, size, heads) if sparse else (size, heads, width))
        self.bias, self.used, self.sparse = np.empty((size, heads)), 0, sparse

    def add(self, weights: FloatArray, bias: FloatArray) -> None:
        if self.sparse:
            self.weights[:, self.used] = weights.T
        else:
            self.weights[self.used] = weights
        self.bias[self.used] = bias
        self.used += 1

    @property
    def full(self) -> bool:
        return self.used == len(self.bias)

    def columns(self) -> FloatArray:
        """Return the weights as features x (hypotheses x heads)."""
        if not self.sparse:
            return self.weights[: self.used].reshape(-1, self.weights.shape[2]).T
        return np.ascontiguousarray(self.weights[:, : self.used]).reshape(len(self.weights), -1)

    def take_errors(self, sets: list[EvaluationRows]) -> IntArray:
        """Count the errors as hypotheses x sets, and empty the batch."""
        columns, bias, self.used = self.columns(), self.bias[: self.used].copy(), 0
        return np.stack([count_errors(each, columns, bias) for each in sets], axis=1)


def errors_along(
    log: UpdateLog, updates: IntArray, visits: IntArray, sets: list[EvaluationRows], average: bool = False
) -> tuple[IntArray, IntArray | None]:
    """Count the errors after each of the ascending `updates`, as hypotheses x sets.

    With `average`, also those of the mean of the weights over the first `visits` rows.
    """
    kinds = 2 if average else 1
    heads, width = log._record.n_heads, log._record.n_features
    size = kinds * max(1, VALUES_PER_BATCH // max(1, kinds * heads * width))
    batch = Hypotheses(min(size, kinds * len(updates)), heads, width, sp.issparse(sets[0].X))
    found: list[Any] = []
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        for weights, bias in _along(log, updates, visits, average):
            batch.add(weights, bias)
            if batch.full:
                found.append(batch.take_errors(sets))
        if batch.used:
            found.append(batch.take_errors(sets))
    errors = np.concatenate(found)
    return errors[::kinds], errors[1::2] if average else None


def _along(log: UpdateLog, updates: IntArray, visits: IntArray, average: bool) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield (weights, intercepts) after each of the updates; with `average`, also the mean so far after each of them."""
    record = log._record.pinned()
    state, sums, edges, rows = copy_state(record.start), zero_sums(record.start), record.edges, record.problem.rows
    local, others, steps, times = record.local_rows, record.others, log.steps, log.times - record.visited_before
    ends, at = log.durations - record.visited_before, 0
    for t, visited in zip(updates, visits, strict=True):
        stretch = slice(int(edges[at]), int(edges[t]))
        record.advance(state, edges[at : t + 1])
        at = t
        yield as_heads(state.w, rows), state.bias * state.x0
        if average:
            make_moves(record.problem, local[stretch], others[stretch], steps[stretch] * times[stretch], sums)
            # One-vs-rest heads that stopped earlier average over the rows until then.
            over = np.broadcast_to(1.0 / np.maximum(1, np.minimum(visited, ends)), state.bias.shape)
            mean = as_heads(state.w, rows) - as_heads(sums.w, rows) * over[:, None]
            yield mean, (state.bias - sums.bias * over) * state.x0


def count_errors(on: EvaluationRows, columns: FloatArray, bias: FloatArray) -> IntArray:
    """Count the errors of each hypothesis; `columns` has their weights as features x (hypotheses x heads)."""
    n, heads = bias.shape
    wrong, step = np.zeros(n, np.int64), max(1, VALUES_PER_BATCH // (n * heads))
    for first in range(0, on.rows, step):
        here = slice(first, first + step)
        rows, codes = on.X[here], on.codes[here]
        scores = np.asarray(rows.astype(np.float64, copy=False) @ columns).reshape(-1, n, heads) + bias
        wrong += _wrong(scores, codes, on.ties_are_wrong).sum(axis=0)
    return wrong


def _wrong(scores: FloatArray, codes: IntArray, ties_are_wrong: bool) -> BoolArray:
    """Return which rows each hypothesis misclassifies, as rows x hypotheses."""
    wrong: BoolArray
    if scores.shape[2] == 1 and ties_are_wrong:
        wrong = ~(scores[:, :, 0] * (2.0 * codes - 1.0)[:, None] > 0.0)
    elif scores.shape[2] == 1:
        wrong = ((scores[:, :, 0] > 0.0) != (codes == 1)[:, None]) | (codes < 0)[:, None]
    elif not ties_are_wrong:
        wrong = scores.argmax(axis=2) != codes[:, None]
    else:
        place = codes[:, None, None].astype(np.intp)
        own = np.take_along_axis(scores, place, axis=2)
        np.put_along_axis(scores, place, -np.inf, axis=2)
        wrong = ~(own[:, :, 0] > scores.max(axis=2))
    return wrong
