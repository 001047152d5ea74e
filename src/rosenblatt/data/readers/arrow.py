"""Parquet and Arrow (Feather) files through pyarrow, from the extra `[data]`.

`arrow_columns.py` says what becomes of nested columns, and which columns become floats or strings. Nulls and NaN are missing.
Bytes and maps raise errors.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..table import Data, DataError, Table
from . import Options
from .arrow_columns import (
    Flattening,
    cells_of,
    content_of,
    is_exact,
    is_moment,
    is_truth,
    lost_integers,
    sample,
    values_of,
    without_words,
)
from .dates import DateForm
from .layout import join_chunks, missing_cell
from .limits import MemoryLimit, limited, read_bytes
from .notation import NumberForm
from .sources import Source
from .typed_layout import TYPED_SAMPLE_ROWS, TypedLayout, lay_out_typed

MAX_BATCH_ROWS = 1 << 16
FILE_HEAD_BYTES = 8  # of an Arrow file, before its messages
WHOLE_FILE_BYTES = 1 << 26  # size of a chunk if the whole file is read
# Exceptions, other than its own, that pyarrow raises for damaged files.
FAULTS = (OSError, ValueError, KeyError, IndexError, TypeError, OverflowError, NotImplementedError, MemoryError)


def read_arrow(source: Source, options: Options, kind: str) -> Data:
    """Read all rows of a Parquet or Arrow file."""
    limit = MemoryLimit(source.name, options)
    chunks = arrow_chunks(source, options, WHOLE_FILE_BYTES, kind, whole=True)
    return join_chunks(limited(chunks, limit, lambda: _stored(source)))


def _stored(source: Source) -> int:
    """The bytes on disk, or those that came through a pipe."""
    return max(source.size or 0, source.position)


class ArrowForm(NamedTuple):
    """What the first rows of a file decide, for other files of the same form, or for parts of a file."""

    source: str  # the file
    layout: TypedLayout
    contents: dict[str, str]  # of each flat column, see `content_of`
    lengths: dict[str, int]  # of the lists that became columns


class Section(NamedTuple):
    """Some of the row groups of a Parquet file, or of the batches of an Arrow file."""

    start: int
    stop: int


def form_of_arrow(source: Source, options: Options, kind: str) -> ArrowForm:
    """The form of a file, by its first rows."""
    with _opened(source, options, kind) as file:
        return _form_of(source, options, file)[0]


def _form_of(source: Source, options: Options, file: _Parquet | _Arrow) -> tuple[ArrowForm, Flattening]:
    first, flattening = file.head(), Flattening(source.name, options)
    names = flattening.names(first)
    columns = list(flattening.columns(first, 0).values())
    layout = lay_out_typed(source.name, names, options, lambda c: sample(columns[c]))
    contents = {name: content_of(column) for name, column in zip(names, columns, strict=True)}
    return ArrowForm(source.name, layout, contents, flattening.lengths), flattening


def _flattening_as(form: ArrowForm, source: str, schema: Any, options: Options) -> Flattening:
    """The flattening of a file of a known form; raises DataError if its columns are others."""
    flattening = Flattening(source, options, form.lengths)
    names = flattening.names(schema.empty_table())
    different = [name for name in (*form.contents, *names) if (name in form.contents) != (name in names)]
    if different:
        sentence = f"the column is not in {form.source}" if different[0] in names else f"the column of {form.source} is missing"
        raise DataError(source, sentence, column=different[0], advice="all files must have the same columns")
    for name, column in flattening.columns(schema.empty_table(), 0).items():
        found, expected = content_of(column), form.contents[name]
        if found != expected and "nothing" not in (found, expected):
            raise DataError(source, f"the column holds {found}, but {expected} in {form.source}", column=name)
    return flattening


def sections_of(source: Source, options: Options, kind: str, size: int) -> list[Section]:
    """Consecutive sections of a file, of about `size` bytes of rows each; no rows are read."""
    with _opened(source, options, kind) as file:
        sections, held = [Section(0, 0)], 0
        for at, stored in enumerate(file.sizes()):
            if held and held + stored > size:
                sections.append(Section(at, at))
                held = 0
            sections[-1] = sections[-1]._replace(stop=at + 1)
            held += stored
        return sections


def arrow_chunks(
    source: Source, options: Options, size: int, kind: str, *, whole: bool = False, form: ArrowForm | None = None,
    section: Section | None = None,
) -> Iterator[Data]:  # fmt: skip
    """Yield consecutive rows in chunks of about `size` bytes in memory; `whole`: the caller keeps all of them.

    form : that of another file, which decides how this one is read; it may have no rows.
    section : the part of the file to read.
    """
    with _opened(source, options, kind, whole) as file:
        if form is None:
            (_, layout, contents, _), flattening = _form_of(source, options, file)
        else:
            layout, contents = form.layout, form.contents
            flattening = _flattening_as(form, source.name, file.schema, options)
        roots, names = flattening.roots, list(contents)
        used = {roots[names[c]] for c in (*layout.features, *([] if layout.label is None else [layout.label]))}
        start = done = 0 if section is None else file.rows_before(section.start)
        losses: dict[str, str] = {}
        for batch in file.batches(sorted(used), max(1, min(MAX_BATCH_ROWS, size // max(1, 16 * len(used)))), section):
            if batch.num_rows:
                flat = flattening.columns(batch, done)
                losses = {name: text for name in layout.names for text in lost_integers(flat[name])} | losses
                yield replace(_data(source.name, flat, names, layout, options, done), losses=losses)
                done += batch.num_rows
        if done == start and form is None:
            raise DataError(source.name, "the file has no rows")


@contextlib.contextmanager
def _opened(source: Source, options: Options, kind: str, whole: bool = False) -> Iterator[_Parquet | _Arrow]:
    """A file; errors of pyarrow are raised as DataError."""
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(source.name, f"{kind} files need pyarrow: pip install 'rosenblatt[data]'") from None
    try:
        limit = MemoryLimit(source.name, options)
        source.limit_expansion(limit)  # a compressed file is held in memory
        yield _Parquet(source, limit) if kind == "parquet" else _Arrow(source, limit, whole)
    except DataError:
        raise
    except (pa.ArrowException, *FAULTS) as fault:
        sentence = " ".join(str(fault).split())[:200]
        raise DataError(source.name, f"the file is damaged or is no {kind} file: {sentence}") from None


class _Parquet:
    """The batches of a Parquet file."""

    def __init__(self, source: Source, limit: MemoryLimit) -> None:
        import pyarrow.parquet as pq

        self._file = pq.ParquetFile(_seekable(source, limit))
        self.schema = self._file.schema_arrow

    def head(self) -> Any:
        return next(self._file.iter_batches(batch_size=TYPED_SAMPLE_ROWS), None) or self.schema.empty_table()

    def sizes(self) -> Iterator[int]:
        """The bytes of each row group, without compression."""
        return (self._file.metadata.row_group(i).total_byte_size for i in range(self._file.num_row_groups))

    def rows_before(self, group: int) -> int:
        return sum(self._file.metadata.row_group(i).num_rows for i in range(group))

    def batches(self, columns: list[int], rows: int, section: Section | None) -> Iterator[Any]:
        # Columns are selected by name, because the fields of a nested column have numbers of their own.
        names = [self.schema.names[i] for i in columns]
        groups = None if section is None else list(range(*section))
        yield from self._file.iter_batches(batch_size=rows, columns=names, use_threads=False, row_groups=groups)


class _Arrow:
    """The batches of an Arrow file or stream. They are validated, because the format has no checksums."""

    def __init__(self, source: Source, limit: MemoryLimit, whole: bool) -> None:
        import pyarrow as pa

        self._raw = _seekable(source, limit)
        self._file = self._raw.read(6) == b"ARROW1"
        self._raw.seek(FILE_HEAD_BYTES if self._file else 0)
        total = 0
        self._sizes = []
        for size in declared_sizes(self._raw):
            limit.check(size)
            total += size
            self._sizes.append(size)
            if whole:
                limit.check_expansion(total, _stored(source))
        self.schema = self._open().schema
        self._tables = pa.Table

    def head(self) -> Any:
        batches, rows = [], 0
        for batch in self._all():
            batches.append(batch)
            rows += batch.num_rows
            if rows >= TYPED_SAMPLE_ROWS:
                break
        return self._tables.from_batches(batches, self.schema).slice(0, TYPED_SAMPLE_ROWS)

    def sizes(self) -> Iterator[int]:
        """The bytes of each batch; of a stream, which has no list of them, those of all batches."""
        if not self._file:
            return iter([sum(self._sizes)])
        n = self._open().num_record_batches
        return iter(self._sizes if len(self._sizes) == n else [sum(self._sizes) // max(1, n)] * n)  # dictionaries lie between

    def rows_before(self, batch: int) -> int:
        reader = self._open() if self._file else None
        return 0 if reader is None else sum(reader.get_batch(i).num_rows for i in range(batch))

    def batches(self, columns: list[int], rows: int, section: Section | None) -> Iterator[Any]:
        for batch in self._all(section if self._file else None):
            for start in range(0, batch.num_rows, rows):
                yield batch.select(columns).slice(start, rows)

    def _open(self) -> Any:
        import pyarrow as pa

        self._raw.seek(0)
        return pa.ipc.open_file(self._raw) if self._file else pa.ipc.open_stream(self._raw)

    def _all(self, section: Section | None = None) -> Iterator[Any]:
        reader = self._open()
        numbers = range(*section) if section is not None else range(reader.num_record_batches) if self._file else None
        for batch in reader if numbers is None else map(reader.get_batch, numbers):
            batch.validate(full=True)
            yield batch


def declared_sizes(raw: Any) -> Iterator[int]:
    """The bytes that each batch of an Arrow stream takes when it is decompressed, by the metadata of its messages.

    Messages are flatbuffers (Schema.fbs and Message.fbs of Apache Arrow). Damaged ones end the list: pyarrow reports them.
    """
    import pyarrow as pa

    with contextlib.suppress(pa.ArrowException, *FAULTS, struct.error, StopIteration):
        messages = pa.ipc.MessageReader.open_stream(raw)
        while True:
            message = messages.read_next_message()
            if message.type in ("record batch", "dictionary"):
                head, body = memoryview(message.metadata), memoryview(message.body or b"")
                batch = _child(head, _child(head, 0, None), 2)
                yield _declared_size(head, batch if message.type == "record batch" else _child(head, batch, 1), body)


def _declared_size(head: memoryview, batch: int, body: memoryview) -> int:
    """The decompressed size of a RecordBatch: fields 1 to 3 are its nodes, its buffers, and their compression."""
    buffers, compressed, size = _child(head, batch, 2), _field(head, batch, 3), 0
    for at in range(*struct.unpack_from("<I", head, buffers)):
        offset, length = struct.unpack_from("<qq", head, buffers + 4 + 16 * at)
        declared = struct.unpack_from("<q", body, offset)[0] if compressed and length >= 8 else -1
        size += declared if declared >= 0 else max(0, length)
    return size


def _field(head: memoryview, table: int, number: int) -> int:
    """The position of a field of a flatbuffers table; 0 if it is absent."""
    slots = table - struct.unpack_from("<i", head, table)[0]
    place = 4 + 2 * number
    offset = struct.unpack_from("<H", head, slots + place)[0] if place < struct.unpack_from("<H", head, slots)[0] else 0
    return table + offset if offset else 0


def _child(head: memoryview, table: int, number: int | None) -> int:
    """The position of the table or vector that a field points to; None: of the root table."""
    at = table if number is None else _field(head, table, number)
    return int(at + struct.unpack_from("<I", head, at)[0])


def _seekable(source: Source, limit: MemoryLimit) -> Any:
    """A random-access file for pyarrow: mapped from disk, or held in memory."""
    import pyarrow as pa

    if source.on_disk:
        return pa.memory_map(str(source.path))
    return pa.BufferReader(read_bytes(source, limit))


def _data(source: str, flat: dict[str, Any], names: list[str], layout: TypedLayout, options: Options, done: int) -> Data:
    forms = {name: form for name, form in layout.forms.items() if not (options.as_written and isinstance(form, DateForm))}
    numerals = {
        at
        for at in layout.features
        if options.as_written and at not in layout.as_strings and (is_exact(flat[names[at]]) or names[at] in forms)
    }

    def column(at: int, *, label: bool = False) -> Any:
        name = names[at]
        cells = without_words(flat[name], layout.missing.get(name, ()))
        if name in forms and not label:
            values = values_of(source, name, cells, layout, done, written=options.as_written)
        else:
            # Labels are read as strings, except floats: they may be NaN, which is a missing label.
            as_strings = at in layout.as_strings or (label and not str(cells.type).startswith(("float", "double", "half")))
            as_strings |= at in numerals or (options.as_written and is_moment(cells))
            values = cells_of(source, name, cells, as_strings)
        missing = np.isnan(values) if values.dtype.kind == "f" else np.array([cell is None for cell in values], bool)
        if missing.any() and (label or options.missing == "refuse"):
            model = options.required is not None
            raise missing_cell(source, name, None, done + int(missing.argmax()) + 1, label=label, model=model)
        if values.dtype.kind == "f" and np.isinf(values).any():
            row = done + int(np.isinf(values).argmax()) + 1
            raise DataError(source, "the number is infinite", column=name, row=row)
        return values

    truths = [names[at] for at in layout.features if at not in layout.as_strings and is_truth(flat[names[at]])]
    labels = None if layout.label is None else column(layout.label, label=True)
    return Data(
        source,
        Table(layout.names, tuple(column(i) for i in layout.features)),
        labels,
        layout.label_name,
        layout.note,
        layout.text,
        layout.categorical,
        layout.headers,
        first_row=done,
        numerals=tuple(names[at] for at in layout.features if at in numerals),
        dates={name: str(form.kind) for name, form in forms.items() if isinstance(form, DateForm)},
        forms={**layout.unusual, **dict.fromkeys(truths, NumberForm(truth=True))},
    )
