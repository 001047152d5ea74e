"""Writes a cache in chunks of rows, and temporary caches that are always deleted.

The files are written to a hidden folder next to the cache, which is renamed when everything is on disk. Sizes are unknown until
the last row, so each array grows in its own file and nothing is copied at the end.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..kernels.checksums import BLOCK_BYTES, checksums
from .cache import remove_cache
from .cache_header import (
    CACHE_FILES,
    HEADER_NAME,
    LABEL_KINDS,
    CacheError,
    Header,
    OutdatedCacheError,
    in_hexadecimal,
    read_header,
)
from .csr import CSRMatrix

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CODES_PER_BLOCK = 1 << 20  # class codes renumbered at a time
TEMPORARY_PREFIX = ".rosenblatt-stream."


class _Checksums:
    """The checksums of a file's blocks, computed from the bytes as they are written."""

    def __init__(self) -> None:
        self._block, self._filled = np.empty(BLOCK_BYTES, np.uint8), 0
        self._finished: list[str] = []

    def add(self, content: Array) -> None:
        left = content.reshape(-1).view(np.uint8)
        while len(left):
            n = min(len(left), BLOCK_BYTES - self._filled)
            self._block[self._filled : self._filled + n] = left[:n]
            self._filled += n
            left = left[n:]
            if self._filled == BLOCK_BYTES:
                self._finish_block()

    def finish(self) -> tuple[str, ...]:
        if self._filled:
            self._finish_block()
        return tuple(self._finished)

    def _finish_block(self) -> None:
        self._finished += in_hexadecimal(checksums(self._block[: self._filled]))
        self._filled = 0


