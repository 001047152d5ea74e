"""Sifting: most rows of a large problem are surely right or surely wrong, and only the others need the interior point.

Update     solve a sample of the rows; by its plane, fix the rows far above the margin at a = 0 and those far below it at a = C;
           solve for the rows between, where the fixed ones are one linear term, g = the sum of C_i A_i; look at all rows, and
           let those that were fixed on the wrong side back in; until the gap is small.
Guarantee  rows let in never leave, so it ends; the gap is that of all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .crossover import cross_over
from .interior_point import Point, interior_point, start_of
from .problem import Effort, Machine, Solution
from .row_blocks import SMALL, blocks_of, penalty_of, sample_of

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
