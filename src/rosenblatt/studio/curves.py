"""Curves along a run: training errors, the loss that is being minimised, and the pocket's improvements.

Errors are counted as the pocket counts them: a row on the plane is wrong. Where all hypotheses against all rows are too many,
both curves are taken at some of the updates, evenly apart, and at all those where the pocket improved.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.linear.schemes import Rest
from ..online.pocket import every_error
from ..online.update_log import UpdateLog
from ..parallel import one_blas_thread
from ..reporting.facts import evenly
from ..scores import votes_of_pairs, winners
from .goals import Goal
from .weights import hypotheses_of

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
    if isinstance(log.problem.labels, Rest):
        pockets = []
        for h, run in enumerate(log.runs()):
            mine = _improvements(every_error(run))
            pockets.append(mine._replace(updates=hypotheses_of(log, h)[mine.updates]))
        at = np.union1d(some, np.concatenate([each.updates for each in pockets]))
        times = np.unique(np.concatenate([each.updates for each in pockets]))
        held = np.stack([weights[_last_of(each.updates, times), h] for h, each in enumerate(pockets)], axis=1)
        # What all heads' pockets get wrong together, whenever one of them improved: that may also be more than before.
        together = Pocket(times, judged(held, data, goal)[0])
        return Curves(at, *judged(weights[at], data, goal), together, pockets, held[-1])
    errors = every_error(log)
    pocket = _improvements(errors)
    at = np.union1d(some, pocket.updates)
    counted, loss = judged(weights[at], data, goal)
    if log.problem.labels.weights.size:  # the pocket goes by what rows weigh, the curve by how many they are
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
    if data.scheme in ("binary", "argmax"):
        return None
    if data.scheme == "rest":
        return np.where(np.arange(data.n_classes)[:, None] == data.codes, 1.0, -1.0)
    first, second = np.triu_indices(data.n_classes, 1)
    return 1.0 * (second[:, None] == data.codes) - 1.0 * (first[:, None] == data.codes)
