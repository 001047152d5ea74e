"""The idx files of MNIST: two zero bytes, the type of the values, the number of axes, their lengths, the values (big-endian).

For `train-images-idx3-ubyte.gz`, the labels are read from `train-labels-idx1-ubyte` in the same folder, compressed or not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...array_types import FloatArray
from ...reporting.text import count, plural
from ..table import Data, DataError
from . import Options
from .limits import MemoryLimit, limited
from .sources import COMPRESSED, Source

TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
MAX_BYTES = 1 << 40
MAX_COLUMNS = 1 << 24
MAX_AXES = 8
READ_BYTES = 1 << 22  # bytes read at a time


def read_idx(source: Source, options: Options) -> Data:
    """All rows of a file."""
    parts = limited(idx_chunks(source, options, 1 << 24), MemoryLimit(source.name, options))
    features = parts[0].features if len(parts) == 1 else np.concatenate([part.features for part in parts])
    labels = None if parts[0].labels is None else np.concatenate([part.labels for part in parts])
    return Data(source.name, features, labels, None, parts[0].note)


def idx_chunks(source: Source, options: Options, size: int) -> Iterator[Data]:
    """Consecutive rows, about `size` bytes at a time."""
    kind, shape = _header(source)
    if len(shape) < 2:
        raise DataError(source.name, "the file holds labels, not images; use the file of images; its labels are found")
    rows, columns = shape[0], math.prod(shape[1:])
    if not rows or not columns:
        raise DataError(source.name, "the file has no rows")
    if columns > MAX_COLUMNS:
        raise DataError(source.name, f"each row has {count(columns)} values; the limit is {count(MAX_COLUMNS)}")
    labels, note = _labels(source, rows)
    step = max(1, size // (columns * kind.itemsize))
    for start in range(0, rows, step):
        taken = min(step, rows - start)
        X = _values(source, kind, taken * columns).reshape(taken, columns)
        _check(source.name, X, start, options)
        yield Data(source.name, X, None if labels is None else labels[start : start + taken], None, note, first_row=start)
    if source.read(1):
        raise DataError(source.name, f"the file is longer than its {plural(rows, 'row')}")


def _header(source: Source) -> tuple[np.dtype[Any], tuple[int, ...]]:
    head = _exactly(source, 4)
    if head[:2] != b"\0\0" or head[2] not in TYPES or not head[3]:
        raise DataError(source.name, "not an idx file: it does not start with two zero bytes and a known type")
    kind = np.dtype(TYPES[head[2]])
    if head[3] > MAX_AXES:
        raise DataError(source.name, f"the header announces {head[3]} axes; the limit is {MAX_AXES}")
    lengths = _exactly(source, 4 * head[3])
    shape = tuple(int.from_bytes(lengths[at : at + 4]) for at in range(0, len(lengths), 4))
    if math.prod(shape) * kind.itemsize > MAX_BYTES:
        raise DataError(source.name, f"the header announces {count(math.prod(shape))} values, which is too many")
    return kind, shape


def _values(source: Source, kind: np.dtype[Any], n: int) -> FloatArray:
    return np.frombuffer(_exactly(source, n * kind.itemsize), kind).astype(np.float64)


def _exactly(source: Source, n: int) -> bytes:
    """The next n bytes, read in pieces, so that a wrong header does not allocate more than the file holds."""
    parts = []
    while n:
        part = source.read(min(n, READ_BYTES))
        if not part:
            raise DataError(source.name, "the file is truncated: it is shorter than its header announces")
        parts.append(part)
        n -= len(part)
    return b"".join(parts)


def _labels(source: Source, rows: int) -> tuple[FloatArray | None, str | None]:
    path = Path(source.path)
    stem = path.with_suffix("").name if path.suffix.lower() in COMPRESSED else path.name
    wanted = stem.replace("images", "labels").replace("idx3", "idx1")
    beside = [path.with_name(wanted + end) for end in (path.suffix, "", *COMPRESSED)] if wanted != stem else []
    found = next((one for one in beside if one.is_file()), None)
    if found is None:
        return None, f"No labels found: {wanted} is not in the same folder." if beside else None
    with Source(found) as other:
        kind, shape = _header(other)
        if shape != (rows,):
            raise DataError(other.name, f"the labels have shape {shape}, but there are {count(rows)} rows")
        labels = _values(other, kind, rows)
        if not np.isfinite(labels).all():
            raise DataError(other.name, "the label is not finite", row=int((~np.isfinite(labels)).argmax()) + 1)
        return labels, f"Labels read from {found.name}."


def _check(source: str, X: FloatArray, start: int, options: Options) -> None:
    valid = np.isfinite(X) | (np.isnan(X) if options.missing != "refuse" else False)
    if not valid.all():
        row, column = (int(at[0]) for at in np.nonzero(~valid))
        raise DataError(source, f"the value is {X[row, column]}", column=column, row=start + row + 1)
