"""A cache on disk, seen as arrays: pages are read when they are touched, and given back when they were passed."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..kernels.linear.rows import CSR, Dense
from ..kernels.linear.schemes import Binary, Joint, Rest
from .cache_format import NAME, CacheError, Header, bytes_per_row, read_header
from .cache_writer import remove_cache
from .problem import Pages, Problem, Rows, read_only, rows_as_matrix

# Bytes of rows that are in memory at a time.
STRETCH = 1 << 24
# Linux maps up to two megabytes where a page is touched, so that rows from here and there cost more than they hold: a window of
# permuted rows, which lie in 64 places (see schedules.py), some 300 MB, and as many rows drawn at random.
SCATTERED = {"permuted": 1024, "random": 64}
PAGE = mmap.ALLOCATIONGRANULARITY
GIVE_BACK = getattr(mmap, "MADV_DONTNEED", None)


class Mapped:
    """An array in a file; only pages that are in use take memory."""

    def __init__(self, file: Any, dtype: str) -> None:
        size = os.fstat(file.fileno()).st_size
        self.map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else None
        native = np.dtype(dtype).newbyteorder("=")
        if np.dtype(dtype) != native:
            raise ValueError("caches are little-endian, and this machine is not")
        self.array = read_only(np.zeros(0, native) if self.map is None else np.frombuffer(self.map, native))

    def give_back(self, start: int, stop: int) -> None:
        """The numbers from one to another are not needed; the page that the next ones begin on is kept."""
        low, high = (edge * self.array.itemsize // PAGE * PAGE for edge in (start, stop))
        if stop >= len(self.array):
            high = len(self.array) * self.array.itemsize
        if self.map is not None and GIVE_BACK is not None and high > low:
            self.map.madvise(GIVE_BACK, low, high - low)


class Cache:
    """A complete cache. `Cache.open(path)`; `key`: refuse one that was made from something else or in another way."""

    def __init__(self, path: Path, header: Header, parts: dict[str, Mapped]) -> None:
        self.path, self.header, self._parts = path, header, parts
        self._weights: list[Mapped] = []

    @classmethod
    def open(cls, path: str | Path, key: str | None = None) -> Cache:
        path = Path(path)
        header = read_header(path)
        if key is not None and header.key != key:
            raise CacheError(path, "the cache was made from another file, or in another way; delete it, or name another")
        parts = {}
        for name in header.sizes:
            with open(path / f"{name}.bin", "rb") as file:
                parts[name] = Mapped(file, header.type_of(name))
        cache = cls(path, header, parts)
        cache._check_edges()
        return cache

    def _check_edges(self) -> None:
        """That the rows' places begin and end where they should; damage in between is found by `check`."""
        if self.header.sparse:
            indptr = self._parts["indptr"].array
            if indptr[0] != 0 or indptr[-1] != self.header.stored:
                raise CacheError(self.path, "the cache is damaged: indptr.bin does not fit values.bin; delete it")

    def check(self) -> None:
        """Look at every number: kernels read where `indices` and `indptr` say, without asking."""
        header = self.header
        for start, stop in self.stretches():
            codes, fine = self.codes[start:stop], True
            if isinstance(self.rows, CSR):
                places = self.rows.indptr[start : stop + 1]
                fine = bool((np.diff(places) >= 0).all() and places[0] >= 0 and places[-1] <= header.stored)
                indices = self.rows.indices[places[0] : places[-1]] if fine else np.zeros(0)
                fine = fine and (not len(indices) or (indices.min() >= 0 and indices.max() < header.columns))
                if fine:
                    within = np.diff(indices, prepend=-1) > 0
                    within[(places[:-1] - places[0])[np.diff(places) > 0]] = True  # a row begins anew
                    fine = bool(within.all())
            fine = fine and codes.min() >= 0 and codes.max() < len(header.classes)
            if fine and "signs" in self._parts:
                fine = bool((self._parts["signs"].array[start:stop] == 2 * codes - 1).all())
            if not (fine and np.isfinite(self.chunk(start, stop) if not header.sparse else self._values(start, stop)).all()):
                raise CacheError(self.path, f"the cache is damaged somewhere in rows {start:,} to {stop:,}; delete it")
            self.drop(start, stop)

    def _values(self, start: int, stop: int) -> Any:
        return self.rows.values[self.rows.indptr[start] : self.rows.indptr[stop]]  # type: ignore[union-attr]

    # --- what is in it -------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        return self.header.rows, self.header.columns

    @property
    def classes(self) -> Any:
        return self.header.classes

    @property
    def counts(self) -> Any:
        """Rows of each class."""
        return self.header.counts

    @property
    def notes(self) -> dict[str, Any]:
        return self.header.notes

    @property
    def codes(self) -> Any:
        """The position of each row's label in `classes`."""
        return self._parts["codes"].array

    @property
    def rows(self) -> Rows:
        values = self._parts["values"].array
        if not self.header.sparse:
            return Dense(values.reshape(self.shape))
        return CSR(values, self._parts["indices"].array, self._parts["indptr"].array, self.header.columns)

    def chunk(self, start: int, stop: int) -> Any:
        """Some rows as an array or a SciPy CSR array, whose values stay on disk."""
        return rows_as_matrix(self.rows, start, min(stop, self.header.rows))

    def stretches(self, part: int = 1) -> Iterator[tuple[int, int]]:
        """The rows from first to last, as many at a time as may be in memory, or a part of that many."""
        n, size = self.header.rows, max(1, self._neighbours // part)
        return ((start, min(start + size, n)) for start in range(0, n, size))

    @property
    def _neighbours(self) -> int:
        return max(1, STRETCH // bytes_per_row(self.header))

    # --- for kernels ---------------------------------------------------------------------------------------------------

    def problem(
        self, *, multiclass: str = "joint", x0: float = 1.0, order: str = "cyclic", class_weights: Any = None
    ) -> Problem:
        """What `make_problem` makes of rows in memory; `class_weights`: one for each class, greater than 0."""
        weights = np.zeros(0) if class_weights is None else self._row_weights(np.asarray(class_weights, np.float64))
        k = len(self.classes)
        labels: Any
        if k == 2:
            labels = Binary(self._parts["signs"].array, read_only(weights))
        elif multiclass == "joint":
            labels = Joint(self.codes, read_only(weights))
        else:
            labels = Rest(self.codes, read_only(np.arange(k, dtype=np.int32)), read_only(weights))
        pages = Pages(self._neighbours, min(self._neighbours, SCATTERED.get(order, 1)), self.drop)
        return Problem(self.rows, labels, float(x0), None, pages)

    def _row_weights(self, of_class: Any) -> Any:
        """The weight of each row, in a file without a name that is gone with the cache."""
        with tempfile.TemporaryFile(dir=self.path.parent if os.access(self.path.parent, os.W_OK) else None) as file:
            for start, stop in self.stretches():
                file.write(of_class[self.codes[start:stop]].data)
                self._parts["codes"].give_back(start, stop)
            file.flush()
            self._weights = [Mapped(file, "<f8")]
        return self._weights[0].array

    def drop(self, start: int, stop: int) -> None:
        """Give back the memory of some rows; they are read again when they are next touched."""
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
        """Delete the files; what is open stays readable, and the disk is free when it is closed."""
        remove_cache(self.path)


def reusable(path: str | Path, key: str) -> Cache | None:
    """The cache at `path`, every number checked, if its key is the same; None where there is none, or another."""
    if not (Path(path) / NAME).exists():
        return None
    cache = Cache.open(path)
    if cache.header.key != key:
        return None
    cache.check()
    return cache


def key_of(source: str | Path, *parts: Any) -> str:
    """A key that changes when the file does or any of the `parts` (anything JSON can hold).

    The file by its place, size and times; that of its last change, which nobody can set back, is among them.
    """
    state = os.stat(source)
    about = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
    body = json.dumps([os.path.abspath(source), about, parts], sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()
