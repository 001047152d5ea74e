"""Walks: the scores of all hypotheses of a run on a block of rows, without building the hypotheses.

Each hypothesis is the previous one plus a move, so its score of x is the previous score plus the product of x with the vector
of the move. One matrix product gives the products of a block with every such vector; cumulative sums give all hypotheses.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from threading import local

import numpy as np
import scipy.sparse as sp

from ..array_types import FloatArray, IntArray, Matrix
from ..data.problem import as_heads, rows_as_matrix, take_rows
from ..kernels.linear.schemes import Binary, Joint, State
from ..kernels.linear.walks import Moves
from .update_log import UpdateLog


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
    record = log.record
    start = record.start if start is None else start
    edges = record.edges if edges is None else edges
    heads = as_heads(start.w, record.problem.rows).astype(np.float64)
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
    record = log.record
    stretch = slice(int(edges[0]), int(edges[-1]))
    entries = record.local_rows[stretch]
    rows, where = np.unique(entries, return_inverse=True)
    taken = take_rows(record.problem.rows, rows)
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
    record = log.record
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
