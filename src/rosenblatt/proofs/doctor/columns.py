"""How large the columns and rows are: what scaling would change.

Largest and least values and lengths are the floats' own; means and spreads are floats, of values divided by a power of two, so
that squares of 1e300 do not overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK = 1 << 18


@dataclass(frozen=True)
class Columns:
    """Of each column: least and largest value; mean and standard deviation times 2^-exponent."""

    least: Any
    most: Any
    exponents: Any
    means: Any
    spreads: Any

    @property
    def largest(self) -> Any:
        return np.maximum(abs(self.least), abs(self.most))

    @property
    def ranges(self) -> Any:
        """From the least to the largest value; infinite where that overflows."""
        with np.errstate(over="ignore"):
            return self.most - self.least

    @property
    def constant(self) -> Any:
        return self.least == self.most


def columns_of(X: Any) -> Columns:
    least, most = extremes(X)
    exponents = np.frexp(np.maximum(abs(least), abs(most)))[1]
    n = X.shape[0]
    means = sum((part.sum(axis=0) for part in _scaled(X, exponents)), np.zeros(X.shape[1])) / n
    if isinstance(X, np.ndarray):
        squares = sum((np.square(part - means).sum(axis=0) for part in _scaled(X, exponents)), np.zeros(X.shape[1]))
    else:
        squares = sum((part.power(2).sum(axis=0) for part in _scaled(X, exponents)), np.zeros(X.shape[1])) - n * means**2
    spreads = np.where(least == most, 0.0, np.sqrt(np.maximum(squares, 0.0) / n))
    return Columns(least, most, exponents, means, spreads)


def extremes(X: Any) -> tuple[Any, Any]:
    """The least and the largest value of each column."""
    if isinstance(X, np.ndarray):
        return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    least, most = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    least[full], most[full] = np.inf, -np.inf
    np.minimum.at(least, X.indices, X.data)
    np.maximum.at(most, X.indices, X.data)
    return least, most


def _scaled(X: Any, exponents: Any) -> Iterator[Any]:
    """Blocks of rows in float64, each column times a power of two that makes its values less than 1."""
    for rows in blocks(X):
        yield times(rows, exponents)


def blocks(X: Any) -> Iterator[Any]:
    step = max(1, BLOCK // max(1, X.shape[1])) if isinstance(X, np.ndarray) else BLOCK // 8
    for start in range(0, X.shape[0], step):
        yield X[start : start + step]


def times(rows: Any, exponents: Any) -> Any:
    if isinstance(rows, np.ndarray):
        return np.ldexp(rows.astype(np.float64), -exponents)
    values = np.ldexp(rows.data.astype(np.float64), -exponents[rows.indices])
    return sp.csr_array((values, rows.indices, rows.indptr), rows.shape)


def standardised(X: Any, columns: Columns, centred: bool) -> Any:
    """A copy of the rows: with mean 0 and spread 1 in each column, or divided by the column's largest value."""
    if not (centred and isinstance(X, np.ndarray)):
        largest = np.ldexp(columns.largest, -columns.exponents)
        divisors = np.where(largest > 0, largest, 1.0)
        parts = [_divided(part, divisors) for part in _scaled(X, columns.exponents)]
        return np.concatenate(parts) if isinstance(X, np.ndarray) else sp.vstack(parts, format="csr")
    out = np.empty(X.shape)
    spreads, start = np.where(columns.spreads > 0, columns.spreads, 1.0), 0
    for part in _scaled(X, columns.exponents):
        out[start : start + len(part)] = np.where(columns.constant, 0.0, (part - columns.means) / spreads)
        start += len(part)
    return out


def _divided(part: Any, divisors: Any) -> Any:
    if isinstance(part, np.ndarray):
        return part / divisors
    return sp.csr_array((part.data / divisors[part.indices], part.indices, part.indptr), part.shape)


def lengths(X: Any, intercept: bool) -> tuple[Any, int]:
    """The lengths of the rows (1, x), or x, times 2^-exponent; and the exponent."""
    values = X if isinstance(X, np.ndarray) else X.data
    size = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)), float(intercept), 5e-324)
    exponent = int(np.frexp(size)[1])
    squares = [_squares(part) for part in _scaled(X, np.full(X.shape[1], exponent))]
    return np.sqrt(np.concatenate(squares) + np.ldexp(float(intercept), -exponent) ** 2), exponent


def _squares(part: Any) -> Any:
    return np.square(part).sum(axis=1) if isinstance(part, np.ndarray) else part.power(2).sum(axis=1)
