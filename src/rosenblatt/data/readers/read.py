"""Reads any supported file, whole or in chunks; the format is given by the extension or the first bytes.

    svmlight            .svm .svmlight .libsvm, and files that start like it
    delimited           .csv .tsv .data .test .txt and any other text
    parquet, arrow      .parquet .pq; .arrow .feather .ipc
    jsonl               .jsonl .ndjson
    npz                 .npz
    workbooks, zip      .xlsx .xlsm; .zip with a file of these formats (see `containers.py`)
    idx                 names such as train-images-idx3-ubyte
    example:NAME        see `examples.py`

All files may be compressed: .gz, .bz2, .xz, .zst. `-` is stdin.
"""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from ..table import Data, DataError, Table
from . import FORMATS, Options, is_example
from .encoding import MARKED, detect_encoding, is_text, is_utf8
from .foreign import HEAD_BYTES, JSON_ARRAY, ZIP_BYTES, check_not_foreign, is_container
from .ignored import without_ignored
from .limits import MemoryLimit
from .sources import COMPRESSED, Source, extension_of

CONTAINERS = {"xlsx": "a workbook", "xlsm": "a workbook", "zip": "a zip archive"}  # otherwise unpacked by `containers.py`
EXTENSIONS = {extension: kind for kind, extensions in FORMATS.items() for extension in extensions}
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "npz"}
FIRST_BYTES = {"parquet": (b"PAR1", b"PARE"), "npz": (b"PK",)}  # PARE: encrypted, which pyarrow reports
ARROW_HEAD = struct.Struct("<3I")  # the first numbers of a stream
ARROW_CONTINUATION = 0xFFFFFFFF  # before the length of a message; streams of Arrow 0.14 and older begin with the length
MAX_LEGACY_HEAD_BYTES = 1 << 24  # of the first message of such a stream; the first four bytes of a text are a larger number
SNIFFED_BYTES = 1 << 16
ENCODING_BYTES = 1 << 18  # that show the encoding of text
TEXT_FORMATS = ("svmlight", "csv", "tsv", "jsonl")
CHUNK_BYTES = 8 << 20
STREAM_ADVICE = "train with --stream, which needs little"
IDX_NAME = re.compile(r"-idx\d-\w+$")

Reader = Callable[[Source, Options], Data]
ChunkReader = Callable[[Source, Options, int], Iterator[Data]]


@contextlib.contextmanager
def open_source(path: str | Path | Source) -> Iterator[Any]:
    """An argument for `read`, `chunks` and `digest`: a `Source`, or the name of an example.

    >>> with open_source("example:iris") as source:
    ...     read(source).n_rows
    150
    """
    if isinstance(path, Source) or is_example(path):
        yield path
    else:
        with Source(path) as source:
            yield source


def read(path: str | Path | Source, options: Options | None = None) -> Data:
    """Read all rows of a file. After reading a `Source`, its digest is known.

    >>> read("example:iris").features.names[0]
    'sepal length (cm)'
    """
    options = options or Options()
    if is_example(path):
        from .examples import example

        return example(str(path), options)
    with open_source(path) as source:
        limit = MemoryLimit(source.name, options)
        source.limit_expansion(limit)
        try:
            if _is_container(source, options):
                from .containers import table_in

                with table_in(source, options, limit) as table:
                    source.contains(table.source)
                    found = table.noted(_read(table.source, table.options))
                    _drain(table.source)
                    return found
            return _read(source, options)
        except MemoryError:
            raise DataError(source.name, "the rows do not fit into memory", advice=STREAM_ADVICE) from None


def chunks(path: str | Path | Source, options: Options | None = None, size: int = CHUNK_BYTES) -> Iterator[Data]:
    """Consecutive rows of a file, about `size` bytes of it at a time."""
    options = options or Options()
    if is_example(path):
        yield from _example_chunks(str(path), options, size)
        return
    with open_source(path) as source:
        if _is_container(source, options):
            from .containers import table_in

            with table_in(source, options, None) as table:
                source.contains(table.source)
                yield from map(table.noted, _chunks(table.source, table.options, size))
                _drain(table.source)
        else:
            yield from _chunks(source, options, size)


def _read(source: Source, options: Options) -> Data:
    reader, _ = _readers(checked_format(source, options))
    return completed(reader(source, options), source, options, whole=True)


