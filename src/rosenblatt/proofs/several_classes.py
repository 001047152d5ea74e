"""Several classes: k weight vectors against each other, by rows against rivals (`kesler.py`)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..certificates.statements import Ceiling, Margin, Pair, Plane
from ..direct.exact import twins
from ..direct.nearest import approach
from .exact_margins import combination, largest
from .kesler import KeslerRows
from .planes import of_size_one, plane_of, scaled, sharper
from .task import MOST_STEPS, TOL, Clash, Task, shares

FREE = 2.0**17  # the intercept counts as little as this many row lengths squared: it is free but for 1e-10
HUGE = 1000  # rows of 2 to so many are scaled down first


class SeveralClasses(Task):
    """The widest margin of k weight vectors: first of rows (1, x), which decides, then with free intercepts."""

    def first(self) -> Ceiling:
        return self._widest(float(self.intercept), self.intercept)

    def spaces(self) -> tuple[Ceiling, Ceiling]:
        augmented = self.first()
        if not self.intercept:
            return augmented, augmented
        geometric = self.ceiling(self._balanced(augmented.pairs), False)
        if not isinstance(augmented, Margin):
            return augmented, geometric
        geometric, self.known = self.margin(augmented.planes, geometric, False), augmented.planes
        if time.monotonic() < self.deadline:
            better = self._with_free_intercept()
            if isinstance(better, Margin):
                geometric = sharper(geometric, better)
        return augmented, geometric

    def _with_free_intercept(self) -> Ceiling | None:
        exponent = math.frexp(max(1.0, largest(self.given.X)))[1]
        if exponent <= HUGE:
            return self._widest(FREE * 2.0**exponent, False)
        # x0 would overflow. In smaller units tiny values are lost: what is found is then measured on the rows as they are.
        small = SeveralClasses(replace(self.given, X=scaled(self.given.X, -exponent)), True, self.deadline, self.verbose)
        try:
            found = small._widest(FREE, False)
        except Clash:
            return None
        if not isinstance(found, Margin):
            return None
        planes = [Plane({c: f / (1 << exponent) for c, f in plane.weights.items()}, plane.intercept) for plane in found.planes]
        return self.margin(planes, self.ceiling(found.pairs, False), False)

    def _widest(self, x0: float, counts: bool) -> Ceiling:
        rows = KeslerRows(self.given.X, self.given.codes, self.given.n_classes, x0)
        if (meeting := twins(rows)) is not None:
            raise Clash(self._pairs(rows, meeting.places, meeting.weights))
        end = approach(rows, tol=TOL, max_steps=MOST_STEPS, patience=self.patience, verbose=self.verbose)
        decision = end.decision
        if decision is None:
            places, weights = end.weights
            found = self._made_exact(rows, places, shares(rows, places, weights), end.run.v, counts)
            if self._good_enough(found) or (isinstance(found, Margin) and rows.x0 > 1.0):
                return found
            decision = self._decide(rows, places, weights, found)
            if decision is None:
                return found
        if not (decision.apart or decision.bound_squared):
            raise Clash(self._pairs(rows, decision.places, decision.weights))
        return self._made_exact(rows, decision.places, decision.weights, None, counts)

    def _pairs(self, rows: KeslerRows, places: Any, weights: Sequence[Fraction]) -> tuple[Pair, ...]:
        where = (rows.pair(int(place)) for place in places)
        return tuple(sorted(Pair(int(i), int(z), a) for (i, z), a in zip(where, weights, strict=True)))

    def _made_exact(self, rows: KeslerRows, places: Any, weights: Sequence[Fraction], v: Any, counts: bool) -> Ceiling:
        pairs = self._pairs(rows, places, weights)
        free = rows.x0 not in (0.0, 1.0)
        ceiling = self.ceiling(self._balanced(pairs) if free else pairs, counts)
        if v is None:
            planes = of_size_one(combination(self.given.X, self.given.codes, pairs).planes(Fraction(rows.x0)))
        else:
            U = np.ldexp(v, -int(np.frexp(abs(v).max())[1])).reshape(rows.k, rows.width).tolist()
            planes = [plane_of(u, rows.offset, Fraction(rows.x0)) for u in U]
        return self.margin(planes, ceiling, counts)

    def _balanced(self, pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        """The same pairs, with as much weight added as makes each class weigh the same for and against."""
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
