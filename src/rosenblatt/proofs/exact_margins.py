"""The smallest margin of planes over all rows, and the length of a combination of rows, as fractions.

Update     scores in floats, with a bound on what rounding did to each; only rows whose score may be the smallest are computed
           in whole numbers.
Guarantee  a sum of n products in floats is off by at most (n + 2) eps times the sum of their sizes, and n times the smallest
           float where they underflow (N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). A weight
           that underflows is off by the smallest float before it is multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificates.statements import Ceiling, Margin, Pair, Plane, as_float
from ..svm.signed_rows import entries

EPS = float(np.finfo(np.float64).eps)
TINY = 2.0**-1070
SMALL = 2.0**-1020  # weights under this are rounded to a multiple of 2^-1074, by less than eps times this
BLOCK = 1 << 19  # values looked at together

Whole = tuple[dict[int, int], int]  # weights and intercept times a common denominator


def least_score(X: Any, rows: Any, plus: Plane, minus: Plane | None = None) -> Fraction:
    """The smallest (plus - minus) score of some rows, exactly."""
    difference = plus if minus is None else _difference(plus, minus)
    w = np.zeros(X.shape[1])
    w[list(difference.weights)] = [as_float(f) for f in difference.weights.values()]
    b = as_float(difference.intercept)
    low, high = np.empty(len(rows)), np.empty(len(rows))
    step = max(1, BLOCK // max(1, X.shape[1])) if isinstance(X, np.ndarray) else BLOCK
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), step):
            here = slice(start, start + step)
            block = X[rows[here]].astype(np.float64)
            scores, sizes = block @ w + b, abs(block) @ (abs(w) + SMALL) + abs(b)
            doubt = 2.0 * (X.shape[1] + 8) * (EPS * sizes + TINY)
            low[here], high[here] = scores - doubt, scores + doubt
    unsure = np.flatnonzero(~(low > np.nan_to_num(high, nan=np.inf).min()))
    weights, below = _common(difference)
    return min(_score(X, int(i), weights) for i in np.asarray(rows)[unsure]) / below


def squared_norm(planes: Iterable[Plane], counts: bool) -> Fraction:
    numbers = [f for plane in planes for f in (*plane.weights.values(), *([plane.intercept] if counts else []))]
    below = math.lcm(*(f.denominator for f in numbers))
    return Fraction(sum((f.numerator * (below // f.denominator)) ** 2 for f in numbers), below**2)


@dataclass(frozen=True)
class Combination:
    """The signed sum of pairs, class by class, as whole numbers over `below`; and that of their weights."""

    sums: list[dict[int, int]]
    balance: list[Fraction]
    below: int

    def square(self) -> Fraction:
        return Fraction(sum(v * v for part in self.sums for v in part.values()), self.below**2)

    def planes(self, x0: Fraction) -> list[Plane]:
        """The planes with these weights, where rows have x0 before them."""
        parts = zip(self.sums, self.balance, strict=True)
        return [Plane({c: Fraction(v, self.below) for c, v in part.items() if v}, b * x0 * x0) for part, b in parts]


def combination(X: Any, codes: Any, pairs: Iterable[Pair]) -> Combination:
    k = int(max(codes)) + 1
    taken = [(pair, *_entries(X, pair.row)) for pair in pairs]
    unit = max(power for *_, power in taken)
    below = math.lcm(*(pair.weight.denominator for pair, *_ in taken))
    sums: list[dict[int, int]] = [{} for _ in range(k)]
    balance = [Fraction(0)] * k
    for pair, columns, numbers, power in taken:
        weight = pair.weight.numerator * (below // pair.weight.denominator) * (unit // power)
        own = int(codes[pair.row])
        balance[own] += pair.weight
        balance[pair.rival] -= pair.weight
        for c, number in zip(columns, numbers, strict=True):
            move = weight * number
            sums[own][c] = sums[own].get(c, 0) + move
            sums[pair.rival][c] = sums[pair.rival].get(c, 0) - move
    return Combination(sums, balance, below * unit)


def longest_row(X: Any) -> Fraction:
    """The largest squared norm of a row, exactly."""
    values = X if isinstance(X, np.ndarray) else X.data
    with np.errstate(all="ignore"):
        squares = np.array([float(part) for part in _float_squares(X)])
    # Small whole numbers are squared and summed without rounding.
    whole = float(abs(values).max(initial=0.0)) < 1 << 16 and X.shape[1] < 1 << 20 and not np.mod(values, 1.0).any()
    if whole:
        return Fraction(int(squares.max()))
    unsure = np.flatnonzero(~(squares * (1 + 4 * (X.shape[1] + 8) * EPS) + 1e-300 < np.nanmax(squares)))
    return max(_square(X, int(i)) for i in unsure)


def largest(X: Any) -> float:
    """The largest absolute value, without a copy of X."""
    values = X if isinstance(X, np.ndarray) else X.data
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def column_powers(X: Any) -> Any:
    """The power of two just over the largest value of each column; 0 where all are zero."""
    if isinstance(X, np.ndarray):
        most = np.maximum(X.max(axis=0), -X.min(axis=0))
    else:
        most = np.zeros(X.shape[1])
        for start in range(0, len(X.data), BLOCK):
            np.maximum.at(most, X.indices[start : start + BLOCK], abs(X.data[start : start + BLOCK]))
    return np.where(most > 0, np.frexp(most)[1], 0).astype(np.int64)


def _float_squares(X: Any) -> Any:
    step = max(1, BLOCK // max(1, X.shape[1])) if isinstance(X, np.ndarray) else BLOCK
    for start in range(0, X.shape[0], step):
        block = X[start : start + step].astype(np.float64)
        yield from np.einsum("ij,ij->i", block, block) if isinstance(X, np.ndarray) else block.multiply(block).sum(axis=1)


def _difference(plus: Plane, minus: Plane) -> Plane:
    columns = plus.weights.keys() | minus.weights.keys()
    weights = {c: plus.weights.get(c, Fraction(0)) - minus.weights.get(c, Fraction(0)) for c in columns}
    return Plane(weights, plus.intercept - minus.intercept)


def _common(plane: Plane) -> tuple[Whole, int]:
    below = math.lcm(plane.intercept.denominator, *(f.denominator for f in plane.weights.values()))
    whole = {c: f.numerator * (below // f.denominator) for c, f in plane.weights.items()}
    return (whole, plane.intercept.numerator * (below // plane.intercept.denominator)), below


def _score(X: Any, i: int, plane: Whole) -> Fraction:
    columns, numbers, below = _entries(X, i)
    weights, intercept = plane
    return Fraction(sum(weights.get(c, 0) * n for c, n in zip(columns, numbers, strict=True)) + intercept * below, below)


def _square(X: Any, i: int) -> Fraction:
    _, numbers, below = _entries(X, i)
    return Fraction(sum(n * n for n in numbers), below**2)


def _entries(X: Any, i: int) -> tuple[list[int], list[int], int]:
    """The columns of a row that are not zero, and whole numbers there, over one denominator."""
    columns, values = entries(X, i)
    ratios = [float(value).as_integer_ratio() for value in values.tolist()]
    below = max((q for _, q in ratios), default=1)
    return columns.tolist(), [p * (below // q) for p, q in ratios], below


# --- Planes and rows times powers of two, which is exact; a margin from the better halves of two.


def plane_of(u: list[float], offset: int, x0: Fraction) -> Plane:
    weights = {c: Fraction(f) for c, f in enumerate(u[offset:]) if f}
    return Plane(weights, Fraction(u[0]) * x0 if offset else Fraction(0))


def turned(plane: Plane) -> Plane:
    return Plane({c: -f for c, f in plane.weights.items()}, -plane.intercept)


def of_size_one(planes: Sequence[Plane]) -> list[Plane]:
    """The same planes times a power of two, so that floats can hold them."""
    most = max((abs(f) for plane in planes for f in (plane.intercept, *plane.weights.values())), default=Fraction(0))
    unit = Fraction(2) ** (most.denominator.bit_length() - most.numerator.bit_length())
    return [Plane({c: f * unit for c, f in plane.weights.items()}, plane.intercept * unit) for plane in planes]


def sharper(one: Ceiling, other: Margin) -> Ceiling:
    """The better half of each."""
    if not isinstance(one, Margin):
        return other
    high = min(one, other, key=lambda margin: margin.upper_squared)
    low = max(one, other, key=lambda margin: margin.lower_squared)
    return Margin(high.upper_squared, high.pairs, low.lower_squared, low.planes)


def scaled(X: Any, powers: Any) -> Any:
    """X times a power of two, or one for each column, in float64."""
    if isinstance(X, np.ndarray):
        return np.ldexp(X.astype(np.float64), powers)
    powers = np.broadcast_to(powers, X.shape[1])[X.indices]
    return sp.csr_array((np.ldexp(X.data.astype(np.float64), powers), X.indices, X.indptr), X.shape)


def same(one: Any, other: Any) -> bool:
    return bool(np.array_equal(one, other) if isinstance(one, np.ndarray) else np.array_equal(one.data, other.data))
