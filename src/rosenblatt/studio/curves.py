"""Curves along a run: training errors, the loss that the algorithm minimizes, and the improvements of the pocket.

Errors are counted as the pocket counts them: a row on the plane is misclassified. If evaluating every hypothesis would take too
long, both curves are evaluated at evenly spaced updates and wherever the pocket improved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .. import losses
from ..array_types import BoolArray, FloatArray, IntArray
from ..catalog import ESTIMATORS
from ..estimators.base import LinearClassifier
from ..kernels.linear.schemes import Binary, Joint, Rest
from ..losses import HINGE
from ..online.pocket import errors_of_every_hypothesis
from ..online.update_log import UpdateLog
from ..parallel import one_blas_thread
from ..reporting.story import evenly
from ..reporting.text import short
from ..scores import votes_of_pairs, winners

# Scores that are evaluated for a curve, with one head or with several: about 0.2 s.
MAX_SCORES_ONE_HEAD, MAX_SCORES_SEVERAL_HEADS = 3e7, 1.2e7
MIN_CURVE_POINTS = 100
COST_OF_SMOOTH_LOSS = 8  # time of an exponential, relative to the hinge
# Scores computed at a time, so that they stay in the cache of a core.
SCORES_PER_BLOCK = 1 << 16

# --- Objectives


@dataclass(frozen=True)
class Objective:
    """factor * (sum of the losses of the margins) + penalty * |w|^2, where w does not include weight 0."""

    title: str | None  # None: no loss is shown
    loss: Callable[[FloatArray], FloatArray]
    factor: float = 1.0
    penalty: float = 0.0
    power: int = 2  # 1: the sum of all |w_j| in place of |w|^2
    cost: int = 1  # time per loss, relative to the hinge


def objective_of(model: LinearClassifier) -> Objective:
    """Return the objective that a fitted estimator declares; by default the loss of the margin in its catalog entry."""
    declared = model._minimized()
    if declared is not None:
        loss, cost = declared.loss, 1 if declared.loss.kinks else COST_OF_SMOOTH_LOSS
        return Objective(_title(declared), loss.value, declared.factor, declared.penalty, declared.power, cost)
    margin = ESTIMATORS[type(model).__name__].margin
    if margin is None:  # every row moves the weights
        return Objective(None, np.zeros_like)
    if margin == 1.0:
        return Objective(_title(losses.Objective(HINGE)), HINGE.value)
    return _perceptron(margin or model._required_margin)


def _perceptron(b: float) -> Objective:
    title = "perceptron loss, Σ max(0, −m)" if b == 0.0 else f"perceptron loss, Σ max(0, {short(b, 6)} − m)"

    def loss(margins: FloatArray) -> FloatArray:
        np.maximum(b - margins, 0.0, out=margins)
        return margins

    return Objective(title, loss)


def _title(objective: losses.Objective) -> str:
    """Return the name and the formula of an objective; of a penalized margin loss, its formula alone."""
    loss = objective.loss
    formula = (loss.short_formula or loss.formula).replace("-", "−").replace("^2", "²")
    total = f"{_coefficient(objective.factor)}Σ {formula}"
    penalty = (
        f"{_coefficient(objective.penalty).strip()}{'|w|²' if objective.power == 2 else 'Σ |wⱼ|'}" if objective.penalty else ""
    )
    if loss.is_squared_error:
        return f"squared error, {total} + {penalty}" if penalty else f"squared error, {total}"
    return f"{penalty} + {total}" if penalty else f"{loss.name} loss, {total}"


def _coefficient(value: float) -> str:
    return "" if value == 1.0 else "½ " if value == 0.5 else f"{short(value, 6)} "


# --- Weights along a run
#
# The moves of all updates are the product of a sparse matrix with the rows; their cumulative sums are the weights w_0..w_T.
# Weight 0 comes first.


def augmented(log: UpdateLog) -> FloatArray:
    """Return the rows (x_0, x)."""
    problem = log._record.problem
    X = np.asarray(problem.matrix(), np.float64)
    return np.column_stack([np.full(len(X), problem.x0), X])


def start_of(log: UpdateLog) -> FloatArray:
    """Return the first weights, heads x (1 + features)."""
    record = log._record
    return np.column_stack([record.start.bias, record.heads_of(record.start.w)]).astype(np.float64)


def weights_per_update(log: UpdateLog) -> FloatArray:
    """Return w_0..w_T, (T + 1) x heads x (1 + features)."""
    moved = _moves(log, log.steps)
    return np.cumsum(np.concatenate([start_of(log)[None], moved]), axis=0)


def hypotheses_of(log: UpdateLog, h: int) -> IntArray:
    """Return the updates of a one-vs-rest log after which head h changed, starting with 0."""
    record = log._record
    mine = np.flatnonzero(record.others == h)
    if record.grouped and len(mine):
        first = mine[np.concatenate([[True], np.diff(log.times[mine]) > 0])]
        mine = np.searchsorted(record.edges, first, side="right") - 1
    return np.concatenate([[0], mine + 1])


def averages_per_update(log: UpdateLog, weights: FloatArray, at: IntArray) -> FloatArray:
    """Return the mean of w_0..w_t, weighted by visited rows, for each t of `at`; at T this is the average of the run.

    A move made after s rows is missing in s of the V visits, so the mean is w_t - (1/V) sum_s s tau_s y_s x_s.
    """
    record = log._record
    times, edges = log.times - record.visited_before, record.edges
    late = np.concatenate([np.zeros((1, *weights.shape[1:])), np.cumsum(_moves(log, log.steps * times), axis=0)])
    ends = log.durations - record.visited_before
    visited = np.append(times[edges[:-1]], ends.max())[at]  # at the next update
    over = np.maximum(1, np.minimum(visited[:, None], ends))
    averages: FloatArray = weights[at] - late[at] / over[:, :, None]
    return averages


def _moves(log: UpdateLog, steps: FloatArray) -> FloatArray:
    """Return what each update adds to each head, T x heads x (1 + features)."""
    record = log._record
    labels, rows, heads, edges = record.labels, record.local_rows.astype(np.int64), record.n_heads, record.edges
    update = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    moves: list[tuple[IntArray, FloatArray]]
    if isinstance(labels, Binary):
        moves = [(np.zeros(len(rows), np.int64), steps * labels.signs[rows])]
    elif isinstance(labels, Joint):
        moves = [(labels.codes[rows], steps), (record.others, -steps)]
    else:
        moves = [(record.others, steps * np.where(labels.heads[record.others] == labels.codes[rows], 1.0, -1.0))]
    where = np.concatenate([update * heads + head for head, _ in moves])
    coefs = np.concatenate([coef for _, coef in moves])
    shape = (len(edges) - 1) * heads, record.rows_source.n_rows
    table = sp.csr_array((coefs, (where, np.tile(rows, len(moves)))), shape=shape)
    P = augmented(log)
    moves_of_heads: FloatArray = (table @ P).reshape(len(edges) - 1, heads, P.shape[1])
    return moves_of_heads


# --- Errors, loss and pocket


class Data(NamedTuple):
    """Training rows, positions of their classes, and the scheme that turns scores into classes."""

    X: FloatArray
    codes: IntArray
    n_classes: int
    scheme: str  # binary, joint, rest or pairs
    x0: float


class Pocket(NamedTuple):
    """The updates after which there were fewer errors than ever before, and how many."""

    updates: IntArray
    errors: IntArray | FloatArray


class Curves(NamedTuple):
    """Errors and loss after some updates, and the improvements of the pocket."""

    at: IntArray
    errors: IntArray
    loss: FloatArray
    pocket: Pocket | None = None
    pockets: list[Pocket] | None = None  # the pocket of each one-vs-rest head
    pocket_weights: FloatArray | None = None  # the weights in the pocket at the end, heads x (1 + features)


def curves_of_log(log: UpdateLog, weights: FloatArray, data: Data, objective: Objective) -> Curves:
    """Return the curves of an online run."""
    updates, heads = len(weights) - 1, weights.shape[1]
    scores = len(data.codes) * heads * objective.cost
    some = evenly(
        updates + 1, max(MIN_CURVE_POINTS, int((MAX_SCORES_ONE_HEAD if heads == 1 else MAX_SCORES_SEVERAL_HEADS) / scores))
    )
    if isinstance(log._record.labels, Rest):
        return _one_vs_rest_curves(log, weights, data, objective, some)
    errors = errors_of_every_hypothesis(log)
    pocket = _improvements(errors)
    at = np.union1d(some, pocket.updates)
    counted, loss = evaluate(weights[at], data, objective)
    if log._record.labels.weights.size:  # the pocket minimizes the weight of the errors, the curve shows their number
        pocket = pocket._replace(errors=counted[np.searchsorted(at, pocket.updates)])
    else:
        counted = errors[at]  # exact, even if rounding decides a sign
    return Curves(at, counted, loss, pocket, None, weights[pocket.updates[-1]])


def _one_vs_rest_curves(log: UpdateLog, weights: FloatArray, data: Data, objective: Objective, updates: IntArray) -> Curves:
    """Return the curves of one-vs-rest runs, where each head has a pocket of its own."""
    pockets = []
    for h, run in enumerate(log.runs()):
        own = _improvements(errors_of_every_hypothesis(run))
        pockets.append(own._replace(updates=hypotheses_of(log, h)[own.updates]))
    times = np.unique(np.concatenate([each.updates for each in pockets]))
    at = np.union1d(updates, times)
    kept = np.stack([weights[_last_at(each.updates, times), h] for h, each in enumerate(pockets)], axis=1)
    # Errors of the pockets of all heads together; they may increase when the pocket of one head improves.
    together = Pocket(times, evaluate(kept, data, objective)[0])
    return Curves(at, *evaluate(weights[at], data, objective), together, pockets, kept[-1])


def curves_of_frames(weights: FloatArray, data: Data, objective: Objective) -> Curves:
    """Return the curves of a solver's path."""
    return Curves(np.arange(len(weights)), *evaluate(weights, data, objective))