class CacheWriter:
    """Writes a cache: `with CacheWriter(path, ...) as writer:`, then `append` rows and `close`.

    Without `close`, nothing is left on disk.

    Parameters
    ----------
    path : str or Path
        The folder of the cache. An existing cache is replaced when the new one is complete; other files are never replaced.
    sparse : bool
        Whether rows are sparse (`CSRMatrix` or SciPy CSR) or arrays.
    dtype : {"float64", "float32"}, default="float64"
        The type of the stored values.
    key : str, default=""
        Identifies the source and the options; `Cache.open` can require it.
    """

    def __init__(self, path: str | Path, *, sparse: bool, dtype: str = "float64", key: str = "") -> None:
        self.path, self.sparse, self.dtype, self.key = Path(path), sparse, np.dtype(dtype), key
        check_cache_path(self.path)
        self.rows = self.stored = self.width = 0
        self._counts = np.zeros(0, np.int64)
        remove_stale(self.path)
        self._folder = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.part")
        self._folder.mkdir(parents=False)
        self._lock = lock_folder(self._folder)
        names = ("values", "indices", "indptr", "codes") if sparse else ("values", "codes")
        self._files = {name: open(self._folder / f"{name}.bin", "wb") for name in names}  # noqa: SIM115
        self._checksums = {name: _Checksums() for name in names}
        if sparse:
            self._write("indptr", np.zeros(1, "<i8"))

    def append(self, rows: Matrix | CSRMatrix, codes: npt.ArrayLike) -> None:
        """Add rows, and for each the position of its label in the `classes` passed to `close`."""
        if hasattr(rows, "tocsr"):
            rows = CSRMatrix.from_scipy(rows)
        if isinstance(rows, CSRMatrix) != self.sparse:
            raise TypeError(f"this cache holds {'sparse' if self.sparse else 'dense'} rows, got {type(rows).__name__}")
        codes = np.ascontiguousarray(codes, "<i4")
        n = len(rows.indptr) - 1 if isinstance(rows, CSRMatrix) else len(rows)
        if len(codes) != n:
            raise ValueError(f"codes must have one entry for each of the {n} rows, got {len(codes)}")
        if n == 0:
            return
        if codes.min() < 0:
            raise ValueError(f"codes must not be negative, got {int(codes.min())}")
        values = rows.values if isinstance(rows, CSRMatrix) else np.asarray(rows)
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(values, self.dtype.newbyteorder("<"))
        if not np.isfinite(values).all():
            raise ValueError(
                f"row {self.rows + self._row_of(rows, values) + 1} has a value that is not a finite {self.dtype.name}"
            )
        if isinstance(rows, CSRMatrix):
            self._append_columns(rows)
        else:
            self.width = self.width or values.shape[1]
            if values.shape[1] != self.width:
                raise ValueError(f"rows must have {self.width} columns, as the first rows have, got {values.shape[1]}")
        self._write("values", values)
        self._write("codes", codes)
        self.rows += n
        self.stored += values.size
        found = np.bincount(codes, minlength=len(self._counts))
        found[: len(self._counts)] += self._counts
        self._counts = found

    def _row_of(self, rows: Matrix | CSRMatrix, values: FloatArray) -> int:
        """The first row with a value that is not finite."""
        where = int(np.flatnonzero(~np.isfinite(values.reshape(-1)))[0])
        if not isinstance(rows, CSRMatrix):
            return where // int(values.shape[1])
        return int(np.searchsorted(rows.indptr - rows.indptr[0], where, "right")) - 1

    def _append_columns(self, rows: CSRMatrix) -> None:
        indptr = np.asarray(rows.indptr, np.int64)
        indices = np.ascontiguousarray(rows.indices, "<i4")
        inner = np.ones(len(indices), bool)
        inner[(indptr - indptr[0])[:-1][np.diff(indptr) > 0]] = False
        inside = not len(indices) or (indices.min() >= 0 and indices.max() < rows.shape[1])
        if not inside or (np.diff(indices)[inner[1:]] <= 0).any():
            raise ValueError(f"the columns of a sparse row must ascend strictly and be from 0 to {rows.shape[1] - 1}")
        self.width = max(self.width, int(rows.shape[1]))
        self._write("indices", indices)
        self._write("indptr", (indptr[1:] - indptr[0] + self.stored).astype("<i8"))

    def _write(self, name: str, array: Array) -> None:
        self._files[name].write(array.data)
        if name != "codes":  # they are renumbered in the end
            self._checksums[name].add(array)

    def close(self, classes: npt.ArrayLike, *, width: int | None = None, notes: dict[str, Any] | None = None) -> Path:
        """Complete the cache and return its path. Classes are sorted; those without rows are dropped.

        Parameters
        ----------
        classes : array-like
            The label of each class code.
        width : int, optional
            The number of columns of sparse rows, if larger than the largest one seen.
        notes : dict, optional
            JSON values to store with the cache, such as names of columns.
        """
        classes = np.asarray(classes)
        if self.rows == 0:
            raise CacheError(self.path, "a cache needs at least one row")
        if classes.ndim != 1 or classes.dtype.kind not in LABEL_KINDS or len(classes) < len(self._counts):
            raise ValueError(f"classes must be {len(self._counts)} numbers or strings, got {classes!r:.80}")
        if width is not None and width < self.width:
            raise ValueError(f"width must be at least {self.width}, the number of columns appended, got {width}")
        counts = np.zeros(len(classes), np.int64)
        counts[: len(self._counts)] = self._counts
        by_label = np.argsort(classes, kind="stable")
        by_label = by_label[counts[by_label] > 0]
        if len(np.unique(classes[by_label])) < len(by_label):
            raise ValueError("classes must be distinct")
        width = self.width if width is None or not self.sparse else width
        labels, counts = classes[by_label], counts[by_label]
        self._finish_labels(by_label, two=len(by_label) == 2)
        checksums = {name: blocks.finish() for name, blocks in self._checksums.items()}
        header = Header(
            self.sparse, self.dtype.name, self.rows, width, self.stored, labels, counts, checksums, self.key, notes or {}
        )
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()
        header.write(self._folder / HEADER_NAME)
        for name in (HEADER_NAME, "."):
            _fsync(self._folder / name)
        self._put_in_place()
        return self.path

    def _finish_labels(self, by_label: IntArray, two: bool) -> None:
        """Renumber the codes in the order of the classes, and write the signs of two classes."""
        place = np.zeros(int(by_label.max()) + 1, "<i4")
        place[by_label] = np.arange(len(by_label))
        if two:
            self._files["signs"] = open(self._folder / "signs.bin", "wb")  # noqa: SIM115
            self._checksums["signs"] = _Checksums()
        self._files["codes"].flush()
        with open(self._folder / "codes.bin", "r+b") as file:
            for start in range(0, self.rows, CODES_PER_BLOCK):
                file.seek(4 * start)
                codes = place[np.frombuffer(file.read(4 * CODES_PER_BLOCK), "<i4")]
                file.seek(4 * start)
                file.write(codes.data)
                self._checksums["codes"].add(codes)
                if two:
                    self._write("signs", (codes * 2 - 1).astype(np.int8))

    def _put_in_place(self) -> None:
        old = None
        if self.path.exists():
            check_cache_path(self.path)
            old = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.part")
            os.rename(self.path, old)
        try:
            os.rename(self._folder, self.path)
        except OSError:
            if old is not None:
                os.rename(old, self.path)
            raise
        self._folder = self.path
        _fsync(self.path.parent)
        self._unlock()
        if old is not None:
            remove_cache(old)

    def abort(self) -> None:
        """Delete an incomplete cache."""
        for file in self._files.values():
            with contextlib.suppress(OSError):  # a full disk was already reported
                file.close()
        if self._folder != self.path:
            remove_cache(self._folder)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.abort()


