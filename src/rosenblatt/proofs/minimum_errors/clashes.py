"""Lower bounds on the errors of every plane, from clashes: sets of rows that no plane separates.

Finding clashes:

Problem    among these rows, are there some that no plane classifies correctly together?
Update     rows near a good plane come first: the nearest points of their two classes (`svm/nearest_points.py`) either coincide,
           which makes a clash, or give a plane. That plane may separate all rows; otherwise four times as many rows are used.
Guarantee  a clash holds in exact arithmetic and has at most d + 2 rows; every plane misclassifies at least one of them. If
           floats could not decide, the result is neither a clash nor a plane.
           Equal rows with different labels force one error per pair. A plane with as many errors as there are such pairs has
           the fewest of all planes: both are counted exactly. Of a point with more rows of one label than of the other the
           surplus is outside of the pairs, so that the plane is on its side; a point with equally many of both causes one
           error per pair on either side.
Reference  P. Gordan, Math. Annalen 6 (1873); such sets are the irreducible infeasible subsystems of E. Amaldi, M. E. Pfetsch
           and L. E. Trotter, Math. Programming 95 (2003).

The smallest set of rows that hits every clash:

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
from collections import defaultdict
from dataclasses import replace
from enum import Enum
from functools import cached_property
from itertools import takewhile

import numpy as np
import scipy.sparse as sp
from scipy.optimize import LinearConstraint, linprog, milp

from ...array_types import BoolArray, FloatArray, IntArray
from ...certificates.time_limit import OutOfTimeError, run_until
from ...data.problem import Problem, rows_as_matrix, take_rows
from ...progress import current_callback
from ...reporting.text import count, fixed, join_and, plural
from ...svm.exact_separation import WorkBudget
from ...svm.hard_margin import hard_margin_by_coordinates, many_and_sparse
from ...svm.nearest_points import approach, nearest_points
from ...svm.not_separable import NotSeparable
from ...svm.signed_rows import SignedRows, entries, keys
from .exact_signs import FloatPlane, plane_with_errors

Clash = tuple[int, ...]

MIN_FIRST_ROWS, FIRST_ROWS_PER_COLUMN = 256, 8  # rows examined first: the larger of the two numbers
GROWTH = 4  # factor by which the number of examined rows grows
ROWS_PER_SCORE_BLOCK, ROWS_PER_KEY_BLOCK = 1 << 14, 4096
MAX_SOLVER_STEPS = 20_000
EXPENSIVE_SIZE, EXPENSIVE_TIME_S = 400, 30.0  # larger problems may take this long; they are not started with less time left
MAX_SIZE = 2000  # rows and columns; a larger clash would be expensive and prove one error only
RELATIVE_MARGIN_TOL = 0.5  # half of the widest margin is enough
MAX_FORCED_STEPS = 100_000  # limit of steps of the solver in `plane_for`
EVALUATION_TIME_SHARE = 0.1  # share of the time of `plane_for` for what follows when the solver has reached its deadline
WEIGHT_UNIT = 1 << 40  # weights of clashes are rounded down to multiples of 1 over this
MAX_CLASHES = 4000  # clashes in a program; if there are more, those of weight zero are dropped
CLASHES_PER_ROUND = 24
FIRST_NODE_LIMIT, MAX_NODE_LIMIT = 2000, 1 << 30  # nodes of the search tree of HiGHS in a round
HIGHS_TOL = 1e-5  # tolerance for results of HiGHS, such as a bound before it is rounded up
REMOVAL_FACTORS = (1.0, 3.0, 9.0)  # rows are removed with this many times the probability that the linear program gives them


class ClashFinder:
    """Searches for clashes; `near` is the order in which rows are examined."""

    def __init__(self, problem: Problem, deadline: float) -> None:
        self.problem, self.deadline = problem, deadline
        self.signs = np.asarray(problem.signs)
        self.near = np.arange(problem.n_rows)
        self.free = problem.x0 != 0

    def out_of_time(self) -> bool:
        return time.perf_counter() > self.deadline

    def sort_by_distance(self, plane: FloatPlane) -> None:
        """Examine the rows nearest to a plane first."""
        scores = np.zeros(self.problem.n_rows)
        with np.errstate(all="ignore"):
            for start in range(0, len(scores), ROWS_PER_SCORE_BLOCK):
                here = slice(start, start + ROWS_PER_SCORE_BLOCK)
                scores[here] = self.problem.matrix(here.start, here.stop) @ plane.coef + plane.bias
        self.near = np.argsort(abs(np.nan_to_num(scores)), kind="stable")

    def find(self, left: BoolArray) -> Clash | FloatPlane | None:
        """A clash among the rows `left`, or a plane that classifies them all correctly; None if time or precision ran out."""
        places = self.near[left[self.near]]
        size = max(MIN_FIRST_ROWS, FIRST_ROWS_PER_COLUMN * self.problem.n_features)
        while not self.out_of_time():
            found = self._nearest(np.sort(places[:size]))
            if found is None or isinstance(found, tuple):
                return found
            wrong = found.wrong[left[found.wrong]]
            if not len(wrong):
                return found
            if size >= len(places):
                return None
            places = np.concatenate([places[:size], wrong[: len(places)], places[size:]])  # misclassified rows come next
            places = places[np.sort(np.unique(places, return_index=True)[1])]
            size *= GROWTH
        return None

    def _nearest(self, positions: IntArray) -> Clash | FloatPlane | None:
        """A clash or a plane of the rows `positions` alone."""
        signs = self.signs[positions]
        if self.free and (len(positions) == 0 or abs(int(signs.sum(dtype=np.int64))) == len(positions)):
            bias = 1.0 if len(positions) and signs[0] > 0 else -1.0
            return plane_with_errors(self.problem, np.zeros(self.problem.n_features), bias)
        if len(positions) == 0:
            return plane_with_errors(self.problem, np.zeros(self.problem.n_features), 0.0)
        size = min(len(positions), self.problem.n_features)
        if size > MAX_SIZE or (size > EXPENSIVE_SIZE and self.deadline - time.perf_counter() < EXPENSIVE_TIME_S):
            return None
        part = replace(self.problem, visited=positions)
        try:
            with np.errstate(all="ignore"), run_until(time.monotonic() + self.deadline - time.perf_counter()):
                try:
                    found = nearest_points(part, max_steps=MAX_SOLVER_STEPS, progress=current_callback())
                except NotSeparable as proof:
                    return tuple(proof.rows) if proof.exact and self._checked(proof) else None
        except (ValueError, OutOfTimeError):  # ValueError: the plane cannot be represented in floats
            return None
        return plane_with_errors(self.problem, found.coef, found.bias)

    def separate(self, right: BoolArray) -> FloatPlane | None:
        """A plane that classifies exactly these rows correctly, which are known to be separable."""
        found = self._nearest(np.flatnonzero(right))
        return found if isinstance(found, FloatPlane) else None

    def _checked(self, proof: NotSeparable) -> bool:
        """Whether the checker accepts the proof, on copies of its rows and, since it needs two classes, of one row of each."""
        some = [*proof.rows, int(self.signs.argmin()), int(self.signs.argmax())]
        rows = rows_as_matrix(take_rows(self.problem.rows, np.array(some)), 0, len(some))
        here = NotSeparable(range(len(proof.rows)), proof.weights, 1, self.free)
        return here.check(rows, self.signs[some].tolist())

    def find_disjoint(self, left: BoolArray, max_clashes: int) -> tuple[list[Clash], FloatPlane | None]:
        """Up to `max_clashes` clashes that share no row; and a plane for the remaining rows, if the search ends with one."""
        left, found = left.copy(), list[Clash]()
        while len(found) < max_clashes:
            one = self.find(left)
            if not isinstance(one, tuple):
                return found, one
            left[list(one)] = False
            found.append(one)
        return found, None

    def equal_pairs(self) -> list[Clash]:
        """Pairs of equal rows with different labels, each row in at most one pair; without a bias also rows of zeros.

        The search may stop at the deadline, before the last row.
        """
        groups = defaultdict[bytes, tuple[list[int], list[int]]](lambda: ([], []))
        zeros = list[Clash]()
        for start in range(0, self.problem.n_rows, ROWS_PER_KEY_BLOCK):
            if self.out_of_time():
                break
            for i, key in enumerate(keys(self.problem.matrix(start, start + ROWS_PER_KEY_BLOCK)), start):
                if not key and not self.free:
                    zeros.append((i,))
                else:
                    groups[key][int(self.signs[i] > 0)].append(i)
        pairs = ((min(p), max(p)) for group in groups.values() for p in zip(*group, strict=False))
        return zeros + sorted(pair for pair in takewhile(lambda _: not self.out_of_time(), pairs) if self._same(*pair))

    def _same(self, i: int, j: int) -> bool:
        one, other = (entries(self.problem.matrix(k, k + 1), 0) for k in (i, j))
        return all(map(np.array_equal, one, other))


# --- errors that equal rows force ------------------------------------------------------------------------------------------


def plane_for(problem: Problem, left: BoolArray, deadline: float) -> FloatPlane | None:
    """A plane that separates the rows `left`, or nearly; None if there is none or no time (deadline of `time.monotonic`).

    It has at least half of the widest margin: by dual coordinates for many sparse rows, else by nearest points.
    """
    some = np.flatnonzero(left)
    if len(np.unique(np.asarray(problem.signs)[some])) < 2:
        return None
    try:
        with np.errstate(all="ignore"), run_until(deadline):
            solver_deadline = deadline - EVALUATION_TIME_SHARE * max(0.0, deadline - time.monotonic())
            found = _plane_of(replace(problem, visited=some), solver_deadline)
    except (ValueError, OutOfTimeError):  # ValueError: the plane cannot be represented in floats
        return None
    return None if found is None else plane_with_errors(problem, *found)


def _plane_of(part: Problem, deadline: float) -> tuple[FloatArray, float] | None:
    start = None
    if many_and_sparse(part):
        plane, start = hard_margin_by_coordinates(part, RELATIVE_MARGIN_TOL, deadline)
        if plane is not None:
            return plane.coef, plane.bias
    rows, budget, callback = SignedRows(part), WorkBudget(deadline=deadline), current_callback()
    end = approach(rows, tol=RELATIVE_MARGIN_TOL, max_steps=MAX_FORCED_STEPS, start=start, budget=budget, progress=callback)
    if end.decision is not None and not end.decision.apart:
        return None
    found = end.run.result(end.reason if end.decision is None else end.run.adopt(end.decision))
    return found.coef, found.bias


def describe_forced_errors(equal_pairs: list[Clash]) -> str:
    """Why a plane with one error for each of these pairs has the fewest errors."""
    pairs = sum(len(clash) == 2 for clash in equal_pairs)
    zeros = len(equal_pairs) - pairs
    parts = []
    if pairs:
        each = "this pair" if pairs == 1 else f"each of these {plural(pairs, 'pair')}"
        parts.append(f"a row of {each} of equal rows with different labels")
    if zeros:
        parts.append(f"{plural(zeros, 'row')} of zeros")
    return f"every plane misclassifies {join_and(parts)}, and this one classifies all others correctly"


# --- hitting sets ----------------------------------------------------------------------------------------------------------


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
            several = f"{count(len(clashes))} sets of rows have no row in common, and every plane misclassifies a row of each"
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

    def _matrix(self) -> sp.csr_array:
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
                f"weights on {plural(len(self.rests_on), 'set')} of rows add up to {fixed(total / most, 2)} in all and to at "
                "most 1 in each row, and every plane misclassifies a row of each set (checked in integers)"
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
                f"no {count(self.lower - 1)} rows include one of each of {plural(len(self.rests_on), 'set')} of rows (bound of "
                "HiGHS, computed in floats), and every plane misclassifies a row of each"
            )
        if found.x is None or self._out_of_time():
            self.node_limit = min(2 * self.node_limit, MAX_NODE_LIMIT)
            return []
        left = found.x < 0.5
        clashes, plane = self.finder.find_disjoint(left, CLASHES_PER_ROUND)
        if not self._add(clashes):
            self.node_limit = min(2 * self.node_limit, MAX_NODE_LIMIT)
        return [plane] if plane is not None else []
