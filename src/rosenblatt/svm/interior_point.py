"""An interior-point method for the hinge with many more rows than columns.

Problem    min over v = (w, b):  1/2 <v, P v> - <g, v> + sum_i C_i max(0, 1 - <A_i, v>),  A_i = y_i (x_i, x_0),
           P = diag(1, ..., 1, p): p = 1 where the intercept is penalised, 0 where it is free; g: see `sifting.py`.
Update     with s = A v + xi - 1 and e = C - a, all kept positive: Newton's step on  P v = A^T a + g,  a s = mu,  e xi = mu,
           which asks for one system (P + A^T D A) dv = r with d + 1 unknowns, D = 1/(xi/e + s/a); Mehrotra's predictor and
           corrector share its factor.
Guarantee  every step keeps 0 < a < C, so that any of them gives a bound (`machine.py`); 10 to 35 steps in practice.
Reference  S. Mehrotra, SIAM J. Optimization 2 (1992); M. Ferris and T. Munson, SIAM J. Optimization 13 (2002).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import cho_solve

from .problem import Effort, Machine, Solution
from .row_blocks import SMALL, Blocks, blocks_of, factored, penalty_of, sample_of

STEPS = 100
BACK = 0.995  # how much of the way to the wall a step goes
STUCK = 1e-10  # a step this short leads nowhere
LOST = 1e-10  # of the weights: what their multipliers may differ by
REFINED = 2  # corrections of a step
PATIENCE = 8  # steps in which what is left must fall to a half


class Point(NamedTuple):
    """Where the method stands, or a direction in which it may go."""

    v: Any
    Av: Any
    a: Any
    e: Any
    s: Any
    slack: Any

    def moved(self, way: Point, length: float) -> Point:
        return Point(*(x + length * dx for x, dx in zip(self, way, strict=True)))

    def room(self, way: Point) -> float:
        """How far it may go before one of the positive numbers is zero."""
        return min(_room(x, dx) for x, dx in zip(self[2:], way[2:], strict=True))

    def at_bounds(self) -> tuple[Any, Any]:
        """Which multipliers are on their way to 0, and which to C: those smaller, as a share of C, than their slack."""
        C = self.a + self.e
        return self.a / C < self.s, self.e / C < self.slack

    @property
    def complementarity(self) -> float:
        return float(self.a @ self.s + self.e @ self.slack)


def start_of(C: Any, width: int) -> Point:
    n = len(C)
    return Point(np.zeros(width), np.zeros(n), 0.5 * C, 0.5 * C, np.full(n, 0.5), np.full(n, 1.5))


def interior_point(
    here: Point, blocks: Blocks, penalty: Any, g: Any, target: float, rough: bool, n_jobs: int = 1
) -> tuple[Point, int]:
    """Minimise over the rows of `blocks` until the complementarity is at most `target`, or steps do not help any more.

    rough: only the plane matters, not the multipliers.
    """
    n = len(here.a)
    left: list[float] = []
    lost, expected = False, 0.0
    for steps in range(STEPS):
        v, Av, a, e, s, slack = here
        r_dual = penalty * v - blocks.sum(a) - g
        r_primal = Av + slack - s - 1.0
        comp = here.complementarity
        astray = float(abs(r_dual) @ abs(v))
        # The plane is good when these are small; the weights that the multipliers make, when their difference is, too.
        if comp <= target and astray <= target and (rough or float(r_dual @ r_dual) <= target):
            return here, steps
        if not (comp > 0.0 and np.isfinite(comp + astray)):
            return here, steps
        left.append(comp + astray + float(a @ abs(r_primal)))
        if steps >= PATIENCE and left[-1] > 0.5 * left[-1 - PATIENCE]:
            return here, steps
        # A step of some length takes that share off r_dual; where it did not, the system was not solved well enough.
        lost = lost or (steps > 0 and float(abs(r_dual).max()) > 2.0 * expected + LOST * float(abs(v).max()))
        system = _System(here, blocks, penalty, r_dual, r_primal, n_jobs, REFINED if lost else 0)
        way = system.solve(-a * s, -e * slack)
        after = here.moved(way, min(here.room(way), 1.0)).complementarity
        centre = (after / comp) ** 3 * comp / (2 * n)
        way = system.solve(centre - a * s - way.a * way.s, centre - e * slack - way.e * way.slack)
        length = min(BACK * here.room(way), 1.0)
        if not length > STUCK:
            return here, steps
        here, expected = here.moved(way, length), (1.0 - length) * float(abs(r_dual).max())
    return here, STEPS


class _System:
    """Newton's equations at a point, factored once and solved for two right sides."""

    def __init__(
        self, here: Point, blocks: Blocks, penalty: Any, r_dual: Any, r_primal: Any, n_jobs: int, refinements: int
    ) -> None:
        self.here, self.blocks, self.penalty, self.r_dual, self.r_primal = here, blocks, penalty, r_dual, r_primal
        self.refinements = refinements
        self.D = 1.0 / (here.slack / here.e + here.s / here.a)
        H = blocks.gram(self.D, n_jobs)
        H[np.diag_indices_from(H)] += penalty
        self.factor = factored(H)

    def solve(self, r_s: Any, r_slack: Any) -> Point:
        here, D = self.here, self.D
        t = self.r_primal + r_slack / here.e - r_s / here.a
        dv = cho_solve(self.factor, -self.r_dual - self.blocks.sum(D * t), check_finite=False)
        Adv = self.blocks.product(dv)
        da = -D * (Adv + t)
        for _ in range(self.refinements):
            # Near the end D spans twenty orders of magnitude, and what the factor lost is found again in the rows themselves.
            left = self.penalty * dv - self.blocks.sum(da) + self.r_dual
            more = cho_solve(self.factor, -left, check_finite=False)
            Amore = self.blocks.product(more)
            dv, Adv, da = dv + more, Adv + Amore, da - D * Amore
        return Point(dv, Adv, da, -da, (r_s - here.s * da) / here.a, (r_slack + here.slack * da) / here.e)


