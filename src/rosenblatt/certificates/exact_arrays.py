"""Rows and labels from arrays, sparse matrices, data frames and lists, without rounding.

A proof is about the numbers that it was given. NumPy rounds some of them silently: whole numbers beyond 2^53 beside floats in
a list or a data frame, sums of duplicate entries of a sparse matrix, decimals in text. What float64 cannot hold is refused
here, as is everything that is not a number: text, dates, complex numbers, masked and missing values.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

FLOAT_DTYPES = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.float16))
MAX_WHOLE_FLOAT = 2.0**53  # float64 holds all smaller whole numbers
VALUES_PER_BLOCK = 1 << 18
_INCONSISTENT = "X is a sparse matrix with inconsistent arrays"
_KINDS = {"c": "complex numbers", "M": "dates", "m": "durations", "V": "records", "U": "text", "S": "text", "T": "text"}
_PLAIN_TYPES = (list, float, int, str, tuple, bool)


class SparseMatrix(Protocol):
    """The part of SciPy's sparse matrices that is used here; SciPy itself is not imported."""

    def tocsr(self) -> Any: ...


MatrixLike: TypeAlias = npt.ArrayLike | SparseMatrix


class SparseRows(NamedTuple):
    """CSR with ascending columns, without duplicates and zeros."""

    data: Array
    indices: Array
    indptr: Array
    shape: tuple[int, int]

    def tocsr(self) -> SparseRows:
        return self


def exact_matrix(X: MatrixLike) -> Array | SparseRows:
    """X as a matrix of numbers that float64 holds, or CSR; arrays and CSR in this form are not copied.

    Raises `ValueError` for everything else.
    """
    frame: Any = X
    if hasattr(type(X), "tocsr"):  # of the type: a data frame has its columns as attributes
        return _exact_csr(frame)
    if hasattr(X, "sparse") and hasattr(X, "items") and all(dtype.fill_value == 0 for dtype in frame.dtypes):  # pandas
        return _sparse_frame(frame)
    columns = _frame_columns(frame)
    if columns is None:
        return exact_numbers(frame)
    return np.column_stack([exact_numbers(column, column=place) for place, column in enumerate(columns, 1)])


def check_exact(X: MatrixLike, y: npt.ArrayLike) -> None:
    """Raise `ValueError` if a conversion of X or y to float64 or to an array of labels would change a number or merge two."""
    labels = exact_labels(y, exact_matrix(X).shape[0])
    if labels.dtype.kind == "O":
        if np.asarray(y).dtype.kind == "f":
            exact_numbers(y, "y")
        check_distinct(labels.tolist(), canonical_labels(labels.tolist()))


def exact_numbers(values: npt.ArrayLike, name: str = "X", column: int | None = None) -> Array:
    """An array of booleans, integers or floats, each a number that float64 holds; NaN and infinity are left to the caller.
    Errors about a vector name its `column`, counted from 1."""
    array = _array(values, name)
    kind = array.dtype.kind
    if kind == "b" or array.dtype in FLOAT_DTYPES or (kind in "iu" and array.dtype.itemsize < 8):
        return array
    if kind == "O":
        checked = [_exact_float(value, name) for value in array.ravel().tolist()]
        if None in checked:
            raise _rounding_error(array, checked.index(None), name, column)
        return np.array(checked, np.float64).reshape(array.shape)
    if kind not in "iuf":
        raise ValueError(f"{name} must be numbers, got {_KINDS.get(kind, array.dtype)}; convert it to float64 first")
    with np.errstate(over="ignore", invalid="ignore"):
        floats = array.astype(np.float64)
        if kind == "f":
            same = (floats == array) | (array != array)
        else:
            limit = 2.0**63 if kind == "i" else 2.0**64
            same = (-limit <= floats) & (floats < limit) & (floats.astype(array.dtype) == array)
    if not same.all():
        raise _rounding_error(array, int(np.argmin(same)), name, column)
    return floats if kind == "f" else array


def _rounding_error(array: Array, place: int, name: str, column: int | None) -> ValueError:
    """The error about the number at a place of the flat array: rows are counted from 1."""
    try:
        text = str(array.ravel()[place])
    except ValueError:  # more digits than Python writes
        text = "a long number"
    text = text if len(text) <= 40 else text[:37] + "..."
    row, where = place + 1, ""
    if array.ndim == 2:
        row, column = place // array.shape[1] + 1, place % array.shape[1] + 1
    if column is not None:
        where = f" in row {row}, column {column}"
    elif name == "y":
        where = f" in row {row}"
    kinds = "such as integers above 2**53"
    return ValueError(f"{name} has numbers that float64 cannot hold exactly, {kinds}: {text}{where}; scale or round them")


