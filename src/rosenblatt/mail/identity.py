"""The identity of a mail: a digest that survives filtering, storing and moving, and the header that a filtered mail gets.

The digest (`digest`)
  ignores     the "From " line of an mbox; headers that filters, mail stores and deliveries add (`fields.is_added`), and trace
              headers (`TRACE_HEADERS`); line ends at the end of the mail
  normalizes  line ends; "From " at the start of a line, with any number of ">" that an mbox has put before it; the blank line
              between headers and body, if the body cannot be mistaken for a header
  is limited  to the first `MAX_DIGEST_BYTES` bytes of the headers and of the body, so that a mail of which only the first
              `boxes.MAX_MAIL_BYTES` bytes were read has the same digest

The header `X-Rosenblatt` (`stamped`) is added at the end of the headers; every other byte of the mail stays.
"""

from __future__ import annotations

import hashlib
import re

from .message.fields import is_added
from .message.headers import STAMP, header_span, without_stamps

# Headers that describe the delivery and the sender. They are features, but copies of one mail differ in them.
TRACE_HEADERS = frozenset(b"received x-received received-spf return-path authentication-results x-greylist x-fetchmail".split())
MAX_DIGEST_BYTES = 1 << 20
LINE_COLUMNS = 76  # lines of the header are folded here, where there is a space
MAX_WORD_COLUMNS = 900  # longer words are split: RFC 5322 allows lines of 998
_LAST_FIELD = re.compile(rb".*[\r\n](?=[^ \t\r\n])", re.S)  # up to the last line that does not begin with white space
_WORD_PIECES = re.compile(rb".{0,%d},|.{1,%d}" % (MAX_WORD_COLUMNS - 1, MAX_WORD_COLUMNS))  # at commas, if there are any


def digest(raw: bytes) -> bytes:
    """The SHA-256 digest that identifies a mail; any bytes are accepted.

    >>> digest(b"Subject: hi\\n\\nthere\\n") == digest(b"From me\\nStatus: RO\\nSubject: hi\\n\\nthere\\n\\n")
    True
    """
    if len(raw) > 3 * MAX_DIGEST_BYTES:
        raw = raw[: header_span(raw)[1] + 3 * MAX_DIGEST_BYTES]  # more than is hashed: some bytes are ignored
    raw = without_stamps(raw)
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    start, end = header_span(raw)
    head = _without_added(raw[start : min(end, start + MAX_DIGEST_BYTES)])
    body = raw[end + 1 if raw.startswith(b"\n", end) else end :]
    if b">From " in body:
        body = _unquoted(body)
    found = hashlib.sha256(head + b"\n\n")
    found.update(body[:MAX_DIGEST_BYTES].rstrip(b"\n"))
    return found.digest()


def _without_added(head: bytes) -> bytes:
    kept, keep = [], True
    for line in head.rstrip(b"\n").split(b"\n"):
        if not line.startswith((b" ", b"\t")):  # else it continues the header before it
            name = line.partition(b":")[0].lower()
            keep = name not in TRACE_HEADERS and not is_added(name)
        if keep:
            kept.append(line)
    return b"\n".join(kept)


def _unquoted(body: bytes) -> bytes:
    first, *quoted = (b"\n" + body).split(b"\n>")
    pieces = [first]
    for line in quoted:
        bare = line.lstrip(b">")
        pieces += (b"\n", bare) if bare.startswith(b"From ") else (b"\n>", line)
    return b"".join(pieces)[1:]


# --- the header of a filtered mail ------------------------------------------------------------------------------------------


def stamped(raw: bytes, value: str) -> bytes:
    """The mail with one header `X-Rosenblatt: value` after its last header; earlier headers of that name are removed.

    The header has the line ends of the mail. If the last header has no line end, the new one comes before it; in a mail without
    headers it comes first, followed by a blank line unless there is one. White space and control characters of the value become
    single spaces; characters outside ASCII are escaped as in Python (`\\u20ac`).

    >>> stamped(b"Subject: hi\\n\\nthere", "ham; score=-1.5")
    b'Subject: hi\\nX-Rosenblatt: ham; score=-1.5\\n\\nthere'
    """
    return b"".join(pieces(raw, value))


def pieces(raw: bytes, value: str) -> tuple[memoryview, bytes, memoryview]:
    """The same in three pieces, so that a large mail can be written without a second copy."""
    raw = without_stamps(raw)
    start, at = header_span(raw)
    if at > start and not raw.endswith((b"\r", b"\n"), 0, at):
        at = _last_field(raw, start, at)
    line_end = _line_end(raw, at)
    separated = at > start or raw[at : at + 1] in (b"\r", b"\n") or _is_unfinished(raw, at)
    return memoryview(raw)[:at], _field(value, line_end) + (b"" if separated else line_end), memoryview(raw)[at:]


def _is_unfinished(raw: bytes, at: int) -> bool:
    """Whether the headers continue at `at`, after the place of the stamp."""
    return header_span(raw[at:])[1] > 0


def _last_field(raw: bytes, start: int, end: int) -> int:
    """The start of the last header; continuation lines belong to it."""
    found = _LAST_FIELD.match(raw, start, end)
    return start if found is None else found.end()


def _line_end(raw: bytes, at: int) -> bytes:
    """The line end of the line before `at`, or else of the first line."""
    before = raw[max(at - 2, 0) : at] or next(iter(raw[:100_000].splitlines(keepends=True)), b"")[-2:]
    return before if before == b"\r\n" else before[-1:] if before[-1:] in (b"\r", b"\n") else b"\n"


def _field(value: str, line_end: bytes) -> bytes:
    text = "".join(c if c.isprintable() else " " for c in value).encode("ascii", "backslashreplace")
    lines = [STAMP + b":"]
    for word in text.split():
        for piece in [word] if len(word) <= MAX_WORD_COLUMNS else _WORD_PIECES.findall(word):
            if len(lines[-1]) + 1 + len(piece) > LINE_COLUMNS and lines[-1] != STAMP + b":":
                lines.append(b"")
            lines[-1] += b" " + piece
    return line_end.join(lines) + line_end
