"""The passive-aggressive rules.

Problem    after each row, the nearest w that gives it a margin of 1: min |w - w_t|^2 s.t. y <w, x> >= 1 (PA), with slack xi
           paid by C xi (PA-I) or by C xi^2 (PA-II).
Update     where the loss l = 1 - y <w, x> is positive:  w += tau y x, with
           PA: tau = l/|x|^2;   PA-I: tau = min(C, l/|x|^2);   PA-II: tau = l/(|x|^2 + 1/(2C)).
           A row weight scales C; PA has no C, and scales its step if the weight is below 1. (A step scaled by more than 2
           would overshoot the row, by more each time.)
           With k classes the loss is 1 - (<w_l, x> - <w_z, x>) and the move's squared length is 2 |x|^2.
Guarantee  PA, if some u has y_i <u, x_i> >= 1 on every row: the sum of squared losses is at most |u|^2 R^2.
Reference  K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, JMLR 7 (2006), figure 1 and theorem 2.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ...kernels.linear.rules import step

# tau = min(cap, l / (|x|^2 + slack)): each variant is a cap and a slack.
Variant: TypeAlias = Literal["PA", "PA-I", "PA-II"]


class PassiveAggressiveRule(NamedTuple):
    """A variant as a cap and a slack."""

    margin: float
    cap: float
    slack: float
    soft: bool


def passive_aggressive_rule(variant: Variant, C: float) -> PassiveAggressiveRule:
    """The rule of a variant."""
    cap = C if variant == "PA-I" else float("inf")
    slack = 1.0 / (2.0 * C) if variant == "PA-II" else 0.0
    return PassiveAggressiveRule(1.0, cap, slack, variant != "PA")


@step.of(PassiveAggressiveRule)
def _(rule: PassiveAggressiveRule, margin: float, sqnorm: float, weight: float) -> float:
    if not sqnorm < np.inf:
        return np.nan
    if sqnorm == 0.0:
        # No step changes the margin of a row of zeros. It counts as an update, so that the rows are not reported as separated.
        return 1.0
    full = (rule.margin - margin) / (sqnorm + rule.slack / weight)
    return min(weight * rule.cap, full) if rule.soft else min(weight, 1.0) * full
