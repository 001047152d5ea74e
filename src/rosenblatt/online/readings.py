"""Two readings of a run: the average of its hypotheses, and all of them by vote. (The pocket has a file of its own.)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.problem import copy_state, zero_sums
from ..kernels.linear.schemes import State
from ..kernels.linear.walks import count_votes, count_votes_joint
from ..parallel import in_order, one_blas_thread
from .update_log import UpdateLog, make_moves
from .walks import Rooms, Walk, walk_through

# Rows that a vote is counted on at a time, at most.
ROWS = 2048
# Products kept while a vote is counted, for each of a row's first WIDE columns: the more work in a product, the larger the
# blocks that it pays to make.
PRODUCTS = 1 << 19
WIDE = 256
# Entries that are summed at a time, so that a sum takes no memory to speak of.
STRETCH = 1 << 16


def sums_of_times(log: UpdateLog) -> State:
    """sum_s t_s tau_s y_s x_s in float64, one pass over the updates; a row that moved the weights often is added once."""
    problem, sums, k = log.problem, zero_sums(log.start), log.start.bias.size
    if len(log) <= problem.n_rows * k:
        for part in log.parts:
            make_moves(problem, part.rows, part.others, part.steps * part.clock, sums)
        return sums
    each = np.zeros(problem.n_rows * k)
    for part in log.parts:
        np.add.at(each, part.rows.astype(np.int64) * k + part.others, part.steps * part.clock)
    for first in range(0, len(each), STRETCH):
        keys = np.flatnonzero(each[first : first + STRETCH]) + first
        make_moves(problem, keys // k, keys % k, each[keys], sums)
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
        vectors, columns = self.walk.vectors.shape
        size = max(32, min(ROWS, PRODUCTS * max(1, columns // WIDE) // max(1, vectors)))

        rooms = Rooms(self.walk.vectors, size)

        def count(start: int) -> Any:
            scores, bias, products = self.walk.scores_and_products(X[start : start + size], rooms.mine)
            votes = np.zeros_like(scores)
            (count_votes if k == 1 else count_votes_joint)(products, self.walk.moves, self.ballots, scores, bias, votes)
            return votes

        with one_blas_thread():
            votes = np.concatenate(list(in_order(count, range(0, n, size), n_jobs)), axis=1).T
        return votes / max(1.0, float(self.ballots.sum()))


def vote(log: UpdateLog, vote_count: str) -> Vote:
    return Vote(walk_through(log), ballots(births(log), int(log.durations.max()), vote_count))
