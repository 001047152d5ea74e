"""The certificate of several classes: k weight vectors, by pairs of rows and rivals (`class_pairs.py`), or a clash."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..array_types import FloatArray, IntArray
from ..certificates.statements import Ceiling, Margin, Pair, Plane
from ..svm.exact_separation import decide_by_equal_rows
from ..svm.nearest_points import approach
from .class_pairs import KeslerRows
from .exact_margins import combination, largest_value, plane_from_floats, scaled, scaled_planes, tightest
from .pairs_interior_point import PairsInteriorPoint
from .prover import FLOAT_TOL, MAX_GAP, MAX_SOLVER_STEPS, ClashFoundError, Prover, convex_fractions

FREE_INTERCEPT_SCALE = 2.0**17  # x0 in row lengths: an intercept with this constant is free up to a relative error of 1e-10
MAX_FAST_PAIRS = 1000  # pairs up to which the interior-point method is fast
MAX_GRAM_PAIRS = 2500  # pairs for which a Gram matrix is built
MAX_GRAM_VALUES = 1 << 23  # values of the rows for which a Gram matrix is built
MAX_EXPONENT = 1000  # rows with larger values than 2 to this exponent are scaled down first


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
        end = approach(rows, tol=FLOAT_TOL, max_steps=MAX_SOLVER_STEPS, budget=self.budget, verbose=self.verbose)
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
