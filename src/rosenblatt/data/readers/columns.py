"""The columns of a table while they are read: cells become numbers or text, or are refused."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..read_options import Options
from ..table import NOT_FINITE, DataError, Table, number, shown
from .cells import MISSING
from .layout import FREE, LEFT_OUT, NUMBER, Layout
from .sources import Window, ahead, enlarged, room_for

ODD_CELLS = 1 << 12  # that a kernel leaves to Python at a time
DIFFERENT = 1 << 10  # cells of a text column that a kernel tells from each other
SCRATCH = 1 << 18  # numbers that a kernel writes at a time: they stay in a core's cache


class Scratch(NamedTuple):
    """The kernel's arguments; see there."""

    plan: Any
    numbers: Any
    odd: Any
    spans: Any
    codes: Any
    slots: Any
    firsts: Any
    counts: Any
    done: Any

    def clear(self) -> None:
        self.slots[:] = -1
        self.counts[:] = 0


def _objects(words: list[str | None]) -> Any:
    column = np.empty(len(words), object)
    column[:] = words
    return column


class Columns:
    def __init__(self, window: Window, layout: Layout, options: Options, whole: bool) -> None:
        self.window, self.layout, self.options, self.whole = window, layout, options, whole
        self.numbers = [c for c, kind in enumerate(layout.kinds) if kind == NUMBER]
        self.texts = [c for c, kind in enumerate(layout.kinds) if kind not in (NUMBER, LEFT_OUT)]
        self._places = {c: place for place, c in enumerate(self.numbers)}
        self._used = [(c, kind == NUMBER) for c, kind in enumerate(layout.kinds) if kind != LEFT_OUT]
        self._recurring = set(self.texts)  # text columns of which a stretch has few different cells
        self._taken = 0
        self._clear()

    def _clear(self) -> None:
        self.rows = 0
        self._values: dict[int, Any] = {c: np.empty(0) for c in self.numbers}
        self._words: dict[int, list[Any]] = {c: [] for c in self.texts}

    def add_rows(self, rows: list[tuple[int, list[bytes]]]) -> None:
        """Rows of cells, with where each row starts in the window; the first cell that is wrong, row by row, is reported."""
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
        """What the kernel is told of the columns, and where it puts what it finds."""
        self._reserve(self.rows + rows)
        most = max(1, min(rows, SCRATCH // max(1, len(self.numbers) + 3 * len(self.texts))))
        plan = np.zeros((len(self.layout.kinds), 3), np.int64)
        plan[:, 0] = 2
        for place, c in enumerate(self.numbers):
            plan[c] = 0, place, self.options.missing != "refuse" and c != self.layout.label
        for place, c in enumerate(self.texts):
            plan[c] = 1, place, c in self._recurring
        n = len(self.texts)
        return Scratch(
            plan, np.empty((len(self.numbers), most)), np.empty((ODD_CELLS, 4), np.int64), np.empty((n, most, 2), np.int64),
            np.empty((n, most), np.int64), np.empty((n, 2 * DIFFERENT), np.int32), np.empty((n, DIFFERENT, 2), np.int64),
            np.empty(n, np.int64), np.zeros(2, np.int64),
        )  # fmt: skip

    def add_scratch(self, scratch: Scratch) -> bool:
        """What the kernel left; False, and nothing added, where a cell is wrong."""
        n = int(scratch.done[0])
        words: list[Any] = []
        try:
            for c, row, start, stop in scratch.odd[: scratch.done[1]].tolist():
                scratch.numbers[self._places[c], row] = self._number(bytes(self.window.buffer[start:stop]), c, start)
            for place, c in enumerate(self.texts):
                if c in self._recurring and scratch.counts[place] <= DIFFERENT:
                    different = self._decoded(c, scratch.firsts[place, : scratch.counts[place]])
                    words.append(different[scratch.codes[place, :n]])
                else:
                    self._recurring.discard(c)
                    scratch.plan[c, 2] = 0
                    words.append(self._decoded(c, scratch.spans[place, :n]))
        except DataError:
            return False
        for c, found in zip(self.texts, words, strict=True):
            self._words[c].append(found)
        self._add_numbers(scratch.numbers, n)
        self.rows += n
        return True

    def _decoded(self, c: int, spans: Any) -> Any:
        """The text between such ends, in ascending order."""
        found: list[str | None] = []
        if len(spans):
            origin = int(spans[0, 0])
            text = bytes(memoryview(self.window.buffer)[origin : int(abs(spans[-1, 1]))])
            for start, stop in zip((spans[:, 0] - origin).tolist(), spans[:, 1].tolist(), strict=True):
                cell = text[start : stop - origin] if stop >= 0 else text[start : -stop - origin].replace(b'""', b'"')
                found.append(self._word(cell, c, start + origin))
        return _objects(found)

    def _reserve(self, rows: int) -> None:
        """Room for so many rows, and for the rest of the file if it is read whole."""
        times = ahead(self.window.source) if self.whole else 1.0
        for c, values in self._values.items():
            if rows > len(values):
                self._values[c] = enlarged(values, room_for(rows, len(values), times))

    def _add_numbers(self, numbers: Any, n: int) -> None:
        self._reserve(self.rows + n)
        for place, c in enumerate(self.numbers):
            self._values[c][self.rows : self.rows + n] = numbers[place, :n]

    def _number(self, cell: bytes, c: int, at: int) -> float:
        cell = cell.strip()
        value = number(cell)
        if value is not None and math.isfinite(value):
            return value
        if cell in MISSING:
            self._missing(c, at)
            return math.nan
        if value is not None or NOT_FINITE.fullmatch(cell):
            raise self._error(c, at, f"{shown(cell)} is not finite")
        hint = (
            ""
            if self.options.wanted is not None
            else f": say --categorical {self.layout.names[c]!r} if it is not meant to be one"
        )
        raise self._error(c, at, f"{shown(cell)} is not a number{hint}")

    def _word(self, cell: bytes, c: int, at: int) -> str | None:
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
        return DataError(self.window.source.name, sentence, self.window.line_at(at), self.layout.place(c))

    def take(self) -> tuple[Table, Any]:
        """The table and the labels of what has been added since the last time."""
        self._taken += self.rows
        if not self._taken:
            raise DataError(self.window.source.name, "there are no rows in it")
        columns: dict[int, Any] = {}
        for c in self.numbers:
            columns[c] = enlarged(self._values[c], self.rows) if len(self._values[c]) > self.rows else self._values[c]
        for c in self.texts:
            parts = self._words.pop(c)
            columns[c] = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, object), *parts])
        self._clear()
        layout = self.layout
        table = Table(tuple(layout.names[c] for c in layout.features), tuple(columns[c] for c in layout.features))
        return table, None if layout.label is None else columns[layout.label]
