"""Whole lines of a text source in one reused buffer, their line numbers, and arrays that grow while a file is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...array_types import Array
from ...reporting.text import byte_size
from ..table import DataError
from .sources import Source

BLOCK_BYTES = 8 << 20  # bytes of lines read at a time
MAX_LINE_BYTES = 64 << 20
COUNTED_BYTES = 1 << 16  # bytes compared at a time when occurrences of a byte are counted
NEWLINE = 10
CR_ADVICE = "convert them: tr '\\r' '\\n' < FILE > NEW"
BOM = b"\xef\xbb\xbf"


class Window:
    """`buffer[:stop]` holds whole lines that have not been consumed; a missing newline at the end of the file is added."""

    def __init__(self, source: Source, size: int = BLOCK_BYTES) -> None:
        self.source, self.line, self.stop = source, 1, 0
        self._filled, self._ended = 0, False
        while source.peek(len(BOM)) == BOM:  # files that were joined or converted may begin with several
            source.read(len(BOM))
        if source.compression is None and source.encoding is None and source.size is not None:
            size = min(size, source.size)
        self.buffer = bytearray(max(1, size) + 2)  # one more for a newline, one more to detect the end of the file

    def fill(self, more: bool = False) -> bool:
        """Read more lines; False at the end of the file. With `more`, keep the lines in the buffer and append others."""
        before = self.stop
        if more:
            self._widen(quoted=True)
        while True:
            self._read()
            self.stop = self.buffer.rfind(b"\n", 0, self._filled) + 1
            if self._ended and self.stop < self._filled:
                self._end_last_line()
            self._stop_before_nul(before)
            if self.stop > before or self._ended:
                return self.stop > before
            self._widen()

    def _read(self) -> None:
        with memoryview(self.buffer) as target:
            while not self._ended and self._filled + 1 < len(target):
                got = self.source.readinto(target[self._filled : -1])
                self._filled += got
                self._ended = not got

    def _end_last_line(self) -> None:
        if self.line == 1 and not self.stop and 0 <= self.buffer.find(b"\r", 0, self._filled) < self._filled - 1:
            raise DataError(self.source.name, "the lines end with CR alone, as on old Macs", advice=CR_ADVICE)
        self.buffer[self._filled] = NEWLINE
        self._filled += 1
        self.stop = self._filled

    def _stop_before_nul(self, before: int) -> None:
        """Lines before the first NUL are consumed first, so that errors are raised in the order of the file."""
        nul = self.buffer.find(b"\0", before, self.stop)
        if nul < 0:
            return
        self.stop = self.buffer.rfind(b"\n", 0, nul) + 1
        if self.stop <= before:
            sentence, advice = "the line contains a NUL byte: not a text file", "if it is in UTF-16, use --encoding utf-16-le"
            raise DataError(self.source.name, sentence, self.line_at(nul), option="--encoding utf-16-le", advice=advice)

    def _widen(self, quoted: bool = False) -> None:
        """Double the buffer, up to the longest line allowed; `quoted`: for a record whose quote is still open."""
        if self._filled > MAX_LINE_BYTES:
            longest = byte_size(MAX_LINE_BYTES)
            if self.buffer.find(b"\0", self.stop, self._filled) >= 0:
                raise DataError(self.source.name, "the line contains a NUL byte: not a text file", self.line_at(self.stop))
            if quoted:
                raise DataError(self.source.name, f"a quote is not closed within {longest}", self.line)
            raise DataError(self.source.name, f"the line is longer than {longest}", self.line_at(self.stop))
        if self._filled + 1 == len(self.buffer):
            self.buffer.extend(bytes(max(1, min(len(self.buffer), MAX_LINE_BYTES + 2 - len(self.buffer)))))

    def consume(self, n: int) -> None:
        """Remove the first n bytes, which are whole lines."""
        self.line = self.line_at(n)
        with memoryview(self.buffer) as view:
            view[: self._filled - n] = view[n : self._filled]
        self._filled -= n
        self.stop -= n

    def line_at(self, position: int) -> int:
        """The line number of a byte of the buffer."""
        return self.line + self.count(b"\n", position)

    def count(self, byte: bytes, stop: int, start: int = 0) -> int:
        """The number of occurrences of a byte in buffer[start:stop]; four times as fast as `bytearray.count`."""
        total, wanted, view = 0, byte[0], np.frombuffer(self.buffer, np.uint8)
        for at in range(start, stop, COUNTED_BYTES):
            total += int(np.count_nonzero(view[at : min(at + COUNTED_BYTES, stop)] == wanted))
        return total


def blocks(source: Source, size: int = BLOCK_BYTES) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, about `size` bytes each, with the number of the first line; every line ends with a newline."""
    window = Window(source, size)
    while window.fill():
        line, block = window.line, bytes(memoryview(window.buffer)[: window.stop])
        window.consume(window.stop)
        yield line, block


# --- Line numbers


class LineNumbers:
    """The line number of each row, collected block by block: a range as long as every line is one row."""

    def __init__(self) -> None:
        self._parts: list[Sequence[int]] = []
        self._known = True

    def add(self, lines: Sequence[int] | None) -> None:
        """The lines of the next rows; None if unknown, which makes all of them unknown."""
        self._known = self._known and lines is not None
        if lines:
            last = self._parts[-1] if self._parts else None
            if isinstance(last, range) and isinstance(lines, range) and last.stop == lines.start:
                self._parts[-1] = range(last.start, lines.stop)
            else:
                self._parts.append(lines)

    def take(self) -> Sequence[int] | None:
        """The line numbers added since the last call; None: unknown."""
        parts, known = self._parts, self._known
        self._parts, self._known = [], True
        if not known or not parts:
            return None
        return parts[0] if len(parts) == 1 else np.concatenate([np.asarray(part, np.int64) for part in parts]).tolist()


# --- Arrays that grow while a file is read


def grow_array(array: Array, size: int) -> Array:
    """The array with a new size; its pages are moved instead of copied, and unused ones cost no memory."""
    if len(array) <= 1:  # at most the leading 0 of an indptr
        return np.empty(size, array.dtype)
    array.resize(size, refcheck=False)
    return array


def grown_size(needed: int, size: int, growth: float) -> int:
    """The new size of an array that is too small: `growth` times what is needed, and at least a quarter more than before."""
    return max(int(needed * growth), size * 5 // 4)


def expected_growth(source: Source) -> float:
    """The size of the whole file relative to the part read so far, plus 2 %; 1 if unknown."""
    return max(1.0, 1.02 * source.size / max(1, source.position)) if source.size else 1.0
