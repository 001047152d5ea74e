"""CSV, TSV and other delimited files: a `Table` of numbers and text, and labels.

The first rows decide the types of the columns (`layout.py`); a later cell of another type is an error. `cells.py` defines a
record. The kernel parses simple records at least ten times as fast and leaves the others to that definition; small files are
parsed without it, because importing the kernel takes longer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...reporting.text import comma_list, count, plural
from ..table import Data, DataError
from . import SEPARATORS, Options
from .cells import MISSING, MisquotedError, UnclosedError, records, sniff, split_record
from .columns import Columns
from .kinds import Kind, is_number
from .layout import MAX_COLUMNS_LISTED, Layout, header_names, lay_out
from .limits import MemoryLimit
from .orange import orange_header
from .sources import Source, extension_of
from .window import BLOCK_BYTES, LineNumbers, Window

MAX_BYTES_WITHOUT_KERNEL = 1 << 18
# The layout is decided by at least this many rows and cells, or by ten times as many cells, or by this many bytes.
FIRST_ROWS, FIRST_CELLS, FIRST_BYTES = 100, 10_000, 1 << 20
Record = tuple[int, list[bytes], int]  # its start, its cells and its end
MAX_TITLE_ROWS = 20  # below a title, that are examined
COMMENT = ord("|")  # files of C4.5, such as UCI's adult.test, may start with a comment
SEP_LINE = re.compile(rb'"?sep=([^\r\n"])"?[ \t,;]*\r?\n', re.IGNORECASE)  # the first line of some files for Excel


class DelimitedForm(NamedTuple):
    """What the first rows of a file decide, for other files of the same form, or for parts of a file."""

    source: str  # the file
    delimiter: bytes
    layout: Layout


class _Head(NamedTuple):
    """The first lines of a file."""

    delimiter: bytes
    records: list[Record]  # the header is one record
    options: Options  # with what a header of Orange adds
    note: str | None


def form_of_delimited(source: Source, options: Options) -> DelimitedForm:
    """The form of a file, by its first rows."""
    reader = _Reader(source, options, BLOCK_BYTES)
    return DelimitedForm(source.name, reader.delimiter, reader.layout)


def read_delimited(source: Source, options: Options | None = None) -> Data:
    """All rows of a file."""
    options = options or Options()
    reader = _Reader(source, options, BLOCK_BYTES, MemoryLimit(source.name, options))
    while reader.read_block():
        pass
    return reader.take()


def delimited_chunks(
    source: Source,
    options: Options | None = None,
    size: int = BLOCK_BYTES,
    form: DelimitedForm | None = None,
    inside: bool = False,
) -> Iterator[Data]:
    """Rows of about `size` bytes of the file at a time.

    form : that of another file, which decides how this one is read; it may have no rows.
    inside : whether the text begins within a file, with a row.
    """
    reader = _Reader(source, options or Options(), size, form=form, inside=inside)
    while reader.read_block():
        if reader.columns.rows:
            yield reader.take()


class _Reader:
    """Parses a file block by block into `Columns`."""

    def __init__(
        self, source: Source, options: Options, size: int, limit: MemoryLimit | None = None, form: DelimitedForm | None = None,
        inside: bool = False,
    ) -> None:  # fmt: skip
        self.source, self.options, self.size = source, options, size
        self.window = Window(source, max(size, FIRST_BYTES))
        self.text_bytes = self.rows_taken = 0
        self.lines = LineNumbers()
        filled = self.window.fill()
        if form is None:
            if not filled:
                raise DataError(source.name, "the file has no rows")
            self.delimiter, self.layout = self._lay_out()
        else:
            self.delimiter, self.layout = form.delimiter, form.layout
            if filled and not inside:
                self._pass_header(form)
        self.columns = Columns(self.window, self.layout, options, limit)
        self.forms = {self.layout.names[c]: form for c, form in self.layout.forms.items() if c in self.layout.features}
        found = {name: str(form.kind) for name, form in self.forms.items() if form.kind != "number"}
        self.dates: dict[str, str] = {} if options.as_written else found

    def _lay_out(self) -> tuple[bytes, Layout]:
        """The delimiter and the layout, by the first rows; a header is consumed."""
        delimiter, found, options, note = self._head()
        if not found:
            raise DataError(self.source.name, "the file has no rows")
        width = len(found[0][1])
        alike = next((k for k, (_, cells, _) in enumerate(found) if len(cells) != width), len(found))
        self._check_title(found, alike, delimiter)
        if options.header is None and options.required is None:
            self._check_title_of_one_cell(found)
        if alike == 1 < len(found):
            self._check_width(found[1][1], width, found[1][0])
        layout = lay_out(self.source.name, [cells for _, cells, _ in found[:alike]], options, delimiter)
        if layout.header:
            self.window.consume(found[0][2])
        return delimiter, layout if note is None else replace(layout, note=f"{note}; {layout.note}")

    def _head(self) -> _Head:
        """The first records, below lines that are consumed."""
        window, options = self.window, self.options
        self._skip_lines()
        second = window.buffer.index(b"\n") + 1
        if window.buffer[0] == COMMENT and window.buffer.find(b"|", second, window.buffer.find(b"\n", second, window.stop)) < 0:
            window.consume(second)
        options = self._with_sep_line()
        kind = options.format or extension_of(self.source.path)
        delimiter, found = self._first_records(kind)
        if not found:
            return _Head(delimiter, [], options, None)
        orange, note = None if options.header is False else orange_header([cells for _, cells, _ in found[:3]], kind), None
        if orange is not None:
            options, note = orange.apply(options)
            found = [(found[0][0], list(orange.names), found[orange.lines - 1][2]), *found[orange.lines :]]
        return _Head(delimiter, _with_last_name(found), options, note)

    def _pass_header(self, form: DelimitedForm) -> None:
        """Consume the header of a file of a known form, whose columns must be the same.

        A file that begins with a row instead is the continuation of another.
        """
        layout = self.layout
        self.options = replace(self.options, sep=form.delimiter.decode())
        found = self._head().records
        if not layout.header or not found:
            return
        cells = found[0][1]
        if len(cells) == len(layout.names):
            names = header_names(self.source.name, cells)
            if names == layout.names:
                self.window.consume(found[0][2])
                return
            if self._is_row(cells):
                return
            listed, expected = (comma_list(each, MAX_COLUMNS_LISTED) for each in (names, layout.names))
            what = "in another order" if sorted(names) == sorted(layout.names) else "others"
            sentence = f"the columns are {what} than those of {form.source}: {listed} instead of {expected}"
        else:
            sentence = f"the line has {plural(len(cells), 'cell')}, but {form.source} has {plural(len(layout.names), 'column')}"
        line = self.window.line_at(found[0][0])
        raise DataError(self.source.name, sentence, line, advice="all files must have the same columns in the same order")

    def _is_row(self, cells: list[bytes]) -> bool:
        """Whether cells are a row, and not a header: the columns of numbers have some, and otherwise missing cells."""
        numeric = [c for c, kind in enumerate(self.layout.kinds) if kind in (Kind.NUMBER, Kind.FORMATTED)]
        known = [(cells[c], self.layout.forms.get(c)) for c in numeric if cells[c] not in MISSING]
        return bool(known) and all(
            is_number(cell) or (form is not None and form.value(cell.decode("utf-8", "replace")) is not None)
            for cell, form in known
        )

    def _skip_lines(self) -> None:
        """Consume the lines above the table that the options leave out."""
        window = self.window
        for _ in range(self.options.skip_lines):
            window.consume(window.buffer.find(b"\n", 0, window.stop) + 1)
            if not window.stop and not window.fill():
                lines = plural(self.options.skip_lines, "line")
                raise DataError(self.source.name, f"no row is left after the {lines} of --skip-lines")

    def _with_sep_line(self) -> Options:
        """The options, with the delimiter that a line such as sep=; before the table names; the line is consumed."""
        named = SEP_LINE.match(self.window.buffer, 0, self.window.stop)
        if named is not None and named.end() < self.window.stop and named[1] in (SEPARATORS + "\t").encode():
            mark = self.options.sep or named[1].decode()
            self.window.consume(named.end())
            self.options = replace(self.options, sep=mark)
        return self.options

    def _first_records(self, kind: str) -> tuple[bytes, list[Record]]:
        """The delimiter and the first records, which decide the layout."""
        window, first_bytes = self.window, FIRST_BYTES
        while True:
            whole_lines = window.buffer.rfind(b"\n", 0, first_bytes) + 1
            text = bytes(memoryview(window.buffer)[: min(window.stop, whole_lines) or window.stop])
            delimiter = sniff(text, kind) if self.options.sep is None else self.options.sep.encode()
            found: list[Record] = []
            try:
                for record in records(text, delimiter):
                    found.append(record)
                    seen = len(found) * len(record[1])
                    if len(found) > 1 and seen > (FIRST_CELLS if len(found) > FIRST_ROWS else 10 * FIRST_CELLS):
                        break
            except UnclosedError as unclosed:
                if len(found) < 2 and not self._lengthen(text):
                    raise self._unclosed(unclosed.at) from None
            except MisquotedError as wrong:
                if len(found) < 2:
                    raise self._misquoted(wrong.at) from None
            if len(found) > 1 or not self._lengthen(text):
                break
            first_bytes = max(2 * first_bytes, 2 * len(text))  # the first record, or the one after a header, is longer
        return delimiter, found

    def _lengthen(self, text: bytes) -> bool:
        """Read more, about as much as `text`, which the window starts with; False at the end of the file."""
        while self.window.stop < 2 * max(FIRST_BYTES, len(text)) and self.window.fill(more=True):
            pass
        return len(text) < self.window.stop

    def read_block(self) -> bool:
        """Parse the next block of about `size` bytes; False at the end of the file."""
        window = self.window
        if not window.stop and not window.fill():
            return False
        end = window.buffer.find(b"\n", min(self.size, window.stop) - 1, window.stop) + 1
        self.text_bytes += end
        used = self._parse(0, end, window.line) if self.text_bytes <= MAX_BYTES_WITHOUT_KERNEL else self._parse_fast(end)
        if not used and end == window.stop:
            if not window.fill(more=True):
                raise self._unclosed(0)
        elif not used:  # a record is longer than a block
            used = self._parse_record(0, window.stop, window.line)
            if not used and not window.fill(more=True):
                raise self._unclosed(0)
        window.consume(used)
        return True

    def _parse(self, start: int, stop: int, line: int) -> int:
        """Parse by the definition from `line` on; returns the end of the last complete record."""
        text = bytes(memoryview(self.window.buffer)[start:stop])
        rows: list[tuple[int, list[bytes]]] = []
        lines: list[int] = []
        at, counted, fault = 0, 0, None
        try:
            while at < len(text):
                cells, after = split_record(text, at, self.delimiter)
                if cells:
                    self._check_width(cells, len(self.layout.names), start + at)
                    rows.append((start + at, cells))
                    line, counted = line + text.count(b"\n", counted, at), at
                    lines.append(line)
                at = after
        except UnclosedError:  # the rest is parsed with the next block
            pass
        except MisquotedError as wrong:
            fault = self._misquoted(start + wrong.at)
        except DataError as error:
            fault = error
        self.columns.add_rows(rows)  # raises the errors of earlier rows first
        if fault is not None:
            raise fault
        self.lines.add(lines)
        return start + at

    def _parse_record(self, start: int, stop: int, line: int) -> int:
        """Parse one record, and others on the same lines; returns their end, or `start` if the record is incomplete."""
        size = 1
        while True:
            end = self.window.buffer.find(b"\n", min(start + size, stop) - 1, stop) + 1
            used = self._parse(start, end, line)
            if used > start or end == stop:
                return used
            size = 2 * (end - start)

    def _parse_fast(self, stop: int) -> int:
        """Parse with the kernel, and the records at which it stops by the definition."""
        from ...kernels.parsing.delimited import delimited_rows

        at, line, delimiter = 0, self.window.line, np.uint8(self.delimiter[0])
        scratch = self.columns.scratch(self.window.count(b"\n", stop))
        while at < stop:
            scratch.clear()
            text: Any = np.frombuffer(self.window.buffer, np.uint8)
            after = int(delimited_rows(text, at, stop, delimiter, *scratch))
            del text  # a buffer with a view cannot grow
            lines = self.window.count(b"\n", after, at)
            if self.columns.add_scratch(scratch):
                self.lines.add(range(line, line + lines) if lines == scratch.done[0] else None)
            else:
                self._parse(at, after, line)  # raises the error of the first invalid cell
            line += lines
            if after < stop and scratch.done[0] < scratch.numbers.shape[1]:
                at, after = after, self._parse_record(after, stop, line)
                if after == at:
                    break
                line += self.window.count(b"\n", after, at)
            at = after
        return at

    def _check_title(self, found: list[Record], alike: int, delimiter: bytes) -> None:
        """Raise DataError if the first line, or some lines of one cell, stand above rows with more cells."""
        widths = [len(cells) for _, cells, _ in found]
        rows = widths[alike:]
        above = alike == 1 or (widths[0] == 1 and alike < len(rows))
        if above and len(rows) > 1 and len(set(rows)) == 1 and rows[0] > widths[0]:
            sentence = f"the line has {plural(widths[0], 'cell')}, the rows below have {count(rows[0])}"
            more = ""
            if 1 < widths[0] == rows[0] - 1:
                more = "; if it lacks the name of the first column, such as that of row numbers, write it there"
                more += (
                    "; if the rows have decimal commas, quote these numbers" if _splits_numbers(found[alike], delimiter) else ""
                )
            raise self._title(sentence, found[0], found[alike], more)

    def _check_title_of_one_cell(self, found: list[Record]) -> None:
        """Raise DataError if only one cell of the first line is filled, and at least three cells of most rows below."""
        filled = [sum(cell != b"" for cell in cells) for _, cells, _ in found[: MAX_TITLE_ROWS + 1]]
        if filled[0] == 1 and len(filled) > 2 and sum(n > 2 for n in filled) > len(filled) // 2:
            cells = found[0][1]
            if not any(map(is_number, cells)):
                sentence = f"only 1 of {count(len(cells))} cells is filled" if len(cells) > 1 else "the line has 1 cell"
                raise self._title(sentence, found[0], next(row for row, n in zip(found, filled, strict=False) if n > 2))

    def _title(self, sentence: str, title: Record, below: Record, more: str = "") -> DataError:
        """The error of lines above a table, of which `below` is the first line."""
        skipped = self.window.line_at(below[0]) - 1
        advice = f"if it is a title or a comment, use --skip-lines {skipped}{more}"
        line = self.window.line_at(title[0])
        return DataError(self.source.name, sentence, line, option=f"--skip-lines {skipped}", advice=advice)

    def _check_width(self, cells: list[bytes], width: int, at: int) -> None:
        if len(cells) != width:
            sentence = f"the row has {plural(len(cells), 'cell')} instead of {count(width)}"
            advice = "delete it if it is a footer or a comment" if len(cells) == 1 else None
            raise DataError(self.source.name, sentence, self.window.line_at(at), advice=advice)

    def _unclosed(self, at: int) -> DataError:
        return DataError(self.source.name, "a quote is not closed", self.window.line_at(at))

    def _misquoted(self, at: int) -> DataError:
        sentence, character = "unexpected text after a closing quote", at - self.window.buffer.rfind(b"\n", 0, at)
        return DataError(self.source.name, sentence, self.window.line_at(at), character=character)

    def take(self) -> Data:
        """The rows read since the last call."""
        first_row, layout = self.rows_taken, self.layout
        table, labels = self.columns.take()
        self.rows_taken += table.shape[0]
        name = None if layout.label is None else layout.names[layout.label]
        columns = (layout.text, layout.categorical, layout.names)
        return Data(
            self.source.name, table, labels, name, layout.note, *columns, self.lines.take(), first_row,
            numerals=self.columns.numerals, losses=dict(self.columns.losses), dates=self.dates, forms=self.forms,
        )  # fmt: skip


def _splits_numbers(row: Record, delimiter: bytes) -> bool:
    """Whether a row may have numbers with decimal commas, which separate cells."""
    return delimiter == b"," and any(a.isdigit() and b.isdigit() for a, b in itertools.pairwise(row[1]))


def _with_last_name(found: list[Record]) -> list[Record]:
    """The first records; if all rows but the header end with a delimiter, with an empty name for the cell after it."""
    (at, header, end), rows = found[0], found[1:]
    if len(header) > 1 and rows and all(len(cells) == len(header) + 1 and not cells[-1] for _, cells, _ in rows):
        return [(at, [*header, b""], end), *rows]
    return found
