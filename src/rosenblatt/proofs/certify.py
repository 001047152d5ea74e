"""`certify`: whether planes separate the classes, with the proof.

Problem    find W with (w_l - w_z).x + b_l - b_z > 0 for every row x of class l and every z != l, and the widest margin of
           all such W; or convex weights of rows against rivals that sum to zero.
Update     the nearest points of hulls, in floats (`direct/nearest.py`, `direct/hard_margin.py`); where those cannot tell, in
           fractions (`direct/exact.py`). Whatever floats found is then made exact: the planes are the fractions that the
           floats are, their smallest margin is computed exactly, and so is the length of the combination of rows.
Guarantee  lower <= widest margin <= upper, as fractions; and before a certificate is given away, `verify` has checked it.
Reference  P. Wolfe, Math. Programming 11 (1976); P. Gordan, Math. Annalen 6 (1873); A. Novikoff (1962).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificates.statements import About, Ceiling, Certificate, Inseparable, Margin, Pair, Plane, Separable, Undecided
from ..certificates.verify import verify
from ..direct.exact import Decision, Patience, decide, twins
from ..direct.hard_margin import by_coordinates, many_and_sparse
from ..direct.nearest import approach
from ..direct.signed import SignedRows
from ..parameters import flag, number
from ..problem import make_problem
from ..threads import one_blas_thread
from .exact_margins import column_powers, combination, largest, least_score, longest_row, squared_norm
from .inputs import Labelled, labelled
from .kesler import KeslerRows
from .planes import of_size_one, plane_of, same, scaled, sharper, turned

TOL = 1e-12  # asked of floats
CLOSE = 1e-10  # a relative gap over this is tried again in fractions
FEW = 12  # so few rows that hold the plane are always made exact
MOST_STEPS = 10_000_000
FREE = 2.0**17  # the intercept of several classes counts as little as this many row lengths squared: it is free but for 1e-10
UNEVEN = 16  # columns whose sizes differ by more than this power of two are made even to find a verdict
HUGE = 1000  # rows of 2 to so many are scaled down first


def certify(X: Any, y: Any, fit_intercept: bool = True, time_limit: float | None = None, *, verbose: int = 0) -> Certificate:
    """Prove that planes separate the classes, and how widely, or that none do.

    X : array, data frame or sparse matrix of shape (rows, features).
    y : labels of two or more classes. With k > 2 classes, k weight vectors must give every row's own class the largest score.
    fit_intercept : False: planes go through the origin.
    time_limit : seconds, or None. What is not decided by then is `Undecided`, with the bounds that are proved so far.

    verbose : 1 writes a line to stderr for each pass over the rows.

    Returns `Separable`, `Inseparable` or `Undecided`; each has been checked by `rb.verify`, can be printed, and saved with
    `rb.save_certificate`.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> certificate = rb.certify([[0, 0], [1, 0], [3, 4], [4, 4]], [0, 0, 1, 1])
    >>> certificate.verdict, certificate.geometric.upper, certificate.mistake_bound.upper
    ('separable', 2.23606797749979, 41.25000000000001)
    >>> print(rb.certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]))
    not separable: these 4 rows cannot be separated: the segment between rows 0 and 3 meets that between rows 1 and 2.
    """
    flag("fit_intercept", fit_intercept)
    deadline = math.inf if time_limit is None else time.monotonic() + number("time_limit", time_limit)
    given = labelled(X, y, "certify")
    certificate = certificate_of(given, bool(fit_intercept), deadline, bool(verbose))
    check = verify(certificate, given.X, given.y)
    if not check:
        raise AssertionError(f"a proof of ours is wrong, please report it: {check}")
    return certificate


def certificate_of(given: Labelled, intercept: bool, deadline: float, verbose: bool = False) -> Certificate:
    """The certificate, not yet checked."""
    task = (_Two if given.n_classes == 2 else _Several)(given, intercept, deadline, verbose)
    with one_blas_thread():
        return task.certificate()


@dataclass(frozen=True)
class Clash(Exception):  # noqa: N818  it says what was found
    pairs: tuple[Pair, ...]


class _Task:
    """Data, what is asked, and until when."""

    def __init__(self, given: Labelled, intercept: bool, deadline: float, verbose: bool) -> None:
        self.given, self.intercept, self.deadline, self.verbose = given, intercept, deadline, verbose
        self.known: Sequence[Plane] | None = None  # planes that separate

    @cached_property
    def about(self) -> About:
        given = self.given
        names = tuple(given.data.labels[int(np.flatnonzero(given.codes == c)[0])] for c in range(given.n_classes))
        return About(given.X.shape[0], given.X.shape[1], names, given.data.sha256(), self.intercept)

    @property
    def patience(self) -> Patience:
        """Without end where the verdict depends on it; a few seconds where only digits of a margin do."""
        return Patience(math.inf, self.deadline) if self.known is None else Patience(deadline=self.deadline)

    def certificate(self) -> Certificate:
        try:
            self.known = self._in_even_columns()
            augmented, geometric = (self._at_least_known(*space) for space in zip(self.spaces(), (True, False), strict=True))
        except Clash as found:
            return Inseparable(self.about, tuple(sorted(found.pairs)))
        if not (isinstance(augmented, Margin) and isinstance(geometric, Margin)):
            ceilings = [Ceiling(space.upper_squared, space.pairs) for space in (augmented, geometric)]
            return Undecided(self.about, *ceilings)
        radius_squared = longest_row(self.given.X) + int(self.intercept)
        return Separable(self.about, augmented, geometric, radius_squared)

    def first(self) -> Ceiling:
        """The space that decides: whether it has a margin, and which; raises `Clash`."""
        raise NotImplementedError

    def spaces(self) -> tuple[Ceiling, Ceiling]:
        raise NotImplementedError

    def _good_enough(self, found: Ceiling) -> bool:
        if time.monotonic() >= self.deadline:
            return True
        return isinstance(found, Margin) and (found.gap == 0 or (found.gap <= CLOSE and len(found.pairs) > FEW))

    def _decide(self, rows: SignedRows, places: Any, weights: Any, found: Ceiling) -> Decision | None:
        """In fractions: whether hulls meet, or, where a plane was found, which points of theirs are the nearest."""
        apart = isinstance(found, Margin)
        return decide(rows, places, weights, apart=apart, patience=self.patience.less() if apart else self.patience)

    def _in_even_columns(self) -> Sequence[Plane] | None:
        """Planes that separate, or a clash, where columns are of very different sizes, and floats see only the large ones.

        Columns may be multiplied by powers of two: planes are then divided by them, and a sum that is zero remains zero.
        """
        powers = column_powers(self.given.X)
        if powers.max(initial=0) - powers.min(initial=0) < UNEVEN:
            return None
        even = scaled(self.given.X, -powers)
        if not same(scaled(even, powers), self.given.X):  # a value was too small to be multiplied
            return None
        space = type(self)(replace(self.given, X=even), self.intercept, self.deadline, self.verbose).first()
        if not isinstance(space, Margin):
            return None
        return [
            Plane({c: f / Fraction(2) ** int(powers[c]) for c, f in plane.weights.items()}, plane.intercept)
            for plane in space.planes
        ]

    def _at_least_known(self, space: Ceiling, counts: bool) -> Ceiling:
        if isinstance(space, Margin) or self.known is None:
            return space
        return self.margin(self.known, space, counts and self.intercept)

    def ceiling(self, pairs: Sequence[Pair], counts: bool) -> Ceiling:
        total = combination(self.given.X, self.given.codes, pairs)
        square = total.square() + (sum(b * b for b in total.balance) if counts else 0)
        return Ceiling(square / 2, tuple(sorted(pairs)))

    def margin(self, planes: Sequence[Plane], ceiling: Ceiling, counts: bool) -> Ceiling:
        """The margin that planes have; only the ceiling, where they do not separate."""
        least = self.least(planes)
        if least <= 0:
            return ceiling
        square = squared_norm(planes, counts) * (1 if len(planes) == 1 else 2)
        return Margin(ceiling.upper_squared, ceiling.pairs, least**2 / square, tuple(planes))

    def least(self, planes: Sequence[Plane]) -> Fraction:
        """The smallest margin, not divided by the length of the planes."""
        X, codes = self.given.X, self.given.codes
        members = [np.flatnonzero(codes == c) for c in range(self.given.n_classes)]
        if len(planes) == 1:
            return min(least_score(X, members[1], planes[0]), least_score(X, members[0], turned(planes[0])))
        k = range(len(planes))
        return min(least_score(X, members[own], planes[own], planes[z]) for own in k for z in k if z != own)


class _Two(_Task):
    def first(self) -> Ceiling:
        return self._widest(self.given.X, free=self.intercept)

    def spaces(self) -> tuple[Ceiling, Ceiling]:
        geometric = self.first()
        if not self.intercept:
            return geometric, geometric
        # What was proved of planes with a free intercept also holds, though less sharply, of rows (1, x).
        augmented = self.ceiling(geometric.pairs, True)
        if not isinstance(geometric, Margin):
            return augmented, geometric
        augmented, self.known = self.margin(geometric.planes, augmented, True), geometric.planes
        if time.monotonic() < self.deadline:
            better = self._widest(_with_ones(self.given.X), free=False, augmented=True)
            augmented = better if isinstance(better, Margin) else augmented
        return augmented, geometric

    def _widest(self, X: Any, *, free: bool, augmented: bool = False) -> Ceiling:
        problem = make_problem(X, self.given.codes, 2, x0=float(free))
        rows, start = SignedRows(problem), None
        if many_and_sparse(problem):
            meeting = twins(rows)
            if meeting is not None:
                raise Clash(self._pairs(rows, meeting.places, meeting.weights))
            plane, start = by_coordinates(problem, TOL, self.deadline)
            if plane is not None:
                start = np.zeros(problem.n_rows)
                start[plane.support] = plane.multipliers
                places, weights = plane.support, plane.multipliers
                found = self._made_exact(rows, places, _shares(rows, places, weights), plane.coef, augmented)
                if self._good_enough(found):
                    return found
        end = approach(rows, tol=TOL, max_steps=MOST_STEPS, start=start, patience=self.patience, verbose=self.verbose)
        if end.decision is not None:
            return self._decided(rows, end.decision, augmented)
        places, weights = end.weights
        found = self._made_exact(rows, places, _shares(rows, places, weights), end.run.v, augmented)
        if self._good_enough(found):
            return found
        decision = self._decide(rows, places, weights, found)
        return found if decision is None else self._decided(rows, decision, augmented)

    def _decided(self, rows: SignedRows, decision: Decision, augmented: bool) -> Ceiling:
        if not (decision.apart or decision.bound_squared):
            raise Clash(self._pairs(rows, decision.places, decision.weights))
        return self._made_exact(rows, decision.places, decision.weights, None, augmented)

    def _pairs(self, rows: SignedRows, places: Any, weights: Sequence[Fraction]) -> tuple[Pair, ...]:
        codes = self.given.codes
        found = ((int(rows.index[place]), weight / rows.n_sides) for place, weight in zip(places, weights, strict=True))
        return tuple(sorted(Pair(i, 1 - int(codes[i]), weight) for i, weight in found))

    def _made_exact(self, rows: SignedRows, places: Any, weights: Sequence[Fraction], v: Any, augmented: bool) -> Ceiling:
        """What weights, and a direction, prove; without a direction, that of the weights' own point."""
        pairs = self._pairs(rows, places, weights)
        ceiling = self.ceiling(pairs, augmented)
        if v is None:
            plane = of_size_one(combination(self.given.X, self.given.codes, pairs).planes(Fraction(int(augmented))))[1]
        else:
            exponent = -int(np.frexp(abs(v).max())[1])
            exact = [Fraction(f) for f in np.ldexp(v, exponent).tolist()]
            intercept = exact.pop(0) if augmented else Fraction(0)
            plane = Plane({c: f for c, f in enumerate(exact) if f}, intercept)
        if rows.free:
            members = [np.flatnonzero(self.given.codes == c) for c in (0, 1)]
            low, high = least_score(self.given.X, members[1], plane), -least_score(self.given.X, members[0], turned(plane))
            plane = Plane(plane.weights, -(low + high) / 2)
        return self.margin([plane], ceiling, augmented)


class _Several(_Task):
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
        small = _Several(replace(self.given, X=scaled(self.given.X, -exponent)), True, self.deadline, self.verbose)
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
            found = self._made_exact(rows, places, _shares(rows, places, weights), end.run.v, counts)
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


def _shares(rows: SignedRows, places: Any, weights: Any) -> list[Fraction]:
    """Floats as fractions that sum to exactly 1 on each side."""
    exact = [Fraction(float(a)) for a in weights]
    side = rows.side[places].tolist()
    sums = [sum((a for a, s in zip(exact, side, strict=True) if s == k), Fraction(0)) for k in range(rows.n_sides)]
    return [a / sums[s] for a, s in zip(exact, side, strict=True)]


def _with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1), X.dtype)
    return np.hstack([ones, X]) if isinstance(X, np.ndarray) else sp.hstack([ones, X], format="csr")
