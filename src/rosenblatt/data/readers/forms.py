"""Files that are read as the first of them: what its first rows decide holds for all, as in the chunks of a single file.

The first rows of a file decide its format, encoding and separator, whether it has a header, the names and types of its columns,
how they write numbers and dates, and which column is the label. Files that are read together, and parts of a file that are read
apart, keep these decisions: rows that contradict them are an error, which names the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from ..table import Data, DataError
from . import Options
from .arrow import ArrowForm, Section, arrow_chunks, form_of_arrow
from .delimited import DelimitedForm, delimited_chunks, form_of_delimited
from .idx import idx_chunks
from .jsonl import JsonForm, form_of_jsonl, jsonl_chunks
from .npz import npz_chunks
from .read import CHUNK_BYTES, EXTENSIONS, check_first_bytes, checked_format, completed, unpacked
from .sources import Source, extension_of
from .svmlight import svmlight_chunks


@dataclass(frozen=True)
class FileForm:
    """What the first rows of a file decide.

    Attributes
    ----------
    source : str
        The file.
    kind : str
        Its format.
    options : Options
        How it was to be read.
    encoding : str or None
        The encoding of text that is not UTF-8.
    columns : DelimitedForm, JsonForm, ArrowForm or None
        The columns of a table.
    """

    source: str
    kind: str
    options: Options
    encoding: str | None
    columns: DelimitedForm | JsonForm | ArrowForm | None

    @property
    def is_table(self) -> bool:
        """Whether the rows have named columns."""
        return self.columns is not None

    @property
    def label(self) -> str | None:
        """The column of a table that holds the labels."""
        if isinstance(self.columns, DelimitedForm):
            layout = self.columns.layout
            return None if layout.label is None else layout.names[layout.label]
        if isinstance(self.columns, JsonForm):
            return self.columns.columns.layout.label_name
        return None if self.columns is None else self.columns.layout.label_name


def form_of(source: Source, options: Options) -> FileForm:
    """The form of a file; only its first rows are read."""
    with unpacked(source, options) as (table, inner, _):
        kind = checked_format(table, inner)
        columns: DelimitedForm | JsonForm | ArrowForm | None = None
        if kind in ("csv", "tsv"):
            columns = form_of_delimited(table, inner)._replace(source=source.name)
        elif kind == "jsonl":
            columns = form_of_jsonl(table, inner)._replace(source=source.name)
        elif kind in ("parquet", "arrow"):
            columns = form_of_arrow(table, inner, kind)._replace(source=source.name)
        return FileForm(source.name, kind, options, table.encoding, columns)


def chunks_as(
    source: Source, form: FileForm, size: int = CHUNK_BYTES, *, inside: bool = False, section: Section | None = None
) -> Iterator[Data]:
    """Consecutive rows of a file that is read as another, about `size` bytes of it at a time; none if it is empty.

    inside : whether the source begins within a file.
    section : the part of a Parquet or Arrow file to read.
    """
    if not source.peek(1):
        return
    with contextlib.nullcontext((source, form.options, None)) if inside else unpacked(source, form.options) as inner:
        table, options, note = inner
        for data in _chunks_as(table, options, form, size, inside, section):
            found = completed(data, table, options)
            yield found if note is None else replace(found, note="; ".join(filter(None, (note, found.note))))


def _chunks_as(
    source: Source, options: Options, form: FileForm, size: int, inside: bool, section: Section | None
) -> Iterator[Data]:
    kind, columns = form.kind, form.columns
    check_first_bytes(source, kind)
    if form.encoding is not None and source.encoding is None:
        source.recode(form.encoding)
    if kind in ("csv", "tsv"):
        return delimited_chunks(source, options, size, cast(DelimitedForm, columns), inside)
    if kind == "jsonl":
        return jsonl_chunks(source, options, size, cast(JsonForm, columns), inside)
    if kind == "svmlight":
        return svmlight_chunks(source, options, size, may_be_empty=True)
    if kind in ("parquet", "arrow"):
        return arrow_chunks(source, options, size, kind, form=cast(ArrowForm, columns), section=section)
    return npz_chunks(source, options, size) if kind == "npz" else idx_chunks(source, options, size)


def check_same_format(path: str | Path, form: FileForm) -> None:
    """Raise DataError if the extension of a file is that of another format."""
    named = EXTENSIONS.get(extension_of(path))
    if form.options.format is None and named is not None and named.replace("tsv", "csv") != form.kind.replace("tsv", "csv"):
        sentence = f"the file is {named}, but {form.source} is {form.kind}"
        raise DataError(str(path), sentence, advice="read files of one format together")
