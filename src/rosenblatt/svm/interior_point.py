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
from scipy.linalg import cho_solve

from .row_blocks import Blocks, factored

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
