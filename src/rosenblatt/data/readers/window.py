"""A window on a source of text: whole lines in one buffer that is used again and again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..table import DataError
from .sources import Source

BLOCK = 8 << 20  # bytes of lines at a time
LONGEST_LINE = 64 << 20
SLICE = 1 << 16
NEWLINE = 10
BOM = b"\xef\xbb\xbf"
WIDE_BOMS = ((b"\xff\xfe\0\0", "UTF-32"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))


class Window:
    """`buffer[:stop]` are whole lines that have not been used yet; the last of a file gets the newline it may lack."""

    def __init__(self, source: Source, size: int = BLOCK) -> None:
        self.source, self.line, self.stop = source, 1, 0
        self._filled, self._ended = 0, False
        head = source.peek(4)
        wide = next((kind for bom, kind in WIDE_BOMS if head.startswith(bom)), None)
        if wide is not None:
            raise DataError(source.name, f"is in {wide}: convert it to UTF-8 first")
        if head.startswith(BOM):
            source.read(len(BOM))
        if source.compression is None and source.size is not None:
            size = min(size, source.size)
        self.buffer = bytearray(max(1, size) + 2)  # room for a newline, and to see that a file has ended

    def fill(self, more: bool = False) -> bool:
        """Read on; False where nothing is left. `more`: the lines there are do not suffice, so read others beside them."""
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
        with memoryview(self.buffer) as room:
            while not self._ended and self._filled + 1 < len(room):
                got = self.source.readinto(room[self._filled : -1])
                self._filled += got
                self._ended = not got

    def _end_last_line(self) -> None:
        if self.line == 1 and not self.stop and 0 <= self.buffer.find(b"\r", 0, self._filled) < self._filled - 1:
            raise DataError(self.source.name, "its lines end with CR alone, as on old Macs: convert them to LF first")
        self.buffer[self._filled] = NEWLINE
        self._filled += 1
        self.stop = self._filled

    def _stop_before_nul(self, before: int) -> None:
        """Lines before the first NUL are used first: what is wrong with them is said first."""
        nul = self.buffer.find(b"\0", before, self.stop)
        if nul < 0:
            return
        self.stop = self.buffer.rfind(b"\n", 0, nul) + 1
        if self.stop <= before:
            sentence = "there is a NUL byte: this is no text file, or one in UTF-16"
            raise DataError(self.source.name, sentence, self.line_at(nul))

    def _widen(self, quoted: bool = False) -> None:
        """Twice the room, up to the longest line; `quoted`: for a record whose quote is still open."""
        if self._filled > LONGEST_LINE:
            longest = f"{LONGEST_LINE >> 20} MB"
            if self.buffer.find(b"\0", self.stop, self._filled) >= 0:
                raise DataError(self.source.name, "there is a NUL byte: this is no text file", self.line_at(self.stop))
            if quoted:
                raise DataError(self.source.name, f"a quote is opened that is not closed within {longest}", self.line)
            raise DataError(self.source.name, f"the line is longer than {longest}", self.line_at(self.stop))
        if self._filled + 1 == len(self.buffer):
            self.buffer.extend(bytes(max(1, min(len(self.buffer), LONGEST_LINE + 2 - len(self.buffer)))))

    def use(self, n: int) -> None:
        """The first n bytes, whole lines, are done with."""
        self.line = self.line_at(n)
        with memoryview(self.buffer) as view:
            view[: self._filled - n] = view[n : self._filled]
        self._filled -= n
        self.stop -= n

    def line_at(self, position: int) -> int:
        """The number of the line that a byte of the buffer stands in."""
        return self.line + self.count(b"\n", position)

    def count(self, byte: bytes, stop: int) -> int:
        """How often a byte stands before `stop`; four times as fast as `bytearray.count`."""
        total, wanted, view = 0, byte[0], np.frombuffer(self.buffer, np.uint8)
        for start in range(0, stop, SLICE):
            total += int(np.count_nonzero(view[start : min(start + SLICE, stop)] == wanted))
        return total


def blocks(source: Source, size: int = BLOCK) -> Iterator[tuple[int, bytes]]:
    """Blocks of whole lines, about `size` bytes each, with the number of their first line; every line ends with a newline."""
    window = Window(source, size)
    while window.fill():
        line, block = window.line, bytes(memoryview(window.buffer)[: window.stop])
        window.use(window.stop)
        yield line, block
