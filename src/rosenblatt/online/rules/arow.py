"""The rule of AROW, adaptive regularization of weight vectors, with one variance for each weight.

Problem    the weights are Gaussian, N(w, S), with a diagonal S: s_j is the variance of w_j. After each row, stay near the
           previous distribution, give the row a margin of 1, and reduce the variance of its features:
           min KL(N(w, S) | N(w_t, S_t)) + (1/2r) max(0, 1 - y <w, x>)^2 + (1/2r) x'S x.
Update     from w = 0 and s = 1. For a row with m = y <w, x> < 1, v = sum_j s_j x_j^2, beta = 1/(v + r) and
           alpha = (1 - m) beta:  w_j += alpha y s_j x_j  and  s_j -= beta (s_j x_j)^2.
           This is the update of the full matrix S without its entries off the diagonal. A row weight c divides r, because it
           multiplies the terms of the row; the step (1 - m)/(v + r/c) is below (1 - m)/v for any c.
           With k classes m = <w_l, x> - <w_z, x>, z the best rival; v is the sum over both, and w_z moves the other way.
Guarantee  every update: the loss 1 - m of the row shrinks by r/(v + r) and never changes its sign; no s_j grows, and each
           keeps at least r/(v + r) of itself, so that all stay above 0.
           With the full matrix, for any u and any order of rows, M mistakes (m <= 0) and U other updates (0 < m < 1):
           M <= sqrt(r |u|^2 + u'A u) sqrt(log det(I + A/r) + U) + sum_t max(0, 1 - y_t <u, x_t>) - U,
           where A = sum_t x_t x_t' and both sums are over the updates. If no row has two features, the diagonal is the full
           matrix, and the bound holds for it; in general it is not proved.
Reference  K. Crammer, A. Kulesza and M. Dredze, NIPS 22 (2009), figure 1 and the theorem of section 4; several classes:
           Machine Learning 91 (2013).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels.linear.rules import gain, step, target

# A row violates the margin if its margin is below 1; kernels test whether it is at or below `margin`.
BELOW_ONE = float(np.nextafter(1.0, 0.0))


class AROWRule(NamedTuple):
    """The parameters of AROW."""

    margin: float
    r: float
    negative_target: float  # the margin wanted for rows of the negative class; 1 for the positive class


def arow_rule(r: float, negative_target: float = 1.0) -> AROWRule:
    return AROWRule(BELOW_ONE, r, negative_target)


@target.of(AROWRule)
def _(rule: AROWRule, y: float) -> float:
    return rule.negative_target if y < 0 else 1.0


@gain.of(AROWRule)
def _(rule: AROWRule, loss: float, spread: float, weight: float) -> tuple[float, float, float]:
    if not spread < np.inf:
        return np.nan, 0.0, 1.0
    if spread == 0.0:  # a row of zeros moves nothing
        return 0.0, 0.0, 1.0
    r = rule.r / weight
    beta = 1.0 / (spread + r)
    return loss * beta, beta, r * beta


@step.of(AROWRule)
def _(rule: AROWRule, margin: float, sqnorm: float, weight: float) -> float:
    return 1.0  # for scans that only look for violations
