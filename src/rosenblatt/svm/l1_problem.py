"""A binary problem with the L1 penalty: objective, dual and the bounds that any weights give.

Problem    min over w, b:  sum_j p_j |w_j| + sum_i C_i loss(m_i),  m_i = y_i (<w, x_i> + b); the loss is the squared hinge or
           the logistic loss, and p_j = 1 unless columns are scaled. A penalized intercept is one more weight, b = x_0 v with
           |v| added; a free one has no penalty.
Dual       max over a:  sum_i a_i - sum_i a_i^2/(4 C_i), a_i >= 0 (squared hinge), or sum_i C_i H(a_i/C_i), 0 <= a_i <= C_i
           (logistic, H as in `logistic.py`)
           s.t.  |sum_i a_i y_i x_ij| <= p_j for all columns j, and sum_i a_i y_i = 0 if the intercept is free.
Guarantee  For all w, b and every feasible a: dual(a) <= optimum <= primal(w, b). The multipliers of weights are
           a_i = -C_i loss'(m_i), moved to sum_i a_i y_i = 0 and scaled down until all columns meet their bounds.
Reference  K. Koh, S.-J. Kim and S. Boyd, JMLR 8 (2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..array_types import FloatArray
from ..kernels.linear.margin_losses import SQUARED_HINGE, Logistic, Slack, loss_along, sum_losses
from .logistic import balance, entropy
from .problem import BinarySVM, best_intercept

MAX_INTERCEPT_TURNS = 30
INTERCEPT_ACCURACY = 1e-13  # of sum_i a_i y_i, relative to the sum of all a_i


@dataclass(frozen=True)
class BinaryL1(BinarySVM):
    """A binary problem with the L1 penalty; `squared` is False for the logistic loss."""

    @property
    def loss(self) -> Logistic | Slack:
        """The loss, as kernels take it."""
        return SQUARED_HINGE if self.squared else Logistic()

    def loss_terms(self, margins: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """The losses of the visited rows, the multipliers a_i, and the second derivatives."""
        pulls, bends = np.empty(len(margins)), np.empty(len(margins))
        return sum_losses(self.loss, margins, self.row_costs, pulls, bends), pulls, bends

    @property
    def row_costs(self) -> FloatArray:
        """The costs of the visited rows, one number each."""
        return np.ascontiguousarray(self.costs[self.seen])

    @property
    def row_signs(self) -> FloatArray:
        """The labels of the visited rows."""
        return self.signs[self.seen].astype(np.float64)

    def best_free_intercept(self, scores: FloatArray, near: float) -> float:
        """The intercept that minimizes the losses, given the scores without it; `near` is a first guess."""
        y, costs = self.row_signs, self.row_costs
        if self.squared:
            return best_intercept(scores, y, costs, True, 0.0)
        b, low, high, signed = near, -np.inf, np.inf, y * scores
        for _ in range(MAX_INTERCEPT_TURNS):
            _, slope, curvature = loss_along(self.loss, signed, y, costs, b)
            if abs(slope) <= INTERCEPT_ACCURACY * float(costs.sum()):
                break
            low, high = (b, high) if slope < 0.0 else (low, b)
            after = b - slope / curvature if curvature > 0.0 else np.inf
            if not low < after < high:
                ends = (low if np.isfinite(low) else min(high, 0.0) - 2.0 * abs(high) - 1.0,
                        high if np.isfinite(high) else max(low, 0.0) + 2.0 * abs(low) + 1.0)  # fmt: skip
                after = 0.5 * (ends[0] + ends[1])
            if after == b:
                break
            b = after
        return float(b)

    def dual_value(self, multipliers: FloatArray) -> float:
        """The dual objective at feasible multipliers of the visited rows."""
        if self.squared:
            return float(multipliers.sum()) - float((multipliers * multipliers / self.row_costs).sum()) / 4.0
        return entropy(multipliers, self.row_costs)

    def balanced(self, multipliers: FloatArray) -> FloatArray:
        """Multipliers of the visited rows moved to sum_i a_i y_i = 0, if the intercept is free."""
        if not self.free:
            return multipliers
        if not self.squared:
            return balance(multipliers, self.row_signs, self.row_costs)
        every = np.zeros(len(self.signs))
        every[self.seen] = multipliers
        moved: FloatArray = self.feasible(every)[self.seen]
        return moved

    def scaled(self, multipliers: FloatArray, excess: float) -> FloatArray:
        """Multipliers times the best scale that meets the bounds of the columns; excess: the largest product over its bound."""
        scale = 1.0 / excess if excess > 1.0 else 1.0
        if self.squared:
            half = float((multipliers * multipliers / self.row_costs).sum()) / 2.0
            scale = min(float(multipliers.sum()) / half if half > 0.0 else 1.0, 1.0 / excess if excess > 0.0 else np.inf)
        return scale * multipliers
