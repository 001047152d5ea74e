"""JSON: rows are objects (see `json_rows.py`), and their keys the columns.

Values are numbers, strings, booleans (read as 1 and 0) or null. Null, NaN, an absent key, and words such as "N/A" are missing
values. The columns are the keys of the first 1,000 rows; the first value of a column decides whether it holds numbers or
strings, and the strings of these rows whether they are dates or formatted numbers (see `typed_layout.py`).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ...array_types import Array
from ...reporting.text import byte_size, count, quoted_list
from ..table import Data, DataError, Loss, Table, loss_of
from . import Options
from .cells import MISSING
from .json_rows import BLOCK_BYTES, Numeral, Row, Rows, as_string
from .kinds import Form
from .layout import join_chunks, missing_cell, other_kind_advice
from .limits import MAX_EXPANSION, MEMORY_OPTION, MIN_EXPANDED_BYTES, MemoryLimit, limited
from .notation import NumberForm
from .sources import Source
from .typed_layout import BLANKS, TYPED_SAMPLE_ROWS, TypedLayout, lay_out_typed, value_of

MAX_SAMPLE_BYTES = 1 << 24  # size of the first rows, which decide the columns
MAX_COLUMNS = 100_000
BYTES_PER_CELL = 8
MISSING_STRINGS = frozenset(cell.decode() for cell in MISSING)
NUMBER_TYPES: set[type] = {float, Numeral, bool, type(None)}
STRING_TYPES: set[type] = {str, type(None)}


class JsonForm(NamedTuple):
    """What the first rows of a file decide, for other files of the same form, or for parts of a file."""

    source: str  # the file
    columns: _Columns


def read_jsonl(source: Source, options: Options) -> Data:
    """Read all rows of a file."""
    return join_chunks(limited(jsonl_chunks(source, options, BLOCK_BYTES), MemoryLimit(source.name, options)))


def form_of_jsonl(source: Source, options: Options) -> JsonForm:
    """The form of a file, by its first rows."""
    read = Rows(source, options)
    columns, _ = _first_columns(source.name, read, iter(read), options)
    return JsonForm(source.name, columns)


def jsonl_chunks(
    source: Source, options: Options, size: int, form: JsonForm | None = None, inside: bool = False
) -> Iterator[Data]:
    """Yield consecutive rows in chunks of about `size` bytes.

    form : that of another file, which decides how this one is read; it may have no rows.
    inside : whether the text begins within a file that has a row per line.
    """
    read = Rows(source, options, None if form is None else form.columns.containers)
    rows = read.lines() if inside else iter(read)
    if form is None:
        columns, first = _first_columns(source.name, read, rows, options)
        rows = itertools.chain(first, rows)
    else:
        columns = form.columns.of_another(source.name, read.containers)
    done = 0
    for chunk in _batches(rows, size):
        yield columns.data(chunk, done)
        done += len(chunk)


def _first_columns(source: str, read: Rows, rows: Iterator[Row], options: Options) -> tuple[_Columns, list[Row]]:
    """The columns by the first rows, and these rows."""
    first: list[Row] = []
    held = 0
    while len(first) < TYPED_SAMPLE_ROWS and held < MAX_SAMPLE_BYTES and (row := next(rows, None)) is not None:
        first.append(row)
        held += row[1]
    if not first:
        raise DataError(source, "the file has no rows")
    if len(first) == 1 and options.required is None:
        _check_not_columns(source, first[0], read.containers)
    return _Columns(source, first, options, read.containers), first


def _check_not_columns(source: str, row: Row, containers: Mapping[str, object]) -> None:
    """Raise DataError if the only object of a file has the columns of a table as arrays or objects of equal length."""
    line, _, cells = row
    parts = [frozenset(key.removeprefix(f"{name}.") for key in cells if key.startswith(f"{name}.")) for name in containers]
    if len(parts) > 1 and len(parts[0]) > 1 and set(parts) == {parts[0]} and len(cells) == len(parts) * len(parts[0]):
        advice = "write one object per row, as pandas does with to_json(FILE, orient='records', lines=True)"
        raise DataError(source, "the file is one object of columns, not of rows", line, advice=advice)


def _batches(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    held = 0
    for row in rows:
        chunk.append(row)
        held += row[1]
        if held >= size:
            yield chunk
            chunk, held = [], 0
    if chunk:
        yield chunk


class _Columns:
    """The columns of a file and their types, which the first rows decide."""

    def __init__(self, source: str, first: list[Row], options: Options, containers: Mapping[str, int | None]) -> None:
        self.source, self.options = source, options
        names = list(dict.fromkeys(key for _, _, row in first for key in row))
        if len(names) > MAX_COLUMNS:
            raise DataError(source, f"the first rows have {count(len(names))} distinct keys; the limit is {count(MAX_COLUMNS)}")
        self.kinds: dict[str, type] = {}  # of the first value that is not missing
        for _, _, row in first:
            for name, value in row.items():
                if value is not None and not (isinstance(value, str) and value.strip(BLANKS) in MISSING_STRINGS):
                    self.kinds.setdefault(name, type(value))
        self.containers = containers
        self._check_containers(first)
        names = [name for name in names if name not in containers]  # null in place of an object
        self.known = frozenset((*names, *containers))
        if options.required is None and options.dates != "ignore":  # at once, because the layout looks at every cell
            self._check_size(first, len(names) - len(options.ignore))
        self.layout: TypedLayout = lay_out_typed(source, names, options, lambda c: self._sample(names[c], first))
        self.as_strings = {names[c] for c in self.layout.as_strings}
        self.losses: dict[str, str] = {}
        truths = [name for name in self.layout.names if name not in self.as_strings and self._is_truth(name, first)]
        self.forms: dict[str, Form] = {**self.layout.unusual, **dict.fromkeys(truths, NumberForm(truth=True))}
        self.dates = {} if options.as_written else {name: str(form.kind) for name, form in self.layout.dates.items()}

    def of_another(self, source: str, containers: Mapping[str, int | None]) -> _Columns:
        """The same columns of another file."""
        other = copy.copy(self)
        other.source, other.containers, other.losses = source, containers, {}
        return other

    def _check_size(self, rows: list[Row], width: int) -> None:
        """Raise DataError if the table of some rows, most of whose cells are missing, is far larger than their text."""
        cells, size = len(rows) * width, sum(size for _, size, _ in rows)
        most = self.options.max_memory or max(MIN_EXPANDED_BYTES, MAX_EXPANSION * size)
        if BYTES_PER_CELL * cells > most:
            sentence = f"as a table of {count(len(self.known))} keys, the rows take more than {byte_size(most)}"
            raise DataError(
                self.source, sentence, rows[0][0], option=MEMORY_OPTION, advice=f"if they are meant to, raise {MEMORY_OPTION}"
            )

    def _check_containers(self, rows: list[Row]) -> None:
        """Raise DataError for a column that is a number or a string in some rows, and an object or an array in others."""
        for name in self.containers:
            if name in self.kinds:
                raise DataError(self.source, "the value is an object or an array in some rows, and not in others", column=name)
            line = next((line for line, _, row in rows if row.get(name) is not None), None)
            if line is not None:
                raise DataError(self.source, "the value is no object or array, but is one in other rows", line, name)

    def data(self, rows: list[Row], first_row: int) -> Data:
        self._check_size(rows, len(self.layout.names))
        self._check_containers(rows)
        for line, _, row in rows:
            if not row.keys() <= self.known and self.options.required is None:
                key = next(key for key in row if key not in self.known)
                sentence = f"the first rows do not have this key; their keys are {quoted_list(sorted(self.known))}"
                raise DataError(self.source, sentence, line, key)
        features = tuple(self._column(name, rows, False) for name in self.layout.names)
        label = self.layout.label_name
        labels = None if label is None else self._column(label, rows, True)
        columns = (self.layout.text, self.layout.categorical, self.layout.headers)
        lines = [line for line, _, _ in rows]
        numerals = tuple(name for name in self.layout.names if self.options.as_written and self._is_number(name))
        return Data(
            self.source, Table(self.layout.names, features), labels, label, self.layout.note, *columns, lines, first_row,
            numerals=numerals, losses=dict(self.losses), dates=self.dates, forms=self.forms,
        )  # fmt: skip

    def _is_truth(self, name: str, first: list[Row]) -> bool:
        """Whether the first cells of a column are true or false."""
        return self.kinds.get(name) is bool and {type(row.get(name)) for _, _, row in first} <= {bool, type(None)}

    def _is_number(self, name: str) -> bool:
        if isinstance(self.layout.forms.get(name), NumberForm):
            return True
        return self.kinds.get(name) is not str and name not in self.as_strings and name not in self.layout.dates

    def _column(self, name: str, rows: list[Row], label: bool) -> Array:
        cells, missing = [row.get(name) for _, _, row in rows], self.layout.missing.get(name)
        types = set(map(type, cells))
        if str in types and missing:
            cells = [None if isinstance(cell, str) and cell.strip(BLANKS) in missing else cell for cell in cells]
            types = set(map(type, cells))
        if type(None) in types:
            self._check_missing(name, rows, cells, label)
        if label or name in self.as_strings:  # labels stay as written
            return _strings([as_string(cell) for cell in cells])
        self._check_types(name, rows, cells, types)
        if name in self.layout.dates and self.options.as_written:
            return _strings(cells)
        if str in types and name in self.layout.forms:
            cells = self._read_strings(name, rows, cells)
        elif not self._is_number(name) and name not in self.layout.dates:
            return _strings(cells)
        values = np.array(cells, np.float64)
        if Numeral in set(map(type, cells)) and name not in self.losses:
            lost = next((c.text for c in cells if isinstance(c, Numeral) and loss_of(c.text) is Loss.DIGITS), None)
            if lost is not None:
                self.losses[name] = lost
        if np.isinf(values).any():
            line = rows[int(np.flatnonzero(np.isinf(values))[0])][0]
            raise DataError(self.source, "the number is too large for a float", line, name)
        if self.options.as_written:
            return _strings([str(int(cell)) if isinstance(cell, bool) else as_string(cell) for cell in cells])
        return values

    def _check_types(self, name: str, rows: list[Row], cells: list[Any], types: set[type]) -> None:
        """Raise DataError if a column has strings and numbers; a model takes both where it reads numbers."""
        number, form = self._is_number(name), self.layout.forms.get(name)
        allowed = NUMBER_TYPES if number and form is None else STRING_TYPES
        if isinstance(form, NumberForm) and self.options.required is not None:
            allowed = NUMBER_TYPES | STRING_TYPES
        if not types <= allowed:
            self._mixed(name, rows, cells, allowed)

    def _check_missing(self, name: str, rows: list[Row], cells: Sequence[object], label: bool = False) -> None:
        """Raise DataError for the first None among some cells, if it may not be missing."""
        if label or self.options.missing == "refuse":
            model = self.options.required is not None
            raise missing_cell(self.source, name, rows[cells.index(None)][0], label=label, model=model)

    def _read_strings(self, name: str, rows: list[Row], cells: list[Any]) -> list[Any]:
        """The cells of a column of dates or formatted numbers, with numbers in place of strings."""
        form, found = self.layout.forms[name], list(cells)
        for at, cell in enumerate(cells):
            if isinstance(cell, str):
                try:
                    found[at] = value_of(cell, form)
                except ValueError as fault:
                    advice = other_kind_advice(name)
                    raise DataError(self.source, str(fault), rows[at][0], name, option="--categorical", advice=advice) from None
                if isinstance(form, NumberForm):  # with its digits
                    found[at] = Numeral(form.plain(cell.strip(BLANKS)) or "")
        return found

    def _mixed(self, name: str, rows: list[Row], cells: list[Any], allowed: set[type]) -> NoReturn:
        line = next(row[0] for row, cell in zip(rows, cells, strict=True) if type(cell) not in allowed)
        kind = "a string, but the column is numeric" if str not in allowed else "a number, but the column holds strings"
        advice = "use --categorical or --text for this column"
        raise DataError(self.source, f"the value is {kind}", line, name, option="--categorical", advice=advice)

    def _sample(self, name: str, first: list[Row]) -> Array:
        """The first cells of a column, for `looks_like_labels`; cells of the wrong type count as missing here."""
        cells = [row.get(name) for _, _, row in first]
        if self.kinds.get(name) is str:
            return _strings([cell if isinstance(cell, str) else None for cell in cells])
        return np.array([cell if isinstance(cell, float | bool) else np.nan for cell in cells], np.float64)


def _strings(cells: list[Any]) -> Array:
    strings = np.empty(len(cells), object)
    strings[:] = cells
    return strings
