"""Soft margin with the hinge loss and many more rows than columns: interior point, crossover and sifting.

Problem    min over v = (w, b):  1/2 <v, P v> - <g, v> + sum_i C_i max(0, 1 - <A_i, v>),  A_i = y_i (x_i, x_0),
           P = diag(1, ..., 1, p): p = 1 for a penalized intercept, 0 for a free one; g: see the section on sifting.
Update     with s = A v + xi - 1 and e = C - a, all kept positive: Newton's step on  P v = A^T a + g,  a s = mu,  e xi = mu,
           which needs one system (P + A^T D A) dv = r with d + 1 unknowns, D = 1/(xi/e + s/a); Mehrotra's predictor and
           corrector share its factor.
Guarantee  every step keeps 0 < a < C, so the multipliers of any step give a bound (`problem.py`); 10 to 35 steps in practice.
Reference  S. Mehrotra, SIAM J. Optimization 2 (1992); M. Ferris and T. Munson, SIAM J. Optimization 13 (2002).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg

from ..array_types import BoolArray, FloatArray, IntArray
from ..kernels.linear.solver_steps import A, complementarity_after, finish_direction, move, right_sides, weigh_rows
from .limits import SolverLimits
from .problem import BinarySVM, Solution
from .row_blocks import (
    MIN_SAMPLED_ROWS,
    Blocks,
    add_to_diagonal,
    cholesky_factor,
    draw_sample,
    penalty_diagonal,
    signed_blocks,
    solve_factored,
)

MAX_STEPS = 100
STEP_SHARE = 0.995  # share of the distance to the boundary that a step goes
MIN_STEP = 1e-10  # shorter steps end the method
MAX_DUAL_ERROR = 1e-10  # relative to the weights; a larger unexpected residual means that a step was imprecise
STEP_REFINEMENTS = 2  # refinements of a step after precision was lost
HALVING_STEPS = 8  # the method ends if the residual has not halved in this many steps


class Point(NamedTuple):
    """A point of the method: the plane, its margins, and four positive numbers for every row."""

    v: FloatArray
    Av: FloatArray
    a: FloatArray
    e: FloatArray
    s: FloatArray
    slack: FloatArray

    def at_bounds(self) -> tuple[BoolArray, BoolArray]:
        """Which multipliers tend to 0 and which to C: those that are smaller, as a share of C, than their slack."""
        C = self.a + self.e
        return self.a / C < self.s, self.e / C < self.slack


def start_of(C: FloatArray, width: int) -> Point:
    """The starting point: w = 0 and multipliers of C/2."""
    n = len(C)
    return Point(np.zeros(width), np.zeros(n), 0.5 * C, 0.5 * C, np.full(n, 0.5), np.full(n, 1.5))


class PathSystem(Protocol):
    """Newton's equations of a problem at a point that moves, and the numbers of its rows."""

    n_rows: int

    def weigh(self) -> tuple[FloatArray, float, float]:
        """A^T a, the complementarity and the infeasibility at the point."""

    def factorize(self, r_dual: FloatArray, refinements: int) -> None:
        """Factorize the system at the point, whose rows have been weighed."""

    def predict(self) -> float:
        """Set the direction toward a complementarity of 0; return the complementarity after its longest step up to 1."""

    def correct(self, center: float) -> tuple[float, FloatArray]:
        """Set the direction toward a complementarity of `center`, with the second-order terms of the previous direction;
        return its longest step and the direction of the plane."""

    def move(self, length: float) -> None:
        """Make a step in the direction of `correct`."""


def interior_point(
    point: Point, blocks: Blocks, penalty: FloatArray, g: FloatArray, target: float, rough: bool, n_jobs: int = 1
) -> tuple[Point, int]:
    """Minimize over the rows of `blocks` until the complementarity is at most `target`, or until steps have no effect.

    rough: only the plane matters, not the multipliers.
    """
    system = _System(point, blocks, penalty, n_jobs)
    v, steps = follow_path(system, point.v.copy(), penalty, g, target, rough)
    return Point(v, *system.at), steps


