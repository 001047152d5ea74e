"""Dual coordinates on blocks, for many columns: every block improves its own multipliers, and the changes are added (CoCoA+).

Problem    the dual of `svm/problem.py`, for the hinge and its square, with a free intercept as in `svm/dual_coordinates.py`.
Update     in each round, block k starts from the shared weights w and makes passes of dual coordinate descent over its rows,
           with w + K A_k da in place of w + A_k da, K the number of blocks; then w += sum_k A_k da_k. Between rounds, weights
           and multipliers are extrapolated by Nesterov's rule, which starts again when a step turns back or the dual decreases.
Guarantee  |sum_k A_k da_k|^2 <= K sum_k |A_k da_k|^2 for any blocks, so adding the changes is safe for any K, and without the
           extrapolation no round decreases the dual. All multipliers stay feasible. The gap is computed from them on all rows.
Reference  C. Ma, V. Smith, M. Jaggi, M. Jordan, P. Richtarik and M. Takac, Adding vs. averaging in distributed primal-dual
           optimization, ICML 2015; A. Beck and M. Teboulle, SIAM J. Imaging Sciences 2 (2009); B. O'Donoghue and E. Candes,
           Found. Comput. Math. 15 (2015).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..array_types import FloatArray, IntArray
from ..kernels.linear.dual_coordinates import Dual, coordinate_passes
from ..kernels.linear.hinge_sums import hinge_loss
from ..kernels.linear.row_blocks import combine, score
from ..svm.limits import SolverLimits
from ..svm.problem import Solution, squared_lengths
from .block_set import BlockSet
from .blocks import Block
from .engine import Handle
from .hinge import Answer
from .objectives import Head, head_rows

# Passes of a round. Fewer leave the local problems too far from their solutions for the extrapolation; more rarely change
# anything. Each round that decreases the dual doubles the passes of the next ones.
FIRST_PASSES, MAX_PASSES = 5, 80
# Weight of a free intercept in the Lagrangian, relative to the mean squared length of the rows. It couples all blocks, so it is
# smaller than on one machine: 0.001 to 0.01 measured best.
INTERCEPT_WEIGHT = 0.004
TRIED_INTERCEPTS = 9  # intercepts whose loss is computed in each round
FINAL_INTERCEPTS, FINAL_ROUNDS = 33, 3  # intercepts in each round of the search for the best
LESS = 0.7  # the gap is computed again when its estimate has fallen to this share
LEAST_SPREAD = 1e-9  # of the intercepts that are tried


class Terms(NamedTuple):
    """A binary problem of the dual: its rows, whether the hinge is squared, the scale of the intercept, and K."""

    head: Head
    squared: bool
    x0: float
    blocks: int


class LocalRows(NamedTuple):
    """What the rows of a block are in the dual, in the order of the block."""

    wanted: IntArray
    signs: IntArray
    costs: FloatArray
    squares: FloatArray  # squared lengths


@dataclass(frozen=True)
class Local:
    """The multipliers of a block after a round, and what the round did."""

    multipliers: FloatArray
    change: FloatArray  # of the weights and of the intercept's weight: the sum of da_i y_i (x_i, x_0)
    losses: FloatArray  # at the shared weights before the round, for each intercept
    sums: FloatArray  # of a_i and of softness_i a_i^2

    def __sizeof__(self) -> int:
        return self.multipliers.nbytes + self.change.nbytes


class Round(NamedTuple):
    """What all blocks get in a round."""

    number: int
    seed: int
    passes: int
    shared: FloatArray  # the weights, and that of the intercept
    ahead: FloatArray  # the same, extrapolated
    beta: float  # the share of the last change that was added
    center: float  # of a free intercept
    intercepts: FloatArray  # to be tried


# --- tasks ---------------------------------------------------------------------------------------------------------------


def local_rows(block: Block, head: Head) -> LocalRows:
    """The rows of a block in the dual."""

    def make() -> LocalRows:
        wanted, signs, costs = head_rows(block, head)
        all_signs, all_costs = np.zeros(block.n_rows, np.int8), np.zeros(block.n_rows)
        all_signs[wanted], all_costs[wanted] = signs, costs
        return LocalRows(wanted, all_signs, all_costs, squared_lengths(block.rows, block.n_rows))

    found: LocalRows = block.derived(("dual", head), make)
    return found


def survey_rows(block: Block, head: Head) -> FloatArray:
    """The number of rows, their squared lengths and their costs, summed."""
    rows = local_rows(block, head)
    return np.array([len(rows.wanted), rows.squares[rows.wanted].sum(), rows.costs.sum()])


def no_multipliers(block: Block) -> Local:
    """The state of a block at the start."""
    return Local(np.zeros(block.n_rows), np.zeros(block.width + 1), np.zeros(0), np.zeros(2))


def improve(block: Block, before: Local, terms: Terms, turn: Round) -> Local:
    """Improve the multipliers of a block. In units of 1/K of a multiplier, the local problem is that of one machine."""
    rows, K = local_rows(block, terms.head), float(terms.blocks)
    wanted, costs = rows.wanted, rows.costs
    scores = np.empty(len(wanted))
    score(block.rows, wanted, turn.shared[:-1], 0.0, scores)
    losses = _losses(rows, scores, turn.intercepts, terms.squared)
    softness = np.zeros(0)
    curvatures = rows.squares + terms.x0**2
    if terms.squared:
        softness = np.zeros(block.n_rows)
        softness[wanted] = 0.5 / costs[wanted]
        curvatures += softness / K
    start = turn.ahead - K * turn.beta * before.change
    dual = Dual(
        signs=rows.signs,
        caps=np.where(costs > 0.0, np.inf, 0.0) if terms.squared else K * costs,
        softness=softness / K,
        curvatures=curvatures,
        multipliers=K * before.multipliers,
        w=start[:-1].copy(),
        v=start[-1:].copy(),
        b=np.array([turn.center]),
        bounds=np.array([np.inf, -np.inf]),
        x0=terms.x0,
    )
    seed = np.random.default_rng((turn.seed, block.number, turn.number)).integers(1, 2**64, 1, np.uint64)
    coordinate_passes(block.rows, dual, wanted.copy(), len(wanted), turn.passes, False, seed)
    a = dual.multipliers / K if terms.squared else np.where(dual.multipliers == dual.caps, costs, dual.multipliers / K)
    change = (np.append(dual.w, dual.v) - start) / K
    return Local(a, change, losses, np.array([a.sum(), float(softness @ (a * a)) if terms.squared else 0.0]))


def _losses(rows: LocalRows, scores: FloatArray, intercepts: FloatArray, squared: bool) -> FloatArray:
    signs, costs = rows.signs[rows.wanted], rows.costs[rows.wanted]
    return np.array([hinge_loss(scores, signs, costs, float(b), squared) for b in intercepts])


def result_of(local: Local) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What the client gets of a round."""
    return local.change, local.losses, local.sums


