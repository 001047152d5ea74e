"""Content-Transfer-Encoding: base64, quoted-printable and uuencode to bytes, whatever is wrong with them."""

from __future__ import annotations

import binascii
import re

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_JUNK = bytes(c for c in range(256) if c not in _ALPHABET)
_BEGIN = re.compile(rb"^begin [0-7]{3,4} ([^\n]{1,200})\n", re.M)
_END = b"\nend"
_BEGIN_TEXT = re.compile(rb"^begin [0-7]{3,4}(?: [^\n]*+)?+\n", re.M)
_LINE = re.compile(rb"^[ -`]++", re.M)
UUENCODED = (b"uu", b"x-uu")  # how names of that encoding begin: uuencode, x-uue, ...


def one_newline(data: bytes) -> bytes:
    """With LF where CRLF or CR alone ended a line."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def from_base64(data: bytes) -> bytes:
    """Up to the first padding; junk between is left out, and so is a last letter that is not whole.

    >>> from_base64(b"aGVs!bG8"), from_base64(b"aGVsbG8=c3BhbQ==")
    (b'hello', b'hello')
    """
    letters = data.translate(None, _JUNK).partition(b"=")[0]
    if len(letters) % 4 == 1:
        letters = letters[:-1]
    return binascii.a2b_base64(letters + b"=" * (-len(letters) % 4))


def from_quoted_printable(data: bytes) -> bytes:
    return binascii.a2b_qp(data)


def from_uuencode(data: bytes) -> bytes:
    """With what stands between "begin" and "end" decoded, line by line, as far as there are letters of it.

    >>> from_uuencode(b"begin 644 a.txt\\n%:&5L;&\\\\\\n`\\nend\\n").strip()
    b'hello'
    """
    begin = _BEGIN_TEXT.search(data)
    if begin is None:
        return data
    end = data.find(_END, begin.end() - 1)
    end = end if end >= 0 else len(data)
    text = bytearray(data[: begin.start()])
    for found in _LINE.finditer(data, begin.end(), end):
        line = found[0]
        size = line[0] - 32 & 63
        text += binascii.a2b_uu(line[: 1 + (4 * size + 2) // 3])  # more is junk, less is padded with NULs
    return bytes(text) + data[end + len(_END) :]


def from_transfer(data: bytes, encoding: bytes) -> bytes:
    """Bytes as they were sent; an encoding that is not known changes nothing."""
    if encoding.startswith(b"quoted"):
        return from_quoted_printable(data) if b"=" in data else data
    if encoding.startswith(b"base64"):
        data = data.strip()
        blank = data.find(b"\n\n")
        if blank < 0 or b" " not in data[blank : blank + 200]:
            return from_base64(data)
        return from_base64(data[:blank]) + data[blank:]  # a mailing list wrote its own lines under it
    return from_uuencode(data) if encoding.startswith(UUENCODED) else data


def without_uuencoded(text: bytes, names: list[bytes]) -> bytes:
    """Text without the files that are written into it, whose names are added to `names`."""
    kept, at = [], 0
    while (begin := _BEGIN.search(text, at)) and (end := text.find(_END, begin.end() - 1)) >= 0:
        kept.append(text[at : begin.start()])
        names.append(begin[1])
        at = end + len(_END)
    return b"".join((*kept, text[at:])) if kept else text
