"""Dual coordinate descent with shrinking, for sparse rows with many columns.

Problem    the dual of `problem.py`; the update of one row is in `kernels/linear/dual_coordinates.py`.
Update     passes in random order. Shrinking: a row is skipped in the next passes if its multiplier is at a bound and its
           gradient points outward by more than every inward gradient of the previous pass. Each computation of the gap,
           on all rows, chooses the rows of the next passes again. A free intercept is found by the method of multipliers:
           `sum_i a_i y_i = 0` is a constraint with multiplier b, and a penalized intercept of scale x_0 around b is its
           augmented Lagrangian. After a pass b moves by x_0^2 sum_i a_i y_i.
Guarantee  no step decreases the dual; the solver ends when the gap of `BinarySVM.solution` is at most `tol`.
Reference  Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008; for the intercept, D. Bertsekas, Constrained Optimization and
           Lagrange Multiplier Methods (1982).
"""

from __future__ import annotations

import numpy as np

from ..kernels.linear.dual_coordinates import Dual, coordinate_passes
from .limits import SolverLimits
from .problem import BinarySVM, Solution

# Weight of a free intercept in the Lagrangian, relative to the mean squared length of the rows: 0.03 to 0.1 measured best.
# If the costs are small in total, b must be able to move by about 1 while the multipliers move through their range.
INTERCEPT_WEIGHT = 0.1
# Passes between two computations of the gap, each of which takes as long as a pass over all rows: this share of the
# passes made so far, but at least the minimum.
GAP_INTERVAL_SHARE, MIN_GAP_INTERVAL = 0.4, 3


def dual_coordinates(svm: BinarySVM, limits: SolverLimits, start: Solution | None = None) -> tuple[Solution, int]:
    """The solution and the number of passes; the gap is at most `limits.tol` unless the limit on passes was reached."""
    run = Descent(svm, limits.seed, start)
    passes = 0
    while passes < limits.max_iter:
        more = min(max(MIN_GAP_INTERVAL, int(GAP_INTERVAL_SHARE * passes)), limits.max_iter - passes)
        run.descend(more)
        passes += more
        estimate = run.estimate_gap()
        limits.report(passes, estimate)
        if estimate <= limits.tol:
            found = svm.solution(run.dual.multipliers)
            if found.gap <= limits.tol:
                return found, passes
    return svm.solution(run.dual.multipliers), passes


class Descent:
    """The current multipliers and weights of a descent."""

    def __init__(self, svm: BinarySVM, seed: int, start: Solution | None = None) -> None:
        self.svm = svm
        self.seed = np.random.default_rng(seed).integers(1, 2**64, 1, np.uint64)
        n, C, visited = len(svm.signs), svm.costs, svm.visited
        lengths = svm.lengths()
        x0 = svm.x0
        if svm.free:
            x0 = float(np.sqrt(INTERCEPT_WEIGHT * lengths[visited].mean() + 1.0 / C[visited].sum()))
        softness = np.zeros(0)
        lengths += x0 * x0
        if svm.squared:
            softness = np.zeros(n)
            softness[visited] = 0.5 / C[visited]
            lengths += softness
        a = np.zeros(n)
        if start is not None and len(start.multipliers) == n:
            # Multipliers at their upper bound stay at it: along a path of C they rarely change.
            a = np.where(C > 0.0, start.multipliers, 0.0)
            if not svm.squared:
                a = np.where((a > 0.0) & (a >= start.costs), C, np.minimum(a, C))
        self.dual = Dual(
            signs=svm.signs,
            caps=np.where(C > 0.0, np.inf, 0.0) if svm.squared else np.ascontiguousarray(C),
            softness=softness,
            curvatures=lengths,
            multipliers=a,
            w=svm.weights(a),
            v=np.array([x0 * float(a @ svm.signs)]),
            b=np.array([start.intercept if svm.free and start is not None else 0.0]),
            bounds=np.array([np.inf, -np.inf]),
            x0=x0,
        )
        self.order, self.kept = visited.copy(), len(visited)

    def descend(self, passes: int) -> None:
        """Make some passes."""
        self.kept = coordinate_passes(self.svm.rows, self.dual, self.order, self.kept, passes, self.svm.free, self.seed)

    def estimate_gap(self) -> float:
        """Estimate the relative gap by one pass over all rows, and choose the rows of the next passes.

        It is an estimate because the multipliers are not made feasible for a free intercept.
        """
        svm, dual, seen = self.svm, self.dual, self.svm.seen
        plain = svm.scores(dual.w, 0.0)
        y, a, v, b = svm.signs[seen], dual.multipliers[seen], float(dual.v[0]), float(dual.b[0])
        G = plain + (v * dual.x0 + b)
        G *= y
        G -= 1.0
        if svm.squared:
            G += dual.softness[seen] * a
        high, low = dual.bounds
        stay = svm.visited[~(((a == 0.0) & (high < G)) | ((a == dual.caps[seen]) & (low > G)))]
        self.order[: len(stay)], self.kept = stay, len(stay)
        del G, stay
        intercept = svm.intercept(plain)
        primal = svm.norm(dual.w, intercept) / 2.0 + svm.losses(y * (plain + intercept))
        value = float(a.sum()) - float(dual.w @ dual.w) / 2.0
        value -= intercept * v / dual.x0 if svm.free else v * v / 2.0
        if svm.squared:
            value -= float(dual.softness[seen] @ (a * a)) / 2.0
        return abs(primal - value) / primal if primal > 0.0 else 0.0