def follow_path(
    system: PathSystem, v: FloatArray, penalty: FloatArray, g: FloatArray, target: float, rough: bool
) -> tuple[FloatArray, int]:
    """Move the point of a system, whose plane is v; return the plane and the number of steps."""
    left: list[float] = []
    imprecise, expected = False, 0.0
    for steps in range(MAX_STEPS):
        total, comp, infeasibility = system.weigh()
        r_dual = penalty * v - total - g
        sizes = abs(r_dual)
        residual, largest = float(sizes @ abs(v)), float(sizes.max())
        # The plane is accurate if these are small; the weights of the multipliers also need a small r_dual.
        if comp <= target and residual <= target and (rough or float(r_dual @ r_dual) <= target):
            return v, steps
        if not (comp > 0.0 and np.isfinite(comp + residual)):
            return v, steps
        left.append(comp + residual + infeasibility)
        if steps >= HALVING_STEPS and left[-1] > 0.5 * left[-1 - HALVING_STEPS]:
            return v, steps
        # A step of a given length reduces r_dual by that share, unless the system was solved imprecisely.
        limit = 2.0 * expected + MAX_DUAL_ERROR * float(abs(v).max())
        imprecise = imprecise or (steps > 0 and largest > limit)
        system.factorize(r_dual, STEP_REFINEMENTS if imprecise else 0)
        after = system.predict()
        room, dv = system.correct((after / comp) ** 3 * comp / (2 * system.n_rows))
        length = min(STEP_SHARE * room, 1.0)
        if not length > MIN_STEP:
            return v, steps
        system.move(length)
        v, expected = v + length * dv, (1.0 - length) * largest
    return v, MAX_STEPS


class _System:
    """The system of rows in memory: factored once for each step and solved for two right-hand sides."""

    def __init__(self, point: Point, blocks: Blocks, penalty: FloatArray, n_jobs: int) -> None:
        self.at, self.blocks, self.penalty, self.n_jobs = np.array(point[1:]), blocks, penalty, n_jobs
        self.n_rows = len(point.a)
        self.way = np.zeros_like(self.at)
        self.D, self.r_primal, self.t, self.Dt = np.empty((4, self.n_rows))

    def weigh(self) -> tuple[FloatArray, float, float]:
        return self.blocks.sum(self.at[A]), *weigh_rows(self.at, self.D, self.r_primal)

    def factorize(self, r_dual: FloatArray, refinements: int) -> None:
        self.r_dual, self.refinements = r_dual, refinements
        H = self.blocks.gram(self.D, self.n_jobs)
        add_to_diagonal(H, self.penalty)
        self.factor = cholesky_factor(H)

    def predict(self) -> float:
        room, _ = self._solve(0.0, 0.0)
        after: float = complementarity_after(self.at, self.way, min(room, 1.0))
        return after

    def correct(self, center: float) -> tuple[float, FloatArray]:
        return self._solve(center, 1.0)

    def move(self, length: float) -> None:
        move(self.at, self.way, length)

    def _solve(self, center: float, second: float) -> tuple[float, FloatArray]:
        D, way = self.D, self.way
        right_sides(self.at, way, center, second, D, self.r_primal, self.t, self.Dt)
        dv = solve_factored(self.factor, -self.r_dual - self.blocks.sum(self.Dt))
        Adv = self.blocks.product(dv)
        da = -D * (Adv + self.t)
        for _ in range(self.refinements):
            # Near the end D spans twenty orders of magnitude; the residual, computed from the rows, corrects the error.
            more = solve_factored(self.factor, self.blocks.sum(da) - self.penalty * dv - self.r_dual)
            Amore = self.blocks.product(more)
            dv, Adv, da = dv + more, Adv + Amore, da - D * Amore
        return finish_direction(self.at, way, Adv, da), dv


# --- Crossover: from nearly optimal multipliers to optimal ones, with exact zeros; an interior point never reaches a bound.
#
# Update     guess which rows are at a = 0, which at a = C, and which lie on the margin (F). For the latter,
#                y_i (<w, x_i> + b) = 1 on F  and  sum_i y_i a_i = 0 (free) or b = x_0^2 sum_i y_i a_i (penalized)
#            are as many equations as unknowns. Rows whose multiplier leaves its range are set to the bound they crossed, rows
#            on the wrong side of the margin join F, and the system is solved again.
# Guarantee  none by itself: the solution is used only if its gap, on all rows, is smaller.

MAX_MARGIN_ROWS = 10_000  # rows on the margin: more give too many equations
CROSSOVER_ROUNDS = 6
BOUND_TOL = 1e-9  # nearer multipliers are at their bound, nearer rows on the margin
RANK_TOL = 1e-10  # singular values below this share of the largest are rounding errors


