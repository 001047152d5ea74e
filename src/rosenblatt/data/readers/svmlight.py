"""svmlight and LIBSVM files: `label index:value index:value ... # comment`, indices ascending and counted from 1.

`parse_line` is the definition: it gives exact floats and the error messages. The kernel parses simple lines at least ten times
as fast and leaves the others to the definition. Small files are parsed without it, because importing the kernel takes longer.
As in scikit-learn, explicit zeros are kept and `qid:` is skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from ...array_types import IntArray
from ...reporting.text import count, plural
from ..csr import CSRMatrix
from ..table import Data, DataError, Loss, loss_of
from . import Options
from .cells import NON_FINITE, SEVERAL_LABELS, parse_number, quote_token
from .limits import MemoryLimit
from .sources import Source
from .window import BLOCK_BYTES, LineNumbers, Window, expected_growth, grow_array, grown_size

MAX_BYTES_WITHOUT_KERNEL = 1 << 18
MAX_INDEX = (1 << 31) - 1  # the largest int32
MAX_DEFERRED_NUMBERS = 1 << 12  # numbers that a kernel call leaves to Python's float
ZERO_BASED_OPTION = "--zero-based"
TOKEN = re.compile(rb"\S+")
# Values that may lose digits: long integers, and numbers that may be 0 as floats.
LONG_VALUE = re.compile(rb"([0-9]+):([+-]?[0-9]{16,}(?:\.[0-9]*)?|[^\s:]*[eE]-[0-9]{3,}|[+-]?0*\.0{200}[^\s:]*)(?=\s|$)")


class _TokenError(Exception):
    """An invalid token, by its position in the line."""

    def __init__(self, at: int, sentence: str, option: str | None = None) -> None:
        self.at, self.sentence, self.option = at, sentence, option


def parse_line(line: bytes, base: int, largest: int) -> tuple[float, list[int], list[float]] | None:
    """The label, the columns (from 0) and the values of one line; None if it is blank or a comment."""
    tokens = line.partition(b"#")[0].split()
    if not tokens:
        return None
    label = _finite(0, tokens[0], None)
    columns: list[int] = []
    values: list[float] = []
    for at, token in enumerate(tokens[1:], 1):
        if at == 1 and token.startswith(b"qid:"):
            continue
        name, colon, text = token.partition(b":")
        if not colon:
            raise _TokenError(at, f"expected index:value, found {quote_token(token)}")
        if not (name.isdigit() and name.isascii()):
            raise _TokenError(at, f"the index {quote_token(name)} is not a nonnegative integer")
        index = int(name) if len(name) <= 10 else int(name.lstrip(b"0")[:11] or b"0")
        if index < base:
            raise _TokenError(at, "the index is 0, but indices count from 1", ZERO_BASED_OPTION)
        if index > largest:
            limit = (
                "2^31 - 1" if largest == MAX_INDEX else f"{count(largest)}, the last of {plural(largest + 1 - base, 'column')}"
            )
            raise _TokenError(at, f"the index {quote_token(name)[1:-1]} is larger than {limit}")
        if columns and index - base <= columns[-1]:
            order = "is repeated" if index - base == columns[-1] else f"comes after {columns[-1] + base}"
            raise _TokenError(at, f"the index {index} {order}; indices must ascend")
        values.append(_finite(at, text, index))
        columns.append(index - base)
    return label, columns, values


def _finite(at: int, text: bytes, index: int | None) -> float:
    """The value of an index or, without an index, the label."""
    value = parse_number(text)
    if value is not None and math.isfinite(value):
        if index is None and loss_of(text) is Loss.DIGITS:
            raise _TokenError(at, f"the label is {quote_token(text)}, which a float does not hold exactly; number the classes")
        return value
    if index is None and b"," in text and all(parse_number(part) is not None for part in text.split(b",")):
        raise _TokenError(at, f"the row has several labels, {quote_token(text)}: {SEVERAL_LABELS}")
    what = "label" if index is None else f"value of index {index}"
    if value is None and not NON_FINITE.fullmatch(text):
        raise _TokenError(at, f"the {what} is {'missing' if not text else f'{quote_token(text)}, which is not a number'}")
    raise _TokenError(at, f"the {what} is {quote_token(text)}, which is not finite")


def looks_like_svmlight(head: bytes) -> bool:
    """Whether the first line that is not blank is a row of svmlight with at least one value.

    >>> looks_like_svmlight(b"# a comment\\n+1 3:1 11:0.5\\n"), looks_like_svmlight(b"5.1,3.5,Iris-setosa\\n")
    (True, False)
    """
    for line in head.splitlines():
        try:
            row = parse_line(line, 0, MAX_INDEX)
        except _TokenError:
            return False
        if row is not None:
            return bool(row[1])
    return False


def read_svmlight(source: Source, options: Options | None = None) -> Data:
    """All rows of a file, as a `CSRMatrix`."""
    options = options or Options()
    reader = _Reader(source, options, BLOCK_BYTES, MemoryLimit(source.name, options))
    while reader.read_block():
        pass
    return reader.take()


def svmlight_chunks(
    source: Source, options: Options | None = None, size: int = BLOCK_BYTES, *, may_be_empty: bool = False
) -> Iterator[Data]:
    """Rows of about `size` bytes of the file at a time; the width is given by the largest index so far."""
    reader = _Reader(source, options or Options(), size)
    while reader.read_block():
        if reader.rows:
            yield reader.take()
    if not reader.rows_taken and not may_be_empty:
        raise DataError(source.name, "the file has no rows")


class _Reader:
    """Parses a file block by block into growing arrays."""

    def __init__(self, source: Source, options: Options, size: int, limit: MemoryLimit | None = None) -> None:
        self.source, self.window, self.limit = source, Window(source, size), limit
        self.base = 0 if options.zero_based else 1
        self.columns = options.columns
        self.largest = MAX_INDEX if options.columns is None else min(MAX_INDEX, options.columns - 1 + self.base)
        self.width = self.rows_taken = self.text_bytes = 0
        self.losses: dict[str, str] = {}
        self.lines = LineNumbers()
        self._clear()

    def _clear(self) -> None:
        self.rows = self.nonzeros = 0
        self.labels, self.indptr = np.empty(0), np.zeros(1, np.int64)
        self.indices, self.values = np.empty(0, np.int32), np.empty(0)

    def read_block(self) -> bool:
        """Parse the next block of lines; False at the end of the file."""
        window = self.window
        if not window.fill():
            return False
        self.text_bytes += window.stop
        if self.text_bytes <= MAX_BYTES_WITHOUT_KERNEL:
            self._parse(0, window.stop, window.line)
        else:
            self._parse_fast()
        window.consume(window.stop)
        return True

    def _parse(self, start: int, stop: int, line_number: int) -> None:
        """Parse lines by the definition, from `line_number` on."""
        labels: list[float] = []
        indptr: list[int] = []
        indices: list[int] = []
        values: list[float] = []
        lines: list[int] = []
        at = start
        text = bytes(memoryview(self.window.buffer)[start:stop])
        for number, line in enumerate(text.split(b"\n")[:-1], line_number):
            found = self._line(line, at)
            at += len(line) + 1
            if found is not None:
                labels.append(found[0])
                lines.append(number)
                indices += found[1]
                values += found[2]
                indptr.append(self.nonzeros + len(indices))
                self.width = max(self.width, found[1][-1] + 1 if found[1] else 0)
        rows, n = self.rows + len(labels), self.nonzeros + len(values)
        self._reserve(rows, n)
        self.labels[self.rows : rows], self.indptr[self.rows + 1 : rows + 1] = labels, indptr
        self.indices[self.nonzeros : n], self.values[self.nonzeros : n] = indices, values
        self.rows, self.nonzeros = rows, n
        self.lines.add(lines)

    def _line(self, line: bytes, at: int) -> tuple[float, list[int], list[float]] | None:
        try:
            row = parse_line(line, self.base, self.largest)
            for index, text in LONG_VALUE.findall(line.partition(b"#")[0]):
                self._note_loss(int(index), text)
            return row
        except _TokenError as wrong:
            tokens = list(TOKEN.finditer(line.partition(b"#")[0]))
            line_number, character = self.window.line_at(at), tokens[wrong.at].start() + 1
            raise DataError(self.source.name, wrong.sentence, line_number, character=character, option=wrong.option) from None

    def _parse_fast(self) -> None:
        """Parse with the kernel, and the lines at which it stops by the definition."""
        from ...kernels.parsing.svmlight import svmlight_lines

        at, stop, line = 0, self.window.stop, self.window.line
        buffer = self.window.buffer
        rows, nonzeros = self.rows + self.window.count(b"\n", stop), self.nonzeros + self.window.count(b":", stop)
        self._reserve(rows, nonzeros, expected_growth(self.source) if self.limit is not None else 1.0)
        long = np.empty((MAX_DEFERRED_NUMBERS, 3), np.int64)
        while at < stop:
            done = np.array([self.rows, self.nonzeros, 0, self.width])
            arrays = self.labels, self.indptr, self.indices, self.values
            text = np.frombuffer(buffer, np.uint8)
            start, rows_before = at, self.rows
            at = int(svmlight_lines(text, at, stop, self.base, self.largest, *arrays, long, done))
            del text  # a buffer with a view cannot grow
            self._finish(long[: done[2]])
            self.rows, self.nonzeros, self.width = int(done[0]), int(done[1]), int(done[3])
            lines = self.window.count(b"\n", at, start)
            self.lines.add(range(line, line + lines) if lines == self.rows - rows_before else None)
            line += lines
            if at < stop:
                after = buffer.find(b"\n", at) + 1
                self._parse(at, after, line)
                at = after
                line += 1

    def _finish(self, long: IntArray) -> None:
        """Convert the numbers that the kernel left to Python."""
        buffer = self.window.buffer
        for place, start, stop in long.tolist():
            value = float(buffer[start:stop])
            lost = loss_of(bytes(buffer[start:stop])) is Loss.DIGITS
            if not math.isfinite(value) or (lost and place < 0):  # raises the error
                begin = buffer.rfind(b"\n", 0, start) + 1
                self._line(bytes(buffer[begin : buffer.find(b"\n", start)]), begin)
            if place < 0:
                self.labels[-1 - place] = value
            else:
                self.values[place] = value
                self._note_loss(int(self.indices[place]) + self.base, bytes(buffer[start:stop]))

    def _note_loss(self, index: int, text: bytes) -> None:
        if loss_of(text) is Loss.DIGITS:
            self.losses.setdefault(str(index), text.decode())

    def _reserve(self, rows: int, nonzeros: int, growth: float = 1.0) -> None:
        if self.limit is not None:
            self.limit.check(16 * rows + 12 * nonzeros)
        if rows > len(self.labels):
            size = grown_size(rows, len(self.labels), growth)
            self.labels, self.indptr = grow_array(self.labels, size), grow_array(self.indptr, size + 1)
            self.indptr[0] = 0
        if nonzeros > len(self.values):
            size = grown_size(nonzeros, len(self.values), growth)
            self.indices, self.values = grow_array(self.indices, size), grow_array(self.values, size)

    def take(self) -> Data:
        """The rows read since the last call."""
        first_row = self.rows_taken
        self.rows_taken += self.rows
        if not self.rows_taken:
            raise DataError(self.source.name, "the file has no rows")
        self.labels.resize(self.rows, refcheck=False)
        self.indptr.resize(self.rows + 1, refcheck=False)
        self.indices.resize(self.nonzeros, refcheck=False)
        self.values.resize(self.nonzeros, refcheck=False)
        width = self.width if self.columns is None else self.columns
        rows = CSRMatrix(self.values, self.indices, self.indptr, width)
        data = Data(self.source.name, rows, self.labels, lines=self.lines.take(), first_row=first_row, losses=dict(self.losses))
        self._clear()
        return data
