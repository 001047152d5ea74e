"""Rows of polynomial features for proofs: products of columns, and whether rounding them affects the proof.

Problem    are the classes separable with the monomials of degree at most 2 or 3 as columns?
Update     columns are scaled to at most 1 by powers of two, and shifted toward zero if that is exact; products are scaled in
           the same way. None of this changes the answer. Products are floats, rounded if they need more than 53 bits.
Guarantee  `exact`: no product was rounded. `holds_unrounded`: planes of the rounded products also separate the exact ones,
           because no score can change its sign: a product of k values has k - 1 roundings, each at most 2^-53 of it.
Reference  P. H. Sterbenz, Floating-Point Computation (1974), for differences that are exact; N. J. Higham, Accuracy and
           Stability of Numerical Algorithms (2002), lemma 3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from ...array_types import Array, FloatArray, IntArray, Matrix
from ...certificates.statements import Margin
from ...data.csr import CSRMatrix
from ...data.polynomials import Polynomial, count_monomials
from .column_statistics import Columns, blocks, extremes, scale_down

MAX_COLUMNS = 5_000
MAX_VALUES = 1 << 24  # 128 MB
UNIT_ROUNDOFF = 2.0**-53
MAX_SCALING_EXPONENT = 60  # products are scaled up by at most 2 to this, so that underflowed ones stay small


@dataclass(frozen=True)
class PolynomialRows:
    """Products of the columns (x - shift) 2^-exponent, times 2^-product_exponent; `exact`: none was rounded."""

    X: Matrix
    exact: bool
    shifts: FloatArray
    exponents: IntArray
    product_exponents: IntArray


def n_values(X: Matrix, degree: int) -> int:
    """The number of stored values of the monomials."""
    if isinstance(X, np.ndarray):
        return int(X.shape[0]) * count_monomials(X.shape[1], degree)
    counts, rows = np.unique(np.diff(X.indptr), return_counts=True)
    return sum(count_monomials(int(d), degree) * int(n) for d, n in zip(counts, rows, strict=True))


def affordable(X: Matrix, degree: int) -> bool:
    """Whether the monomials are within the limits of columns and values."""
    return count_monomials(X.shape[1], degree) <= MAX_COLUMNS and n_values(X, degree) <= MAX_VALUES


def expand(X: Matrix, columns: Columns, degree: int, intercept: bool) -> PolynomialRows:
    """The monomials of degree 1 to `degree`, with the same bits as those of scikit-learn's PolynomialFeatures."""
    dense = isinstance(X, np.ndarray)
    shifts, exponents = _shifts_and_exponents(columns, intercept and dense)
    parts, exact = [], True
    for part in blocks(X):
        shifted = part.astype(np.float64) - shifts if dense and shifts.any() else part
        scaled = scale_down(shifted, exponents)
        values = scaled if isinstance(scaled, np.ndarray) else scaled.data
        exact = exact and _has_exact_products(values, degree) and _scaled_exactly(shifted, scaled, exponents)
        parts.append(scaled)
    columns_scaled = np.concatenate(parts) if dense else sp.vstack(parts, format="csr")
    polynomial = Polynomial(X.shape[1], degree, max_features=None)
    out: Matrix
    if dense:
        out = polynomial.expand(columns_scaled, from_right=True)
    else:
        out = polynomial.expand_sparse(CSRMatrix.from_scipy(columns_scaled)).to_scipy()
    product_exponents = np.maximum(_exponents(np.maximum(*map(abs, extremes(out)))), -MAX_SCALING_EXPONENT)
    if isinstance(out, np.ndarray):
        out *= np.ldexp(1.0, -product_exponents)
    else:
        out.data *= np.ldexp(1.0, -product_exponents)[out.indices]
    return PolynomialRows(out, exact, shifts, exponents, product_exponents)


def _shifts_and_exponents(columns: Columns, may_shift: bool) -> tuple[FloatArray, IntArray]:
    """The shift of each column, and the exponent of its size afterwards.

    If all values are within a factor of 2 of a number, differences from it are exact.
    """
    middle = columns.minimum / 2 + columns.maximum / 2
    half = columns.maximum / 2 - columns.minimum / 2
    shifts = np.where(may_shift & (abs(middle) / 4 > half), middle, 0.0)
    sizes = np.maximum(abs(columns.minimum - shifts), abs(columns.maximum - shifts))
    return shifts, _exponents(sizes)


def _exponents(sizes: FloatArray) -> IntArray:
    """The exponents e for which sizes times 2^-e are at most 1 and above 1/2."""
    mantissas, exponents = np.frexp(sizes)
    return np.asarray(exponents - (mantissas == 0.5))


def _has_exact_products(values: Array, degree: int) -> bool:
    """Whether no product of `degree` of these values is rounded."""
    values = values[values != 0]
    if not values.size:
        return True
    integers = np.ldexp(np.frexp(values)[0], 53).astype(np.int64)
    lowest = np.frexp((integers & -integers).astype(np.float64))[1] - 1
    return bool(degree * (53 - lowest.min()) <= 53 and abs(values).min() > 2.0**-300)


def _scaled_exactly(before: Matrix, after: Matrix, exponents: IntArray) -> bool:
    """Whether no tiny value underflowed in the scaling."""
    if isinstance(after, np.ndarray):
        return bool((np.ldexp(after, exponents) == before).all())
    return bool((np.ldexp(after.data, exponents[after.indices]) == before.data).all())


def holds_unrounded(Z: Matrix, margin: Margin, degree: int) -> bool:
    """Whether planes that separate rounded products also separate the exact ones."""
    largest = max(abs(f) for plane in margin.planes for f in plane.weights.values())
    sizes = np.zeros(Z.shape[1])
    for plane in margin.planes:
        columns = list(plane.weights)
        sizes[columns] += [float(abs(plane.weights[c]) / largest) for c in columns]
    square = sum((f * f for plane in margin.planes for f in plane.weights.values()), Fraction(0)) / largest**2
    least = math.sqrt(float(margin.lower_squared * square * (1 if len(margin.planes) == 1 else 2)))
    largest_score = max(float((abs(block) @ sizes).max()) for block in blocks(Z))
    error = largest_score * degree * UNIT_ROUNDOFF + Z.shape[1] * 2.0**-1000
    return bool(error * (1 + 1e-6) < least * (1 - 1e-6))