def _exact_float(value: Any, name: str) -> float | None:
    """The value as a float, or None if that would round it."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, int | float | Fraction | Decimal | np.longdouble):
        raise ValueError(f"{name} must be numbers, got {type(value).__name__} {str(value)[:40]!r}; convert it to float64 first")
    try:
        number = float(value)
    except (OverflowError, ValueError):
        raise ValueError(f"{name} has numbers that float64 cannot hold") from None
    return number if number == value or math.isnan(number) else None


def _array(values: npt.ArrayLike, name: str) -> Array:
    """The values as an array; one of objects if NumPy would have rounded whole numbers beside floats."""
    listed = _is_sequence(values)
    _check_complete(values, name)
    for part in values if listed else ():  # type: ignore[union-attr]
        if type(part) not in _PLAIN_TYPES:
            _check_complete(part, name)
    try:
        array = np.asarray(values)
        with np.errstate(invalid="ignore"):
            rounded = listed and array.dtype.kind == "f" and bool((abs(array) >= MAX_WHOLE_FLOAT).any())
        return np.array(values, dtype=object) if rounded else array
    except np.ma.MaskError:  # a masked number in a list of numbers
        raise ValueError(f"{name} has masked values; fill or drop them") from None


def _is_sequence(values: object) -> bool:
    """Whether NumPy chooses a type for the values, which may round them or make text of them: not for arrays and buffers."""
    if hasattr(values, "__array__") or hasattr(values, "__array_interface__") or hasattr(values, "__array_struct__"):
        return False
    try:
        memoryview(values)  # type: ignore[arg-type]
    except TypeError:
        return hasattr(values, "__len__") and hasattr(values, "__getitem__")
    return False


def _check_complete(values: Any, name: str) -> None:
    """Raise `ValueError` for masks and nulls that NumPy would drop: it reads the numbers behind them."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{name} has masked values; fill or drop them")
    nulls = values.null_count if hasattr(type(values), "null_count") else 0  # of pyarrow; polars has a method
    if nulls() if callable(nulls) else nulls:
        raise ValueError(f"{name} has missing values; fill or drop their rows")


def _frame_columns(X: Any) -> Iterable[npt.ArrayLike] | None:
    """The columns of a data frame; None for a frame of one type of NumPy, and for anything else."""
    if hasattr(type(X), "columns") and hasattr(X, "dtypes") and hasattr(X, "items"):  # pandas
        same = len(set(X.dtypes)) <= 1 and all(isinstance(dtype, np.dtype) for dtype in X.dtypes)
        return None if same else [column.to_numpy() for _, column in X.items()]
    for method in ("iter_columns", "itercolumns"):  # polars, pyarrow
        if hasattr(type(X), method):
            return list(getattr(X, method)())
    return None


# --- sparse matrices -------------------------------------------------------------------------------------------------------


def _exact_csr(X: Any) -> SparseRows:
    """The rows of a sparse matrix; the flags of the matrix are not trusted, and duplicates are added exactly."""
    if len(X.shape) != 2:
        raise ValueError(f"X must have two dimensions, got shape {X.shape}")
    shape = (int(X.shape[0]), int(X.shape[1]))
    kind = X.format if hasattr(X, "tocoo") else ""
    if kind in ("", "csr", "csc"):
        X = X if kind else X.tocsr()
        n_lines, length = shape[::-1] if kind == "csc" else shape
        indptr, indices = _checked_indices(X, n_lines, length)
        data = exact_numbers(np.asarray(X.data)[: indptr[-1]])
        if data.ndim != 1:
            raise ValueError(_INCONSISTENT)
        if kind != "csc" and is_canonical(indices, indptr, data):
            return SparseRows(data, indices, indptr, shape)
        lengths: Array = np.diff(indptr.astype(np.int64))
        lines = np.repeat(np.arange(n_lines), lengths)
        rows, columns = (indices, lines) if kind == "csc" else (lines, indices)
    else:  # not by way of CSR, whose duplicates are added in the type of the matrix, which may overflow or round
        rows, columns, data = _entries(X, shape)
        if not len(rows) == len(columns) == len(data):
            raise ValueError(_INCONSISTENT)
        _check_indices(rows, shape[0])
        _check_indices(columns, shape[1])
    return _sorted_rows(rows.astype(np.int64), columns.astype(np.int64), data, shape)


