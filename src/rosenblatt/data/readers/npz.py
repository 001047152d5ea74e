"""NumPy's .npz archives: X and y; or y and the data, indices, indptr and shape of a CSR or CSC matrix.

The names of the parts may start with X_; scipy.sparse.save_npz writes them without. Nothing is unpickled, and the sizes that an
archive announces are checked before memory is allocated.
"""

from __future__ import annotations

import contextlib
import io
import math
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ...array_types import Array, FloatArray
from ...reporting.text import comma_list, count, plural
from ..csr import CSRMatrix, row_pointers
from ..table import Data, DataError, integer_losses
from . import Options
from .limits import MemoryLimit, read_bytes
from .sources import Source

MAX_MEMBERS = 64
MAX_COLUMNS = (1 << 31) - 1
MAX_HEADER_BYTES = 10_000
MAX_NAMES_LISTED = 10
# Exceptions that zipfile and NumPy raise for damaged archives.
FAULTS = (
    ValueError, OSError, EOFError, KeyError, TypeError, SyntaxError, RecursionError, MemoryError, OverflowError,
    NotImplementedError, RuntimeError, AttributeError, zipfile.BadZipFile, zlib.error, tokenize.TokenError, struct.error,
)  # fmt: skip


def read_npz(source: Source, options: Options) -> Data:
    """All rows of an archive."""
    arrays = _arrays(source, MemoryLimit(source.name, options))
    labels = _labels(source.name, arrays.pop("y", None))
    features, losses = _features(source.name, arrays)
    rows = features.shape[0]
    if not rows or not features.shape[1]:
        raise DataError(source.name, "the file has no rows" if not rows else "the file has no columns")
    _check_labels(source.name, labels, rows)
    _check_values(source.name, features, options)
    return Data(source.name, features, labels, losses=losses)


