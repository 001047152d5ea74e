"""The rule of AROW, adaptive regularization of weight vectors, with one variance for each weight.

Problem    the weights are Gaussian, N(w, S), and S is diagonal: the smaller s_j, the surer is w_j. After each row, stay near
           that belief, give the row a margin of 1, and be surer about its features:
           min KL(N(w, S) | N(w_t, S_t)) + (1/2r) max(0, 1 - y <w, x>)^2 + (1/2r) x'S x.
Update     from w = 0 and s = 1, where m = y <w, x> < 1: with v = sum_j s_j x_j^2, beta = 1/(v + r) and alpha = (1 - m) beta,
           w_j += alpha y s_j x_j  and  s_j -= beta (s_j x_j)^2.
           That is the update of the full matrix S without what it would put off the diagonal. A row's weight c divides r, as it
           multiplies the row's part of the problem; the step (1 - m)/(v + r/c) cannot pass (1 - m)/v, however large c is.
           With k classes m = <w_l, x> - <w_z, x>, z the best rival; v is the sum over both, and w_z moves the other way.
Guarantee  every update: the row's loss 1 - m shrinks by r/(v + r) and never changes its sign; no s_j grows, and each keeps
           at least r/(v + r) of itself, so that all stay over 0.
           With the full matrix, for any u and any order of rows, M mistakes (m <= 0) and U updates that were none (0 < m < 1):
           M <= sqrt(r |u|^2 + u'A u) sqrt(log det(I + A/r) + U) + sum_t max(0, 1 - y_t <u, x_t>) - U,
           where A = sum_t x_t x_t' and both sums are over the rows that moved the weights, each time they did. The diagonal is
           the full matrix where no row has two features, and the bound holds for it there; in general it is not proved.
Reference  K. Crammer, A. Kulesza and M. Dredze, NIPS 22 (2009), figure 1 and the theorem of section 4; several classes:
           Machine Learning 91 (2013).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...kernels.linear.rules import gain, step, target

# A row asks where its margin is under 1, not at it; kernels ask whether it is at or under `margin`.
UNDER_ONE = float(np.nextafter(1.0, 0.0))


class AROWRule(NamedTuple):
    margin: float
    r: float
    negative_target: float  # the margin wanted for rows of the negative class; 1 for the positive class


def arow_rule(r: float, negative_target: float = 1.0) -> AROWRule:
    return AROWRule(UNDER_ONE, r, negative_target)


@target.of(AROWRule)
def _(rule: Any, y: Any) -> Any:
    return rule.negative_target if y < 0 else 1.0


@gain.of(AROWRule)
def _(rule: Any, loss: Any, spread: Any, weight: Any) -> Any:
    if not spread < np.inf:
        return np.nan, 0.0, 1.0
    if spread == 0.0:  # a row of zeros: nothing to move
        return 0.0, 0.0, 1.0
    r = rule.r / weight
    beta = 1.0 / (spread + r)
    return loss * beta, beta, r * beta


@step.of(AROWRule)
def _(rule: Any, margin: Any, sqnorm: Any, weight: Any) -> Any:
    return 1.0  # for those who only look for rows that ask
