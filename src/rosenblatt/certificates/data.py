"""The rows and labels that a certificate is about, as exact numbers, and their digest."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
# The columns with nonzero values, their values as integers, and the common denominator of these, a power of two.
Row: TypeAlias = tuple[list[int], list[int], int]

VALUES_PER_BLOCK = 1 << 18


class SparseMatrix(Protocol):
    """The part of SciPy's sparse matrices that is used here; SciPy itself is not imported."""

    def tocsr(self) -> Any: ...


MatrixLike: TypeAlias = npt.ArrayLike | SparseMatrix


class Data:
    """Rows from an array, a sparse matrix or a data frame, with their labels; float32 and integers are read as float64."""

    def __init__(self, X: MatrixLike, y: npt.ArrayLike) -> None:
        self.sparse = hasattr(X, "tocsr")
        self.X: Any = _canonical(X.tocsr()) if hasattr(X, "tocsr") else as_array(X)
        check_exact(self.X.data if self.sparse else self.X)
        if len(self.X.shape) != 2:
            raise ValueError(f"X must have two dimensions, got shape {self.X.shape}")
        self.n_rows, self.n_columns = map(int, self.X.shape)
        y = np.asarray(y)
        if y.ndim != 1 and y.shape != (self.n_rows, 1):
            raise ValueError(f"y must have one label for each row, got shape {y.shape}")
        self.labels = [label_text(label) for label in y.ravel().tolist()]
        if len(self.labels) != self.n_rows:
            raise ValueError(f"X has {self.n_rows} rows but y has {len(self.labels)} labels")

    @property
    def n_values(self) -> int:
        """The number of stored values: the nonzero ones of a sparse matrix, all of an array."""
        return int(self.X.indptr[-1]) if self.sparse else self.n_rows * self.n_columns

    def blocks(self) -> Iterator[tuple[Array, Array, Array]]:
        """(nonzero values per row, columns, values) of consecutive blocks of rows, columns ascending."""
        step = max(1, VALUES_PER_BLOCK * self.n_rows // max(1, self.n_values))
        for start in range(0, self.n_rows, step):
            if self.sparse:
                indptr = np.asarray(self.X.indptr[start : min(start + step, self.n_rows) + 1]).astype(np.int64)
                here = slice(indptr[0], indptr[-1])
                yield np.diff(indptr), self.X.indices[here].astype(np.int64), self.X.data[here].astype(np.float64)
            else:
                block = self.X[start : start + step].astype(np.float64)
                rows, columns = np.nonzero(block)
                yield np.bincount(rows, minlength=len(block)), columns.astype(np.int64), block[rows, columns]

    def rows(self) -> Iterator[Row]:
        """All rows, exactly."""
        for counts, columns, values in self.blocks():
            ends = np.cumsum(counts).tolist()
            column_list, (integers, exponents) = columns.tolist(), _as_integers(values)
            for start, end in zip([0, *ends], ends, strict=False):
                yield _over_common_power(column_list[start:end], integers[start:end], exponents[start:end])

    def row(self, i: int) -> Row:
        """Row i, exactly."""
        if self.sparse:
            here = slice(int(self.X.indptr[i]), int(self.X.indptr[i + 1]))
            columns, values = self.X.indices[here], self.X.data[here].astype(np.float64)
        else:
            columns = np.flatnonzero(self.X[i])
            values = self.X[i, columns].astype(np.float64)
        return _over_common_power(columns.tolist(), *_as_integers(values))

    def sha256(self) -> str:
        """The digest of shape, labels and values; the same for arrays and sparse matrices, float32 and float64."""
        parts = [hashlib.sha256() for _ in range(3)]
        for block in self.blocks():
            _check_finite(block[-1])
            for part, column, kind in zip(parts, block, ("<i8", "<i8", "<f8"), strict=True):
                part.update(column.astype(kind).tobytes())
        digest = hashlib.sha256(f"rosenblatt data 1\n{self.n_rows} {self.n_columns}\n".encode())
        for part in parts:
            digest.update(part.digest())
        for label in self.labels:
            digest.update(f"{len(label)}:{label}\n".encode())
        return digest.hexdigest()


def check_exact(values: npt.ArrayLike) -> None:
    """Raise `ValueError` for numbers that float64 would round, such as 2^53 + 1: the proof would be about other numbers."""
    values = np.asarray(values)
    if (
        values.dtype.kind == "b"
        or values.dtype in (np.float64, np.float32, np.float16)
        or (values.dtype.kind in "iu" and values.dtype.itemsize < 8)
    ):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            floats = values.astype(np.float64)
        except OverflowError:
            raise ValueError("X has numbers that float64 cannot hold") from None
        back = floats if values.dtype.kind == "O" else floats.astype(values.dtype)
    same = (back == values) | (values != values)  # NaN is rejected elsewhere
    if values.dtype.kind in "iu":
        same &= abs(floats) < 2.0**63 if values.dtype.kind == "i" else floats < 2.0**64
    if not np.all(same):
        raise ValueError("X has numbers that float64 cannot hold exactly, such as integers above 2**53; scale or round them")


def as_array(X: MatrixLike) -> Array:
    """An array of numbers; text is parsed."""
    array = np.asarray(X)
    return array.astype(np.float64) if array.dtype.kind in "US" else array


def _check_finite(values: Array) -> None:
    if not np.isfinite(values).all():
        raise ValueError("X has values that are not finite")


def label_text(label: object) -> str:
    """The text by which labels are compared: 1, 1.0, "+1" and "1" are equal, so that labels from different files agree."""
    text = str(label).strip()
    if isinstance(label, bool):
        return text
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number) or "_" in text:
        return text
    if number.is_integer():
        try:
            return str(int(text))  # exact beyond 2^53, unlike the float
        except ValueError:
            return str(int(number))
    return repr(number)


def _as_integers(values: Array) -> tuple[list[int], list[int]]:
    """Floats as 53-bit integers times powers of two: the integers and the exponents."""
    _check_finite(values)
    mantissas, exponents = np.frexp(values)
    return np.ldexp(mantissas, 53).astype(np.int64).tolist(), (exponents.astype(np.int64) - 53).tolist()


def _over_common_power(columns: list[int], integers: list[int], exponents: list[int]) -> Row:
    least = min(0, *exponents) if exponents else 0
    return columns, [n << exponent - least for n, exponent in zip(integers, exponents, strict=True)], 1 << -least


def _canonical(X: Any) -> Any:
    """CSR with ascending columns, without duplicates and explicit zeros; the matrix itself if it is already in this form."""
    if not X.has_canonical_format or not X.data.all():
        X = X.astype(np.float64) if X.dtype.kind in "biu" else X.copy()  # sums may overflow small integer types
        X.sum_duplicates()
        X.eliminate_zeros()
    return X