def class_sums(block: Block, local: Local, terms: Terms) -> tuple[FloatArray, FloatArray, FloatArray]:
    """By class, +1 first: the sums of a_i, of softness_i a_i^2, and of a_i y_i x_i."""
    rows = local_rows(block, terms.head)
    a, signs, costs = local.multipliers[rows.wanted], rows.signs[rows.wanted], rows.costs[rows.wanted]
    sums, squares, totals = np.zeros(2), np.zeros(2), np.zeros((2, block.width))
    for i, sign in enumerate((1, -1)):
        own = np.where(signs == sign, a, 0.0)
        sums[i], squares[i] = own.sum(), 0.5 * float(own @ (own / costs)) if terms.squared else 0.0
        combine(block.rows, rows.wanted, sign * own, totals[i])
    return sums, squares, totals


def losses_at(block: Block, terms: Terms, w: FloatArray, intercepts: FloatArray) -> FloatArray:
    """The loss of the rows for each of several intercepts."""
    rows = local_rows(block, terms.head)
    scores = np.empty(len(rows.wanted))
    score(block.rows, rows.wanted, w, 0.0, scores)
    return _losses(rows, scores, intercepts, terms.squared)


def support(block: Block, local: Local, terms: Terms, factors: FloatArray) -> tuple[IntArray, FloatArray]:
    """The rows with a multiplier other than zero, counted over all blocks, and their feasible multipliers."""
    rows = local_rows(block, terms.head)
    a = local.multipliers * np.where(rows.signs > 0, factors[0], factors[1])
    found = np.flatnonzero(a)
    return block.start + found, a[found]


