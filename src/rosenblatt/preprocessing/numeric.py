"""Columns of numbers as features: missing cells filled, products made, every feature shifted and divided."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.table import DataError, Sparse
from .polynomial import Polynomial
from .sparse import cut_columns, from_dense, one_below_other, to_dense

CELLS = 1 << 17  # so many features are made at a time: they stay in a cache


@dataclass(frozen=True, eq=False)
class Numbers:
    columns: int
    degree: int = 1
    means: Any | None = None  # of the columns, for missing cells; None: a missing cell is refused
    shift: Any | None = None  # of the features: subtracted from them
    divide: Any | None = None  # of the features: divides them after that

    @cached_property
    def polynomial(self) -> Polynomial:
        return Polynomial(self.columns, self.degree)

    @property
    def width(self) -> int:
        return self.polynomial.width

    def dense(self, X: Any, source: str, *, own: bool = False) -> Any:
        """The features of an array of floats: the array itself where nothing is to be done, or it is ours to change."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        plain = self.degree == 1 and self.shift is None and self.divide is None
        out = X if plain or (own and self.degree == 1) else np.empty((len(X), self.width))
        step = max(1, CELLS // max(1, self.width))
        for start in range(0, len(X), step):
            part = X[start : start + step]
            filled = self._filled(part, source, start)
            if not plain:
                self._transform(filled, out[start : start + step], source, start)
            elif filled is not part:
                out = X.copy() if out is X and not own else out
                out[start : start + step] = filled
        return out

    def sparse(self, S: Sparse, source: str) -> Sparse:
        """The features of a sparse matrix, where nothing is shifted; columns beyond those that are known are left out."""
        S = cut_columns(S, self.columns)
        if self.degree == 1:
            with np.errstate(over="ignore"):
                values = S.values if self.divide is None else S.values / self.divide[S.indices]
            if not np.isfinite(values).all():
                at = int((~np.isfinite(values)).argmax())
                row = int(np.searchsorted(S.indptr, at, side="right"))
                raise DataError(source, f"row {row:,} has a number that is {_fault(S.values[at])}")
            return S if self.divide is None else Sparse(values, S.indices, S.indptr, S.width)
        step = max(1, CELLS // max(1, self.width))
        parts = []
        for start in range(0, S.shape[0], step):
            stop = min(start + step, S.shape[0])
            out = np.empty((stop - start, self.width))
            self._transform(to_dense(S, start, stop), out, source, start)
            parts.append(from_dense(out))
        return one_below_other(parts, self.width)

    def _filled(self, part: Any, source: str, start: int) -> Any:
        """The rows with missing cells filled: the same array if there are none."""
        fine = np.isfinite(part)
        if fine.all():
            return part
        missing = np.isnan(part)
        if self.means is None or not (fine | missing).all():
            row, column = (int(at[0]) for at in np.nonzero(~fine if self.means is None else ~(fine | missing)))
            what = "missing" if missing[row, column] else "infinite"
            raise DataError(source, f"the cell in row {start + row + 1:,}, column {column + 1:,} is {what}")
        return np.where(missing, self.means, part)

    def _transform(self, part: Any, out: Any, source: str, start: int) -> None:
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
            raise DataError(source, f"row {row:,} has a number that is too large: its features pass 1.8e308")


def _fault(value: float) -> str:
    return "too large beside those of the training rows" if np.isfinite(value) else f"{value}"
