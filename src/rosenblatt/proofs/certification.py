"""What the proofs of two and of several classes share: planes and pairs are measured exactly, fractions are asked last."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..certificates.statements import About, Ceiling, Certificate, Inseparable, Margin, Pair, Plane, Separable, Undecided
from ..svm.exact_separation import Decision, WorkBudget, decide
from ..svm.signed_rows import SignedRows
from .exact_margins import column_powers, combination, least_score, longest_row, same, scaled, squared_norm, turned
from .inputs import Labelled

TOL = 1e-12  # asked of floats
CLOSE = 1e-10  # a relative gap over this is tried again in fractions
FEW = 12  # so few rows that hold the plane are always made exact
MOST_STEPS = 10_000_000
UNEVEN = 16  # columns whose sizes differ by more than this power of two are made even to find a verdict


@dataclass(frozen=True)
class Clash(Exception):  # noqa: N818  it says what was found
    pairs: tuple[Pair, ...]


class Task(ABC):
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
    def patience(self) -> WorkBudget:
        """Without end where the verdict depends on it; a few seconds where only digits of a margin do."""
        return WorkBudget(math.inf, self.deadline) if self.known is None else WorkBudget(deadline=self.deadline)

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

    @abstractmethod
    def first(self) -> Ceiling:
        """The space that decides: whether it has a margin, and which; raises `Clash`."""

    @abstractmethod
    def spaces(self) -> tuple[Ceiling, Ceiling]:
        """Augmented and geometric."""

    def _good_enough(self, found: Ceiling) -> bool:
        if time.monotonic() >= self.deadline:
            return True
        return isinstance(found, Margin) and (found.gap == 0 or (found.gap <= CLOSE and len(found.pairs) > FEW))

    def _decide(self, rows: SignedRows, places: Any, weights: Any, found: Ceiling) -> Decision | None:
        """In fractions: whether hulls meet, or, where a plane was found, which points of theirs are the nearest."""
        apart = isinstance(found, Margin)
        return decide(rows, places, weights, apart=apart, budget=self.patience.less() if apart else self.patience)

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


def shares(rows: SignedRows, places: Any, weights: Any) -> list[Fraction]:
    """Floats as fractions that sum to exactly 1 on each side."""
    exact = [Fraction(float(a)) for a in weights]
    side = rows.side[places].tolist()
    sums = [sum((a for a, s in zip(exact, side, strict=True) if s == k), Fraction(0)) for k in range(rows.n_sides)]
    return [a / sums[s] for a, s in zip(exact, side, strict=True)]
