"""Blocks of files: ranges of bytes of plain text, row groups of Parquet, batches of Arrow, rows of caches, or whole files.

A block is read by a task, with the decisions of the first file (`data/readers/forms.py`), and read again by any worker when it
is lost. Its boundaries depend on the file and on the bytes of a block alone.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from ..array_types import Array
from ..data.cache import Cache
from ..data.cache_header import HEADER_NAME, CacheError, bytes_per_row, read_header
from ..data.csr import CSRMatrix
from ..data.readers import Options
from ..data.readers.arrow import Section, sections_of
from ..data.readers.byte_ranges import ByteRange, is_byte_per_character, lines_before
from ..data.readers.foreign import HEAD_BYTES, is_container
from ..data.readers.forms import FileForm, check_same_format, chunks_as
from ..data.readers.json_rows import HEAD_BYTES as JSON_HEAD_BYTES
from ..data.readers.json_rows import spans_lines
from ..data.readers.several import join_rows
from ..data.readers.sources import Source
from ..data.readers.window import MAX_LINE_BYTES
from ..data.table import Data, DataError, codes_of
from ..preprocessing.recipe import Recipe
from ..reporting.text import count
from .blocks import RawBlock
from .engine import Handle

CACHE = "cache"  # the format of the form of caches
TEXT = ("csv", "tsv", "svmlight", "jsonl")
HEAD_LINES = 5  # that a comment, a line such as sep=; and a header may take: they are all in the first block of a file
# What `start` and `stop` of a part count: nothing, bytes of which the lines that begin there belong to the part, bytes of whole
# records, row groups or batches, or rows of a cache.
Unit = Literal["file", "lines", "bytes", "section", "rows"]


@dataclass(frozen=True)
class FilePart:
    """A block of a file.

    Attributes
    ----------
    name : str
        The file as the caller named it, for messages.
    path : str
        Its absolute path: workers have folders of their own.
    size, modified : int
        The bytes of the file and the time of its last change, in nanoseconds, when the blocks were laid out.
    unit : str
        What `start` and `stop` count.
    """

    name: str
    path: str
    size: int
    modified: int
    unit: Unit = "file"
    start: int = 0
    stop: int = 0

    @property
    def title(self) -> str:
        """The block in messages."""
        if self.unit == "file":
            return self.name
        if self.unit in ("lines", "bytes"):
            return f"{self.name}, bytes {count(self.start)} to {count(self.stop)}"
        what = "rows" if self.unit == "rows" else "sections"
        return f"{self.name}, {what} {count(self.start + 1)} to {count(self.stop)}"

    @property
    def identity(self) -> str:
        return f"{self.path}, {self.size} bytes, {self.modified}, {self.unit} {self.start} to {self.stop}"

    def check_unchanged(self) -> None:
        """Raise DataError if the file is not the one that the blocks were laid out for."""
        try:
            found = state_of(self.path)
        except OSError:
            sentence = "the file has vanished, or a worker does not see it under this path"
            raise DataError(self.path, sentence, advice="put files where all workers read them") from None
        if found != (self.size, self.modified):
            sentence = (
                f"the file was changed after its blocks were laid out: {count(self.size)} bytes then, {count(found[0])} now"
            )
            raise DataError(self.path, sentence, advice="call read again")

    def chunks(self, form: FileForm) -> Iterator[Data]:
        """The rows, in chunks."""
        self.check_unchanged()
        if self.unit == "rows":
            yield _cached_rows(self)
        elif self.unit in ("file", "section"):
            section = Section(self.start, self.stop) if self.unit == "section" else None
            with Source(self.path) as source:
                yield from chunks_as(source, form, section=section)
        else:
            with self._range() as stream, Source(self.path, stream) as source:
                yield from chunks_as(source, form, inside=stream.begin > 0)

    def _range(self) -> ByteRange:
        return ByteRange(self.path, self.start, self.stop, exact=self.unit == "bytes")

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Let errors about the rows name the file as the caller did, and its line."""
        try:
            yield
        except CacheError as error:
            raise DataError(self.name, error.sentence) from None
        except DataError as error:
            own = next((each for each in (self.path, self.name) if error.source.startswith(each)), None)
            if own is None:
                raise
            name, lines = self.name + error.source.removeprefix(own), 0
            if self.unit in ("lines", "bytes") and error.line is not None:
                with self._range() as stream:
                    lines = lines_before(self.path, stream.begin)
            elif self.unit in ("lines", "bytes") and error.row is not None:
                name = self.title  # rows are counted within it
            raise error.moved(lines, name) from None


def state_of(path: str) -> tuple[int, int]:
    """The bytes of a file and the time of its last change; of a cache, those of its header."""
    state = os.stat(os.path.join(path, HEADER_NAME) if os.path.isdir(path) else path)
    return state.st_size, state.st_mtime_ns


# --- laying out ----------------------------------------------------------------------------------------------------------


