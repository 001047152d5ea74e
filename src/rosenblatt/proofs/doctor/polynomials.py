"""All products of at most so many columns, and whether rounding matters to what is proved of them.

Problem    are the classes separable with the monomials of degree at most 2 or 3 as columns?
Update     columns are first scaled to at most 1 by powers of two, and moved by a number near all their values where that is
           exact; so are the products scaled: none of it changes the answer. Products are floats, and rounded where they need
           more than 53 bits.
Guarantee  `exact`: no product was rounded. `holds`: planes of the rounded products also separate the exact ones, as no score
           can change its sign: a product of k values has k - 1 roundings, each at most 2^-53 of it.
Reference  P. H. Sterbenz, Floating-Point Computation (1974), for differences that are exact; N. J. Higham, Accuracy and
           Stability of Numerical Algorithms (2002), lemma 3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...certificates.statements import Margin
from ...data.csr import CSRMatrix
from ...data.polynomials import Polynomial, count_monomials
from .columns import Columns, blocks, extremes, times

MOST_COLUMNS = 5_000
MOST_VALUES = 1 << 24  # 128 MB
UNIT = 2.0**-53
LARGEST = 60  # products are made larger by two to this power at most, so that what underflowed stays small


@dataclass(frozen=True)
class Expanded:
    """The products; whether none was rounded; and how they were made: of (x - shift) 2^-exponent, then times 2^-product."""

    X: Any
    exact: bool
    shifts: Any
    exponents: Any
    products: Any


def n_values(X: Any, degree: int) -> int:
    if isinstance(X, np.ndarray):
        return int(X.shape[0]) * count_monomials(X.shape[1], degree)
    counts, rows = np.unique(np.diff(X.indptr), return_counts=True)
    return sum(count_monomials(int(d), degree) * int(n) for d, n in zip(counts, rows, strict=True))


def affordable(X: Any, degree: int) -> bool:
    return count_monomials(X.shape[1], degree) <= MOST_COLUMNS and n_values(X, degree) <= MOST_VALUES


def expanded(X: Any, columns: Columns, degree: int, intercept: bool) -> Expanded:
    """The monomials of degree 1 to `degree`, the same bits as those of scikit-learn's PolynomialFeatures."""
    dense = isinstance(X, np.ndarray)
    shifts, exponents = _placed(columns, intercept and dense)
    parts, exact = [], True
    for part in blocks(X):
        moved = part.astype(np.float64) - shifts if dense and shifts.any() else part
        scaled = times(moved, exponents)
        values = scaled if dense else scaled.data
        exact = exact and _few_bits(values, degree) and _unchanged(moved, scaled, exponents)
        parts.append(scaled)
    whole = np.concatenate(parts) if dense else sp.vstack(parts, format="csr")
    polynomial = Polynomial(X.shape[1], degree, max_features=None)
    out: Any
    if dense:
        out = polynomial.expand(whole, from_right=True)
    else:
        out = polynomial.expand_sparse(CSRMatrix.from_scipy(whole)).to_scipy()
    products = np.maximum(_exponents(np.maximum(*map(abs, extremes(out)))), -LARGEST)
    if dense:
        out *= np.ldexp(1.0, -products)
    else:
        out.data *= np.ldexp(1.0, -products)[out.indices]
    return Expanded(out, exact, shifts, exponents, products)


def _placed(columns: Columns, may_move: bool) -> tuple[Any, Any]:
    """What to take from each column, and the exponent of its size then. Where all values are within a factor of 2 of one
    number, differences from it are exact."""
    middle = columns.least / 2 + columns.most / 2
    half = columns.most / 2 - columns.least / 2
    shifts = np.where(may_move & (abs(middle) / 4 > half), middle, 0.0)
    sizes = np.maximum(abs(columns.least - shifts), abs(columns.most - shifts))
    return shifts, _exponents(sizes)


def _exponents(sizes: Any) -> Any:
    """Of the powers of two that make these at most 1, and more than a half."""
    mantissas, exponents = np.frexp(sizes)
    return exponents - (mantissas == 0.5)


def _few_bits(values: Any, degree: int) -> bool:
    """Whether products of so many of these values need no rounding."""
    values = values[values != 0]
    if not values.size:
        return True
    whole = np.ldexp(np.frexp(values)[0], 53).astype(np.int64)
    lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return bool(degree * (53 - lowest.min()) <= 53 and abs(values).min() > 2.0**-300)


def _unchanged(before: Any, after: Any, exponents: Any) -> bool:
    """Whether scaling was exact: it is but for tiny values beside large ones."""
    if isinstance(before, np.ndarray):
        return bool((np.ldexp(after, exponents) == before).all())
    return bool((np.ldexp(after.data, exponents[after.indices]) == before.data).all())


def holds(Z: Any, margin: Margin, degree: int) -> bool:
    """Whether planes that separate rounded products also separate the exact ones."""
    largest = max(abs(f) for plane in margin.planes for f in plane.weights.values())
    sizes = np.zeros(Z.shape[1])
    for plane in margin.planes:
        columns = list(plane.weights)
        sizes[columns] += [float(abs(plane.weights[c]) / largest) for c in columns]
    square = sum((f * f for plane in margin.planes for f in plane.weights.values()), Fraction(0)) / largest**2
    least = math.sqrt(float(margin.lower_squared * square * (1 if len(margin.planes) == 1 else 2)))
    doubt = max(float((abs(block) @ sizes).max()) for block in blocks(Z)) * degree * UNIT + Z.shape[1] * 2.0**-1000
    return bool(doubt * (1 + 1e-6) < least * (1 - 1e-6))
