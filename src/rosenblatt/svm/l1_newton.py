"""The L1 penalty: Newton steps whose quadratic functions are minimized by coordinate descent, on working sets of columns.

Update     the quadratic function of a Newton step, plus the penalty, is minimized by coordinate descent, and the step is
           shortened if the objective would not decrease enough. Few columns are all in the working set. Of many, those with
           weights and those that exceed their bounds most are: the set is left when its own gap is a part of that of the
           problem, and chosen again from the products of all columns. Coordinate descent goes column by column, or through the
           Hessian: of few columns, and where many steps column by column did not suffice.
Guarantee  the objective decreases with every step; the solver ends when the gap of `l1_problem.py`, on all rows and columns,
           is at most `tol`, or as small as float64 allows.
Reference  G.-X. Yuan, C.-H. Ho and C.-J. Lin, An improved GLMNET, JMLR 13 (2012); T. Johnson and C. Guestrin, Blitz, ICML 2015;
           M. Massias, A. Gramfort and J. Salmon, Celer, ICML 2018.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.problem import rows_width, take_rows
from ..kernels.linear.l1_descent import LEAST_CURVATURE, ColumnModel, descend_columns, measure_columns
from ..kernels.linear.margin_losses import loss_along
from ..kernels.linear.row_blocks import combine, score
from ..kernels.linear.rows import CSR, Rows
from .l1_columns import Columns, large_columns, scaled_rows
from .l1_problem import BinaryL1
from .l1_quadratic import minimize_quadratic
from .limits import MAX_AUTO_ITERATIONS, SolverLimits
from .problem import Solution
from .row_blocks import Blocks

# Up to this width the Hessian of all columns is made; and up to this number of columns in a working set.
MAX_DENSE_COLUMNS, MAX_SPARSE_COLUMNS, MAX_MATRIX_COLUMNS = 500, 1000, 1000
FIRST_COLUMNS, GROWTH = 100, 2  # of a working set: at first, and relative to the columns with weights
# Newton steps on a working set column by column. Where they do not suffice, the Hessians of later sets are made.
MAX_COLUMN_STEPS = 10
NEAR_BOUND = 0.5  # columns below this share of their bound are not candidates
# The gap at which a working set is left, relative to that of the problem when it was chosen, and to `tol`.
WORKING_SHARE, WORKING_TOL = 0.25, 0.5
# The accuracy of a Newton step, relative to the distance from the optimality conditions before it, and to the gap to reach.
STEP_SHARE, STEP_TOL, MAX_PASSES = 0.1, 0.3, 50
OWN_TOL = 0.9  # if all columns are in the set, relative to `tol`
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
        before, primal, loss = self.w[where], self.primal, self.problem.loss
        linear = float(self.penalties[where] @ (abs(before + change) - abs(before)))
        expected = linear - float(self.pulls @ along)
        t, (after, slope, curvature) = 1.0, loss_along(loss, self.margins, along, self.costs, 1.0)
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
                _, slope, curvature = loss_along(loss, self.margins, along, self.costs, t)
        self.w[where] = before + t * change if t < 1.0 else before + change
        self.b += t * step
        self.set_margins(self.margins + t * along)
        return self.primal < primal * (1.0 - ROUNDING_SHARE)


class Working(Protocol):
    """A working set of columns."""

    where: IntArray  # their places among the weights
    max_steps: int  # Newton steps, after which a set is chosen again
    suffices: bool  # whether its steps reached the gap at which it is left

    def products(self, v: FloatArray) -> FloatArray:
        """The products of these columns with v."""

    def newton(self, point: Point, enough: float) -> tuple[FloatArray, float]:
        """The changes of the weights and of a free intercept that a Newton step makes."""

    def along(self, change: FloatArray, step: float) -> FloatArray:
        """The change of the scores."""


class Source(Protocol):
    """All columns."""

    def products(self, v: FloatArray) -> FloatArray:
        """The products of all columns with v."""

    def along(self, change: FloatArray, step: float) -> FloatArray:
        """The scores of weights and an intercept."""

    def choose(self, point: Point, products: FloatArray, gap: float, tol: float) -> tuple[Working, float]:
        """A working set, and the gap at which it is left."""


def solve_l1(
    problem: BinaryL1, limits: SolverLimits, start: Solution | None = None, columns: Columns | None = None
) -> tuple[Solution, int]:
    """The solution and the number of Newton steps; columns: those of the rows, if another problem has the same rows."""
    seen, n = problem.visited, len(problem.signs)
    if len(seen) < n:
        part = replace(problem, rows=take_rows(problem.rows, seen), signs=problem.signs[seen], costs=problem.costs[seen])
        found, steps = solve_l1(part, limits, start)
        return found.among(seen, n), steps
    if (exponents := large_columns(problem.rows)) is not None:
        found, steps = _solve_scaled(problem, limits, start, exponents)
        return found, steps
    return _solve_whole(problem, np.ones(problem.width), limits, start, columns)


def _solve_scaled(problem: BinaryL1, limits: SolverLimits, start: Solution | None, exponents: IntArray) -> tuple[Solution, int]:
    """Solve with columns times 2^-exponent, whose weights are those times 2^exponent, and their penalties times 2^-exponent."""
    part = replace(problem, rows=scaled_rows(problem.rows, -exponents))
    before = None if start is None else replace(start, w=np.ldexp(start.w, exponents))
    found, steps = _solve_whole(part, np.ldexp(1.0, -exponents), limits, before, None)
    return replace(found, w=np.ldexp(found.w, -exponents)), steps


def _solve_whole(
    problem: BinaryL1, scales: FloatArray, limits: SolverLimits, start: Solution | None, columns: Columns | None
) -> tuple[Solution, int]:
    """Solve a problem in which every row counts; scales: the penalties of the columns."""
    n = len(problem.signs)
    own = 0.0 if problem.free else problem.x0  # of a penalized intercept
    w, b, penalties = np.zeros(problem.width + (own != 0.0)), 0.0, np.ones(problem.width + (own != 0.0))
    penalties[: problem.width] = scales
    if start is not None:
        w[: problem.width] = start.w
        if own:
            w[-1] = start.intercept / own
        b = start.intercept if problem.free else 0.0
    point = Point(problem, w, b, penalties)
    columns = columns or columns_of(problem.rows, problem.x0, problem.free)
    source: Source
    if columns is None:
        source = FewColumns(problem.rows, problem.x0, problem.free, np.arange(len(w)), n)
    else:
        source = WorkingSets(columns)
    bound, products, steps = _solve(point, source, limits)
    intercept = point.b if problem.free else (own * float(point.w[-1]) if own else 0.0)
    weights = point.w[: problem.width].copy()
    found = Solution(weights, intercept, bound.multipliers, point.primal, bound.dual, point.margins, problem.costs)
    excess = float((abs(products[: problem.width]) / penalties[: problem.width]).max(initial=0.0))
    return replace(found, growth=1.0 / excess if excess > 0.0 else np.inf), steps


def columns_of(rows: Rows, x0: float, free: bool) -> Columns | None:
    """The columns, if they are many; None if the Hessian of all of them is made from the rows."""
    most = MAX_SPARSE_COLUMNS if isinstance(rows, CSR) else MAX_DENSE_COLUMNS
    return Columns(rows, 0.0 if free else x0) if rows_width(rows) > most else None


def _solve(point: Point, source: Source, limits: SolverLimits) -> tuple[Bound, FloatArray, int]:
    """Return the bound, the products of all columns with the balanced, signed multipliers, and the number of steps."""
    steps, lost, best = 0, 0, Bound(-np.inf, np.zeros(0))
    while True:
        point.set_margins(point.signs * source.along(point.w, point.b))
        products = source.products(point.signs * point.balanced)
        best = max(best, point.bound(products, point.penalties), key=lambda bound: bound.dual)
        gap = point.gap(best)
        limits.report(steps, gap)
        if gap <= limits.tol or steps >= limits.max_iter or lost > MAX_LOST_STEPS or not np.isfinite(point.primal):
            return best, products, steps
        working, tol = source.choose(point, products, gap, limits.tol)
        most = min(limits.max_iter - steps, working.max_steps)
        made, stuck = _descend(point, working, replace(limits, max_iter=most), tol)
        steps += made
        lost = lost + 1 if stuck else 0
        working.suffices = not (stuck or made >= working.max_steps)


def _descend(point: Point, working: Working, limits: SolverLimits, tol: float) -> tuple[int, bool]:
    """Newton steps on some columns until their own gap is at most `tol`; return their number, and whether rounding ended it."""
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
        self._lower = np.tri(self._blocks.width + 1, k=-1, dtype=bool)
        self.max_steps, self.suffices = MAX_AUTO_ITERATIONS, True

    def products(self, v: FloatArray) -> FloatArray:
        return self._blocks.sum(v)[: len(self.where)]

    def along(self, change: FloatArray, step: float) -> FloatArray:
        every = np.zeros(self._blocks.width + 1)
        every[: len(change)] = change
        if self.free:
            every[-1] = step
        return self._blocks.product(every)

    def choose(self, point: Point, products: FloatArray, gap: float, tol: float) -> tuple[Working, float]:
        return self, OWN_TOL * tol

    def newton(self, point: Point, enough: float) -> tuple[FloatArray, float]:
        p = len(self.where)
        every = self._blocks.gram(point.bends)
        np.copyto(every, every.T, where=self._lower)
        pulls = self._blocks.sum(-point.pulls * point.signs)
        H, g, w, penalties = np.ascontiguousarray(every[:p, :p]), pulls[:p], point.w[self.where], point.penalties[self.where]
        pull, weight, shifts = float(pulls[-1]), float(every[-1, -1]), every[-1, :p].copy()
        if not (self.free and weight > 0.0):
            return minimize_quadratic(H, g, w, penalties, enough), 0.0
        least = LEAST_CURVATURE * np.diag(H)
        H -= np.outer(shifts, shifts) / weight
        g = g - shifts * (pull / weight)
        constant = np.diag(H) <= least  # up to rounding errors: the intercept can replace such a column
        H[constant], H[:, constant], g[constant] = 0.0, 0.0, 0.0
        change = minimize_quadratic(H, g, w, penalties, enough)
        return change, -(pull + float(shifts @ change)) / weight


class WorkingSets:
    """Working sets of many columns: those with weights, and those nearest to their bounds or farthest above them."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._last: ManyColumns | None = None

    def products(self, v: FloatArray) -> FloatArray:
        return self._columns.products(v)

    def along(self, change: FloatArray, step: float) -> FloatArray:
        return self._columns.sum(change) + step

    def choose(self, point: Point, products: FloatArray, gap: float, tol: float) -> tuple[Working, float]:
        rank, used = abs(products) / point.penalties, point.w != 0.0
        rank[used] = np.inf
        wanted = np.flatnonzero(rank > NEAR_BOUND)
        size = max(FIRST_COLUMNS, GROWTH * int(used.sum()))
        if len(wanted) > size:
            wanted = np.sort(wanted[np.argpartition(-rank[wanted], size)[:size]])
        tol = max(WORKING_SHARE * gap, WORKING_TOL * tol)
        if len(wanted) > MAX_MATRIX_COLUMNS or self._last is None or self._last.suffices:
            self._last = ManyColumns(self._columns, wanted)
            return self._last, tol
        free = point.problem.free
        return FewColumns(self._columns.as_rows(wanted), float(free), free, wanted, self._columns.n), tol


class ManyColumns:
    """A working set whose quadratic functions are minimized column by column."""

    def __init__(self, columns: Columns, where: IntArray) -> None:
        self.where, self.n = where, columns.n
        self._rows, self._places = columns.take(where)
        self.max_steps, self.suffices = MAX_COLUMN_STEPS, True

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
