"""The norm of the weights of a run and their alignment with a fixed direction, after every update.

Problem    |w_t|^2 and <w_t, u> for t = 0..T, from the log, without storing every w_t.
Update     w_{t+1} = w_t + tau v with v = y p (with k classes, v has p at the row's class and -p at the rival):
           |w_{t+1}|^2 = |w_t|^2 + 2 tau <w_t, v> + tau^2 |v|^2,   <w_{t+1}, u> = <w_t, u> + tau <v, u>.
           Within a block of updates <w_t, v> follows from the weights before the block and the Gram matrix of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..array_types import FloatArray
from ..data.problem import as_heads, copy_state, rows_as_matrix, take_rows
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary, State
from ..online.update_log import UpdateLog
from ..parallel import one_blas_thread

UPDATES_PER_BLOCK = 128  # updates that share one Gram matrix
MAX_DENSE_COLUMNS = 1024  # up to this width the sparse rows of a block are multiplied as a dense array, which is faster

Direction = tuple[FloatArray, FloatArray]  # heads x features, and weight 0 of each head


@dataclass(frozen=True)
class Trajectory:
    """|w_t|^2 and, if there is a direction u, <w_t, u>, for t = 0..T."""

    norms_squared: FloatArray
    alignments: FloatArray | None


def trajectory(log: UpdateLog, direction: Direction | None) -> Trajectory:
    """The trajectory of a binary or joint run."""
    state = copy_state(log.record.start)
    norms = np.empty(log.n_updates + 1)
    with one_blas_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        norms[0] = _squared_norm(state)
        if log.record.grouped:
            _fill_norms_by_steps(log, state, norms)
        else:
            _fill_norms_by_blocks(log, state, norms)
        return Trajectory(norms, None if direction is None else _alignments(log, direction))


def _squared_norm(state: State) -> float:
    w = state.w.astype(np.float64, copy=False).ravel()
    return float(w @ w + state.bias @ state.bias)


def _fill_norms_by_steps(log: UpdateLog, state: State, norms: FloatArray) -> None:
    """Replay every batch step: it has many rows, so that the Gram matrix would save nothing."""
    edges = log.record.edges
    for t in range(1, len(norms)):
        log.record.advance(state, edges[t - 1 : t + 1])
        norms[t] = _squared_norm(state)


def _fill_norms_by_blocks(log: UpdateLog, state: State, norms: FloatArray) -> None:
    for start in range(0, len(log), UPDATES_PER_BLOCK):
        here = slice(start, min(start + UPDATES_PER_BLOCK, len(log)))
        rows, columns = _rows(log, here)
        heads, signs = as_heads(state.w, log.record.problem.rows), _signs(log, here)
        heads = (heads if columns is None else heads[:, columns]).astype(np.float64, copy=False)
        scores = rows @ heads.T + state.x0 * state.bias
        products = rows @ rows.T
        products = (products.toarray() if sp.issparse(products) else products) + state.x0**2
        gram = (signs @ signs.T) * products  # <v_s, v_r>
        taus = np.asarray(log.steps[here])
        margins = (scores * signs).sum(axis=1) + np.tril(gram, -1) @ taus
        gains = 2.0 * taus * margins + taus**2 * np.diagonal(gram)
        norms[here.start + 1 : here.stop + 1] = norms[here.start] + np.cumsum(gains)
        log.record.apply(state, here)


def _alignments(log: UpdateLog, direction: Direction) -> FloatArray:
    record = log.record
    planes, weights_0 = direction
    start, step = record.start, 16 * UPDATES_PER_BLOCK
    first = float((as_heads(start.w, record.problem.rows) * planes).sum() + start.bias @ weights_0)
    gains = np.empty(len(log))
    for begin in range(0, len(log), step):
        here = slice(begin, min(begin + step, len(log)))
        rows, columns = _rows(log, here)
        scores = rows @ (planes if columns is None else planes[:, columns]).T + start.x0 * weights_0
        gains[here] = log.steps[here] * (scores * _signs(log, here)).sum(axis=1)
    return np.asarray(first + np.concatenate([[0.0], np.cumsum(gains)])[record.edges])


def _rows(log: UpdateLog, entries: slice) -> Any:
    """The rows of some entries in float64; of sparse rows only the columns with stored values, and which these are."""
    taken = take_rows(log.record.problem.rows, log.record.local_rows[entries])
    if isinstance(taken, Dense):
        return taken.values.astype(np.float64, copy=False), None
    matrix = rows_as_matrix(taken, 0, len(taken.indptr) - 1)
    columns, places = np.unique(matrix.indices, return_inverse=True)
    values = matrix.data.astype(np.float64, copy=False)
    rows = sp.csr_array((values, places, matrix.indptr), shape=(matrix.shape[0], len(columns)))
    return (rows.toarray() if len(columns) <= MAX_DENSE_COLUMNS else rows), columns


def _signs(log: UpdateLog, entries: slice) -> FloatArray:
    """Entries x heads: +1 for the row's own head, -1 for its rival; with one head, y."""
    record = log.record
    labels, rows = record.problem.labels, record.local_rows[entries]
    if isinstance(labels, Binary):
        found: FloatArray = labels.signs[rows].astype(np.float64)[:, None]
        return found
    out, each = np.zeros((len(rows), record.n_heads)), np.arange(len(rows))
    out[each, labels.codes[rows]] = 1.0
    out[each, record.others[entries]] = -1.0
    return out
