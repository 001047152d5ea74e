"""Curves along a run: training errors, the loss that is being minimised, and the pocket's improvements.

Errors are counted as the pocket counts them: a row on the plane is wrong. Where all hypotheses against all rows are too many,
both curves are taken at some of the updates, evenly apart, and at all those where the pocket improved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.problem import as_heads
from ..kernels.linear.schemes import Binary, Joint, Rest
from ..losses import HINGE, LINEAR_MSE, LOGISTIC_MSE, NONLINEAR_MSE, SQUARED_HINGE
from ..online.pocket import errors_of_every_hypothesis
from ..online.update_log import UpdateLog
from ..parallel import one_blas_thread
from ..reporting.story import evenly
from ..scores import votes_of_pairs, winners

# --- What an algorithm makes small: factor * (sum of the rows' losses) + penalty * |w|^2, of w without weight 0.


@dataclass(frozen=True)
class Goal:
    title: str
    loss: Callable[[Any], Any]  # of margins
    factor: float = 1.0
    penalty: float = 0.0
    cost: int = 1  # how many times as long a loss takes as the simplest


def goal_of(model: Any) -> Goal:
    """The goal of a fitted estimator; the hinge where nothing else is known of it."""
    found = _GOALS.get(type(model).__name__)
    return Goal("hinge loss, Σ max(0, 1 − m)", HINGE.value) if found is None else found(model)


def _perceptron(model: Any) -> Goal:
    b = float(getattr(model, "_margin_used", model.margin))
    title = "perceptron loss, Σ max(0, −m)" if b == 0.0 else f"perceptron loss, Σ max(0, {b:g} − m)"

    def loss(margins: Any) -> Any:
        return np.maximum(b - margins, 0.0, out=margins)

    return Goal(title, loss)


def _soft(model: Any) -> Goal:
    squared = model.loss == "squared_hinge"
    cost = float(model.C)
    name = "Σ max(0, 1 − m)²" if squared else "Σ max(0, 1 − m)"
    return Goal(f"½|w|² + {cost:g} {name}", (SQUARED_HINGE if squared else HINGE).value, cost, 0.5, 2)


def _squares(model: Any) -> Goal:
    ridge = f" + {model.alpha:g}|w|²" if model.alpha else ""
    return Goal(f"squared error, Σ (1 − m)²{ridge}", LINEAR_MSE.value, 1.0, float(model.alpha))


def _through(model: Any) -> Goal:
    logistic = model.activation == "logistic"
    title = "½ Σ (1 − σ(m))²" if logistic else "½ Σ (1 − tanh m)²"
    return Goal(f"squared error, {title}", (LOGISTIC_MSE if logistic else NONLINEAR_MSE).value, 0.5, 0.0, 8)


_GOALS: dict[str, Callable[[Any], Goal]] = {
    "AROW": lambda _: Goal("squared hinge loss, Σ max(0, 1 − m)²", SQUARED_HINGE.value, cost=2),
    "LinearMSE": _squares,
    "NonlinearMSE": _through,
    "Perceptron": _perceptron,
    "SoftMargin": _soft,
}


# --- All weights of a run at once, from its log: w_0..w_T, and their averages on the way.
#
# The moves of all updates are one sparse matrix times the rows; a cumulative sum makes them weights. Weight 0 comes first.


def augmented(log: UpdateLog) -> Any:
    """The rows (x_0, x)."""
    X = np.asarray(log._problem.matrix(), np.float64)
    return np.column_stack([np.full(len(X), log._problem.x0), X])


def start_of(log: UpdateLog) -> Any:
    """heads x (1 + features)."""
    return np.column_stack([log._start.bias, as_heads(log._start.w, log._problem.rows)]).astype(np.float64)


def weights_along(log: UpdateLog) -> Any:
    """(T + 1) x heads x (1 + features)."""
    moved = _moved(log, log.steps)
    return np.cumsum(np.concatenate([start_of(log)[None], moved]), axis=0)


def hypotheses_of(log: UpdateLog, h: int) -> Any:
    """After which updates of a one-vs-rest log head h was another: its start, and each of its own updates."""
    mine = np.flatnonzero(log._others == h)
    if log._grouped and len(mine):
        first = mine[np.concatenate([[True], np.diff(log.times[mine]) > 0])]
        mine = np.searchsorted(log._edges, first, side="right") - 1
    return np.concatenate([[0], mine + 1])


def averages_along(log: UpdateLog, weights: Any, at: Any) -> Any:
    """The mean of w_0..w_t, each as often as rows were visited with it, for each t of `at`; at T it is the run's average.

    A move made after s rows is missing from s of the V visited, so that the mean is w_t - (1/V) sum_s s tau_s y_s x_s.
    """
    times, edges = log.times - log._visited_before, log._edges
    late = np.concatenate([np.zeros((1, *weights.shape[1:])), np.cumsum(_moved(log, log.steps * times), axis=0)])
    ends = log.durations - log._visited_before
    visited = np.append(times[edges[:-1]], ends.max())[at]  # when the next update comes
    over = np.maximum(1, np.minimum(visited[:, None], ends))
    return weights[at] - late[at] / over[:, :, None]


def _moved(log: UpdateLog, steps: Any) -> Any:
    """What each update adds to each head: T x heads x (1 + features)."""
    labels, rows, heads, edges = log._problem.labels, log._local_rows.astype(np.int64), len(log._start.bias), log._edges
    update = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    moves: list[tuple[Any, Any]]
    if isinstance(labels, Binary):
        moves = [(np.zeros(len(rows), np.int64), steps * labels.signs[rows])]
    elif isinstance(labels, Joint):
        moves = [(labels.codes[rows], steps), (log._others, -steps)]
    else:
        moves = [(log._others, steps * np.where(labels.heads[log._others] == labels.codes[rows], 1.0, -1.0))]
    where = np.concatenate([update * heads + head for head, _ in moves])
    coefs = np.concatenate([coef for _, coef in moves])
    shape = (len(edges) - 1) * heads, log._problem.n_rows
    table = sp.csr_array((coefs, (where, np.tile(rows, len(moves)))), shape=shape)
    P = augmented(log)
    return (table @ P).reshape(len(edges) - 1, heads, P.shape[1])


# ---

# Scores that may be looked at, of one head or of several: about a fifth of a second.
MOST_SCORES, MOST_OF_SEVERAL = 3e7, 1.2e7
LEAST_POINTS = 100
# Scores held at a time: they stay in a core's cache.
HELD = 1 << 16


class Data(NamedTuple):
    """What hypotheses are judged on: rows, positions of their classes, and how scores become classes."""

    X: Any
    codes: Any
    n_classes: int
    scheme: str  # binary, argmax, rest or pairs
    x0: float


class Pocket(NamedTuple):
    """After which updates there were fewer errors than ever before, and how many."""

    updates: Any
    errors: Any


class Curves(NamedTuple):
    at: Any
    errors: Any
    loss: Any
    pocket: Pocket | None = None
    pockets: list[Pocket] | None = None  # one-vs-rest: of each head
    pocketed: Any = None  # the weights in the pocket at the end, heads x (1 + features)


def curves_of_log(log: UpdateLog, weights: Any, data: Data, goal: Goal) -> Curves:
    updates, heads = len(weights) - 1, weights.shape[1]
    scores = len(data.codes) * heads * goal.cost
    some = evenly(updates + 1, max(LEAST_POINTS, int((MOST_SCORES if heads == 1 else MOST_OF_SEVERAL) / scores)))
    if isinstance(log._problem.labels, Rest):
        pockets = []
        for h, run in enumerate(log.runs()):
            mine = _improvements(errors_of_every_hypothesis(run))
            pockets.append(mine._replace(updates=hypotheses_of(log, h)[mine.updates]))
        at = np.union1d(some, np.concatenate([each.updates for each in pockets]))
        times = np.unique(np.concatenate([each.updates for each in pockets]))
        held = np.stack([weights[_last_of(each.updates, times), h] for h, each in enumerate(pockets)], axis=1)
        # What all heads' pockets get wrong together, whenever one of them improved: that may also be more than before.
        together = Pocket(times, judged(held, data, goal)[0])
        return Curves(at, *judged(weights[at], data, goal), together, pockets, held[-1])
    errors = errors_of_every_hypothesis(log)
    pocket = _improvements(errors)
    at = np.union1d(some, pocket.updates)
    counted, loss = judged(weights[at], data, goal)
    if log._problem.labels.weights.size:  # the pocket goes by what rows weigh, the curve by how many they are
        pocket = pocket._replace(errors=counted[np.searchsorted(at, pocket.updates)])
    else:
        counted = errors[at]  # to the last row, also where rounding decides
    return Curves(at, counted, loss, pocket, None, weights[pocket.updates[-1]])


def curves_of_frames(weights: Any, data: Data, goal: Goal) -> Curves:
    return Curves(np.arange(len(weights)), *judged(weights, data, goal))


def _improvements(errors: Any) -> Pocket:
    least = np.minimum.accumulate(errors)
    updates = np.concatenate([[0], np.flatnonzero(np.diff(least)) + 1])
    return Pocket(updates, errors[updates])


def _last_of(updates: Any, times: Any) -> Any:
    """The last of the updates at each of the times."""
    return updates[np.searchsorted(updates, times, side="right") - 1]


def judged(weights: Any, data: Data, goal: Goal) -> tuple[Any, Any]:
    """(training errors, what the goal says) of hypotheses x heads x (1 + features)."""
    n, heads = len(data.codes), weights.shape[1]
    P = np.column_stack([np.full(n, data.x0), data.X])
    if data.scheme == "binary":
        P *= np.where(data.codes == 1, 1.0, -1.0)[:, None]
    signs = _signs(data)
    errors, lost = np.empty(len(weights), np.int64), np.empty(len(weights))
    step = max(1, HELD // (n * heads))
    with one_blas_thread():
        for first in range(0, len(weights), step):
            here = slice(first, first + step)
            scores = weights[here] @ P.T
            leads = _leads(scores, data)
            errors[here] = n - (leads > 0.0).sum(axis=1)
            if signs is None:
                lost[here] = goal.loss(leads).sum(axis=1)
            else:
                lost[here] = (goal.loss(scores * signs) * (signs != 0.0)).sum(axis=(1, 2))
    return errors, lost * goal.factor + goal.penalty * np.square(weights[:, :, 1:]).sum(axis=(1, 2))


def margins_of(weights: Any, data: Data) -> tuple[Any, Any]:
    """(margins, which of them count) of one hypothesis, heads x rows, or one lead for each row; dense or sparse."""
    scores = (data.X @ weights[:, 1:].T + data.x0 * weights[:, 0]).T
    signs = np.where(data.codes == 1, 1.0, -1.0)[None] if data.scheme == "binary" else _signs(data)
    margins = _leads(scores[None], data) if signs is None else scores * signs
    return margins, np.full(margins.shape, True) if signs is None else signs != 0.0


def classes_of(weights: Any, data: Data) -> Any:
    """The position of the class that one hypothesis gives each row, as `predict` does."""
    scores = data.X @ weights[:, 1:].T + data.x0 * weights[:, 0]
    return winners(votes_of_pairs(scores, data.n_classes) if data.scheme == "pairs" else scores)


def _leads(scores: Any, data: Data) -> Any:
    """hypotheses x rows from hypotheses x heads x rows: how far the own score is over the best rival's."""
    if data.scheme == "binary":
        return scores[:, 0]
    if data.scheme == "pairs":
        scores = np.stack([votes_of_pairs(each.T, data.n_classes).T for each in scores])
    rows = np.arange(len(data.codes))
    own = scores[:, data.codes, rows]
    rivals = scores.copy()
    rivals[:, data.codes, rows] = -np.inf
    best = rivals[:, 0]
    for h in range(1, rivals.shape[1]):
        best = np.maximum(best, rivals[:, h])
    return own - best


def _signs(data: Data) -> Any | None:
    """+1 or -1 for each head and row, 0 where a row is of neither class of a pair; None: margins are leads."""
    if data.scheme in ("binary", "joint"):
        return None
    if data.scheme == "rest":
        return np.where(np.arange(data.n_classes)[:, None] == data.codes, 1.0, -1.0)
    first, second = np.triu_indices(data.n_classes, 1)
    return 1.0 * (second[:, None] == data.codes) - 1.0 * (first[:, None] == data.codes)
