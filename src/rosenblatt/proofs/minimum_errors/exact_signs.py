"""Exact signs: the side of a plane on which rows are, and points as integers.

Floats decide with an error bound; fractions and integers decide if the bound is too large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...array_types import Array, FloatArray, IntArray
from ...data.problem import Problem

BYTES_PER_BLOCK = 1 << 21
UNIT_ROUNDOFF = 2.0**-53
UNDERFLOW_ERROR = 1e-300  # more than underflow changes in a score
SIGNIFICANT_BITS = 53
# Differences of products, and their rounding errors, do not underflow if the numbers are above the first limit. Above the
# second, this also holds for four weights without a bias, where differences of products are multiplied once more.
MIN_SAFE_VALUE, MIN_SAFE_VALUE_FOUR_WEIGHTS = 2.0**-150, 2.0**-60


@dataclass(frozen=True)
class FloatPlane:
    """Weights and bias in floats, and the rows with y (w.x + b) <= 0, which include rows on the plane."""

    coef: FloatArray
    bias: float
    wrong: IntArray

    @property
    def errors(self) -> int:
        return len(self.wrong)


def plane_with_errors(problem: Problem, coef: FloatArray, bias: float) -> FloatPlane:
    """The plane and its errors. If rows lie exactly on it, it is moved off them, to the side with fewer errors."""
    bias = float(bias)
    sides = sides_of(problem, coef, bias)
    plane, ties = _plane(problem, coef, bias, sides), bool((sides == 0).any())
    if not ties or not problem.x0:
        return plane
    scores = np.concatenate([abs(s) for _, s, _ in _scores(problem, coef, bias)])
    gap = float(scores[sides != 0].min(initial=np.inf))
    shift = gap / 2 if 0 < gap < np.inf else 1.0
    for other in (bias - shift, bias + shift, float(np.nextafter(bias, -np.inf)), float(np.nextafter(bias, np.inf))):
        sides = sides_of(problem, coef, other)
        moved, still = _plane(problem, coef, other, sides), bool((sides == 0).any())
        if (still, moved.errors) < (ties, plane.errors):
            plane, ties = moved, still
    return plane


def _plane(problem: Problem, coef: FloatArray, bias: float, sides: Array) -> FloatPlane:
    return FloatPlane(coef, bias, np.flatnonzero(sides * np.asarray(problem.signs) <= 0))


def sides_of(problem: Problem, coef: FloatArray, bias: float) -> Array:
    """The sign of w.x + b for every row: 1, 0 or -1."""
    out = np.empty(problem.n_rows, np.int8)
    for start, scores, bound in _scores(problem, coef, bias):
        out[start : start + len(scores)] = np.sign(np.nan_to_num(scores))
        for i in np.flatnonzero(~(abs(scores) > bound)).tolist():
            out[start + i] = _exact_side(problem, start + i, coef, bias)
    return out


def _scores(problem: Problem, coef: FloatArray, bias: float) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """For each block of rows: its start, the scores, and bounds on their rounding errors."""
    step = max(1, int(BYTES_PER_BLOCK / (8 * max(1.0, problem.density))))
    for start in range(0, problem.n_rows, step):
        block = problem.matrix(start, start + step).astype(np.float64)
        terms = block.shape[1] if isinstance(block, np.ndarray) else np.diff(block.indptr)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            scores = block @ coef + bias
            # Every term is rounded once, and again in each sum; the factor 2 is a safety margin.
            bound = 2.0 * (terms + 3) * UNIT_ROUNDOFF * (abs(block) @ abs(coef) + abs(bias)) + UNDERFLOW_ERROR
        yield start, scores, bound


def _exact_side(problem: Problem, i: int, coef: FloatArray, bias: float) -> int:
    row = problem.matrix(i, i + 1)
    columns, values = (np.arange(len(coef)), row[0]) if isinstance(row, np.ndarray) else (row.indices, row.data)
    score = Fraction(bias)
    for column, value in zip(columns.tolist(), values.tolist(), strict=True):
        if value:
            score += Fraction(value) * Fraction(float(coef[column]))
    return (score > 0) - (score < 0)


# --- points as integers ----------------------------------------------------------------------------------------------------


class IntegerPoints:
    """Distinct points as floats and as integers; each column is scaled by a power of two, which moves no point across a plane.

    Attributes
    ----------
    floats : array
        The points, scaled to at most 1.
    exact : bool
        Whether all sums and products of the floats that are needed are exact.
    off : array or None
        Bounds on the errors of the floats; None if there are none.
    safe : bool
        Whether products cannot underflow.
    """

    def __init__(self, points: FloatArray, free: bool) -> None:
        self.free = free
        mantissa, exponent = np.frexp(points)
        odd = np.ldexp(mantissa, SIGNIFICANT_BITS).astype(np.int64)
        lowest = np.where(odd == 0, 1, odd & -odd)
        zeros = np.log2(lowest.astype(np.float64)).astype(np.int64)
        self._odd = odd >> zeros
        power = exponent.astype(np.int64) - SIGNIFICANT_BITS + zeros
        is_zero = odd == 0
        base = np.where(is_zero, np.iinfo(np.int64).max, power).min(axis=0)
        self._shift = np.where(is_zero, 0, power - base)
        highest = np.where(is_zero, np.iinfo(np.int64).min, exponent).max(axis=0)
        empty = is_zero.all(axis=0)
        highest, base = np.where(empty, 0, highest), np.where(empty, 0, base)
        self.floats = np.ldexp(points, -highest)
        lost = np.ldexp(self.floats, highest) != points
        self.off = np.where(lost, 2.0**-1074, 0.0) if lost.any() else None
        sizes = abs(self.floats[self.floats != 0])
        smallest = MIN_SAFE_VALUE if free or points.shape[1] < 4 else MIN_SAFE_VALUE_FOUR_WEIGHTS
        self.safe = self.off is None and bool((sizes >= smallest).all())
        self.exact = self.safe and self._bits(int((highest - base).max()), points.shape[1]) <= SIGNIFICANT_BITS

    def _bits(self, bits: int, width: int) -> int:
        """Bits of the largest number: a difference needs one more, a difference of products twice as many plus one."""
        for level in range(width - 1):
            bits = bits + 1 if level == 0 and self.free and width > 2 else 2 * bits + 1
        return bits

    def row(self, i: int) -> list[int]:
        """Point i as integers."""
        return [m << k for m, k in zip(self._odd[i].tolist(), self._shift[i].tolist(), strict=True)]