def cross_over(svm: BinarySVM, before: Solution, low: BoolArray, high: BoolArray) -> tuple[Solution, bool]:
    """The best solution found, and whether all rows meet the optimality conditions.

    low, high : guesses which of all rows are at a = 0 and at a = C.
    """
    seen, C = svm.visited, svm.costs
    best, low, high = before, low.copy(), high.copy()
    for _ in range(CROSSOVER_ROUNDS):
        inside = seen[~(low | high)[seen]]
        if len(inside) > MAX_MARGIN_ROWS:
            return best, False
        a = np.where(high, C, 0.0)
        between = _between(svm, a, inside, best.multipliers[inside])
        little = BOUND_TOL * min(float(max(a.max(), between.max(initial=0.0))), float(C.max()))
        between[between < little] = 0.0
        between = np.where(between > C[inside] - little, C[inside], between)
        a[inside] = between
        found = svm.solution(a)
        if found.gap < best.gap or (best is before and found.gap <= 2.0 * before.gap + 1e-15):
            best = found
        with np.errstate(invalid="ignore"):
            joins = (low & (found.margins < 1.0 - BOUND_TOL)) | (high & (found.margins > 1.0 + BOUND_TOL))
        to_low, to_high = inside[between == 0.0], inside[between == C[inside]]
        if not joins.any() and not len(to_low) and not len(to_high):
            return best, best is found
        low &= ~joins
        high &= ~joins
        low[to_low] = high[to_high] = True
    return best, False


def _between(svm: BinarySVM, fixed: FloatArray, inside: IntArray, near: FloatArray) -> FloatArray:
    """Multipliers that put the rows `inside` on the margin; the nearest to `near` if there are several."""
    if not len(inside):
        return near
    start = fixed.copy()
    start[inside] = near
    v = np.append(svm.weights(start), svm.x0 * float(start @ svm.signs))
    A = signed_blocks(svm, inside).block()
    if not svm.free:
        return near + _least(A, 1.0 - A @ v)
    # In coordinates whose first axis is y, the first entry of the correction is known, and b does not occur in the others.
    x, edge = A[:, :-1], svm.signs[inside].astype(np.float64)
    turned, first = _reflect(edge, x), -v[-1] / svm.x0 / np.sqrt(len(inside))
    right = _reflect(edge, 1.0 - x @ v[:-1])[1:] - first * (turned[1:] @ turned[0])
    return near + _reflect(edge, np.append(first, _least(turned[1:], right)))


def _least(A: FloatArray, right: FloatArray) -> FloatArray:
    """The shortest least-squares solution z of A A^T z = right."""
    if not len(A):
        return right
    U, S, _ = scipy.linalg.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesdd")
    kept = RANK_TOL * S[0] < S
    found: FloatArray = U[:, kept] @ ((U[:, kept].T @ right) / S[kept] ** 2)
    return found


def _reflect(edge: FloatArray, x: FloatArray) -> FloatArray:
    """x reflected so that `edge`, with entries 1 and -1, would lie on the first axis."""
    mirror = edge.copy()
    mirror[0] -= np.sqrt(len(edge))
    square = float(mirror @ mirror)
    return x if square == 0.0 else x - np.multiply.outer(mirror, (2.0 / square) * (mirror @ x))


# --- Sifting: most rows of a large problem are clearly outside or clearly inside the margin; only the others need the solver.
#
# Update     solve a sample of the rows; by its plane, fix the rows far above the margin at a = 0 and those far below it at a =
#            C; solve for the rows between, with the fixed ones as one linear term, g = the sum of C_i A_i; check all rows,
#            and release those that were fixed on the wrong side; repeat until the gap is small.
# Guarantee  released rows are never fixed again, so it ends; the gap is that of all rows.

# Rows that are not fixed at first. With m rows in the sample, of which a share p is inside the margin, the error of its plane
# moves the margins by about sqrt(d p/m)/(density of rows at the margin), so about n sqrt(d p/m) rows are within that distance.
FIRST_BAND = 4.0
MIN_SHARE_DIVISOR = 20  # at least one row in 20 is not fixed
ROUGH_TOL = 1e-3  # relative to the objective; enough to see which rows were fixed on the wrong side
FINE_TOL = 1e-9  # relative to the objective; enough to see which multipliers are at a bound
FINEST_TOL = 1e-15


def interior(svm: BinarySVM, limits: SolverLimits, start: Solution | None = None) -> tuple[Solution, int]:
    """The solution and the number of interior-point steps; the gap is at most `limits.tol`, or as small as float64 allows."""
    sieve, best = Sieve(svm, limits, start), None
    while True:
        point = sieve.solve(ROUGH_TOL)
        if not sieve.wrong.any():
            for tol in (FINE_TOL, FINEST_TOL):
                point = sieve.solve(tol, point)
                found, exact = sieve.solution(point)
                limits.report(sieve.steps, found.gap)
                best = found if best is None or found.gap <= best.gap else best
                if best.gap <= limits.tol and (exact or tol == FINEST_TOL):
                    return best, sieve.steps
        if best is not None and not sieve.wrong.any():
            return best, sieve.steps
        sieve.release()


