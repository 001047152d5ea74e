"""Dual coordinates with shrinking: for sparse rows with many columns.

Problem    as in `machine.py`, by its dual; the update of one row is in `kernels/coordinates.py`.
Update     passes in random order. A row at a bound that pushes outwards harder than any row pushed inwards in the pass before
           is left out of the next ones; at every look at the gap, which sees all rows, those that should be in come back.
           A free intercept is found by the method of multipliers: `sum_i a_i y_i = 0` is a constraint with multiplier b, and a
           penalised intercept of scale x_0 around b is its augmented Lagrangian. After a pass b moves by x_0^2 sum_i a_i y_i.
Guarantee  every step makes the dual no worse; the end is where the gap of `Machine.solution` is at most `tol`.
Reference  Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008; for the intercept, D. Bertsekas, Constrained Optimization and
           Lagrange Multiplier Methods (1982).
"""

from __future__ import annotations

import numpy as np

from ..kernels.linear.dual_coordinates import Dual, coordinate_passes
from .problem import Effort, Machine, Solution

# How much a free intercept weighs in the Lagrangian, beside the mean squared length of the rows: 0.03 to 0.1 measured best.
# Where all costs together are small, b must be able to move by about 1 as the multipliers go from one end of their range to the
# other.
STIFFNESS = 0.1
# Passes between two looks at the gap, as a share of those made, and at least: a look costs a pass over all rows.
BETWEEN, LEAST = 0.4, 3


def dual_coordinates(machine: Machine, effort: Effort, start: Solution | None = None) -> tuple[Solution, int]:
    """The solution and the passes made. Its gap is at most `effort.tol` unless the passes are used up."""
    run = Descent(machine, effort.seed, start)
    passes = 0
    while passes < effort.max_iter:
        more = min(max(LEAST, int(BETWEEN * passes)), effort.max_iter - passes)
        run.descend(more)
        passes += more
        near = run.look()
        effort.tell(passes, near)
        if near <= effort.tol:
            found = machine.solution(run.dual.multipliers)
            if found.gap <= effort.tol:
                return found, passes
    return machine.solution(run.dual.multipliers), passes


class Descent:
    """Multipliers on their way down."""

    def __init__(self, machine: Machine, seed: int, start: Solution | None = None) -> None:
        self.machine = machine
        self.seed = np.random.default_rng(seed).integers(1, 2**64, 1, np.uint64)
        n, C, visited = len(machine.signs), machine.costs, machine.visited
        lengths = machine.lengths()
        x0 = machine.x0
        if machine.free:
            x0 = float(np.sqrt(STIFFNESS * lengths[visited].mean() + 1.0 / C[visited].sum()))
        softness = np.zeros(0)
        lengths += x0 * x0
        if machine.squared:
            softness = np.zeros(n)
            softness[visited] = 0.5 / C[visited]
            lengths += softness
        a = np.zeros(n)
        if start is not None and len(start.multipliers) == n:
            # Rows that paid all they could pay what they can now: along a path of C they seldom change.
            a = np.where(C > 0.0, start.multipliers, 0.0)
            if not machine.squared:
                a = np.where((a > 0.0) & (a >= start.costs), C, np.minimum(a, C))
        self.dual = Dual(
            signs=machine.signs,
            caps=np.where(C > 0.0, np.inf, 0.0) if machine.squared else np.ascontiguousarray(C),
            softness=softness,
            curvatures=lengths,
            multipliers=a,
            w=machine.weights(a),
            v=np.array([x0 * float(a @ machine.signs)]),
            b=np.array([start.intercept if machine.free and start is not None else 0.0]),
            bounds=np.array([np.inf, -np.inf]),
            x0=x0,
        )
        self.order, self.kept = visited.copy(), len(visited)

    def descend(self, passes: int) -> None:
        self.kept = coordinate_passes(self.machine.rows, self.dual, self.order, self.kept, passes, self.machine.free, self.seed)

    def look(self) -> float:
        """About the relative gap, by one pass over all rows; a free intercept's multipliers are not made feasible for it.
        The rows that may move next are chosen anew."""
        machine, dual, seen = self.machine, self.dual, self.machine.seen
        plain = machine.scores(dual.w, 0.0)
        y, a, v, b = machine.signs[seen], dual.multipliers[seen], float(dual.v[0]), float(dual.b[0])
        G = plain + (v * dual.x0 + b)
        G *= y
        G -= 1.0
        if machine.squared:
            G += dual.softness[seen] * a
        high, low = dual.bounds
        stay = machine.visited[~(((a == 0.0) & (high < G)) | ((a == dual.caps[seen]) & (low > G)))]
        self.order[: len(stay)], self.kept = stay, len(stay)
        del G, stay
        intercept = machine.intercept(plain)
        primal = machine.norm(dual.w, intercept) / 2.0 + machine.losses(y * (plain + intercept))
        value = float(a.sum()) - float(dual.w @ dual.w) / 2.0
        value -= intercept * v / dual.x0 if machine.free else v * v / 2.0
        if machine.squared:
            value -= float(dual.softness[seen] @ (a * a)) / 2.0
        return abs(primal - value) / primal if primal > 0.0 else 0.0
