"""CSV, TSV and other delimited files: a `Table` of numbers and text, and labels.

The first rows decide the types of the columns (`layout.py`); a later cell of another type is an error. `cells.py` defines a
record. The kernel parses simple records at least ten times as fast and leaves the others to that definition; small files are
parsed without it, because importing the kernel takes longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...array_types import Array, FloatArray, IntArray
from ...reporting.text import count, plural
from ..table import Data, DataError, Table
from . import Options
from .cells import MISSING, NON_FINITE, MisquotedError, UnclosedError, parse_number, quote_token, records, sniff, split_record
from .layout import MISSING_ADVICE, MISSING_OPTION, Kind, Layout, lay_out
from .sources import Source, extension_of
from .window import BLOCK_BYTES, LineNumbers, Window, expected_growth, grow_array, grown_size

MAX_DEFERRED_CELLS = 1 << 12  # numeric cells per kernel call that are left to Python
MAX_DISTINCT_CELLS = 1 << 10  # distinct cells of a text column up to which a kernel call encodes them
CELLS_PER_CALL = 1 << 18  # cells that a kernel call writes: they fit into the cache of a core
MAX_BYTES_WITHOUT_KERNEL = 1 << 18
# The layout is decided by at least this many rows and cells, or by ten times as many cells, or by this many bytes.
FIRST_ROWS, FIRST_CELLS, FIRST_BYTES = 100, 10_000, 1 << 20
COMMENT = ord("|")  # files of C4.5, such as UCI's adult.test, may start with a comment


def read_delimited(source: Source, options: Options | None = None) -> Data:
    """All rows of a file."""
    reader = _Reader(source, options or Options(), BLOCK_BYTES, whole=True)
    while reader.read_block():
        pass
    return reader.take()


def delimited_chunks(source: Source, options: Options | None = None, size: int = BLOCK_BYTES) -> Iterator[Data]:
    """Rows of about `size` bytes of the file at a time."""
    reader = _Reader(source, options or Options(), size, whole=False)
    while reader.read_block():
        if reader.columns.rows:
            yield reader.take()


class _Reader:
    """Parses a file block by block into `Columns`."""

    def __init__(self, source: Source, options: Options, size: int, whole: bool) -> None:
        self.source, self.options, self.size = source, options, size
        self.window = Window(source, max(size, FIRST_BYTES))
        self.text_bytes = self.rows_taken = 0
        self.lines = LineNumbers()
        if not self.window.fill():
            raise DataError(source.name, "the file has no rows")
        self.delimiter, self.layout = self._lay_out()
        self.columns = Columns(self.window, self.layout, options, whole)

    def _lay_out(self) -> tuple[bytes, Layout]:
        """The delimiter and the layout, by the first rows; a header is consumed."""
        window = self.window
        if window.buffer[0] == COMMENT:
            window.consume(window.buffer.index(b"\n") + 1)
        kind, first_bytes = self.options.format or extension_of(self.source.path), FIRST_BYTES
        while True:
            whole_lines = window.buffer.rfind(b"\n", 0, first_bytes) + 1
            text = bytes(memoryview(window.buffer)[: min(window.stop, whole_lines) or window.stop])
            delimiter = sniff(text, kind)
            found: list[tuple[int, list[bytes], int]] = []
            try:
                for record in records(text, delimiter):
                    found.append(record)
                    seen = len(found) * len(record[1])
                    if seen > (FIRST_CELLS if len(found) > FIRST_ROWS else 10 * FIRST_CELLS):
                        break
            except UnclosedError as unclosed:
                if len(found) < 2:  # the first record, or the one after a header, is longer
                    first_bytes *= 2
                    while window.stop < first_bytes and window.fill(more=True):
                        pass
                    if len(text) < window.stop:
                        continue
                    raise self._unclosed(unclosed.at) from None
            except MisquotedError as wrong:
                if len(found) < 2:
                    raise self._misquoted(wrong.at) from None
            break
        if not found:
            raise DataError(self.source.name, "the file has no rows")
        width = len(found[0][1])
        alike = next((k for k, (_, cells, _) in enumerate(found) if len(cells) != width), len(found))
        if alike == 1 < len(found):
            self._check_width(found[1][1], width, found[1][0])
        layout = lay_out(self.source.name, [cells for _, cells, _ in found[:alike]], self.options)
        if layout.header:
            window.consume(found[0][2])
        return delimiter, layout

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

    def _check_width(self, cells: list[bytes], width: int, at: int) -> None:
        if len(cells) != width:
            sentence = f"the row has {plural(len(cells), 'cell')} instead of {count(width)}"
            raise DataError(self.source.name, sentence, self.window.line_at(at))

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
        return Data(self.source.name, table, labels, name, layout.note, *columns, self.lines.take(), first_row)


# --- columns -------------------------------------------------------------------------------------------------------------


class Scratch(NamedTuple):
    """The arguments of the kernel `delimited_rows`, which describes them."""

    plan: IntArray
    numbers: FloatArray
    deferred: IntArray
    spans: IntArray
    codes: IntArray
    slots: IntArray
    firsts: IntArray
    counts: IntArray
    done: IntArray

    def clear(self) -> None:
        self.slots[:] = -1
        self.counts[:] = 0


def _objects(words: list[str | None]) -> Array:
    column = np.empty(len(words), object)
    column[:] = words
    return column


class Columns:
    """Collects the cells of the columns that a layout uses.

    whole : whether the whole file is read; arrays are then allocated for all of its rows.
    """

    def __init__(self, window: Window, layout: Layout, options: Options, whole: bool) -> None:
        self.window, self.layout, self.options, self.whole = window, layout, options, whole
        self.numbers = [c for c, kind in enumerate(layout.kinds) if kind == Kind.NUMBER]
        self.texts = [c for c, kind in enumerate(layout.kinds) if kind not in (Kind.NUMBER, Kind.UNUSED)]
        self._places = {c: place for place, c in enumerate(self.numbers)}
        self._used = [(c, kind == Kind.NUMBER) for c, kind in enumerate(layout.kinds) if kind != Kind.UNUSED]
        self._recurring = set(self.texts)  # text columns with few distinct cells in each block
        self._rows_taken = 0
        self._clear()

    def _clear(self) -> None:
        self.rows = 0
        self._values: dict[int, Any] = {c: np.empty(0) for c in self.numbers}
        self._words: dict[int, list[Any]] = {c: [] for c in self.texts}

    def add_rows(self, rows: list[tuple[int, list[bytes]]]) -> None:
        """Add rows of cells, each with its start in the window; raises DataError for the first invalid cell."""
        if not rows:
            return
        numbers: list[Any] = []
        words: dict[int, list[str | None]] = {c: [] for c in self.texts}
        for at, cells in rows:
            for c, is_number in self._used:
                if is_number:
                    numbers.append(self._number(cells[c], c, at))
                else:
                    words[c].append(self._word(cells[c], c, at))
        for c in self.texts:
            self._words[c].append(_objects(words[c]))
        self._add_numbers(np.array(numbers).reshape(len(rows), -1).T, len(rows))
        self.rows += len(rows)

    def scratch(self, rows: int) -> Scratch:
        """The description of the columns for the kernel, and its output arrays for up to `rows` rows."""
        self._reserve(self.rows + rows)
        n_rows = max(1, min(rows, CELLS_PER_CALL // max(1, len(self.numbers) + 3 * len(self.texts))))
        plan = np.zeros((len(self.layout.kinds), 3), np.int64)
        plan[:, 0] = 2  # unused
        for place, c in enumerate(self.numbers):
            plan[c] = 0, place, self.options.missing != "refuse" and c != self.layout.label
        for place, c in enumerate(self.texts):
            plan[c] = 1, place, c in self._recurring
        n = len(self.texts)
        return Scratch(
            plan=plan,
            numbers=np.empty((len(self.numbers), n_rows)),
            deferred=np.empty((MAX_DEFERRED_CELLS, 4), np.int64),
            spans=np.empty((n, n_rows, 2), np.int64),
            codes=np.empty((n, n_rows), np.int64),
            slots=np.empty((n, 2 * MAX_DISTINCT_CELLS), np.int32),
            firsts=np.empty((n, MAX_DISTINCT_CELLS, 2), np.int64),
            counts=np.empty(n, np.int64),
            done=np.zeros(2, np.int64),
        )

    def add_scratch(self, scratch: Scratch) -> bool:
        """Add the output of the kernel. If a cell is invalid, add nothing and return False."""
        n = int(scratch.done[0])
        words: list[Any] = []
        try:
            for c, row, start, stop in scratch.deferred[: scratch.done[1]].tolist():
                scratch.numbers[self._places[c], row] = self._number(bytes(self.window.buffer[start:stop]), c, start)
            for place, c in enumerate(self.texts):
                if c in self._recurring and scratch.counts[place] <= MAX_DISTINCT_CELLS:
                    distinct = self._decoded(c, scratch.firsts[place, : scratch.counts[place]])
                    words.append(distinct[scratch.codes[place, :n]])
                else:
                    self._recurring.discard(c)
                    scratch.plan[c, 2] = 0
                    words.append(self._decoded(c, scratch.spans[place, :n]))
        except DataError:
            return False
        for c, column in zip(self.texts, words, strict=True):
            self._words[c].append(column)
        self._add_numbers(scratch.numbers, n)
        self.rows += n
        return True

    def _decoded(self, c: int, spans: IntArray) -> Any:
        """The cells at the given spans, in ascending order; a negative end marks a cell with doubled quotes."""
        words: list[str | None] = []
        if len(spans):
            origin = int(spans[0, 0])
            text = bytes(memoryview(self.window.buffer)[origin : int(abs(spans[-1, 1]))])
            for start, stop in zip((spans[:, 0] - origin).tolist(), spans[:, 1].tolist(), strict=True):
                cell = text[start : stop - origin] if stop >= 0 else text[start : -stop - origin].replace(b'""', b'"')
                words.append(self._word(cell, c, start + origin))
        return _objects(words)

    def _reserve(self, rows: int) -> None:
        """Allocate arrays for `rows` rows or, if the whole file is read, for the number of rows it is expected to have."""
        growth = expected_growth(self.window.source) if self.whole else 1.0
        for c, values in self._values.items():
            if rows > len(values):
                self._values[c] = grow_array(values, grown_size(rows, len(values), growth))

    def _add_numbers(self, numbers: FloatArray, n: int) -> None:
        self._reserve(self.rows + n)
        for place, c in enumerate(self.numbers):
            self._values[c][self.rows : self.rows + n] = numbers[place, :n]

    def _number(self, cell: bytes, c: int, at: int) -> float:
        cell = cell.strip()
        value = parse_number(cell)
        if value is not None and math.isfinite(value):
            return value
        if cell in MISSING:
            self._missing(c, at)
            return math.nan
        if value is not None or NON_FINITE.fullmatch(cell):
            raise self._error(c, at, f"{quote_token(cell)} is not finite")
        sentence = f"{quote_token(cell)} is not a number, but the column is numeric"
        if self.options.required is not None:
            raise self._error(c, at, sentence)
        option = f"--categorical {self.layout.names[c]!r}"
        raise self._error(c, at, sentence, option, f"use {option} if it is categorical")

    def _word(self, cell: bytes, c: int, at: int) -> str | None:
        if cell in MISSING and self.layout.kinds[c] != Kind.FREE_TEXT:
            self._missing(c, at)
            return None
        try:
            return cell.decode()
        except UnicodeDecodeError:
            raise self._error(c, at, "the cell is not UTF-8") from None

    def _missing(self, c: int, at: int) -> None:
        if c == self.layout.label:
            raise self._error(c, at, "the label is missing")
        if self.options.missing == "refuse":
            raise self._error(c, at, "the value is missing", MISSING_OPTION, MISSING_ADVICE)

    def _error(self, c: int, at: int, sentence: str, option: str | None = None, advice: str | None = None) -> DataError:
        line = self.window.line_at(at)
        return DataError(self.window.source.name, sentence, line, self.layout.place(c), option=option, advice=advice)

    def take(self) -> tuple[Table, Array | None]:
        """The table and the labels of the rows added since the last call."""
        self._rows_taken += self.rows
        if not self._rows_taken:
            raise DataError(self.window.source.name, "the file has no rows")
        columns: dict[int, Any] = {}
        for c in self.numbers:
            columns[c] = grow_array(self._values[c], self.rows) if len(self._values[c]) > self.rows else self._values[c]
        for c in self.texts:
            parts = self._words.pop(c)
            columns[c] = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, object), *parts])
        self._clear()
        layout = self.layout
        table = Table(tuple(layout.names[c] for c in layout.features), tuple(columns[c] for c in layout.features))
        return table, None if layout.label is None else columns[layout.label]
