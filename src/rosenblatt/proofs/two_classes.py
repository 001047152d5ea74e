"""The certificate of two classes: one plane and its margin in both spaces, or a clash."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ..array_types import FloatArray, IntArray, Matrix
from ..certificates.statements import Ceiling, Margin, Pair, Plane
from ..data.problem import make_problem
from ..svm.exact_separation import Decision, decide_by_equal_rows
from ..svm.hard_margin import hard_margin_by_coordinates, many_and_sparse
from ..svm.nearest_points import approach
from ..svm.signed_rows import SignedRows
from .exact_margins import combination, least_score, negated, scaled_planes
from .prover import FLOAT_TOL, MAX_SOLVER_STEPS, ClashFoundError, Prover, convex_fractions


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
        if many_and_sparse(problem):
            meeting = decide_by_equal_rows(rows)
            if meeting is not None:
                raise ClashFoundError(self._pairs(rows, meeting.places, meeting.weights))
            plane, start = hard_margin_by_coordinates(problem, FLOAT_TOL, self.deadline)
            if plane is not None:
                start = np.zeros(problem.n_rows)
                start[plane.support] = plane.multipliers
                places, weights = plane.support, plane.multipliers
                found = self._exact_margin(rows, places, convex_fractions(rows, places, weights), plane.coef, augmented)
                if self._accurate_enough(found):
                    return found
        end = approach(rows, tol=FLOAT_TOL, max_steps=MAX_SOLVER_STEPS, start=start, budget=self.budget, verbose=self.verbose)
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
