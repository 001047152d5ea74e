"""Numeric columns as features: missing cells filled, dates taken apart, products formed, every feature shifted and divided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.csr import CSRMatrix
from ..data.polynomials import Polynomial
from ..data.table import DataError
from .date_parts import expand_parts, part_name

# Features computed at a time, so that they stay in a cache.
FEATURES_PER_BLOCK = 1 << 17


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numeric part of a recipe: how numeric columns become features.

    The features are the products of the inputs, shifted and divided, then the indicators of missing cells, which are 0 or 1.
    """

    columns: int
    degree: int = 1
    fill: FloatArray | None = None  # replaces missing cells, per column; None: missing cells raise an error
    shift: FloatArray | None = None  # subtracted from the products
    divide: FloatArray | None = None  # divides the shifted products
    inputs: IntArray | None = None  # pairs of a column and a part of it, see `date_parts.py`; None: the columns
    indicators: IntArray | None = None  # columns with a feature that is 1 if the cell is missing

    @cached_property
    def polynomial(self) -> Polynomial:
        return Polynomial(self.columns if self.inputs is None else len(self.inputs), self.degree)

    @property
    def width(self) -> int:
        """The number of features."""
        return self.polynomial.width + (0 if self.indicators is None else len(self.indicators))

    @cached_property
    def input_columns(self) -> IntArray:
        """The column of each input."""
        return np.arange(self.columns) if self.inputs is None else self.inputs[:, 0]

    @cached_property
    def own_inputs(self) -> IntArray:
        """The input that is each column itself; -1 if the column is left out, or has other inputs, too."""
        if self.inputs is None:
            return np.arange(self.columns)
        found, counts = np.full(self.columns, -1), np.bincount(self.inputs[:, 0], minlength=self.columns)
        own = np.flatnonzero((self.inputs[:, 1] == 0) & (counts[self.inputs[:, 0]] == 1))
        found[self.inputs[own, 0]] = own
        return found

    def inputs_of(self, X: FloatArray) -> FloatArray:
        """The inputs of rows without missing cells."""
        return X if self.inputs is None else expand_parts(X, self.inputs)

    def input_names(self, names: Sequence[str]) -> Sequence[str]:
        """The names of the inputs, from those of the columns."""
        if self.inputs is None:
            return names
        return [part_name(names[column], part) for column, part in self.inputs.tolist()]

    def dense(self, X: FloatArray, source: str, *, own: bool = False) -> FloatArray:
        """The features of a float array: the array itself if nothing changes or, with `own`, changed in place."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        same_width = self.degree == 1 and self.inputs is None and self.indicators is None
        plain = same_width and self.shift is None and self.divide is None
        out = X if plain or (own and same_width) else np.empty((len(X), self.width))
        step = max(1, FEATURES_PER_BLOCK // max(1, self.width, self.columns))
        for start in range(0, len(X), step):
            part = X[start : start + step]
            filled = self._filled(part, source, start)
            if not plain:
                self._transform(part, filled, out[start : start + step], source, start)
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
        if self.fill is None or not (finite | missing).all():
            row, column = (int(at[0]) for at in np.nonzero(~finite if self.fill is None else ~(finite | missing)))
            state = "missing" if missing[row, column] else "infinite"
            raise DataError(source, f"the value is {state}", column=column, row=start + row + 1)
        return np.where(missing, self.fill, part)

    def _transform(self, part: FloatArray, filled: FloatArray, out: FloatArray, source: str, start: int) -> None:
        """Write the features of some rows, whose missing cells have been filled, to `out`, which may be `part`."""
        if self.indicators is not None:
            out[:, self.polynomial.width :] = np.isnan(part[:, self.indicators])
        products = out[:, : self.polynomial.width]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            features = self.polynomial.expand(self.inputs_of(filled))
            if self.shift is None:
                products[:] = features
            else:
                np.subtract(features, self.shift, out=products)
            if self.divide is not None:
                np.divide(products, self.divide, out=products)
        if not np.isfinite(products).all():
            row = start + int(np.flatnonzero(~np.isfinite(products).all(axis=1))[0]) + 1
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
