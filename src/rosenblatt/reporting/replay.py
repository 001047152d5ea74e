"""Errors of some of a run's hypotheses: the log is replayed once, and each time it passes a wanted update, rows are judged.

A training row on the plane counts as an error, as in the run and in the pocket; a test row is judged as `predict` would.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.problem import as_heads, copy_state, zero_sums
from ..online.update_log import UpdateLog, make_moves
from ..parallel import one_blas_thread
from .story import density, evenly

# Multiply-adds that may be spent on judging rows: above it, rows are taken evenly. About half a second of one core each.
DENSE_WORK, SPARSE_WORK = 5e9, 4e8
# Values of hypotheses, and of scores, held at a time.
HELD = 1 << 22
# Values of all hypotheses that are judged: the more features, the fewer points a curve has.
VALUES = 1 << 25
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


def affordable(log: UpdateLog, most: int) -> int:
    """How many hypotheses of a run to look at."""
    return max(12, min(most, VALUES // max(1, log._problem.n_features * len(log._start.bias))))


def judges(X: Any, codes: Any, hypotheses: int, heads: int, ties_are_wrong: bool) -> Judges:
    work = SPARSE_WORK if sp.issparse(X) else DENSE_WORK
    total = X.shape[0]
    some = evenly(total, max(LEAST_ROWS, int(work / max(1.0, density(X) * hypotheses * heads))))
    return (
        Judges(X, codes, total, ties_are_wrong) if len(some) == total else Judges(X[some], codes[some], total, ties_are_wrong)
    )


class Hypotheses:
    """Room for some hypotheses at a time, laid out as products want them: sparse rows take weights feature by feature."""

    def __init__(self, size: int, heads: int, width: int, sparse: bool) -> None:
        self.room = np.empty((width, size, heads) if sparse else (size, heads, width))
        self.bias, self.used, self.sparse = np.empty((size, heads)), 0, sparse

    def add(self, weights: Any, bias: Any) -> None:
        if self.sparse:
            self.room[:, self.used] = weights.T
        else:
            self.room[self.used] = weights
        self.bias[self.used] = bias
        self.used += 1

    @property
    def full(self) -> bool:
        return self.used == len(self.bias)

    def columns(self) -> Any:
        """features x (hypotheses x heads)."""
        if not self.sparse:
            return self.room[: self.used].reshape(-1, self.room.shape[2]).T
        return np.ascontiguousarray(self.room[:, : self.used]).reshape(len(self.room), -1)

    def errors(self, sets: list[Judges]) -> Any:
        """hypotheses x sets; afterwards there is room again."""
        columns, bias, self.used = self.columns(), self.bias[: self.used].copy(), 0
        return np.stack([count_errors(each, columns, bias) for each in sets], axis=1)


def errors_along(log: UpdateLog, updates: Any, visits: Any, sets: list[Judges], average: bool = False) -> tuple[Any, Any]:
    """Errors after `updates` (rising), and, if asked, of the mean of the weights over `visits` rows: hypotheses x sets each."""
    kinds = 2 if average else 1
    heads, width = len(log._start.bias), log._problem.n_features
    size = kinds * max(1, HELD // max(1, kinds * heads * width))
    held = Hypotheses(min(size, kinds * len(updates)), heads, width, sp.issparse(sets[0].X))
    found: list[Any] = []
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        for weights, bias in _along(log, updates, visits, average):
            held.add(weights, bias)
            if held.full:
                found.append(held.errors(sets))
        if held.used:
            found.append(held.errors(sets))
    errors = np.concatenate(found)
    return errors[::kinds], errors[1::2] if average else None


def _along(log: UpdateLog, updates: Any, visits: Any, average: bool) -> Iterator[tuple[Any, Any]]:
    """(weights, intercepts) after each of the updates; with `average`, after each of them the mean so far."""
    state, sums, edges, rows = copy_state(log._start), zero_sums(log._start), log._edges, log._problem.rows
    local, others, steps, times = log._local_rows, log._others, log.steps, log.times - log._visited_before
    ends, at = log.durations - log._visited_before, 0
    for t, visited in zip(updates, visits, strict=True):
        stretch = slice(int(edges[at]), int(edges[t]))
        log._advance(state, edges[at : t + 1])
        at = t
        yield as_heads(state.w, rows), state.bias * state.x0
        if average:
            make_moves(log._problem, local[stretch], others[stretch], steps[stretch] * times[stretch], sums)
            # One-vs-rest heads that ended before count the rows until then.
            over = np.broadcast_to(1.0 / np.maximum(1, np.minimum(visited, ends)), state.bias.shape)
            mean = as_heads(state.w, rows) - as_heads(sums.w, rows) * over[:, None]
            yield mean, (state.bias - sums.bias * over) * state.x0


def count_errors(on: Judges, columns: Any, bias: Any) -> Any:
    """How many rows each hypothesis gets wrong. columns: features x (hypotheses x heads)."""
    n, heads = bias.shape
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
        return ((scores[:, :, 0] > 0.0) != (codes == 1)[:, None]) | (codes < 0)[:, None]
    if not ties_are_wrong:
        return scores.argmax(axis=2) != codes[:, None]
    own = np.take_along_axis(scores, codes[:, None, None].astype(np.intp), axis=2)
    np.put_along_axis(scores, codes[:, None, None].astype(np.intp), -np.inf, axis=2)
    return ~(own[:, :, 0] > scores.max(axis=2))
