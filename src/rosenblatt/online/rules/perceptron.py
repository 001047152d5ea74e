"""Rosenblatt's rule.

Problem    find w with y_i <w, x_i> > b for every row, b >= 0.
Update     where y_i <w, x_i> <= b:  w += rho y_i x_i; a row on the plane is a mistake. The row weight scales the
           step, so tau is the weight, before the step size.
Guarantee  from w = 0, if some unit u has y_i <u, x_i> >= gamma and |x_i| <= R for all rows: at most (R^2 + 2 b/rho)/gamma^2
           updates in any order (with b = 0, R^2/gamma^2 whatever the constant rho).
Reference  F. Rosenblatt, Psychological Review 65 (1958); A. Novikoff, Symp. Math. Theory of Automata (1962); with a margin:
           W. Krauth and M. Mezard, J. Physics A 20 (1987).
"""

from __future__ import annotations

from typing import NamedTuple

from ...kernels.linear.rules import step


class PerceptronRule(NamedTuple):
    """The margin b."""

    margin: float


@step.of(PerceptronRule)
def _(rule: PerceptronRule, margin: float, sqnorm: float, weight: float) -> float:
    return weight
