"""Points as floats of size one with an error bound, and as the whole numbers that they are."""

from __future__ import annotations

from typing import Any

import numpy as np

SIGNIFICANT = 53
# Products of differences of products of numbers above this, and what rounding leaves of them, do not underflow; nor, above the
# second, where four weights without a bias take the differences of products of those once more.
SMALL, LESS_SMALL = 2.0**-150, 2.0**-60


class Whole:
    """Distinct points, each column times a power of two of its own: that moves no point to another side of a plane.

    Attributes
    ----------
    floats : the points, of size one at most; `exact`: sums and products of them, as many as are needed, are exact.
    off : by how much the floats may be off, or None where they are not.
    safe : whether products cannot underflow.
    """

    def __init__(self, points: Any, free: bool) -> None:
        self.free = free
        mantissa, exponent = np.frexp(points)
        odd = np.ldexp(mantissa, SIGNIFICANT).astype(np.int64)
        lowest = np.where(odd == 0, 1, odd & -odd)
        zeros = np.log2(lowest.astype(np.float64)).astype(np.int64)
        self._odd = odd >> zeros
        power = exponent.astype(np.int64) - SIGNIFICANT + zeros
        nothing = odd == 0
        base = np.where(nothing, np.iinfo(np.int64).max, power).min(axis=0)
        self._shift = np.where(nothing, 0, power - base)
        highest = np.where(nothing, np.iinfo(np.int64).min, exponent).max(axis=0)
        empty = nothing.all(axis=0)
        highest, base = np.where(empty, 0, highest), np.where(empty, 0, base)
        self.floats = np.ldexp(points, -highest)
        lost = np.ldexp(self.floats, highest) != points
        self.off = np.where(lost, 2.0**-1074, 0.0) if lost.any() else None
        sizes = abs(self.floats[self.floats != 0])
        small = SMALL if free or points.shape[1] < 4 else LESS_SMALL
        self.safe = self.off is None and bool((sizes >= small).all())
        self.exact = self.safe and self._bits(int((highest - base).max()), points.shape[1]) <= SIGNIFICANT

    def _bits(self, bits: int, width: int) -> int:
        """Of the largest number met: a difference takes one more, the difference of two products twice as many and one."""
        for level in range(width - 1):
            bits = bits + 1 if level == 0 and self.free and width > 2 else 2 * bits + 1
        return bits

    def row(self, i: int) -> list[int]:
        return [m << k for m, k in zip(self._odd[i].tolist(), self._shift[i].tolist(), strict=True)]
