"""The encoding of text files: UTF-8, or UTF-16, UTF-32, Windows-1252 or another one, converted to UTF-8 while it is read.

A byte order mark decides. Without one, text in which almost every second byte is zero is UTF-16, and so is text with zeros
that is made of letters, digits and marks as UTF-16; text whose first bytes are not UTF-8 is read as Windows-1252, usual in
western countries before UTF-8, and a note says so; bytes that Windows-1252 does not define are those of Latin-1.
"""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from ..table import DataError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

UTF8_BOM = b"\xef\xbb\xbf"
WIDE_BOMS = ((b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
WESTERN = "windows-1252"
MARKED = frozenset(encoding for _, encoding in WIDE_BOMS)
MIN_WIDE_BYTES, MIN_ZEROS, MAX_OTHER_ZEROS = 8, 0.7, 0.02  # of text in UTF-16: shares of the bytes that are zero
CONTROL = re.compile(rb"[\0-\x08\x0e-\x19\x1b-\x1f]")  # bytes that text has not
WIDE_SAMPLE_BYTES = 1 << 14
MIN_ASCII, MIN_ASCII_SHARE = 8, 0.1  # of the characters of a table: separators, digits and line ends
LINE_CHARACTERS = frozenset("\t\r\n\ufeff")
RECODED_BYTES = 1 << 18  # read at a time
UNDEFINED = "latin-1 where windows-1252 is undefined"  # a handler of errors


def _as_latin1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(UNDEFINED, _as_latin1)


def is_utf8(head: bytes) -> bool:
    """Whether the first bytes of a file are UTF-8, up to a character that may be incomplete at their end."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def detect_encoding(head: bytes) -> str | None:
    """The encoding of a text file with these first bytes, unless it is UTF-8 or binary.

    >>> detect_encoding("größe,label".encode()), detect_encoding("größe,label".encode("latin-1"))
    (None, 'windows-1252')
    >>> detect_encoding("größe,label".encode("utf-16"))
    'utf-16'
    """
    for bom, encoding in WIDE_BOMS:
        if head.startswith(bom):
            return encoding
    first, second = head[: len(head) // 2 * 2 : 2], head[1::2]
    for encoding, zero, other in (("utf-16-le", second, first), ("utf-16-be", first, second)):
        n = len(second)
        if n >= MIN_WIDE_BYTES and zero.count(0) >= MIN_ZEROS * n and other.count(0) <= MAX_OTHER_ZEROS * n:
            return encoding if not CONTROL.search(other.replace(b"\0", b"")) else _other_script(head[:WIDE_SAMPLE_BYTES])
    if 0 in head:
        return _other_script(head[:WIDE_SAMPLE_BYTES])
    return None if CONTROL.search(head) or is_utf8(head) else WESTERN


def is_text(head: bytes) -> bool:
    """Whether the first bytes of a file are UTF-8 without control characters."""
    return is_utf8(head) and not CONTROL.search(head)


def _other_script(head: bytes) -> str | None:
    """The encoding of UTF-16 in a script other than Latin: it decodes to lines of letters, digits and marks."""
    for encoding in ("utf-16-le", "utf-16-be"):
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(head)
        except UnicodeDecodeError:
            continue
        usual = not any(unicodedata.category(letter).startswith("C") for letter in set(text) - LINE_CHARACTERS)
        if usual and "\n" in text and sum(map(str.isascii, text)) >= max(MIN_ASCII, MIN_ASCII_SHARE * len(text)):
            return encoding
    return None


def check_encoding(name: str) -> None:
    """Raise ValueError unless Python knows the encoding of text."""
    try:
        known = codecs.lookup(name)._is_text_encoding
    except LookupError:
        known = False
    if not known:
        raise ValueError(f"unknown encoding {name!r}; examples are utf-8, windows-1252, latin-1, utf-16, cp437")


class Recoded(io.RawIOBase):
    """The text of a stream in UTF-8.

    ahead : bytes that were read from the stream before.
    """

    def __init__(self, stream: Any, ahead: bytes, encoding: str, name: str) -> None:
        self._stream, self._ahead, self._encoding, self._name = stream, ahead, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)(UNDEFINED if encoding == WESTERN else "strict")
        self._left = memoryview(b"")
        self._line = 1
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        while not self._left and not self._ended:
            raw = self._ahead or self._stream.read(RECODED_BYTES) or b""
            self._ahead = b""
            self._ended = not raw
            self._left = memoryview(self._decoded(raw))
        n = min(len(target), len(self._left))
        target[:n] = self._left[:n]
        self._left = self._left[n:]
        return n

    def _decoded(self, raw: bytes) -> bytes:
        try:
            text = self._decoder.decode(raw, self._ended)
            self._line += text.count("\n")
            return text.removeprefix("\ufeff").encode()
        except (UnicodeDecodeError, UnicodeEncodeError) as error:
            start = getattr(error, "start", 0)
            decoded = raw[:start].decode(self._encoding, "ignore") if isinstance(error, UnicodeDecodeError) else ""
            sentence = f"the text is not {self._encoding}: {error.reason}"
            advice = "use --encoding with the right one"
            line = self._line + decoded.count("\n")
            raise DataError(self._name, sentence, line, option="--encoding windows-1252", advice=advice) from None

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
