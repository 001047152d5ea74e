"""Rows of JSON files as flat objects, one at a time.

A file has an object per line, or objects that span lines, as a JSON array of them or one after the other. Nested objects become
keys with dotted names; arrays of numbers and strings become one key per position, such as `size.0`, and must have the same
length in all rows. Columns declared as text may be arrays of words of any length.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...reporting.text import byte_size, count
from ..table import DataError, vanishes
from . import Options
from .cells import ENCODING_ADVICE, ENCODING_OPTION
from .sources import Source
from .window import BOM, MAX_LINE_BYTES, blocks

BLOCK_BYTES = 1 << 20  # bytes read at a time
HEAD_BYTES = 1 << 16
MAX_DEPTH = 32  # of objects and arrays within a row
MIN_NUMERAL_CHARS = 16  # of integers that a float may not hold
LONGEST_WORD = 16  # characters of the longest literal or escape that may be incomplete at the end of a block
TINY = re.compile(r"[eE]-0*[0-9]{3}|\.0{200}")  # in each row with a number that is 0 as a float, though it is not 0
BLANKS = re.compile(r"[ \t\r\n]*")
EXAMPLE = 'an object such as {"size": 3, "label": "a"}'
Row = tuple[int, int, dict[str, Any]]  # line number, size in bytes, flat object


class Numeral(float):
    """A number with its text: as a label or category it stays as written."""

    text: str

    def __new__(cls, text: str) -> Numeral:
        number = super().__new__(cls, text)
        number.text = text
        return number


class Rows:
    """Iterates over the rows of a file.

    containers : the objects and arrays found so far, by their dotted names, which are not columns themselves.
    """

    def __init__(self, source: Source, options: Options, containers: Mapping[str, int | None] | None = None) -> None:
        self.source = source.name
        self.containers: dict[str, int | None] = dict(containers or {})  # lengths of arrays; None: an object
        self._raw, self._text = source, frozenset(options.text)
        self._ignored = frozenset(options.ignore)
        self._wanted = None if options.required is None else prefixes((*options.required, options.label or ""))
        parsers: dict[str, Any] = {"parse_int": _integer}
        if options.as_written:
            parsers = {"parse_int": Numeral, "parse_float": Numeral}
        self._decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, **parsers)
        parsers = {"parse_float": _fraction} | parsers
        self._exact = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, **parsers)

    def __iter__(self) -> Iterator[Row]:
        head = self._raw.peek(HEAD_BYTES).removeprefix(BOM).lstrip()
        return self._spanning(array=head[:1] == b"[") if spans_lines(head) else self.lines()

    # --- One object per line

    def lines(self) -> Iterator[Row]:
        for first_line, block in blocks(self._raw, BLOCK_BYTES):
            for line, raw in enumerate(block.split(b"\n"), first_line):
                if not raw.strip():
                    continue
                try:
                    text = raw.decode()
                except UnicodeDecodeError as fault:
                    character = fault.start + 1
                    raise DataError(
                        self.source,
                        "the line is not UTF-8",
                        line,
                        character=character,
                        option=ENCODING_OPTION,
                        advice=ENCODING_ADVICE,
                    ) from None
                try:
                    row = (self._exact if TINY.search(text) else self._decoder).decode(text)
                except json.JSONDecodeError as fault:
                    sentence = f"the line is not JSON: {fault.msg[0].lower()}{fault.msg[1:]}"
                    raise DataError(self.source, sentence, line, character=fault.colno) from None
                except (RecursionError, ValueError) as fault:
                    raise _rejected(self.source, fault, line) from None
                if not isinstance(row, dict):
                    raise DataError(self.source, f"the line is not {EXAMPLE}", line)
                yield line, len(raw) + 1, self._flat(row, line, text)

    # --- Objects that span lines

    def _spanning(self, array: bool) -> Iterator[Row]:
        """The elements of an array, or consecutive objects."""
        text = _Text(self._raw)
        if array:
            text.skip_blanks()
            text.at += 1
        n = 0
        while (found := text.skip_blanks()) and not (array and found == "]"):
            if array and n:
                if found != ",":
                    raise DataError(self.source, "a comma is missing between two rows of the array", text.line)
                text.at += 1
                text.skip_blanks()
            line = text.line
            try:
                row, stop = text.value(self._decoder)
                if TINY.search(text.text, text.at, stop):
                    row, _ = text.value(self._exact)
            except (RecursionError, ValueError) as fault:
                raise fault if isinstance(fault, DataError) else _rejected(self.source, fault, line) from None
            if not isinstance(row, dict):
                raise DataError(self.source, f"row {count(n + 1)} of the array is not {EXAMPLE}", line)
            n += 1
            raw, text.at = text.text[text.at : stop], stop
            yield line, len(raw), self._flat(row, line, raw)
        if array and not found:
            raise DataError(self.source, "the array is not closed: the file is truncated, or a ] is missing", text.line)
        text.at += array
        if text.skip_blanks():
            raise DataError(self.source, "unexpected text after the array", text.line)

    # --- Flat rows

    def _flat(self, row: dict[str, Any], line: int, text: str) -> dict[str, Any]:
        if "[" in text or text.count("{") > 1:
            flat: dict[str, Any] = {}
            for key, value in row.items():
                self._flatten(flat, key, value, line, 1)
            row = flat
        if "\\u" in text:
            _check_surrogates(self.source, row, line)
        return row

    def _flatten(self, flat: dict[str, Any], path: str, value: Any, line: int, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise DataError(self.source, "the value is nested too deeply", line)
        if isinstance(value, dict | list):
            if path in self._ignored or (self._wanted is not None and path not in self._wanted):
                value = None
            elif isinstance(value, list) and path in self._text:
                value = " ".join(as_string(word) or "" for word in value)
        if isinstance(value, dict):
            self._enter(path, None, line)
            for key, inner in value.items():
                self._flatten(flat, f"{path}.{key}", inner, line, depth + 1)
        elif isinstance(value, list):
            if any(isinstance(inner, dict | list) for inner in value):
                sentence = "the value is an array of objects or arrays, which has no place in a table"
                advice = f"use --ignore {path!r}, or if its elements are the rows, write them to a file: jq -c '.{path}[]' FILE"
                raise DataError(self.source, sentence, line, path, option="--ignore", advice=advice)
            self._enter(path, len(value), line)
            for position, inner in enumerate(value):
                self._flatten(flat, f"{path}.{position}", inner, line, depth + 1)
        elif path in flat:
            raise DataError(self.source, f"the key {path[:60]!r} is repeated", line)
        else:
            flat[path] = value

    def _enter(self, path: str, length: int | None, line: int) -> None:
        """Note an object or an array; raise DataError if it was another one in earlier rows."""
        before = self.containers.setdefault(path, length)
        if before == length:
            return
        if before is None or length is None:
            raise DataError(self.source, "the value is an object in some rows and an array in others", line, path)
        sentence = f"the array has {count(length)} values, but {count(before)} in earlier rows: it cannot become columns"
        advice = f"use --ignore {path!r}, or --text {path!r} if they are words"
        raise DataError(self.source, sentence, line, path, option="--ignore", advice=advice)


def spans_lines(head: bytes) -> bool:
    """Whether the rows of a file that begins like this are not one to a line."""
    first = head.removeprefix(BOM).lstrip()
    return first[:1] == b"[" or first.partition(b"\n")[0].strip() == b"{"


class _Text:
    """The text of a file from the value at `at` on, read as far as needed."""

    def __init__(self, source: Source) -> None:
        self.text, self.at = "", 0
        self._source, self._line, self._counted, self._ended = source, 1, 0, False
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode

    @property
    def line(self) -> int:
        """The line of the value."""
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def skip_blanks(self) -> str:
        """Move to the next character that is not blank, and return it; empty at the end of the file."""
        while True:
            found = BLANKS.match(self.text, self.at)
            self.at = self.at if found is None else found.end()
            if self.at < len(self.text) or not self._read():
                return self.text[self.at : self.at + 1]

    def value(self, decoder: json.JSONDecoder) -> tuple[Any, int]:
        """The value here, and its end."""
        while True:
            try:
                return decoder.raw_decode(self.text, self.at)
            except json.JSONDecodeError as fault:
                cut, ahead = fault.msg.startswith("Unterminated"), fault.pos - self.at
                if not ((cut or fault.pos >= len(self.text) - LONGEST_WORD) and self._read()):
                    line = self.line + self.text.count("\n", self.at, self.at + ahead)
                    cut |= not self.text[self.at + ahead :].strip()
                    what = "the file is truncated" if cut else f"the text is not JSON: {fault.msg[0].lower()}{fault.msg[1:]}"
                    raise DataError(self._source.name, what, line) from None

    def _read(self) -> bool:
        """Read more, as much again as there is, and drop what lies before the value; False at the end of the file."""
        wanted = max(BLOCK_BYTES, len(self.text) - self.at)
        if wanted > MAX_LINE_BYTES:
            raise DataError(self._source.name, f"a row is longer than {byte_size(MAX_LINE_BYTES)}", self.line)
        pieces = [self.text[self.at :]]
        line = self.line
        while wanted > 0 and not self._ended:
            raw = self._source.read(wanted) or b""
            self._ended = not raw
            try:
                pieces.append(self._decode(raw, not raw))
            except UnicodeDecodeError:
                raise DataError(
                    self._source.name, "the text is not UTF-8", line, option=ENCODING_OPTION, advice=ENCODING_ADVICE
                ) from None
            wanted -= len(raw)
        self.text, self.at, self._counted = "".join(pieces), 0, 0
        return len(self.text) > len(pieces[0])


def prefixes(names: tuple[str, ...]) -> frozenset[str]:
    """The names of the objects and arrays that contain some columns, and of the columns themselves."""
    return frozenset(name[:end] for name in names for end in (*(at.start() for at in re.finditer(r"\.", name)), len(name)))


def as_string(cell: object) -> str | None:
    """A value as a label or category: numbers as written, if they were read so."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, Numeral):
        return cell.text
    return json.dumps(int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell)


def _rejected(source: str, fault: Exception, line: int) -> DataError:
    return DataError(source, "the value is nested too deeply" if isinstance(fault, RecursionError) else str(fault), line)


def _integer(text: str) -> float:
    """Parse an integer: as a float, with its text if it may be too long for one."""
    return Numeral(text) if len(text) >= MIN_NUMERAL_CHARS else float(text)


def _fraction(text: str) -> float:
    """Parse a fraction: as a float, with its text if the float is 0 and the number is not."""
    return Numeral(text) if vanishes(text) else float(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:60]!r} is repeated")
    return row


def _constant(name: str) -> None:
    """NaN is a missing value; JSON has none of these words, but many programs write them."""
    if name != "NaN":
        raise ValueError(f"{name} is not a number; write null if the value is missing")


def _check_surrogates(source: str, row: dict[str, Any], line: int) -> None:
    """Raise DataError for a lone surrogate, which JSON can write but UTF-8 cannot encode."""
    for key, value in row.items():
        for text in (key, value):
            try:
                if isinstance(text, str):
                    text.encode()
            except UnicodeEncodeError:
                raise DataError(source, "a string contains half of a surrogate pair", line) from None
