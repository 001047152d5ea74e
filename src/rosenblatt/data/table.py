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