def _entries(X: Any, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Rows, columns and values of the entries of a sparse matrix of any other format."""
    if X.format == "lil":  # SciPy reads its lists as float64
        rows = np.repeat(np.arange(len(X.rows)), [len(row) for row in X.rows])
        columns = np.array([column for row in X.rows for column in row], np.int64)
        return rows, columns, exact_numbers([value for row in X.data for value in row])
    if X.format == "bsr":  # SciPy does not check them
        _checked_indices(X, *(size // block for size, block in zip(shape, X.blocksize, strict=True)))
    entries = X.tocoo()
    return np.asarray(entries.row), np.asarray(entries.col), exact_numbers(entries.data)


def _checked_indices(X: Any, n_lines: int, length: int) -> tuple[Array, Array]:
    """`indptr` and `indices` of a compressed matrix of `n_lines` rows or columns, if they are within its arrays."""
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    valid = indptr.dtype.kind in "iu" and indptr.shape == (n_lines + 1,) and indptr[0] == 0
    if not valid or (np.diff(indptr.astype(np.int64)) < 0).any() or indptr[-1] > min(len(indices), len(X.data)):
        raise ValueError(_INCONSISTENT)
    indices = indices[: indptr[-1]]
    _check_indices(indices, length)
    return indptr, indices


def _sparse_frame(X: Any) -> SparseRows:
    """The rows of a data frame of sparse columns, whose values need not be of one type."""
    columns = [column.array for _, column in X.items()]
    if not columns:
        return SparseRows(np.empty(0), np.empty(0, np.int64), np.zeros(len(X) + 1, np.int64), (len(X), 0))
    places = [np.asarray(column.sp_index.indices, np.int64) for column in columns]
    numbers = [np.repeat(np.int64(c), len(rows)) for c, rows in enumerate(places)]
    values = [exact_numbers(column.sp_values).astype(np.float64) for column in columns]
    return _sorted_rows(np.concatenate(places), np.concatenate(numbers), np.concatenate(values), (len(X), len(columns)))


def _check_indices(indices: Array, end: int) -> None:
    if indices.dtype.kind not in "iu" or (len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < end):
        raise ValueError(f"X is a sparse matrix with an index outside 0 to {end - 1}")


def is_canonical(indices: Array, indptr: Array, data: Array) -> bool:
    """Whether columns ascend in every row and no value is zero; in blocks, to save memory."""
    if not data.all():
        return False
    row_starts = np.zeros(len(indices) + 1, bool)
    row_starts[indptr] = True
    for start in range(0, len(indices) - 1, VALUES_PER_BLOCK):
        part = indices[start : start + VALUES_PER_BLOCK + 1]
        if not ((part[1:] > part[:-1]) | row_starts[start + 1 : start + len(part)]).all():
            return False
    return True


def _sorted_rows(rows: Array, columns: Array, data: Array, shape: tuple[int, int]) -> SparseRows:
    # One number per entry is sorted several times as fast as two, if it fits.
    order = np.argsort(rows * shape[1] + columns) if shape[0] * shape[1] < 2**63 else np.lexsort((columns, rows))
    rows, columns, data = rows[order], columns[order], data[order]
    first = np.ones(len(data), bool)
    first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
    starts = np.flatnonzero(first)
    if len(starts) < len(data):
        rows, columns, data = rows[starts], columns[starts], _exact_sums(data, starts)
    kept = data != 0
    counts = np.bincount(rows[kept], minlength=shape[0])
    return SparseRows(data[kept], columns[kept], np.concatenate([[0], np.cumsum(counts)]), shape)


def _exact_sums(data: Array, starts: Array) -> Array:
    """The sums of consecutive values, each from one start to the next.

    Refused unless the type of the matrix holds the sum in any order of addition: others would then read another number.
    """
    ends, (whole_limit, limit) = np.append(starts[1:], len(data)), _limits(data.dtype)
    data = data.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        sums, sizes = np.add.reduceat(data, starts), np.add.reduceat(abs(data), starts)
        whole = np.logical_and.reduceat(np.trunc(data) == data, starts)
    finite = np.logical_and.reduceat(np.isfinite(data), starts)
    known = (ends - starts == 1) | (whole & (sizes < min(whole_limit, limit))) | ~finite
    for k in np.flatnonzero(~known).tolist():
        parts = [Fraction(value) for value in data[starts[k] : ends[k]].tolist()]
        unit = max(part.denominator for part in parts)
        numerators = [int(part * unit) for part in parts]
        size, common = sum(map(abs, numerators)), math.gcd(*numerators)
        if size > limit * unit or size > whole_limit * (common & -common):
            raise ValueError("X has duplicate entries whose sum may be rounded; call X.sum_duplicates() first")
        sums[k] = float(sum(parts))
    return np.asarray(sums)


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The number up to which a type and float64 hold all whole numbers, and the largest number of the type."""
    if dtype.kind == "f":
        return 2 ** (np.finfo(dtype).nmant + 1), int(np.finfo(dtype).max)
    return 2**53, 1 if dtype.kind == "b" else int(np.iinfo(dtype).max)


# --- labels ----------------------------------------------------------------------------------------------------------------


def exact_labels(y: npt.ArrayLike, n_rows: int) -> Array:
    """Labels as a vector of numbers or texts as they were given; refused if NumPy would round or change one."""
    labels = _array(y, "y")
    if labels.ndim != 1 and labels.shape != (n_rows, 1):
        raise ValueError(f"y must have one label for each row, got shape {labels.shape}")
    labels = labels.ravel()
    if len(labels) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(labels)} labels")
    if labels.dtype.kind in "VcMm":
        raise ValueError(f"labels of y must be numbers or text, got {_KINDS[labels.dtype.kind]}")
    given = labels.tolist() if labels.dtype.kind in "fOT" else []
    if labels.dtype.kind in "US" and _is_sequence(y):  # NumPy made text of numbers and missing labels, and dropped NULs
        given = [each[0] if isinstance(each, list | tuple) else each for each in y]  # type: ignore[union-attr]
        if any(isinstance(label, str) and label.endswith("\0") for label in given):
            raise ValueError("a label of y ends with a NUL character, which NumPy would drop; rename it")
        if any(isinstance(label, bytes) for label in given) and not all(isinstance(label, bytes) for label in given):
            raise ValueError("y has labels of bytes beside others; decode them")
        if not all(isinstance(label, str | bytes) for label in given):
            labels = np.empty(n_rows, object)
            labels[:] = given
    _check_present(given)
    if not all(isinstance(label, Hashable) for label in given):
        raise ValueError("labels of y must be numbers or text")
    return labels


