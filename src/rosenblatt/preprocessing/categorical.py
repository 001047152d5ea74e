"""Columns of a table as numbers or strings, categories as one-hot vectors, and the names of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast, overload

import numpy as np

from ..array_types import Array, FloatArray
from ..data.csr import CSRMatrix, row_pointers
from ..data.table import Data, Table, number_as_text
from .numeric import Numbers
from .text_features import TextFeatures

MISSING = "missing"  # names the features of missing cells
MAX_CELL_SHOWN = 40  # characters of a cell in a message

# --- Columns of a table as numbers or strings


def as_numbers(cells: Array, data: Data, name: str) -> FloatArray:
    """A column as floats; strings are parsed."""
    if cells.dtype.kind != "O":
        return cells
    found = np.empty(len(cells))
    for at, cell in enumerate(cells):
        try:
            found[at] = np.nan if cell is None else float(cell)
        except ValueError:
            shown = cell if len(cell) <= MAX_CELL_SHOWN else cell[: MAX_CELL_SHOWN - 3] + "..."
            raise data.error_at(at, f"{shown!r} is not a number, but the column is numeric", name) from None
    return found


def as_strings(cells: Array) -> Array:
    """A column as str; numbers are formatted."""
    if cells.dtype.kind == "O":
        return cells
    found = np.empty(len(cells), object)
    found[:] = [None if cell != cell else number_as_text(cell) for cell in cells.tolist()]
    return found


def as_matrix(data: Data, names: Sequence[str]) -> FloatArray:
    """Some columns of a table as a float array."""
    table = cast(Table, data.features)
    places = {name: place for place, name in enumerate(table.names)}
    X = np.empty((table.shape[0], len(names)))
    for j, name in enumerate(names):
        X[:, j] = as_numbers(table.columns[places[name]], data, name)
    return X


# --- Features of one column


@dataclass(frozen=True)
class Categories:
    """One-hot encoding: feature k is 1 if the cell is the k-th value; an unknown value has no feature.

    Missing cells are a category of their own, the last one, if the training rows had any.
    """

    name: str
    values: tuple[str, ...]  # sorted
    missing: bool = False  # whether missing cells have a feature

    @cached_property
    def _places(self) -> dict[str | None, int]:
        places: dict[str | None, int] = {value: place for place, value in enumerate(self.values)}
        return places | {None: len(self.values)} if self.missing else places

    @property
    def width(self) -> int:
        return len(self.values) + self.missing

    def feature_name(self, feature: int) -> str:
        return f"{self.name}={self.values[feature] if feature < len(self.values) else MISSING}"

    def sparse(self, cells: Array) -> CSRMatrix:
        places = self._places
        codes = np.array([places.get(cell, -1) for cell in cells], np.int32)
        known = codes >= 0
        return CSRMatrix(np.ones(int(known.sum())), codes[known], row_pointers(known), self.width)


# --- Names of features, created on access: a million columns need no million strings


class NumberedColumns(Sequence[str]):
    """Names of unnamed columns: their numbers, from `first`.

    >>> NumberedColumns(3, 1)[-1], list(NumberedColumns(2, 0))
    ('3', ['0', '1'])
    """

    def __init__(self, columns: int, first: int) -> None:
        self.columns, self.first = columns, first

    def __len__(self) -> int:
        return self.columns

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        found = range(self.columns)[at]
        return str(found + self.first) if isinstance(found, int) else [str(one + self.first) for one in found]


class FeatureNames(Sequence[str]):
    """The names of the inputs and their products, of the indicators, then of the features of each column of strings."""

    def __init__(self, numbers: Numbers, names: Sequence[str], strings: tuple[Categories | TextFeatures, ...]) -> None:
        self._numbers, self._names, self._strings = numbers, names, strings
        self._inputs = numbers.input_names(names)

    def __len__(self) -> int:
        return self._numbers.width + sum(block.width for block in self._strings)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[one] for one in range(len(self))[at]]
        feature = range(len(self))[at]
        polynomial, indicators = self._numbers.polynomial, self._numbers.indicators
        if feature < polynomial.columns:
            return self._inputs[feature]
        if feature < polynomial.width:
            return polynomial.name(feature, self._inputs)
        if feature < self._numbers.width and indicators is not None:
            return f"{self._names[int(indicators[feature - polynomial.width])]}={MISSING}"
        feature -= self._numbers.width
        for block in self._strings:
            if feature < block.width:
                return block.feature_name(feature)
            feature -= block.width
        raise AssertionError
