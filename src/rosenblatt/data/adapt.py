"""Arrays, SciPy matrices and pandas frames as `Data`, without importing what made them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .table import Data, DataError, Sparse, Table


def as_data(X: Any, source: str = "X") -> Data:
    """What a recipe reads, from whatever has rows and columns.

    >>> as_data([[1, 2], [3, 4]]).features.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if isinstance(X, Data):
        return X
    if isinstance(X, Table | Sparse):
        return Data(source, X, None)
    if hasattr(X, "tocsr"):
        return Data(source, _from_scipy(X), None)
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        names = tuple(str(name) for name in X.columns)
        if len(set(names)) < len(names):
            raise DataError(source, "two columns have the same name")
        return Data(source, Table(names, tuple(_column(X.iloc[:, j], name, source) for j, name in enumerate(names))), None)
    try:
        array = np.asarray(X)
        array = array if array.dtype == np.float64 else array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(source, "rows of an array must be numbers; give a pandas DataFrame where columns differ") from None
    if array.ndim != 2:
        raise DataError(source, f"rows must be a matrix, got an array of {array.ndim} dimensions")
    return Data(source, array, None)


def _from_scipy(X: Any) -> Sparse:
    csr = X.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    values, indices = np.asarray(csr.data, np.float64), np.asarray(csr.indices, np.int32)
    return Sparse(values, indices, np.asarray(csr.indptr, np.int64), int(csr.shape[1]))


def _column(series: Any, name: str, source: str) -> Any:
    """A column of a pandas frame: numbers and booleans as floats, anything else as str."""
    if getattr(series.dtype, "kind", "O") in "biuf":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    missing = np.asarray(series.isna(), bool)
    cells = np.empty(len(series), object)
    for at, cell in enumerate(series):
        if missing[at]:
            cells[at] = None
        elif isinstance(cell, str):
            cells[at] = cell
        elif isinstance(cell, bool | int | float | np.number | np.bool_):
            cells[at] = number_as_text(float(cell))
        else:
            raise DataError(
                source, f"row {at + 1:,} has a {type(cell).__name__}, which is neither a number nor text", column=name
            )
    return cells


def number_as_text(value: float) -> str:
    """A number as it would be written in a file.

    >>> number_as_text(3.0), number_as_text(0.1)
    ('3', '0.1')
    """
    return str(int(value)) if value == round(value) and abs(value) < 2**53 else repr(float(value))