# --- the rounds ----------------------------------------------------------------------------------------------------------


def solve_dual(blocks: BlockSet, head: Head, squared: bool, limits: SolverLimits, patience: float = np.inf) -> Answer:
    """Solve a binary problem; the steps are rounds.

    patience : rounds after which the method ends if the gap does not fall fast enough to reach the tolerance in as many more.
    """
    run = Ascent(blocks, head, squared, limits)
    found, wanted = None, limits.tol
    least: list[float] = []
    while run.rounds < limits.max_iter:
        estimate = run.improve()
        limits.report(run.rounds, estimate)
        least.append(min(estimate, least[-1] if least else np.inf))
        if estimate <= wanted:
            found = run.solution()
            if found.gap <= limits.tol:
                break
            wanted = LESS * estimate
        if run.rounds >= patience and not _hopeful(least, limits.tol):
            break
    if found is None or not found.gap <= limits.tol:
        found = run.solution()
    return Answer(found, run.rounds, "dual-coordinates", run.support())


def _hopeful(least: list[float], tol: float) -> bool:
    """Whether the gap reaches the tolerance in as many rounds as were made, if it falls as fast as in the last half of them."""
    rounds, half = len(least), len(least) // 2
    return rounds * float(np.log(least[half] / least[-1])) >= (rounds - half) * float(np.log(least[-1] / tol))


