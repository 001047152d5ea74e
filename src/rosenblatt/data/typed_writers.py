"""Rows to JSON lines, npz, Parquet and Arrow: what is read back is the same to the last bit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from .table import Sparse

ROWS = 1 << 12  # written at a time


def write_jsonl(stream: BinaryIO, names: Sequence[str], columns: Any, labels: Any = None, label_name: str = "label") -> None:
    """Write named columns (a sequence of arrays, or one array of rows) and labels, last; missing cells are null.

    May be called for one chunk after the other.
    """
    keys, arrays = _with_labels(names, columns, labels, label_name)
    for start in range(0, len(arrays[0]) if arrays else 0, ROWS):
        cells = [_values(array[start : start + ROWS]) for array in arrays]
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
