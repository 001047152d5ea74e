"""Numeric columns as features: missing cells filled, products formed, every feature shifted and divided.

Features are left as they are unless their ranges differ wildly; then each is divided by its largest absolute value. Zeros stay
zeros, and test errors of the averaged perceptron were about as low as with mean 0 and deviation 1 (20 splits: heart 13.7 %
against 14.4 %, spambase 8.3 % against 7.4 %, wdbc 3.1 % and 3.1 %), compared to 27 %, 45 % and 8.5 % without scaling.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ..array_types import FloatArray
from ..data.csr import CSRMatrix
from ..data.polynomials import Polynomial
from ..data.table import DataError

Scale = Literal["auto", "none", "max", "standard"]
SCALES: tuple[Scale, ...] = ("auto", "none", "max", "standard")
# scale="auto" scales if the widest range is more than this many times the narrowest. If few cells are set, they may be word
# counts, which reach hundreds and are better left alone (news20: 549 times; test error 21 %, scaled 23 %).
MAX_RANGE_RATIO, MAX_RANGE_RATIO_SPARSE = 100.0, 10_000.0
SPARSE_DENSITY = 0.1
# Features computed at a time, so that they stay in a cache.
FEATURES_PER_BLOCK = 1 << 17


# --- Scaling


def check_scale(scale: str) -> None:
    """Raise ValueError for an unknown scale."""
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")


def range_ratio(largest: FloatArray) -> float:
    """The largest absolute value of the widest feature over that of the narrowest."""
    nonzero = largest[largest > 0]
    with np.errstate(over="ignore"):
        return float(nonzero.max() / nonzero.min()) if len(nonzero) else 1.0


def needs_scaling(largest: FloatArray, density: float = 1.0) -> bool:
    """Whether scale="auto" scales features with these largest absolute values."""
    return range_ratio(largest) > (MAX_RANGE_RATIO if density >= SPARSE_DENSITY else MAX_RANGE_RATIO_SPARSE)


def largest_divisors(largest: FloatArray) -> FloatArray:
    """The divisors that bring features to [-1, 1]; 1 for a feature that is always zero."""
    return np.where(largest > 0, largest, 1.0)


def standard_scaling(means: FloatArray, deviations: FloatArray, largest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shifts and divisors for mean 0 and deviation 1; features whose squares overflow are divided by their largest value."""
    finite = np.isfinite(deviations)
    divide = np.where(finite, np.where(deviations > 0, deviations, 1.0), largest_divisors(largest))
    return np.where(finite, means, 0.0), divide


# --- Features


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numeric part of a recipe: how numeric columns become features."""

    columns: int
    degree: int = 1
    means: FloatArray | None = None  # means of the columns, which replace missing cells; None: missing cells raise an error
    shift: FloatArray | None = None  # subtracted from the features
    divide: FloatArray | None = None  # divides the shifted features

    @cached_property
    def polynomial(self) -> Polynomial:
        return Polynomial(self.columns, self.degree)

    @property
    def width(self) -> int:
        """The number of features."""
        return self.polynomial.width

    def dense(self, X: FloatArray, source: str, *, own: bool = False) -> FloatArray:
        """The features of a float array: the array itself if nothing changes or, with `own`, changed in place."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        plain = self.degree == 1 and self.shift is None and self.divide is None
        out = X if plain or (own and self.degree == 1) else np.empty((len(X), self.width))
        step = max(1, FEATURES_PER_BLOCK // max(1, self.width))
        for start in range(0, len(X), step):
            part = X[start : start + step]
            filled = self._filled(part, source, start)
            if not plain:
                self._transform(filled, out[start : start + step], source, start)
            elif filled is not part:
                out = X.copy() if out is X and not own else out
                out[start : start + step] = filled
        return out

    def sparse(self, rows: CSRMatrix, source: str) -> CSRMatrix:
        """The features of sparse rows, which are not shifted; unknown columns are left out."""
        rows = rows.with_width(self.columns)
        features = self.polynomial.expand_sparse(rows)
        if self.degree == 1 and self.divide is None:
            _check_finite(features, rows, source)
            return rows
        values = features.values
        if self.divide is not None:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                values = values / self.divide[features.indices]
        scaled = CSRMatrix(values, features.indices, features.indptr, features.width)
        _check_finite(scaled, rows, source)
        return scaled if self.degree == 1 else scaled.without_zeros()

    def _filled(self, part: FloatArray, source: str, start: int) -> FloatArray:
        """The rows with missing cells filled; the same array if there are none."""
        finite = np.isfinite(part)
        if finite.all():
            return part
        missing = np.isnan(part)
        if self.means is None or not (finite | missing).all():
            row, column = (int(at[0]) for at in np.nonzero(~finite if self.means is None else ~(finite | missing)))
            state = "missing" if missing[row, column] else "infinite"
            raise DataError(source, f"the value is {state}", column=column, row=start + row + 1)
        return np.where(missing, self.means, part)

    def _transform(self, part: FloatArray, out: FloatArray, source: str, start: int) -> None:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            features = self.polynomial.expand(part)
            if self.shift is None:
                out[:] = features
            else:
                np.subtract(features, self.shift, out=out)
            if self.divide is not None:
                np.divide(out, self.divide, out=out)
        if not np.isfinite(out).all():
            row = start + int(np.flatnonzero(~np.isfinite(out).all(axis=1))[0]) + 1
            raise DataError(source, "a number is too large: its features exceed 1.8e308", row=row)


def _check_finite(features: CSRMatrix, rows: CSRMatrix, source: str) -> None:
    """Raise DataError for the first row of features that is not finite."""
    finite = np.isfinite(features.values)
    if finite.all():
        return
    row = int(np.searchsorted(features.indptr, int((~finite).argmax()), side="right")) - 1
    values = rows.slice(row, row + 1).values
    wrong = values[~np.isfinite(values)]
    reason = f"a number is {wrong[0]}" if len(wrong) else "a number is too large compared to the training rows"
    raise DataError(source, reason, row=row + 1)
