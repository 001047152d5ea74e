"""A parsed mail: named fields of text, their packed form in the log, and the limits of parsing."""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

# In this order: sender and delivery, text, attachments.
FIELDS = ("subject", "from", "reply-to", "to", "received", "headers", "body", "links", "attachments")
_LENGTHS = struct.Struct(f"<{len(FIELDS)}I")
ZLIB_LEVEL = 6


class Message(NamedTuple):
    """The fields of a mail, each as UTF-8; several values of one field are lines of it.

    Parameters
    ----------
    subject : bytes, default=b""
        The subject.
    sender : bytes, default=b""
        From.
    reply_to : bytes, default=b""
        Reply-To.
    to : bytes, default=b""
        To and Cc.
    received : bytes, default=b""
        The hosts that the mail passed.
    headers : bytes, default=b""
        The other informative headers, as lines "name: value".
    body : bytes, default=b""
        The text of all parts, HTML without its tags.
    links : bytes, default=b""
        The addresses that the mail links to.
    attachments : bytes, default=b""
        The types and names of the parts that are not text.

    See Also
    --------
    Filter.messages : The messages that a filter has learned.

    Examples
    --------
    >>> from rosenblatt.mail import Message
    >>> Message.unpack(Message(subject=b"Lunch").pack()).subject
    b'Lunch'
    """

    subject: bytes = b""
    sender: bytes = b""
    reply_to: bytes = b""
    to: bytes = b""
    received: bytes = b""
    headers: bytes = b""
    body: bytes = b""
    links: bytes = b""
    attachments: bytes = b""

    def pack(self) -> bytes:
        """The compressed fields, as stored in the log.

        Returns
        -------
        bytes
            The packed message.
        """
        return zlib.compress(_LENGTHS.pack(*map(len, self)) + b"".join(self), ZLIB_LEVEL)

    @classmethod
    def unpack(cls, packed: bytes) -> Message:
        """The inverse of `pack`.

        Parameters
        ----------
        packed : bytes
            A packed message.

        Returns
        -------
        Message
            The message.
        """
        raw, start, fields = zlib.decompress(packed), _LENGTHS.size, []
        for length in _LENGTHS.unpack_from(raw):
            fields.append(raw[start : start + length])
            start += length
        return cls(*fields)


class Limits(NamedTuple):
    """How much of a mail is parsed; every limit is applied before the work that it bounds."""

    mail: int = 1 << 21  # bytes of a mail
    head: int = 1 << 16  # bytes of its headers; beyond them only the subject and the headers that the body needs are read
    headers: int = 1000  # number of headers; beyond it, the same applies
    value: int = 1 << 12  # bytes of one header
    depth: int = 20  # depth of nested parts; deeper ones are read as text, including headers
    parts: int = 500  # parts in total; the rest is read as text
    source: int = 1 << 21  # bytes of all text parts before tags are removed, so that no comment or style hides the rest
    text: int = 1 << 16  # bytes of the body kept
    field: int = 1 << 13  # bytes of every other field kept
    links: int = 500
    attachments: int = 100


LIMITS = Limits()
