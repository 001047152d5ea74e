"""The rows and labels that a certificate is about, as exact numbers, and their digest."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .exact_arrays import (
    VALUES_PER_BLOCK,
    Array,
    MatrixLike,
    SparseRows,
    canonical_labels,
    check_distinct,
    exact_labels,
    exact_matrix,
    exact_numbers,
    is_canonical,
)

_CHANGED = "X changed while it was read"

# The columns with nonzero values, their values as integers, and the common denominator of these, a power of two.
Row: TypeAlias = tuple[list[int], list[int], int]
# Nonzero values per row, columns, values.
Block: TypeAlias = tuple[Array, Array, Array]


class Data:
    """Rows from an array, a sparse matrix or a data frame, with their labels; every value is one that float64 holds."""

    def __init__(self, X: MatrixLike, y: npt.ArrayLike) -> None:
        self.X = exact_matrix(X)
        if len(self.X.shape) != 2:
            raise ValueError(f"X must have two dimensions, got shape {self.X.shape}")
        self.n_rows, self.n_columns = map(int, self.X.shape)
        self.given_labels = exact_labels(y, self.n_rows).tolist()
        self.labels = canonical_labels(self.given_labels)
        self._wanted: list[int] = []
        self._kept: dict[int, Row] = {}

    def check_labels(self) -> None:
        """Raise `ValueError` if two labels differ but are compared as equal, such as "1" and "1.0"."""
        check_distinct(self.given_labels, self.labels)

    @property
    def n_values(self) -> int:
        """The number of stored values: the nonzero ones of a sparse matrix, all of an array."""
        return int(self.X.indptr[-1]) if isinstance(self.X, SparseRows) else self.n_rows * self.n_columns

    def blocks(self) -> Iterator[Block]:
        """(nonzero values per row, columns, values) of consecutive blocks of rows, columns ascending."""
        step = max(1, VALUES_PER_BLOCK * self.n_rows // max(1, self.n_values))
        for start in range(0, self.n_rows, step):
            if isinstance(self.X, SparseRows):
                indptr = np.asarray(self.X.indptr[start : min(start + step, self.n_rows) + 1]).astype(np.int64)
                here = slice(indptr[0], indptr[-1])
                columns, values = self.X.indices[here].astype(np.int64), _floats(self.X.data[here])
                _check_sparse_block(indptr - indptr[0], columns, values, self.n_columns)
                yield np.diff(indptr), columns, values
            else:
                block = _floats(self.X[start : start + step])
                rows, columns = np.nonzero(block)
                yield np.bincount(rows, minlength=len(block)), columns.astype(np.int64), block[rows, columns]

    def rows(self) -> Iterator[Row]:
        """All rows, exactly. Raises `ValueError` at the end unless they are those that the digest was computed from."""
        digest = RowDigest()
        for block in self.blocks():
            digest.update(block)
            yield from _exact_rows(*block)
        if self._whole_digest(digest) != self.sha256:
            raise ValueError(_CHANGED)

    def row(self, i: int) -> Row:
        """Row i, exactly."""
        if i in self._kept:
            return self._kept[i]
        if isinstance(self.X, SparseRows):
            here = slice(int(self.X.indptr[i]), int(self.X.indptr[i + 1]))
            columns, values = self.X.indices[here], self.X.data[here].astype(np.float64)
        else:
            columns = np.flatnonzero(self.X[i])
            values = self.X[i, columns].astype(np.float64)
        return _over_common_power(columns.tolist(), *_as_integers(values))

    def keep(self, rows: Iterable[int]) -> None:
        """Let the digest, unless it is known, keep these rows as it reads them: X may change later, as mapped files do."""
        self._wanted = sorted(set(rows))

    @cached_property
    def sha256(self) -> str:
        """The digest of shape, labels and values; the same for arrays and sparse matrices, float32 and float64."""
        digest, first = RowDigest(), 0
        for counts, columns, values in self.blocks():
            digest.update((counts, columns, values))
            ends = np.cumsum(counts)
            for i in self._wanted[bisect_left(self._wanted, first) : bisect_left(self._wanted, first + len(counts))]:
                here = slice(ends[i - first] - counts[i - first], ends[i - first])
                self._kept[i] = _over_common_power(columns[here].tolist(), *_as_integers(values[here]))
            first += len(counts)
        return self._whole_digest(digest)

    def _whole_digest(self, rows: RowDigest) -> str:
        digest = hashlib.sha256(rows.summary(self.n_rows, self.n_columns))
        lines = {label: label_line(label) for label in set(self.labels)}
        for start in range(0, self.n_rows, VALUES_PER_BLOCK):
            digest.update(b"".join(map(lines.__getitem__, self.labels[start : start + VALUES_PER_BLOCK])))
        return digest.hexdigest()


class Sha256Like(Protocol):
    """What is used of `hashlib.sha256`."""

    def update(self, content: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


class RowDigest:
    """Digests of the numbers of values per row, of the columns and of the values; `make` returns a SHA-256."""

    def __init__(self, make: Callable[[], Sha256Like] = hashlib.sha256) -> None:
        self.parts = [make() for _ in range(3)]

    def update(self, block: Block) -> None:
        _check_finite(block[-1])
        for part, column, kind in zip(self.parts, block, ("<i8", "<i8", "<f8"), strict=True):
            part.update(column.astype(kind).tobytes())

    def summary(self, n_rows: int, n_columns: int) -> bytes:
        """The beginning of what the digest of the data is computed from; the lines of the labels follow."""
        return f"rosenblatt data 1\n{n_rows} {n_columns}\n".encode() + b"".join(part.digest() for part in self.parts)


def label_line(label: str) -> bytes:
    """A label as the digest reads it."""
    return f"{len(label)}:{label}\n".encode()


def _check_sparse_block(ends: Array, columns: Array, values: Array, n_columns: int) -> None:
    """Raise `ValueError` unless a block is as the matrix was found: a row with a column twice would be read as two values."""
    consistent = bool((np.diff(ends) >= 0).all()) and ends[-1] == len(columns) == len(values)
    within = consistent and 0 <= columns.min(initial=0) <= columns.max(initial=0) < max(1, n_columns)
    if not (within and is_canonical(columns, ends, values)):
        raise ValueError(_CHANGED)


def _floats(values: Array) -> Array:
    """A copy as floats. It is checked again: X may have changed since it was found to be exact."""
    return exact_numbers(values.flatten()).astype(np.float64, copy=False).reshape(values.shape)


def _exact_rows(counts: Array, columns: Array, values: Array) -> Iterator[Row]:
    ends = np.cumsum(counts).tolist()
    column_list, (integers, exponents) = columns.tolist(), _as_integers(values)
    for start, end in zip([0, *ends], ends, strict=False):
        yield _over_common_power(column_list[start:end], integers[start:end], exponents[start:end])


def _check_finite(values: Array) -> None:
    if not np.isfinite(values).all():
        raise ValueError("X has values that are not finite")


def _as_integers(values: Array) -> tuple[list[int], list[int]]:
    """Floats as 53-bit integers times powers of two: the integers and the exponents."""
    _check_finite(values)
    mantissas, exponents = np.frexp(values)
    return np.ldexp(mantissas, 53).astype(np.int64).tolist(), (exponents.astype(np.int64) - 53).tolist()


def _over_common_power(columns: list[int], integers: list[int], exponents: list[int]) -> Row:
    least = min(0, *exponents) if exponents else 0
    return columns, [n << exponent - least for n, exponent in zip(integers, exponents, strict=True)], 1 << -least
