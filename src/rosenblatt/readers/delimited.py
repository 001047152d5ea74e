"""CSV, TSV and the like: a `Table` of numbers and text, and labels.

What the columns are is decided by the first rows (`layout.py`); a later cell that does not fit is an error. `cells.py` defines
what a record is. The kernel reads records that are plainly right, ten and more times as fast; small files do without it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .cells import MISSING, Misquoted, Unclosed, records, sniff, split_record
from .data import Data, DataError, Table
from .layout import FREE, LEFT_OUT, NUMBER, Layout, lay_out
from .options import Options
from .sources import Source, format_of
from .tokens import NOT_FINITE, number, shown
from .window import BLOCK, Window

SMALL = 1 << 18  # bytes of a file that is parsed without the kernel
FIRST_ROWS = 1000  # that decide what the columns are
FIRST_BYTES = 1 << 20  # or as many rows as are in so many bytes


def read_delimited(source: Source, options: Options | None = None) -> Data:
    """The whole file."""
    reader = _Reader(source, options or Options(), max(BLOCK, FIRST_BYTES))
    while reader.read_block():
        pass
    return reader.take()


def delimited_chunks(source: Source, options: Options | None = None, size: int = BLOCK) -> Iterator[Data]:
    """Rows of about `size` bytes of the file at a time."""
    reader = _Reader(source, options or Options(), size)
    while reader.read_block():
        if reader.rows:
            yield reader.take()


class _Reader:
    def __init__(self, source: Source, options: Options, size: int) -> None:
        self.source, self.options, self.size = source, options, size
        self.window = Window(source, max(size, FIRST_BYTES))
        self.text_bytes = self.rows_taken = 0
        if not self.window.fill():
            raise DataError(source.name, "there are no rows in it")
        self.delimiter, self.layout = self._lay_out()
        self.used = [c for c, kind in enumerate(self.layout.kinds) if kind != LEFT_OUT]
        self._clear()

    def _clear(self) -> None:
        self.rows = 0
        self.parts: dict[int, list[Any]] = {c: [] for c in self.used}

    def _lay_out(self) -> tuple[bytes, Layout]:
        """What the first rows say; a first row of names is passed over."""
        window, source = self.window, self.source
        while True:
            text = bytes(
                memoryview(window.buffer)[: min(window.stop, window.buffer.rfind(b"\n", 0, FIRST_BYTES) + 1 or window.stop)]
            )
            delimiter = sniff(text, format_of(source.path) if self.options.format is None else self.options.format)
            found: list[tuple[int, list[bytes], int]] = []
            try:
                for record in records(text, delimiter):
                    found.append(record)
                    if len(found) > FIRST_ROWS:
                        break
            except Unclosed as unclosed:
                if not found and len(text) == window.stop and window.fill(more=True):
                    continue
                if not found or (len(text) == window.stop and not window.fill(more=True)):
                    raise DataError(source.name, "the quote is not closed", window.line_at(unclosed.at)) from None
            except Misquoted as wrong:
                raise self._misquoted(wrong) from None
            break
        if not found:
            raise DataError(source.name, "there are no rows in it")
        for start, cells, _ in found:
            self._check_width(cells, len(found[0][1]), start)
        layout = lay_out(source.name, [cells for _, cells, _ in found], self.options)
        if layout.header:
            window.use(found[0][2])
        return delimiter, layout

    def read_block(self) -> bool:
        """Parse the next block; False at the end of the file."""
        window = self.window
        if not window.stop and not window.fill():
            return False
        self._plain(0, window.stop)
        return True

    def _plain(self, start: int, stop: int) -> None:
        window = self.window
        text = bytes(memoryview(window.buffer)[start:stop])
        rows: list[tuple[int, list[bytes]]] = []
        at = 0
        try:
            while at < len(text):
                cells, after = split_record(text, at, self.delimiter)
                if cells:
                    self._check_width(cells, len(self.layout.names), at)
                    rows.append((at, cells))
                at = after
        except Unclosed as unclosed:
            if not rows and not window.fill(more=True):
                raise DataError(self.source.name, "the quote is not closed", window.line_at(unclosed.at)) from None
        except Misquoted as wrong:
            raise self._misquoted(wrong) from None
        for c in self.used:
            self.parts[c].append(self._column(c, rows))
        self.rows += len(rows)
        window.use(at)

    def _column(self, c: int, rows: list[tuple[int, list[bytes]]]) -> Any:
        kind = self.layout.kinds[c]
        convert = self._number if kind == NUMBER else self._text
        values = [convert(cells[c], c, at) for at, cells in rows]
        if kind == NUMBER:
            return np.array(values, np.float64)
        column = np.empty(len(values), object)
        column[:] = values
        return column

    def _number(self, cell: bytes, c: int, at: int) -> float:
        value = number(cell)
        if value is not None and math.isfinite(value):
            return value
        if cell in MISSING:
            self._missing(c, at)
            return math.nan
        if value is not None or NOT_FINITE.fullmatch(cell):
            raise self._error(c, at, f"{shown(cell)} is not finite")
        name = self.layout.names[c]
        raise self._error(c, at, f"{shown(cell)} is not a number: say --categorical {name!r} if it is not meant to be one")

    def _text(self, cell: bytes, c: int, at: int) -> str | None:
        if cell in MISSING and self.layout.kinds[c] != FREE:
            self._missing(c, at)
            return None
        try:
            return cell.decode()
        except UnicodeDecodeError:
            raise self._error(c, at, f"{shown(cell)} is not UTF-8") from None

    def _missing(self, c: int, at: int) -> None:
        if c == self.layout.label:
            raise self._error(c, at, "the label is missing")
        if self.options.missing == "refuse":
            raise self._error(c, at, "the value is missing: say --missing mean to put the column's mean there")

    def _error(self, c: int, at: int, sentence: str) -> DataError:
        return DataError(self.source.name, sentence, self.window.line_at(at), self.layout.place(c))

    def _misquoted(self, wrong: Misquoted) -> DataError:
        column = wrong.at - self.window.buffer.rfind(b"\n", 0, wrong.at)
        return DataError(self.source.name, "there is something after a closing quote", self.window.line_at(wrong.at), column)

    def _check_width(self, cells: list[bytes], width: int, at: int) -> None:
        if len(cells) != width:
            sentence = f"the row has {len(cells):,} cells, where {width:,} are expected"
            raise DataError(self.source.name, sentence, self.window.line_at(at))

    def take(self) -> Data:
        """What has been read since the last time."""
        self.rows_taken += self.rows
        if not self.rows_taken:
            raise DataError(self.source.name, "there are no rows in it")
        layout = self.layout
        columns = {c: parts[0] if len(parts) == 1 else np.concatenate(parts) for c, parts in self.parts.items()}
        self._clear()
        table = Table(tuple(layout.names[c] for c in layout.features), tuple(columns[c] for c in layout.features))
        if layout.label is None:
            return Data(self.source.name, table, None, None, layout.note)
        return Data(self.source.name, table, columns[layout.label], layout.names[layout.label], layout.note)
