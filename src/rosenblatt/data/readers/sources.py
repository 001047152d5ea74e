"""Where bytes come from: a path or "-" (stdin), decompressed as they pass, digested as they lie on the disk."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..table import DataError

COMPRESSED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstandard"}
MAGIC = {"gzip": b"\x1f\x8b\x08", "bzip2": b"BZh", "xz": b"\xfd7zXZ\0", "zstandard": b"\x28\xb5\x2f\xfd"}
BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")  # what follows b"BZh9": a block, or the end of an empty file
MAGIC_BYTES = 16
UNPACKED = 1 << 20  # bytes that are decompressed at once
PIECE = 256  # bytes of a zstandard file at once, which become at most 8 MB


def display_name(path: str | Path) -> str:
    """What messages call a source."""
    return "stdin" if str(path) == "-" else str(path)


def format_of(path: str | Path) -> str:
    """The extension under that of a compression, in lower case and without its dot; empty where there is none.

    >>> format_of("a/News.CSV.gz"), format_of("a9a"), format_of("-")
    ('csv', '', '')
    """
    name = Path(path)
    if name.suffix.lower() in COMPRESSED:
        name = name.with_suffix("")
    return name.suffix.lower().removeprefix(".")


class Source(io.RawIOBase):
    """A stream of decompressed bytes; whatever is wrong with the file is a `DataError`. Used in a `with` statement.

    >>> with Source("data.csv.gz") as source:  # doctest: +SKIP
    ...     everything = source.read()
    >>> source.sha256  # of the file as it lies on the disk, once it has been read to its end  # doctest: +SKIP
    """

    def __init__(self, path: str | Path, stream: Any = None) -> None:
        """`stream`: bytes to read instead of the file, which then is only a name."""
        self.path, self.name = path, display_name(path)
        self._raw = _Raw(path, self.name, stream)
        self.size = self._raw.size  # bytes on the disk; None: not known
        self._ahead = memoryview(b"")
        try:
            head = self._raw.look(MAGIC_BYTES)
            self.compression = _compression(head, Path(path).suffix.lower(), self.name)
            self._stream = _decompressed(self._raw, self.compression, self.name)
        except BaseException:
            self._raw.close()
            raise

    @property
    def sha256(self) -> str | None:
        """The digest of the bytes as they lie on the disk; None until the end has been read."""
        return self._raw.digest.hexdigest() if self._raw.ended else None

    @property
    def position(self) -> int:
        """How many bytes have been read of the disk's."""
        return self._raw.position

    def peek(self, n: int) -> bytes:
        """The first n bytes that have not been read yet, fewer at the end; they stay unread."""
        found = bytearray(self._ahead)
        while len(found) < n:
            more = bytearray(n - len(found))
            got = self._take(memoryview(more))
            if not got:
                break
            found += more[:got]
        self._ahead = memoryview(bytes(found))
        return bytes(found[:n])

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer).cast("B")
        if not len(self._ahead):
            return self._take(room)
        n = min(len(room), len(self._ahead))
        room[:n] = self._ahead[:n]
        self._ahead = self._ahead[n:]
        return n

    def _take(self, room: memoryview) -> int:
        try:
            return int(self._stream.readinto(room if self.compression is None else room[:UNPACKED]) or 0)
        except DataError:
            raise
        except EOFError:
            raise DataError(self.name, f"the {self.compression} file is cut off: its end is missing") from None
        except OSError as error:
            if self.compression is None or error.errno is not None:
                raise DataError(self.name, f"cannot be read: {error.strerror or error}") from None
            raise DataError(self.name, f"the {self.compression} file is damaged: {error}") from None
        except Exception as error:  # zlib, lzma and zstandard have exceptions of their own
            raise DataError(self.name, f"the {self.compression} file is damaged: {error}") from None

    def close(self) -> None:
        if not self.closed and hasattr(self, "_stream"):
            with contextlib.suppress(Exception):  # what a decompressor says of a file that was not read to its end
                self._stream.close()
            self._raw.close()
        super().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Raw(io.RawIOBase):
    """The bytes on the disk: counted and digested as they are read."""

    def __init__(self, path: str | Path, name: str, stream: Any) -> None:
        import hashlib

        self.digest, self.position, self.ended, self.size = hashlib.sha256(), 0, False, None
        self._head = b""
        self._owned = stream is None and str(path) != "-"
        if not self._owned:
            if stream is None and sys.stdin is None:
                raise DataError(name, "is closed")
            self._file: Any = sys.stdin.buffer if stream is None else stream
            return
        try:
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed with this stream
        except FileNotFoundError:
            raise DataError(name, "there is no such file") from None
        except IsADirectoryError:
            raise DataError(name, "is a directory, not a file") from None
        except PermissionError:
            raise DataError(name, "may not be read: permission is denied") from None
        except (OSError, ValueError) as error:
            raise DataError(name, f"cannot be opened: {getattr(error, 'strerror', None) or error}") from None
        with contextlib.suppress(OSError):
            size = os.fstat(self._file.fileno()).st_size
            self.size = size or None  # pipes and the like say 0

    def look(self, n: int) -> bytes:
        """The first bytes; they stay unread."""
        while len(self._head) < n and (more := self._file.read(n - len(self._head))):
            self._head += more
        return self._head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer).cast("B")
        if self._head:
            n = min(len(self._head), len(room))
            room[:n], self._head = self._head[:n], self._head[n:]
        else:
            n = int(self._file.readinto(room) or 0)
        self.ended |= not n and len(room) > 0
        self.position += n
        self.digest.update(room[:n])
        return n

    def close(self) -> None:
        if not self.closed and self._owned and hasattr(self, "_file"):
            self._file.close()
        super().close()


