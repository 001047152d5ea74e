"""The loss of `NonlinearMSE`, its gradient and its saturated rows, as sums over blocks."""

from __future__ import annotations

import numpy as np

from ..array_types import FloatArray, IntArray
from ..estimators.nonlinear_mse import NonlinearMSE
from ..least_squares.nonlinear import column_maxima, measure, scale_of
from ..online.rules.nonlinear_mse import MAX_STEP, NonlinearMSERule, nonlinear_mse_rule
from .block_set import BlockSet
from .blocks import Block


def set_loss(estimator: NonlinearMSE, blocks: BlockSet) -> None:
    """Set `loss_`, `gradient_norm_` and `saturated_`."""
    heads, bias = estimator._measured_weights()
    x0, size = estimator._x0, 8 * heads.size
    scale = scale_of(blocks.sum(maxima_of_columns, x0, size=size, combine=np.maximum))
    rule, longest = nonlinear_mse_rule(estimator.activation), MAX_STEP[estimator.activation]
    total, slopes, saturated = blocks.sum(
        measure_block, x0, rule, heads, bias, longest, scale, blocks.total_weight, size=size, combine=_join
    )
    estimator.loss_, estimator.gradient_norm_, estimator.saturated_ = total, float(abs(slopes).max()), saturated


def maxima_of_columns(block: Block, x0: float) -> FloatArray:
    """A task: the largest absolute value of each augmented column."""
    if not block.n_rows:
        return np.append(x0, np.zeros(block.width))
    return column_maxima(block.problem("ovr", x0))


def measure_block(
    block: Block, x0: float, rule: NonlinearMSERule, heads: FloatArray, bias: FloatArray, longest: float, scale: FloatArray,
    weight: float,
) -> tuple[float, FloatArray, IntArray]:  # fmt: skip
    """A task: the loss of the rows, its gradient over the weight of all rows, and the saturated rows."""
    total, slopes, quiet = measure(block.problem("ovr", x0), rule, heads, bias, longest, scale, weight)
    return total, slopes, quiet + block.start


Measured = tuple[float, FloatArray, IntArray]


def _join(left: Measured, right: Measured) -> Measured:
    return left[0] + right[0], left[1] + right[1], np.concatenate([left[2], right[2]])
