"""Writes rows as svmlight, CSV, JSON lines, npz, Parquet and Arrow; reading them back gives the same bits."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Sequence
from json.encoder import encode_basestring
from math import isfinite
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ..array_types import Array, FloatArray, IntArray, Matrix
from .csr import CSRMatrix

if TYPE_CHECKING:
    import pyarrow

ROWS_PER_BLOCK = 1 << 12
MAX_WHOLE_NUMBER = 2.0**64  # below which whole numbers are written without exponent: they may be identifiers
MAX_CACHED_NUMBERS = 1 << 16  # numbers whose digits are cached: many files have few distinct ones
JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
QUOTED_CHARS = frozenset('"\r\n')


class _Digits(dict[float, str]):
    """A cache of the shortest digits that reproduce each number; whole numbers have all digits and no .0.

    >>> digits = _Digits()
    >>> digits[0.1], digits[3.0], digits[-0.0], digits[1e300], digits[2.0**60]
    ('0.1', '3', '-0', '1e+300', '1152921504606846976')
    """

    def __missing__(self, value: float) -> str:
        whole = value and abs(value) < MAX_WHOLE_NUMBER and value.is_integer()
        text = str(int(value)) if whole else repr(value).removesuffix(".0")
        if value and len(self) < MAX_CACHED_NUMBERS:  # 0 and -0 are the same key
            self[value] = text
        return text


def write_svmlight(stream: BinaryIO, X: Matrix | CSRMatrix, labels: Array | None, zero_based: bool = False) -> None:
    """Write rows (a `CSRMatrix`, a SciPy CSR matrix, or an array, whose zeros are omitted) and numeric labels."""
    if not isinstance(X, np.ndarray | CSRMatrix):
        X = CSRMatrix.from_scipy(X)
    digits, base = _Digits(), 0 if zero_based else 1
    numbers = _numbers(labels)
    for start in range(0, len(numbers), ROWS_PER_BLOCK):
        stop = min(start + ROWS_PER_BLOCK, len(numbers))
        values, indices, ends = _stored(X, start, stop)
        cells = [f"{j + base}:{digits[v]}" for j, v in zip(indices.tolist(), values.tolist(), strict=True)]
        pairs = zip(ends[:-1].tolist(), ends[1:].tolist(), numbers[start:stop].tolist(), strict=True)
        lines = [" ".join((digits[label], *cells[a:b])) for a, b, label in pairs]
        stream.write(("\n".join(lines) + "\n").encode("ascii"))


def _numbers(labels: Array | None) -> Any:
    try:
        return np.asarray(labels, object).astype(np.float64)
    except ValueError as error:
        raise ValueError(f"labels of an svmlight file must be numbers: {error}") from None


def _stored(X: FloatArray | CSRMatrix, start: int, stop: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Values, columns and row pointers of some rows."""
    if isinstance(X, np.ndarray):
        rows, columns = np.nonzero(X[start:stop])
        ends = np.searchsorted(rows, np.arange(stop - start + 1))
        return X[start:stop][rows, columns].astype(np.float64), columns, ends
    part = X.slice(start, stop)
    return part.values.astype(np.float64), part.indices, part.indptr


def write_csv(
    stream: BinaryIO,
    names: Sequence[str],
    columns: Sequence[Array],
    labels: Array | None = None,
    label_name: str = "label",
    *,
    delimiter: str = ",",
    header: bool = True,
) -> None:
    """Write named columns (a sequence of arrays, or one array of rows), then the labels; missing cells are empty.

    Several chunks may be written one after the other, with `header` for the first.
    """
    if isinstance(columns, np.ndarray) and columns.ndim == 2:
        columns = columns.T
    columns = [*columns] if labels is None else [*columns, np.asarray(labels)]
    line = [*names] if labels is None else [*names, label_name]
    if len(line) != len(columns):
        raise ValueError(f"names must have {len(columns)} entries, one per column, got {len(line)}")
    special = QUOTED_CHARS | {delimiter}
    if header:
        stream.write((delimiter.join(_quoted(name, special) for name in line) + "\n").encode())
    digits = _Digits()
    for start in range(0, len(columns[0]) if columns else 0, ROWS_PER_BLOCK):
        cells = [_cells(column[start : start + ROWS_PER_BLOCK], digits, special) for column in columns]
        lines = map(delimiter.join, zip(*cells, strict=True)) if len(cells) > 1 else (cell or '""' for cell in cells[0])
        stream.write(("\n".join(lines) + "\n").encode())


def _cells(column: Array, digits: _Digits, special: frozenset[str]) -> list[str]:
    if column.dtype.kind in "OUS":
        return ["" if cell is None else _quoted(str(cell), special) for cell in column.tolist()]
    if column.dtype.kind in "iub":
        return [str(int(cell)) for cell in column.tolist()]
    return ["" if cell != cell else digits[cell] for cell in column.astype(np.float64).tolist()]


