"""A lower bound on the errors of every plane: at least one row of each clash is misclassified.

Problem    min sum_i e_i  s.t.  sum over i in C of e_i >= 1 for every clash C, e_i 0 or 1. Over all clashes its minimum is the
           least number of errors; over some of them it is a lower bound.
Update     solve it for the known clashes, as a linear program while that leads to new ones, then in integers; remove its rows
           and search for clashes among the others. If a plane classifies those correctly, it is optimal.
Guarantee  three bounds, each with its clashes: the number of clashes that share no row; the sum of weights on clashes that add
           up to at most 1 in each row (dual of the linear program), checked in integers; and the bound that HiGHS proves for
           the integer program, in floats.
Reference  E. Amaldi, M. E. Pfetsch and L. E. Trotter, Math. Programming 95 (2003); J. W. Chinneck, Feasibility and
           Infeasibility in Optimization (2008); implicit hitting sets: E. Moreno-Centeno and R. M. Karp, Oper. Res. 61
           (2013).
"""

from __future__ import annotations

import math
import time
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, linprog, milp

from ...array_types import BoolArray, FloatArray
from ...data.problem import Problem
from .clashes import Clash, ClashFinder
from .exact_signs import FloatPlane

WEIGHT_UNIT = 1 << 40  # weights of clashes are rounded down to multiples of 1 over this
MAX_CLASHES = 4000  # clashes in a program; if there are more, those of weight zero are dropped
CLASHES_PER_ROUND = 24
FIRST_NODE_LIMIT, MAX_NODE_LIMIT = 2000, 1 << 30  # nodes of the search tree of HiGHS in a round
HIGHS_TOL = 1e-5  # tolerance for results of HiGHS, such as a bound before it is rounded up
REMOVAL_FACTORS = (1.0, 3.0, 9.0)  # rows are removed with this many times the probability that the linear program gives them


class LowerBoundProof(Enum):
    """How a lower bound on the errors of every plane was proved."""

    NONE = "none"  # nothing was proved in the time allowed
    SEPARABLE = "separable"  # the bound is 0, and a plane reaches it
    DUPLICATES = "duplicates"  # equal rows with different labels force all errors
    ENUMERATION = "enumeration"  # all planes were tried
    DISJOINT_CLASHES = "disjoint-clashes"
    WEIGHTED_CLASHES = "weighted-clashes"  # the dual of the linear program, checked in integers
    INTEGER_PROGRAM = "integer-program"  # the bound of HiGHS, in floats


