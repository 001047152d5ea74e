"""The rows and labels a certificate speaks of, as plain numbers; and their digest."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

Row = tuple[list[int], list[int], int]  # the columns that are not zero, whole numbers, and what to divide them by

BLOCK = 1 << 18  # values looked at together


class Data:
    """Rows from an array, a sparse matrix or a data frame; float32 and whole numbers become float64."""

    def __init__(self, X: Any, y: Any) -> None:
        sparse = hasattr(X, "tocsr")
        self.X: Any = _canonical(X.tocsr()) if sparse else as_array(X)
        check_exact(self.X.data if sparse else self.X)
        if len(self.X.shape) != 2:
            raise ValueError(f"X must have rows and columns, got shape {self.X.shape}")
        self.sparse = sparse
        self.n_rows, self.n_columns = map(int, self.X.shape)
        y = np.asarray(y)
        if y.ndim != 1 and y.shape != (self.n_rows, 1):
            raise ValueError(f"y must be one label for each row, got shape {y.shape}")
        self.labels = [label_text(label) for label in y.ravel().tolist()]
        if len(self.labels) != self.n_rows:
            raise ValueError(f"X has {self.n_rows} rows and y has {len(self.labels)} labels")

    @property
    def n_values(self) -> int:
        """Stored values: those that are not zero, or all of them."""
        return int(self.X.indptr[-1]) if self.sparse else self.n_rows * self.n_columns

    def blocks(self) -> Iterator[tuple[Any, Any, Any]]:
        """(values in each row, columns, values) of some rows at a time, without zeros, columns ascending."""
        step = max(1, BLOCK * self.n_rows // max(1, self.n_values))
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
        """Every row, exactly."""
        for counts, columns, values in self.blocks():
            ends = np.cumsum(counts).tolist()
            columns, (wholes, powers) = columns.tolist(), _whole_numbers(values)
            for start, end in zip([0, *ends], ends, strict=False):
                yield _over_one_power(columns[start:end], wholes[start:end], powers[start:end])

    def row(self, i: int) -> Row:
        if self.sparse:
            here = slice(int(self.X.indptr[i]), int(self.X.indptr[i + 1]))
            columns, values = self.X.indices[here], self.X.data[here].astype(np.float64)
        else:
            columns = np.flatnonzero(self.X[i])
            values = self.X[i, columns].astype(np.float64)
        return _over_one_power(columns.tolist(), *_whole_numbers(values))

    def sha256(self) -> str:
        """Of shape, labels and values: the same for arrays and sparse matrices, float32 and float64, with the same numbers."""
        parts = [hashlib.sha256() for _ in range(3)]
        for block in self.blocks():
            _check_finite(block[-1])
            for part, column, kind in zip(parts, block, ("<i8", "<i8", "<f8"), strict=True):
                part.update(column.astype(kind).tobytes())
        whole = hashlib.sha256(f"rosenblatt data 1\n{self.n_rows} {self.n_columns}\n".encode())
        for part in parts:
            whole.update(part.digest())
        for label in self.labels:
            whole.update(f"{len(label)}:{label}\n".encode())
        return whole.hexdigest()


def check_exact(values: Any) -> None:
    """Numbers that float64 does not hold, such as 2^53 + 1, are refused: what is proved would be about others."""
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
    same = (back == values) | (values != values)  # NaN is looked for elsewhere
    if values.dtype.kind in "iu":
        same &= abs(floats) < 2.0**63 if values.dtype.kind == "i" else floats < 2.0**64
    if not np.all(same):
        raise ValueError("X has numbers that float64 cannot hold exactly, such as whole ones over 2**53")


def as_array(X: Any) -> Any:
    """An array of numbers, also from text."""
    X = np.asarray(X)
    return X.astype(np.float64) if X.dtype.kind in "US" else X


def _check_finite(values: Any) -> None:
    if not np.isfinite(values).all():
        raise ValueError("X has values that are not finite")


def label_text(label: Any) -> str:
    """A label as text, by which labels are compared: 1, 1.0, "+1" and "1" are the same, whatever file they come from."""
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
            return str(int(text))  # exact where a float is not
        except ValueError:
            return str(int(number))
    return repr(number)


def _whole_numbers(values: Any) -> tuple[list[int], list[int]]:
    """Floats as whole numbers times powers of two: a mantissa has 53 bits."""
    _check_finite(values)
    mantissas, exponents = np.frexp(values)
    return np.ldexp(mantissas, 53).astype(np.int64).tolist(), (exponents.astype(np.int64) - 53).tolist()


def _over_one_power(columns: list[int], wholes: list[int], powers: list[int]) -> Row:
    least = min(0, *powers) if powers else 0
    return columns, [whole << power - least for whole, power in zip(wholes, powers, strict=True)], 1 << -least


def _canonical(X: Any) -> Any:
    """Columns ascending, each once, no zeros stored; a matrix that is so already is not copied."""
    if not X.has_canonical_format or not X.data.all():
        X = X.astype(np.float64) if X.dtype.kind in "biu" else X.copy()  # small whole numbers may not hold their sums
        X.sum_duplicates()
        X.eliminate_zeros()
    return X
