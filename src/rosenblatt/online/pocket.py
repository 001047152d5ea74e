"""The pocket: of all hypotheses of a run, the one with the fewest training errors.

Gallant, IEEE Transactions on Neural Networks 1 (1990). The definition counts all rows after every update. Here the hypotheses
go by a block at a time, one matrix product for all of them, and the rows that the best one so far finds hardest come first: a
hypothesis that has made as many errors as the best has made in all is out. The planes are those of the run to the bit, and what
comes out is the same to the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.problem import as_heads, copy_state, read_only, rows_as_matrix, take_rows
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary, State
from ..kernels.linear.walks import count_errors, count_errors_joint, count_wrong
from ..parallel import in_order, one_blas_thread
from .update_log import UpdateLog
from .walks import Rooms, products, walk_through

# Hypotheses held against the rows at a time, and rows at a time: fewer of either measured slower.
HYPOTHESES = 512
ROWS = 1024


@dataclass
class Pocket:
    state: State
    errors: float  # training errors, or what they weigh
    update: int  # after which update the hypothesis was found


def pocket(log: UpdateLog, n_jobs: int = 1) -> Pocket:
    """Of w_0..w_T the one with the fewest training errors, the first among equals.

    A row on the plane is an error; rows count by their weight.
    """
    if log.is_compact:
        raise ValueError("the pocket needs all training rows; a log that was pickled holds only those that moved the weights")
    state, edges = copy_state(log.start), log.edges
    wide = log.grouped or _as_planes(log) or isinstance(log.problem.rows, Dense)  # holds vectors with all columns
    size = max(1, min(HYPOTHESES, (1 << 24) // max(1, log.problem.n_features * state.bias.size))) if wide else HYPOTHESES
    best, order = Pocket(copy_state(state), np.inf, 0), None
    with one_blas_thread():
        for first in range(0, max(1, len(edges) - 1), size):
            block = edges[first : first + size + 1]
            found = _best_of(log, state, block, order, best.errors, n_jobs)
            if found is not None:
                best = Pocket(found.state, found.errors, first + found.update)
                order = np.argsort(_margins(log, best.state), kind="stable")
            log.advance(state, block)
    return best


def every_error(log: UpdateLog, n_jobs: int = 1) -> Any:
    """Training errors of each of w_0..w_T, or what they weigh, counted as the pocket counts them."""
    state, edges, parts = copy_state(log.start), log.edges, []
    with one_blas_thread():
        for first in range(0, max(1, len(edges) - 1), HYPOTHESES):
            block = edges[first : first + HYPOTHESES + 1]
            parts.append(_errors_of(log, state, block, None, np.inf, n_jobs)[0][min(first, 1) :])
            log.advance(state, block)
    return np.concatenate(parts)


def _best_of(log: UpdateLog, start: State, block: Any, order: Any, beat: float, n_jobs: int) -> Pocket | None:
    """The first of the fewest errors among the hypotheses of a block, if they are fewer than `beat`."""
    errors, alive = _errors_of(log, start, block, order, beat, n_jobs)
    if not len(alive):
        return None
    first = int(alive[errors[alive].argmin()])
    state = copy_state(start)
    log.advance(state, block[: first + 1])
    return Pocket(state, float(errors[first]), first)


def _errors_of(log: UpdateLog, start: State, block: Any, order: Any, beat: float, n_jobs: int) -> tuple[Any, Any]:
    """(errors of a block's hypotheses, those of them that are under `beat`): of the others only so many were counted."""
    n_rows, judge = log.problem.n_rows, (_Planes if _as_planes(log) else _Walkers)(log, start, block)
    starts, errors, alive = range(0, n_rows, ROWS), np.zeros(len(block)), np.arange(len(block))

    def count(at: int) -> Any:
        rows = slice(at, at + ROWS) if order is None else order[at : at + ROWS]
        return judge.errors(_taken(log, rows), rows, alive)

    for first in range(0, len(starts), n_jobs):
        for some in in_order(count, starts[first : first + n_jobs], n_jobs):
            errors[alive] += some
        alive = alive[errors[alive] < beat]
        if not len(alive):
            break
    return errors, alive


def _as_planes(log: UpdateLog) -> bool:
    """Whether hypotheses are held as the planes they are: sparse rows of many columns would fill memory with them."""
    narrow = isinstance(log.problem.rows, Dense) or log.problem.n_features <= 4 * log.problem.density
    return isinstance(log.problem.labels, Binary) and narrow


def _taken(log: UpdateLog, rows: Any) -> Any:
    if isinstance(rows, slice):
        return log.problem.matrix(rows.start, rows.stop)
    return rows_as_matrix(take_rows(log.problem.rows, rows), 0, len(rows))


class _Planes:
    """The hypotheses of a binary block, each as the plane it is, so that those that are out cost nothing.

    A row's side of a plane needs no more digits than tell its score from zero: products are taken in float32, twice as fast,
    and again in float64 where the bound on their rounding, (d + 8) eps |w| |x|, leaves the side open.
    """

    def __init__(self, log: UpdateLog, start: State, block: Any) -> None:
        self.planes, self.shifts = log.planes(copy_state(start), block)
        self.labels, self.rough, self.sizes = log.problem.labels, _float32(self.planes), _lengths(self.planes)

    def errors(self, X: Any, rows: Any, alive: Any) -> Any:
        signs, weights = self.labels.signs[rows].astype(np.float32), self.labels.weights
        weights, errors = weights[rows] if weights.size else weights, np.zeros(len(alive))
        X = np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)
        with np.errstate(over="ignore", invalid="ignore"):
            rough = self.rough[alive] @ _float32(X).T
            doubts = self._doubts(alive, float(_lengths(X).max()))
        count_wrong(self.planes[alive], self.shifts[alive], read_only(X), rough, doubts, signs, weights, errors)
        return errors

    def _doubts(self, alive: Any, longest: float) -> Any:
        """How far a score in float32 may be from the truth, for each plane; twice as much as it can be."""
        d, sizes, float32 = self.planes.shape[1], self.sizes[alive], np.finfo(np.float32)
        largest = sizes * longest + abs(self.shifts[alive])  # no part of a score is larger
        vanished = 2 * d * float32.tiny * (sizes + longest + 1.0)  # numbers too small for float32 are lost
        fits = np.maximum(largest, np.maximum(sizes, longest)) < 0.1 * float32.max
        return np.where(fits, (d + 8) * float32.eps * largest + vanished, np.inf)


