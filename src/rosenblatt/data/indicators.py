"""Indicator matrices: the labels of rows that have any number of them. Y[i, j] is 1 if row i has label j, and 0 if not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..array_types import Array, BoolArray, IntArray

# What Y of several columns must be, and how it is made.
NEEDED = "Y of several columns must be an indicator matrix of 0 and 1"
BINARIZER = "MultiLabelBinarizer of sklearn.preprocessing makes one of lists of labels"


@dataclass(frozen=True)
class Indicator:
    """A checked indicator matrix.

    Attributes
    ----------
    names : ndarray of shape (n_labels,)
        The names of the columns of a data frame, or 0, 1, ...
    sparse : bool
        Whether it was given as a sparse matrix.
    """

    names: Array
    sparse: bool
    _values: Any  # a CSC array, or a Boolean array whose columns are contiguous

    @property
    def n_rows(self) -> int:
        return int(self._values.shape[0])

    def __len__(self) -> int:
        return len(self.names)

    def column(self, j: int) -> IntArray:
        """Return the column of a label, 0 or 1 for each row."""
        if not self.sparse:
            found: IntArray = self._values[:, j].astype(np.int64)
            return found
        column = np.zeros(self.n_rows, np.int64)
        start, stop = self._values.indptr[j : j + 2]
        column[self._values.indices[start:stop]] = 1
        return column


def is_indicator(y: object) -> bool:
    """Whether labels are a table of two columns or more, lists of labels, or sparse, and so no class label for each row."""
    if sp.issparse(y):
        return True
    shape = getattr(y, "shape", None)
    if isinstance(shape, tuple):
        return len(shape) == 2 and shape[1] > 1
    if not isinstance(y, list | tuple) or not y or not _is_group(y[0]):
        return False
    return any(not _is_group(row) or len(row) != 1 for row in y)


def _is_group(row: object) -> TypeGuard[Sequence[object]]:
    return isinstance(row, list | tuple | set | frozenset) or (isinstance(row, np.ndarray) and row.ndim == 1)


def read_indicator(Y: Any) -> Indicator:
    """Check an indicator matrix: an array, lists, a data frame or a sparse matrix of 0 and 1.

    >>> labels = read_indicator([[0, 1, 1], [1, 0, 0]])
    >>> len(labels), labels.column(1).tolist()
    (3, [1, 0])
    """
    if sp.issparse(Y):
        return _read_sparse(Y)
    names = _names(Y)
    values = _as_array(Y)
    positive = values == 1
    _refuse_others(values, positive | (values == 0), values.dtype)
    return Indicator(np.arange(values.shape[1]) if names is None else names, False, np.asfortranarray(positive))


def _read_sparse(Y: Any) -> Indicator:
    matrix = sp.csc_array(Y)
    if matrix.has_canonical_format is False:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"{NEEDED}, got a sparse matrix of type {matrix.dtype}: {BINARIZER}")
    wrong = np.flatnonzero((matrix.data != 0) & (matrix.data != 1))
    if len(wrong):
        place = int(wrong[0])
        column = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
        raise _wrong_value(int(matrix.indices[place]), column, matrix.data[place])
    if (matrix.data == 0).any():
        matrix.eliminate_zeros()
    return Indicator(np.arange(matrix.shape[1]), True, matrix)


def _names(Y: Any) -> Array | None:
    """The names of the columns of a data frame, if they are text and differ."""
    columns = getattr(Y, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return None
    return np.array(names)


def _as_array(Y: Any) -> Array:
    rows_differ = f"{NEEDED}, but its rows differ in length: {BINARIZER}"
    if isinstance(Y, list | tuple) and any(isinstance(row, set | frozenset) for row in Y):
        raise ValueError(rows_differ)
    try:
        values = np.asarray(Y)
    except ValueError:
        raise ValueError(rows_differ) from None
    if values.ndim != 2:
        raise ValueError(rows_differ)
    if values.dtype.kind == "O":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            _refuse_others(values, np.isin(values.astype(str), ("0", "1", "True", "False", "0.0", "1.0")), values.dtype)
            raise ValueError(f"{NEEDED}, got text: {BINARIZER}") from None
    return values


def _refuse_others(values: Array, allowed: npt.NDArray[Any], dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biufO":
        raise ValueError(f"{NEEDED}, got text: {BINARIZER}")
    found: BoolArray = np.asarray(allowed, bool)
    if not found.all():
        row, column = (int(place) for place in np.argwhere(~found)[0])
        raise _wrong_value(row, column, values[row, column])


def _wrong_value(row: int, column: int, value: Any) -> ValueError:
    shown = value.item() if isinstance(value, np.generic) else value
    remedy = "use Y > 0" if shown == -1 else BINARIZER
    return ValueError(f"{NEEDED}, but Y[{row}, {column}] is {shown!r}: {remedy}")
