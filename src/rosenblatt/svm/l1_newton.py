"""The L1 penalty: Newton steps whose quadratic functions are minimized by coordinate descent, on working sets of columns.

Update     the quadratic function of a Newton step, plus the penalty, is minimized by coordinate descent, and the step is shortened
           if the objective would not decrease enough. Few columns are all in the working set. Of many, those with weights
           and those that exceed their bounds most are: the set is left when its own gap is a part of that of the problem, and
           chosen anew from the products of all columns.
Guarantee  the objective decreases with every step; the solver ends when the gap of `l1_problem.py`, on all rows and columns, is at
           most `tol`, or as small as float64 allows.
Reference  G.-X. Yuan, C.-H. Ho and C.-J. Lin, An improved GLMNET, JMLR 13 (2012); T. Johnson and C. Guestrin, Blitz, ICML 2015;
           M. Massias, A. Gramfort and J. Salmon, Celer, ICML 2018.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.problem import take_rows
from ..kernels.linear.l1_descent import ColumnModel, descend_columns, losses_along, measure_columns
from ..kernels.linear.row_blocks import combine, score
from ..kernels.linear.rows import CSR, Rows
from .l1_columns import Columns
from .l1_problem import BinaryL1
from .l1_quadratic import minimize_quadratic
from .limits import SolverLimits
from .problem import Solution
from .row_blocks import Blocks

# Up to this width the Hessian of all columns is made; and up to this number of columns in a working set.
MAX_DENSE_COLUMNS, MAX_SPARSE_COLUMNS, MAX_MATRIX_COLUMNS = 500, 1000, 1000
FIRST_COLUMNS, GROWTH = 100, 2  # of a working set: at first, and relative to the columns with weights
NEAR_BOUND = 0.5  # columns below this share of their bound are not candidates
# The gap at which a working set is left, relative to that of the problem when it was chosen, and to `tol`.
WORKING_SHARE, WORKING_TOL = 0.25, 0.5
# The accuracy of a Newton step, relative to the distance from the optimality conditions before it, and to the gap to reach.
STEP_SHARE, STEP_TOL, MAX_PASSES = 0.1, 0.3, 50
SUFFICIENT = 1e-3  # share of the expected decrease that a step must reach
SEARCH_TURNS, SEARCH_ACCURACY = 30, 0.05
ROUNDING_SHARE = 1e-15  # decreases below this share of the objective are rounding errors
MAX_LOST_STEPS = 3  # steps that do not decrease the objective before the end


class Bound(NamedTuple):
    """A lower bound of the objective, and the multipliers that prove it."""

    dual: float
    multipliers: FloatArray


class Point:
    """Weights, with that of a penalized intercept as the last, and the margins, losses and multipliers they give."""

    def __init__(self, problem: BinaryL1, w: FloatArray, b: float, penalties: FloatArray) -> None:
        self.problem, self.w, self.b, self.penalties = problem, w, b, penalties
        self.costs, self.signs = problem.row_costs, problem.row_signs

    def set_margins(self, margins: FloatArray) -> None:
        """Set the margins, move a free intercept to its best value, and compute the losses."""
        problem = self.problem
        if problem.free:
            scores = self.signs * margins - self.b
            self.b = problem.best_free_intercept(scores, self.b)
            margins = self.signs * (scores + self.b)
        self.margins = margins
        self.losses, self.pulls, self.bends = problem.loss_terms(margins)
        self.primal = self.losses + float(self.penalties @ abs(self.w))
        self.balanced = problem.balanced(self.pulls)

    def bound(self, products: FloatArray, penalties: FloatArray) -> Bound:
        """The dual objective, given the products of columns with the balanced, signed multipliers."""
        excess = float((abs(products) / penalties).max(initial=0.0))
        scaled = self.problem.scaled(self.balanced, excess)
        return Bound(self.problem.dual_value(scaled), scaled)

    def gap(self, bound: Bound) -> float:
        """The gap, relative to the objective."""
        return max(0.0, self.primal - bound.dual) / self.primal if self.primal > 0.0 else 0.0

    def move(self, where: IntArray, change: FloatArray, step: float, along: FloatArray) -> bool:
        """Move some weights and a free intercept, or a part of the way; along: the change of the margins. Return whether the
        objective decreased."""
        before, primal, squared = self.w[where], self.primal, self.problem.squared
        linear = float(self.penalties[where] @ (abs(before + change) - abs(before)))
        expected = linear - float(self.pulls @ along)
        t, (after, slope, curvature) = 1.0, losses_along(self.margins, along, self.costs, squared, 1.0)
        if not after + linear <= self.losses + SUFFICIENT * expected + ROUNDING_SHARE * primal:
            # The penalty is at most linear on the way: the minimum of this bound is by Newton's method in a bracket.
            low, high = 0.0, 1.0
            for _ in range(SEARCH_TURNS):
                low, high = (t, high) if slope + linear < 0.0 else (low, t)
                to = t - (slope + linear) / curvature if curvature > 0.0 else np.inf
                if not low < to < high:
                    to = 0.5 * (low + high)
                moved, t = abs(to - t), to
                if moved <= SEARCH_ACCURACY * t:
                    break
                _, slope, curvature = losses_along(self.margins, along, self.costs, squared, t)
        self.w[where] = before + t * change if t < 1.0 else before + change
        self.b += t * step
        self.set_margins(self.margins + t * along)
        return self.primal < primal * (1.0 - ROUNDING_SHARE)


class Working(Protocol):
    """A working set of columns."""

    where: IntArray  # their places among the weights

    def products(self, v: FloatArray) -> FloatArray:
        """The products of these columns with v."""

    def newton(self, point: Point, enough: float) -> tuple[FloatArray, float]:
        """The changes of the weights and of a free intercept that a Newton step makes."""

    def along(self, change: FloatArray, step: float) -> FloatArray:
        """The change of the scores."""


def solve_l1(
    problem: BinaryL1, limits: SolverLimits, start: Solution | None = None, columns: Columns | None = None
) -> tuple[Solution, int]:
    """The solution and the number of Newton steps; columns: those of the rows, if another problem has the same rows."""
    seen, n = problem.visited, len(problem.signs)
    if len(seen) < n:
        part = replace(problem, rows=take_rows(problem.rows, seen), signs=problem.signs[seen], costs=problem.costs[seen])
        found, steps = solve_l1(part, limits, start)
        return found.among(seen, n), steps
    own = 0.0 if problem.free else problem.x0  # of a penalized intercept
    w, b, penalties = np.zeros(problem.width + (own != 0.0)), 0.0, np.ones(problem.width + (own != 0.0))
    if start is not None:
        w[: problem.width] = start.w
        if own:
            w[-1] = start.intercept / own
        b = start.intercept if problem.free else 0.0
    point = Point(problem, w, b, penalties)
    most = MAX_SPARSE_COLUMNS if isinstance(problem.rows, CSR) else MAX_DENSE_COLUMNS
    if problem.width <= most:
        every: Working = FewColumns(problem.rows, problem.x0, problem.free, np.arange(len(w)), n)
        bound, steps = _solve(point, every, None, limits)
    else:
        columns = columns or Columns(problem.rows, own)
        bound, steps = _solve(point, None, columns, limits)
    intercept = point.b if problem.free else (own * float(point.w[-1]) if own else 0.0)
    weights = point.w[: problem.width].copy()
    return Solution(weights, intercept, bound.multipliers, point.primal, bound.dual, point.margins, problem.costs), steps


def _solve(point: Point, every: Working | None, columns: Columns | None, limits: SolverLimits) -> tuple[Bound, int]:
    """Solve on working sets of the columns, or on all columns at once."""
    steps, lost, best = 0, 0, Bound(-np.inf, np.zeros(0))
    while True:
        scores = every.along(point.w, point.b) if columns is None else columns.sum(point.w) + point.b
        point.set_margins(point.signs * scores)
        signed = point.signs * point.balanced
        products = every.products(signed) if columns is None else columns.products(signed)
        best = max(best, point.bound(products, point.penalties), key=lambda bound: bound.dual)
        gap = point.gap(best)
        limits.report(steps, gap)
        if gap <= limits.tol or steps >= limits.max_iter or lost > MAX_LOST_STEPS or not np.isfinite(point.primal):
            return best, steps
        if columns is None:
            working, tol = every, 0.9 * limits.tol
        else:
            working = _working_set(point, columns, products)
            tol = max(WORKING_SHARE * gap, WORKING_TOL * limits.tol)
        made, stuck = _descend(point, working, replace(limits, max_iter=limits.max_iter - steps), tol)
        steps += made
        lost = lost + MAX_LOST_STEPS if stuck else 0


def _working_set(point: Point, columns: Columns, products: FloatArray) -> Working:
    """The columns with weights, and those nearest to their bounds or farthest above them."""
    rank, used = abs(products) / point.penalties, point.w != 0.0
    rank[used] = np.inf
    wanted = np.flatnonzero(rank > NEAR_BOUND)
    size = max(FIRST_COLUMNS, GROWTH * int(used.sum()))
    if len(wanted) > size:
        wanted = np.sort(wanted[np.argpartition(-rank[wanted], size)[:size]])
    if len(wanted) <= MAX_MATRIX_COLUMNS:
        free = point.problem.free
        return FewColumns(columns.as_rows(wanted), float(free), free, wanted, columns.n)
    return ManyColumns(columns, wanted)


def _descend(point: Point, working: Working, limits: SolverLimits, tol: float) -> tuple[int, bool]:
    """Newton steps on some columns until their own gap is at most `tol`; return their number, and whether rounding ended them."""
    penalties, best = point.penalties[working.where], -np.inf
    for steps in range(limits.max_iter):
        products = working.products(point.signs * point.balanced)
        best = max(best, point.bound(products, penalties).dual)
        if point.primal - best <= tol * point.primal:
            return steps, False
        enough = max(STEP_SHARE * _violation(products, point.w[working.where], penalties), STEP_TOL * tol)
        change, step = working.newton(point, enough)
        if not point.move(working.where, change, step, point.signs * working.along(change, step)):
            return steps + 1, True
    return limits.max_iter, False


def _violation(products: FloatArray, w: FloatArray, penalties: FloatArray) -> float:
    """The largest distance of a product from what the sign of its weight demands, relative to the penalty."""
    beyond = np.where(w == 0.0, abs(products) - penalties, abs(products - np.sign(w) * penalties))
    return max(0.0, float((beyond / penalties).max(initial=0.0)))


class FewColumns:
    """A working set with its Hessian. The free intercept is eliminated from it."""

    def __init__(self, rows: Rows, x0: float, free: bool, where: IntArray, n: int) -> None:
        self.where, self.free, self.x0 = where, free, x0
        self._blocks = Blocks(rows, np.arange(n), np.ones(n), x0, len(where) - (not free and x0 != 0.0))

    def products(self, v: FloatArray) -> FloatArray:
        return self._blocks.sum(v)[: len(self.where)]

    def along(self, change: FloatArray, step: float) -> FloatArray:
        every = np.zeros(self._blocks.width + 1)
        every[: len(change)] = change
        if self.free:
            every[-1] = step
        return self._blocks.product(every)

    def newton(self, point: Point, enough: float) -> tuple[FloatArray, float]:
        p = len(self.where)
        H = np.triu(self._blocks.gram(point.bends))
        H += np.triu(H, 1).T
        g = self._blocks.sum(-point.pulls * point.signs)
        w, penalties = point.w[self.where], point.penalties[self.where]
        if not self.free:
            return minimize_quadratic(np.ascontiguousarray(H[:p, :p]), g[:p], w, penalties, enough), 0.0
        pull, weight, shifts = float(g[-1]), float(H[-1, -1]), H[-1, :p].copy()
        if not weight > 0.0:
            return minimize_quadratic(np.ascontiguousarray(H[:p, :p]), g[:p], w, penalties, enough), 0.0
        before, H, g = np.diag(H)[:p].copy(), np.ascontiguousarray(H[:p, :p]), g[:p] - shifts * (pull / weight)
        H -= np.outer(shifts, shifts) / weight
        constant = np.diag(H) <= 1e-13 * before
        H[constant], H[:, constant], g[constant] = 0.0, 0.0, 0.0
        change = minimize_quadratic(H, g, w, penalties, enough)
        return change, -(pull + float(shifts @ change)) / weight


class ManyColumns:
    """A working set whose quadratic functions are minimized column by column."""

    def __init__(self, columns: Columns, where: IntArray) -> None:
        self.where, self.n = where, columns.n
        self._rows, self._places = columns.take(where)

    def products(self, v: FloatArray) -> FloatArray:
        out = np.empty(len(self.where))
        score(self._rows, self._places, v, 0.0, out)
        return out

    def along(self, change: FloatArray, step: float) -> FloatArray:
        total = np.full(self.n, step)
        combine(self._rows, self._places, change, total)
        return total

    def newton(self, point: Point, enough: float) -> tuple[FloatArray, float]:
        p = len(self.where)
        curvatures, shifts, change = np.empty(p), np.empty(p), np.zeros(p)
        measure_columns(self._rows, self._places, point.bends, curvatures, shifts)
        u = -point.pulls * point.signs
        w, penalties = point.w[self.where], point.penalties[self.where]
        model = ColumnModel(point.bends, u, curvatures, shifts, penalties, w, change)
        pull, weight = (float(u.sum()), float(point.bends.sum())) if point.problem.free else (0.0, 0.0)
        step = descend_columns(self._rows, self._places, model, pull, weight, MAX_PASSES, enough)
        return change, float(step)
