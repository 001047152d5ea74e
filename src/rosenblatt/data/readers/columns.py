"""The cells of a delimited file, collected column by column: numbers as floats, or as written, and text."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...array_types import Array, FloatArray, IntArray
from ..table import MIN_LOST_DIGITS, DataError, Table, loss_of, vanishes
from . import Options
from .cells import ENCODING_ADVICE, ENCODING_OPTION, MISSING, NON_FINITE, SHORT_NUMBER, parse_number, quote_token
from .dates import DESCRIPTIONS, DateForm
from .kinds import Form, Kind, number_option
from .layout import (
    EMPTY_ADVICE,
    LABEL_ADVICE,
    LABEL_OPTION,
    Layout,
    missing_cell,
    other_kind_advice,
)
from .limits import BYTES_PER_TEXT, MemoryLimit
from .notation import NumberForm, split_number
from .window import Window, expected_growth, grow_array, grown_size

# First words of the line of a total, below the rows.
TOTALS = frozenset(("total", "totals", "subtotal", "sum", "summe", "gesamt", "average", "mean", "count", "grand"))
MAX_DEFERRED_CELLS = 1 << 12  # numeric cells per kernel call that are left to Python
# Distinct cells of a text column up to which a kernel call encodes them: fewer if there are many columns.
MIN_DISTINCT_CELLS, MAX_DISTINCT_CELLS = 4, 1 << 10
CELLS_PER_CALL = 1 << 18  # cells that a kernel call writes: they fit into the cache of a core


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

    limit : the memory that all rows may take, if the whole file is read; arrays are then allocated for all of them.
    """

    def __init__(self, window: Window, layout: Layout, options: Options, limit: MemoryLimit | None) -> None:
        self.window, self.layout, self.options, self.limit = window, layout, options, limit
        numeric = {c for c, kind in enumerate(layout.kinds) if kind == Kind.NUMBER}
        self.numbers = [] if options.as_written else sorted(numeric)
        self._forms = layout.forms
        if options.as_written:  # dates stay text
            self._forms = {c: form for c, form in layout.forms.items() if isinstance(form, NumberForm)}
            numeric |= set(self._forms)
        self.numerals = tuple(layout.names[c] for c in sorted(numeric)) if options.as_written else ()
        self._places = {c: place for place, c in enumerate(self.numbers)}
        self._used = [(c, c in self._places) for c, kind in enumerate(layout.kinds) if kind != Kind.UNUSED]
        self.texts = [c for c, is_number in self._used if not is_number]  # located by the kernel, read by Python
        self._recurring = set(self.texts)  # text columns with few distinct cells in each block
        self._rows_taken = 0
        self.losses: dict[str, str] = {}
        self._clear()

    def _clear(self) -> None:
        self.rows = self._text_bytes = 0
        self._values: dict[int, Any] = {c: np.empty(0) for c in self.numbers}
        self._words: dict[int, list[Any]] = {c: [] for c in self.texts}

    def add_rows(self, rows: list[tuple[int, list[bytes]]]) -> None:
        """Add rows of cells, each with its start in the window; raises DataError for the first invalid cell."""
        if not rows:
            return
        numbers: list[Any] = []
        words: dict[int, list[Any]] = {c: [] for c in self.texts}
        for at, cells in rows:
            for c, is_number in self._used:
                if is_number:
                    numbers.append(self._number(cells[c], c, at))
                else:
                    words[c].append(self._content(cells[c], c, at))
        for c in self.texts:
            self._words[c].append(self._array(words[c], c))
        self._add_numbers(np.array(numbers).reshape(len(rows), -1).T, len(rows))
        self.rows += len(rows)

    def scratch(self, rows: int) -> Scratch:
        """The description of the columns for the kernel, and its output arrays for up to `rows` rows."""
        self._reserve(self.rows + rows)
        n_rows = max(1, min(rows, CELLS_PER_CALL // max(1, len(self.numbers) + 3 * len(self.texts))))
        plan = np.zeros((len(self.layout.kinds), 3), np.int64)
        plan[:, 0] = 2  # unused
        for place, c in enumerate(self.numbers):
            lost = self.layout.names[c] in self.losses  # the kernel need not look for more
            plan[c] = 0, place, (self.options.missing != "refuse" and c != self.layout.label) + 2 * lost
        for place, c in enumerate(self.texts):
            plan[c] = 1, place, c in self._recurring
        n = len(self.texts)
        distinct = MAX_DISTINCT_CELLS
        while distinct > MIN_DISTINCT_CELLS and n * distinct > CELLS_PER_CALL * 8:
            distinct //= 2
        return Scratch(
            plan=plan,
            numbers=np.empty((len(self.numbers), n_rows)),
            deferred=np.empty((MAX_DEFERRED_CELLS, 4), np.int64),
            spans=np.empty((n, n_rows, 2), np.int64),
            codes=np.empty((n, n_rows), np.int64),
            slots=np.empty((n, 2 * distinct), np.int32),
            firsts=np.empty((n, distinct, 2), np.int64),
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
                if c in self._recurring and scratch.counts[place] <= scratch.firsts.shape[1]:
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
        words: list[Any] = []
        plain = c not in self._forms and self.layout.kinds[c] != Kind.NUMBER
        if len(spans):
            origin = int(spans[0, 0])
            text = bytes(memoryview(self.window.buffer)[origin : int(abs(spans[-1, 1]))])
            for start, stop in zip((spans[:, 0] - origin).tolist(), spans[:, 1].tolist(), strict=True):
                cell = text[start : stop - origin] if stop >= 0 else text[start : -stop - origin].replace(b'""', b'"')
                try:
                    words.append(cell.decode() if plain and cell not in MISSING else self._content(cell, c, start + origin))
                except UnicodeDecodeError:
                    words.append(self._content(cell, c, start + origin))  # raises the error of the cell
            self._text_bytes += len(text) // max(1, len(self.layout.kinds)) + BYTES_PER_TEXT * len(words)
        return self._array(words, c)

    def _array(self, contents: list[Any], c: int) -> Array:
        return np.array(contents, np.float64) if c in self._forms and not self.options.as_written else _objects(contents)

    def _content(self, cell: bytes, c: int, at: int) -> float | str | None:
        """The content of a cell of text, a date or a formatted number."""
        form = self._forms.get(c)
        if form is None:
            return self._word(cell, c, at)
        value = self._formatted(cell, form, c, at)
        if not isinstance(form, NumberForm) or not self.options.as_written:
            return value
        return None if math.isnan(value) else form.plain(cell.strip().decode("utf-8", "replace"))

    def _reserve(self, rows: int) -> None:
        """Allocate arrays for `rows` rows or, if the whole file is read, for the number of rows it is expected to have."""
        growth = expected_growth(self.window.source) if self.limit is not None else 1.0
        if self.limit is not None:
            self.limit.check(8 * rows * (len(self.numbers) + len(self.texts)) + self._text_bytes)
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
            self._note_loss(cell.decode(), c)
            return value
        if cell in MISSING:
            self._missing(c, at)
            return math.nan
        form = self._forms.get(c)
        if form is not None and value is None:
            return self._formatted(cell, form, c, at)
        if value is not None or NON_FINITE.fullmatch(cell):
            raise self._error(c, at, f"{quote_token(cell)} is not finite", advice=EMPTY_ADVICE)
        raise self._misfit(cell, c, at, f"{quote_token(cell)} is not a number, but the column is numeric")

    def _note_loss(self, number: str, c: int) -> None:
        """Keep the first number of a column that loses something, but rather one that is 0 as a float."""
        if loss_of(number) is not None:
            name = self.layout.names[c]
            if name not in self.losses or vanishes(number):
                self.losses[name] = number

    def _formatted(self, cell: bytes, form: Form, c: int, at: int) -> float:
        """The value of a cell in a column of dates or formatted numbers."""
        value = form.value(cell.strip().decode("utf-8", "replace"))
        if value is not None and math.isfinite(value):
            if isinstance(form, NumberForm) and len(cell) >= MIN_LOST_DIGITS:
                self._note_loss(form.plain(cell.strip().decode("utf-8", "replace")) or "", c)
            return value
        if cell.strip() in MISSING:
            self._missing(c, at)
            return math.nan
        if value is not None:
            raise self._error(c, at, f"{quote_token(cell)} is not finite", advice=EMPTY_ADVICE)
        if form.kind == "number":
            sentence = f"{quote_token(cell)} is not a number like the others of the column ({form.describe()})"
        else:
            sentence = f"{quote_token(cell)} is not a {form.kind}, but the column holds {form.describe()}"
        raise self._misfit(cell, c, at, sentence)

    def _misfit(self, cell: bytes, c: int, at: int, sentence: str) -> DataError:
        """The error for a cell of another kind than its column."""
        name, text, form = self.layout.names[c], cell.strip().decode("utf-8", "replace"), self._forms.get(c)
        of_model = self.options.required is not None  # whose training file may have another order of dates
        if of_model and isinstance(form, DateForm) and (order := form.other_order(text)):
            advice = f"use --dates {order} if the column has the {DESCRIPTIONS[order]}"
            return self._error(c, at, sentence, f"--dates {order}", advice)
        option = number_option(text, form, self.options.decimal)
        if option is not None:
            return self._error(c, at, sentence, option, f"use {option} if it is one")
        if self.options.required is not None and isinstance(form, NumberForm) and form.percent and split_number(text):
            return self._error(c, at, sentence, advice="write it with %, as in the training file")
        if text == name:
            return self._error(c, at, sentence, advice="delete the line if it repeats the header")
        if text.partition(" ")[0].strip(":").casefold() in TOTALS:
            return self._error(c, at, sentence, advice="delete the line if it is a total")
        if self.options.required is not None:
            return self._error(c, at, sentence, advice=EMPTY_ADVICE)
        alike = split_number(text) is not None and not isinstance(self._forms.get(c), DateForm)
        return self._error(c, at, sentence, f"--categorical {name!r}", other_kind_advice(name, alike))

    def _word(self, cell: bytes, c: int, at: int) -> str | None:
        if cell in MISSING and self.layout.kinds[c] != Kind.FREE_TEXT and cell in self.layout.missing.get(c, MISSING):
            self._missing(c, at, cell)
            return None
        if self.layout.kinds[c] == Kind.NUMBER and not SHORT_NUMBER.fullmatch(cell):
            self._number(cell, c, at)  # raises the error of a cell that is not a number
        try:
            return cell.decode()
        except UnicodeDecodeError:
            raise self._error(c, at, "the cell is not UTF-8", ENCODING_OPTION, ENCODING_ADVICE) from None

    def _missing(self, c: int, at: int, cell: bytes = b"") -> None:
        if c == self.layout.label and cell:
            advice = "delete the rows without a label, or write it otherwise if it is a class"
            raise self._error(c, at, f"{quote_token(cell)} stands for a missing label", LABEL_OPTION, advice)
        if c == self.layout.label:
            raise self._error(c, at, "the label is missing", LABEL_OPTION, LABEL_ADVICE)
        if self.options.missing == "refuse":
            line, model = self.window.line_at(at), self.options.required is not None
            raise missing_cell(self.window.source.name, self.layout.place(c), line, model=model)

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
            columns[c] = parts[0] if len(parts) == 1 else np.concatenate(parts or [self._array([], c)])
        self._clear()
        layout = self.layout
        table = Table(tuple(layout.names[c] for c in layout.features), tuple(columns[c] for c in layout.features))
        return table, None if layout.label is None else columns[layout.label]