class Ascent:
    """The shared weights, and the multipliers of all blocks, which stay where they were computed."""

    def __init__(self, blocks: BlockSet, head: Head, squared: bool, limits: SolverLimits) -> None:
        self.blocks, self.head, self.free, self.seed = blocks, head, head.free and head.x0 != 0.0, limits.seed
        count, squares, cost = map(float, blocks.sum(survey_rows, head))
        x0 = float(np.sqrt(INTERCEPT_WEIGHT * squares / count + 1.0 / cost)) if self.free else head.x0
        self.terms = Terms(head, squared, x0, len(blocks.blocks))
        self.size = 8 * (blocks.n_features + 1)
        self.shared: FloatArray = np.zeros(blocks.n_features + 1)
        self.change: FloatArray = np.zeros(blocks.n_features + 1)
        self.locals: list[Handle] = blocks.start(no_multipliers)
        self.sums = np.zeros(2)  # of a_i and of softness_i a_i^2
        self.rounds, self.passes, self.momentum, self.center, self.spread = 0, FIRST_PASSES, 1.0, 0.0, 1.0
        self.intercept = 0.0  # the best that was tried
        self.factors = np.ones(2)

    def improve(self) -> float:
        """Make a round; return an estimate of the gap before it."""
        after = (1.0 + np.sqrt(1.0 + 4.0 * self.momentum**2)) / 2.0
        beta = (self.momentum - 1.0) / after
        ahead = self.shared + beta * self.change
        tried = self._intercepts(self.intercept, TRIED_INTERCEPTS)
        turn = Round(self.rounds, self.seed, self.passes, self.shared, ahead, float(beta), self.center, tried)
        self.locals = self.blocks.start(improve, self.terms, turn, of_each=[self.locals])
        results = replace(self.blocks, blocks=tuple(self.locals))
        self.change, losses, sums = results.sum(result_of, size=self.size)
        estimate, before = self._estimate(tried, losses), self._dual()
        self.shared, self.sums = self.shared + self.change, sums
        worse = self._dual() < before
        if worse:
            self.passes = min(2 * self.passes, MAX_PASSES)
        if worse or float((ahead - self.shared) @ self.change) > 0.0:  # the step turns back
            after = 1.0
        self.rounds, self.momentum = self.rounds + 1, after
        if self.free:
            self.center += self.terms.x0 * float(self.shared[-1])
        return estimate

    def _dual(self) -> float:
        """The dual objective; with a free intercept, the Lagrangian at the center."""
        value = float(self.sums[0]) - 0.5 * float(self.sums[1]) - 0.5 * float(self.shared @ self.shared)
        return value - (self.center * float(self.shared[-1]) / self.terms.x0 if self.free else 0.0)

    def _intercepts(self, middle: float, count: int) -> FloatArray:
        """Intercepts to try: around the best so far; one only if it is given by the weights."""
        if not self.free:
            return np.array([self.terms.x0 * float(self.shared[-1])])
        return np.concatenate([middle + self.spread * np.linspace(-1.0, 1.0, count), [self.center]])

    def _choose(self, tried: FloatArray, losses: FloatArray, count: int) -> float:
        """Take the intercept of the least loss, and narrow or widen the next ones; return the loss."""
        best = int(losses.argmin())
        if self.free:
            at_edge = best in (0, count - 1) and losses[best] < losses[count // 2]
            self.spread = max(LEAST_SPREAD, self.spread * (2.0 if at_edge else 0.5))
        self.intercept = float(tried[best])
        return float(losses[best])

    def _estimate(self, tried: FloatArray, losses: FloatArray) -> float:
        """The gap if the multipliers were feasible for a free intercept."""
        w, v = self.shared[:-1], float(self.shared[-1])
        own = float(w @ w) / 2.0
        primal, dual = (
            own + self._choose(tried, losses, TRIED_INTERCEPTS),
            float(self.sums[0]) - float(self.sums[1]) / 2.0 - own,
        )
        if self.free:
            dual -= self.intercept * v / self.terms.x0
        else:
            primal, dual = primal + v * v / 2.0, dual - v * v / 2.0
        return abs(primal - dual) / primal if primal > 0.0 else 0.0

    def solution(self) -> Solution:
        """The solution of feasible multipliers, with its gap on all rows."""
        sums, squares, totals = self.blocks.sum(class_sums, self.terms, of_each=[self.locals], size=2 * self.size)
        v = self.terms.x0 * float(sums[0] - sums[1])
        self.shared = np.append(totals[0] + totals[1], v)  # without the rounding errors of the rounds
        self.factors = np.ones(2)
        if self.free and sums.min() > 0.0:
            self.factors = sums.min() / sums
        elif self.free:
            self.factors = np.zeros(2)
        w: FloatArray = self.factors @ totals
        dual = float(self.factors @ sums) - float(self.factors**2 @ squares) / 2.0 - float(w @ w) / 2.0
        penalty = 0.0 if self.free else v * v / 2.0
        for _ in range(FINAL_ROUNDS if self.free else 1):
            tried = self._intercepts(self.intercept, FINAL_INTERCEPTS)
            loss = self._choose(tried, self.blocks.sum(losses_at, self.terms, w, tried), FINAL_INTERCEPTS)
            self.spread *= 4.0 / FINAL_INTERCEPTS
        nothing = np.zeros(0)
        primal = float(w @ w) / 2.0 + penalty + loss
        return Solution(w, self.intercept, nothing, primal, dual - penalty, nothing, nothing)

    def support(self) -> tuple[IntArray, FloatArray]:
        """The support vectors and multipliers of `solution`, which was called last."""
        found = self.blocks.each(support, self.terms, self.factors, of_each=[self.locals])
        return np.concatenate([rows for rows, _ in found]), np.concatenate([a for _, a in found])
