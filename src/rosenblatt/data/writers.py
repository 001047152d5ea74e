"""Rows to svmlight and CSV, a block at a time: what is read back is the same to the last bit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from .table import Sparse

ROWS_PER_BLOCK = 1 << 12
REMEMBERED = 1 << 16  # numbers whose digits are kept: many files have few different ones
SPECIAL = frozenset('"\r\n')


class _Digits(dict[float, str]):
    """The shortest digits that give each number back, without the .0 of whole ones.

    >>> digits = _Digits()
    >>> digits[0.1], digits[3.0], digits[-0.0], digits[1e300]
    ('0.1', '3', '-0', '1e+300')
    """

    def __missing__(self, value: float) -> str:
        text = repr(value).removesuffix(".0")
        if value and len(self) < REMEMBERED:  # 0 and -0 are one key
            self[value] = text
        return text


def write_svmlight(stream: BinaryIO, X: Any, labels: Any, zero_based: bool = False) -> None:
    """Write rows (a `Sparse`, a SciPy CSR matrix or an array, whose zeros are left out) and labels, which are numbers."""
    digits, base = _Digits(), 0 if zero_based else 1
    numbers = _numbers(labels)
    for start in range(0, len(numbers), ROWS_PER_BLOCK):
        stop = min(start + ROWS_PER_BLOCK, len(numbers))
        values, indices, ends = _stored(X, start, stop)
        cells = [f"{j + base}:{digits[v]}" for j, v in zip(indices.tolist(), values.tolist(), strict=True)]
        pairs = zip(ends[:-1].tolist(), ends[1:].tolist(), numbers[start:stop].tolist(), strict=True)
        lines = [" ".join((digits[label], *cells[a:b])) for a, b, label in pairs]
        stream.write(("\n".join(lines) + "\n").encode("ascii"))


def _numbers(labels: Any) -> Any:
    try:
        return np.asarray(labels, object).astype(np.float64)
    except ValueError as error:
        raise ValueError(f"labels of an svmlight file are numbers: {error}") from None


def _stored(X: Any, start: int, stop: int) -> tuple[Any, Any, Any]:
    """Values, columns and row ends of some rows."""
    if isinstance(X, np.ndarray):
        rows, columns = np.nonzero(X[start:stop])
        ends = np.searchsorted(rows, np.arange(stop - start + 1))
        return X[start:stop][rows, columns].astype(np.float64), columns, ends
    values, indptr = X.values if isinstance(X, Sparse) else X.data, np.asarray(X.indptr)
    first, last = indptr[start], indptr[stop]
    return values[first:last].astype(np.float64), X.indices[first:last], indptr[start : stop + 1] - first


def write_csv(
    stream: BinaryIO,
    names: Sequence[str],
    columns: Any,
    labels: Any = None,
    label_name: str = "label",
    *,
    delimiter: str = ",",
    header: bool = True,
) -> None:
    """Write named columns (a sequence of arrays, or one array of rows) and labels, last; missing cells are left empty.

    May be called for one chunk after the other, with `header` for the first.
    """
    if isinstance(columns, np.ndarray) and columns.ndim == 2:
        columns = columns.T
    columns = [*columns] if labels is None else [*columns, np.asarray(labels)]
    line = [*names] if labels is None else [*names, label_name]
    if len(line) != len(columns):
        raise ValueError(f"there are {len(columns)} columns and {len(line)} names")
    special = SPECIAL | {delimiter}
    if header:
        stream.write((delimiter.join(_quoted(name, special) for name in line) + "\n").encode())
    digits = _Digits()
    for start in range(0, len(columns[0]) if columns else 0, ROWS_PER_BLOCK):
        cells = [_cells(column[start : start + ROWS_PER_BLOCK], digits, special) for column in columns]
        lines = map(delimiter.join, zip(*cells, strict=True)) if len(cells) > 1 else (cell or '""' for cell in cells[0])
        stream.write(("\n".join(lines) + "\n").encode())


def _cells(column: Any, digits: _Digits, special: frozenset[str]) -> list[str]:
    if column.dtype.kind in "OUS":
        return ["" if cell is None else _quoted(str(cell), special) for cell in column.tolist()]
    if column.dtype.kind in "iub":
        return [str(int(cell)) for cell in column.tolist()]
    return ["" if cell != cell else digits[cell] for cell in column.astype(np.float64).tolist()]


def _quoted(cell: str, special: frozenset[str]) -> str:
    """The cell as CSV has it: quoted where it holds a delimiter, a quote, a line end, or blanks at an end."""
    if special.isdisjoint(cell) and cell == cell.strip(" \t"):
        return cell
    return '"' + cell.replace('"', '""') + '"'


# --- Rows to JSON lines, npz, Parquet and Arrow: what is read back is the same to the last bit.


def write_jsonl(stream: BinaryIO, names: Sequence[str], columns: Any, labels: Any = None, label_name: str = "label") -> None:
    """Write named columns (a sequence of arrays, or one array of rows) and labels, last; missing cells are null.

    May be called for one chunk after the other.
    """
    keys, arrays = _with_labels(names, columns, labels, label_name)
    for start in range(0, len(arrays[0]) if arrays else 0, ROWS_PER_BLOCK):
        cells = [_values(array[start : start + ROWS_PER_BLOCK]) for array in arrays]
        rows = (dict(zip(keys, row, strict=True)) for row in zip(*cells, strict=True))
        stream.write("".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows).encode())


def write_npz(stream: BinaryIO, X: Any, labels: Any = None) -> None:
    """Write X and y: a `Sparse`, whose parts are those of SciPy's save_npz, or an array."""
    arrays = {} if labels is None else {"y": _plain(labels)}
    if isinstance(X, Sparse):
        parts = {"data": X.values, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        np.savez_compressed(stream, allow_pickle=False, format=np.array(b"csr"), **parts, **arrays)
    else:
        np.savez_compressed(stream, allow_pickle=False, X=np.asarray(X), **arrays)


def arrow_table(names: Sequence[str], columns: Any, labels: Any = None, label_name: str = "label") -> Any:
    """A chunk as a `pyarrow.Table`."""
    pa = _pyarrow()
    keys, arrays = _with_labels(names, columns, labels, label_name)
    return pa.table([pa.array(_plain(array), from_pandas=array.dtype.kind == "f") for array in arrays], names=keys)


def arrow_writer(stream: BinaryIO, schema: Any, kind: str) -> Any:
    """A context manager whose `write_table` takes one chunk after the other."""
    pa = _pyarrow()
    if kind == "parquet":
        import pyarrow.parquet as pq

        return pq.ParquetWriter(stream, schema)
    return pa.ipc.new_file(stream, schema)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError("Parquet and Arrow files need pyarrow: pip install 'rosenblatt[data]'") from None
    return pyarrow


def _with_labels(names: Sequence[str], columns: Any, labels: Any, label_name: str) -> tuple[list[str], list[Any]]:
    if isinstance(columns, np.ndarray) and columns.ndim == 2:
        columns = columns.T
    arrays = [np.asarray(column) for column in (columns if labels is None else [*columns, labels])]
    keys = [*names] if labels is None else [*names, label_name]
    if len(keys) != len(arrays) or len(set(keys)) < len(keys):
        raise ValueError(f"there are {len(arrays)} columns and {len(set(keys))} different names")
    return keys, arrays


def _values(cells: Any) -> list[Any]:
    if cells.dtype.kind != "f":
        return list(cells.tolist())
    numbers = [None if cell != cell else cell for cell in cells.tolist()]
    # 3, not 3.0: what has only whole numbers shall look like it.
    return [int(cell) if cell and abs(cell) < 2**53 and cell == int(cell) else cell for cell in numbers]


def _plain(cells: Any) -> Any:
    """An array of one type: strings of objects, where there are no missing ones."""
    array = np.asarray(cells)
    return array.astype(str) if array.dtype.kind == "O" and all(cell is not None for cell in array) else array
