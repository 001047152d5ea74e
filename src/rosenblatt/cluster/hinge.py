"""The hinge loss on blocks: most rows are fixed by the plane of a sample, and only the others need a solver.

Problem    min over v:  1/2 <v, P v> + sum_i C_i max(0, 1 - m_i), as in `objectives.py`.
Update     solve a sample of the rows; keep the rows near its margin, and the mean of those far below it (`working_set.py`).
           If the kept rows of all blocks fit into the memory of a worker, one task solves them as on one machine; else the
           interior point runs with sums over their blocks (`interior_point.py`). Check all rows; keep those that are on another
           side of the margin than was assumed, and repeat until the gap is small.
Guarantee  the dual objective of the kept rows and means is a bound for all rows; the primal objective is that of all rows. Rows
           that are kept once stay, so it ends. Which way is taken depends on the rows alone.
Reference  M. Ferris and T. Munson, SIAM J. Optimization 13 (2002).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..array_types import FloatArray, IntArray
from ..reporting.text import short
from ..svm.interior_point import FINE_TOL, FINEST_TOL, ROUGH_TOL, first_share
from ..svm.limits import SolverLimits
from ..svm.problem import BinarySVM, Solution
from ..svm.row_blocks import MIN_SAMPLED_ROWS, SAMPLE_DIVISOR, SAMPLE_ROWS_PER_COLUMN
from ..svm.solver_choice import solve_binary_svm
from ..svm.ties import TIE
from .block_set import BlockSet
from .engine import Handle
from .interior_point import BlockSystem, KeptRows, multiplier_sums, multipliers_of
from .objectives import Head
from .sample import MAX_SAMPLE_BYTES
from .working_set import (
    Look,
    Plane,
    Size,
    bin_of_count,
    draw_rows,
    fixed_rows,
    join_rows,
    keep,
    look,
    mark,
    mark_all,
    mean_rows,
    release,
    sample_plane,
    size_of,
)

MAX_JOINED_BYTES = 1 << 26  # of kept rows that one task solves
BYTES_PER_ROW, BYTES_PER_DENSE_VALUE, BYTES_PER_SPARSE_VALUE = 64, 8, 12
FINE_SHARE = 0.1  # share of the tolerance that sums over blocks leave to the complementarity
RELEASED_SHARE = 0.125  # at least this share of the kept rows is added to them if some were on the wrong side

# The multipliers of the kept rows, of all or of each block, and those of the means as shares of their costs.
Multipliers = tuple[list[FloatArray], FloatArray]


class Answer(NamedTuple):
    """A binary problem: its solution, the number of steps, the name of the solver, and the support vectors and multipliers."""

    solution: Solution
    steps: int
    solver: str
    support: tuple[IntArray, FloatArray] | None


class Candidate(NamedTuple):
    """A plane, a bound for the objective, and a function that gathers the multipliers of both."""

    plane: Plane
    dual: float
    multipliers: Callable[[], Multipliers]


class Best(NamedTuple):
    """The best solution so far, the rows on its plane, its objective with a lowered intercept, and its support vectors."""

    solution: Solution
    ties: int
    lowered: float
    support: Callable[[], tuple[IntArray, FloatArray]]


def solve_hinge(blocks: BlockSet, head: Head, limits: SolverLimits, solver: str, settle: bool) -> Answer:
    """Solve a binary problem.

    solver : "interior-point", or "auto" for any solver of one machine if one task solves for all rows.
    settle : whether the intercept is lowered if rows lie on the plane, see `svm/ties.py`.
    """
    if not head.C * blocks.total_weight * blocks.n_rows < np.inf:
        raise ValueError(overflow(head))
    sifting = Sifting(blocks, head, limits, solver)
    while True:
        for candidates in sifting.solve():
            sifting.check(candidates)
            if sifting.wrong or sifting.solved:
                break
        if sifting.solved or not sifting.wrong:
            return sifting.answer(settle)
        sifting.release()


def overflow(head: Head) -> str:
    """The message for an objective that is not finite."""
    return f"C={short(head.C, 6)} overflowed: use a smaller C, or scale the features"


def lowered(best: Best, tol: float) -> Solution:
    """The solution, with a lowered intercept if rows lie on the plane and the gap stays small."""
    found = best.solution
    if not best.ties:
        return found
    below = replace(found, intercept=found.intercept - TIE, primal=best.lowered)
    return below if below.gap <= max(tol, found.gap) else found


def count_rows(blocks: BlockSet, head: Head) -> tuple[int, int]:
    """The rows of both classes, +1 first."""
    positive = int(blocks.counts[head.positive])
    return positive, int(blocks.counts.sum()) - positive if head.negative is None else int(blocks.counts[head.negative])


def fits_one_task(blocks: BlockSet, head: Head) -> bool:
    """Whether one task may solve for all rows of a problem."""
    rows = sum(count_rows(blocks, head))
    return _fits(rows, int(blocks.facts.stored * (rows / max(1, blocks.n_rows))), blocks.facts.sparse)


def _fits(rows: int, values: int, sparse: bool) -> bool:
    return BYTES_PER_ROW * rows + (BYTES_PER_SPARSE_VALUE if sparse else BYTES_PER_DENSE_VALUE) * values <= MAX_JOINED_BYTES


class Sifting:
    """The rows that are kept, those that are fixed, and the best solution so far."""

    def __init__(self, blocks: BlockSet, head: Head, limits: SolverLimits, solver: str) -> None:
        self.blocks, self.head, self.limits, self.solver, self.used = blocks, head, limits, solver, solver
        self.counts = count_rows(blocks, head)
        self.n_rows = sum(self.counts)
        self.steps, self.wrong, self.estimate = 0, 0, np.inf
        self.best: Best | None = None
        self.start: Plane | None = None
        self.penalty = np.ones(blocks.n_features + 1)
        self.penalty[-1] = 0.0 if head.free and head.x0 != 0.0 else 1.0
        found = None if fits_one_task(blocks, head) else self._sample()
        self.marks: list[Handle]
        if found is None:
            self.marks = blocks.start(mark_all, head)
        else:
            self.start, sampled, self.steps = found
            seen = self._look((self.start,), None)
            share = first_share(blocks.n_features, seen.inside / max(1, self.n_rows), sampled)
            self.marks = blocks.start(mark, head, self.start, bin_of_count(seen.bins, int(share * self.n_rows)))
        self._keep()

    def _sample(self) -> tuple[Plane, int, int] | None:
        """The plane of a sample, its rows, and the steps; None if a sample is not worthwhile."""
        blocks, least = self.blocks, SAMPLE_ROWS_PER_COLUMN * self.blocks.n_features
        wanted = max(self.n_rows // SAMPLE_DIVISOR, least)
        wanted = min(wanted, int(MAX_SAMPLE_BYTES / (BYTES_PER_DENSE_VALUE * max(1.0, blocks.facts.density))))
        if wanted < least or self.n_rows < max(MIN_SAMPLED_ROWS, 4 * wanted):
            return None
        # Both classes have the same sum of multipliers: half of the sample is for each, as far as a class has that many rows.
        sizes = [min(own, max(wanted // 2, wanted - other)) for own, other in (self.counts, self.counts[::-1])]
        shares = tuple(size / max(1, own) for size, own in zip(sizes, self.counts, strict=True))
        parts = blocks.start(draw_rows, self.head, shares, self.limits.seed)
        task = blocks.engine.submit(sample_plane, parts, self.head.free)
        found: tuple[Plane, int, int] | None = blocks.engine.gather([task])[0]
        return found

    def _look(self, planes: tuple[Plane, ...], marks: list[Handle] | None) -> Look:
        """What all rows are at some planes."""
        none: list[Handle] = [None] * len(self.blocks.blocks)
        found: Look = self.blocks.sum(look, self.head, planes, of_each=[marks or none])
        return found

    def _keep(self) -> None:
        """Take the rows that the marks keep from their blocks."""
        size = 8 * 2 * self.blocks.n_features
        self.size: Size = self.blocks.sum(size_of, self.head, of_each=[self.marks], size=size)
        self.kept = self.blocks.start(keep, self.head, of_each=[self.marks])
        self.means = mean_rows(self.size, self.head, self.blocks.facts.sparse)
        self.estimate = min(self.estimate, self.size.cost)

    @property
    def solved(self) -> bool:
        """Whether the gap is small enough."""
        return self.best is not None and self.best.solution.gap <= self.limits.tol

    def check(self, candidates: list[Candidate]) -> None:
        """Compute the objective of the candidates on all rows, and how many rows are on the wrong side of the first."""
        seen = self._look(tuple(each.plane for each in candidates), self.marks)
        self.last, self.seen, self.wrong = candidates[0].plane, seen, seen.wrong
        for i, (plane, dual, multipliers) in enumerate(candidates):
            values = [self._norm(plane, by) / 2.0 + float(seen.losses[j, i]) for j, by in enumerate((0.0, TIE))]
            nothing = np.zeros(0)
            found = Solution(plane.w, plane.intercept, nothing, values[0], dual, nothing, nothing)
            self.estimate = min(self.estimate, values[0])
            better = self.best is None or (found.gap < self.best.solution.gap and not self.solved)
            if better and dual != -np.inf:
                support = partial(gather_support, self.blocks, self.head, self.marks, multipliers)
                self.best = Best(found, int(seen.ties[i]), values[1], support)
        if self.best is not None:
            self.limits.report(self.steps, self.best.solution.gap)

    def answer(self, settle: bool) -> Answer:
        """The best solution, with a lowered intercept if rows lie on its plane."""
        if self.best is None:
            raise ValueError(overflow(self.head))
        found = lowered(self.best, self.limits.tol) if settle and self.head.x0 else self.best.solution
        return Answer(found, self.steps, self.used, self.best.support())

    def _norm(self, plane: Plane, by: float) -> float:
        own = float(plane.w @ plane.w)
        if self.head.free or self.head.x0 == 0.0:
            return own
        return own + ((plane.intercept - by) / self.head.x0) ** 2

    def release(self) -> None:
        """Keep the rows on the wrong side of the last plane, too, and others near its margin."""
        last = bin_of_count(self.seen.bins, max(self.wrong, int(RELEASED_SHARE * self.size.rows)))
        self.marks = self.blocks.start(release, self.head, self.last, last, of_each=[self.marks])
        self.start = self.last
        self._keep()

    # --- solving the kept rows

    def solve(self) -> Iterator[list[Candidate]]:
        """Solve for the kept rows and means; each turn has a higher accuracy."""
        if _fits(self.size.rows, self.size.values, self.blocks.facts.sparse):
            yield [self._solve_joined()]
        else:
            yield from self._solve_in_blocks()

    def _solve_joined(self) -> Candidate:
        """Solve in one task."""
        engine, limits = self.blocks.engine, replace(self.limits, n_jobs=1, progress=None)
        solver = self.solver if self.start is None else "interior-point"
        task = engine.submit(solve_joined, self.kept, self.means, self.head.free, solver, limits, self.start)
        found: Joined = engine.gather([task])[0]
        self.steps, self.used = self.steps + found.steps, found.solver
        shares = np.ones(2)
        if self.means is not None:
            own = found.multipliers[self.size.rows :] / self.means.costs
            shares[np.where(self.means.signs > 0.0, 0, 1)] = own
        rows = found.multipliers[: self.size.rows]
        return Candidate(found.plane, found.dual, lambda: ([rows], shares))

    def _solve_in_blocks(self) -> Iterator[list[Candidate]]:
        """Solve with sums over the blocks: roughly, finely, and as finely as float64 allows."""
        engine, self.used = self.blocks.engine, "interior-point"
        means = [] if self.means is None else [engine.put(self.means)]
        kept = replace(self.blocks, blocks=(*self.kept, *means))
        system = BlockSystem(kept, self.size.rows + (0 if self.means is None else len(self.means)), self.penalty)
        v: FloatArray = np.zeros(len(self.penalty))
        fine = max(FINE_TOL, FINE_SHARE * self.limits.tol)
        for tol in (ROUGH_TOL, fine, FINEST_TOL) if fine <= ROUGH_TOL else (fine, FINEST_TOL):
            v, more = system.follow(v, tol * self.estimate, tol > fine)
            self.steps += more
            plane = Plane(v[:-1].copy(), self.head.x0 * float(v[-1]))
            if tol > fine:
                yield [Candidate(plane, -np.inf, lambda: ([], np.ones(2)))]
                continue
            parts = kept.sum(multiplier_sums, of_each=[system.at], size=64 * len(v))
            bounds = [self._bound(kept, system.at, plane, rounded, *part) for rounded, part in enumerate(parts)]
            yield [bounds[True], bounds[False], bounds[False]._replace(plane=plane)]

    def _bound(
        self, kept: BlockSet, at: list[Handle], plane: Plane, rounded: int, sums: FloatArray, totals: FloatArray
    ) -> Candidate:
        """The plane of the multipliers, with the intercept of another plane, and their dual objective."""
        factors = feasible_factors(sums) if self.head.free and self.head.x0 else np.ones((2, 2))
        total = np.tensordot(factors, totals, 2)
        counted = total[:-1] if self.head.free else total
        dual = float((factors * sums).sum()) - 0.5 * float(counted @ counted)
        gather = partial(gather_multipliers, kept, at, bool(rounded), factors, self.means)
        return Candidate(Plane(total[:-1], plane.intercept), dual, gather)


def feasible_factors(sums: FloatArray) -> FloatArray:
    """The factors that make both classes have the same sum of multipliers, as `BinarySVM.feasible` does.

    sums : of the multipliers by class, and by whether they are at a bound. The class of the larger sum is scaled down: the
        multipliers between their bounds if they are large enough, else all.
    """
    factors = np.ones((2, 2))
    excess = float(sums[0].sum() - sums[1].sum())
    heavier = 0 if excess > 0.0 else 1
    between, whole = float(sums[heavier, 0]), float(sums[heavier].sum())
    if between >= 2.0 * abs(excess):
        factors[heavier, 0] = 1.0 - abs(excess) / between if between else 1.0
    else:
        factors[heavier] = 1.0 - abs(excess) / whole
    return factors


# --- tasks, and what is gathered at the end --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Joined:
    """The solution of kept rows and means."""

    plane: Plane
    dual: float
    multipliers: FloatArray
    steps: int
    solver: str


def solve_joined(
    parts: list[KeptRows], means: KeptRows | None, free: bool, solver: str, limits: SolverLimits, start: Plane | None
) -> Joined:
    """A task: solve for the kept rows of all blocks and the means, from the plane of a sample."""
    parts = parts if means is None else [*parts, means]
    signs, costs = (np.concatenate([getattr(part, name) for part in parts]) for name in ("signs", "costs"))
    rows = join_rows([part.rows for part in parts], parts[0].width)
    svm = BinarySVM(rows, signs.astype(np.int8), costs, False, parts[0].x0, free)
    nothing = np.zeros(0)
    near = None if start is None else Solution(start.w, start.intercept, nothing, np.inf, 0.0, nothing, nothing)
    found, steps, used = solve_binary_svm(svm, solver, limits, near)
    return Joined(Plane(found.w, found.intercept), found.dual, found.multipliers, steps, used)


def scaled_multipliers(kept: KeptRows, at: FloatArray, rounded: bool, factors: FloatArray) -> FloatArray:
    """A task: the feasible multipliers of kept rows."""
    a, between = multipliers_of(kept, at, rounded)
    return a * factors[np.where(kept.signs > 0.0, 0, 1), np.where(between, 0, 1)]


def gather_multipliers(
    kept: BlockSet, at: list[Handle], rounded: bool, factors: FloatArray, means: KeptRows | None
) -> Multipliers:
    """The multipliers of kept rows and means that were solved in blocks."""
    found, shares = kept.each(scaled_multipliers, rounded, factors, of_each=[at]), np.ones(2)
    if means is not None:
        shares[np.where(means.signs > 0.0, 0, 1)] = found.pop() / means.costs
    return found, shares


def gather_support(
    blocks: BlockSet, head: Head, marks: list[Handle], multipliers: Callable[[], Multipliers]
) -> tuple[IntArray, FloatArray]:
    """The support vectors, counted over all blocks, and their multipliers."""
    own, shares = multipliers()
    parts = blocks.each(fixed_rows, head, of_each=[marks])
    inside = np.concatenate([rows for rows, *_ in parts])
    fixed = [costs * np.where(signs > 0.0, shares[0], shares[1]) for _, _, signs, costs in parts]
    places = np.concatenate([inside, *(rows for _, rows, *_ in parts)])
    a = np.concatenate([*own, *fixed])
    order = np.argsort(places, kind="stable")
    order = order[a[order] > 0.0]
    return places[order], a[order]
