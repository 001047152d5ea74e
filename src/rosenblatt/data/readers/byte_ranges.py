"""Ranges of bytes of a text file: a range has the lines that begin in it, so that the ranges of a file have each line once."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from ..table import DataError
from .sources import Source, display_name

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

READ_BYTES = 1 << 20
NEWLINE = b"\n"


def is_byte_per_character(encoding: str | None) -> bool:
    """Whether a line feed, and every mark of ASCII, is the byte that it is in ASCII, and part of no other character.

    >>> is_byte_per_character("windows-1252"), is_byte_per_character(None), is_byte_per_character("utf-16")
    (True, True, False)
    """
    if encoding is None:
        return True  # UTF-8
    try:
        text = bytes(range(256)).decode(encoding, "replace")
    except (UnicodeDecodeError, LookupError):
        return False
    return len(text) == 256 and text[:128].encode("ascii", "replace") == bytes(range(128))


class ByteRange(io.RawIOBase):
    """The lines of a file that begin in a range of its bytes, as a stream.

    Parameters
    ----------
    path : str
        The file.
    start, stop : int
        The range.
    exact : bool, default=False
        Whether the range itself begins and ends between lines; it may then end within a line of a quoted cell.

    Attributes
    ----------
    begin : int
        Where the first line begins.
    """

    def __init__(self, path: str | Path, start: int, stop: int, *, exact: bool = False) -> None:
        self._name = display_name(path)
        with Source(path):  # raises the errors of files that cannot be opened
            pass
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed with this stream
        self.begin = start if exact or not start else self._line_at(start)
        self._at, self._stop = self.begin, stop if exact else max(self.begin, self._line_at(stop))
        self._file.seek(self._at)

    def _line_at(self, start: int) -> int:
        """Where the first line begins that begins at a byte or after it."""
        self._file.seek(start - 1)
        at = start - 1
        while piece := self._file.read(READ_BYTES):
            found = piece.find(NEWLINE)
            if found >= 0:
                return at + found + 1
            at += len(piece)
        return at

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        n = int(self._file.readinto(target[: max(0, self._stop - self._at)]) or 0)
        if not n and self._at < self._stop and len(target):
            raise DataError(self._name, "the file was truncated while it was read")
        self._at += n
        return n

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def lines_before(path: str | Path, stop: int) -> int:
    """The number of line feeds in the first bytes of a file."""
    lines, left = 0, stop
    with open(path, "rb", buffering=0) as file:
        while left > 0 and (piece := file.read(min(left, READ_BYTES))):
            lines += piece.count(NEWLINE)
            left -= len(piece)
    return lines
