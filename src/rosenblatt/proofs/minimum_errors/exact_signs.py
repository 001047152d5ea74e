"""On which side of a plane rows are, exactly: floats decide with an error bound, fractions where they cannot."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...data.problem import Problem
from ...kernels.linear.rows import Dense

BLOCK = 1 << 21  # bytes of rows that are looked at together
UNIT = 2.0**-53
TINY = 1e-300  # more than what underflow takes away from a score


@dataclass(frozen=True)
class Plane:
    """Weights and bias in floats, and the rows with y (w.x + b) <= 0, a row on the plane among them."""

    coef: Any
    bias: float
    wrong: Any

    @property
    def errors(self) -> int:
        return len(self.wrong)


def plane_of(problem: Problem, coef: Any, bias: float) -> Plane:
    """The plane and its errors. Where rows lie on it exactly, it is moved off them, to the side that is better."""
    bias = float(bias)
    sides = sides_of(problem, coef, bias)
    plane, ties = _plane(problem, coef, bias, sides), bool((sides == 0).any())
    if not ties or not problem.x0:
        return plane
    scores = np.concatenate([abs(s) for _, s, _ in _scores(problem, coef, bias)])
    gap = float(scores[sides != 0].min(initial=np.inf))
    room = gap / 2 if 0 < gap < np.inf else 1.0
    for other in (bias - room, bias + room, float(np.nextafter(bias, -np.inf)), float(np.nextafter(bias, np.inf))):
        sides = sides_of(problem, coef, other)
        moved, still = _plane(problem, coef, other, sides), bool((sides == 0).any())
        if (still, moved.errors) < (ties, plane.errors):
            plane, ties = moved, still
    return plane


def _plane(problem: Problem, coef: Any, bias: float, sides: Any) -> Plane:
    return Plane(coef, bias, np.flatnonzero(sides * np.asarray(problem.labels.signs) <= 0))


def sides_of(problem: Problem, coef: Any, bias: float) -> Any:
    """The sign of w.x + b for every row: 1, 0 or -1."""
    out = np.empty(problem.n_rows, np.int8)
    for start, scores, bound in _scores(problem, coef, bias):
        out[start : start + len(scores)] = np.sign(np.nan_to_num(scores))
        for i in np.flatnonzero(~(abs(scores) > bound)).tolist():
            out[start + i] = _exact_side(problem, start + i, coef, bias)
    return out


def _scores(problem: Problem, coef: Any, bias: float) -> Any:
    """Block by block: where it starts, the scores, and by how much they may be off."""
    dense = isinstance(problem.rows, Dense)
    step = max(1, int(BLOCK / (8 * max(1.0, problem.density))))
    for start in range(0, problem.n_rows, step):
        block = problem.matrix(start, start + step).astype(np.float64)
        terms = block.shape[1] if dense else np.diff(block.indptr)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            scores = block @ coef + bias
            # Each of the terms is rounded once, and as often as there are sums; twice that, to be on the safe side.
            bound = 2.0 * (terms + 3) * UNIT * (abs(block) @ abs(coef) + abs(bias)) + TINY
        yield start, scores, bound


def _exact_side(problem: Problem, i: int, coef: Any, bias: float) -> int:
    row = problem.matrix(i, i + 1)
    columns, values = (np.arange(len(coef)), row[0]) if isinstance(problem.rows, Dense) else (row.indices, row.data)
    score = Fraction(bias)
    for column, value in zip(columns.tolist(), values.tolist(), strict=True):
        if value:
            score += Fraction(value) * Fraction(float(coef[column]))
    return (score > 0) - (score < 0)


# --- Points as floats of size one with an error bound, and as the whole numbers that they are.

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
