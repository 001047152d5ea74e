"""What a mail says: a few named fields of text, and what of it is kept in the log."""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

# In this order: what is known of the sender and the way, what is written, and what hangs on it.
FIELDS = ("subject", "from", "reply-to", "to", "received", "headers", "body", "links", "attachments")
_LENGTHS = struct.Struct(f"<{len(FIELDS)}I")
ZLIB_LEVEL = 6


class Message(NamedTuple):
    """The fields of one mail, each as UTF-8; several values of one field are lines of it."""

    subject: bytes = b""
    sender: bytes = b""  # From
    reply_to: bytes = b""
    to: bytes = b""  # To and Cc
    received: bytes = b""  # hosts that the mail went through
    headers: bytes = b""  # the rest of the headers that say something, as "name: value"
    body: bytes = b""  # all text of all parts, HTML without its tags
    links: bytes = b""  # addresses that it points to, one a line
    attachments: bytes = b""  # types and names of parts that are not text, one a line

    def pack(self) -> bytes:
        """As the log keeps it."""
        return zlib.compress(_LENGTHS.pack(*map(len, self)) + b"".join(self), ZLIB_LEVEL)

    @classmethod
    def unpack(cls, packed: bytes) -> Message:
        raw, start, fields = zlib.decompress(packed), _LENGTHS.size, []
        for length in _LENGTHS.unpack_from(raw):
            fields.append(raw[start : start + length])
            start += length
        return cls(*fields)


# --- How much of a mail is looked at; every limit is applied before the work that it bounds.


class Limits(NamedTuple):
    mail: int = 1 << 21  # bytes of a mail; what follows is not looked at
    head: int = 1 << 16  # bytes of a mail's headers; behind them only those that the subject and the body need are read
    headers: int = 1000  # of a mail; the same
    value: int = 1 << 12  # bytes of one header
    depth: int = 20  # parts within parts; deeper ones are read as text, headers and all
    parts: int = 500  # parts in all; what follows them is read as text
    source: int = 1 << 21  # bytes of the text of all parts before tags are taken off: no comment or style hides what follows
    text: int = 1 << 16  # bytes of the body kept
    field: int = 1 << 13  # bytes of every other field kept
    links: int = 500
    attachments: int = 100


LIMITS = Limits()
