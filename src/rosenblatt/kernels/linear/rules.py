"""The operations of a learning rule. The rules are in `online/rules`, one file each."""

from __future__ import annotations

from typing import Any

from ..compile import operation


@operation
def step(rule: Any, margin: float, sqnorm: float, weight: float) -> Any:
    """tau >= 0 for a row of this margin and weight whose move has this squared length; 0: no move, NaN: overflow."""


@operation
def threshold(rule: Any, sqnorm: float, updates: int) -> Any:
    """The largest margin at which a row moves the weights; `rule.margin` for rules without a body of their own.

    `sqnorm` is the squared norm of the augmented weights, `updates` the number of updates so far (batch: steps). One-vs-rest
    has both for each head; with k classes that compete, the norm is that of all weights.
    """


@threshold.of(None)
def _(rule: Any, sqnorm: float, updates: int) -> Any:
    return rule.margin


@operation
def loss(rule: Any, margin: float) -> Any:
    """The loss of a row of weight 1 at this margin, for rules that minimize a loss; its derivative is -tau."""


@operation
def target(rule: Any, y: float) -> Any:
    """For rules that keep variances: the target margin of rows of sign y; a row below it triggers an update."""


@operation
def gain(rule: Any, loss: float, spread: float, weight: float) -> Any:
    """(alpha, beta, least) of a rule that keeps variances.

    `loss` is the target minus the margin of the row, `spread` the variance of its score. The weights move by alpha along s x,
    the variances s lose beta (s x)^2, and each keeps at least the share `least` of itself; alpha is NaN after an overflow.
    """