def _float32(array: Any) -> Any:
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=False)


def _lengths(rows: Any) -> Any:
    """The length of each row, or infinity where its square is out of range."""
    with np.errstate(over="ignore"):
        return np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))


class _Walkers:
    """The hypotheses of a joint or wide block, which walk together to the end.

    They differ from one to the next in one row and, of k heads, in two: much less than the planes they are.
    """

    def __init__(self, log: UpdateLog, start: State, block: Any) -> None:
        self.walk = walk_through(log, start, block)
        self.rooms, self.labels = Rooms(self.walk.vectors, ROWS), log.problem.labels

    def errors(self, X: Any, rows: Any, alive: Any) -> Any:
        binary, weights = isinstance(self.labels, Binary), self.labels.weights
        truth = np.ascontiguousarray((self.labels.signs if binary else self.labels.codes)[rows])
        scores, bias, found = self.walk.scores_and_products(X, self.rooms.mine)
        weights, errors = weights[rows] if weights.size else weights, np.zeros(len(self.walk))
        (count_errors if binary else count_errors_joint)(found, self.walk.moves, truth, weights, scores, bias, errors)
        return errors[alive]


def _margins(log: UpdateLog, state: State) -> Any:
    """How far every row is on its side: the smaller, the harder."""
    problem, labels = log.problem, log.problem.labels
    heads = as_heads(state.w, problem.rows).astype(np.float64)
    blocks = [problem.matrix(start, start + ROWS) for start in range(0, problem.n_rows, ROWS)]
    scores = np.concatenate([products(heads, X) for X in blocks], axis=1) + state.x0 * state.bias[:, None]
    if isinstance(labels, Binary):
        return labels.signs * scores[0]
    own = np.take_along_axis(scores, labels.codes[None].astype(np.int64), axis=0)[0]
    np.put_along_axis(scores, labels.codes[None].astype(np.int64), -np.inf, axis=0)
    return own - scores.max(axis=0)
