"""JSON lines: one object a line, whose keys are columns.

Values are numbers, strings, true and false (1 and 0), null (missing; so is a key that is not there). The columns are the keys
of the first 1,000 rows, and a column is numbers or strings as its first value is.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from ...reporting.text import quoted_list
from ..read_options import Options
from ..table import Data, DataError, Table
from .layout import SAMPLE, TypedLayout, joined, lay_out_typed, missing_cell
from .sources import Source, blocks

BLOCK = 1 << 20  # bytes that are read at once
SAMPLE_BYTES = 1 << 24  # of the first rows, where they are long
MOST_COLUMNS = 100_000
Row = tuple[int, int, dict[str, Any]]  # line, bytes, the object
NUMBER, STRING = {float, int, bool, type(None)}, {str, type(None)}


def read_jsonl(source: Source, options: Options) -> Data:
    return joined(list(jsonl_chunks(source, options, BLOCK)))


def jsonl_chunks(source: Source, options: Options, size: int) -> Iterator[Data]:
    """Consecutive rows, about `size` bytes at a time."""
    rows = _rows(source)
    first: list[Row] = []
    held = 0
    while len(first) < SAMPLE and held < SAMPLE_BYTES and (row := next(rows, None)) is not None:
        first.append(row)
        held += row[1]
    if not first:
        raise DataError(source.name, "there are no rows")
    columns = _Columns(source.name, first, options)
    for chunk in _cut(itertools.chain(first, rows), size):
        yield columns.data(chunk)


def _cut(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
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
    """What the first rows say of all."""

    def __init__(self, source: str, first: list[Row], options: Options) -> None:
        self.source, self.options = source, options
        names = list(dict.fromkeys(key for _, _, row in first for key in row))
        if len(names) > MOST_COLUMNS:
            raise DataError(source, f"the first rows have {len(names):,} different keys; the limit is {MOST_COLUMNS:,}")
        self.known = frozenset(names)
        self.kinds = {name: next((type(row[name]) for _, _, row in first if row.get(name) is not None), None) for name in names}
        self.layout: TypedLayout = lay_out_typed(source, names, options, lambda i: self._sampled(names[i], first))
        self.written = {names[i] for i in self.layout.written}

    def data(self, rows: list[Row]) -> Data:
        for line, _, row in rows:
            if not row.keys() <= self.known and self.options.wanted is None:
                key = next(key for key in row if key not in self.known)
                raise DataError(
                    self.source, f"the key is new: the first rows have {quoted_list(sorted(self.known))}", line, key
                )
        features = tuple(self._column(name, rows, False) for name in self.layout.names)
        label = self.layout.label_name
        labels = None if label is None else self._column(label, rows, True)
        said = (self.layout.text, self.layout.categorical, self.layout.headers)
        return Data(self.source, Table(self.layout.names, features), labels, label, None, *said)

    def _column(self, name: str, rows: list[Row], label: bool) -> Any:
        cells = [row.get(name) for _, _, row in rows]
        types = set(map(type, cells))
        if type(None) in types and (label or self.options.missing != "mean"):
            raise missing_cell(self.source, name, rows[cells.index(None)][0], label=label)
        if not types <= NUMBER | STRING:
            line = next(line for (line, _, _), cell in zip(rows, cells, strict=True) if isinstance(cell, dict | list))
            raise DataError(
                self.source, "a value is an object or a list: only numbers, strings, true, false and null", line, name
            )
        if label or name in self.written:  # labels stay as they are written
            return _strings([_written(cell) for cell in cells])
        number = self.kinds.get(name) is not str
        if not types <= (NUMBER if number else STRING):
            self._mixed(name, rows, cells, number)
        if not number:
            return _strings(cells)
        found = np.array(cells, np.float64)
        if np.isinf(found).any():
            line = rows[int(np.flatnonzero(np.isinf(found))[0])][0]
            raise DataError(self.source, "the number is too large for a float", line, name)
        return found

    def _mixed(self, name: str, rows: list[Row], cells: list[Any], number: bool) -> NoReturn:
        wrong = STRING if number else NUMBER
        line = next(row[0] for row, cell in zip(rows, cells, strict=True) if cell is not None and type(cell) in wrong)
        what = "a string where the rows before have numbers" if number else "a number where the rows before have strings"
        raise DataError(self.source, f"the value is {what}: say --categorical or --text for this column", line, name)

    def _sampled(self, name: str, first: list[Row]) -> Any:
        """A column's first cells, as `looks_like_labels` takes them; what is wrong with them is told later."""
        cells = [row.get(name) for _, _, row in first]
        if self.kinds[name] is str:
            return _strings([cell if isinstance(cell, str) else None for cell in cells])
        return np.array([cell if isinstance(cell, float | bool) else np.nan for cell in cells], np.float64)


def _written(cell: Any) -> str | None:
    if cell is None or isinstance(cell, str):
        return cell
    return json.dumps(int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell)


def _strings(cells: list[Any]) -> Any:
    found = np.empty(len(cells), object)
    found[:] = cells
    return found


def _rows(source: Source) -> Iterator[Row]:
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=_whole, parse_constant=_constant)
    for first_line, block in blocks(source, BLOCK):
        for line, raw in enumerate(block.split(b"\n"), first_line):
            if not raw.strip():
                continue
            yield line, len(raw) + 1, _parsed(source.name, decoder, raw, line)


def _whole(text: str) -> float | int:
    """Long numbers may be labels, of which two neighbours must not become one float; of others a float is all that is used."""
    return int(text) if 16 <= len(text) <= 20 else float(text)


def _parsed(source: str, decoder: json.JSONDecoder, raw: bytes, line: int) -> dict[str, Any]:
    try:
        text = raw.decode()
        row = decoder.decode(text)
    except UnicodeDecodeError as fault:
        raise DataError(source, "the line is not UTF-8", line, fault.start + 1) from None
    except json.JSONDecodeError as fault:
        raise DataError(source, f"the line is not JSON: {fault.msg[0].lower()}{fault.msg[1:]}", line, fault.colno) from None
    except RecursionError:
        raise DataError(source, "values are nested too deeply", line) from None
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
        raise ValueError(f"the key {twice[:60]!r} is there twice")
    return row


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that can be used")


def _check_surrogates(source: str, row: dict[str, Any], line: int) -> None:
    """JSON can write half a character, which no file can hold."""
    for key, value in row.items():
        for text in (key, value):
            try:
                if isinstance(text, str):
                    text.encode()
            except UnicodeEncodeError:
                raise DataError(source, "a string has half a surrogate pair in it, which is no character", line) from None