def check_present(y: npt.ArrayLike) -> None:
    """Raise `ValueError` if a label is missing. Conversions fail on some kinds of missing labels with words of their own."""
    labels = _array(y, "y") if not _is_sequence(y) else y
    if isinstance(labels, np.ndarray):
        _check_present(labels.ravel().tolist() if labels.dtype.kind in "fOT" else [])
    else:
        _check_present(list(cast(Iterable[object], labels)))


def _check_present(labels: list[object]) -> None:
    if any(label is None or type(label).__name__ in ("NAType", "NaTType") or _is_nan(label) for label in labels):
        raise ValueError("y has missing labels; drop their rows")


def check_distinct(labels: list[object], texts: list[str]) -> None:
    """Raise `ValueError` if two labels differ but are compared as equal, such as "1" and "1.0": classes would be merged."""
    known: dict[str, object] = {}
    for text, label in dict.fromkeys(zip(texts, labels, strict=True)):
        if known.setdefault(text, label) != label:
            raise ValueError(f"two labels of y are equal as text or as numbers, got {known[text]!r} and {label!r}; rename one")


def _is_nan(label: object) -> bool:
    return isinstance(label, float | np.floating | Decimal) and label != label


def canonical_labels(labels: list[object]) -> list[str]:
    """The texts of `canonical_label`, each made once."""
    typed = list(zip(map(type, labels), labels, strict=True))  # 1 == True
    texts = {label: canonical_label(label[1]) for label in dict.fromkeys(typed)}
    return [texts[label] for label in typed]


def canonical_label(label: object) -> str:
    """The text by which labels are compared: 1, 1.0, "+1" and "1" are equal, so that labels from different files agree."""
    label = label.item() if isinstance(label, np.generic) else label
    text = str(label).strip()
    if isinstance(label, bool):
        return text
    try:
        number, exact = float(text), Decimal(text)
    except (ValueError, ArithmeticError):
        return text
    if not math.isfinite(number) or "_" in text:
        return text
    if isinstance(label, float) and not label.is_integer():
        return repr(number)
    if exact == 0:
        return "0"
    if number.is_integer() and exact == exact.to_integral_value():
        return str(int(label if isinstance(label, float) else exact))
    return repr(number) if exact == Decimal(repr(number)) else text
