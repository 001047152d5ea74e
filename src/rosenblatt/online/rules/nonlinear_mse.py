"""The rule of nonlinear least squares, with a sigmoid activation.

Problem    min E(w) = 1/2 sum_n c_n (t_n - h(<w, x_n>))^2 with h = tanh and t = -1 or +1, or h = logistic and t = 0 or 1.
           Either h is odd about its middle, so that with the margin m = y <w, x>, y = -1 or +1, the loss is 1/2 (1 - h(m))^2.
           E is not convex, and rows far on the wrong side have almost no gradient.
Update     every row, one by one:  w += rho c (t - h(a)) h'(a) x  =  rho tau y x  with tau = c (1 - h(m)) h'(m).
           With s = 1/(1 + exp(-z)), 1 - h = H (1 - s) and h' = D s (1 - s): tanh has z = 2 m, H = 2, D = 4; the logistic
           function z = m and H = D = 1. tau is largest at s = 1/3 and vanishes on both sides.
Guarantee  E'' <= B |x|^2 for one row, B = MAX_CURVATURE, so batch steps with rho = 1/(B sum_n c_n |x_n|^2) never increase E.
Reference  B. Widrow and M. Lehr, Proc. IEEE 78 (1990), section on the sigmoid Adaline; D. Rumelhart, G. Hinton and R. Williams,
           Nature 323 (1986), for one unit.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

from ...kernels.linear.rules import loss, step

Activation: TypeAlias = Literal["tanh", "logistic"]
# The largest tau of a row of weight 1, at s = 1/3: H D 4/27.
MAX_STEP = {"tanh": 32 / 27, "logistic": 4 / 27}
# The largest second derivative of 1/2 (1 - h(m))^2, rounded up: at s = (9 + sqrt(33))/24 it is s (1 - s)^2 (3 s - 1) times
# H D (dz/dm), 16 for tanh and 1 for the logistic function.
MAX_CURVATURE = {"tanh": 1.2329, "logistic": 0.07706}


class NonlinearMSERule(NamedTuple):
    """The parameters of an activation."""

    margin: float  # infinite: every row moves the weights
    speed: float  # z = speed * m
    height: float  # H
    slope: float  # D


def nonlinear_mse_rule(activation: Activation) -> NonlinearMSERule:
    """The rule of an activation, "tanh" or "logistic"."""
    return NonlinearMSERule(math.inf, 2.0, 2.0, 4.0) if activation == "tanh" else NonlinearMSERule(math.inf, 1.0, 1.0, 1.0)


@step.of(NonlinearMSERule)
def _(rule: NonlinearMSERule, margin: float, sqnorm: float, weight: float) -> float:
    z = rule.speed * margin
    q = math.exp(-abs(z))  # between 0 and 1 for any z
    rest = (q if z >= 0.0 else 1.0) / (1.0 + q)  # 1 - s
    return weight * (rule.height * rest) * (rule.slope * q / ((1.0 + q) * (1.0 + q)))


@loss.of(NonlinearMSERule)
def _(rule: NonlinearMSERule, margin: float) -> float:
    z = rule.speed * margin
    q = math.exp(-abs(z))
    miss = rule.height * (q if z >= 0.0 else 1.0) / (1.0 + q)
    return 0.5 * miss * miss
