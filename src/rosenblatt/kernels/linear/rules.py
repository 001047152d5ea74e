"""`step`: how far a rule moves the weights; `loss`: what it descends on. The rules are in `online/rules`, one file each."""

from __future__ import annotations

from typing import Any

from ..compile import operation


@operation
def step(rule: Any, margin: Any, sqnorm: Any, weight: Any) -> Any:
    """tau >= 0 for a row of this margin and weight whose move has this squared length; 0: no move, NaN: it overflowed."""


@operation
def loss(rule: Any, margin: Any) -> Any:
    """What a row of weight 1 at this margin costs, where a rule descends on a loss: its derivative is -tau."""


@operation
def gain(rule: Any, margin: Any, spread: Any, weight: Any) -> Any:
    """(alpha, beta, least) of a rule that keeps variances, for a row of this margin and weight whose score has this variance:
    how far the weights move along s x, how much the variances s lose along (s x)^2, and the share of it that any s keeps at
    least; alpha is NaN where a number overflowed."""
