"""Bytes of a file or of stdin ("-"): decompressed while they are read, with SHA-256 digests of the file and its contents."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from ...reporting.text import comma_list, plural
from ..table import DataError
from .encoding import Recoded

if TYPE_CHECKING:
    import zstandard
    from _typeshed import WriteableBuffer

    from .limits import MemoryLimit

COMPRESSED = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstandard"}
MAGIC = {"gzip": b"\x1f\x8b\x08", "bzip2": b"BZh", "xz": b"\xfd7zXZ\0", "zstandard": b"\x28\xb5\x2f\xfd"}
BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")  # follow b"BZh9": a block, or the end of an empty file
MAGIC_BYTES = 16
MAX_DECOMPRESSED_BYTES = 1 << 20  # bytes that one call decompresses
ZSTANDARD_BYTES = 256  # compressed bytes read at a time; they decompress to at most 8 MB
BUFFER_BYTES = 1 << 17
URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)  # pathlib makes one slash of two
MAX_LISTED = 6


def display_name(path: str | Path) -> str:
    """The name of a source in messages."""
    return "stdin" if str(path) == "-" else str(path)


def name_of(paths: Sequence[str]) -> str:
    """One file, or several of them, in messages.

    >>> name_of(["parts/a.csv", "parts/b.csv", "parts/c.csv"])
    'parts/a.csv and 2 more files'
    """
    return display_name(paths[0]) + (f" and {plural(len(paths) - 1, 'more file')}" if len(paths) > 1 else "")


def extension_of(path: str | Path) -> str:
    """The file extension without that of a compression, in lower case and without the dot; empty if there is none.

    >>> extension_of("a/News.CSV.gz"), extension_of("a9a"), extension_of("-")
    ('csv', '', '')
    """
    name = Path(path)
    if name.suffix.lower() in COMPRESSED:
        name = name.with_suffix("")
    return name.suffix.lower().removeprefix(".")


class Source(io.RawIOBase):
    """A stream of decompressed bytes, used in a `with` statement; problems with the file raise `DataError`.

    Parameters
    ----------
    path : str or Path
        The file; "-" is stdin.
    stream : binary file, optional
        Bytes to read instead of the file, whose path is then only a name.

    >>> with Source("data.csv.gz") as source:  # doctest: +SKIP
    ...     everything = source.read()
    >>> source.sha256  # of the file on disk, once it has been read to its end  # doctest: +SKIP
    """

    def __init__(self, path: str | Path, stream: io.RawIOBase | BinaryIO | None = None) -> None:
        self.path, self.name = path, display_name(path)
        self._raw = _Raw(path, self.name, stream)
        self.size = self._raw.size  # bytes on disk; None: unknown
        self._ahead = memoryview(b"")
        self.encoding: str | None = None  # of a text that is converted to UTF-8
        self._expanded = 0
        self._limit: MemoryLimit | None = None
        try:
            head = self._raw.peek(MAGIC_BYTES)
            self.compression = _compression(head, Path(path).suffix.lower(), self.name)
            stream = _decompressed(self._raw, self.compression, self.name)
        except BaseException:
            self._raw.close()
            raise
        self._contents = self._raw if self.compression is None else _Digested(stream)
        self._stream: Any = self._contents
        self._table: Source | None = None

    @property
    def sha256(self) -> str | None:
        """SHA-256 of the bytes on disk; None until the end has been read."""
        return self._raw.digest.hexdigest() if self._raw.ended else None

    @property
    def contents_sha256(self) -> str | None:
        """SHA-256 of the decompressed bytes, or of the table in an archive; None until the end has been read."""
        if self._table is not None:
            return self._table.contents_sha256
        return self._contents.digest.hexdigest() if self._contents.ended else None

    def contains(self, table: Source) -> None:
        """Name the table of an archive, whose digest is that of the contents."""
        self._table = table

    @property
    def on_disk(self) -> bool:
        """Whether the same bytes can be read by the path: not those of pipes, devices and compressed files."""
        return self.compression is None and self.size is not None

    @property
    def position(self) -> int:
        """The number of bytes read from disk."""
        return self._raw.position

    def limit_expansion(self, limit: MemoryLimit) -> None:
        """Raise DataError from now on where the file decompresses to more than the limit allows."""
        self._limit = limit

    def peek(self, n: int) -> bytes:
        """The next n bytes, fewer at the end of the file, without consuming them."""
        found = bytearray(self._ahead)
        while len(found) < n:
            more = bytearray(n - len(found))
            got = self._fill(memoryview(more))
            if not got:
                break
            found += more[:got]
        self._ahead = memoryview(bytes(found))
        return bytes(found[:n])

    def recode(self, encoding: str) -> None:
        """Convert the text that has not been read from an encoding to UTF-8."""
        self._stream = Recoded(self._stream, bytes(self._ahead), encoding, self.name)
        self._ahead, self.encoding = memoryview(b""), encoding

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        if not len(self._ahead):
            return self._fill(target)
        n = min(len(target), len(self._ahead))
        target[:n] = self._ahead[:n]
        self._ahead = self._ahead[n:]
        return n

    def _fill(self, target: memoryview) -> int:
        try:
            if self.compression is None:
                return int(self._stream.readinto(target) or 0)
            n = int(self._stream.readinto(target[:MAX_DECOMPRESSED_BYTES]) or 0)
            self._expanded += n
            if self._limit is not None:
                self._limit.check_expansion(self._expanded, max(self.size or 0, self.position))
            return n
        except DataError:
            raise
        except EOFError:
            raise DataError(self.name, f"the {self.compression} file is truncated") from None
        except OSError as error:
            if self.compression is None or error.errno is not None:
                raise DataError(self.name, f"cannot be read: {error.strerror or error}") from None
            raise DataError(self.name, f"the {self.compression} file is damaged: {error}") from None
        except Exception as error:  # zlib, lzma and zstandard have exceptions of their own
            raise DataError(self.name, f"the {self.compression} file is damaged: {error}") from None

    def close(self) -> None:
        if not self.closed and hasattr(self, "_stream"):
            with contextlib.suppress(Exception):  # a decompressor complains about a file that was not read to its end
                self._stream.close()
            self._raw.close()
        super().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class _Digested(io.RawIOBase):
    """Decompressed bytes, digested while they are read."""

    def __init__(self, stream: Any) -> None:
        import hashlib

        self._stream, self.digest, self.ended = stream, hashlib.sha256(), False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        n = int(self._stream.readinto(target) or 0)
        self.ended |= not n and len(target) > 0
        self.digest.update(target[:n])
        return n

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


class _Raw(io.RawIOBase):
    """The bytes on disk, counted and digested while they are read."""

    def __init__(self, path: str | Path, name: str, stream: io.RawIOBase | BinaryIO | None) -> None:
        import hashlib

        self.digest, self.position, self.ended, self.size = hashlib.sha256(), 0, False, None
        self._head = b""
        self._owned = stream is None and str(path) != "-"
        if not self._owned:
            if stream is None and sys.stdin is None:
                raise DataError(name, "stdin is closed")
            self._file: Any = sys.stdin.buffer if stream is None else stream
            return
        try:
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed with this stream
        except FileNotFoundError:
            if URL.match(str(path)):
                advice = f"download it first: curl -LO {str(path)!r}"
                raise DataError(name, "is a URL, but data are read from files", advice=advice) from None
            raise DataError(name, "file not found") from None
        except IsADirectoryError:
            raise DataError(name, f"is a directory, not a file{_files_in(Path(path))}") from None
        except PermissionError:
            raise DataError(name, "permission denied") from None
        except (OSError, ValueError) as error:
            raise DataError(name, f"cannot be opened: {getattr(error, 'strerror', None) or error}") from None
        with contextlib.suppress(OSError):
            size = os.fstat(self._file.fileno()).st_size
            self.size = size or None  # pipes report 0

    def peek(self, n: int) -> bytes:
        """The first bytes, without consuming them."""
        while len(self._head) < n and (more := self._file.read(n - len(self._head))):
            self._head += more
        return self._head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        if self._head:
            n = min(len(self._head), len(target))
            target[:n], self._head = self._head[:n], self._head[n:]
        else:
            n = int(self._file.readinto(target) or 0)
        self.ended |= not n and len(target) > 0
        self.position += n
        self.digest.update(target[:n])
        return n

    def close(self) -> None:
        if not self.closed and self._owned and hasattr(self, "_file"):
            self._file.close()
        super().close()


def _files_in(folder: Path) -> str:
    """Advice with the first files of a folder, for a message."""
    with contextlib.suppress(OSError):
        names = sorted(each.name for each in folder.iterdir() if each.is_file() and not each.name.startswith("."))
        if names:
            return f"; name a file in it: {comma_list(names, MAX_LISTED)}"
    return ""


def _compression(head: bytes, extension: str, name: str) -> str | None:
    """The compression of a file by its first bytes; an extension that contradicts them raises DataError."""
    found = next((kind for kind, magic in MAGIC.items() if head.startswith(magic)), None)
    if found == "bzip2" and head[4:10] not in BZIP2_BLOCKS:
        found = None  # text may begin with BZh
    expected = COMPRESSED.get(extension)
    if expected is not None and found is None:
        raise DataError(name, f"is named {extension}, but {'is empty' if not head else f'is not a {expected} file'}")
    return found


def _decompressed(raw: _Raw, compression: str | None, name: str) -> Any:
    if compression == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=io.BufferedReader(raw, BUFFER_BYTES))
    if compression == "bzip2":
        import bz2

        return bz2.BZ2File(io.BufferedReader(raw, BUFFER_BYTES))
    if compression == "xz":
        import lzma

        return lzma.LZMAFile(io.BufferedReader(raw, BUFFER_BYTES))
    return _Zstandard(raw, name) if compression == "zstandard" else raw


class _Zstandard(io.RawIOBase):
    """Reads consecutive frames. The reader of zstandard itself does not report that a file is truncated."""

    def __init__(self, raw: _Raw, name: str) -> None:
        try:
            import zstandard
        except ImportError:
            raise DataError(name, "zstandard files need the package zstandard: pip install 'rosenblatt[data]'") from None
        self._pieces = self._decompress(io.BufferedReader(raw, BUFFER_BYTES), zstandard.ZstdDecompressor())
        self._left = memoryview(b"")

    @staticmethod
    def _decompress(raw: io.BufferedReader, decompressor: zstandard.ZstdDecompressor) -> Iterator[bytes]:
        while piece := raw.read(ZSTANDARD_BYTES):
            frame = decompressor.decompressobj()
            while True:
                yield frame.decompress(piece)
                if frame.eof:
                    piece = frame.unused_data
                    if not piece:
                        break
                    frame = decompressor.decompressobj()
                elif not (piece := raw.read(ZSTANDARD_BYTES)):
                    raise EOFError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        while not self._left:
            more = next(self._pieces, None)
            if more is None:
                return 0
            self._left = memoryview(more)
        n = min(len(target), len(self._left))
        target[:n] = self._left[:n]
        self._left = self._left[n:]
        return n