def parts_of(path: str, form: FileForm, block_bytes: int) -> list[FilePart]:
    """The blocks of a file. Only the beginning of text is read, and the metadata of other formats."""
    size, modified = state_of(path)
    whole = FilePart(path, os.path.abspath(path), size, modified)
    if form.kind == CACHE:
        header = read_header(Path(path))
        step = max(1, block_bytes // bytes_per_row(header))
        return [
            replace(whole, unit="rows", start=start, stop=min(start + step, header.rows))
            for start in range(0, header.rows, step)
        ]
    check_same_format(path, form)
    with Source(path) as source:
        if not source.on_disk or size <= block_bytes or is_container(source.peek(HEAD_BYTES)):
            return [whole]
        if form.kind in ("parquet", "arrow"):
            found = sections_of(source, form.options, form.kind, block_bytes)
            return [replace(whole, unit="section", start=start, stop=stop) for start, stop in found]
        spans = form.kind == "jsonl" and spans_lines(source.peek(JSON_HEAD_BYTES))
    if form.kind not in TEXT or spans or not is_byte_per_character(form.encoding):
        return [whole]
    n = -(-size // block_bytes)
    edges = [size * at // n for at in range(n + 1)]
    if form.kind in ("csv", "tsv"):
        head = _head_bytes(path, form.options.skip_lines + HEAD_LINES)
        edges = [0, *(edge for edge in edges[1:-1] if edge >= head), size]
    return [replace(whole, unit="lines", start=start, stop=stop) for start, stop in pairwise(edges)]


def _head_bytes(path: str, lines: int) -> int:
    """The bytes of the first lines of a file that are not blank."""
    with open(path, "rb") as file:
        while lines and (line := file.readline(MAX_LINE_BYTES)):
            lines -= bool(line.strip())
        return file.tell()


def form_of_cache(path: str, options: Options) -> FileForm:
    """The form of caches."""
    return FileForm(path, CACHE, options, None, None)


# --- reading -------------------------------------------------------------------------------------------------------------


def read_part(part: FilePart, form: FileForm) -> Data | None:
    """A task: the rows of a block; None if it has none."""
    with part.errors():
        chunks = list(part.chunks(form))
        return replace(join(chunks), source=part.name) if chunks else None


def join(chunks: Sequence[Data]) -> Data:
    """Consecutive rows as one. Line numbers are kept as long as every line is a row."""
    return replace(join_rows(chunks), lines=_joined_lines(chunks))


def _joined_lines(chunks: Sequence[Data]) -> range | None:
    first, stop = None, None
    for chunk in chunks:
        lines = chunk.lines
        if isinstance(lines, list) and lines and lines == list(range(lines[0], lines[0] + len(lines))):
            lines = range(lines[0], lines[0] + len(lines))
        if not isinstance(lines, range) or (stop is not None and lines.start != stop):
            return None
        first, stop = lines.start if first is None else first, lines.stop
    return None if first is None or stop is None else range(first, stop)


def _cached_rows(part: FilePart) -> Data:
    """Some rows of a cache."""
    cache = Cache.open(part.path)
    X: Any = cache.chunk(part.start, part.stop)
    rows = CSRMatrix.from_scipy(X) if hasattr(X, "indptr") else X
    return Data(part.path, rows, cache.classes[cache.codes[part.start : part.stop]], first_row=part.start)


def to_block(data: Data, part: FilePart, recipe: Recipe | None, classes: Array) -> RawBlock:
    """A task: the rows of a block as features, and their labels."""
    with part.errors():
        X: Any = data.features if recipe is None else recipe.rows(data)
        return RawBlock(X, classes[codes_of(data, classes)])


def read_block(part: FilePart, form: FileForm, recipe: Recipe | None, classes: Array) -> RawBlock:
    """A task: the rows of a block as features, read from its file."""
    data = read_part(part, form)
    assert data is not None
    return to_block(data, part, recipe, classes)


@dataclass(frozen=True)
class FileSource:
    """A block of a file before its features are learned."""

    part: FilePart
    form: FileForm = field(repr=False)

    @property
    def name(self) -> str:
        return self.part.title

    @property
    def identity(self) -> str:
        return self.part.identity

    def load(self) -> RawBlock:
        raise AssertionError("features are learned before blocks are loaded")

    def place(self, row: int) -> tuple[str, dict[str, Any]]:
        """The file and the line of a row, or the number of the row in formats without lines."""
        if self.part.unit in ("section", "rows"):
            data = read_part(self.part, self.form)
            return self.part.name, {"row": (0 if data is None else data.first_row) + row + 1}
        done = 0
        for chunk in self.part.chunks(self.form):
            if row < done + chunk.n_rows:
                error = chunk.error_at(row - done, "")
                break
            done += chunk.n_rows
        else:
            return self.name, {}
        try:
            with self.part.errors():
                raise error
        except DataError as found:
            return found.source, {"row": found.row} if found.line is None else {"line": found.line}


class ReadSource:
    """A block that a task of the engine has read; a worker that needs its file again finds it by `source`."""

    def __init__(self, source: FileSource, raw: Handle) -> None:
        self.source, self.raw = source, raw

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def identity(self) -> str:
        return self.source.identity

    def load(self) -> RawBlock:
        raise AssertionError("a block that was read is held by the engine")

    def place(self, row: int) -> tuple[str, dict[str, Any]]:
        return self.source.place(row)
