"""Two readings of a run: the average and the vote of its hypotheses. The pocket is in `pocket.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array_types import FloatArray, IntArray, Matrix
from ..data.problem import copy_state, zero_sums
from ..kernels.linear.schemes import State
from ..kernels.linear.walks import count_votes, count_votes_joint
from ..parallel import in_order, one_blas_thread
from .run_record import make_moves
from .update_log import UpdateLog
from .walks import ProductBuffers, Walk, walk_of_log

# The largest number of rows per block of a vote.
MAX_ROWS_PER_BLOCK = 2048
# Products held per block, for each COLUMNS_PER_UNIT columns of the rows: the more work per product, the larger the block.
PRODUCTS_PER_BLOCK = 1 << 19
COLUMNS_PER_UNIT = 256
# Log entries summed at once, to bound the memory for temporary arrays.
ENTRIES_PER_SUM = 1 << 16


def sums_of_times(log: UpdateLog) -> State:
    """sum_s t_s tau_s y_s x_s in float64, in one pass over the updates; a row with several updates is added once."""
    record = log.record
    problem, sums, k = record.problem, zero_sums(record.start), record.n_heads
    if len(log) <= problem.n_rows * k:
        for part in record.parts:
            make_moves(problem, part.rows, part.others, part.steps * part.clock, sums)
        return sums
    each = np.zeros(problem.n_rows * k)
    for part in record.parts:
        np.add.at(each, part.rows.astype(np.int64) * k + part.others, part.steps * part.clock)
    for first in range(0, len(each), ENTRIES_PER_SUM):
        keys = np.flatnonzero(each[first : first + ENTRIES_PER_SUM]) + first
        make_moves(problem, keys // k, keys % k, each[keys], sums)
    return sums


def average(last: State, sums: State, durations: IntArray, dense: bool) -> State:
    """The mean of w_1..w_T, the weights after each of the T rows visited (Freund and Schapire, Machine Learning 37, 1999).

    A move made after t rows is missing from t of the T weights, so the mean is w_T - (1/T) sum_s t_s tau_s y_s x_s. No second
    weight vector is needed, and a stream needs only this sum.
    """
    over = 1.0 / np.maximum(durations, 1)
    mean = copy_state(last)
    mean.w[...] = last.w - sums.w * (over[:, None] if last.w.ndim == 2 and dense else over)
    mean.bias[...] = last.bias - sums.bias * over
    return mean


def births(log: UpdateLog) -> IntArray:
    """The times at which updates made a new hypothesis."""
    return log.times[log.record.edges[:-1]]


def vote_weights(born: IntArray, end: int, vote_count: str) -> FloatArray:
    """The lifetime of each hypothesis w_0, w_1, ... in rows visited; "survivals" does not count the row that created it."""
    lifetimes = np.diff(np.concatenate([[0], born, [end]])).astype(np.float64)
    if vote_count == "survivals":
        lifetimes[1:] -= 1.0
    return lifetimes


@dataclass
class Vote:
    """The voted perceptron: sign(sum_n c_n sign <w_n, x>), or with k classes the class that most hypotheses choose.

    Freund and Schapire, Machine Learning 37 (1999). A hypothesis votes for the class that it predicts; ties go to the smaller
    label. `scores` are shares of the votes: from -1 to 1, or one share per class.
    """

    walk: Walk
    counts: FloatArray  # the number of votes of each hypothesis

    def scores(self, X: Matrix, n_jobs: int = 1) -> FloatArray:
        """Scores of the rows of X: rows x 1 for two classes, rows x k for more."""
        k, n = self.walk.n_heads, X.shape[0]
        vectors, columns = self.walk.vectors.shape
        size = max(32, min(MAX_ROWS_PER_BLOCK, PRODUCTS_PER_BLOCK * max(1, columns // COLUMNS_PER_UNIT) // max(1, vectors)))
        buffers = ProductBuffers(self.walk.vectors, size)

        def count(start: int) -> Any:
            scores, bias, products = self.walk.scores_and_products(X[start : start + size], buffers.own)
            votes = np.zeros_like(scores)
            (count_votes if k == 1 else count_votes_joint)(products, self.walk.moves, self.counts, scores, bias, votes)
            return votes

        with one_blas_thread():
            votes = np.concatenate(list(in_order(count, range(0, n, size), n_jobs)), axis=1).T
        return votes / max(1.0, float(self.counts.sum()))


def vote(log: UpdateLog, vote_count: str) -> Vote:
    """The vote of a binary or joint log."""
    return Vote(walk_of_log(log), vote_weights(births(log), int(log.durations.max()), vote_count))
