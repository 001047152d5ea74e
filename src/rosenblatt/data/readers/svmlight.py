"""svmlight and LIBSVM files: `label index:value index:value ... # comment`, indices ascending and counted from 1.

`parse_line` is the definition: it gives exact floats and the sentences for what is wrong. The kernel, ten and more times as
fast, reads what is plainly right and leaves every other line to it. Small files do without the kernel, which takes longer
to import than they take to read. As in scikit-learn, zeros that are written stay, and `qid:` is passed over.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..read_options import Options
from ..table import NOT_FINITE, Data, DataError, Sparse, number, shown
from .sources import BLOCK, Source, Window, ahead, enlarged, room_for

SMALL = 1 << 18  # bytes of a file that is parsed without the kernel
LARGEST = (1 << 31) - 1  # what fits into an int32
LONG_NUMBERS = 1 << 12  # that a kernel leaves to Python's float at a time
TOKEN = re.compile(rb"\S+")


class _WrongError(Exception):
    """What is wrong with a token."""

    def __init__(self, at: int, sentence: str) -> None:
        self.at, self.sentence = at, sentence


def parse_line(line: bytes, base: int, largest: int) -> tuple[float, list[int], list[float]] | None:
    """The label, columns counted from 0 and values of one line; None where it is blank or a comment."""
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
            raise _WrongError(at, f"expected index:value, found {shown(token)}")
        if not (name.isdigit() and name.isascii()):
            raise _WrongError(at, f"the index {shown(name)} is not a whole number")
        index = int(name) if len(name) <= 10 else int(name.lstrip(b"0")[:11] or b"0")
        if index < base:
            raise _WrongError(at, "the index is 0, but indices count from 1: say --zero-based if they count from 0")
        if index > largest:
            most = "2^31 - 1" if largest == LARGEST else f"{largest:,}, the last of {largest + 1 - base:,} columns"
            raise _WrongError(at, f"the index {shown(name)[1:-1]} is over {most}")
        if columns and index - base <= columns[-1]:
            again = "is there twice" if index - base == columns[-1] else f"comes after {columns[-1] + base}"
            raise _WrongError(at, f"the index {index} {again}: indices must ascend")
        values.append(_finite(at, text, index))
        columns.append(index - base)
    return label, columns, values


def _finite(at: int, text: bytes, index: int | None) -> float:
    """The number that a value is, or without an index, a label."""
    value = number(text)
    if value is not None and math.isfinite(value):
        return value
    what = "label" if index is None else f"value of index {index}"
    if value is None and not NOT_FINITE.fullmatch(text):
        raise _WrongError(at, f"the {what} is {'missing' if not text else f'{shown(text)}, which is not a number'}")
    raise _WrongError(at, f"the {what} is {shown(text)}, which is not finite")


def looks_like_svmlight(head: bytes) -> bool:
    """Whether the first whole line with anything on it is a row of svmlight with at least one nonzero.

    >>> looks_like_svmlight(b"# from somewhere\\n+1 3:1 11:0.5\\n"), looks_like_svmlight(b"5.1,3.5,Iris-setosa\\n")
    (True, False)
    """
    for line in head.splitlines():
        try:
            found = parse_line(line, 0, LARGEST)
        except _WrongError:
            return False
        if found is not None:
            return bool(found[1])
    return False


def read_svmlight(source: Source, options: Options | None = None) -> Data:
    """The whole file; its rows are a `Sparse`."""
    reader = _Reader(source, options or Options(), BLOCK, whole=True)
    while reader.read_block():
        pass
    return reader.take()


def svmlight_chunks(source: Source, options: Options | None = None, size: int = BLOCK) -> Iterator[Data]:
    """Rows of about `size` bytes of the file at a time; the width is that of the largest index so far."""
    reader = _Reader(source, options or Options(), size, whole=False)
    while reader.read_block():
        if reader.rows:
            yield reader.take()
    if not reader.rows_taken:
        raise DataError(source.name, "there are no rows in it")


class _Reader:
    """Arrays that grow block by block until they are taken."""

    def __init__(self, source: Source, options: Options, size: int, whole: bool) -> None:
        self.source, self.window, self.whole = source, Window(source, size), whole
        self.base = 0 if options.zero_based else 1
        self.columns = options.columns
        self.largest = LARGEST if options.columns is None else min(LARGEST, options.columns - 1 + self.base)
        self.width = self.rows_taken = self.text_bytes = 0
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
        if self.text_bytes <= SMALL:
            self._plain(0, window.stop)
        else:
            self._fast()
        window.use(window.stop)
        return True

    def _plain(self, start: int, stop: int) -> None:
        """Parse lines by the definition."""
        labels: list[float] = []
        indptr: list[int] = []
        indices: list[int] = []
        values: list[float] = []
        at = start
        for line in bytes(memoryview(self.window.buffer)[start:stop]).split(b"\n")[:-1]:
            found = self._line(line, at)
            at += len(line) + 1
            if found is not None:
                labels.append(found[0])
                indices += found[1]
                values += found[2]
                indptr.append(self.nonzeros + len(indices))
                self.width = max(self.width, found[1][-1] + 1 if found[1] else 0)
        rows, n = self.rows + len(labels), self.nonzeros + len(values)
        self._reserve(rows, n)
        self.labels[self.rows : rows], self.indptr[self.rows + 1 : rows + 1] = labels, indptr
        self.indices[self.nonzeros : n], self.values[self.nonzeros : n] = indices, values
        self.rows, self.nonzeros = rows, n

    def _line(self, line: bytes, at: int) -> tuple[float, list[int], list[float]] | None:
        try:
            return parse_line(line, self.base, self.largest)
        except _WrongError as wrong:
            tokens = list(TOKEN.finditer(line.partition(b"#")[0]))
            column = tokens[wrong.at].start() + 1
            raise DataError(self.source.name, wrong.sentence, self.window.line_at(at), column) from None

    def _fast(self) -> None:
        """Parse lines by the kernel, and those at which it stops by the definition."""
        from ...kernels.parsing.svmlight import svmlight_lines

        at, stop = 0, self.window.stop
        buffer = self.window.buffer
        rows, nonzeros = self.rows + self.window.count(b"\n", stop), self.nonzeros + self.window.count(b":", stop)
        self._reserve(rows, nonzeros, ahead(self.source) if self.whole else 1.0)
        long = np.empty((LONG_NUMBERS, 3), np.int64)
        while at < stop:
            done = np.array([self.rows, self.nonzeros, 0, self.width])
            arrays = self.labels, self.indptr, self.indices, self.values
            text = np.frombuffer(buffer, np.uint8)
            at = int(svmlight_lines(text, at, stop, self.base, self.largest, *arrays, long, done))
            del text  # a buffer that is seen cannot grow
            self._finish(long[: done[2]])
            self.rows, self.nonzeros, self.width = int(done[0]), int(done[1]), int(done[3])
            if at < stop:
                after = buffer.find(b"\n", at) + 1
                self._plain(at, after)
                at = after

    def _finish(self, long: Any) -> None:
        """The numbers that a kernel left to Python."""
        buffer = self.window.buffer
        for place, start, stop in long.tolist():
            value = float(buffer[start:stop])
            if not math.isfinite(value):
                begin = buffer.rfind(b"\n", 0, start) + 1
                self._line(bytes(buffer[begin : buffer.find(b"\n", start)]), begin)
            if place < 0:
                self.labels[-1 - place] = value
            else:
                self.values[place] = value

    def _reserve(self, rows: int, nonzeros: int, times: float = 1.0) -> None:
        if rows > len(self.labels):
            room = room_for(rows, len(self.labels), times)
            self.labels, self.indptr = enlarged(self.labels, room), enlarged(self.indptr, room + 1)
            self.indptr[0] = 0
        if nonzeros > len(self.values):
            room = room_for(nonzeros, len(self.values), times)
            self.indices, self.values = enlarged(self.indices, room), enlarged(self.values, room)

    def take(self) -> Data:
        """What has been read since the last time."""
        self.rows_taken += self.rows
        if not self.rows_taken:
            raise DataError(self.source.name, "there are no rows in it")
        self.labels.resize(self.rows, refcheck=False)
        self.indptr.resize(self.rows + 1, refcheck=False)
        self.indices.resize(self.nonzeros, refcheck=False)
        self.values.resize(self.nonzeros, refcheck=False)
        width = self.width if self.columns is None else self.columns
        data = Data(self.source.name, Sparse(self.values, self.indices, self.indptr, width), self.labels)
        self._clear()
        return data
