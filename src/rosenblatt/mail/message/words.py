"""Encoded words of headers, =?charset?B or Q?text?= (RFC 2047), to UTF-8."""

from __future__ import annotations

import binascii
import re

from .encodings import to_utf8, undeclared
from .transfer import from_base64

_START = re.compile(rb"=\?([^?\s]{1,60})\?([bBqQ])\?")


def decoded(value: bytes, charset: bytes = b"") -> bytes:
    """A header's value as UTF-8; spaces between encoded words are none, and letters may be split over two of them.

    charset : the body's, for bytes beside encoded words that are not UTF-8.

    >>> decoded(b"=?utf-8?q?Fr=C3?= =?utf-8?B?qWU=?= tickets").decode()
    'Frée tickets'
    """
    if b"=?" not in value:
        return undeclared(value, charset)
    runs: list[tuple[bytes, list[bytes]]] = []  # a charset, or none for plain text, and pieces in it
    at = 0
    for start, end, said, data in _words(value):
        between = value[at:start]
        if between and not (runs and runs[-1][0] and between.isspace()):
            runs.append((b"", [between]))
        if runs and runs[-1][0] == said:
            runs[-1][1].append(data)
        else:
            runs.append((said, [data]))
        at = end
    runs.append((b"", [value[at:]]))
    text = b"".join(to_utf8(b"".join(pieces), said) if said else undeclared(b"".join(pieces), charset) for said, pieces in runs)
    return text.replace(b"\r", b" ").replace(b"\n", b" ")


def _words(value: bytes) -> list[tuple[int, int, bytes, bytes]]:
    """Start, end, charset and bytes of every encoded word."""
    found, at = [], value.find(b"=?")
    while at >= 0:
        word = _START.match(value, at)
        if word is None:
            at = value.find(b"=?", at + 2)
            continue
        end = value.find(b"?=", word.end())
        if end < 0:
            break  # no later word can end either
        text = value[word.end() : end]
        data = from_base64(text) if word[2] in b"bB" else binascii.a2b_qp(text, header=True)
        found.append((at, end + 2, word[1].partition(b"*")[0].lower(), data))
        at = value.find(b"=?", end + 2)
    return found
