"""How many errors every plane must make: at least one in each clash.

Problem    min sum_i e_i  s.t.  sum over i in C of e_i >= 1 for every clash C, e_i 0 or 1. Over all clashes its minimum is the
           least number of errors; over some of them it is a lower bound.
Update     solve it for the clashes known, as a linear program while that finds new ones, then in whole numbers; take its rows
           away and look for clashes among the others. If a plane gets those right, it is optimal.
Guarantee  three bounds, each with its clashes: clashes that share no row, as many errors as there are of them; weights on
           clashes that add up to 1 at most in each row (dual of the linear program), their sum, checked in whole numbers; and
           the bound that HiGHS proves for the program in whole numbers, in floats.
Reference  E. Amaldi, M. E. Pfetsch and L. E. Trotter, Math. Programming 95 (2003); J. W. Chinneck, Feasibility and
           Infeasibility in Optimization (2008); implicit hitting sets: E. Moreno-Centeno and R. M. Karp, Oper. Res. 61 (2013).
"""

from __future__ import annotations

import math
import time
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, linprog, milp

from ...data.problem import Problem
from .clashes import Clash, Clashes
from .exact_signs import Plane

GRAIN = 1 << 40  # weights of clashes are rounded down to whole multiples of one over this
MOST = 4000  # clashes in a program; then those that weigh nothing go
FOUND = 24  # clashes looked for in a round
NODES = 2000  # of HiGHS' tree in a round
MOST_NODES = 1 << 30
SAFE = 1e-5  # what is taken off a bound of HiGHS before it is rounded up
AVOID = (1.0, 3.0, 9.0)  # rows are left out with so many times the probability that the linear program gives them


class Hitting:
    """Clashes so far, and the best lower bound that they have proved."""

    def __init__(self, problem: Problem, seed: int, deadline: float) -> None:
        self.finder, self.deadline, self.n = Clashes(problem, deadline), deadline, problem.n_rows
        self.rng = np.random.default_rng(seed)
        self.clashes: dict[Clash, None] = {}  # in order
        self.lower, self.how, self.rests_on = 0, "", list[Clash]()
        self.exact = True  # whether the bound is proved in whole numbers
        self.nodes = NODES

    @cached_property
    def twins(self) -> list[Clash]:
        return self.finder.twins()

    @property
    def others(self) -> Any:
        """Whether each row is outside of the pairs of equal points."""
        left = np.ones(self.n, bool)
        left[[i for clash in self.twins for i in clash]] = False
        return left

    def begin(self) -> Plane | None:
        """Pairs of equal points, then clashes apart from each other; the plane, if one gets all rows right."""
        twins = self.twins
        self._packed(twins)
        found, plane = self.finder.pack(self.others, max(1, 4 * FOUND))
        self._packed([*twins, *found])
        return plane

    def _packed(self, apart: list[Clash]) -> None:
        self._add(apart)
        if len(apart) > self.lower:
            self.lower, self.rests_on, self.exact = len(apart), apart, True
            many = f"these {len(apart):,} clashes share no row, and every plane gets a row of each wrong"
            self.how = many if len(apart) > 1 else "no plane gets all rows of this clash right"

    def _add(self, found: list[Clash]) -> int:
        before = len(self.clashes)
        self.clashes.update(dict.fromkeys(found))
        return len(self.clashes) - before

    def round(self) -> Plane | None:
        """More clashes, and what they prove; a plane, if one was found on the way."""
        e = self._linear()
        if e is None or self._late():
            return None
        planes, new = list[Plane](), 0
        for often in AVOID:
            left = self.rng.random(self.n) >= often * e
            left[e > 1 - SAFE] = False
            found, plane = self.finder.pack(left, FOUND)
            new += self._add([clash for clash in found if e[list(clash)].sum() < 1 - SAFE])
            planes += [plane] if plane is not None else []
            if self._late():
                break
        if not new and not self._late():
            planes += self._whole()
        return min(planes, key=lambda plane: plane.errors, default=None)

    def _late(self) -> bool:
        return time.perf_counter() > self.deadline

    def _left(self) -> float:
        return max(0.05, self.deadline - time.perf_counter())

    def _matrix(self) -> Any:
        lengths = [len(clash) for clash in self.clashes]
        columns = [i for clash in self.clashes for i in clash]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return sp.csr_array((np.ones(len(columns)), columns, indptr), shape=(len(lengths), self.n))

    def _linear(self) -> Any:
        """The solution of the linear program; its dual raises the bound."""
        A = self._matrix()
        found = linprog(
            np.ones(self.n), A_ub=-A, b_ub=-np.ones(A.shape[0]), bounds=(0, None), method="highs",
            options={"time_limit": self._left()},
        )  # fmt: skip
        if found.x is None or found.ineqlin is None or found.ineqlin.marginals is None:
            return None
        weights = [max(0, math.floor(-float(y) * GRAIN)) for y in found.ineqlin.marginals]
        self._weighted(list(self.clashes), weights)
        if len(self.clashes) > MOST:
            self.clashes = {clash: None for clash, weight in zip(self.clashes, weights, strict=True) if weight}
        return np.clip(found.x, 0.0, 1.0)

    def _weighted(self, clashes: list[Clash], weights: list[int]) -> None:
        """Every error pays for its row's clashes: no fewer errors than all weights over the most that a row has."""
        loads = [0] * self.n
        for clash, weight in zip(clashes, weights, strict=True):
            for i in clash:
                loads[i] += weight
        total, most = sum(weights), max(max(loads, default=0), GRAIN)
        lower = -(-total // most)
        if lower > self.lower:
            self.exact = True
            self.lower, self.rests_on = lower, [clash for clash, weight in zip(clashes, weights, strict=True) if weight]
            self.how = (
                f"weights on {len(self.rests_on):,} clashes, at most 1 in each row together, add up to {total / most:.2f}: "
                "every plane gets a row of each wrong, and so at least as many rows, as whole numbers confirm"
            )

    def _whole(self) -> list[Plane]:
        """The program in whole numbers: its bound, and new clashes among the rows that it leaves, or a plane."""
        A = self._matrix()
        found = milp(
            np.ones(self.n), integrality=np.ones(self.n), bounds=(0, 1), constraints=LinearConstraint(A, lb=1.0),
            options={"time_limit": self._left(), "node_limit": self.nodes, "mip_rel_gap": 0.0},
        )  # fmt: skip
        bound = found.mip_dual_bound
        if bound is not None and np.isfinite(bound) and math.ceil(bound - SAFE) > self.lower:
            self.lower, self.rests_on, self.exact = math.ceil(bound - SAFE), list(self.clashes), False
            self.how = (
                f"HiGHS: no {self.lower - 1:,} rows have one of each of these {len(self.rests_on):,} clashes "
                "(its bound, in floats), and every plane gets a row of each wrong"
            )
        if found.x is None or self._late():
            self.nodes = min(2 * self.nodes, MOST_NODES)
            return []
        left = found.x < 0.5
        clashes, plane = self.finder.pack(left, FOUND)
        if not self._add(clashes):
            self.nodes = min(2 * self.nodes, MOST_NODES)  # nothing to learn from but a longer search
        return [plane] if plane is not None else []
