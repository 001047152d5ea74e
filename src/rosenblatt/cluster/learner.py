"""What a run of an online learner on blocks starts from, and what it leaves, as `OnlineClassifier._learn` on one machine.

The client of a run has no rows. It runs on an `Outline`, which knows how many there are, and tasks visit them.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.csr import CSRMatrix
from ..data.problem import Problem, make_problem, make_rows, one_against_rest, read_only, select_heads, virtual_sums
from ..estimators.base import LinearClassifier, StopWarning
from ..estimators.nonlinear_mse import NonlinearMSE
from ..estimators.online import OnlineClassifier
from ..estimators.perceptron import Perceptron
from ..kernels.linear.schemes import Rest, State
from ..least_squares.nonlinear import total_sqnorm
from ..online.history import initial_state, signed_sum
from ..online.run import Rule, RunConfig, RunResult
from .block_set import BlockSet
from .blocks import Block


@dataclass(frozen=True)
class Outline(Problem):
    """A problem whose rows are elsewhere: kind, width and labels of its rows, and their number."""

    all_rows: int = 0
    visited_rows: int = 0  # those of positive weight
    weight: float = 0.0
    weighted: bool = False  # whether rows have weights

    @property
    def n_rows(self) -> int:
        return self.all_rows

    @property
    def n_visited(self) -> int:
        return self.visited_rows

    @property
    def total_weight(self) -> float:
        return self.weight


class Scheme(NamedTuple):
    """How tasks see the rows of a block as a problem."""

    multiclass: str
    x0: float
    heads: tuple[int, ...] = ()  # the one-vs-rest heads that are run; empty: all

    def problem(self, block: Block) -> Problem:
        """The rows of a block with the labels of the heads."""
        problem = block.problem(self.multiclass, self.x0)
        return select_heads(problem, np.array(self.heads)) if self.heads else problem

    def binary_problem(self, block: Block, h: int) -> Problem:
        """The problem of one head alone."""
        problem = block.problem(self.multiclass, self.x0)
        return one_against_rest(problem, h) if isinstance(problem.labels, Rest) else problem


@dataclass(frozen=True)
class Learner:
    """A run on blocks before its first row."""

    outline: Outline
    scheme: Scheme
    rule: Rule
    config: RunConfig
    start: State
    sums: State | None  # for the average
    visited: tuple[int, ...]  # rows of each block that are visited

    @property
    def n_heads(self) -> int:
        """The number of independent heads."""
        return len(self.start.counts)

    @property
    def used(self) -> list[int]:
        """The blocks that have rows."""
        return [number for number, rows in enumerate(self.visited) if rows]


def check_runs_on_blocks(estimator: LinearClassifier) -> None:
    """Raise an error if the estimator, with its parameters, needs all rows in one memory."""
    learner: Any = copy.copy(estimator)
    if isinstance(estimator, Perceptron) and isinstance(estimator.init, str):
        learner.init = "zeros"  # `prepare_run` adds the rows of all blocks
    obstacle = learner._streaming_obstacle()
    if obstacle is not None:
        raise ValueError(obstacle.describe(type(estimator).__name__))


def prepare_run(estimator: OnlineClassifier, blocks: BlockSet) -> Learner:
    """Return the run of an estimator, with the parameters that depend on all rows."""
    check_runs_on_blocks(estimator)
    visited = tuple(blocks.each(count_visited))
    if not any(visited):
        raise ValueError("the weights of all rows are zero: there is nothing to learn from")
    outline = make_outline(blocks, estimator._multiclass, estimator._x0, sum(visited))
    scheme = Scheme(estimator._multiclass, estimator._x0)
    rule = _rule(estimator, blocks, outline)
    if isinstance(estimator, NonlinearMSE) and isinstance(estimator.step, str):
        total, heaviest = blocks.sum(weighted_squares, scheme), max(blocks.each(heaviest_row))
        estimator._auto = estimator._safe_step(total, outline.weight, heaviest or 1.0)
    before = estimator._run if estimator.warm_start and hasattr(estimator, "_run") else None
    init = estimator._first_weights
    if before is None and isinstance(init, str) and init == "sum":
        total, bias = blocks.sum(sum_signed_rows, scheme, blocks.classes, size=8 * blocks.n_features)
        init = np.column_stack([bias, total]) if estimator.fit_intercept else total
    start = initial_state(outline, blocks.classes, init, bool(estimator.fit_intercept), before)
    estimator._continue_counts(rule, start)
    sums = virtual_sums(start) if estimator.keep == "average" else None
    return Learner(outline, scheme, rule, estimator._config(outline, False), start, sums, visited)


def make_outline(blocks: BlockSet, multiclass: str, x0: float, visited: int) -> Outline:
    """The problem of all blocks, without its rows."""
    facts, k = blocks.facts, len(blocks.classes)
    X: Any = np.zeros((0, facts.width), blocks.dtype)
    if facts.sparse:
        X = CSRMatrix(X.reshape(-1), np.zeros(0, np.int32), np.zeros(1, np.int64), facts.width)
    labels = make_problem(np.zeros((0, 0)), np.zeros(0), k, multiclass=multiclass, x0=x0).labels
    return Outline(
        make_rows(X), labels, x0, all_rows=facts.rows, visited_rows=visited, weight=blocks.total_weight,
        weighted=any(blocks.each(has_weights)),
    )  # fmt: skip


def select_outline(outline: Outline, heads: IntArray) -> Outline:
    """The outline of some one-vs-rest heads."""
    assert isinstance(outline.labels, Rest)
    return replace(outline, labels=outline.labels._replace(heads=read_only(outline.labels.heads[heads])))


def _rule(estimator: OnlineClassifier, blocks: BlockSet, outline: Outline) -> Rule:
    if not isinstance(estimator, Perceptron):
        return estimator._rule(outline)
    given = copy.copy(estimator)
    if estimator.margin == "auto":
        given.margin = blocks.facts.squares / outline.n_rows + outline.x0**2
        if not given.margin < np.inf:
            raise ValueError("margin='auto' is the mean squared length of the rows, which overflowed: scale the features")
    rule = given._rule(outline)
    estimator._margin_used = rule.margin
    return rule


def store_run(estimator: OnlineClassifier, blocks: BlockSet, learner: Learner, result: RunResult) -> None:
    """Set the fitted attributes of an estimator after its run."""
    stop = result.merged_stop(blocks.classes)
    if estimator.max_iter is None and not (stop.separated or stop.reason == "impossible"):
        warnings.warn(StopWarning("the rows were not separated", stop), stacklevel=4)
    estimator._set_run(learner.outline, blocks.classes, result, stop)
    if isinstance(estimator, NonlinearMSE):
        from .nonlinear_loss import set_loss

        set_loss(estimator, blocks)


# --- tasks ---------------------------------------------------------------------------------------------------------------


def count_visited(block: Block) -> int:
    """The rows of positive weight."""
    return int(np.count_nonzero(block.weights)) if block.weights.size else block.n_rows


def has_weights(block: Block) -> bool:
    """Whether the rows have weights."""
    return bool(block.weights.size)


def heaviest_row(block: Block) -> float:
    """The largest weight of a row; 1 if rows have none."""
    return float(block.weights.max(initial=0.0)) if block.weights.size else 1.0


def weighted_squares(block: Block, scheme: Scheme) -> float:
    """The sum of the squared lengths of the rows times their weights."""
    return total_sqnorm(scheme.problem(block))


def sum_signed_rows(block: Block, scheme: Scheme, classes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The sum of the signed rows for each head, and weight 0."""
    return signed_sum(scheme.problem(block), len(classes))
