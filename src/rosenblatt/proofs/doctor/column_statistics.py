"""Ranges, means and standard deviations of columns, lengths of rows, and scaled copies of the rows.

Means, standard deviations and lengths are computed from values divided by a power of two, so that squares of 1e300 do not
overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...array_types import BoolArray, FloatArray, IntArray, Matrix
from ...certificates.time_limit import check_time

VALUES_PER_BLOCK = 1 << 18


@dataclass(frozen=True)
class Columns:
    """Minimum and maximum of each column, and its mean and standard deviation times 2^-exponent."""

    minimum: FloatArray
    maximum: FloatArray
    exponents: IntArray
    means: FloatArray
    deviations: FloatArray

    @property
    def largest(self) -> FloatArray:
        """The largest absolute value."""
        return np.asarray(np.maximum(abs(self.minimum), abs(self.maximum)))

    @property
    def ranges(self) -> FloatArray:
        """Maximum minus minimum; infinite on overflow."""
        with np.errstate(over="ignore"):
            return np.asarray(self.maximum - self.minimum)

    @property
    def constant(self) -> BoolArray:
        return np.asarray(self.minimum == self.maximum)


def columns_of(X: Matrix) -> Columns:
    """The statistics of the columns of an array or a CSR matrix."""
    minimum, maximum = extremes(X)
    exponents = np.frexp(np.maximum(abs(minimum), abs(maximum)))[1]
    n = X.shape[0]
    means = sum((part.sum(axis=0) for part in _scaled(X, exponents)), np.zeros(X.shape[1])) / n
    if isinstance(X, np.ndarray):
        squares = sum((np.square(part - means).sum(axis=0) for part in _scaled(X, exponents)), np.zeros(X.shape[1]))
    else:
        squares = sum((_squares(part, 0) for part in _scaled(X, exponents)), np.zeros(X.shape[1])) - n * means**2
    deviations = np.where(minimum == maximum, 0.0, np.sqrt(np.maximum(squares, 0.0) / n))
    return Columns(minimum, maximum, exponents, means, deviations)


def extremes(X: Matrix) -> tuple[FloatArray, FloatArray]:
    """The minimum and the maximum of each column."""
    if isinstance(X, np.ndarray):
        return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    minimum, maximum = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    minimum[full], maximum[full] = np.inf, -np.inf
    np.minimum.at(minimum, X.indices, X.data)
    np.maximum.at(maximum, X.indices, X.data)
    return minimum, maximum


def _scaled(X: Matrix, exponents: IntArray) -> Iterator[Matrix]:
    """Blocks of rows in float64, each column times 2^-exponent."""
    for rows in blocks(X):
        yield scale_down(rows, exponents)


def blocks(X: Matrix) -> Iterator[Matrix]:
    """Consecutive blocks of rows."""
    step = max(1, VALUES_PER_BLOCK // max(1, X.shape[1])) if isinstance(X, np.ndarray) else VALUES_PER_BLOCK // 8
    for start in range(0, X.shape[0], step):
        check_time()
        yield X[start : start + step]


def scale_down(rows: Matrix, exponents: IntArray) -> Matrix:
    """The rows in float64, each column times 2^-exponent."""
    if isinstance(rows, np.ndarray):
        return np.ldexp(rows.astype(np.float64), -exponents)
    values = np.ldexp(rows.data.astype(np.float64), -exponents[rows.indices])
    return sp.csr_array((values, rows.indices, rows.indptr), rows.shape)


def standardized(X: Matrix, columns: Columns, centered: bool) -> Matrix:
    """A copy of the rows: with mean 0 and standard deviation 1 in each column, or divided by the column's largest value."""
    if not (centered and isinstance(X, np.ndarray)):
        largest = np.ldexp(columns.largest, -columns.exponents)
        divisors = np.where(largest > 0, largest, 1.0)
        parts = [_divided(part, divisors) for part in _scaled(X, columns.exponents)]
        return np.concatenate(parts) if isinstance(X, np.ndarray) else sp.vstack(parts, format="csr")
    out = np.empty(X.shape)
    deviations, start = np.where(columns.deviations > 0, columns.deviations, 1.0), 0
    for part in _scaled(X, columns.exponents):
        out[start : start + len(part)] = np.where(columns.constant, 0.0, (part - columns.means) / deviations)
        start += len(part)
    return out


def _divided(part: Matrix, divisors: FloatArray) -> Matrix:
    if isinstance(part, np.ndarray):
        return part / divisors
    return sp.csr_array((part.data / divisors[part.indices], part.indices, part.indptr), part.shape)


def lengths(X: Matrix, intercept: bool) -> tuple[FloatArray, int]:
    """The lengths of the rows (1, x), or x without an intercept, times 2^-exponent; and the exponent."""
    values = X if isinstance(X, np.ndarray) else X.data
    size = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)), float(intercept), 5e-324)
    exponent = int(np.frexp(size)[1])
    squares = [_squares(part, 1) for part in _scaled(X, np.full(X.shape[1], exponent))]
    return np.sqrt(np.concatenate(squares) + np.ldexp(float(intercept), -exponent) ** 2), exponent


def _squares(part: Matrix, axis: int) -> FloatArray:
    """The sums of squares of the columns (axis 0) or the rows (axis 1)."""
    found: FloatArray = np.square(part).sum(axis=axis) if isinstance(part, np.ndarray) else part.power(2).sum(axis=axis)
    return found