def _room(x: Any, dx: Any) -> float:
    """How far x > 0 may go along dx before an entry is zero."""
    steepest = float((dx / x).min())
    return -1.0 / steepest if steepest < 0.0 else np.inf


# --- From nearly optimal multipliers to optimal ones, with exact zeros: an interior point stops short of every bound.
#
# Update     guess which rows are at a = 0, which at a = C, and which lie on the margin between (F). For these,
#                y_i (<w, x_i> + b) = 1 on F  and  sum_i y_i a_i = 0 (free) or b = x_0^2 sum_i y_i a_i (penalised)
#            are as many equations as unknowns. Rows whose multiplier leaves its range are put at the bound they crossed, rows
#            that turn up on the wrong side of the margin join F, and it is solved again.
# Guarantee  none by itself: the solution counts only where its gap, on all rows, is smaller.

MOST = 10_000  # rows on the margin; more of them are too many equations
ROUNDS = 6
AT_BOUND = 1e-9  # to a bound or to the margin: on it
RANK = 1e-10  # smaller singular values, relative to the largest, are rounding


def cross_over(machine: Machine, before: Solution, low: Any, high: Any) -> tuple[Solution, bool]:
    """The best solution found, and whether every row is where it should be.

    low, high : guesses which of all rows are at a = 0 and at a = C.
    """
    seen, C = machine.visited, machine.costs
    best, low, high = before, low.copy(), high.copy()
    for _ in range(ROUNDS):
        inside = seen[~(low | high)[seen]]
        if len(inside) > MOST:
            return best, False
        a = np.where(high, C, 0.0)
        between = _between(machine, a, inside, best.multipliers[inside])
        little = AT_BOUND * min(float(max(a.max(), between.max(initial=0.0))), float(C.max()))
        between[between < little] = 0.0
        between = np.where(between > C[inside] - little, C[inside], between)
        a[inside] = between
        found = machine.solution(a)
        if found.gap < best.gap or (best is before and found.gap <= 2.0 * before.gap + 1e-15):
            best = found
        with np.errstate(invalid="ignore"):
            joins = (low & (found.margins < 1.0 - AT_BOUND)) | (high & (found.margins > 1.0 + AT_BOUND))
        to_low, to_high = inside[between == 0.0], inside[between == C[inside]]
        if not joins.any() and not len(to_low) and not len(to_high):
            return best, best is found
        low &= ~joins
        high &= ~joins
        low[to_low] = high[to_high] = True
    return best, False


