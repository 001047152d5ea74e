"""What a mail's headers say: the fields they fill, and the rest as lines, without what others added on the way."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from .added import is_added
from .content import content_of, parameters_of
from .encodings import cut
from .headers import content_headers, headers_of
from .limits import LIMITS, Limits
from .received import hosts_of
from .shapes import date_shape, id_shape, results_of, signature_of, type_shape
from .words import decoded

# Their values have fields of their own, or are numbers that nobody sees twice.
_NAME_ONLY = frozenset(
    b"subject from reply-to to cc bcc received references in-reply-to thread-index x-originalarrivaltime content-id x-face "
    b"x-original-date resent-date resent-message-id x-ms-tnef-correlator autocrypt openpgp domainkey-signature".split()
)
_FIELDS = frozenset(b"subject from reply-to to cc received content-type content-transfer-encoding content-disposition".split())
_SHAPES: dict[bytes, Callable[[bytes], bytes]] = {
    b"date": date_shape,
    b"message-id": id_shape,
    b"content-type": type_shape,
    b"dkim-signature": signature_of,
    b"authentication-results": results_of,
    b"received-spf": results_of,
}
_VALUE_KEPT = 200


class Said:
    """The fields that a mail's headers fill; of several with one name the first that is not empty, or all of them."""

    __slots__ = ("content", "lines", "received", "reply_to", "sender", "subject", "to")

    def __init__(self, head: bytes, limits: Limits = LIMITS) -> None:
        fields: dict[bytes, list[bytes]] = {name: [] for name in _FIELDS}
        lines: list[bytes] = []
        charset = b"" if head.isascii() else parameters_of(content_headers(head, limits)[0]).get(b"charset", b"")
        for name, value in headers_of(head, limits):
            if name in fields and value:
                fields[name].append(value)
            way = _way(name)
            if way is _plainly:
                if b"=?" in value or not value.isascii():
                    value = decoded(value, charset)
                lines.append(name + b": " + (value if len(value) <= _VALUE_KEPT else cut(value, _VALUE_KEPT)))
            elif way is _as_name:
                lines.append(name)
            elif way is not None:
                lines.append(name + b": " + way(value))
        self.subject, self.sender, self.reply_to = (
            _first(fields[name], charset) for name in (b"subject", b"from", b"reply-to")
        )
        self.to = b"\n".join([decoded(value, charset).strip() for value in fields[b"to"] + fields[b"cc"]])
        self.received = b"\n".join(filter(None, map(hosts_of, fields[b"received"])))
        self.lines = b"\n".join(lines)
        kind, encoding, disposition = (fields[b"content-" + name] for name in (b"type", b"transfer-encoding", b"disposition"))
        self.content = content_of(*(values[0] if values else b"" for values in (kind, encoding, disposition)))


def _first(values: list[bytes], charset: bytes) -> bytes:
    return decoded(values[0], charset).strip() if values else b""


def _plainly(value: bytes) -> bytes:
    return value


def _as_name(value: bytes) -> bytes:
    return b""


@lru_cache(4096)
def _way(name: bytes) -> Callable[[bytes], bytes] | None:
    """How a header's line is written; None where it is left out."""
    if name in _NAME_ONLY:
        return _as_name
    return None if is_added(name) else _SHAPES.get(name, _plainly)
