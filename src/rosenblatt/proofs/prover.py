"""The search for a certificate, of two classes and of several.

Floats find planes and pairs of rows. Their margins and lengths are then computed exactly; if the verdict is still open or the
margin is inaccurate, the search continues in fractions. `Prover` has what both cases share. `TwoClasses` finds one plane,
`SeveralClasses` k weight vectors by pairs of rows and rivals (`class_pairs.py`); or they find a clash.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ..array_types import FloatArray, IntArray, Matrix
from ..certificates.statements import About, Ceiling, Certificate, Inseparable, Margin, Pair, Plane, Separable, Undecided
from ..data.problem import make_problem
from ..progress import current_callback
from ..svm.exact_separation import Decision, WorkBudget, decide, decide_by_equal_rows
from ..svm.hard_margin import hard_margin_by_coordinates, many_and_sparse
from ..svm.nearest_points import approach
from ..svm.signed_rows import SignedRows
from .class_pairs import KeslerRows
from .exact_margins import (
    column_exponents,
    combination,
    convex_fractions,
    equal_rows,
    largest_value,
    least_margin,
    least_score,
    longest_row,
    negated,
    plane_from_floats,
    scaled,
    scaled_planes,
    squared_norm,
    tightest,
)  # fmt: skip
from .pairs_interior_point import PairsInteriorPoint

if TYPE_CHECKING:
    from .certify import LabeledRows

FLOAT_TOL = 1e-12  # relative gap that the solvers in floats aim for
MAX_GAP = 1e-10  # margins with a larger relative gap are computed again in fractions
MAX_PAIRS_ALWAYS_EXACT = 12  # a margin that rests on at most this many pairs is always computed in fractions
MAX_SOLVER_STEPS = 10_000_000
UNEVEN_BITS = 16  # columns are rescaled to find a verdict if their sizes differ by this power of two
FREE_INTERCEPT_SCALE = 2.0**17  # x0 in row lengths: an intercept with this constant is free up to a relative error of 1e-10
MAX_FAST_PAIRS = 1000  # pairs up to which the interior-point method is fast
MAX_GRAM_PAIRS = 2500  # pairs for which a Gram matrix is built
MAX_GRAM_VALUES = 1 << 23  # values of the rows for which a Gram matrix is built
MAX_QUICK_VALUES = 10_000  # values of pairs whose bound is computed and checked when time is up: about 0.05 s
MAX_EXPONENT = 1000  # rows with larger values than 2 to this exponent are scaled down first


@dataclass(frozen=True)
class ClashFoundError(Exception):
    """A clash was found: the classes are not separable."""

    pairs: tuple[Pair, ...]


class Prover(ABC):
    """The search for the certificate of some rows, until `deadline` (of `time.monotonic`)."""

    def __init__(self, given: LabeledRows, intercept: bool, deadline: float, verbose: bool) -> None:
        self.given, self.intercept, self.deadline, self.verbose = given, intercept, deadline, verbose
        self.separators: Sequence[Plane] | None = None  # planes known to separate
        self.known_pairs: Sequence[Pair] = ()  # balanced pairs of the last bound with a free intercept
        self.refines = True  # whether margins that floats leave inaccurate are computed again in fractions

    @cached_property
    def about(self) -> About:
        given = self.given
        names = tuple(given.data.labels[int(np.flatnonzero(given.codes == c)[0])] for c in range(given.n_classes))
        return About(given.X.shape[0], given.X.shape[1], names, given.data.sha256, self.intercept)

    @property
    def budget(self) -> WorkBudget:
        """The budget: unlimited if the verdict depends on it, a few seconds if it only adds digits to a margin."""
        if self.separators is None:
            return WorkBudget(math.inf, self.deadline)
        return WorkBudget(deadline=self.deadline) if self.refines else WorkBudget(0.0, self.deadline)

    def certificate(self) -> Certificate:
        try:
            self.separators = self._separators_in_even_columns()
            augmented, geometric = (self._with_separators(*space) for space in zip(self.spaces(), (True, False), strict=True))
        except ClashFoundError as found:
            return Inseparable(self.about, tuple(sorted(found.pairs)))
        if not (isinstance(augmented, Margin) and isinstance(geometric, Margin)):
            ceilings = [Ceiling(space.upper_squared, space.pairs) for space in (augmented, geometric)]
            return Undecided(self.about, *ceilings)
        radius_squared = longest_row(self.given.X) + int(self.intercept)
        return Separable(self.about, augmented, geometric, radius_squared)

    def bounds_in_no_time(self) -> Undecided:
        """The bounds of the pairs found so far, if they are few and short, or of one row of each of two classes."""
        given = self.given
        if not 0 < len(self.known_pairs) * given.data.n_values <= MAX_QUICK_VALUES * given.data.n_rows:
            i, j = (int(np.flatnonzero(given.codes == c)[0]) for c in (0, 1))
            self.known_pairs = (Pair(i, 1, Fraction(1, 2)), Pair(j, 0, Fraction(1, 2)))
        total = combination(given.X, given.codes, self.known_pairs)
        square, pairs = total.square(), tuple(sorted(self.known_pairs))
        augmented = square + (sum(b * b for b in total.balance) if self.intercept else 0)
        return Undecided(self.about, Ceiling(augmented / 2, pairs), Ceiling(square / 2, pairs))

    @abstractmethod
    def first_space(self) -> Ceiling:
        """The margin of the space that is solved first and decides separability. Raises `ClashFoundError`."""

    @abstractmethod
    def spaces(self) -> tuple[Ceiling, Ceiling]:
        """The margins of the augmented and the geometric space."""

    def _accurate_enough(self, ceiling: Ceiling) -> bool:
        if time.monotonic() >= self.deadline:
            return True
        if not isinstance(ceiling, Margin):
            return False
        return not self.refines or ceiling.gap == 0 or (ceiling.gap <= MAX_GAP and len(ceiling.pairs) > MAX_PAIRS_ALWAYS_EXACT)

    def _decide(self, rows: SignedRows, places: IntArray, weights: FloatArray, ceiling: Ceiling) -> Decision | None:
        """In fractions: whether the hulls intersect, or, if a plane was found, their nearest points."""
        apart = isinstance(ceiling, Margin)
        return decide(rows, places, weights, apart=apart, budget=self.budget.reduced() if apart else self.budget)

    def _separators_in_even_columns(self) -> Sequence[Plane] | None:
        """Separating planes, or a clash, if column sizes differ so much that small columns would be lost in floats.

        Columns may be multiplied by powers of two: planes are then divided by them, and a sum that is zero remains zero.
        """
        exponents = column_exponents(self.given.X)
        if exponents.max(initial=0) - exponents.min(initial=0) < UNEVEN_BITS:
            return None
        even = scaled(self.given.X, -exponents)
        if not equal_rows(scaled(even, exponents), self.given.X):  # a value underflowed
            return None
        space = type(self)(replace(self.given, X=even), self.intercept, self.deadline, self.verbose).first_space()
        if not isinstance(space, Margin):
            return None
        return [
            Plane({c: f / Fraction(2) ** int(exponents[c]) for c, f in plane.weights.items()}, plane.intercept)
            for plane in space.planes
        ]

    def _with_separators(self, space: Ceiling, counted: bool) -> Ceiling:
        """The margin of the known separators, if the search in this space found none."""
        if isinstance(space, Margin) or self.separators is None:
            return space
        return self.margin(self.separators, space, counted and self.intercept)

    def ceiling(self, pairs: Sequence[Pair], counted: bool) -> Ceiling:
        """The upper bound that pairs prove; `counted`: whether the intercept counts in norms."""
        total = combination(self.given.X, self.given.codes, pairs)
        self.known_pairs = self.known_pairs if counted else pairs
        square = total.square() + (sum(b * b for b in total.balance) if counted else 0)
        return Ceiling(square / 2, tuple(sorted(pairs)))

    def margin(self, planes: Sequence[Plane], ceiling: Ceiling, counted: bool) -> Ceiling:
        """The margin of planes under a ceiling; only the ceiling if the planes do not separate."""
        least = self.least(planes)
        if least <= 0:
            return ceiling
        square = squared_norm(planes, counted) * (1 if len(planes) == 1 else 2)
        return Margin(ceiling.upper_squared, ceiling.pairs, least**2 / square, tuple(planes))

    def least(self, planes: Sequence[Plane]) -> Fraction:
        """The smallest margin over all rows, not divided by the norm of the planes."""
        return least_margin(self.given.X, self.given.codes, planes)


# --- two classes -----------------------------------------------------------------------------------------------------------


class TwoClasses(Prover):
    """The widest margin of two classes: first with a free intercept, which decides separability, then of rows (1, x)."""

    def first_space(self) -> Ceiling:
        return self._widest(self.given.X, free=self.intercept)

    def spaces(self) -> tuple[Ceiling, Ceiling]:
        geometric = self.first_space()
        if not self.intercept:
            return geometric, geometric
        # The bound for planes with a free intercept also holds, less tightly, for rows (1, x).
        augmented = self.ceiling(geometric.pairs, True)
        if not isinstance(geometric, Margin):
            return augmented, geometric
        augmented, self.separators = self.margin(geometric.planes, augmented, True), geometric.planes
        if time.monotonic() < self.deadline:
            better = self._widest(_with_ones(self.given.X), free=False, augmented=True)
            augmented = better if isinstance(better, Margin) else augmented
        return augmented, geometric

    def _widest(self, X: Matrix, *, free: bool, augmented: bool = False) -> Ceiling:
        """The widest margin of rows X; `free`: whether an intercept is added that does not count in norms."""
        problem = make_problem(X, self.given.codes, 2, x0=float(free))
        rows, start = SignedRows(problem), None
        if not augmented:  # else planes separate the rows
            meeting = decide_by_equal_rows(rows)
            if meeting is not None:
                raise ClashFoundError(self._pairs(rows, meeting.places, meeting.weights))
        if many_and_sparse(problem):
            plane, start = hard_margin_by_coordinates(problem, FLOAT_TOL, self.deadline)
            if plane is not None:
                start = np.zeros(problem.n_rows)
                start[plane.support] = plane.multipliers
                places, weights = plane.support, plane.multipliers
                found = self._exact_margin(rows, places, convex_fractions(rows, places, weights), plane.coef, augmented)
                if self._accurate_enough(found):
                    return found
        callback = current_callback(self.verbose)
        end = approach(rows, tol=FLOAT_TOL, max_steps=MAX_SOLVER_STEPS, start=start, budget=self.budget, progress=callback)
        if end.decision is not None:
            return self._margin_of_decision(rows, end.decision, augmented)
        places, weights = end.weights
        found = self._exact_margin(rows, places, convex_fractions(rows, places, weights), end.run.v, augmented)
        if self._accurate_enough(found):
            return found
        decision = self._decide(rows, places, weights, found)
        return found if decision is None else self._margin_of_decision(rows, decision, augmented)

    def _margin_of_decision(self, rows: SignedRows, decision: Decision, augmented: bool) -> Ceiling:
        if not (decision.apart or decision.bound_squared):
            raise ClashFoundError(self._pairs(rows, decision.places, decision.weights))
        return self._exact_margin(rows, decision.places, decision.weights, None, augmented)

    def _pairs(self, rows: SignedRows, places: IntArray | list[int], weights: Sequence[Fraction]) -> tuple[Pair, ...]:
        codes = self.given.codes
        found = ((int(rows.index[place]), weight / rows.n_sides) for place, weight in zip(places, weights, strict=True))
        return tuple(sorted(Pair(i, 1 - int(codes[i]), weight) for i, weight in found))

    def _exact_margin(
        self, rows: SignedRows, places: IntArray | list[int], weights: Sequence[Fraction], v: FloatArray | None, augmented: bool
    ) -> Ceiling:
        """The exact bounds from weights of rows and a direction v; None: the direction of the combination of rows."""
        pairs = self._pairs(rows, places, weights)
        ceiling = self.ceiling(pairs, augmented)
        if v is None:
            plane = scaled_planes(combination(self.given.X, self.given.codes, pairs).planes(Fraction(int(augmented))))[1]
        else:
            exponent = -int(np.frexp(abs(v).max())[1])
            u = np.ldexp(v, exponent)
            intercept, u = (Fraction(float(u[0])), u[1:]) if augmented else (Fraction(0), u)
            columns = np.flatnonzero(u)
            plane = Plane(dict(zip(columns.tolist(), map(Fraction, u[columns].tolist()), strict=True)), intercept)
        if rows.free:
            members = [np.flatnonzero(self.given.codes == c) for c in (0, 1)]
            low, high = least_score(self.given.X, members[1], plane), -least_score(self.given.X, members[0], negated(plane))
            plane = Plane(plane.weights, -(low + high) / 2)
        return self.margin([plane], ceiling, augmented)


def _with_ones(X: Matrix) -> Matrix:
    """Rows (1, x)."""
    ones = np.ones((X.shape[0], 1), X.dtype)
    return np.hstack([ones, X]) if isinstance(X, np.ndarray) else sp.hstack([ones, X], format="csr")


# --- several classes -------------------------------------------------------------------------------------------------------


class SeveralClasses(Prover):
    """The widest margin of k weight vectors: first of rows (1, x), which decides separability, then with free intercepts."""

    def first_space(self) -> Ceiling:
        return self._widest(float(self.intercept), self.intercept)

    def spaces(self) -> tuple[Ceiling, Ceiling]:
        augmented = self.first_space()
        if not self.intercept:
            return augmented, augmented
        geometric = self.ceiling(self._balanced(augmented.pairs), False)
        self.separators = augmented.planes if isinstance(augmented, Margin) else self.separators
        if self.separators is None:
            return augmented, geometric
        first = geometric = self.margin(self.separators, geometric, False)
        rows = KeslerRows(self.given.X, self.given.codes, self.given.n_classes, 0.0)
        for interior_point in (True, False) if len(rows) <= max(MAX_FAST_PAIRS, rows.n_features) else (False, True):
            if not self._finished(geometric, FLOAT_TOL if geometric is first else MAX_GAP):
                better = self._by_interior_point(rows, True) if interior_point else self._with_free_intercept()
                geometric = tightest(geometric, better) if isinstance(better, Margin) else geometric
        return augmented, geometric

    def _finished(self, ceiling: Ceiling, gap: float) -> bool:
        return time.monotonic() >= self.deadline or (isinstance(ceiling, Margin) and ceiling.gap <= gap)

    def _by_interior_point(self, rows: KeslerRows, free: bool) -> Ceiling | None:
        """The margin from the Gram matrix of all pairs; None if there are too many."""
        best: Ceiling | None = None
        if len(rows) > MAX_GRAM_PAIRS or rows.X.shape[0] * rows.X.shape[1] > MAX_GRAM_VALUES:
            return None
        solver = PairsInteriorPoint(rows, rows.index, free)
        for a, y in solver.nearest(self.deadline):
            held = np.flatnonzero(a > 0)
            if not (len(held) and np.isfinite(a).all() and np.isfinite(y).all()):
                continue
            pairs = self._pairs(rows, held, convex_fractions(rows, held, a[held]))
            counted = self.intercept and not free
            ceiling = self.ceiling(self._balanced(pairs) if free else pairs, counted)
            found = self.margin(scaled_planes(solver.planes(a, y)), ceiling, counted)
            if isinstance(found, Margin):
                best = found if best is None else tightest(best, found)
            if best is not None and self._finished(best, MAX_GAP):
                break
        return best

    def _with_free_intercept(self) -> Ceiling | None:
        """The margin with an intercept that is nearly free: the constant x0 is long compared to the rows."""
        exponent = math.frexp(max(1.0, largest_value(self.given.X)))[1]
        if exponent <= MAX_EXPONENT:
            return self._widest(FREE_INTERCEPT_SCALE * 2.0**exponent, False)
        # x0 would overflow. Scaling down loses tiny values, so the planes are measured on the original rows.
        small = SeveralClasses(replace(self.given, X=scaled(self.given.X, -exponent)), True, self.deadline, self.verbose)
        try:
            found = small._widest(FREE_INTERCEPT_SCALE, False)
        except ClashFoundError:
            return None
        if not isinstance(found, Margin):
            return None
        planes = [Plane({c: f / (1 << exponent) for c, f in plane.weights.items()}, plane.intercept) for plane in found.planes]
        return self.margin(planes, self.ceiling(found.pairs, False), False)

    def _widest(self, x0: float, counted: bool) -> Ceiling:
        """The widest margin of rows (x0, x); `counted`: whether the intercept counts in norms."""
        rows = KeslerRows(self.given.X, self.given.codes, self.given.n_classes, x0)
        if (meeting := decide_by_equal_rows(rows)) is not None:
            raise ClashFoundError(self._pairs(rows, meeting.places, meeting.weights))
        # An active set might add all pairs, one at a time.
        if MAX_FAST_PAIRS < len(rows) <= rows.n_features and x0 in (0.0, 1.0):
            quick = self._by_interior_point(rows, False)
            if quick is not None and self._accurate_enough(quick):
                return quick
        callback = current_callback(self.verbose)
        end = approach(rows, tol=FLOAT_TOL, max_steps=MAX_SOLVER_STEPS, budget=self.budget, progress=callback)
        decision = end.decision
        if decision is None:
            places, weights = end.weights
            found = self._exact_margin(rows, places, convex_fractions(rows, places, weights), end.run.v, counted)
            if self._accurate_enough(found) or (isinstance(found, Margin) and rows.x0 > 1.0):
                return found
            decision = self._decide(rows, places, weights, found)
            if decision is None:
                return found
        if not (decision.apart or decision.bound_squared):
            raise ClashFoundError(self._pairs(rows, decision.places, decision.weights))
        return self._exact_margin(rows, decision.places, decision.weights, None, counted)

    def _pairs(self, rows: KeslerRows, places: IntArray | list[int], weights: Sequence[Fraction]) -> tuple[Pair, ...]:
        where = (rows.pair(int(place)) for place in places)
        return tuple(sorted(Pair(int(i), int(z), a) for (i, z), a in zip(where, weights, strict=True)))

    def _exact_margin(
        self, rows: KeslerRows, places: IntArray | list[int], weights: Sequence[Fraction], v: FloatArray | None, counted: bool
    ) -> Ceiling:
        """The exact bounds from weights of pairs and a direction v; None: the direction of the combination of pairs."""
        pairs = self._pairs(rows, places, weights)
        free = rows.x0 not in (0.0, 1.0)
        ceiling = self.ceiling(self._balanced(pairs) if free else pairs, counted)
        if v is None:
            planes = scaled_planes(combination(self.given.X, self.given.codes, pairs).planes(Fraction(rows.x0)))
        else:
            U = np.ldexp(v, -int(np.frexp(abs(v).max())[1])).reshape(rows.k, rows.width).tolist()
            planes = [plane_from_floats(u, rows.offset, Fraction(rows.x0)) for u in U]
        return self.margin(planes, ceiling, counted)

    def _balanced(self, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        """The pairs with weight added until the weights for and against each class are equal."""
        codes, weights = self.given.codes, {pair[:2]: pair.weight for pair in pairs}
        k = self.given.n_classes
        balance = [Fraction(0)] * k
        for (i, z), a in weights.items():
            balance[codes[i]] += a
            balance[z] -= a
        while any(balance):
            short = min(range(k), key=lambda c: balance[c])
            over = max(range(k), key=lambda c: balance[c])
            move = min(-balance[short], balance[over])
            known = [(a, pair) for pair, a in weights.items() if codes[pair[0]] == short and pair[1] == over]
            others = [(a, (pair[0], over)) for pair, a in weights.items() if codes[pair[0]] == short]
            pair = max(known or others or [(Fraction(0), (int(np.flatnonzero(codes == short)[0]), over))])[1]
            weights[pair] = weights.get(pair, Fraction(0)) + move
            balance[short] += move
            balance[over] -= move
        total = sum(weights.values())
        return tuple(sorted(Pair(i, z, a / total) for (i, z), a in weights.items()))
