"""Which hypothesis comes out of a run: the last, the average, the best on the training rows, or all of them by vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .hypotheses import Walk, walk_through
from .kernels.schemes import Binary, State
from .kernels.sweeps import add
from .kernels.walks import count_errors, count_errors_argmax, count_votes, count_votes_argmax
from .log import UpdateLog
from .problem import copy_state, zero_sums
from .threads import in_order, one_blas_thread

# Hypotheses held against the rows at a time, and rows at a time: 64 x 4096 products of 8 bytes stay in the cache.
HYPOTHESES = 64
ROWS = 4096
# Products kept while a vote is counted.
PRODUCTS = 1 << 21


def sums_of_times(log: UpdateLog) -> State:
    """sum_s t_s tau_s y_s x_s in float64, one pass over the updates; a row that moved the weights often is added once."""
    problem, start = log.problem, log.start
    sums = zero_sums(start)
    rows, others, weighted = log.local_rows.astype(np.int64), log.others, log.steps * log.times
    k = start.bias.size
    if len(rows) > problem.n_rows * k:
        each = np.bincount(rows * k + others, weighted, problem.n_rows * k)
        keys = np.flatnonzero(each)
        rows, others, weighted = keys // k, (keys % k).astype(np.int32), each[keys]
    add(problem.rows, problem.labels, rows, np.ascontiguousarray(others), weighted, start.x0, sums.w, sums.bias)
    return sums


def average(last: State, sums: State, durations: Any, dense: bool) -> State:
    """The mean of w_1..w_T, the weights after each of the T rows visited (Freund and Schapire, Machine Learning 37, 1999).

    A move made after t rows is missing from t of the T weights, so the mean is w_T - (1/T) sum_s t_s tau_s y_s x_s: no second
    vector is carried along, and a stream needs only the one sum.
    """
    over = 1.0 / np.maximum(durations, 1)
    mean = copy_state(last)
    mean.w[...] = last.w - sums.w * (over[:, None] if last.w.ndim == 2 and dense else over)
    mean.bias[...] = last.bias - sums.bias * over
    return mean


@dataclass
class Pocket:
    state: State
    errors: float  # training errors, or what they weigh
    update: int  # after which update the hypothesis was found


def pocket(log: UpdateLog, n_jobs: int = 1) -> Pocket:
    """Of w_0..w_T the one with the fewest training errors, the first among equals (Gallant, IEEE Trans. NN 1, 1990).

    Every hypothesis is held against every row: as if all rows were counted after every update, at the price of a matrix
    product. A row on the plane is an error; rows count by their weight. A block that cannot win any more is left early.
    """
    if log.is_compact:
        raise ValueError("the pocket needs all training rows; a log that was pickled holds only those that moved the weights")
    state, edges = copy_state(log.start), log.edges
    size = max(1, min(HYPOTHESES, (1 << 24) // max(1, log.problem.n_features * state.bias.size)))
    best = Pocket(copy_state(state), np.inf, 0)
    for first in range(0, max(1, len(edges) - 1), size):
        block = edges[first : first + size + 1]
        with one_blas_thread():
            errors = _errors(log, walk_through(log, state, block), n_jobs, best.errors)
        if errors.min() < best.errors:
            which = int(errors.argmin())
            found = copy_state(state)
            log.advance(found, block[: which + 1])
            best = Pocket(found, float(errors[which]), first + which)
        log.advance(state, block)
    return best


def _errors(log: UpdateLog, walk: Walk, n_jobs: int, beat: float) -> Any:
    """Errors of every hypothesis of the walk, exact for those that beat `beat`."""
    problem, labels = log.problem, log.problem.labels
    binary = isinstance(labels, Binary)
    truth = labels.signs if binary else labels.codes

    def count(start: int) -> Any:
        rows = slice(start, min(start + ROWS, problem.n_rows))
        scores, products = walk.scores_and_products(problem.matrix(rows.start, rows.stop))
        errors = np.zeros(len(walk))
        weights = labels.weights[rows] if labels.weights.size else labels.weights
        (count_errors if binary else count_errors_argmax)(products, walk.moves, truth[rows], weights, scores, errors)
        return errors

    total, starts = np.zeros(len(walk)), range(0, problem.n_rows, ROWS)
    for some in range(0, len(starts), n_jobs):
        for errors in in_order(count, starts[some : some + n_jobs], n_jobs):
            total += errors
        if total.min() >= beat:
            break
    return total


def births(log: UpdateLog) -> Any:
    """When each update made a new hypothesis."""
    return log.times[log.edges[:-1]]


def ballots(born: Any, end: int, vote_count: str) -> Any:
    """How long each hypothesis w_0, w_1, ... lived, in rows visited; "survivals" leaves out the row it was born on."""
    lifetimes = np.diff(np.concatenate([[0], born, [end]])).astype(np.float64)
    if vote_count == "survivals":
        lifetimes[1:] -= 1.0
    return lifetimes


@dataclass
class Vote:
    """The voted perceptron: sign(sum_n c_n sign <w_n, x>), or with k classes the class that most hypotheses choose.

    Freund and Schapire, Machine Learning 37 (1999). A hypothesis votes as it would predict: for the smaller label where x is
    on its plane. `scores` are shares of the votes: from -1 to 1, or one per class.
    """

    walk: Walk
    ballots: Any

    def scores(self, X: Any, n_jobs: int = 1) -> Any:
        """Rows x 1 for two classes, rows x k for more; X a float array or a CSR array."""
        k, n = self.walk.n_heads, X.shape[0]
        size = max(32, min(ROWS, PRODUCTS // max(1, self.walk.vectors.shape[0])))

        def count(start: int) -> Any:
            scores, products = self.walk.scores_and_products(X[start : start + size])
            votes = np.zeros_like(scores)
            (count_votes if k == 1 else count_votes_argmax)(products, self.walk.moves, self.ballots, scores, votes)
            return votes

        with one_blas_thread():
            votes = np.concatenate(list(in_order(count, range(0, n, size), n_jobs)), axis=1).T
        return votes / max(1.0, float(self.ballots.sum()))


def vote(log: UpdateLog, vote_count: str) -> Vote:
    return Vote(walk_through(log), ballots(births(log), int(log.durations.max()), vote_count))
