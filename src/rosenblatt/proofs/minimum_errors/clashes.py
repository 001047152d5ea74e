"""Clashes: sets of rows that no plane separates, found among all rows or some, each proved in fractions.

Problem    among these rows, are there some that no plane gets right together?
Update     rows near a good plane are looked at first: of those the nearest points of the classes (`direct/nearest.py`) either
           meet, which makes a clash, or give a plane. That plane may separate all; else more rows join, four times as many.
Guarantee  a clash is one in exact arithmetic, at most d + 2 rows; every plane gets at least one row of it wrong. Where floats
           could not be settled there is neither a clash nor a plane.
Reference  P. Gordan, Math. Annalen 6 (1873); such sets are the irreducible infeasible subsystems of E. Amaldi, M. E. Pfetsch
           and L. E. Trotter, Math. Programming 95 (2003).
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, linprog, milp

from ...data.problem import Problem, rows_as_matrix, take_rows
from ...svm.exact_separation import WorkBudget
from ...svm.hard_margin import hard_margin_by_coordinates, many_and_sparse
from ...svm.nearest_points import approach, nearest_points
from ...svm.not_separable import NotSeparable
from ...svm.signed_rows import SignedRows, entries, keys
from .exact_signs import Plane, plane_of

Clash = tuple[int, ...]

FIRST = 256  # rows looked at first, or so many times as there are columns
PER_COLUMN = 8
MORE = 4
LOOKED = 4096  # rows at a time, for equal ones
STEPS = 20_000  # of the active set
DEAR, HALF_A_MINUTE = 400, 30.0  # so many rows and columns may take so long: they are not begun when less time is left
WIDE = 2000  # no clash is looked for among more: it would have as many rows, and prove one error


class Clashes:
    """Looks for clashes, nearest first as `near` orders the rows."""

    def __init__(self, problem: Problem, deadline: float) -> None:
        self.problem, self.deadline = problem, deadline
        self.signs = np.asarray(problem.labels.signs)
        self.near = np.arange(problem.n_rows)
        self.free = problem.x0 != 0

    def out_of_time(self) -> bool:
        return time.perf_counter() > self.deadline

    def by_nearness(self, plane: Plane) -> None:
        scores = np.zeros(self.problem.n_rows)
        step = 1 << 14
        with np.errstate(all="ignore"):
            for start in range(0, len(scores), step):
                scores[start : start + step] = self.problem.matrix(start, start + step) @ plane.coef + plane.bias
        self.near = np.argsort(abs(np.nan_to_num(scores)), kind="stable")

    def look(self, left: Any) -> Clash | Plane | None:
        """A clash among the rows `left`; or a plane that gets them all right; or neither, where time or floats do not allow."""
        places = self.near[left[self.near]]
        size = max(FIRST, PER_COLUMN * self.problem.n_features)
        while not self.out_of_time():
            found = self._nearest(np.sort(places[:size]))
            if found is None or isinstance(found, tuple):
                return found
            wrong = found.wrong[left[found.wrong]]
            if not len(wrong):
                return found
            if size >= len(places):
                return None
            places = np.concatenate([places[:size], wrong[: len(places)], places[size:]])  # what it got wrong joins first
            places = places[np.sort(np.unique(places, return_index=True)[1])]
            size *= MORE
        return None

    def _nearest(self, some: Any) -> Clash | Plane | None:
        """Of these rows alone."""
        signs = self.signs[some]
        if self.free and (len(some) == 0 or abs(int(signs.sum(dtype=np.int64))) == len(some)):
            bias = 1.0 if len(some) and signs[0] > 0 else -1.0
            return plane_of(self.problem, np.zeros(self.problem.n_features), bias)
        if len(some) == 0:
            return plane_of(self.problem, np.zeros(self.problem.n_features), 0.0)
        size = min(len(some), self.problem.n_features)
        if size > WIDE or (size > DEAR and self.deadline - time.perf_counter() < HALF_A_MINUTE):
            return None
        part = replace(self.problem, visited=some)
        try:
            with np.errstate(all="ignore"):
                found = nearest_points(part, max_steps=STEPS)
        except NotSeparable as proof:
            return tuple(proof.rows) if proof.exact and self._checked(proof) else None
        except ValueError:  # floats do not hold the plane
            return None
        return plane_of(self.problem, found.coef, found.bias)

    def separate(self, right: Any) -> Plane | None:
        """A plane that gets just these rows right, which are known to be separable."""
        found = self._nearest(np.flatnonzero(right))
        return found if isinstance(found, Plane) else None

    def _checked(self, proof: NotSeparable) -> bool:
        """The proof once more, by the checker, on copies of its rows and of one of each class, for there must be two."""
        some = [*proof.rows, int(self.signs.argmin()), int(self.signs.argmax())]
        rows = rows_as_matrix(take_rows(self.problem.rows, np.array(some)), 0, len(some))
        here = NotSeparable(range(len(proof.rows)), proof.weights, 1, self.free)
        return here.check(rows, self.signs[some].tolist())

    def pack(self, left: Any, most: int) -> tuple[list[Clash], Plane | None]:
        """Clashes that share no row, so many at most; and a plane for the rows that are left, if that is how it ends."""
        left, found = left.copy(), list[Clash]()
        while len(found) < most:
            one = self.look(left)
            if not isinstance(one, tuple):
                return found, one
            left[list(one)] = False
            found.append(one)
        return found, None

    def twins(self) -> list[Clash]:
        """Pairs of rows that are the same point with opposite labels, each row in one pair at most; without a bias also rows of
        zeros. Time may end the search before the last row."""
        groups = defaultdict[bytes, tuple[list[int], list[int]]](lambda: ([], []))
        zeros = list[Clash]()
        for start in range(0, self.problem.n_rows, LOOKED):
            if self.out_of_time():
                break
            for i, key in enumerate(keys(self.problem.matrix(start, start + LOOKED)), start):
                if not key and not self.free:
                    zeros.append((i,))
                else:
                    groups[key][int(self.signs[i] > 0)].append(i)
        pairs = [(min(p), max(p)) for group in groups.values() for p in zip(*group, strict=False)]
        return zeros + sorted(pair for pair in pairs if self._same(*pair))

    def _same(self, i: int, j: int) -> bool:
        one, other = (entries(self.problem.matrix(k, k + 1), 0) for k in (i, j))
        return all(map(np.array_equal, one, other))


# --- How many errors every plane must make: at least one in each clash.
#
# Problem    min sum_i e_i  s.t.  sum over i in C of e_i >= 1 for every clash C, e_i 0 or 1. Over all clashes its minimum is the
#            least number of errors; over some of them it is a lower bound.
# Update     solve it for the clashes known, as a linear program while that finds new ones, then in whole numbers; take its rows
#            away and look for clashes among the others. If a plane gets those right, it is optimal.
# Guarantee  three bounds, each with its clashes: clashes that share no row, as many errors as there are of them; weights on
#            clashes that add up to 1 at most in each row (dual of the linear program), their sum, checked in whole numbers; and
#            the bound that HiGHS proves for the program in whole numbers, in floats.
# Reference  E. Amaldi, M. E. Pfetsch and L. E. Trotter, Math. Programming 95 (2003); J. W. Chinneck, Feasibility and
#            Infeasibility in Optimization (2008); implicit hitting sets: E. Moreno-Centeno and R. M. Karp, Oper. Res. 61
#            (2013).

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


# --- The errors that equal rows force, and a plane that makes no others.
#
# Problem    rows that are the same point with different labels make every plane err once for each pair of them; is there a
#            plane that gets all rows outside of such pairs right?
# Update     the plane of the widest margin of those rows, or one half as wide, which does as well: by dual coordinates where
#            they are many and sparse, else by nearest points.
# Guarantee  a plane whose errors are as many as the pairs has the fewest of all planes: both are counted exactly. Of a point
#            with more rows of one label than of the other the surplus is outside of the pairs, so that the plane is on its
#            side; a point with as many of both is one error for each pair on either side.

HALF = 0.5  # as wide as the widest margin is wide enough
FORCED_STEPS = 100_000  # of the active set


def plane_for(problem: Problem, left: Any, deadline: float) -> Plane | None:
    """A plane that separates the rows `left`, or nearly; None where there is none, or no time (by `time.monotonic`)."""
    some = np.flatnonzero(left)
    if len(np.unique(np.asarray(problem.labels.signs)[some])) < 2:
        return None
    part, start = replace(problem, visited=some), None
    with np.errstate(all="ignore"):
        if many_and_sparse(part):
            plane, start = hard_margin_by_coordinates(part, HALF, deadline)
            if plane is not None:
                return plane_of(problem, plane.coef, plane.bias)
        rows = SignedRows(part)
        end = approach(rows, tol=HALF, max_steps=FORCED_STEPS, start=start, budget=WorkBudget(deadline=deadline))
        if end.decision is not None and not end.decision.apart:
            return None
        try:
            found = end.run.result(end.reason if end.decision is None else end.run.adopt(end.decision))
        except ValueError:  # floats do not hold the plane
            return None
    return plane_of(problem, found.coef, found.bias)


def why(twins: list[Clash]) -> str:
    """Why a plane with one error for each of these has the fewest, in a sentence."""
    pairs = sum(len(clash) == 2 for clash in twins)
    parts = [f"a row of {'this pair' if pairs == 1 else f'each of these {pairs:,} pairs'} of equal rows with different labels"]
    zeros = len(twins) - pairs
    parts = [*(parts if pairs else []), *([f"{zeros:,} {'row' if zeros == 1 else 'rows'} of zeros"] if zeros else [])]
    return f"every plane gets {' and '.join(parts)} wrong, and this one gets all others right"
