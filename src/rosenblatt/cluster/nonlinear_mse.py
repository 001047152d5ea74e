"""`NonlinearMSE(solver="minimum")` on blocks: the error, its gradient and its second derivative are sums over blocks.

Problem    as in `least_squares/nonlinear.py`, whose solvers are used: Newton's method for few columns, L-BFGS for many.
Guarantee  the same as on one machine. The starting point and the scale of the columns are the same, too.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from ..array_types import FloatArray
from ..data.problem import Problem, as_heads, one_against_rest, zero_state
from ..estimators.base import StopWarning
from ..estimators.nonlinear_mse import AUTO_ITERATIONS, NonlinearMSE
from ..kernels.linear.schemes import Binary
from ..least_squares.nonlinear import (
    Descent,
    NonlinearOutOfRangeError,
    minimize_heads,
    scale_of,
)
from ..online.history import initial_state
from ..online.rules.nonlinear_mse import NonlinearMSERule, nonlinear_mse_rule
from ..online.run import OutOfRangeError, RunResult
from ..progress import current_callback
from .block_set import BlockSet
from .blocks import Block
from .engine import Handle
from .learner import make_outline
from .nonlinear_loss import maxima_of_columns, set_loss
from .options import RunOptions


def fit_nonlinear_mse(estimator: NonlinearMSE, blocks: BlockSet, options: RunOptions) -> None:
    """Minimize the error, and set the attributes."""
    outline, classes, x0 = make_outline(blocks, "ovr", estimator._x0, blocks.n_rows), blocks.classes, estimator._x0
    before = estimator._run if estimator.warm_start and "_run" in estimator.__dict__ else None
    start = initial_state(outline, classes, estimator._first_weights, bool(estimator.fit_intercept), before)
    heads = as_heads(start.w, outline.rows).astype(np.float64)
    rule, scale = nonlinear_mse_rule(estimator.activation), scale_of_columns(blocks, x0)
    shared = blocks.share(scale)[0]
    max_iter = AUTO_ITERATIONS if isinstance(estimator.max_iter, str | None) else int(estimator.max_iter)
    try:
        found = minimize_heads(
            lambda h: BlockDescent(blocks, Head(h, x0, rule, blocks.total_weight), shared, len(scale)),
            scale, float(estimator.tol), max_iter, heads, start.bias, 1, current_callback(bool(estimator.verbose)),
        )  # fmt: skip
    except NonlinearOutOfRangeError as error:
        raise OutOfRangeError(str(error)) from None
    state = zero_state(outline, len(start.bias), np.float64)
    as_heads(state.w, outline.rows)[...], state.bias[...] = found.heads, found.bias
    durations = np.full(len(state.counts), blocks.n_rows)
    result = RunResult(state, found.stops, found.iterations, durations, None, None)
    estimator.__dict__.pop("_auto", None)
    if isinstance(estimator.step, str):
        estimator._auto = 1.0  # not used by this solver
    stop = result.merged_stop(classes)
    if stop.reason != "solved":
        warnings.warn(StopWarning("the minimum was not reached", stop), stacklevel=3)
    estimator._set_run(outline, classes, result, stop)
    set_loss(estimator, blocks)


def scale_of_columns(blocks: BlockSet, x0: float) -> FloatArray:
    """The largest absolute value of each augmented column, as a power of two; 1 for a column of zeros."""
    return scale_of(blocks.sum(maxima_of_columns, x0, size=8 * blocks.n_features, combine=np.maximum))


# --- tasks ---------------------------------------------------------------------------------------------------------------


class Head(NamedTuple):
    """A binary problem: the class against the rest, x_0, the rule, and the sum of the weights of all rows."""

    head: int
    x0: float
    rule: NonlinearMSERule
    weight: float


def _descent(block: Block, head: Head, scale: FloatArray) -> Descent:
    def make() -> Problem:
        problem = block.problem("ovr", head.x0)
        return problem if isinstance(problem.labels, Binary) else one_against_rest(problem, head.head)

    return Descent(block.derived(("head", head.head, head.x0), make), head.rule, scale, head.weight)


def value_and_gradient(block: Block, head: Head, scale: FloatArray, v: FloatArray) -> tuple[float, FloatArray]:
    """The error of the rows, over the sum of all weights, and its gradient."""
    return _descent(block, head, scale)(v)


def second_derivative(block: Block, head: Head, scale: FloatArray, v: FloatArray) -> FloatArray:
    """The second derivative of the error of the rows, over the sum of all weights."""
    descent = _descent(block, head, scale)
    descent(v)
    return descent.second_derivative()


# --- the objective -------------------------------------------------------------------------------------------------------


class BlockDescent:
    """`Descent` with sums over blocks in place of the rows."""

    def __init__(self, blocks: BlockSet, head: Head, scale: FloatArray | Handle, width: int) -> None:
        self._blocks, self._head, self._scale = blocks, head, scale
        self.gradient: FloatArray = np.zeros(width)
        self._v: FloatArray = np.zeros(width)

    def __call__(self, v: FloatArray) -> tuple[float, FloatArray]:
        """(E/C, its gradient)."""
        self._v = v.copy()
        value, self.gradient = self._blocks.sum(value_and_gradient, self._head, self._scale, self._v, size=v.nbytes)
        return float(value), self.gradient

    def second_derivative(self) -> FloatArray:
        """The second derivative of E/C at the v of the last call."""
        found: FloatArray = self._blocks.sum(
            second_derivative, self._head, self._scale, self._v, size=self._v.nbytes * len(self._v)
        )
        return found