def _improvements(errors: FloatArray | IntArray) -> Pocket:
    least = np.minimum.accumulate(errors)
    updates = np.concatenate([[0], np.flatnonzero(np.diff(least)) + 1])
    return Pocket(updates, errors[updates])


def _last_at(updates: IntArray, times: IntArray) -> IntArray:
    """Return the last of the updates at or before each of the times."""
    return updates[np.searchsorted(updates, times, side="right") - 1]


def evaluate(weights: FloatArray, data: Data, objective: Objective) -> tuple[IntArray, FloatArray]:
    """Return (training errors, objective) of hypotheses x heads x (1 + features)."""
    n, heads = len(data.codes), weights.shape[1]
    P = np.column_stack([np.full(n, data.x0), data.X])
    if data.scheme == "binary":
        P *= np.where(data.codes == 1, 1.0, -1.0)[:, None]
    signs = _signs(data)
    errors, losses = np.empty(len(weights), np.int64), np.empty(len(weights))
    step = max(1, SCORES_PER_BLOCK // (n * heads))
    with one_blas_thread():
        for first in range(0, len(weights), step):
            here = slice(first, first + step)
            scores = weights[here] @ P.T
            leads = _leads(scores, data)
            errors[here] = n - (leads > 0.0).sum(axis=1)
            if signs is None:
                losses[here] = objective.loss(leads).sum(axis=1)
            else:
                losses[here] = (objective.loss(scores * signs) * (signs != 0.0)).sum(axis=(1, 2))
    return errors, losses * objective.factor + objective.penalty * (abs(weights[:, :, 1:]) ** objective.power).sum(axis=(1, 2))


def margins_of(weights: FloatArray, data: Data) -> tuple[FloatArray, BoolArray]:
    """Return (margins, mask of those that count) of one hypothesis, heads x rows, or one lead per row."""
    scores = (data.X @ weights[:, 1:].T + data.x0 * weights[:, 0]).T
    signs = np.where(data.codes == 1, 1.0, -1.0)[None] if data.scheme == "binary" else _signs(data)
    margins = _leads(scores[None], data) if signs is None else scores * signs
    return margins, np.full(margins.shape, True) if signs is None else signs != 0.0


def classes_of(weights: FloatArray, data: Data) -> IntArray:
    """Return the position of the class that one hypothesis predicts for each row."""
    scores = data.X @ weights[:, 1:].T + data.x0 * weights[:, 0]
    codes: IntArray = winners(votes_of_pairs(scores, data.n_classes) if data.scheme == "pairs" else scores)
    return codes


def _leads(scores: FloatArray, data: Data) -> FloatArray:
    """Return how far the score of a row's class exceeds the best rival: hypotheses x rows from hypotheses x heads x rows."""
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


def _signs(data: Data) -> FloatArray | None:
    """Return +1 or -1 for each head and row, 0 for rows of neither class of a pair; None if margins are leads."""
    if data.scheme in ("binary", "joint"):
        return None
    if data.scheme == "rest":
        return np.where(np.arange(data.n_classes)[:, None] == data.codes, 1.0, -1.0)
    first, second = np.triu_indices(data.n_classes, 1)
    signs: FloatArray = 1.0 * (second[:, None] == data.codes) - 1.0 * (first[:, None] == data.codes)
    return signs
