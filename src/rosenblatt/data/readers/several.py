"""Several files read as one: the rows of all, one file after the other, as the first rows of the first file decide."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self, TypeAlias

import numpy as np

from ..csr import CSRMatrix, vstack
from ..table import Data, DataError, Table
from . import Options, is_example
from .forms import check_same_format, chunks_as, form_of
from .layout import join_chunks
from .limits import MemoryLimit, limited
from .read import CHUNK_BYTES, Digest, chunks, digest, open_source, read
from .sources import Source, display_name, name_of

# A path, a pattern such as "parts/*.csv", or several of them.
Paths: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"
DIGITS = re.compile(r"(\d+)")
PATTERN_ADVICE = "name files, or use a pattern such as 'parts/*.csv'"


def expand(paths: Paths) -> list[str]:
    """The files that paths and patterns name; those of a pattern in natural order, as in part-2, part-10.

    >>> expand(["b.csv", "a.csv"])
    ['b.csv', 'a.csv']
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise ValueError(f"there are no files: {PATTERN_ADVICE}")
    found: list[str] = []
    for path in [os.fspath(each) for each in given]:
        if os.path.lexists(path) or not glob.has_magic(path) or is_example(path):
            found.append(path)
            continue
        matches = [match for match in glob.glob(path, recursive=True) if _may_have_rows(match)]
        if not matches:
            raise DataError(path, "no file matches the pattern", advice=f"its folder is searched from {os.getcwd()!r}")
        found += sorted(matches, key=natural_order)
    seen: set[str] = set()
    for path in found:
        if len(found) > 1 and (path == "-" or is_example(path)):
            raise DataError(display_name(path), "several files are read from disk", advice="give it alone")
        if path in seen:
            raise DataError(path, "the file is given twice")
        seen.add(path)
        if os.path.isdir(path) and not _is_cache(path):
            raise DataError(path, "is a folder, not a file", advice=f"use a pattern such as {os.path.join(path, '*')!r}")
    return found


def natural_order(path: str) -> list[tuple[int, int, str]]:
    """A sort key that compares numbers within names by their value.

    >>> sorted(["part-10.csv", "part-9.csv", "part-x.csv"], key=natural_order)
    ['part-9.csv', 'part-10.csv', 'part-x.csv']
    """
    parts = DIGITS.split(path)
    return [(0, int(part), part) if at % 2 else (1, 0, part) for at, part in enumerate(parts)]


def _may_have_rows(path: str) -> bool:
    return not os.path.isdir(path) or _is_cache(path)


def _is_cache(path: str) -> bool:
    from ..cache_header import HEADER_NAME  # with kernels, which other files do not need

    return os.path.isdir(path) and os.path.isfile(os.path.join(path, HEADER_NAME))


def join_rows(chunks: Sequence[Data]) -> Data:
    """The rows of consecutive chunks, of one or several files, without the numbers of their lines."""
    head = replace(chunks[0], lines=None)
    losses: dict[str, str] = {}
    if len(chunks) == 1:
        return head
    for chunk in chunks:
        losses = chunk.losses | losses
    if isinstance(head.features, Table):
        return replace(join_chunks([replace(chunk, lines=None) for chunk in chunks]), losses=losses)
    labels = None if head.labels is None else np.concatenate([chunk.labels for chunk in chunks])
    sparse = [chunk.features for chunk in chunks if isinstance(chunk.features, CSRMatrix)]
    if sparse:
        rows = vstack(sparse, max(part.width for part in sparse))
        return replace(head, features=rows, labels=labels, losses=losses)
    return replace(head, features=np.concatenate([chunk.features for chunk in chunks]), labels=labels, losses=losses)


class Files:
    """One or several files, from which the rows are read once; use it in a `with` statement.

    Parameters
    ----------
    paths : str or sequence of str
        The files, in the order of their rows. Empty files have no rows, but not all may be empty.
    """

    def __init__(self, paths: str | Sequence[str]) -> None:
        self.paths = [paths] if isinstance(paths, str) else list(paths)
        self.name = name_of(self.paths)
        self._done = 0  # bytes of the files before the open one
        self._open: Source | None = None
        self._digests: list[Digest] = []
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    @property
    def size(self) -> int | None:
        """The bytes of all files on disk; None: unknown."""
        with contextlib.suppress(OSError):
            return sum(os.path.getsize(path) for path in self.paths) or None
        return None

    @property
    def position(self) -> int:
        """The number of bytes read."""
        return self._done + (0 if self._open is None else self._open.position)

    def chunks(self, options: Options | None = None, size: int = CHUNK_BYTES) -> Iterator[Data]:
        """Consecutive rows, about `size` bytes at a time; those of a chunk are from one file."""
        options = options or Options()
        if len(self.paths) == 1:
            with open_source(self.paths[0]) as source:
                self._open = source if isinstance(source, Source) else None
                yield from chunks(source, options, size)
                self._end(source)
            return
        form, rows = None, 0
        for path in self.paths:
            with Source(path) as source:
                self._open = source
                if form is None and source.peek(1):
                    with Source(path) as head:
                        form = form_of(head, options)
                if form is not None:
                    check_same_format(path, form)
                    for data in chunks_as(source, form, size):
                        rows += data.n_rows
                        yield data
                self._end(source)
        if not rows:
            raise DataError(self.name, "the files have no rows")

    def read(self, options: Options | None = None) -> Data:
        """All rows, in memory."""
        options = options or Options()
        if len(self.paths) == 1:
            with open_source(self.paths[0]) as source:
                data = read(source, options)
                self._end(source)
                return data
        parts = limited(self.chunks(options), MemoryLimit(self.name, options))
        return replace(join_rows(parts), source=self.name, first_row=0)

    def _end(self, source: Source | str) -> None:
        if isinstance(source, Source):
            self._digests.append(digest(source))
            self._done, self._open = self._done + source.position, None

    def digest(self) -> Digest | None:
        """The digest of the files, whose rows were read: of several, that of their digests; None for built-in rows."""
        if len(self.paths) == 1:
            return self._digests[0] if self._digests else None
        return Digest(*(hashlib.sha256("\n".join(each).encode()).hexdigest() for each in zip(*self._digests, strict=True)))