def _compression(head: bytes, extension: str, name: str) -> str | None:
    """How a file is compressed, by its first bytes; an extension that says otherwise is an error."""
    found = next((kind for kind, magic in MAGIC.items() if head.startswith(magic)), None)
    if found == "bzip2" and head[4:10] not in BZIP2_BLOCKS:
        found = None  # text may begin with BZh
    said = COMPRESSED.get(extension)
    if said is not None and found is None:
        raise DataError(name, f"is named {extension}, but {'is empty' if not head else f'is not a {said} file'}")
    return found


def _decompressed(raw: _Raw, compression: str | None, name: str) -> Any:
    if compression == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=io.BufferedReader(raw, 1 << 17))
    if compression == "bzip2":
        import bz2

        return bz2.BZ2File(io.BufferedReader(raw, 1 << 17))
    if compression == "xz":
        import lzma

        return lzma.LZMAFile(io.BufferedReader(raw, 1 << 17))
    return _Zstandard(raw, name) if compression == "zstandard" else raw


class _Zstandard(io.RawIOBase):
    """Frames one after the other; zstandard's own reader ends silently where a file is cut off."""

    def __init__(self, raw: _Raw, name: str) -> None:
        try:
            import zstandard
        except ImportError:
            raise DataError(name, "zstandard files need a package more: pip install 'rosenblatt[data]'") from None
        self._pieces = self._decompress(io.BufferedReader(raw, 1 << 17), zstandard.ZstdDecompressor())
        self._left = memoryview(b"")

    @staticmethod
    def _decompress(raw: Any, decompressor: Any) -> Iterator[bytes]:
        while piece := raw.read(PIECE):
            frame = decompressor.decompressobj()
            while True:
                yield frame.decompress(piece)
                if frame.eof:
                    piece = frame.unused_data
                    if not piece:
                        break
                    frame = decompressor.decompressobj()
                elif not (piece := raw.read(PIECE)):
                    raise EOFError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer).cast("B")
        while not self._left:
            more = next(self._pieces, None)
            if more is None:
                return 0
            self._left = memoryview(more)
        n = min(len(room), len(self._left))
        room[:n] = self._left[:n]
        self._left = self._left[n:]
        return n


# --- A window on a source of text: whole lines in one buffer that is used again and again.

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


# --- Arrays that grow while a file is read.


def enlarged(array: Any, room: int) -> Any:
    """The array with room for more, its pages moved rather than copied; room that is never used costs no memory."""
    if len(array) <= 1:  # at most the leading 0 of an indptr: nothing worth keeping
        return np.empty(room, array.dtype)
    array.resize(room, refcheck=False)
    return array


def room_for(needed: int, had: int, ahead: float) -> int:
    """How much room to make where `needed` is more than there is: for what is ahead, and never by small steps."""
    return max(int(needed * ahead), had * 5 // 4)


def ahead(source: Source) -> float:
    """How many times what has been read of a file the whole will be, with a little over; 1 where nobody knows."""
    return max(1.0, 1.02 * source.size / max(1, source.position)) if source.size else 1.0