def _between(machine: Machine, fixed: Any, inside: Any, near: Any) -> Any:
    """The multipliers of the rows `inside` that put them on the margin, nearest to `near` where there are many."""
    if not len(inside):
        return near
    start = fixed.copy()
    start[inside] = near
    v = np.append(machine.weights(start), machine.x0 * float(start @ machine.signs))
    A = blocks_of(machine, inside).block()
    if not machine.free:
        return near + _least(A, 1.0 - A @ v)
    # Turned so that the sum of y_i times what is added is its first entry, that entry is known, and b drops out of the others.
    x, edge = A[:, :-1], machine.signs[inside].astype(np.float64)
    turned, first = _reflect(edge, x), -v[-1] / machine.x0 / np.sqrt(len(inside))
    right = _reflect(edge, 1.0 - x @ v[:-1])[1:] - first * (turned[1:] @ turned[0])
    return near + _reflect(edge, np.append(first, _least(turned[1:], right)))


def _least(A: Any, right: Any) -> Any:
    """The shortest z with A A^T z = right, or nearly so where there is none."""
    if not len(A):
        return right
    U, S, _ = scipy.linalg.svd(A, full_matrices=False, check_finite=False, lapack_driver="gesdd")
    kept = RANK * S[0] < S
    return U[:, kept] @ ((U[:, kept].T @ right) / S[kept] ** 2)


def _reflect(edge: Any, x: Any) -> Any:
    """x mirrored so that `edge`, all of whose entries are 1 or -1, would come to lie on the first axis."""
    mirror = edge.copy()
    mirror[0] -= np.sqrt(len(edge))
    square = float(mirror @ mirror)
    return x if square == 0.0 else x - np.multiply.outer(mirror, (2.0 / square) * (mirror @ x))


# --- Sifting: most rows of a large problem are surely right or surely wrong, and only the others need the interior point.
#
# Update     solve a sample of the rows; by its plane, fix the rows far above the margin at a = 0 and those far below it at a =
#            C; solve for the rows between, where the fixed ones are one linear term, g = the sum of C_i A_i; look at all rows,
#            and let those that were fixed on the wrong side back in; until the gap is small.
# Guarantee  rows let in never leave, so it ends; the gap is that of all rows.

# How many rows are let in at first. With m rows in the sample, of which a share p is inside the margin, the error of its plane
# moves the margins by about sqrt(d p/m)/(density of rows at the margin), so that n sqrt(d p/m) rows are within that of it.
BAND = 4.0
LEAST = 20  # but one row of so many
ROUGH = 1e-3  # of the objective: near enough to see which rows were fixed wrongly
CLOSE = 1e-9  # of the objective: near enough to see which multipliers are at a bound
CLOSEST = 1e-15


def interior(machine: Machine, effort: Effort, start: Solution | None = None) -> tuple[Solution, int]:
    """The solution and the interior-point steps taken. Its gap is at most `effort.tol`, or as small as float64 allows."""
    sieve, best = Sieve(machine, effort, start), None
    while True:
        here = sieve.solve(ROUGH)
        if not sieve.wrong.any():
            for closeness in (CLOSE, CLOSEST):
                here = sieve.solve(closeness, here)
                found, exact = sieve.solution(here)
                effort.tell(sieve.steps, found.gap)
                best = found if best is None or found.gap <= best.gap else best
                if best.gap <= effort.tol and (exact or closeness == CLOSEST):
                    return best, sieve.steps
        if best is not None and not sieve.wrong.any():
            return best, sieve.steps
        sieve.let_in()


