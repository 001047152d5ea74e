"""The idx files of MNIST: two zero bytes, the type of the values, the number of axes, their lengths, the values (big-endian).

Beside `train-images-idx3-ubyte.gz` the labels are looked for in `train-labels-idx1-ubyte` with any compression or none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..read_options import Options
from ..table import Data, DataError
from .sources import COMPRESSED, Source

TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
MOST_BYTES = 1 << 40
MOST_COLUMNS = 1 << 24


def read_idx(source: Source, options: Options) -> Data:
    parts = list(idx_chunks(source, options, 1 << 24))
    features = parts[0].features if len(parts) == 1 else np.concatenate([part.features for part in parts])
    labels = None if parts[0].labels is None else np.concatenate([part.labels for part in parts])
    return Data(source.name, features, labels, None, parts[0].note)


def idx_chunks(source: Source, options: Options, size: int) -> Iterator[Data]:
    """Consecutive rows, about `size` bytes at a time."""
    kind, shape = _header(source)
    if len(shape) < 2:
        raise DataError(
            source.name, "the file has labels, not rows: give the file of images, and the labels are found beside it"
        )
    rows, columns = shape[0], math.prod(shape[1:])
    if not rows or not columns:
        raise DataError(source.name, "there are no rows")
    if columns > MOST_COLUMNS:
        raise DataError(source.name, f"a row has {columns:,} values; the limit is {MOST_COLUMNS:,}")
    labels, note = _labels(source, rows)
    step = max(1, size // (columns * kind.itemsize))
    for start in range(0, rows, step):
        count = min(step, rows - start)
        X = _values(source, kind, count * columns).reshape(count, columns)
        _check(source.name, X, start, options)
        yield Data(source.name, X, None if labels is None else labels[start : start + count], None, note)
    if source.read(1):
        raise DataError(source.name, f"there are bytes after the {rows:,} rows that the file says it has")


def _header(source: Source) -> tuple[np.dtype[Any], tuple[int, ...]]:
    head = _exactly(source, 4)
    if head[:2] != b"\0\0" or head[2] not in TYPES or not head[3]:
        raise DataError(source.name, "this is no idx file: it does not begin with two zero bytes and a known type")
    kind = np.dtype(TYPES[head[2]])
    lengths = _exactly(source, 4 * head[3])
    shape = tuple(int.from_bytes(lengths[at : at + 4]) for at in range(0, len(lengths), 4))
    if math.prod(shape) * kind.itemsize > MOST_BYTES:
        raise DataError(source.name, f"the file says it has {math.prod(shape):,} values, which is too many")
    return kind, shape


def _values(source: Source, kind: np.dtype[Any], count: int) -> Any:
    return np.frombuffer(_exactly(source, count * kind.itemsize), kind).astype(np.float64)


def _exactly(source: Source, n: int) -> bytes:
    """The next n bytes, taken in pieces: a file that says too much costs no more than it has."""
    parts = []
    while n:
        part = source.read(min(n, 1 << 22))
        if not part:
            raise DataError(source.name, "the file is cut off: it has fewer bytes than it says")
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def _labels(source: Source, rows: int) -> tuple[Any | None, str | None]:
    path = Path(source.path)
    stem = path.with_suffix("").name if path.suffix.lower() in COMPRESSED else path.name
    wanted = stem.replace("images", "labels").replace("idx3", "idx1")
    beside = [path.with_name(wanted + end) for end in (path.suffix, "", *COMPRESSED)] if wanted != stem else []
    found = next((one for one in beside if one.is_file()), None)
    if found is None:
        return None, f"No labels were found: there is no {wanted} beside it." if beside else None
    with Source(found) as other:
        kind, shape = _header(other)
        if shape != (rows,):
            raise DataError(other.name, f"the labels have the shape {shape}, and there are {rows:,} rows")
        labels = _values(other, kind, rows)
        if not np.isfinite(labels).all():
            raise DataError(other.name, f"label {int((~np.isfinite(labels)).argmax()) + 1:,} is not a number")
        return labels, f"Labels were read from {found.name}."


def _check(source: str, X: Any, start: int, options: Options) -> None:
    fine = np.isfinite(X) | (np.isnan(X) if options.missing == "mean" else False)
    if not fine.all():
        row, column = (int(at[0]) for at in np.nonzero(~fine))
        raise DataError(source, f"the value in row {start + row + 1:,}, column {column + 1:,} is {X[row, column]}")
