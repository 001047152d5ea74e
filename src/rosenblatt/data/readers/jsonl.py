"""JSON lines: one object per line; its keys are the columns.

Values are numbers, strings, booleans (read as 1 and 0) or null. A null or an absent key is a missing value. The columns are the
keys of the first 1,000 rows; the first value of a column decides whether it holds numbers or strings.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from ...array_types import Array
from ...reporting.text import byte_size, count, quoted_list
from ..table import Data, DataError, Loss, Table, loss_of, vanishes
from . import Options
from .cells import UTF8_ADVICE
from .layout import TYPED_SAMPLE_ROWS, TypedLayout, join_chunks, lay_out_typed, missing_cell
from .limits import MAX_EXPANSION, MEMORY_OPTION, MIN_EXPANDED_BYTES, MemoryLimit, limited
from .sources import Source
from .window import blocks

BLOCK_BYTES = 1 << 20  # bytes read at a time
MAX_SAMPLE_BYTES = 1 << 24  # size of the first rows, which decide the columns
MAX_COLUMNS = 100_000
BYTES_PER_CELL = 8
Row = tuple[int, int, dict[str, Any]]  # line number, size in bytes, object
MIN_NUMERAL_CHARS = 16  # of integers that a float may not hold
TINY = re.compile(rb"[eE]-0*[0-9]{3}|\.0{200}")  # in each line with a number that is 0 as a float, though it is not 0


class Numeral(float):
    """A number with its text: as a label or category it stays as written."""

    text: str

    def __new__(cls, text: str) -> Numeral:
        number = super().__new__(cls, text)
        number.text = text
        return number


NUMBER_TYPES, STRING_TYPES = {float, Numeral, bool, type(None)}, {str, type(None)}


def read_jsonl(source: Source, options: Options) -> Data:
    """Read all rows of a file."""
    return join_chunks(limited(jsonl_chunks(source, options, BLOCK_BYTES), MemoryLimit(source.name, options)))


def jsonl_chunks(source: Source, options: Options, size: int) -> Iterator[Data]:
    """Yield consecutive rows in chunks of about `size` bytes."""
    rows = _rows(source, options.as_written)
    first: list[Row] = []
    held = 0
    while len(first) < TYPED_SAMPLE_ROWS and held < MAX_SAMPLE_BYTES and (row := next(rows, None)) is not None:
        first.append(row)
        held += row[1]
    if not first:
        raise DataError(source.name, "the file has no rows")
    columns = _Columns(source.name, first, options)
    done = 0
    for chunk in _batches(itertools.chain(first, rows), size):
        yield columns.data(chunk, done)
        done += len(chunk)


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

    def __init__(self, source: str, first: list[Row], options: Options) -> None:
        self.source, self.options = source, options
        names = list(dict.fromkeys(key for _, _, row in first for key in row))
        if len(names) > MAX_COLUMNS:
            raise DataError(source, f"the first rows have {count(len(names))} distinct keys; the limit is {count(MAX_COLUMNS)}")
        self.known = frozenset(names)
        self.kinds: dict[str, type] = {}  # of the first value that is not missing
        for _, _, row in first:
            for name, value in row.items():
                if value is not None:
                    self.kinds.setdefault(name, type(value))
        self.layout: TypedLayout = lay_out_typed(source, names, options, lambda c: self._sample(names[c], first))
        self.as_strings = {names[c] for c in self.layout.as_strings}
        self.losses: dict[str, str] = {}

    def _check_size(self, rows: list[Row]) -> None:
        """Raise DataError if the table of some rows, most of whose cells are missing, is far larger than their text."""
        cells, size = len(rows) * len(self.layout.names), sum(size for _, size, _ in rows)
        most = self.options.max_memory or max(MIN_EXPANDED_BYTES, MAX_EXPANSION * size)
        if BYTES_PER_CELL * cells > most:
            sentence = f"as a table of {count(len(self.known))} keys, the rows take more than {byte_size(most)}"
            raise DataError(
                self.source, sentence, rows[0][0], option=MEMORY_OPTION, advice=f"if they are meant to, raise {MEMORY_OPTION}"
            )

    def data(self, rows: list[Row], first_row: int) -> Data:
        self._check_size(rows)
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
            self.source, Table(self.layout.names, features), labels, label, None, *columns, lines, first_row,
            numerals=numerals, losses=dict(self.losses),
        )  # fmt: skip

    def _is_number(self, name: str) -> bool:
        return self.kinds.get(name) is not str and name not in self.as_strings

    def _column(self, name: str, rows: list[Row], label: bool) -> Array:
        cells = [row.get(name) for _, _, row in rows]
        types = set(map(type, cells))
        if type(None) in types and (label or self.options.missing == "refuse"):
            raise missing_cell(self.source, name, rows[cells.index(None)][0], label=label)
        if not types <= NUMBER_TYPES | STRING_TYPES:
            line = next(line for (line, _, _), cell in zip(rows, cells, strict=True) if isinstance(cell, dict | list))
            sentence = "the value is an object or a list; only numbers, strings, true, false and null are allowed"
            raise DataError(self.source, sentence, line, name)
        if label or name in self.as_strings:  # labels stay as written
            return _strings([_as_string(cell) for cell in cells])
        number = self._is_number(name)
        if not types <= (NUMBER_TYPES if number else STRING_TYPES):
            self._mixed(name, rows, cells, number)
        if not number:
            return _strings(cells)
        values = np.array(cells, np.float64)
        if Numeral in types and name not in self.losses:
            lost = next((c.text for c in cells if isinstance(c, Numeral) and loss_of(c.text) is Loss.DIGITS), None)
            if lost is not None:
                self.losses[name] = lost
        if np.isinf(values).any():
            line = rows[int(np.flatnonzero(np.isinf(values))[0])][0]
            raise DataError(self.source, "the number is too large for a float", line, name)
        if self.options.as_written:
            return _strings([str(int(cell)) if isinstance(cell, bool) else _as_string(cell) for cell in cells])
        return values

    def _mixed(self, name: str, rows: list[Row], cells: list[Any], number: bool) -> NoReturn:
        wrong = STRING_TYPES if number else NUMBER_TYPES
        line = next(row[0] for row, cell in zip(rows, cells, strict=True) if cell is not None and type(cell) in wrong)
        kind = "a string, but the column is numeric" if number else "a number, but the column holds strings"
        advice = "use --categorical or --text for this column"
        raise DataError(self.source, f"the value is {kind}", line, name, option="--categorical", advice=advice)

    def _sample(self, name: str, first: list[Row]) -> Array:
        """The first cells of a column, for `looks_like_labels`; cells of the wrong type count as missing here."""
        cells = [row.get(name) for _, _, row in first]
        if self.kinds.get(name) is str:
            return _strings([cell if isinstance(cell, str) else None for cell in cells])
        return np.array([cell if isinstance(cell, float | bool) else np.nan for cell in cells], np.float64)


def _as_string(cell: object) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, Numeral):
        return cell.text
    return json.dumps(int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell)


def _strings(cells: list[Any]) -> Array:
    strings = np.empty(len(cells), object)
    strings[:] = cells
    return strings


def _rows(source: Source, as_written: bool) -> Iterator[Row]:
    parsers: dict[str, Any] = {"parse_int": Numeral, "parse_float": Numeral} if as_written else {"parse_int": _integer}
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, **parsers)
    exact = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, **({"parse_float": _fraction} | parsers))
    for first_line, block in blocks(source, BLOCK_BYTES):
        for line, raw in enumerate(block.split(b"\n"), first_line):
            if not raw.strip():
                continue
            yield line, len(raw) + 1, _parse(source.name, exact if TINY.search(raw) else decoder, raw, line)


def _integer(text: str) -> float:
    """Parse an integer: as a float, with its text if it may be too long for one."""
    return Numeral(text) if len(text) >= MIN_NUMERAL_CHARS else float(text)


def _fraction(text: str) -> float:
    """Parse a fraction: as a float, with its text if the float is 0 and the number is not."""
    return Numeral(text) if vanishes(text) else float(text)


def _parse(source: str, decoder: json.JSONDecoder, raw: bytes, line: int) -> dict[str, Any]:
    try:
        text = raw.decode()
        row = decoder.decode(text)
    except UnicodeDecodeError as fault:
        raise DataError(source, "the line is not UTF-8", line, character=fault.start + 1, advice=UTF8_ADVICE) from None
    except json.JSONDecodeError as fault:
        sentence = f"the line is not JSON: {fault.msg[0].lower()}{fault.msg[1:]}"
        raise DataError(source, sentence, line, character=fault.colno) from None
    except RecursionError:
        raise DataError(source, "the value is nested too deeply", line) from None
    except ValueError as fault:
        raise DataError(source, str(fault), line) from None
    if not isinstance(row, dict):
        raise DataError(source, 'the line is not an object such as {"size": 3, "label": "a"}', line)
    if "\\u" in text:
        _check_surrogates(source, row, line)
    return row


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:60]!r} is repeated")
    return row


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not allowed")


def _check_surrogates(source: str, row: dict[str, Any], line: int) -> None:
    """Raise DataError for a lone surrogate, which JSON can write but UTF-8 cannot encode."""
    for key, value in row.items():
        for text in (key, value):
            try:
                if isinstance(text, str):
                    text.encode()
            except UnicodeEncodeError:
                raise DataError(source, "a string contains half of a surrogate pair", line) from None
