"""The two coordinates of a point as the features that an algorithm sees: standardised where asked, and their products.

phi_j(x) = prod_i ((x_i - centre_i)/scale_i)^e_ji, by degree and then in the order of the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..preprocessing.polynomial import Polynomial
from ..preprocessing.scaling import by_deviation

COLUMNS = ("x₁", "x₂")
POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Features:
    degree: int = 1
    centre: tuple[float, float] = (0.0, 0.0)
    scale: tuple[float, float] = (1.0, 1.0)

    @cached_property
    def polynomial(self) -> Polynomial:
        return Polynomial(2, self.degree)

    @property
    def width(self) -> int:
        return self.polynomial.width

    @property
    def scaled(self) -> bool:
        return (self.centre, self.scale) != ((0.0, 0.0), (1.0, 1.0))

    def rows(self, points: Any) -> Any:
        """The features of points, rows x features."""
        X = np.ascontiguousarray(points, np.float64)
        if self.scaled:
            X = (X - self.centre) / self.scale
        return np.ascontiguousarray(self.polynomial.expand(X))

    @property
    def exponents(self) -> list[list[int]]:
        factors = [self.polynomial.factors(j) for j in range(self.width)]
        return [[each.count(0), each.count(1)] for each in factors]

    @property
    def names(self) -> list[str]:
        """
        >>> Features(2).names
        ['x₁', 'x₂', 'x₁²', 'x₁x₂', 'x₂²']
        """
        return ["".join(_power(name, e) for name, e in zip(COLUMNS, each, strict=True)) for each in self.exponents]


def learned(points: Any, degree: int, scaled: bool) -> Features:
    """The features of a set of points; scaled: coordinates of mean 0 and deviation 1."""
    if not scaled:
        return Features(degree)
    shift, divide = by_deviation(points.mean(axis=0), points.std(axis=0), abs(points).max(axis=0))
    return Features(degree, tuple(shift.tolist()), tuple(divide.tolist()))


def _power(name: str, exponent: int) -> str:
    return "" if exponent == 0 else name if exponent == 1 else name + str(exponent).translate(POWERS)
