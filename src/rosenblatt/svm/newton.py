"""Soft margin with the squared hinge loss and many more rows than columns: Newton's method.

Problem    min over v = (w, b):  f(v) = 1/2 <v, P v> + sum_i C_i max(0, 1 - <A_i, v>)^2,  A_i = y_i (x_i, x_0), P as in
           `interior_point.py`.
Update     H = P + 2 sum of C_i A_i A_i^T over the rows inside the margin;  v -= t H^-1 grad f,  t the best on the line.
           From one step to the next only the rows that crossed the margin change H.
Guarantee  f is convex and quadratic on each of finitely many pieces: f decreases with every step, and a full step on the
           last piece ends at the minimum.
Reference  O. Mangasarian, Optimization Methods and Software 17 (2002); S. S. Keerthi and D. DeCoste, JMLR 6 (2005).
"""

from __future__ import annotations

import numpy as np

from ..array_types import BoolArray, FloatArray
from ..kernels.linear.solver_steps import slope_along
from .limits import SolverLimits
from .problem import BinarySVM, Solution
from .row_blocks import Blocks, cholesky_factor, draw_sample, penalty_diagonal, signed_blocks, solve_factored

# Slopes below this share of the first slope of a line search are rounding errors, as are decreases below this share of the
# objective.
ROUNDING_SHARE = 1e-14
FAR = 100.0  # the gap is computed after steps that gained less than this multiple of the tolerance
# Every step decreases the objective, but for rounding errors: after so many that did not, no other will.
MAX_LOST_STEPS = 20
SAMPLE_TOL = 1e-4  # tolerance for the sample, relative to the objective


def newton(svm: BinarySVM, limits: SolverLimits, start: Solution | None = None) -> tuple[Solution, int]:
    """The solution and the number of steps; the gap is at most `limits.tol` or as small as float64 allows, within the limit."""
    seen, steps = svm.visited, 0
    v: FloatArray = np.zeros(svm.width + 1)
    if start is not None:
        v[:-1], v[-1] = start.w, start.intercept / (svm.x0 or 1.0)
    elif (few := draw_sample(svm, limits.seed)) is not None:
        wanted, costs = few
        descent = Descent(signed_blocks(svm, wanted), costs, penalty_diagonal(svm), v, limits.n_jobs)
        while steps < limits.max_iter and descent.step(SAMPLE_TOL):
            steps += 1
        v = descent.v
    descent = Descent(signed_blocks(svm, seen), svm.costs[svm.seen], penalty_diagonal(svm), v, limits.n_jobs)
    best: Solution | None = None
    while True:
        gain = descent.step() if steps < limits.max_iter else 0.0
        steps += gain > 0.0
        if gain > FAR * limits.tol and steps < limits.max_iter:
            continue
        found = _solution(svm, descent)
        best = found if best is None or found.gap < best.gap else best
        limits.report(steps, best.gap)
        if best.gap <= limits.tol or gain == 0.0:
            return best, steps


def _solution(svm: BinarySVM, descent: Descent) -> Solution:
    multipliers = np.zeros(len(svm.signs))
    multipliers[svm.visited] = 2.0 * descent.costs * np.maximum(0.0, 1.0 - descent.margins)
    return svm.solution(multipliers)


class Descent:
    """The current point, the margins of its rows and the Hessian."""

    def __init__(self, blocks: Blocks, costs: FloatArray, penalty: FloatArray, v: FloatArray, n_jobs: int) -> None:
        self.blocks, self.costs, self.penalty, self.n_jobs = blocks, costs, penalty, n_jobs
        self.v, self.margins = v, blocks.product(v)
        self.inside = np.zeros(len(costs), bool)
        self.H = np.diag(penalty)
        self.least, self.n_lost = np.inf, 0  # the least objective, and the steps since then

    def step(self, min_gain: float = 0.0) -> float:
        """Make a Newton step with an exact line search; return the expected gain, relative to the objective.

        If it is at most `min_gain`, or steps are lost in rounding errors, no step is made, and 0 is returned.
        """
        slack = np.maximum(0.0, 1.0 - self.margins)
        gradient = self.penalty * self.v - 2.0 * self.blocks.sum(self.costs * slack)
        self._update(slack > 0.0)
        dv = -solve_factored(cholesky_factor(self.H), gradient)
        objective = 0.5 * float(self.v @ (self.penalty * self.v)) + float(self.costs @ (slack * slack))
        gain = -float(gradient @ dv)
        self.least, self.n_lost = (objective, 0) if objective < self.least else (self.least, self.n_lost + 1)
        if self.n_lost > MAX_LOST_STEPS or not gain > max(min_gain, ROUNDING_SHARE) * objective:
            return 0.0
        along = self.blocks.product(dv)
        t = self._line_search(dv, along)
        if t == 0.0:
            return 0.0
        self.v, self.margins = self.v + t * dv, self.margins + t * along
        return gain / objective

    def _update(self, inside: BoolArray) -> None:
        """Update the Hessian by the rows that crossed the margin."""
        crossed = inside != self.inside
        for entered, sign in ((crossed & inside, 2.0), (crossed & self.inside, -2.0)):
            if entered.any():
                self.H += sign * self.blocks.pick(entered).gram(self.costs[entered], self.n_jobs)
        self.inside = inside

    def _line_search(self, dv: FloatArray, along: FloatArray) -> float:
        """The t >= 0 where the slope of f(v + t dv) is zero, by Newton's method inside a bracket."""
        penalty_curvature, penalty_slope = float(dv @ (self.penalty * dv)), float(dv @ (self.penalty * self.v))
        low, high, t, first = 0.0, np.inf, 0.0, 0.0
        for turn in range(60):
            pull, bend = slope_along(self.margins, along, self.costs, t)
            slope = penalty_slope + t * penalty_curvature - 2.0 * pull
            curvature = penalty_curvature + 2.0 * bend
            if turn == 0:
                first = slope
                if slope >= 0.0:
                    return 0.0
            if abs(slope) <= ROUNDING_SHARE * abs(first) or curvature <= 0.0:
                break
            low, high = (t, high) if slope < 0.0 else (low, t)
            t_next = t - slope / curvature
            if not low < t_next < high:
                t_next = 0.5 * (low + high) if high < np.inf else t_next
            if t_next == t:
                break
            t = t_next
        return t
