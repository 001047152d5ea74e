"""Exact arithmetic on rows and planes: smallest scores, norms, combinations of rows, and scaling by powers of two.

Update     scores in floats, with a bound on the rounding error of each; only the rows whose score may be the smallest are
           computed in integers.
Guarantee  a sum of n products in floats is off by at most (n + 2) eps times the sum of their sizes, and n times the smallest
           float if they underflow (N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). A weight
           that underflows is off by the smallest float before it is multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ..array_types import FloatArray, IntArray, Matrix
from ..certificates.exact_numbers import as_float
from ..certificates.statements import Ceiling, Margin, Pair, Plane
from ..certificates.time_limit import check_time
from ..kernels.linear.rows import EPS
from ..svm.signed_rows import SignedRows, entries

UNDERFLOW_ERROR = 2.0**-1070
SUBNORMAL = 2.0**-1020  # weights below this are rounded to a multiple of 2^-1074, by less than eps times this
VALUES_PER_BLOCK = 1 << 19
MAX_EXACT_INTEGER, MAX_EXACT_COLUMNS = 1 << 16, 1 << 20  # squares of such integers sum up without rounding

IntegerPlane = tuple[dict[int, int], int]  # weights and intercept times a common denominator


def least_score(X: Matrix, rows: IntArray, plus: Plane, minus: Plane | None = None) -> Fraction:
    """The smallest (plus - minus) score of the given rows, exactly."""
    difference = plus if minus is None else _difference(plus, minus)
    w = np.zeros(X.shape[1])
    w[list(difference.weights)] = [as_float(f) for f in difference.weights.values()]
    b = as_float(difference.intercept)
    low, high = np.empty(len(rows)), np.empty(len(rows))
    step = max(1, VALUES_PER_BLOCK // max(1, X.shape[1])) if isinstance(X, np.ndarray) else VALUES_PER_BLOCK
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), step):
            check_time()
            here = slice(start, start + step)
            block = X[rows[here]].astype(np.float64)
            scores, sizes = block @ w + b, abs(block) @ (abs(w) + SUBNORMAL) + abs(b)
            error = 2.0 * (X.shape[1] + 8) * (EPS * sizes + UNDERFLOW_ERROR)
            low[here], high[here] = scores - error, scores + error
    candidates = np.flatnonzero(~(low > np.nan_to_num(high, nan=np.inf).min()))
    plane, denominator = _over_common_denominator(difference)
    return min(_score(X, int(i), plane) for i in np.asarray(rows)[candidates]) / denominator


def least_margin(X: Matrix, codes: IntArray, planes: Sequence[Plane]) -> Fraction:
    """The smallest margin over all rows, exactly, not divided by the norm of the planes. Some classes may have no rows."""
    if len(planes) == 1:
        sides: list[tuple[int, Plane, Plane | None]] = [(0, negated(planes[0]), None), (1, planes[0], None)]
    else:
        k = range(len(planes))
        sides = [(own, planes[own], planes[z]) for own in k for z in k if z != own]
    members = {int(own): np.flatnonzero(codes == own) for own in np.unique(codes)}
    return min(least_score(X, members[own], plus, minus) for own, plus, minus in sides if own in members)


def squared_norm(planes: Iterable[Plane], counted: bool) -> Fraction:
    """The squared norm of all planes together; `counted`: whether the intercepts count."""
    numbers = [f for plane in planes for f in (*plane.weights.values(), *([plane.intercept] if counted else []))]
    denominator = math.lcm(*(f.denominator for f in numbers))
    return Fraction(sum((f.numerator * (denominator // f.denominator)) ** 2 for f in numbers), denominator**2)


@dataclass(frozen=True)
class Combination:
    """The signed sum of pairs by class, as integers over `denominator`, and the signed sum of their weights, `balance`."""

    sums: list[dict[int, int]]
    balance: list[Fraction]
    denominator: int

    def square(self) -> Fraction:
        return Fraction(sum(v * v for part in self.sums for v in part.values()), self.denominator**2)

    def planes(self, x0: Fraction) -> list[Plane]:
        """The planes with these weights, for rows (x0, x)."""
        parts = zip(self.sums, self.balance, strict=True)
        return [Plane({c: Fraction(v, self.denominator) for c, v in part.items() if v}, b * x0 * x0) for part, b in parts]


def combination(X: Matrix, codes: IntArray, pairs: Iterable[Pair]) -> Combination:
    """The signed sum of pairs, exactly."""
    k = int(max(codes)) + 1
    taken = [(pair, *_exact_entries(X, pair.row)) for pair in pairs]
    unit = max(power for *_, power in taken)
    denominator = math.lcm(*(pair.weight.denominator for pair, *_ in taken))
    sums: list[dict[int, int]] = [{} for _ in range(k)]
    balance = [Fraction(0)] * k
    for pair, columns, numbers, power in taken:
        check_time()
        weight = pair.weight.numerator * (denominator // pair.weight.denominator) * (unit // power)
        own = int(codes[pair.row])
        balance[own] += pair.weight
        balance[pair.rival] -= pair.weight
        for c, number in zip(columns, numbers, strict=True):
            term = weight * number
            sums[own][c] = sums[own].get(c, 0) + term
            sums[pair.rival][c] = sums[pair.rival].get(c, 0) - term
    return Combination(sums, balance, denominator * unit)


def longest_row(X: Matrix) -> Fraction:
    """The largest squared norm of a row, exactly."""
    values = X if isinstance(X, np.ndarray) else X.data
    with np.errstate(all="ignore"):
        squares = np.array([float(part) for part in _float_squares(X)])
    small = float(abs(values).max(initial=0.0)) < MAX_EXACT_INTEGER and X.shape[1] < MAX_EXACT_COLUMNS
    if small and not np.mod(values, 1.0).any():
        return Fraction(int(squares.max()))
    candidates = np.flatnonzero(~(squares * (1 + 4 * (X.shape[1] + 8) * EPS) + 1e-300 < np.nanmax(squares)))
    return max(_exact_square(X, int(i)) for i in candidates)


def largest_value(X: Matrix) -> float:
    """The largest absolute value, without a copy of X."""
    values = X if isinstance(X, np.ndarray) else X.data
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def column_exponents(X: Matrix) -> IntArray:
    """The exponent of the power of two just above the largest value of each column; 0 for a column of zeros."""
    if isinstance(X, np.ndarray):
        most = np.maximum(X.max(axis=0), -X.min(axis=0))
    else:
        most = np.zeros(X.shape[1])
        for start in range(0, len(X.data), VALUES_PER_BLOCK):
            here = slice(start, start + VALUES_PER_BLOCK)
            np.maximum.at(most, X.indices[here], abs(X.data[here]))
    return np.where(most > 0, np.frexp(most)[1], 0).astype(np.int64)


def _float_squares(X: Matrix) -> Iterator[float]:
    step = max(1, VALUES_PER_BLOCK // max(1, X.shape[1])) if isinstance(X, np.ndarray) else VALUES_PER_BLOCK
    for start in range(0, X.shape[0], step):
        check_time()
        block: Matrix = X[start : start + step].astype(np.float64)
        yield from np.einsum("ij,ij->i", block, block) if isinstance(block, np.ndarray) else block.multiply(block).sum(axis=1)


def _difference(plus: Plane, minus: Plane) -> Plane:
    columns = plus.weights.keys() | minus.weights.keys()
    weights = {c: plus.weights.get(c, Fraction(0)) - minus.weights.get(c, Fraction(0)) for c in columns}
    return Plane(weights, plus.intercept - minus.intercept)


def _over_common_denominator(plane: Plane) -> tuple[IntegerPlane, int]:
    denominator = math.lcm(plane.intercept.denominator, *(f.denominator for f in plane.weights.values()))
    weights = {c: f.numerator * (denominator // f.denominator) for c, f in plane.weights.items()}
    return (weights, plane.intercept.numerator * (denominator // plane.intercept.denominator)), denominator


def _score(X: Matrix, i: int, plane: IntegerPlane) -> Fraction:
    columns, numbers, denominator = _exact_entries(X, i)
    weights, intercept = plane
    products = sum(weights.get(c, 0) * n for c, n in zip(columns, numbers, strict=True))
    return Fraction(products + intercept * denominator, denominator)


def _exact_square(X: Matrix, i: int) -> Fraction:
    _, numbers, denominator = _exact_entries(X, i)
    return Fraction(sum(n * n for n in numbers), denominator**2)


def _exact_entries(X: Matrix, i: int) -> tuple[list[int], list[int], int]:
    """The columns with nonzero values of row i, the values as integers, and their common denominator."""
    check_time()
    columns, values = entries(X, i)
    ratios = [float(value).as_integer_ratio() for value in values.tolist()]
    denominator = max((q for _, q in ratios), default=1)
    return columns.tolist(), [p * (denominator // q) for p, q in ratios], denominator


# --- planes ----------------------------------------------------------------------------------------------------------------


def plane_from_floats(u: list[float], offset: int, x0: Fraction) -> Plane:
    """The plane with the weights `u`; with `offset` 1, the first of them belongs to the constant x0."""
    weights = {c: Fraction(f) for c, f in enumerate(u[offset:]) if f}
    return Plane(weights, Fraction(u[0]) * x0 if offset else Fraction(0))


def negated(plane: Plane) -> Plane:
    return Plane({c: -f for c, f in plane.weights.items()}, -plane.intercept)


def scaled_planes(planes: Sequence[Plane]) -> list[Plane]:
    """The planes times a power of two that brings their largest number to about 1, so that floats can hold them."""
    most = max((abs(f) for plane in planes for f in (plane.intercept, *plane.weights.values())), default=Fraction(0))
    unit = Fraction(2) ** (most.denominator.bit_length() - most.numerator.bit_length())
    return [Plane({c: f * unit for c, f in plane.weights.items()}, plane.intercept * unit) for plane in planes]


def tightest(one: Ceiling, other: Margin) -> Ceiling:
    """The smaller upper and the larger lower bound of two margins of the same space."""
    if not isinstance(one, Margin):
        return other
    high = min(one, other, key=lambda margin: margin.upper_squared)
    low = max(one, other, key=lambda margin: margin.lower_squared)
    return Margin(high.upper_squared, high.pairs, low.lower_squared, low.planes)


# --- rows ------------------------------------------------------------------------------------------------------------------


def scaled(X: Matrix, exponents: int | IntArray) -> Matrix:
    """X in float64 times 2 to an exponent, or to one exponent for each column."""
    if isinstance(X, np.ndarray):
        return np.ldexp(X.astype(np.float64), exponents)
    exponents = np.broadcast_to(exponents, X.shape[1])[X.indices]
    return sp.csr_array((np.ldexp(X.data.astype(np.float64), exponents), X.indices, X.indptr), X.shape)


def equal_rows(one: Matrix, other: Matrix) -> bool:
    """Whether two arrays, or the stored values of two CSR matrices, are equal."""
    return bool(np.array_equal(one, other) if isinstance(one, np.ndarray) else np.array_equal(one.data, other.data))


def convex_fractions(rows: SignedRows, places: IntArray, weights: FloatArray) -> list[Fraction]:
    """Float weights as fractions that sum to exactly 1 on each side."""
    exact = [Fraction(float(a)) for a in weights]
    side = rows.side[places].tolist()
    sums = [sum((a for a, s in zip(exact, side, strict=True) if s == k), Fraction(0)) for k in range(rows.n_sides)]
    return [a / sums[s] for a, s in zip(exact, side, strict=True)]
