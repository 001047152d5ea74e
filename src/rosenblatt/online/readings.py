"""Two readings of a run: the average and the vote of its hypotheses. The pocket is in `pocket.py`.

A walk gives the scores of all hypotheses of a run on a block of rows, without building the hypotheses. Each hypothesis is the
previous one plus a move, so its score of x is the previous score plus the product of x with the vector of the move. One matrix
product gives the products of a block with every such vector; cumulative sums give all hypotheses.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from threading import local

import numpy as np
import scipy.sparse as sp

from ..array_types import FloatArray, IntArray, Matrix
from ..data.problem import WEIGHTS_PER_BLOCK, as_heads, rows_as_matrix, take_rows, zero_sums
from ..kernels.linear.schemes import Binary, Joint, State
from ..kernels.linear.walks import Moves, count_votes, count_votes_joint
from ..parallel import in_order, one_blas_thread
from .run_record import make_moves
from .update_log import UpdateLog

# The largest number of rows per block of a vote.
MAX_ROWS_PER_BLOCK = 2048
# Products held per block, for each COLUMNS_PER_UNIT columns of the rows: the more work per product, the larger the block.
PRODUCTS_PER_BLOCK = 1 << 19
COLUMNS_PER_UNIT = 256
# Log entries summed at once, to bound the memory for temporary arrays.
ENTRIES_PER_SUM = 1 << 16


def sums_of_times(log: UpdateLog) -> State:
    """sum_s t_s tau_s y_s x_s in float64, in one pass over the updates; a row with several updates is added once."""
    record = log._record.pinned()
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


def average(last: State, sums: State, durations: IntArray, dense: bool, *, in_place: bool = False) -> State:
    """The mean of w_1..w_T, the weights after each of the T rows visited (Freund and Schapire, Machine Learning 37, 1999).

    A move made after t rows is missing from t of the T weights, so the mean is w_T - (1/T) sum_s t_s tau_s y_s x_s. No second
    weight vector is needed, and a stream needs only this sum. With `in_place`, the mean takes the memory of the sum.
    """
    over = 1.0 / np.maximum(durations, 1)
    shares = np.broadcast_to(over[:, None] if last.w.ndim == 2 and dense else over, last.w.shape)
    w = _as_weights(sums.w, last.w) if in_place else np.empty_like(last.w)
    size = max(1, WEIGHTS_PER_BLOCK // max(1, last.w[:1].size))
    for start in range(0, len(w), size):  # temporary arrays of all weights would take more memory than the run
        block = slice(start, start + size)
        w[block] = last.w[block] - sums.w[block] * shares[block]
    if in_place and w.nbytes < sums.w.nbytes:
        del w
        sums.w.resize(-(-last.w.nbytes // sums.w.itemsize), refcheck=False)  # the rest of the memory is free again
        w = _as_weights(sums.w, last.w)
    return last._replace(w=w, bias=last.bias - sums.bias * over)


def sums_of_average(last: State, mean: State, durations: IntArray, dense: bool) -> State:
    """The sums that gave an average, up to rounding."""
    times = np.maximum(durations, 1).astype(np.float64)
    w = last.w.astype(np.float64)
    w -= mean.w
    w *= times[:, None] if last.w.ndim == 2 and dense else times
    return last._replace(w=w, bias=(last.bias - mean.bias) * times)


def _as_weights(sums: FloatArray, like: FloatArray) -> FloatArray:
    """The first part of the memory of sums as weights; written from the beginning, they replace sums that were read before."""
    return sums.reshape(-1).view(like.dtype)[: like.size].reshape(like.shape)


def births(log: UpdateLog) -> IntArray:
    """The times at which updates made a new hypothesis."""
    return log.times[log._record.edges[:-1]]


def vote_weights(born: IntArray, end: int, vote_count: str) -> FloatArray:
    """The lifetime of each hypothesis w_0, w_1, ... in rows visited; "survivals" does not count the row that created it."""
    counts = lifetimes(born, 0, end, vote_count)
    if end == 0:
        counts[-1] = 1.0  # a run that ended before its first row has one hypothesis
    if not counts.any():
        raise ValueError("vote_count='survivals' leaves no votes, because no hypothesis survived a row: use 'lifetime'")
    return counts


def lifetimes(born: IntArray, begin: int, end: int, vote_count: str) -> FloatArray:
    """The lifetimes from `begin` on of the hypothesis of that time and of those that were born later."""
    counts = np.diff(np.concatenate([[begin], born, [end]])).astype(np.float64)
    if vote_count == "survivals":
        counts[1:] -= 1.0
    return counts


# --- walks ---------------------------------------------------------------------------------------------------------------


@dataclass
class Walk:
    """Hypotheses w_0, w_1, ...: the first one, the vectors that are added, and the moves."""

    start: FloatArray  # heads x features
    start_bias: FloatArray
    vectors: Matrix  # one per row
    moves: Moves
    x0: float

    def __len__(self) -> int:
        return int(self.moves.ends.sum())

    @property
    def n_heads(self) -> int:
        """The number of weight vectors of a hypothesis."""
        return len(self.start_bias)

    def scores_and_products(self, X: Matrix, buffer: FloatArray | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Scores of w_0 without bias (heads x rows), its bias, and the products of all vectors (vectors x rows)."""
        scores = products(self.start, X) if self.start.any() else np.zeros((self.n_heads, X.shape[0]))
        return scores, self.x0 * self.start_bias, products(self.vectors, X, buffer)


