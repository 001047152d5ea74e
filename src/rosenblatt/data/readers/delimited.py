"""CSV, TSV and the like: a `Table` of numbers and text, and labels.

What the columns are is decided by the first rows (`layout.py`); a later cell that does not fit is an error. `cells.py` defines
what a record is. The kernel reads records that are plainly right, ten and more times as fast; small files do without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..read_options import Options
from ..table import Data, DataError
from .cells import MisquotedError, UnclosedError, records, sniff, split_record
from .columns import Columns
from .layout import Layout, lay_out
from .sources import BLOCK, Source, Window, format_of

SMALL = 1 << 18  # bytes of a file that is parsed without the kernel
# At least so many rows and so many cells decide what the columns are; or ten times the cells, or so many bytes.
FIRST_ROWS, FIRST_CELLS, FIRST_BYTES = 100, 10_000, 1 << 20
COMMENT = ord("|")  # C4.5's files, such as UCI's adult.test, may begin with a remark


def read_delimited(source: Source, options: Options | None = None) -> Data:
    """The whole file."""
    reader = _Reader(source, options or Options(), BLOCK, whole=True)
    while reader.read_block():
        pass
    return reader.take()


def delimited_chunks(source: Source, options: Options | None = None, size: int = BLOCK) -> Iterator[Data]:
    """Rows of about `size` bytes of the file at a time."""
    reader = _Reader(source, options or Options(), size, whole=False)
    while reader.read_block():
        if reader.columns.rows:
            yield reader.take()


class _Reader:
    def __init__(self, source: Source, options: Options, size: int, whole: bool) -> None:
        self.source, self.options, self.size = source, options, size
        self.window = Window(source, max(size, FIRST_BYTES))
        self.text_bytes = 0
        if not self.window.fill():
            raise DataError(source.name, "there are no rows in it")
        self.delimiter, self.layout = self._lay_out()
        self.columns = Columns(self.window, self.layout, options, whole)

    def _lay_out(self) -> tuple[bytes, Layout]:
        """What the first rows say; a first row of names is passed over."""
        window = self.window
        if window.buffer[0] == COMMENT:
            window.use(window.buffer.index(b"\n") + 1)
        kind, some = self.options.format or format_of(self.source.path), FIRST_BYTES
        while True:
            whole_lines = window.buffer.rfind(b"\n", 0, some) + 1
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
                if not found:  # one record is longer than that
                    some *= 2
                    while window.stop < some and window.fill(more=True):
                        pass
                    if len(text) < window.stop:
                        continue
                    raise self._unclosed(unclosed.at) from None
            except MisquotedError as wrong:
                if not found:
                    raise self._misquoted(wrong.at) from None
            break
        if not found:
            raise DataError(self.source.name, "there are no rows in it")
        width = len(found[0][1])
        alike = next((k for k, (_, cells, _) in enumerate(found) if len(cells) != width), len(found))
        if alike == 1 < len(found):
            self._check_width(found[1][1], width, found[1][0])
        layout = lay_out(self.source.name, [cells for _, cells, _ in found[:alike]], self.options)
        if layout.header:
            window.use(found[0][2])
        return delimiter, layout

    def read_block(self) -> bool:
        """Parse the next block of about `size` bytes; False at the end of the file."""
        window = self.window
        if not window.stop and not window.fill():
            return False
        end = window.buffer.find(b"\n", min(self.size, window.stop) - 1, window.stop) + 1
        self.text_bytes += end
        used = self._plain(0, end) if self.text_bytes <= SMALL else self._fast(end)
        if not used and end == window.stop:
            if not window.fill(more=True):
                raise self._unclosed(0)
        elif not used:  # one record is longer than a block
            used = self._plain_record(0, window.stop)
            if not used and not window.fill(more=True):
                raise self._unclosed(0)
        window.use(used)
        return True

    def _plain(self, start: int, stop: int) -> int:
        """Parse by the definition; returns where it stopped, before a quote that stays open."""
        text = bytes(memoryview(self.window.buffer)[start:stop])
        rows: list[tuple[int, list[bytes]]] = []
        at, fault = 0, None
        try:
            while at < len(text):
                cells, after = split_record(text, at, self.delimiter)
                if cells:
                    self._check_width(cells, len(self.layout.names), start + at)
                    rows.append((start + at, cells))
                at = after
        except UnclosedError:
            pass
        except MisquotedError as wrong:
            fault = self._misquoted(start + wrong.at)
        except DataError as error:
            fault = error
        self.columns.add_rows(rows)  # what is wrong with these comes first
        if fault is not None:
            raise fault
        return start + at

    def _plain_record(self, start: int, stop: int) -> int:
        """Parse one record, or as many as are in the lines that it takes; returns where that ends, `start` if nowhere."""
        some = 1
        while True:
            end = self.window.buffer.find(b"\n", min(start + some, stop) - 1, stop) + 1
            used = self._plain(start, end)
            if used > start or end == stop:
                return used
            some = 2 * (end - start)

    def _fast(self, stop: int) -> int:
        """Parse by the kernel, and records at which it stops by the definition."""
        from ...kernels.parsing.delimited import delimited_rows

        at, delimiter = 0, np.uint8(self.delimiter[0])
        scratch = self.columns.scratch(self.window.count(b"\n", stop))
        while at < stop:
            scratch.clear()
            text: Any = np.frombuffer(self.window.buffer, np.uint8)
            after = int(delimited_rows(text, at, stop, delimiter, *scratch))
            del text  # a buffer that is seen cannot grow
            if not self.columns.add_scratch(scratch):
                self._plain(at, after)  # says what is wrong with the first cell that is
            if after < stop and scratch.done[0] < scratch.numbers.shape[1]:
                at, after = after, self._plain_record(after, stop)
                if after == at:
                    break
            at = after
        return at

    def _check_width(self, cells: list[bytes], width: int, at: int) -> None:
        if len(cells) != width:
            sentence = f"the row has {len(cells):,} cells, where {width:,} are expected"
            raise DataError(self.source.name, sentence, self.window.line_at(at))

    def _unclosed(self, at: int) -> DataError:
        return DataError(self.source.name, "a quote is opened that is not closed", self.window.line_at(at))

    def _misquoted(self, at: int) -> DataError:
        column = at - self.window.buffer.rfind(b"\n", 0, at)
        return DataError(self.source.name, "there is something after a closing quote", self.window.line_at(at), column)

    def take(self) -> Data:
        """What has been read since the last time."""
        table, labels = self.columns.take()
        layout = self.layout
        name = None if layout.label is None else layout.names[layout.label]
        return Data(self.source.name, table, labels, name, layout.note, layout.text, layout.categorical, layout.names)
