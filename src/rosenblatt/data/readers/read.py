"""The front door: any file that can be read, by its extension or its first line, whole or in chunks.

    svmlight            .svm .svmlight .libsvm, and whatever begins like it
    delimited           .csv .tsv .data .test .txt and anything else that is text
    parquet, arrow      .parquet .pq; .arrow .feather .ipc
    jsonl               .jsonl .ndjson
    npz                 .npz
    idx                 names such as train-images-idx3-ubyte
    example:NAME        see `examples.py`
All but examples may be compressed: .gz, .bz2, .xz, .zst; `-` is stdin.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from ..read_options import FORMATS, Options
from ..table import Data, DataError, Table
from .sources import COMPRESSED, Source
from .sources import format_of as extension

EXTENSIONS = {
    "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight", "tsv": "tsv", "tab": "tsv",
    "json": "jsonl", "jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet", "pq": "parquet",
    "arrow": "arrow", "feather": "arrow", "ipc": "arrow", "npz": "npz", "idx": "idx",
}  # fmt: skip
MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"PK\x03\x04": "npz"}
EXAMPLE = "example:"
HEAD = 1 << 16  # bytes that are looked at
IDX = re.compile(r"-idx\d-\w+$")


@contextlib.contextmanager
def opened(path: str | Path | Source) -> Iterator[Any]:
    """What `read`, `chunks` and `digest` take: a `Source`, or the name of an example.

    >>> with opened("example:iris") as source:
    ...     read(source).n_rows
    150
    """
    if isinstance(path, Source) or is_example(path):
        yield path
    else:
        with Source(path) as source:
            yield source


def read(path: str | Path | Source, options: Options | None = None) -> Data:
    """All rows of a file. A `Source` may be given, which knows the file's digest afterwards.

    >>> read("example:iris").features.names[0]
    'sepal length (cm)'
    """
    options = options or Options()
    if is_example(path):
        from .examples import example

        return example(str(path), options)
    with opened(path) as source:
        kind = format_of(source, options)
        if kind == "svmlight":
            from .svmlight import read_svmlight

            return read_svmlight(source, options)
        if kind in ("csv", "tsv"):
            from .delimited import read_delimited

            return read_delimited(source, options)
        if kind == "jsonl":
            from .jsonl import read_jsonl

            return read_jsonl(source, options)
        if kind == "npz":
            from .npz import read_npz

            return read_npz(source, options)
        if kind == "idx":
            from .idx import read_idx

            return read_idx(source, options)
        from .arrow import read_arrow

        return read_arrow(source, options, kind)


def chunks(path: str | Path | Source, options: Options | None = None, size: int = 8 << 20) -> Iterator[Data]:
    """Consecutive rows of a file, about `size` bytes of it at a time."""
    options = options or Options()
    if is_example(path):
        yield from _example_chunks(str(path), options, size)
        return
    with opened(path) as source:
        kind = format_of(source, options)
        if kind == "svmlight":
            from .svmlight import svmlight_chunks

            yield from svmlight_chunks(source, options, size)
        elif kind in ("csv", "tsv"):
            from .delimited import delimited_chunks

            yield from delimited_chunks(source, options, size)
        elif kind == "jsonl":
            from .jsonl import jsonl_chunks

            yield from jsonl_chunks(source, options, size)
        elif kind == "npz":
            from .npz import npz_chunks

            yield from npz_chunks(source, options, size)
        elif kind == "idx":
            from .idx import idx_chunks

            yield from idx_chunks(source, options, size)
        else:
            from .arrow import arrow_chunks

            yield from arrow_chunks(source, options, size, kind)


def format_of(source: Source, options: Options) -> str:
    """Which of FORMATS a file has: what was said, what its name says, what it begins with."""
    if options.format is not None:
        if options.format not in FORMATS:
            raise DataError(source.name, f"format={options.format!r} is none of {', '.join(FORMATS)}")
        return options.format
    said = EXTENSIONS.get(extension(source.path))
    if said is None and IDX.search(_plain_name(source.path)):
        said = "idx"
    if said is not None:
        return said
    head = source.peek(HEAD)
    binary = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
    if binary is not None:
        return binary
    text = head.removeprefix(b"\xef\xbb\xbf")
    if _begins_like_svmlight(text):
        return "svmlight"
    return "jsonl" if text.lstrip()[:1] == b"{" and extension(source.path) not in ("csv", "data", "txt") else "csv"


def _begins_like_svmlight(text: bytes) -> bool:
    from .svmlight import looks_like_svmlight

    if len(text) > HEAD - 4 and b"\n" not in text:  # the first line is not all there, nor, perhaps, its last number
        text = text[: text.rfind(b" ") + 1]
    lines = text.split(b"\n")
    # A row of zeros is its label alone, and says nothing.
    first = next((at for at, line in enumerate(lines) if len(line.partition(b"#")[0].split()) > 1), len(lines))
    return looks_like_svmlight(b"\n".join(lines[first:]))


def digest(source: Source | str) -> str:
    """The SHA-256 of a file as it lies on the disk, once it has been read; of an example, that of its name."""
    if isinstance(source, str):
        import hashlib

        return hashlib.sha256(source.encode()).hexdigest()
    while source.sha256 is None and source.read(1 << 20):
        pass
    return source.sha256 or ""


def is_example(path: Any) -> bool:
    return isinstance(path, str) and path.startswith(EXAMPLE)


def _plain_name(path: str | Path) -> str:
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
        yield replace(data, features=Table(table.names, columns), labels=labels)
