"""A soft margin on rows of two or more classes: one binary problem for each class or pair, or one joint problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..kernels.linear.rows import CSR, Rows
from ..parallel import in_order
from ..progress import ProgressCallback, problem_callback
from .crammer_singer import CrammerSinger, solve_crammer_singer
from .hard_margin import hard_margin, prefer_hard_margin
from .joint_descent import MAX_PASSES, fits_into_memory, joint_blocks, joint_multipliers
from .l1_columns import Columns
from .l1_newton import columns_of, solve_l1
from .l1_problem import BinaryL1
from .limits import SolverLimits
from .logistic import BinaryLogistic, solve_logistic
from .multinomial import Multinomial, solve_multinomial
from .problem import BinarySVM, Head, Solution, heads, squared_lengths
from .solver_choice import only_dual_coordinates, solve_binary_svm
from .ties import settle_rows_on_plane, settle_ties
from .unpenalized import solve_binary_likelihood, solve_multinomial_likelihood

HARD_MARGIN_C = 1e3  # above this C the hard margin may be the solution


class Solved(NamedTuple):
    """A binary problem: its solution, the iterations, and the name of the solver."""

    solution: Solution
    steps: int
    solver: str


@dataclass(frozen=True)
class SoftMarginTask:
    """The rows of all classes, and what a soft margin minimizes on them."""

    rows: Rows
    codes: IntArray
    classes: Array
    weights: FloatArray | None  # of the rows, which scale C; None: every row has weight 1
    scheme: str
    C: float
    loss: str
    penalty: str
    solver: str
    x0: float
    free: bool  # the intercept has no penalty
    limits: SolverLimits
    threads: int
    progress: ProgressCallback | None
    longest: float  # no row is longer

    @property
    def row_weights(self) -> FloatArray:
        """The weight of every row; one number that is broadcast if all are 1."""
        # With two classes, a joint problem has w_1 = -w_0 = w/2: it is the binary problem with twice the C.
        share = 2.0 if self.scheme in ("crammer_singer", "multinomial") and len(self.classes) == 2 else 1.0
        return np.broadcast_to(share, len(self.codes)) if self.weights is None else share * self.weights

    @property
    def _cost(self) -> float:
        """The cost of a row of weight 1; any, if nothing else counts."""
        return 1.0 if self.unpenalized else self.C

    @property
    def unpenalized(self) -> bool:
        """Whether only the likelihood counts."""
        return self.loss == "logistic" and np.inf == self.C

    @property
    def continues_from_weights(self) -> bool:
        """Whether a solution is all that its weights are, so that other rows can continue from it."""
        return self.loss == "logistic" or self.penalty == "l1"

    @property
    def _hard(self) -> bool:
        """Whether no row may cross the margin."""
        return self.loss != "logistic" and np.inf == self.C

    @property
    def _is_svm(self) -> bool:
        """Whether each problem is a `BinarySVM`."""
        return self.loss != "logistic" and self.penalty != "l1" and not self._hard

    def solve_jointly(self, start: CrammerSinger | Multinomial | None) -> CrammerSinger | Multinomial:
        """Solve one problem for all classes (Crammer and Singer, or multinomial)."""
        if self.loss == "logistic":
            assert not isinstance(start, CrammerSinger)
            solve = solve_multinomial_likelihood if self.unpenalized else solve_multinomial
            return solve(
                self.rows, self.codes, len(self.classes), self._cost * self.row_weights, x0=self.x0, free=self.free,
                longest=self.longest, limits=replace(self.limits, n_jobs=self.threads, progress=self.progress), start=start,
            )  # fmt: skip
        assert not isinstance(start, Multinomial)
        return solve_crammer_singer(
            self.rows, self.codes, len(self.classes), self.C * self.row_weights, x0=self.x0, free=self.free,
            tol=self.limits.tol, max_iter=self.limits.max_iter, seed=self.limits.seed, start=start, progress=self.progress,
        )  # fmt: skip

    def solve_each(self, before: list[Any] | None) -> tuple[list[Solved], list[IntArray]]:
        """Solve all binary problems; return the answers, and the rows of each if a problem has the rows of a pair only."""
        rows, codes, weights = self.rows, self.codes, self.row_weights
        problems = heads(rows, codes, len(self.classes), self.scheme, weights=self.weights, x0=self.x0)
        inner = self.threads if len(problems) == 1 else 1
        limits = replace(self.limits, n_jobs=inner)
        pair_rows = [head.rows_that_count() for head in problems if head.pair and not self._hard]

        same_rows = not problems[0].pair
        columns = columns_of(rows, self.x0, self.free) if same_rows and self.penalty == "l1" else None
        squares = squared_lengths(rows, len(codes)) if same_rows and len(problems) > 1 and self._is_svm else None
        joint = {} if before or squares is None else self._descend_jointly(problems, squares)

        def solve(h: int) -> Solved:
            head, effort = problems[h], replace(limits, progress=problem_callback(self.progress, h, len(problems)))
            start = before[h] if before else None
            if h in joint:
                return self._finish(head, weights, effort, squares, *joint[h])
            if not head.pair or self._hard:
                return self._solve_binary(head, weights, effort, start, columns, squares)
            # A pair is solved on a copy of its rows: with many classes they are a small part of all rows.
            places = pair_rows[h]
            if not self.continues_from_weights and start is not None and len(start.multipliers) == len(codes):
                start = start.at(places)
            return self._solve_binary(head.alone(places), weights[places], effort, start)

        results = list(in_order(solve, range(len(problems)), self.threads if inner == 1 else 1))
        if problems[0].negative is None and self.loss == "hinge" and np.isfinite(self.C):
            settled = settle_ties(rows, codes, [each.solution for each in results], self.x0, self.free, limits.tol)
            results = [each._replace(solution=found) for found, each in zip(settled, results, strict=True)]
        return results, pair_rows

    def _descend_jointly(self, problems: list[Head], squares: FloatArray) -> dict[int, tuple[FloatArray, int]]:
        """The multipliers of classes that are solved together, and the passes made; none where that does not pay."""
        rows, weights = self.rows, self.row_weights
        blocks = joint_blocks(len(problems))
        penalized = not self.free or self.x0 == 0.0
        if not (blocks and penalized and self.loss == "squared_hinge" and isinstance(rows, CSR) and fits_into_memory(rows)):
            return {}
        first = BinarySVM(rows, problems[0].problem.signs, self._cost * weights, True, self.x0, self.free, squares)
        if not only_dual_coordinates(first, self.solver) or len(first.visited) < len(weights):
            return {}
        if self.limits.max_iter < 2 * MAX_PASSES:
            return {}

        def descend(block: range) -> tuple[FloatArray, int]:
            return joint_multipliers(rows, self.codes, block, first.costs, squares, self.x0, self.limits.tol, self.limits.seed)

        found = in_order(descend, blocks, self.threads)
        return {
            h: (multipliers[h - block.start], passes)
            for block, (multipliers, passes) in zip(blocks, found, strict=True)
            for h in block
        }

    def _finish(
        self, head: Head, weights: FloatArray, limits: SolverLimits, squares: FloatArray | None, a: FloatArray, passes: int
    ) -> Solved:
        """The solution of a class with these multipliers, after more passes of its own if the gap is too large."""
        svm = BinarySVM(self.rows, head.problem.signs, self._cost * weights, True, self.x0, self.free, squares)
        found = svm.solution(a)
        limits.report(passes, found.gap)
        if found.gap <= limits.tol:
            return Solved(found, passes, "dual-coordinates")
        more = self._solve_binary(head, weights, replace(limits, max_iter=limits.max_iter - passes), found, squares=squares)
        return more._replace(steps=more.steps + passes)

    def _solve_binary(
        self,
        head: Head,
        weights: FloatArray,
        limits: SolverLimits,
        start: Solution | None,
        columns: Columns | None = None,
        squares: FloatArray | None = None,
    ) -> Solved:
        problem = head.problem
        if self._hard:
            return Solved(*hard_margin(problem, limits, self.classes[head.positive], head.about(self.classes)))
        # If all rows have the same C, one number is broadcast.
        costs = np.broadcast_to(self._cost * weights[0], len(weights)) if weights.strides == (0,) else self._cost * weights
        if problem.visited is not None:
            costs = np.zeros(len(weights))
            costs[problem.visited] = self._cost * weights[problem.visited]
        if self.penalty == "l1":
            sparse = BinaryL1(problem.rows, problem.signs, costs, self.loss == "squared_hinge", problem.x0, self.free)
            return Solved(*solve_l1(sparse, limits, start, columns), "newton")
        if self.loss == "logistic":
            logistic = BinaryLogistic(problem.rows, problem.signs, costs, False, problem.x0, self.free, longest=self.longest)
            solve = solve_binary_likelihood if self.unpenalized else solve_logistic
            return Solved(*solve(logistic, limits, start), "newton")
        svm = BinarySVM(problem.rows, problem.signs, costs, self.loss == "squared_hinge", problem.x0, self.free, squares)
        answer = found, steps, solver = solve_binary_svm(svm, self.solver, limits, start)
        if found.gap > limits.tol and self.loss == "hinge" and (self.free or self.x0 == 0.0) and self.C > HARD_MARGIN_C:
            found, steps, solver = prefer_hard_margin(problem, svm, limits, answer)
        if head.negative is not None and self.loss == "hinge":
            found = settle_rows_on_plane(problem.rows, problem.signs, found, problem.x0, self.free, limits.tol)
        return Solved(found, steps, solver)
