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

from ..kernels.linear.dual_coordinates import Dual, choose_rows, coordinate_passes
from ..kernels.linear.hinge_sums import hinge_loss
from .limits import SolverLimits
from .problem import BinarySVM, Solution

# Weight of a free intercept in the Lagrangian, relative to the mean squared length of the rows: 0.03 to 0.1 measured best.
# If the costs are small in total, b must be able to move by about 1 while the multipliers move through their range.
INTERCEPT_WEIGHT = 0.1
# Passes before the first computation of the gap, which takes as long as a pass over all rows. Then the gap is computed when it
# should be at most `tol`, if it falls as fast as before: at most after this share of the passes made so far, or the minimum.
FIRST_PASSES, GAP_INTERVAL_SHARE, MIN_GAP_INTERVAL = 5, 0.4, 3


def dual_coordinates(svm: BinarySVM, limits: SolverLimits, start: Solution | None = None) -> tuple[Solution, int]:
    """The solution and the number of passes; the gap is at most `limits.tol` unless the limit on passes was reached."""
    run = Descent(svm, limits.seed, start)
    passes, estimate, more = 0, 1.0, FIRST_PASSES  # without multipliers the gap is 1
    while passes < limits.max_iter:
        more = min(more, limits.max_iter - passes)
        run.descend(more)
        passes, before, estimate = passes + more, estimate, run.estimate_gap()
        limits.report(passes, estimate)
        if estimate <= limits.tol:
            found = svm.solution(run.dual.multipliers)
            if found.gap <= limits.tol:
                return found, passes
        more = passes_to_make(passes, more, before, estimate, limits.tol)
    return svm.solution(run.dual.multipliers), passes


def passes_to_make(passes: int, last: int, before: float, gap: float, tol: float) -> int:
    """The passes until the gap should be at most `tol`; the `last` ones reduced it from `before`."""
    most = max(MIN_GAP_INTERVAL, int(GAP_INTERVAL_SHARE * passes))
    if not tol < gap < before < np.inf:
        return most
    return int(min(most, np.ceil(last * np.log(gap / tol) / np.log(before / gap)))) if tol > 0.0 else most


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
            w=np.zeros(svm.width) if start is None else svm.weights(a),
            v=np.array([x0 * float(a @ svm.signs)]),
            b=np.array([start.intercept if svm.free and start is not None else 0.0]),
            bounds=np.array([np.inf, -np.inf]),
            x0=x0,
        )
        self.order, self.kept = visited.copy(), len(visited)
        self.scores, self.costs = np.empty(len(visited)), np.ascontiguousarray(C[svm.seen])

    def descend(self, passes: int) -> None:
        """Make some passes."""
        self.kept = coordinate_passes(self.svm.rows, self.dual, self.order, self.kept, passes, self.svm.free, self.seed)

    def estimate_gap(self) -> float:
        """Estimate the relative gap by one pass over all rows, and choose the rows of the next passes.

        It is an estimate because the multipliers are not made feasible for a free intercept.
        """
        svm, dual, scores = self.svm, self.dual, self.scores
        self.kept, value, squares = choose_rows(svm.rows, dual, svm.visited, self.order, scores)
        v, intercept, own = float(dual.v[0]), svm.intercept(scores), float(dual.w @ dual.w)
        signs = svm.signs[svm.seen]
        primal = svm.norm(dual.w, intercept) / 2.0 + hinge_loss(scores, signs, self.costs, intercept, svm.squared)
        value -= (own + squares) / 2.0
        value -= intercept * v / dual.x0 if svm.free else v * v / 2.0
        return abs(primal - value) / primal if primal > 0.0 else 0.0
