"""Columns of a table as numbers or as strings, whichever a recipe wants of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.adapt import number_as_text
from ..data.table import DataError, Table


def as_numbers(cells: Any, source: str, name: str) -> Any:
    """A column of floats; strings are read as such."""
    if cells.dtype.kind != "O":
        return cells
    found = np.empty(len(cells))
    for at, cell in enumerate(cells):
        try:
            found[at] = np.nan if cell is None else float(cell)
        except ValueError:
            shown = cell if len(cell) <= 40 else cell[:37] + "..."
            raise DataError(
                source, f"{shown!r} in row {at + 1:,} is not a number, as in the rows before", column=name
            ) from None
    return found


def as_strings(cells: Any) -> Any:
    """A column of str; numbers are written as such."""
    if cells.dtype.kind == "O":
        return cells
    found = np.empty(len(cells), object)
    found[:] = [None if cell != cell else number_as_text(cell) for cell in cells.tolist()]
    return found


def as_matrix(table: Table, source: str, names: Sequence[str]) -> Any:
    """Some columns of a table as an array of floats."""
    places = {name: place for place, name in enumerate(table.names)}
    X = np.empty((table.shape[0], len(names)))
    for j, name in enumerate(names):
        X[:, j] = as_numbers(table.columns[places[name]], source, name)
    return X
