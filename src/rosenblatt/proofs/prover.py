"""The base of the proofs for two and for several classes.

Floats find planes and pairs of rows. Their margins and lengths are then computed exactly; if the verdict is still open or the
margin is inaccurate, the search continues in fractions.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..array_types import FloatArray, IntArray
from ..certificates.statements import About, Ceiling, Certificate, Inseparable, Margin, Pair, Plane, Separable, Undecided
from ..svm.exact_separation import Decision, WorkBudget, decide
from ..svm.signed_rows import SignedRows
from .exact_margins import column_exponents, combination, equal_rows, least_score, longest_row, negated, scaled, squared_norm
from .inputs import LabeledRows

FLOAT_TOL = 1e-12  # relative gap that the solvers in floats aim for
MAX_GAP = 1e-10  # margins with a larger relative gap are computed again in fractions
MAX_PAIRS_ALWAYS_EXACT = 12  # a margin that rests on at most this many pairs is always computed in fractions
MAX_SOLVER_STEPS = 10_000_000
UNEVEN_BITS = 16  # columns are rescaled to find a verdict if their sizes differ by this power of two


@dataclass(frozen=True)
class ClashFoundError(Exception):
    """A clash was found: the classes are not separable."""

    pairs: tuple[Pair, ...]


class Prover(ABC):
    """The search for the certificate of some rows, until `deadline` (of `time.monotonic`)."""

    def __init__(self, given: LabeledRows, intercept: bool, deadline: float, verbose: bool) -> None:
        self.given, self.intercept, self.deadline, self.verbose = given, intercept, deadline, verbose
        self.separators: Sequence[Plane] | None = None  # planes known to separate

    @cached_property
    def about(self) -> About:
        given = self.given
        names = tuple(given.data.labels[int(np.flatnonzero(given.codes == c)[0])] for c in range(given.n_classes))
        return About(given.X.shape[0], given.X.shape[1], names, given.data.sha256(), self.intercept)

    @property
    def budget(self) -> WorkBudget:
        """The budget: unlimited if the verdict depends on it, a few seconds if it only adds digits to a margin."""
        return WorkBudget(math.inf, self.deadline) if self.separators is None else WorkBudget(deadline=self.deadline)

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
        return ceiling.gap == 0 or (ceiling.gap <= MAX_GAP and len(ceiling.pairs) > MAX_PAIRS_ALWAYS_EXACT)

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
        X, codes = self.given.X, self.given.codes
        members = [np.flatnonzero(codes == c) for c in range(self.given.n_classes)]
        if len(planes) == 1:
            return min(least_score(X, members[1], planes[0]), least_score(X, members[0], negated(planes[0])))
        k = range(len(planes))
        return min(least_score(X, members[own], planes[own], planes[z]) for own in k for z in k if z != own)


def convex_fractions(rows: SignedRows, places: IntArray, weights: FloatArray) -> list[Fraction]:
    """Float weights as fractions that sum to exactly 1 on each side."""
    exact = [Fraction(float(a)) for a in weights]
    side = rows.side[places].tolist()
    sums = [sum((a for a, s in zip(exact, side, strict=True) if s == k), Fraction(0)) for k in range(rows.n_sides)]
    return [a / sums[s] for a, s in zip(exact, side, strict=True)]
