"""Writing a cache, some rows at a time: into a hidden folder beside it, which gets its name when all is on the disk.

The sizes are not known before the last row, so that each array grows in a file of its own, and nothing is copied in the end.
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

from .cache_format import FILES, LABELS, NAME, CacheError, Header, read_header

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

OURS = {NAME, *(f"{name}.bin" for name in FILES)}
CODES = 1 << 20  # labels that are renumbered at a time


class CacheWriter:
    """`with CacheWriter(path, ...) as writer:` append rows, then close; without a `close`, nothing is left.

    path : the cache, a folder. If there is one, it is replaced when the new one is complete; anything else there is refused.
    sparse : whether rows come as CSR (an object with `values` or `data`, `indices` and `indptr`) or as arrays.
    dtype : "float64" or "float32", in which the values are kept.
    key : what the cache is made from and how; `Cache.open` can ask for it.
    """

    def __init__(self, path: str | Path, *, sparse: bool, dtype: str = "float64", key: str = "") -> None:
        self.path, self.sparse, self.dtype, self.key = Path(path), sparse, np.dtype(dtype), key
        check_place(self.path)
        self.rows = self.stored = self.width = 0
        self._counts = np.zeros(0, np.int64)
        remove_stale(self.path)
        self._folder = self.path.with_name(f".{self.path.name}.{secrets.token_hex(6)}.part")
        self._folder.mkdir(parents=False)
        self._lock = locked(self._folder)
        names = ("values", "indices", "indptr", "codes") if sparse else ("values", "codes")
        self._files = {name: open(self._folder / f"{name}.bin", "wb") for name in names}  # noqa: SIM115
        if sparse:
            self._write("indptr", np.zeros(1, "<i8"))

    def append(self, rows: Any, codes: Any) -> None:
        """Some rows, and for each the position of its label in the `classes` that `close` will be given."""
        codes = np.ascontiguousarray(codes, "<i4")
        n = len(rows.indptr) - 1 if self.sparse else len(rows)
        if len(codes) != n:
            raise ValueError(f"codes must be one for each of the {n} rows, got {len(codes)}")
        if n == 0:
            return
        if codes.min() < 0:
            raise ValueError(f"codes must not be negative, got {int(codes.min())}")
        values = (rows.values if hasattr(rows, "values") else rows.data) if self.sparse else np.asarray(rows)
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(values, self.dtype.newbyteorder("<"))
        if not np.isfinite(values).all():
            raise ValueError(f"row {self.rows + self._row_of(rows, values)} has a value that is not a finite {self.dtype.name}")
        if self.sparse:
            self._append_places(rows)
        else:
            self.width = self.width or values.shape[1]
            if values.shape[1] != self.width:
                raise ValueError(f"rows must have the {self.width} columns of the first ones, got {values.shape[1]}")
        self._write("values", values)
        self._write("codes", codes)
        self.rows += n
        self.stored += values.size
        found = np.bincount(codes, minlength=len(self._counts))
        found[: len(self._counts)] += self._counts
        self._counts = found

    def _row_of(self, rows: Any, values: Any) -> int:
        """The first row that is not finite."""
        where = int(np.flatnonzero(~np.isfinite(values.reshape(-1)))[0])
        if not self.sparse:
            return where // int(values.shape[1])
        return int(np.searchsorted(rows.indptr - rows.indptr[0], where, "right")) - 1

    def _append_places(self, rows: Any) -> None:
        indptr = np.asarray(rows.indptr, np.int64)
        indices = np.ascontiguousarray(rows.indices, "<i4")
        inner = np.ones(len(indices), bool)
        inner[(indptr - indptr[0])[:-1][np.diff(indptr) > 0]] = False
        inside = not len(indices) or (indices.min() >= 0 and indices.max() < rows.shape[1])
        if not inside or (np.diff(indices)[inner[1:]] <= 0).any():
            raise ValueError(f"the columns of a sparse row must be ascending, each once, from 0 to {rows.shape[1] - 1}")
        self.width = max(self.width, int(rows.shape[1]))
        self._write("indices", indices)
        self._write("indptr", (indptr[1:] - indptr[0] + self.stored).astype("<i8"))

    def _write(self, name: str, array: Any) -> None:
        self._files[name].write(array.data)

    def close(self, classes: Any, *, width: int | None = None, notes: dict[str, Any] | None = None) -> Path:
        """Complete the cache. Labels are sorted, and those that no row has are left out.

        width : columns of sparse rows, where there may be more than were seen.
        notes : what should be known again when the cache is opened, as JSON: names of columns, say.
        """
        classes = np.asarray(classes)
        if self.rows == 0:
            raise CacheError(self.path, "a cache needs at least one row")
        if classes.ndim != 1 or classes.dtype.kind not in LABELS or len(classes) < len(self._counts):
            raise ValueError(f"classes must be {len(self._counts)} numbers or texts, got {classes!r:.80}")
        if width is not None and width < self.width:
            raise ValueError(f"width must be at least the {self.width} columns that came, got {width}")
        counts = np.zeros(len(classes), np.int64)
        counts[: len(self._counts)] = self._counts
        by_label = np.argsort(classes, kind="stable")
        by_label = by_label[counts[by_label] > 0]
        if len(np.unique(classes[by_label])) < len(by_label):
            raise ValueError("classes must be different from each other")
        width = self.width if width is None or not self.sparse else width
        labels, counts = classes[by_label], counts[by_label]
        header = Header(self.sparse, self.dtype.name, self.rows, width, self.stored, labels, counts, self.key, notes or {})
        self._finish_labels(by_label, two=len(by_label) == 2)
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()
        header.write(self._folder / NAME)
        for name in (NAME, "."):
            _fsync(self._folder / name)
        self._put_in_place()
        return self.path

    def _finish_labels(self, by_label: Any, two: bool) -> None:
        """Renumber the codes, where they came in another order, and write the signs of two classes."""
        place = np.zeros(int(by_label.max()) + 1, "<i4")
        place[by_label] = np.arange(len(by_label))
        same = bool((place == np.arange(len(place))).all())
        if two:
            self._files["signs"] = open(self._folder / "signs.bin", "wb")  # noqa: SIM115
        self._files["codes"].flush()
        with open(self._folder / "codes.bin", "r+b") as file:
            for start in range(0, self.rows if two or not same else 0, CODES):
                file.seek(4 * start)
                codes = place[np.frombuffer(file.read(4 * CODES), "<i4")]
                file.seek(4 * start)
                file.write(codes.data)
                if two:
                    self._write("signs", (codes * 2 - 1).astype(np.int8))

    def _put_in_place(self) -> None:
        old = None
        if self.path.exists():
            check_place(self.path)
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
        """Delete what was written, unless it is complete."""
        for file in self._files.values():
            with contextlib.suppress(OSError):  # a full disk is not told twice
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


def check_place(path: Path) -> None:
    """Only a cache is ever replaced."""
    if path.exists() or path.is_symlink():
        if not path.is_dir():
            raise CacheError(path, "there is a file of that name that is not a cache; a cache is a folder")
        strange = {entry.name for entry in path.iterdir()} - OURS
        if strange:
            raise CacheError(path, f"this folder is not a cache: {min(strange)!r} is in it")
        if any(path.iterdir()):
            read_header(path)
    elif not path.parent.is_dir():
        raise CacheError(path, f"there is no folder {str(path.parent)!r} to put the cache in")


def remove_cache(path: Path) -> None:
    """Delete the files of a cache, and the folder if nothing else is in it."""
    for name in sorted(OURS, key=lambda name: name != NAME):  # without its head, what is left is no cache
        (path / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.rmdir()


def remove_stale(path: Path) -> None:
    """Delete what writers of this cache left that were killed."""
    for folder in path.parent.glob(f".{_escaped(path.name)}.{'[0-9a-f]' * 12}.part"):
        with contextlib.suppress(OSError):
            lock = locked(folder)
            if lock is not None:
                remove_cache(folder)
                os.close(lock)


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def locked(folder: Path) -> int | None:
    """A lock on the folder, which ends with the process; OSError where another has it."""
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


# --- Caches that are deleted in the end, whatever happens; what a killed process left is deleted by the next one.

PREFIX = ".rosenblatt-stream."


@contextmanager
def temporary_caches(beside: str | Path | None = None, count: int = 1) -> Iterator[list[Path]]:
    """Places for some caches: in the folder of the file `beside`, where one may write there, as a system's temporary folder
    is often in memory; else in the temporary folder.
    """
    folder = None if beside is None else Path(beside).resolve().parent
    if folder is None or not os.access(folder, os.W_OK):
        folder = Path(tempfile.gettempdir())
    _remove_stale(folder)
    mine = folder / f"{PREFIX}{secrets.token_hex(6)}"
    mine.mkdir()
    lock = locked(mine)
    try:
        yield [mine / f"cache{number}" for number in range(count)]
    finally:
        _remove(mine)
        if lock is not None:
            os.close(lock)


def _remove_stale(folder: Path) -> None:
    for other in folder.glob(f"{PREFIX}{'[0-9a-f]' * 12}"):
        with contextlib.suppress(OSError):  # where another process is at work in it, or it is not ours
            lock = locked(other)
            if lock is not None:
                _remove(other)
                os.close(lock)


def _remove(folder: Path) -> None:
    for cache in folder.iterdir():
        remove_cache(cache)
    with contextlib.suppress(OSError):
        folder.rmdir()
