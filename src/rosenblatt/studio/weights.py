"""All weights of a run at once, from its log: w_0..w_T, and their averages on the way.

The moves of all updates are one sparse matrix times the rows; a cumulative sum makes them weights. Weight 0 comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.problem import as_heads
from ..kernels.linear.schemes import Argmax, Binary
from ..online.update_log import UpdateLog


def augmented(log: UpdateLog) -> Any:
    """The rows (x_0, x)."""
    X = np.asarray(log.problem.matrix(), np.float64)
    return np.column_stack([np.full(len(X), log.problem.x0), X])


def start_of(log: UpdateLog) -> Any:
    """heads x (1 + features)."""
    return np.column_stack([log.start.bias, as_heads(log.start.w, log.problem.rows)]).astype(np.float64)


def weights_along(log: UpdateLog) -> Any:
    """(T + 1) x heads x (1 + features)."""
    moved = _moved(log, log.steps)
    return np.cumsum(np.concatenate([start_of(log)[None], moved]), axis=0)


def hypotheses_of(log: UpdateLog, h: int) -> Any:
    """After which updates of a one-vs-rest log head h was another: its start, and each of its own updates."""
    mine = np.flatnonzero(log.others == h)
    if log.grouped and len(mine):
        first = mine[np.concatenate([[True], np.diff(log.times[mine]) > 0])]
        mine = np.searchsorted(log.edges, first, side="right") - 1
    return np.concatenate([[0], mine + 1])


def averages_along(log: UpdateLog, weights: Any, at: Any) -> Any:
    """The mean of w_0..w_t, each as often as rows were visited with it, for each t of `at`; at T it is the run's average.

    A move made after s rows is missing from s of the V visited, so that the mean is w_t - (1/V) sum_s s tau_s y_s x_s.
    """
    times, edges = log.times - log.since, log.edges
    late = np.concatenate([np.zeros((1, *weights.shape[1:])), np.cumsum(_moved(log, log.steps * times), axis=0)])
    ends = log.durations - log.since
    visited = np.append(times[edges[:-1]], ends.max())[at]  # when the next update comes
    over = np.maximum(1, np.minimum(visited[:, None], ends))
    return weights[at] - late[at] / over[:, :, None]


def _moved(log: UpdateLog, steps: Any) -> Any:
    """What each update adds to each head: T x heads x (1 + features)."""
    labels, rows, heads, edges = log.problem.labels, log.local_rows.astype(np.int64), len(log.start.bias), log.edges
    update = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    if isinstance(labels, Binary):
        moves = [(np.zeros(len(rows), np.int64), steps * labels.signs[rows])]
    elif isinstance(labels, Argmax):
        moves = [(labels.codes[rows], steps), (log.others, -steps)]
    else:
        moves = [(log.others, steps * np.where(labels.heads[log.others] == labels.codes[rows], 1.0, -1.0))]
    where = np.concatenate([update * heads + head for head, _ in moves])
    coefs = np.concatenate([coef for _, coef in moves])
    shape = (len(edges) - 1) * heads, log.problem.n_rows
    table = sp.csr_array((coefs, (where, np.tile(rows, len(moves)))), shape=shape)
    P = augmented(log)
    return (table @ P).reshape(len(edges) - 1, heads, P.shape[1])