def _chunks(source: Source, options: Options, size: int) -> Iterator[Data]:
    _, chunk_reader = _readers(checked_format(source, options))
    return (completed(chunk, source, options) for chunk in chunk_reader(source, options, size))


def completed(data: Data, source: Source, options: Options, whole: bool = False) -> Data:
    """What a reader has read, with what all formats have in common."""
    data = without_ignored(data, options, whole=whole)
    return _with_absent_columns(_with_encoding(data, source, options), options)


@contextlib.contextmanager
def unpacked(source: Source, options: Options) -> Iterator[tuple[Source, Options, str | None]]:
    """The table in a zip archive or a workbook, the options to read it and a note; any other file as it is."""
    if not _is_container(source, options):
        yield source, options, None
        return
    from .containers import table_in

    with table_in(source, options, None) as table:
        source.contains(table.source)
        yield table


def checked_format(source: Source, options: Options) -> str:
    """The format of a file; binary formats are confirmed by its first bytes."""
    kind = format_of(source, options)
    check_first_bytes(source, kind)
    if options.skip_lines and kind not in ("csv", "tsv"):
        raise DataError(
            source.name, f"--skip-lines is for delimited text, and this file is read as {kind}", option="--format csv"
        )
    return kind


def _with_encoding(data: Data, source: Source, options: Options) -> Data:
    """Rows with a note on the encoding of their file, if that was a guess."""
    if source.encoding is None or source.encoding in MARKED or options.encoding is not None:
        return data
    sentence = f"not UTF-8, read as {source.encoding}; change it with --encoding"
    return replace(data, note=sentence if data.note is None else f"{data.note}; {sentence}")


def _with_absent_columns(data: Data, options: Options) -> Data:
    """The rows of a file for a model, with missing cells in the columns of the model that the file does not have."""
    table = data.features
    if not options.fill_absent or not options.required or not isinstance(table, Table):
        return data
    absent = tuple(name for name in options.required if name not in table.names)
    if not absent:
        return data
    numbers, strings = np.full(data.n_rows, np.nan), np.full(data.n_rows, None, object)
    columns = (*table.columns, *(numbers if name in options.numeric else strings for name in absent))
    return replace(data, features=Table((*table.names, *absent), columns), absent=absent)


def _is_container(source: Source, options: Options) -> bool:
    """Whether a file is a zip archive or a workbook, unless it is known to be an archive of arrays."""
    return options.format != "npz" and is_container(source.peek(ZIP_BYTES)) and is_container(source.peek(HEAD_BYTES))


def _readers(kind: str) -> tuple[Reader, ChunkReader]:
    """The functions that read a format whole and in chunks; only their module is imported."""
    if kind == "svmlight":
        from .svmlight import read_svmlight, svmlight_chunks

        return read_svmlight, svmlight_chunks
    if kind in ("csv", "tsv"):
        from .delimited import delimited_chunks, read_delimited

        return read_delimited, delimited_chunks
    if kind == "jsonl":
        from .jsonl import jsonl_chunks, read_jsonl

        return read_jsonl, jsonl_chunks
    if kind == "npz":
        from .npz import npz_chunks, read_npz

        return read_npz, npz_chunks
    if kind == "idx":
        from .idx import idx_chunks, read_idx

        return read_idx, idx_chunks
    if kind in ("parquet", "arrow"):
        from .arrow import arrow_chunks, read_arrow

        return partial(read_arrow, kind=kind), partial(arrow_chunks, kind=kind)
    raise AssertionError(f"no reader for format {kind}")