class HittingSet:
    """The clashes found so far, and the best lower bound that they prove."""

    def __init__(self, problem: Problem, seed: int, deadline: float) -> None:
        self.finder, self.deadline, self.n = ClashFinder(problem, deadline), deadline, problem.n_rows
        self.rng = np.random.default_rng(seed)
        self.clashes: dict[Clash, None] = {}  # a set in order of insertion
        self.lower, self.rests_on = 0, list[Clash]()
        self.proof, self.how = LowerBoundProof.NONE, "nothing was proved in the time allowed"
        self.node_limit = FIRST_NODE_LIMIT

    @cached_property
    def equal_pairs(self) -> list[Clash]:
        return self.finder.equal_pairs()

    @property
    def unpaired(self) -> BoolArray:
        """Whether each row is outside of the pairs of equal points."""
        left = np.ones(self.n, bool)
        left[[i for clash in self.equal_pairs for i in clash]] = False
        return left

    def begin(self) -> FloatPlane | None:
        """Find pairs of equal points, then disjoint clashes; return the plane for the remaining rows, if there is one."""
        pairs = self.equal_pairs
        self._use_disjoint(pairs)
        found, plane = self.finder.find_disjoint(self.unpaired, max(1, 4 * CLASHES_PER_ROUND))
        self._use_disjoint([*pairs, *found])
        return plane

    def _use_disjoint(self, clashes: list[Clash]) -> None:
        self._add(clashes)
        if len(clashes) > self.lower:
            self.lower, self.rests_on, self.proof = len(clashes), clashes, LowerBoundProof.DISJOINT_CLASHES
            several = f"{len(clashes):,} sets of rows have no row in common, and every plane misclassifies a row of each"
            self.how = several if len(clashes) > 1 else "no plane classifies all rows correctly"

    def _add(self, clashes: list[Clash]) -> int:
        """Add clashes; return how many are new."""
        before = len(self.clashes)
        self.clashes.update(dict.fromkeys(clashes))
        return len(self.clashes) - before

    def round(self) -> FloatPlane | None:
        """Find more clashes and improve the bound; return the best plane found on the way, if any."""
        e = self._solve_linear()
        if e is None or self._out_of_time():
            return None
        planes, new = list[FloatPlane](), 0
        for factor in REMOVAL_FACTORS:
            left = self.rng.random(self.n) >= factor * e
            left[e > 1 - HIGHS_TOL] = False
            found, plane = self.finder.find_disjoint(left, CLASHES_PER_ROUND)
            new += self._add([clash for clash in found if e[list(clash)].sum() < 1 - HIGHS_TOL])
            planes += [plane] if plane is not None else []
            if self._out_of_time():
                break
        if not new and not self._out_of_time():
            planes += self._solve_integer()
        return min(planes, key=lambda plane: plane.errors, default=None)

    def _out_of_time(self) -> bool:
        return time.perf_counter() > self.deadline

    def _time_left(self) -> float:
        return max(0.05, self.deadline - time.perf_counter())

    def _matrix(self) -> Any:
        """The constraints: clashes x rows."""
        lengths = [len(clash) for clash in self.clashes]
        columns = [i for clash in self.clashes for i in clash]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return sp.csr_array((np.ones(len(columns)), columns, indptr), shape=(len(lengths), self.n))

    def _solve_linear(self) -> FloatArray | None:
        """The solution of the linear program; its dual improves the bound."""
        A = self._matrix()
        found = linprog(
            np.ones(self.n), A_ub=-A, b_ub=-np.ones(A.shape[0]), bounds=(0, None), method="highs",
            options={"time_limit": self._time_left()},
        )  # fmt: skip
        if found.x is None or found.ineqlin is None or found.ineqlin.marginals is None:
            return None
        weights = [max(0, math.floor(-float(y) * WEIGHT_UNIT)) for y in found.ineqlin.marginals]
        self._use_weights(list(self.clashes), weights)
        if len(self.clashes) > MAX_CLASHES:
            self.clashes = {clash: None for clash, weight in zip(self.clashes, weights, strict=True) if weight}
        return np.asarray(np.clip(found.x, 0.0, 1.0))

    def _use_weights(self, clashes: list[Clash], weights: list[int]) -> None:
        """Every error covers the clashes of its row: the errors are at least the sum of all weights over that of any row."""
        loads = [0] * self.n
        for clash, weight in zip(clashes, weights, strict=True):
            for i in clash:
                loads[i] += weight
        total, most = sum(weights), max(max(loads, default=0), WEIGHT_UNIT)
        lower = -(-total // most)
        if lower > self.lower:
            self.lower, self.proof = lower, LowerBoundProof.WEIGHTED_CLASHES
            self.rests_on = [clash for clash, weight in zip(clashes, weights, strict=True) if weight]
            self.how = (
                f"weights on {len(self.rests_on):,} sets of rows add up to {total / most:.2f} in all and to at most 1 in each "
                "row, and every plane misclassifies a row of each set (checked in integers)"
            )

    def _solve_integer(self) -> list[FloatPlane]:
        """Solve the integer program for its bound, and for new clashes or a plane among the rows outside of its solution."""
        A = self._matrix()
        found = milp(
            np.ones(self.n), integrality=np.ones(self.n), bounds=(0, 1), constraints=LinearConstraint(A, lb=1.0),
            options={"time_limit": self._time_left(), "node_limit": self.node_limit, "mip_rel_gap": 0.0},
        )  # fmt: skip
        bound = found.mip_dual_bound
        if bound is not None and np.isfinite(bound) and math.ceil(bound - HIGHS_TOL) > self.lower:
            self.lower, self.rests_on = math.ceil(bound - HIGHS_TOL), list(self.clashes)
            self.proof = LowerBoundProof.INTEGER_PROGRAM
            self.how = (
                f"no {self.lower - 1:,} rows include one of each of {len(self.rests_on):,} sets of rows (bound of HiGHS, "
                "computed in floats), and every plane misclassifies a row of each"
            )
        if found.x is None or self._out_of_time():
            self.node_limit = min(2 * self.node_limit, MAX_NODE_LIMIT)
            return []
        left = found.x < 0.5
        clashes, plane = self.finder.find_disjoint(left, CLASHES_PER_ROUND)
        if not self._add(clashes):
            self.node_limit = min(2 * self.node_limit, MAX_NODE_LIMIT)
        return [plane] if plane is not None else []
