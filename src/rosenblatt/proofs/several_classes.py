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
from ..svm.exact_separation import twins
from ..svm.nearest_points import approach
from .certification import CLOSE, MOST_STEPS, TOL, Clash, Task, shares
from .class_pairs import KeslerRows, SomePairs
from .exact_margins import combination, largest, of_size_one, plane_of, scaled, sharper

FREE = 2.0**17  # the intercept counts as little as this many row lengths squared: it is free but for 1e-10
MANY, MOST = 1000, 2500  # pairs whose products with each other are quickly solved, and the most of which they are kept
WIDE = 1 << 23  # values of their rows at most
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
        self.known = augmented.planes if isinstance(augmented, Margin) else self.known
        if self.known is None:
            return augmented, geometric
        first = geometric = self.margin(self.known, geometric, False)
        rows = KeslerRows(self.given.X, self.given.codes, self.given.n_classes, 0.0)
        for products in (True, False) if len(rows) <= max(MANY, rows.n_features) else (False, True):
            if not self._close(geometric, TOL if geometric is first else CLOSE):
                better = self._by_products(rows, True) if products else self._with_free_intercept()
                geometric = sharper(geometric, better) if isinstance(better, Margin) else geometric
        return augmented, geometric

    def _close(self, found: Ceiling, gap: float) -> bool:
        return time.monotonic() >= self.deadline or (isinstance(found, Margin) and found.gap <= gap)

    def _by_products(self, rows: KeslerRows, free: bool) -> Ceiling | None:
        """The margin by the products of all pairs with each other, where these are few."""
        best: Ceiling | None = None
        if len(rows) > MOST or rows.X.shape[0] * rows.X.shape[1] > WIDE:
            return None
        some = SomePairs(rows, rows.index, free)
        for a, y in some.nearest(self.deadline):
            held = np.flatnonzero(a > 0)
            if not (len(held) and np.isfinite(a).all() and np.isfinite(y).all()):
                continue
            pairs = self._pairs(rows, held, shares(rows, held, a[held]))
            counts = self.intercept and not free
            ceiling = self.ceiling(self._balanced(pairs) if free else pairs, counts)
            found = self.margin(of_size_one(some.planes(a, y)), ceiling, counts)
            if isinstance(found, Margin):
                best = found if best is None else sharper(best, found)
            if best is not None and self._close(best, CLOSE):
                break
        return best

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
        if MANY < len(rows) <= rows.n_features and x0 in (0.0, 1.0):  # an active set might have to take them all, one by one
            quick = self._by_products(rows, False)
            if quick is not None and self._good_enough(quick):
                return quick
        end = approach(rows, tol=TOL, max_steps=MOST_STEPS, budget=self.patience, verbose=self.verbose)
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
