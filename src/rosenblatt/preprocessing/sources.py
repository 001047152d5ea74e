"""Where features come from: sums of features per input, and scores as polynomials in a single column.

Problem    a product such as "age^2 income" is a feature of two columns; the score is a polynomial in each column
Update     contributions of a product are divided among its factors, in equal parts; a score in one column has one coefficient
           for each power of it, a sum over the features that have this power
Guarantee  shares add up to the contributions; both take one pass over the features
"""

from __future__ import annotations

from math import comb

import numpy as np

from ..array_types import FloatArray, IntArray
from .numeric import Numbers


def share_among_inputs(numbers: Numbers, features: IntArray, amounts: FloatArray) -> FloatArray:
    """Divide the amounts of features among the inputs that are their factors, in equal parts.

    >>> share_among_inputs(Numbers(2, 2), np.array([0, 3]), np.array([1.0, 6.0])).tolist()  # a, and the product a b
    [4.0, 3.0]
    """
    polynomial = numbers.polynomial
    if polynomial.degree == 1:
        return np.bincount(features, amounts, polynomial.columns).astype(np.float64)
    starts = np.cumsum([0, polynomial.columns, *(len(left) for left, _ in polynomial.stages)])
    degrees = np.searchsorted(starts, features, side="right")
    open_amounts = np.bincount(features, amounts / degrees, polynomial.width)  # what each factor of a feature still gets
    shares = np.zeros(polynomial.columns)
    for (left, right), start in zip(polynomial.stages[::-1], starts[-2:0:-1], strict=True):
        parts = open_amounts[start : start + len(left)]
        shares += np.bincount(right, parts, polynomial.columns)
        open_amounts[: starts[-1]] += np.bincount(left, parts, polynomial.width)
    return shares + open_amounts[: polynomial.columns]


def along_input(numbers: Numbers, weights: FloatArray, x: FloatArray, j: int) -> FloatArray:
    """How scores change if input j of a row moves from x[j] to x[j] + u: heads x (degree + 1) coefficients of powers of u.

    The coefficient of u^0 is 0.

    weights : heads x features, of the products of the inputs alone

    >>> along_input(Numbers(2, 2), np.array([[1.0, 0.0, 1.0, 1.0, 0.0]]), np.array([3.0, 5.0]), 0).tolist()  # a + a^2 + a b
    [[0.0, 12.0, 1.0]]
    """
    polynomial = numbers.polynomial
    if polynomial.degree == 1:
        slopes = weights[:, j] if numbers.divide is None else weights[:, j] / numbers.divide[j]
        return np.stack([np.zeros(len(weights)), slopes], axis=1)
    powers, rest = _powers_and_rest(numbers, x, j)
    scaled = rest if numbers.divide is None else rest / numbers.divide[: polynomial.width]
    found = np.zeros((len(weights), polynomial.degree + 1))
    for power in range(1, polynomial.degree + 1):
        chosen = np.flatnonzero(powers == power)
        coefficient = weights[:, chosen] @ scaled[chosen]
        for m in range(1, power + 1):  # (x + u)^power by the binomial theorem
            found[:, m] += coefficient * comb(power, m) * x[j] ** (power - m)
    return found


def _powers_and_rest(numbers: Numbers, x: FloatArray, j: int) -> tuple[IntArray, FloatArray]:
    """The power of input j in every feature, and the product of its other factors."""
    polynomial = numbers.polynomial
    own = np.arange(polynomial.columns) == j
    powers, rest = own.astype(np.int64), np.where(own, 1.0, x)
    for left, right in polynomial.stages:
        powers = np.concatenate([powers, powers[left] + (right == j)])
        rest = np.concatenate([rest, rest[left] * np.where(right == j, 1.0, x[right])])
    return powers, rest
