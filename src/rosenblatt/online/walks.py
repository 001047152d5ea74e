"""All hypotheses of a run at once: how each of them scores a block of rows, without building any of them.

A hypothesis is the one before plus a move, so its score of x is the score before plus the product of x with the vector that
moved it. One matrix product gives a block's products with every such vector; a cumulative sum gives every hypothesis.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from threading import local
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.problem import as_heads, rows_as_matrix, take_rows
from ..kernels.linear.schemes import Binary, Joint, State
from ..kernels.linear.walks import Moves
from .update_log import UpdateLog


@dataclass
class Walk:
    """Hypotheses w_0, w_1, ...: where they start, the vectors that move them, and the moves."""

    start: Any  # heads x features
    start_bias: Any
    vectors: Any  # one per row, an array or a CSR array
    moves: Moves
    x0: float

    def __len__(self) -> int:
        return int(self.moves.ends.sum())

    @property
    def n_heads(self) -> int:
        return len(self.start_bias)

    def scores_and_products(self, X: Any, room: Any) -> tuple[Any, Any, Any]:
        """The start's scores (heads x rows) without its bias, its bias, and every vector's products (vectors x rows)."""
        scores = products(self.start, X) if self.start.any() else np.zeros((self.n_heads, X.shape[0]))
        return scores, self.x0 * self.start_bias, products(self.vectors, X, room)


def walk_through(log: UpdateLog, start: State | None = None, edges: Any | None = None) -> Walk:
    """The walk through a binary or argmax log, whole or from a state through some of its updates.

    The first move stands still, so that w_0 is a hypothesis like the others.
    """
    start = log.start if start is None else start
    edges = log.edges if edges is None else edges
    heads = as_heads(start.w, log.problem.rows).astype(np.float64)
    build = _batch_moves if log.grouped else _online_moves
    vectors, moves = build(log, edges, len(heads))
    still = standing(heads, start.bias, start.x0)
    if not vectors.shape[0]:
        return still
    joined = Moves(*(np.concatenate(pair) for pair in zip(still.moves, moves, strict=True)))
    return Walk(heads, start.bias.copy(), vectors.astype(np.float64, copy=False), joined, start.x0)


def standing(heads: Any, bias: Any, x0: float) -> Walk:
    """A walk of one hypothesis."""
    nothing, nobody = np.zeros(1), np.full(1, -1, np.int32)
    still = Moves(np.zeros(1, np.int64), nothing, nothing, np.zeros(1, np.int32), nobody, np.ones(1, bool))
    return Walk(heads, bias.copy(), np.zeros((1, heads.shape[1])), still, x0)


def _online_moves(log: UpdateLog, edges: Any, k: int) -> tuple[Any, Moves]:
    """The rows themselves are the vectors, each of them once."""
    stretch = slice(int(edges[0]), int(edges[-1]))
    entries = log.local_rows[stretch]
    rows, where = np.unique(entries, return_inverse=True)
    taken = take_rows(log.problem.rows, rows)
    labels, n = log.problem.labels, len(entries)
    coefs = log.steps[stretch] * (labels.signs[entries] if isinstance(labels, Binary) else 1.0)
    plus, minus = np.zeros(n, np.int32), np.full(n, -1, np.int32)
    if isinstance(labels, Joint):
        plus, minus = labels.codes[entries], log.others[stretch]
    coefs = np.asarray(coefs, np.float64)
    moves = Moves(where.astype(np.int64), coefs, coefs * log.problem.x0**2, plus, minus, np.ones(n, bool))
    return rows_as_matrix(taken, 0, len(rows)), moves


def _batch_moves(log: UpdateLog, edges: Any, k: int) -> tuple[Any, Moves]:
    """A step of many rows is summed into one vector per head first."""
    deltas = [log.delta(slice(int(a), int(b))) for a, b in itertools.pairwise(edges)]
    n = len(deltas) * k
    vectors = np.concatenate([as_heads(delta.w, log.problem.rows) for delta in deltas] or [np.zeros((0, 1))])
    bias = np.concatenate([delta.bias for delta in deltas] or [np.zeros(0)])
    heads, ends = np.arange(n, dtype=np.int32) % k, (np.arange(n) % k) == k - 1
    return vectors, Moves(np.arange(n), np.ones(n), bias * log.problem.x0, heads, np.full(n, -1, np.int32), ends)


def products(vectors: Any, X: Any, room: Any = None) -> Any:
    """<v, x> for every vector and every row of X, in float64: vectors x rows.

    `room` is a buffer for the products of dense rows: fresh memory for each block took longer than multiplying.
    """
    if sp.issparse(X):
        if sp.issparse(vectors):
            return np.ascontiguousarray((vectors.astype(np.float64) @ X.T).toarray())
        return np.ascontiguousarray((X @ vectors.T.astype(np.float64)).T)
    if sp.issparse(vectors):
        return vectors @ X.T.astype(np.float64)
    out = None if room is None else room[: len(vectors) * len(X)].reshape(len(vectors), len(X))
    return np.matmul(vectors.astype(np.float64, copy=False), X.T.astype(np.float64, copy=False), out=out)


class Rooms(local):
    """A buffer for products, one for each thread."""

    def __init__(self, vectors: Any, rows: int) -> None:
        self.mine = np.empty(0 if sp.issparse(vectors) else len(vectors) * rows)