def npz_chunks(source: Source, options: Options, size: int) -> Iterator[Data]:
    """Consecutive rows, about `size` bytes at a time. A dense X in C order is streamed; everything else is held in memory."""
    if source.on_disk:
        with _archive(source, MemoryLimit(source.name, options)) as archive:
            stream = _Stream.of(archive)
            if stream is not None:
                yield from stream.chunks(source.name, archive, options, size)
                return
    data = read_npz(source, options)
    features: Any = data.features
    held = features.values.nbytes + features.indices.nbytes if isinstance(features, CSRMatrix) else features.nbytes
    step = max(1, size * data.n_rows // max(1, held))
    for start in range(0, data.n_rows, step):
        stop = min(start + step, data.n_rows)
        labels = None if data.labels is None else data.labels[start:stop]
        rows = features.slice(start, stop) if isinstance(features, CSRMatrix) else features[start:stop]
        yield Data(data.source, rows, labels, first_row=start, losses=data.losses)


def _arrays(source: Source, limit: MemoryLimit) -> dict[str, Array]:
    """The arrays by name, without the prefix X_."""
    with _archive(source, limit) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        limit.check(2 * size)  # as stored and as floats
        limit.check_expansion(size, sum(member.compress_size for member in members))
        arrays = {}
        for member in members:
            name = member.filename.removesuffix(".npy").removeprefix("X_")
            if name in arrays:
                raise DataError(source.name, f"the archive has two arrays {name!r:.60}")
            arrays[name] = _array(archive, member)
        return arrays


@contextlib.contextmanager
def _archive(source: Source, limit: MemoryLimit) -> Iterator[zipfile.ZipFile]:
    """The opened archive; damage raises DataError."""
    try:
        source.limit_expansion(limit)
        with (
            Path(source.path).open("rb") if source.on_disk else io.BytesIO(read_bytes(source, limit)) as raw,
            zipfile.ZipFile(raw) as archive,
        ):
            if len(archive.namelist()) > MAX_MEMBERS:
                raise DataError(
                    source.name, f"the archive has {count(len(archive.namelist()))} members; the limit is {count(MAX_MEMBERS)}"
                )
            yield archive
    except DataError:
        raise
    except FAULTS as fault:
        sentence = " ".join(str(fault).split())[:200]
        raise DataError(
            source.name, f"the file is damaged or not an .npz archive: {sentence or type(fault).__name__}"
        ) from None


class _Stream(NamedTuple):
    """A dense X in C order and its labels, read row by row."""

    X: zipfile.ZipInfo
    y: zipfile.ZipInfo | None

    @classmethod
    def of(cls, archive: zipfile.ZipFile) -> _Stream | None:
        members = {member.filename: member for member in archive.infolist()}
        if len(members) < len(archive.infolist()) or "X.npy" not in members or not members.keys() <= {"X.npy", "y.npy"}:
            return None
        with archive.open(members["X.npy"]) as raw:
            shape, fortran, dtype = _header(raw, members["X.npy"])
        plain = not fortran and len(shape) == 2 and all(shape) and dtype.kind in "biuf"
        return cls(members["X.npy"], members.get("y.npy")) if plain else None

    def chunks(self, source: str, archive: zipfile.ZipFile, options: Options, size: int) -> Iterator[Data]:
        labels = None if self.y is None else _labels(source, _array(archive, self.y))
        with archive.open(self.X) as raw:
            (rows, columns), _, dtype = _header(raw, self.X)
            _check_labels(source, labels, rows)
            step = max(1, size // (columns * dtype.itemsize))
            for start in range(0, rows, step):
                taken = min(step, rows - start)
                values = raw.read(taken * columns * dtype.itemsize)
                if len(values) != taken * columns * dtype.itemsize:
                    raise ValueError("X.npy has fewer values than its header announces")
                stored = np.frombuffer(values, dtype).reshape(taken, columns)
                X = np.ascontiguousarray(stored, dtype=np.float64)
                _check_values(source, X, options, start)
                part = None if labels is None else labels[start : start + taken]
                yield Data(source, X, part, first_row=start, losses=integer_losses(stored))
            if raw.read(1):
                raise ValueError("X.npy has more values than its header announces")


def _header(raw: IO[bytes], member: zipfile.ZipInfo) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and dtype of a .npy member, checked against the size of the member."""
    try:
        version = np.lib.format.read_magic(raw)
    except ValueError:
        raise ValueError(f"{member.filename} is not an array of NumPy") from None
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"{member.filename} has an unknown version")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read_header(raw, max_header_size=MAX_HEADER_BYTES)
    if dtype.hasobject or dtype.kind not in "biufSU":
        raise ValueError(f"{member.filename} holds {dtype}, not numbers or text")
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"{member.filename} has an invalid shape")
    size: int = math.prod(shape)
    if size * max(1, dtype.itemsize) > member.file_size:
        raise ValueError(f"{member.filename} announces more values than it has")
    return shape, fortran, dtype


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    with archive.open(member) as raw:
        shape, fortran, dtype = _header(raw, member)
        size = int(np.prod(shape, dtype=np.int64))  # cannot overflow: the header was checked
        values = raw.read(size * dtype.itemsize)
        if len(values) != size * dtype.itemsize or raw.read(1):  # reading to the end verifies the checksum
            raise ValueError(f"{member.filename} does not have as many values as its header announces")
    array = np.frombuffer(values, dtype)
    if dtype.kind == "U" and (array.astype(dtype.newbyteorder("=")).view(np.uint32) > sys.maxunicode).any():
        raise ValueError(f"{member.filename} holds numbers that are no characters")
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def _labels(source: str, y: Array | None) -> Array | None:
    if y is None:
        return None
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise DataError(source, f"y must have one dimension, got {y.ndim}")
    if y.dtype.kind in "SU":
        try:
            texts = np.char.decode(y, "utf-8") if y.dtype.kind == "S" else y
            found = np.empty(len(y), object)
            found[:] = texts.tolist()
            "".join(found).encode()
        except (UnicodeError, ValueError):
            raise DataError(source, "y has labels that are not valid text") from None
        return found
    if y.dtype.kind in "iu" and len(y) and max(abs(int(y.min())), abs(int(y.max()))) >= 2**53:
        found = np.empty(len(y), object)  # as floats, neighboring integers might be equal
        found[:] = [str(label) for label in y.tolist()]
        return found
    with np.errstate(over="ignore"):
        labels = y.astype(np.float64)
    if not np.isfinite(labels).all():
        raise DataError(source, "the label is not finite", row=int((~np.isfinite(labels)).argmax()) + 1)
    return labels


def _features(source: str, arrays: dict[str, Array]) -> tuple[FloatArray | CSRMatrix, dict[str, str]]:
    """The rows as floats, and the integers that floats do not hold."""
    if "X" in arrays:
        X = arrays["X"]
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise DataError(source, f"X must be a matrix of numbers, got {X.ndim} dimensions of {X.dtype}")
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(X, dtype=np.float64), integer_losses(X)
    if not {"data", "indices", "indptr", "shape"} <= set(arrays):
        found = comma_list(sorted(arrays), MAX_NAMES_LISTED) or "none"
        raise DataError(source, f"the archive must have the arrays X and y or those of a CSR matrix; it has {found}")
    try:
        return _sparse(source, arrays)
    except (ValueError, TypeError, OverflowError, IndexError) as fault:
        raise fault if isinstance(fault, DataError) else _inconsistent(source) from None


def _sparse(source: str, arrays: dict[str, Array]) -> tuple[CSRMatrix, dict[str, str]]:
    kind = bytes(arrays.get("format", np.array(b"csr")).astype("S").tolist()).decode()
    if kind not in ("csr", "csc"):
        raise DataError(source, f"the sparse matrix has format {kind[:20]!r}; only csr and csc are supported")
    indptr, indices = (arrays[name] for name in ("indptr", "indices"))
    if arrays["data"].dtype.kind not in "biuf":
        raise DataError(source, f"the values of the sparse matrix must be numbers, got {arrays['data'].dtype}")
    if any(array.ndim != 1 or array.dtype.kind not in "iu" for array in (indptr, indices, arrays["shape"])):
        raise _inconsistent(source)
    rows, columns = (int(length) for length in arrays["shape"])
    outer, inner = (rows, columns) if kind == "csr" else (columns, rows)
    indptr, indices = indptr.astype(np.int64), indices.astype(np.int64)
    with np.errstate(over="ignore"):
        data = arrays["data"].astype(np.float64)
    fits = data.ndim == 1 and len(indptr) == outer + 1 and indptr[0] == 0 and indptr[-1] == len(indices) == len(data)
    if not fits or (np.diff(indptr) < 0).any() or not 0 <= indices.min(initial=0) <= indices.max(initial=0) < max(1, inner):
        raise _inconsistent(source)
    if columns > MAX_COLUMNS:
        raise DataError(source, f"the matrix has {count(columns)} columns; the limit is 2^31 - 1")
    places = np.repeat(np.arange(outer), np.diff(indptr))
    at_row, at_column = (places, indices) if kind == "csr" else (indices, places)
    losses = integer_losses(arrays["data"], at_column)
    order = np.lexsort((at_column, at_row))
    at_row, at_column = at_row[order], at_column[order]
    if ((np.diff(at_row) == 0) & (np.diff(at_column) == 0)).any():
        raise DataError(source, "a row of the sparse matrix has a column twice")
    indptr = row_pointers(np.bincount(at_row, minlength=rows))
    return CSRMatrix(data[order], at_column.astype(np.int32), indptr, columns), losses


def _inconsistent(source: str) -> DataError:
    return DataError(source, "the parts of the sparse matrix are inconsistent")


def _check_labels(source: str, labels: Array | None, rows: int) -> None:
    if labels is not None and len(labels) != rows:
        raise DataError(source, f"X has {plural(rows, 'row')}, but y has {plural(len(labels), 'label')}")


def _check_values(source: str, features: FloatArray | CSRMatrix, options: Options, start: int = 0) -> None:
    values = features.values if isinstance(features, CSRMatrix) else features
    valid = np.isfinite(values)
    if options.missing != "refuse" and not isinstance(features, CSRMatrix):
        valid |= np.isnan(values)
    if valid.all():
        return
    if isinstance(features, CSRMatrix):
        at = int((~valid).argmax())
        row, column = int(np.searchsorted(features.indptr, at, side="right")) - 1, int(features.indices[at])
        value = values[at]
    else:
        row, column = (int(places[0]) for places in np.nonzero(~valid))
        value = values[row, column]
    raise DataError(source, f"the value is {value}", column=column, row=start + row + 1)
