"""The weights of a run against a fixed direction, and their length, update by update.

Problem    |w_t|^2 and <w_t, u> for t = 0..T, from the log, without a row for each w_t.
Update     w_{t+1} = w_t + tau v with v = y p (with k classes, v has p at the row's class and -p at the rival):
           |w_{t+1}|^2 = |w_t|^2 + 2 tau <w_t, v> + tau^2 |v|^2,   <w_{t+1}, u> = <w_t, u> + tau <v, u>.
           Within a block of updates <w_t, v> comes from the weights before the block and the products of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.problem import as_heads, copy_state, rows_as_matrix, take_rows
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary, State
from ..online.update_log import UpdateLog
from ..parallel import one_blas_thread

BLOCK = 128  # updates whose rows are multiplied with each other
NARROW = 1024  # columns up to which sparse rows of a block are multiplied as dense ones, which is faster


@dataclass(frozen=True)
class Trajectory:
    norms_squared: Any
    alignments: Any | None


def trajectory(log: UpdateLog, direction: tuple[Any, Any] | None) -> Trajectory:
    """Along a binary or joint log, after each update; `direction`: (heads x features, weight 0 of each head)."""
    state = copy_state(log.start)
    norms = np.empty(log.n_updates + 1)
    with one_blas_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        norms[0] = _squared(state)
        if log.grouped:
            _step_by_step(log, state, norms)
        else:
            _block_by_block(log, state, norms)
        return Trajectory(norms, None if direction is None else _along(log, direction))


def _squared(state: State) -> float:
    w = state.w.astype(np.float64, copy=False).ravel()
    return float(w @ w + state.bias @ state.bias)


def _step_by_step(log: UpdateLog, state: State, norms: Any) -> None:
    """A batch step has many rows, and is no shorter to take than to measure."""
    edges = log.edges
    for t in range(1, len(norms)):
        log.advance(state, edges[t - 1 : t + 1])
        norms[t] = _squared(state)


def _block_by_block(log: UpdateLog, state: State, norms: Any) -> None:
    for start in range(0, len(log), BLOCK):
        here = slice(start, min(start + BLOCK, len(log)))
        rows, columns = _rows(log, here)
        heads, signs = as_heads(state.w, log.problem.rows), _signs(log, here)
        heads = (heads if columns is None else heads[:, columns]).astype(np.float64, copy=False)
        scores = rows @ heads.T + state.x0 * state.bias
        products = rows @ rows.T
        products = (products.toarray() if sp.issparse(products) else products) + state.x0**2
        moves = (signs @ signs.T) * products  # <v_s, v_r>
        taus = np.asarray(log.steps[here])
        margins = (scores * signs).sum(axis=1) + np.tril(moves, -1) @ taus
        gains = 2.0 * taus * margins + taus**2 * np.diagonal(moves)
        norms[here.start + 1 : here.stop + 1] = norms[here.start] + np.cumsum(gains)
        log.replay(state, here)


def _along(log: UpdateLog, direction: tuple[Any, Any]) -> Any:
    planes, weights_0 = direction
    start = log.start
    first = float((as_heads(start.w, log.problem.rows) * planes).sum() + start.bias @ weights_0)
    gains = np.empty(len(log))
    for begin in range(0, len(log), 16 * BLOCK):
        here = slice(begin, min(begin + 16 * BLOCK, len(log)))
        rows, columns = _rows(log, here)
        scores = rows @ (planes if columns is None else planes[:, columns]).T + start.x0 * weights_0
        gains[here] = log.steps[here] * (scores * _signs(log, here)).sum(axis=1)
    return first + np.concatenate([[0.0], np.cumsum(gains)])[log.edges]


def _rows(log: UpdateLog, here: slice) -> tuple[Any, Any | None]:
    """The rows of some entries in float64; sparse ones with the columns that they have, in place of all."""
    taken = take_rows(log.problem.rows, log.local_rows[here])
    if isinstance(taken, Dense):
        return taken.values.astype(np.float64, copy=False), None
    few = rows_as_matrix(taken, 0, len(taken.indptr) - 1)
    columns, places = np.unique(few.indices, return_inverse=True)
    values = few.data.astype(np.float64, copy=False)
    rows = sp.csr_array((values, places, few.indptr), shape=(few.shape[0], len(columns)))
    return (rows.toarray() if len(columns) <= NARROW else rows), columns


def _signs(log: UpdateLog, here: slice) -> Any:
    """Entries x heads: +1 for the row's own head, -1 for its rival; with one head, y."""
    labels, rows = log.problem.labels, log.local_rows[here]
    if isinstance(labels, Binary):
        return labels.signs[rows].astype(np.float64)[:, None]
    out, each = np.zeros((len(rows), len(log.start.bias))), np.arange(len(rows))
    out[each, labels.codes[rows]] = 1.0
    out[each, log.others[here]] = -1.0
    return out