class Sieve:
    """The rows that are solved for, the fixed multipliers of the others, and an estimate of the objective."""

    def __init__(self, svm: BinarySVM, limits: SolverLimits, start: Solution | None) -> None:
        self.svm, self.n_jobs, self.steps = svm, limits.n_jobs, 0
        self.seen, self.y, self.C = svm.visited, svm.signs[svm.seen], svm.costs[svm.seen]
        self.penalty, self.estimate = penalty_diagonal(svm), float(self.C.sum())
        self.unclear, self.fixed = np.ones(len(self.seen), bool), np.zeros(len(self.seen))
        few = draw_sample(svm, limits.seed) if start is None else None
        if few is not None:
            w, b, self.steps = rough_plane(svm, *few, self.estimate, self.n_jobs)
            self._begin(w, b, len(few[0]))
        elif start is not None and len(self.seen) >= MIN_SAMPLED_ROWS:
            self._begin(start.w, start.intercept, len(self.seen))

    def _begin(self, w: FloatArray, b: float, sample: int) -> None:
        """Fix the rows that are far from the margin of this plane, which was computed from `sample` rows."""
        self.check(w, b)
        first = len(self.seen) * first_share(self.svm.width, float((self.margins < 1.0).mean()), sample)
        self.unclear, self.fixed = _nearest(abs(1.0 - self.margins), int(first)), np.where(self.margins < 1.0, self.C, 0.0)

    def check(self, w: FloatArray, b: float) -> None:
        """Compute the margins of all rows, their loss, and which of the fixed rows are on the wrong side."""
        self.margins = self.y * self.svm.scores(w, b)
        self.estimate = min(self.estimate, self.svm.norm(w, b) / 2.0 + self.svm.losses(self.margins))
        self.wrong = ~self.unclear & np.where(self.fixed > 0.0, self.margins > 1.0, self.margins < 1.0)

    def solve(self, tol: float, point: Point | None = None) -> Point:
        """Solve for the rows that are not fixed, from the start or from `point`."""
        if point is None:
            self.multipliers = np.zeros(len(self.svm.signs))
            self.multipliers[self.seen] = np.where(self.unclear, 0.0, self.fixed)
            held = float(self.multipliers @ self.svm.signs)
            self.g = np.append(self.svm.weights(self.multipliers), self.svm.x0 * held)
            self.inside = signed_blocks(self.svm, self.seen[self.unclear])
            point = start_of(self.C[self.unclear], len(self.penalty))
        point, more = interior_point(
            point, self.inside, self.penalty, self.g, tol * self.estimate, tol == ROUGH_TOL, self.n_jobs
        )
        self.steps += more
        self.check(point.v[:-1], self.svm.x0 * float(point.v[-1]))
        return point

    def solution(self, point: Point) -> tuple[Solution, bool]:
        """The solution of the multipliers, and whether those at a bound are exactly at it."""
        self.multipliers[self.inside.wanted] = point.a
        low, high = self.multipliers == 0.0, self.multipliers == self.svm.costs
        low[self.inside.wanted], high[self.inside.wanted] = point.at_bounds()
        return cross_over(self.svm, self.svm.solution(self.multipliers), low, high)

    def release(self) -> None:
        """Release the rows that were fixed on the wrong side, and the same number of rows nearest to the margin."""
        near = np.where(self.unclear | self.wrong, np.inf, abs(1.0 - self.margins))
        self.unclear |= self.wrong | _nearest(near, int(self.wrong.sum()))


def rough_plane(
    svm: BinarySVM, wanted: IntArray, costs: FloatArray, objective: float, n_jobs: int = 1
) -> tuple[FloatArray, float, int]:
    """The plane of a sample, and the number of steps; the objective is at most `objective`."""
    penalty, steps = penalty_diagonal(svm), 0
    blocks, point = signed_blocks(svm, wanted), start_of(costs, len(penalty))
    for _ in range(2):  # the first time finds the size of the objective, to which the tolerance is relative
        point, more = interior_point(point, blocks, penalty, np.zeros(len(penalty)), ROUGH_TOL * objective, True, n_jobs)
        steps += more
        w, b = point.v[:-1], svm.x0 * float(point.v[-1])
        objective = svm.norm(w, b) / 2.0 + float(costs @ np.maximum(0.0, 1.0 - point.Av))
    return w, b, steps


def first_share(width: int, inside: float, sample: int) -> float:
    """The share of the rows that are not fixed at first, by the share inside the margin of the plane of a sample."""
    return max(1.0 / MIN_SHARE_DIVISOR, FIRST_BAND * float(np.sqrt(width * inside / sample)))


def _nearest(distances: FloatArray, count: int) -> IntArray:
    """A mask of the `count` smallest distances."""
    chosen = np.zeros(len(distances), bool)
    if count > 0:
        chosen[np.argpartition(distances, min(count, len(distances)) - 1)[:count]] = True
    return chosen
