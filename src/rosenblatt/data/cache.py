"""A cache of training rows on disk: the arrays that its header describes, mapped into memory.

Pages are loaded on first use and released after the rows were visited. Each block of a file is compared with its checksum
right before its first use in a process, and again after its pages were released if the memory cannot hold the whole cache.
docs/cache-files.md describes the format.
"""

from __future__ import annotations

import contextlib
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
from ..kernels.checksums import BLOCK_BYTES, checksums, valid_columns
from ..kernels.linear.rows import Dense, Rows
from ..kernels.linear.schemes import Binary, Joint, Labels, Rest
from ..reporting.text import count
from .cache_header import (
    CACHE_FILES,
    DELETE_ADVICE,
    HEADER_NAME,
    CacheError,
    Header,
    bytes_per_row,
    in_hexadecimal,
    read_header,
)
from .csr import CSRMatrix
from .problem import Pages, Problem, make_rows, read_only, rows_as_matrix
from .readers.limits import free_memory

# Bytes of consecutive rows kept in memory at a time.
BYTES_IN_MEMORY = 1 << 24
CHECKED_BYTES = 1 << 22  # of rows that are checked at a time, which stay in a processor's cache meanwhile
# Rows in random order visited before their memory is released. Linux maps up to two megabytes around each page fault, so
# scattered rows use more memory than they hold: a window of permuted rows, which lie in 64 places (see online/run.py),
# takes about 300 MB, and so do 64 rows drawn at random.
SCATTERED_ROWS = {"permuted": 1024, "random": 64}
PAGE_BYTES = mmap.ALLOCATIONGRANULARITY
DONT_NEED = getattr(mmap, "MADV_DONTNEED", None)


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
        self._matched = np.zeros(-(-size // BLOCK_BYTES), bool)  # whether each block was compared with its checksum

    def damaged_block(self, start: int, stop: int, expected: tuple[str, ...]) -> int | None:
        """The first block with some of the numbers from `start` to `stop` that does not match its checksum; None: all match.

        Each block is compared once, and once more after `forget`.
        """
        first, last = start * self.array.itemsize // BLOCK_BYTES, -(-stop * self.array.itemsize // BLOCK_BYTES)
        while first < last and self._matched[first]:  # read with the numbers before
            first += 1
        if first < last and not self._matched[first:last].all():
            found = in_hexadecimal(checksums(self.array.view(np.uint8)[first * BLOCK_BYTES : last * BLOCK_BYTES]))
            for block, (one, other) in enumerate(zip(found, expected[first:last], strict=True), first):
                if one != other:
                    return block
            self._matched[first:last] = True
        return None

    def release_pages(self, start: int, stop: int, *, forget: bool = False) -> None:
        """Release the memory of the numbers from `start` to `stop`, except the page that also holds the next ones.

        forget: compare blocks that end there with their checksums again on next use.
        """
        low, high = (edge * self.array.itemsize // PAGE_BYTES * PAGE_BYTES for edge in (start, stop))
        if stop >= len(self.array):
            high = len(self.array) * self.array.itemsize
        if forget:
            self._matched[low // BLOCK_BYTES : len(self._matched) if stop >= len(self.array) else high // BLOCK_BYTES] = False
        if self.map is not None and DONT_NEED is not None and high > low:
            self.map.madvise(DONT_NEED, low, high - low)


class Cache:
    """A complete cache, opened with `Cache.open(path)`."""

    def __init__(self, path: Path, header: Header, parts: dict[str, Mapped]) -> None:
        self.path, self.header, self._parts = path, header, parts
        self._weights: list[Mapped] = []
        self._rows_per_check = max(1, CHECKED_BYTES // bytes_per_row(header))
        self._checked = np.zeros(-(-header.rows // self._rows_per_check), bool)
        # Pages of a cache that exceeds the memory come from the disk in each pass, where they may have changed.
        self._read_again = sum(header.sizes.values()) > free_memory()

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
                raise CacheError(self.path, f"the cache is damaged: indptr.bin does not match values.bin; {DELETE_ADVICE}")

    def check(self) -> None:
        """Check every block and every number that was not checked before."""
        for start, stop in self.row_ranges():
            if not self._checked[start // self._rows_per_check : -(-stop // self._rows_per_check)].all():
                self.check_rows(start, stop)
                self.drop(start, stop)

    def check_rows(self, start: int, stop: int) -> None:
        """Check some rows before their first use: blocks by their checksums, and numbers, which kernels use as positions."""
        size = self._rows_per_check
        for part in range(start // size, -(-stop // size)):
            if self._read_again or not self._checked[part]:
                first, last = part * size, min((part + 1) * size, self.header.rows)
                self._check_blocks(first, last)
                if not self._checked[part] and not self._valid_numbers(first, last):
                    raise self._damaged_rows(first, last)
                self._checked[part] = True

    def check_values(self) -> None:
        """Raise CacheError if a value is not finite. Learners call it before they report a score that overflowed."""
        for start, stop in self.row_ranges():
            self.check_rows(start, stop)
            if not np.isfinite(self._parts["values"].array[slice(*self._stored(start, stop))]).all():
                raise self._damaged_rows(start, stop)
            self.drop(start, stop)

    def _damaged_rows(self, start: int, stop: int) -> CacheError:
        return CacheError(self.path, f"the cache is damaged in rows {count(start + 1)} to {count(stop)}; {DELETE_ADVICE}")

    def _valid_numbers(self, start: int, stop: int) -> bool:
        """Whether labels and columns are in range and in order; values are finite, because a writer refuses others."""
        if not self._valid_codes(start, stop):
            return False
        if "signs" in self._parts and not (self._parts["signs"].array[start:stop] == 2 * self.codes[start:stop] - 1).all():
            return False
        if self.header.sparse:
            indices, pointers = self._parts["indices"].array, self._parts["indptr"].array[start : stop + 1]
            return bool(valid_columns(indices, pointers, self.header.columns))
        return True

    def _valid_codes(self, start: int, stop: int) -> bool:
        codes = self.codes[start:stop]
        return bool(codes.min() >= 0 and codes.max() < len(self.header.classes))

    def _check_blocks(self, start: int, stop: int) -> None:
        """Compare the blocks of the files that hold some rows with their checksums; those compared before are skipped."""
        spans: dict[str, tuple[int, int]] = {name: (start, stop) for name in ("codes", "signs") if name in self._parts}
        if self.header.sparse:
            self._compare("indptr", start, stop + 1)
            spans["indices"] = self._stored(start, stop)
        spans["values"] = self._stored(start, stop)
        for name, span in spans.items():
            self._compare(name, *span)

    def _compare(self, name: str, start: int, stop: int) -> None:
        size, number = self.header.sizes[name], len(self.header.checksums[name])
        start, stop = (min(max(0, edge), len(self._parts[name].array)) for edge in (start, stop))
        block = self._parts[name].damaged_block(start, stop, self.header.checksums[name])
        if block is not None:
            where = f"bytes {count(block * BLOCK_BYTES)} to {count(min((block + 1) * BLOCK_BYTES, size) - 1)}"
            raise CacheError(
                self.path,
                f"the cache is damaged: block {count(block + 1)} of {count(number)} of {name}.bin ({where}) does not match its "
                f"checksum; {DELETE_ADVICE}",
            )

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
        """Some rows, checked, as a mapped array or SciPy CSR array."""
        stop = min(stop, self.header.rows)
        self.check_rows(start, stop)
        return rows_as_matrix(self.rows, start, stop)

    def row_ranges(self, fraction: int = 1) -> Iterator[tuple[int, int]]:
        """Consecutive ranges of as many rows as may be in memory, divided by `fraction`."""
        n, size = self.header.rows, max(1, self._rows_in_memory // fraction)
        return ((start, min(start + size, n)) for start in range(0, n, size))

    @property
    def _rows_in_memory(self) -> int:
        return max(1, BYTES_IN_MEMORY // bytes_per_row(self.header))

    # --- for kernels ---------------------------------------------------------------------------------------------------

    def problem(
        self,
        *,
        multiclass: str = "joint",
        x0: float = 1.0,
        order: str = "cyclic",
        class_weights: Array | None = None,
        check_first: bool = True,
    ) -> Problem:
        """The problem that `make_problem` makes of rows in memory; `class_weights`: one positive number per class.

        check_first: check the whole cache now, because a damaged number could crash a kernel; else the caller calls
        `Problem.check_rows` before each use of rows.
        """
        if check_first:
            self.check()
        weights = np.zeros(0) if class_weights is None else self._row_weights(np.asarray(class_weights, np.float64))
        k = len(self.classes)
        labels: Labels
        if k == 2:
            labels = Binary(self._parts["signs"].array, read_only(weights))
        elif multiclass == "joint":
            labels = Joint(self.codes, read_only(weights))
        else:
            labels = Rest(self.codes, read_only(np.arange(k, dtype=np.int32)), read_only(weights))
        pages = Pages(self._rows_in_memory, min(self._rows_in_memory, SCATTERED_ROWS.get(order, 1)), self.check_rows, self.drop)
        return Problem(self.rows, labels, float(x0), None, pages)

    def _row_weights(self, class_weights: FloatArray) -> FloatArray:
        """The weight of each row, in an unnamed temporary file."""
        with tempfile.TemporaryFile(dir=self.path.parent if os.access(self.path.parent, os.W_OK) else None) as file:
            for start, stop in self.row_ranges():
                self._compare("codes", start, stop)
                if not self._valid_codes(start, stop):
                    raise self._damaged_rows(start, stop)
                file.write(class_weights[self.codes[start:stop]].data)
                self._parts["codes"].release_pages(start, stop)
            file.flush()
            self._weights = [Mapped(file, "<f8")]
        return self._weights[0].array

    def drop(self, start: int, stop: int) -> None:
        """Release the memory of some rows; they are loaded again on next use."""
        stored = self._stored(start, stop)
        spans = {"values": stored, "indices": stored, "indptr": (start, stop + (stop == self.header.rows))}
        for name, part in self._parts.items():
            part.release_pages(*spans.get(name, (start, stop)), forget=self._read_again)
        for weights in self._weights:
            weights.release_pages(start, stop)

    def _stored(self, start: int, stop: int) -> tuple[int, int]:
        """The positions of the values of some rows."""
        if not self.header.sparse:
            return start * self.header.columns, stop * self.header.columns
        if (start, stop) == (0, self.header.rows):
            return 0, self.header.stored
        indptr = self._parts["indptr"].array
        return int(indptr[start]), int(indptr[stop])

    def unlink(self) -> None:
        """Delete the files; mapped arrays stay readable, and the disk space is freed when they are closed."""
        remove_cache(self.path)


def open_if_current(path: str | Path, key: str) -> Cache | None:
    """The cache at `path` if its key matches; else None. Raises OutdatedCacheError for an earlier version."""
    if not (Path(path) / HEADER_NAME).exists():
        return None
    cache = Cache.open(path)
    return cache if cache.header.key == key else None


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