def format_of(source: Source, options: Options) -> str:
    """The format of a file, one of FORMATS: given in the options, by its name, or by its first bytes."""
    if not source.peek(1):
        raise DataError(source.name, "the file has no rows: it is empty", advice="save or download it again")
    if options.format is not None and options.format not in FORMATS:
        raise DataError(source.name, f"format must be one of {', '.join(FORMATS)}, got {options.format!r}")
    extension = extension_of(source.path)
    kind = options.format
    if kind is None and extension in CONTAINERS:
        sentence = f"the file is named .{extension}, but is not {CONTAINERS[extension]}"
        raise DataError(source.name, sentence, option="--format", advice="if it is text, use --format csv")
    if kind is None:
        head = source.peek(SNIFFED_BYTES)
        check_not_foreign(source.name, head)
        binary = "idx" if IDX_NAME.search(_uncompressed_name(source.path)) else None
        binary = binary or next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
        kind = "jsonl" if JSON_ARRAY.match(head) else EXTENSIONS.get(extension, binary)
        if kind in ("parquet", "arrow", "npz") and kind != binary and source.compression is None and is_text(head):
            sentence = f"the file is named .{extension}, but is text"
            raise DataError(source.name, sentence, option="--format", advice="use --format csv, or jsonl")
    if kind is None or kind in TEXT_FORMATS:
        encoding = options.encoding or detect_encoding(source.peek(ENCODING_BYTES))
        if encoding is not None and source.encoding is None:
            source.recode(encoding)
    if kind is not None:
        return kind
    head = source.peek(SNIFFED_BYTES)
    if b"\0" in head and not is_utf8(head):
        advice = "use --format if it is parquet, arrow, npz or idx"
        raise DataError(source.name, "the file is binary, not text", option="--format", advice=advice)
    text = head.removeprefix(b"\xef\xbb\xbf")
    if _starts_like_svmlight(text):
        return "svmlight"
    return "jsonl" if text.lstrip()[:1] == b"{" and extension not in ("csv", "data", "txt") else "csv"


def check_first_bytes(source: Source, kind: str) -> None:
    """Raise DataError if a pipe, device or compressed file, which would be held in memory, cannot have its format.

    The readers of files on disk see the whole file at once, and report more about a damaged one.
    """
    if source.on_disk or kind not in ("parquet", "arrow", "npz"):
        return
    head = source.peek(ARROW_HEAD.size)
    if kind == "arrow":
        begins, what = head.startswith(b"ARROW1") or _starts_like_arrow_stream(head), "ARROW1 or a message of an Arrow stream"
    else:
        begins, what = head.startswith(FIRST_BYTES[kind]), FIRST_BYTES[kind][0].decode()
    if not begins:
        article = "a" if kind == "parquet" else "an"
        raise DataError(source.name, f"not {article} {kind} file: it does not start with {what}")


def _starts_like_arrow_stream(head: bytes) -> bool:
    """Whether these are the length of a message and, within the message, the position of its first table."""
    if len(head) < ARROW_HEAD.size:
        return False
    first, second, third = (int(word) for word in ARROW_HEAD.unpack_from(head))
    if first == ARROW_CONTINUATION:
        return 0 < third < second < 1 << 31
    return 0 < second < first < MAX_LEGACY_HEAD_BYTES


def _starts_like_svmlight(text: bytes) -> bool:
    from .svmlight import looks_like_svmlight

    if len(text) > SNIFFED_BYTES - 4 and b"\n" not in text:  # the first line is incomplete, perhaps within a number
        text = text[: text.rfind(b" ") + 1]
    lines = text.split(b"\n")
    # A row of zeros consists of its label, which is not conclusive.
    first = next((at for at, line in enumerate(lines) if len(line.partition(b"#")[0].split()) > 1), len(lines))
    return looks_like_svmlight(b"\n".join(lines[first:]))


class Digest(NamedTuple):
    """SHA-256 of a file on disk, and of what is in it: they differ if it is compressed."""

    file: str
    contents: str


def digest(source: Source) -> Digest:
    """The digests of a file of which rows were read; it is read to its end."""
    _drain(source)
    return Digest(source.sha256 or "", source.contents_sha256 or "")


def _drain(source: Source) -> None:
    while (source.sha256 is None or source.contents_sha256 is None) and source.read(1 << 20):
        pass


def _uncompressed_name(path: str | Path) -> str:
    name = Path(path)
    return name.with_suffix("").name if name.suffix.lower() in COMPRESSED else name.name


def _example_chunks(name: str, options: Options, size: int) -> Iterator[Data]:
    from .examples import example

    data = example(name, options)
    table = cast(Table, data.features)
    step = max(1, size // (8 * table.shape[1]))
    for start in range(0, data.n_rows, step):
        columns = tuple(column[start : start + step] for column in table.columns)
        labels = None if data.labels is None else data.labels[start : start + step]
        yield replace(data, features=Table(table.names, columns), labels=labels, first_row=start)