def walk_of_log(log: UpdateLog, start: State | None = None, edges: IntArray | None = None) -> Walk:
    """The walk of a binary or joint log: all of it, or some updates from the state `start` on.

    The first move is zero, so that w_0 is a hypothesis like the others.
    """
    log = log._pinned()
    record = log._record
    start = record.start if start is None else start
    edges = record.edges if edges is None else edges
    heads = record.heads_of(start.w).astype(np.float64)
    build = _batch_moves if record.grouped else _online_moves
    vectors, moves = build(log, edges, len(heads))
    still = constant_walk(heads, start.bias, start.x0)
    if not vectors.shape[0]:
        return still
    joined = Moves(*(np.concatenate(pair) for pair in zip(still.moves, moves, strict=True)))
    return Walk(heads, start.bias.copy(), vectors.astype(np.float64, copy=False), joined, start.x0)


def constant_walk(heads: FloatArray, bias: FloatArray, x0: float) -> Walk:
    """A walk of one hypothesis."""
    zero, no_head = np.zeros(1), np.full(1, -1, np.int32)
    still = Moves(np.zeros(1, np.int64), zero, zero, np.zeros(1, np.int32), no_head, np.ones(1, bool))
    return Walk(heads, bias.copy(), np.zeros((1, heads.shape[1])), still, x0)


def _online_moves(log: UpdateLog, edges: IntArray, k: int) -> tuple[Matrix, Moves]:
    """The vectors are the rows themselves, each one once."""
    record = log._record
    stretch = slice(int(edges[0]), int(edges[-1]))
    entries = record.local_rows[stretch]
    rows, where = np.unique(entries, return_inverse=True)
    every = record.problem.rows  # those of a compact log, which holds no others, are not copied
    taken = every if len(rows) == record.problem.n_rows else take_rows(every, rows)
    labels, n = record.problem.labels, len(entries)
    coefs = log.steps[stretch] * (labels.signs[entries] if isinstance(labels, Binary) else 1.0)
    plus: IntArray = np.zeros(n, np.int32)
    minus: IntArray = np.full(n, -1, np.int32)
    if isinstance(labels, Joint):
        plus, minus = labels.codes[entries], record.others[stretch]
    coefs = np.asarray(coefs, np.float64)
    moves = Moves(where.astype(np.int64), coefs, coefs * record.problem.x0**2, plus, minus, np.ones(n, bool))
    return rows_as_matrix(taken, 0, len(rows)), moves


def _batch_moves(log: UpdateLog, edges: IntArray, k: int) -> tuple[FloatArray, Moves]:
    """The vectors are the batch steps, one per head, each the sum of its rows."""
    record = log._record
    deltas = [record.delta(slice(int(a), int(b))) for a, b in itertools.pairwise(edges)]
    n = len(deltas) * k
    vectors = np.concatenate([as_heads(delta.w, record.problem.rows) for delta in deltas] or [np.zeros((0, 1))])
    bias = np.concatenate([delta.bias for delta in deltas] or [np.zeros(0)])
    heads, ends = np.arange(n, dtype=np.int32) % k, (np.arange(n) % k) == k - 1
    return vectors, Moves(np.arange(n), np.ones(n), bias * record.problem.x0, heads, np.full(n, -1, np.int32), ends)


def products(vectors: Matrix, X: Matrix, buffer: FloatArray | None = None) -> FloatArray:
    """<v, x> for every vector and every row of X, in float64: vectors x rows.

    `buffer` holds the products of dense rows: new memory for each block took longer than the multiplication.
    """
    if not isinstance(X, np.ndarray):
        if not isinstance(vectors, np.ndarray):
            return np.ascontiguousarray((vectors.astype(np.float64) @ X.T).toarray())
        return np.ascontiguousarray((X @ vectors.T.astype(np.float64)).T)
    if not isinstance(vectors, np.ndarray):
        found: FloatArray = vectors @ X.T.astype(np.float64)
        return found
    out = None if buffer is None else buffer[: len(vectors) * len(X)].reshape(len(vectors), len(X))
    return np.matmul(vectors.astype(np.float64, copy=False), X.T.astype(np.float64, copy=False), out=out)


class ProductBuffers(local):
    """One buffer for products per thread."""

    def __init__(self, vectors: Matrix, rows: int) -> None:
        self.own = np.empty(0 if sp.issparse(vectors) else len(vectors) * rows)


# --- votes ---------------------------------------------------------------------------------------------------------------


class NoSinglePlaneError(AttributeError):
    """Weights or intercepts were read from a fitted vote, which has many planes."""


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
        return self.votes(X, n_jobs) / max(1.0, float(self.counts.sum()))

    def votes(self, X: Matrix, n_jobs: int = 1) -> FloatArray:
        """The numbers of votes that are the scores."""
        k, n = self.walk.n_heads, X.shape[0]
        vectors, columns = self.walk.vectors.shape
        size = max(32, min(MAX_ROWS_PER_BLOCK, PRODUCTS_PER_BLOCK * max(1, columns // COLUMNS_PER_UNIT) // max(1, vectors)))
        buffers = ProductBuffers(self.walk.vectors, size)

        def count(start: int) -> FloatArray:
            scores, bias, products = self.walk.scores_and_products(X[start : start + size], buffers.own)
            votes = np.zeros_like(scores)
            (count_votes if k == 1 else count_votes_joint)(products, self.walk.moves, self.counts, scores, bias, votes)
            return votes

        with one_blas_thread():
            votes = np.concatenate(list(in_order(count, range(0, n, size), n_jobs)), axis=1).T
        return votes


def vote(log: UpdateLog, vote_count: str) -> Vote:
    """The vote of a binary or joint log."""
    return Vote(walk_of_log(log), vote_weights(births(log), int(log.durations.max()), vote_count))