def check_cache_path(path: Path) -> None:
    """Raise CacheError unless a cache can be written here: only an existing cache, of any earlier version, is ever replaced."""
    if path.exists() or path.is_symlink():
        if not path.is_dir():
            raise CacheError(path, "a file of this name exists and is not a cache; a cache is a folder")
        foreign = {entry.name for entry in path.iterdir()} - CACHE_FILES
        if foreign:
            raise CacheError(path, f"the folder is not a cache: it contains {min(foreign)!r}")
        if any(path.iterdir()):
            with contextlib.suppress(OutdatedCacheError):
                read_header(path)
    elif not path.parent.is_dir():
        raise CacheError(path, f"cannot create the cache: the folder {str(path.parent)!r} does not exist")


def remove_stale(path: Path) -> None:
    """Delete the files that killed writers of this cache left behind."""
    for folder in path.parent.glob(f".{_escaped(path.name)}.{'[0-9a-f]' * 12}.part"):
        with contextlib.suppress(OSError):
            lock = lock_folder(folder)
            if lock is not None:
                remove_cache(folder)
                os.close(lock)


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def lock_folder(folder: Path) -> int | None:
    """Lock a folder until the process ends; raises OSError if another process holds the lock."""
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _fsync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def temporary_caches(beside: str | Path | None = None, count: int = 1) -> Iterator[list[Path]]:
    """Paths for temporary caches, which are deleted on exit; a later call deletes those of a killed process.

    They are placed in the folder of the file `beside` if it is writable, since the system's temporary folder is often in
    memory, else in the temporary folder.
    """
    folder = None if beside is None else Path(beside).resolve().parent
    if folder is None or not os.access(folder, os.W_OK):
        folder = Path(tempfile.gettempdir())
    _remove_stale_temporary(folder)
    own = folder / f"{TEMPORARY_PREFIX}{secrets.token_hex(6)}"
    own.mkdir()
    lock = lock_folder(own)
    try:
        yield [own / f"cache{number}" for number in range(count)]
    finally:
        _remove_temporary(own)
        if lock is not None:
            os.close(lock)


def _remove_stale_temporary(folder: Path) -> None:
    for other in folder.glob(f"{TEMPORARY_PREFIX}{'[0-9a-f]' * 12}"):
        with contextlib.suppress(OSError):  # in use by another process, or not accessible
            lock = lock_folder(other)
            if lock is not None:
                _remove_temporary(other)
                os.close(lock)


def _remove_temporary(folder: Path) -> None:
    for cache in folder.iterdir():
        remove_cache(cache)
    with contextlib.suppress(OSError):
        folder.rmdir()
