"""A cache on disk as memory-mapped arrays: pages are loaded on first use and released after the rows were visited."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..kernels.linear.rows import CSR, Dense
from ..kernels.linear.schemes import Binary, Joint, Rest
from .cache_format import HEADER_NAME, CacheError, Header, bytes_per_row, read_header
from .cache_writer import remove_cache
from .csr import CSRMatrix
from .problem import Pages, Problem, Rows, make_rows, read_only, rows_as_matrix

# Bytes of consecutive rows kept in memory at a time.
BYTES_IN_MEMORY = 1 << 24
# Rows in random order visited before their memory is released. Linux maps up to two megabytes around each page fault, so
# scattered rows use more memory than they hold: a window of permuted rows, which lie in 64 places (see online/run.py),
# takes about 300 MB, and so do 64 rows drawn at random.
SCATTERED_ROWS = {"permuted": 1024, "random": 64}
PAGE_BYTES = mmap.ALLOCATIONGRANULARITY
DONT_NEED = getattr(mmap, "MADV_DONTNEED", None)


class Mapped:
    """A memory-mapped array in a file."""

    def __init__(self, file: IO[bytes], dtype: str) -> None:
        size = os.fstat(file.fileno()).st_size
        self.map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else None
        native = np.dtype(dtype).newbyteorder("=")
        if np.dtype(dtype) != native:
            raise ValueError("caches are little-endian and cannot be read on a big-endian machine")
        self.array = read_only(np.zeros(0, native) if self.map is None else np.frombuffer(self.map, native))

    def give_back(self, start: int, stop: int) -> None:
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
                raise CacheError(self.path, f"the cache is damaged in rows {start + 1:,} to {stop:,}; delete the cache")
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
        labels: Any
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
                self._parts["codes"].give_back(start, stop)
            file.flush()
            self._weights = [Mapped(file, "<f8")]
        return self._weights[0].array

    def drop(self, start: int, stop: int) -> None:
        """Release the memory of some rows; they are loaded again on next use."""
        stored = self._span(start, stop) if self.header.sparse else (start * self.header.columns, stop * self.header.columns)
        spans = {"values": stored, "indices": stored, "indptr": (start, stop + (stop == self.header.rows))}
        for name, part in self._parts.items():
            part.give_back(*spans.get(name, (start, stop)))
        for weights in self._weights:
            weights.give_back(start, stop)

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


def cache_key(source: str | Path, *parts: Any) -> str:
    """A key that changes with the file and with any of the `parts` (JSON values).

    The file is identified by its path, size, inode and times, including the change time, which programs cannot set.
    """
    state = os.stat(source)
    about = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
    body = json.dumps([os.path.abspath(source), about, parts], sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()
