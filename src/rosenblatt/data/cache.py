"""A cache of training rows on disk: the header, cache.json, and the arrays it describes, which are mapped into memory.

Pages are loaded on first use and released after the rows were visited. docs/cache-files.md describes the format.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import mmap
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..kernels.linear.rows import CSR, Dense, Rows
from ..kernels.linear.schemes import Binary, Joint, Labels, Rest
from ..reporting.text import count, plural
from .csr import CSRMatrix
from .problem import Pages, Problem, make_rows, read_only, rows_as_matrix

FORMAT, VERSION = "rosenblatt cache", 1
HEADER_NAME = "cache.json"
MAX_HEADER_BYTES = 1 << 28  # ample even for the names of many columns
# The dtype of each file; the header gives that of the values.
FILE_DTYPES = {"values": "", "indices": "<i4", "indptr": "<i8", "codes": "<i4", "signs": "|i1"}
VALUE_DTYPES = ("float64", "float32")
LABEL_KINDS = "biufU"  # NumPy kinds of labels
CACHE_FILES = {HEADER_NAME, *(f"{name}.bin" for name in FILE_DTYPES)}
# Bytes of consecutive rows kept in memory at a time.
BYTES_IN_MEMORY = 1 << 24
# Rows in random order visited before their memory is released. Linux maps up to two megabytes around each page fault, so
# scattered rows use more memory than they hold: a window of permuted rows, which lie in 64 places (see online/run.py),
# takes about 300 MB, and so do 64 rows drawn at random.
SCATTERED_ROWS = {"permuted": 1024, "random": 64}
PAGE_BYTES = mmap.ALLOCATIONGRANULARITY
DONT_NEED = getattr(mmap, "MADV_DONTNEED", None)


class CacheError(ValueError):
    """A cache that cannot be used: one sentence that names it."""

    def __init__(self, path: Path | str, sentence: str) -> None:
        super().__init__(f"{path}: {sentence}")
        self.path, self.sentence = path, sentence


@dataclass(frozen=True)
class Header:
    """The contents of cache.json."""

    sparse: bool
    dtype: str  # type of the values, float64 or float32
    rows: int
    columns: int
    stored: int  # number of values; for dense rows, rows times columns
    classes: Array  # the labels that occur, sorted
    counts: IntArray  # int64, the number of rows of each class
    key: str = ""  # identifies the source file and the options the cache was made with
    notes: dict[str, Any] = field(default_factory=dict)  # further JSON values of the program that wrote the cache

    @property
    def sizes(self) -> dict[str, int]:
        """The files and their sizes in bytes."""
        numbers = {"values": self.stored, "codes": self.rows}
        if self.sparse:
            numbers |= {"indices": self.stored, "indptr": self.rows + 1}
        if len(self.classes) == 2:
            numbers["signs"] = self.rows
        return {name: number * np.dtype(self.dtype_of(name)).itemsize for name, number in numbers.items()}

    def dtype_of(self, name: str) -> str:
        return FILE_DTYPES[name] or ("<f4" if self.dtype == "float32" else "<f8")

    def write(self, path: Path) -> None:
        body = {
            "format": FORMAT, "version": VERSION, "kind": "sparse" if self.sparse else "dense", "dtype": self.dtype,
            "rows": self.rows, "columns": self.columns, "stored": self.stored,
            "labels": self.classes.dtype.str, "classes": self.classes.tolist(), "counts": self.counts.tolist(),
            "key": self.key, "notes": self.notes,
        }  # fmt: skip
        path.write_text(json.dumps({**body, "digest": _digest(body)}, indent=1) + "\n", encoding="utf-8")


def _digest(body: dict[str, Any]) -> str:
    """SHA-256 of the header as JSON with sorted keys and no spaces."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_header(folder: Path) -> Header:
    """Read the header of a cache; check it, and the sizes of the files against it."""
    try:
        with open(folder / HEADER_NAME, "rb") as file:
            text = file.read(MAX_HEADER_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise CacheError(folder, f"not a cache, or an incomplete one: {HEADER_NAME} is missing") from None
    try:
        body = json.loads(text)
        digest = body.pop("digest")
        known = body["format"] == FORMAT
        version = body["version"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CacheError(folder, f"not a cache: {HEADER_NAME} is not a cache header") from None
    if not known:
        raise CacheError(folder, f"not a cache: {HEADER_NAME} is not a cache header")
    if digest != _digest(body):
        raise CacheError(folder, f"the cache is damaged: the digest of {HEADER_NAME} does not match; delete the cache")
    if version != VERSION:
        raise CacheError(
            folder, f"the cache has format version {version!r}, but this program reads version {VERSION}; delete the cache"
        )
    header = _from_body(folder, body)
    for name, size in header.sizes.items():
        try:
            found = (folder / f"{name}.bin").stat().st_size
        except FileNotFoundError:
            raise CacheError(folder, f"the cache is damaged: {name}.bin is missing; delete the cache") from None
        if found != size:
            raise CacheError(
                folder,
                f"the cache is damaged: {name}.bin has {plural(found, 'byte')} instead of {count(size)}; delete the cache",
            )
    return header


def _from_body(folder: Path, body: dict[str, Any]) -> Header:
    try:
        classes = np.array(body["classes"], np.dtype(body["labels"]))
        counts = np.array(body["counts"], np.int64)
        header = Header(
            {"sparse": True, "dense": False}[body["kind"]], body["dtype"], body["rows"], body["columns"], body["stored"],
            classes, counts, body["key"], body["notes"],
        )  # fmt: skip
        numbers = (header.rows, header.columns, header.stored)
        valid = (
            all(type(number) is int and number >= 0 for number in numbers)
            and header.dtype in VALUE_DTYPES
            and (header.sparse or header.stored == header.rows * header.columns)
            and classes.ndim == counts.ndim == 1
            and classes.dtype.kind in LABEL_KINDS
            and len(classes) == len(counts)
            and classes.tolist() == sorted(set(classes.tolist()))
            and int(counts.sum()) == header.rows
            and bool((counts > 0).all())
            and isinstance(header.key, str)
            and isinstance(header.notes, dict)
            and max(numbers) < 2**62
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        valid = False
    if not valid:
        raise CacheError(folder, f"the cache is damaged: the entries of {HEADER_NAME} contradict each other; delete the cache")
    return header


def bytes_per_row(header: Header) -> int:
    """The average size of a row on disk, rounded up."""
    return max(1, math.ceil(sum(header.sizes.values()) / max(1, header.rows)))


# --- arrays --------------------------------------------------------------------------------------------------------------


class Mapped:
    """A memory-mapped array in a file."""

    def __init__(self, file: IO[bytes], dtype: str) -> None:
        size = os.fstat(file.fileno()).st_size
        self.map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else None
        native = np.dtype(dtype).newbyteorder("=")
        if np.dtype(dtype) != native:
            raise ValueError("caches are little-endian and cannot be read on a big-endian machine")
        self.array = read_only(np.zeros(0, native) if self.map is None else np.frombuffer(self.map, native))

    def release_pages(self, start: int, stop: int) -> None:
        """Release the memory of the numbers from `start` to `stop`, except the page that also holds the next ones."""
        low, high = (edge * self.array.itemsize // PAGE_BYTES * PAGE_BYTES for edge in (start, stop))
        if stop >= len(self.array):
            high = len(self.array) * self.array.itemsize
        if self.map is not None and DONT_NEED is not None and high > low:
            self.map.madvise(DONT_NEED, low, high - low)


class Cache:
    """A complete cache, opened with `Cache.open(path)`."""

    def __init__(self, path: Path, header: Header, parts: dict[str, Mapped]) -> None:
        self.path, self.header, self._parts = path, header, parts
        self._weights: list[Mapped] = []

    @classmethod
    def open(cls, path: str | Path, key: str | None = None) -> Cache:
        """Open a cache; with `key`, raise CacheError if it was made from another file or with other options."""
        path = Path(path)
        header = read_header(path)
        if key is not None and header.key != key:
            raise CacheError(path, "the cache was made from another file or with other options; delete it or use another path")
        parts = {}
        for name in header.sizes:
            with open(path / f"{name}.bin", "rb") as file:
                parts[name] = Mapped(file, header.dtype_of(name))
        cache = cls(path, header, parts)
        cache._check_edges()
        return cache

    def _check_edges(self) -> None:
        """Check the first and last row pointer; `check` finds damage in between."""
        if self.header.sparse:
            indptr = self._parts["indptr"].array
            if indptr[0] != 0 or indptr[-1] != self.header.stored:
                raise CacheError(self.path, "the cache is damaged: indptr.bin does not match values.bin; delete the cache")

    def check(self) -> None:
        """Check every number: kernels use `indices` and `indptr` without bounds checks."""
        header = self.header
        for start, stop in self.row_ranges():
            codes, rows = self.codes[start:stop], self.rows
            valid = self._valid_columns(rows, start, stop) if isinstance(rows, CSR) else True
            valid = valid and codes.min() >= 0 and codes.max() < len(header.classes)
            if valid and "signs" in self._parts:
                valid = bool((self._parts["signs"].array[start:stop] == 2 * codes - 1).all())
            if valid:
                stored = rows.values[start:stop] if isinstance(rows, Dense) else rows.values[slice(*rows.indptr[[start, stop]])]
                valid = bool(np.isfinite(stored).all())
            if not valid:
                raise CacheError(
                    self.path, f"the cache is damaged in rows {count(start + 1)} to {count(stop)}; delete the cache"
                )
            self.drop(start, stop)

    def _valid_columns(self, rows: CSR, start: int, stop: int) -> bool:
        """Whether the column numbers of some rows ascend within each row and are in range."""
        pointers = rows.indptr[start : stop + 1]
        if (np.diff(pointers) < 0).any() or pointers[0] < 0 or pointers[-1] > self.header.stored:
            return False
        indices = rows.indices[pointers[0] : pointers[-1]]
        if len(indices) and (indices.min() < 0 or indices.max() >= self.header.columns):
            return False
        ascends = np.diff(indices, prepend=-1) > 0
        ascends[(pointers[:-1] - pointers[0])[np.diff(pointers) > 0]] = True  # the first column of each row
        return bool(ascends.all())

    # --- contents ------------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        return self.header.rows, self.header.columns

    @property
    def classes(self) -> Array:
        return self.header.classes

    @property
    def counts(self) -> IntArray:
        """The number of rows of each class."""
        return self.header.counts

    @property
    def notes(self) -> dict[str, Any]:
        return self.header.notes

    @property
    def codes(self) -> IntArray:
        """The position of each row's label in `classes`."""
        return self._parts["codes"].array

    @property
    def rows(self) -> Rows:
        values = self._parts["values"].array
        if not self.header.sparse:
            return Dense(values.reshape(self.shape))
        indices, indptr = self._parts["indices"].array, self._parts["indptr"].array
        return make_rows(CSRMatrix(values, indices, indptr, self.header.columns))

    def chunk(self, start: int, stop: int) -> Matrix:
        """Some rows as a mapped array or SciPy CSR array."""
        return rows_as_matrix(self.rows, start, min(stop, self.header.rows))

    def row_ranges(self, fraction: int = 1) -> Iterator[tuple[int, int]]:
        """Consecutive ranges of as many rows as may be in memory, divided by `fraction`."""
        n, size = self.header.rows, max(1, self._rows_in_memory // fraction)
        return ((start, min(start + size, n)) for start in range(0, n, size))

    @property
    def _rows_in_memory(self) -> int:
        return max(1, BYTES_IN_MEMORY // bytes_per_row(self.header))

    # --- for kernels ---------------------------------------------------------------------------------------------------

    def problem(
        self, *, multiclass: str = "joint", x0: float = 1.0, order: str = "cyclic", class_weights: Array | None = None
    ) -> Problem:
        """The problem that `make_problem` makes of rows in memory; `class_weights`: one positive number per class."""
        weights = np.zeros(0) if class_weights is None else self._row_weights(np.asarray(class_weights, np.float64))
        k = len(self.classes)
        labels: Labels
        if k == 2:
            labels = Binary(self._parts["signs"].array, read_only(weights))
        elif multiclass == "joint":
            labels = Joint(self.codes, read_only(weights))
        else:
            labels = Rest(self.codes, read_only(np.arange(k, dtype=np.int32)), read_only(weights))
        pages = Pages(self._rows_in_memory, min(self._rows_in_memory, SCATTERED_ROWS.get(order, 1)), self.drop)
        return Problem(self.rows, labels, float(x0), None, pages)

    def _row_weights(self, class_weights: FloatArray) -> FloatArray:
        """The weight of each row, in an unnamed temporary file."""
        with tempfile.TemporaryFile(dir=self.path.parent if os.access(self.path.parent, os.W_OK) else None) as file:
            for start, stop in self.row_ranges():
                file.write(class_weights[self.codes[start:stop]].data)
                self._parts["codes"].release_pages(start, stop)
            file.flush()
            self._weights = [Mapped(file, "<f8")]
        return self._weights[0].array

    def drop(self, start: int, stop: int) -> None:
        """Release the memory of some rows; they are loaded again on next use."""
        stored = self._span(start, stop) if self.header.sparse else (start * self.header.columns, stop * self.header.columns)
        spans = {"values": stored, "indices": stored, "indptr": (start, stop + (stop == self.header.rows))}
        for name, part in self._parts.items():
            part.release_pages(*spans.get(name, (start, stop)))
        for weights in self._weights:
            weights.release_pages(start, stop)

    def _span(self, start: int, stop: int) -> tuple[int, int]:
        if (start, stop) == (0, self.header.rows):
            return 0, self.header.stored
        indptr = self._parts["indptr"].array
        return int(indptr[start]), int(indptr[stop])

    def unlink(self) -> None:
        """Delete the files; mapped arrays stay readable, and the disk space is freed when they are closed."""
        remove_cache(self.path)


def open_if_current(path: str | Path, key: str) -> Cache | None:
    """The cache at `path`, fully checked, if its key matches; else None."""
    if not (Path(path) / HEADER_NAME).exists():
        return None
    cache = Cache.open(path)
    if cache.header.key != key:
        return None
    cache.check()
    return cache


def cache_key(source: str | Path, *parts: object) -> str:
    """A key that changes with the file and with any of the `parts` (JSON values).

    The file is identified by its path, size, inode and times, including the change time, which programs cannot set.
    """
    state = os.stat(source)
    about = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
    body = json.dumps([os.path.abspath(source), about, parts], sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()


def remove_cache(path: Path) -> None:
    """Delete the files of a cache, and the folder if it is then empty."""
    for name in sorted(CACHE_FILES, key=lambda name: name != HEADER_NAME):  # the header first: the rest is then not a cache
        (path / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.rmdir()
