"""What readers give: some rows of a file, before they are made into features, and what was wrong with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

ZERO_FIRST = re.compile(r"[+-]?0\d")


class DataError(ValueError):
    """A file that cannot be used, in one sentence that names it and, where there is one, the line and column (from 1)."""

    def __init__(
        self,
        source: str,
        sentence: str,
        line: int | None = None,
        column: int | str | None = None,
        headers: Sequence[str] = (),
    ) -> None:
        places = [] if line is None else [f"line {line:,}"]
        if column is not None:
            places.append(f"column {str(column).removeprefix('column ')}")
        super().__init__(f"{', '.join([source, *places])}: {sentence}")
        self.source, self.sentence, self.line, self.column = source, sentence, line, column
        self.headers = tuple(headers)  # the names of all columns, where they are known and one of them may be meant


@dataclass(frozen=True)
class Sparse:
    """A CSR matrix as three arrays: SciPy takes a third of a second to import, which a small prediction should not."""

    values: Any  # float64
    indices: Any  # int32, ascending in each row and counted from 0
    indptr: Any  # int64
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.width

    def take(self, wanted: Any) -> Sparse:
        """Some of the rows, by a mask."""
        lengths = np.diff(self.indptr)
        kept = np.repeat(wanted, lengths)
        indptr = np.concatenate([[0], np.cumsum(lengths[wanted])]).astype(np.int64)
        return Sparse(self.values[kept], self.indices[kept], indptr, self.width)

    def cut(self, width: int) -> Sparse:
        """The first columns; there may be fewer."""
        if self.width <= width:
            return Sparse(self.values, self.indices, self.indptr, width)
        kept = self.indices < width
        ends = np.concatenate([[0], np.cumsum(kept)])
        return Sparse(self.values[kept], self.indices[kept], ends[self.indptr].astype(np.int64), width)

    def to_scipy(self) -> Any:
        import scipy.sparse as sp

        return sp.csr_array((self.values, self.indices, self.indptr), shape=self.shape, copy=False)


@dataclass(frozen=True)
class Table:
    """Named columns of different kinds.

    A column is a float64 array, NaN where a cell is missing; or an object array of str, None where a cell is missing.
    """

    names: tuple[str, ...]
    columns: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.columns[0]) if self.columns else 0, len(self.names)

    def take(self, wanted: Any) -> Table:
        return Table(self.names, tuple(column[wanted] for column in self.columns))


@dataclass(frozen=True)
class Data:
    """Some rows of a file, or all of them."""

    source: str  # what messages call the file
    features: Table | Sparse | Any  # or a float64 array of shape (rows, columns)
    labels: Any | None  # as they stand in the file, float64 or object array of str; None: the file has none
    label_name: str | None = None  # the column of a table that they come from
    note: str | None = None  # what a person should know of how the file was read
    text: tuple[str, ...] = ()  # columns that were said to be text, by name
    categorical: tuple[str, ...] = ()  # or names
    headers: tuple[str, ...] = ()  # of all columns of a table, in the file's order

    @property
    def n_rows(self) -> int:
        return int(self.features.shape[0])

    def take(self, wanted: Any) -> Data:
        """Some of the rows, by a mask."""
        features = self.features.take(wanted) if isinstance(self.features, Sparse | Table) else self.features[wanted]
        return replace(self, features=features, labels=None if self.labels is None else self.labels[wanted])


def as_text(labels: Any) -> Any:
    """Labels in one type that sorts: strings, or the floats of formats that have no others."""
    return labels.astype(str) if labels.dtype.kind == "O" else labels


def typed_labels(labels: Any) -> Any:
    """Labels as whole numbers where all are, else as text: fractions and numbers such as 01 are names.

    >>> typed_labels(np.array(["1", "-1.0", "1"], object)).tolist(), typed_labels(np.array(["1", "b"], object)).tolist()
    ([1, -1, 1], ['1', 'b'])
    >>> typed_labels(np.array([1.5, 2.0])).tolist(), typed_labels(np.array(["01", "02"], object)).tolist()
    (['1.5', '2.0'], ['01', '02'])
    """
    distinct, codes = np.unique(as_text(labels), return_inverse=True)
    try:
        numbers = distinct.astype(np.float64)
    except ValueError:
        return distinct[codes]
    whole = np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and (abs(numbers) < 2**53).all()
    if not whole or any(ZERO_FIRST.match(label) for label in distinct.tolist() if isinstance(label, str)):
        return distinct.astype(str)[codes]
    return numbers.astype(np.int64)[codes]


# --- What counts as a number in a file, and how messages show what does not.

OF_NUMBERS = b"0123456789+-.eE"  # without these, Python's float would take nan, inf, 1_000 and digits of other scripts
NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
SHOWN = 40


def number(token: bytes) -> float | None:
    """The nearest float, infinite where there is none; None where the token is no decimal number.

    >>> number(b"1E-02"), number(b".5"), number(b"nan"), number(b"1_0"), number(b"1e400")
    (0.01, 0.5, None, None, inf)
    """
    if token.translate(None, OF_NUMBERS):
        return None
    try:
        return float(token)
    except ValueError:
        return None


def shown(token: bytes) -> str:
    """A token as messages show it: short, and in plain characters."""
    text = repr(token[: 4 * SHOWN].decode("utf-8", "backslashreplace"))
    return text if len(text) <= SHOWN + 2 else f"{text[: SHOWN - 2]}...{text[0]}"


# --- Arrays, SciPy matrices and pandas frames as `Data`, without importing what made them.


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