def _quoted(cell: str, special: frozenset[str]) -> str:
    """The cell in CSV: quoted if it contains a delimiter, a quote or a line end, or starts or ends with a blank."""
    if special.isdisjoint(cell) and cell == cell.strip(" \t"):
        return cell
    return '"' + cell.replace('"', '""') + '"'


def write_jsonl(
    stream: BinaryIO,
    names: Sequence[str],
    columns: Sequence[Array],
    labels: Array | None = None,
    label_name: str = "label",
    *,
    numerals: Container[str] = (),
) -> None:
    """Write named columns (a sequence of arrays, or one array of rows), then the labels; missing cells are null.

    The columns `numerals` hold the text of numbers, which are written with all their digits. Several chunks may be written one
    after the other.
    """
    keys, arrays = _with_labels(names, columns, labels, label_name)
    starts = [f"{', ' if place else '{'}{_json_cell(key)}: " for place, key in enumerate(keys)]
    for start in range(0, len(arrays[0]) if arrays else 0, ROWS_PER_BLOCK):
        blocks = [array[start : start + ROWS_PER_BLOCK] for array in arrays]
        cells = [
            [before + ("null" if cell is None else json_number(cell)) for cell in block.tolist()]
            if key in numerals
            else [before + _json_cell(cell) for cell in _values(block)]
            for key, before, block in zip(keys, starts, blocks, strict=True)
        ]
        stream.write("".join("".join(row) + "}\n" for row in zip(*cells, strict=True)).encode())


def _json_cell(cell: Any) -> str:
    if type(cell) is str:
        return encode_basestring(cell)
    return repr(cell) if type(cell) is float and isfinite(cell) else json.dumps(cell, allow_nan=False)


def json_number(text: str) -> str:
    """The text of a number in JSON, which allows neither a leading plus or zero nor a missing digit at the point.

    >>> json_number("9007199254740993"), json_number("+.50"), json_number("5."), json_number("-00.1E3")
    ('9007199254740993', '0.50', '5', '-0.1E3')
    """
    if JSON_NUMBER.fullmatch(text):
        return text
    body, exponent = re.fullmatch(r"([^eE]*)(.*)", text.strip(), re.DOTALL).groups()  # type: ignore[union-attr]
    whole, _, fraction = body.lstrip("+-").partition(".")
    sign = "-" if body.startswith("-") else ""
    return sign + (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "") + exponent


def write_npz(stream: BinaryIO, X: Matrix, labels: Array | None = None) -> None:
    """Write X and y; a `CSRMatrix` is written with the parts of SciPy's save_npz."""
    arrays = {} if labels is None else {"y": _plain(labels)}
    if isinstance(X, CSRMatrix):
        parts = {"data": X.values, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        np.savez_compressed(stream, allow_pickle=False, format=np.array(b"csr"), **parts, **arrays)
    else:
        np.savez_compressed(stream, allow_pickle=False, X=np.asarray(X), **arrays)


def arrow_table(
    names: Sequence[str], columns: Sequence[Array], labels: Array | None = None, label_name: str = "label"
) -> pyarrow.Table:
    """A chunk as a `pyarrow.Table`."""
    pa = _pyarrow()
    keys, arrays = _with_labels(names, columns, labels, label_name)
    return pa.table([pa.array(_plain(array), from_pandas=array.dtype.kind == "f") for array in arrays], names=keys)


def arrow_writer(stream: BinaryIO, schema: pyarrow.Schema, kind: str) -> Any:
    """A context manager with the method `write_table` for one chunk after the other."""
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


def _with_labels(
    names: Sequence[str], columns: Sequence[Array], labels: Array | None, label_name: str
) -> tuple[list[str], list[Any]]:
    if isinstance(columns, np.ndarray) and columns.ndim == 2:
        columns = columns.T
    arrays = [np.asarray(column) for column in (columns if labels is None else [*columns, labels])]
    keys = [*names] if labels is None else [*names, label_name]
    if len(keys) != len(arrays) or len(set(keys)) < len(keys):
        raise ValueError(f"names must be {len(arrays)} distinct strings, one per column, got {len(set(keys))}")
    return keys, arrays


def _values(cells: Array) -> list[Any]:
    if cells.dtype.kind != "f":
        return list(cells.tolist())
    numbers = [None if cell != cell else cell for cell in cells.tolist()]
    # Integers are written as 3, not 3.0.
    return [int(cell) if cell and abs(cell) < 2**53 and cell == int(cell) else cell for cell in numbers]


def _plain(cells: Array) -> Any:
    """An array without objects: strings, if no cell is missing."""
    array = np.asarray(cells)
    return array.astype(str) if array.dtype.kind == "O" and all(cell is not None for cell in array) else array
