"""Planes and rows times powers of two, which is exact; a margin from the better halves of two."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..certificates.statements import Ceiling, Margin, Plane


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