class Sieve:
    """Which rows are let in, where the others are fixed, and how far the objective has come."""

    def __init__(self, machine: Machine, effort: Effort, start: Solution | None) -> None:
        self.machine, self.n_jobs, self.steps = machine, effort.n_jobs, 0
        self.seen, self.y, self.C = machine.visited, machine.signs[machine.seen], machine.costs[machine.seen]
        self.penalty, self.estimate = penalty_of(machine), float(self.C.sum())
        self.unclear, self.fixed = np.ones(len(self.seen), bool), np.zeros(len(self.seen))
        few = sample_of(machine, effort.seed) if start is None else None
        if few is not None:
            self._begin(*self._plane_of(*few), len(few[0]))
        elif start is not None and len(self.seen) >= SMALL:
            self._begin(start.w, start.intercept, len(self.seen))

    def _begin(self, w: Any, b: float, sample: int) -> None:
        """Fix the rows that are far from the margin of this plane, which so many rows have made."""
        self.look(w, b)
        share = self.machine.width * float((self.margins < 1.0).mean()) / sample
        first = len(self.seen) * max(1.0 / LEAST, BAND * np.sqrt(share))
        self.unclear, self.fixed = _nearest(abs(1.0 - self.margins), int(first)), np.where(self.margins < 1.0, self.C, 0.0)

    def _plane_of(self, wanted: Any, costs: Any) -> tuple[Any, float]:
        """The plane of a sample."""
        blocks, here, objective = blocks_of(self.machine, wanted), start_of(costs, len(self.penalty)), self.estimate
        for _ in range(2):  # how small the objective is, and so what is rough, comes out the first time
            here, more = interior_point(
                here, blocks, self.penalty, np.zeros(len(self.penalty)), ROUGH * objective, True, self.n_jobs
            )
            self.steps += more
            w, b = here.v[:-1], self.machine.x0 * float(here.v[-1])
            objective = self.machine.norm(w, b) / 2.0 + float(costs @ np.maximum(0.0, 1.0 - here.Av))
        return w, b

    def look(self, w: Any, b: float) -> None:
        """The margins of all rows, what they cost, and which of the fixed ones are on the wrong side."""
        self.margins = self.y * self.machine.scores(w, b)
        self.estimate = min(self.estimate, self.machine.norm(w, b) / 2.0 + self.machine.losses(self.margins))
        self.wrong = ~self.unclear & np.where(self.fixed > 0.0, self.margins > 1.0, self.margins < 1.0)

    def solve(self, closeness: float, here: Point | None = None) -> Point:
        """The rows let in, with the others fixed."""
        if here is None:
            self.multipliers = np.zeros(len(self.machine.signs))
            self.multipliers[self.seen] = np.where(self.unclear, 0.0, self.fixed)
            held = float(self.multipliers @ self.machine.signs)
            self.g = np.append(self.machine.weights(self.multipliers), self.machine.x0 * held)
            self.inside = blocks_of(self.machine, self.seen[self.unclear])
            here = start_of(self.C[self.unclear], len(self.penalty))
        here, more = interior_point(
            here, self.inside, self.penalty, self.g, closeness * self.estimate, closeness == ROUGH, self.n_jobs
        )
        self.steps += more
        self.look(here.v[:-1], self.machine.x0 * float(here.v[-1]))
        return here

    def solution(self, here: Point) -> tuple[Solution, bool]:
        """What the multipliers make, and whether those at a bound are exactly there."""
        self.multipliers[self.inside.wanted] = here.a
        low, high = self.multipliers == 0.0, self.multipliers == self.machine.costs
        low[self.inside.wanted], high[self.inside.wanted] = here.at_bounds()
        return cross_over(self.machine, self.machine.solution(self.multipliers), low, high)

    def let_in(self) -> None:
        """The rows that came out wrong, and as many again that are nearly so."""
        near = np.where(self.unclear | self.wrong, np.inf, abs(1.0 - self.margins))
        self.unclear |= self.wrong | _nearest(near, int(self.wrong.sum()))


def _nearest(distances: Any, count: int) -> Any:
    """True for the `count` smallest."""
    chosen = np.zeros(len(distances), bool)
    if count > 0:
        chosen[np.argpartition(distances, min(count, len(distances)) - 1)[:count]] = True
    return chosen
