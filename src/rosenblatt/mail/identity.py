"""Which mails are the same: a digest of what stays when a mail is filtered, stored and moved.

Left out    the "From " line of an mbox; headers that filters, stores and deliveries add (`added.is_added`), and the trace of
            the way (`WAY`); new lines at the end
Made equal  line ends; "From " at the start of a line, however many ">" an mbox has put before it; whether a blank line parts
            the headers from the body, where the body cannot be taken for one
Far         what comes after the first `SEEN` bytes of the headers or of the body does not count, so that a mail of which only
            the first `boxes.MOST` bytes were read is still the mail
"""

from __future__ import annotations

import hashlib
import re

from .message.fields import is_added
from .message.headers import STAMP, headers, without_stamps

# What deliveries write about a mail's way and its sender. Features read that; but the copy in a mailbox has come farther.
WAY = frozenset(b"received x-received received-spf return-path authentication-results x-greylist x-fetchmail".split())
SEEN = 1 << 20


def digest(raw: bytes) -> bytes:
    """SHA-256 of what identifies a mail, whatever its bytes.

    >>> digest(b"Subject: hi\\n\\nthere\\n") == digest(b"From me\\nStatus: RO\\nSubject: hi\\n\\nthere\\n\\n")
    True
    """
    if len(raw) > 3 * SEEN:
        raw = raw[: headers(raw)[1] + 3 * SEEN]  # line ends and ">" do not count, but are not all that is there
    raw = without_stamps(raw)
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    start, end = headers(raw)
    head = _without_added(raw[start : min(end, start + SEEN)])
    body = raw[end + 1 if raw.startswith(b"\n", end) else end :]
    if b">From " in body:
        body = _unquoted(body)
    found = hashlib.sha256(head + b"\n\n")
    found.update(body[:SEEN].rstrip(b"\n"))
    return found.digest()


def _without_added(head: bytes) -> bytes:
    kept, keep = [], True
    for line in head.rstrip(b"\n").split(b"\n"):
        if not line.startswith((b" ", b"\t")):  # else it goes on with the header before it
            name = line.partition(b":")[0].lower()
            keep = name not in WAY and not is_added(name)
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


# --- The header that a filtered mail gets; the rest of the mail stays as it is, byte for byte.

WIDTH = 76  # columns that lines are folded at, where there is a blank
LONGEST = 900  # columns of a word that is not cut: RFC 5322 allows lines of 998
LAST = re.compile(rb".*[\r\n](?=[^ \t\r\n])", re.S)  # to the last line that begins with no blank
PIECES = re.compile(rb".{0,%d},|.{1,%d}" % (LONGEST - 1, LONGEST))  # at commas, if there are some


def stamped(raw: bytes, value: str) -> bytes:
    """The mail with one header `X-Rosenblatt: value` after its last one, and without any such header that was there.

    It is written in the line ends of the mail. Where the last header has no line end, it comes before that one; a mail without
    headers gets it first, and a blank line after it unless there is one. White space and control characters of the value become
    single blanks, and what is not ASCII is escaped as in Python (`\\u20ac`).

    >>> stamped(b"Subject: hi\\n\\nthere", "ham; score=-1.5")
    b'Subject: hi\\nX-Rosenblatt: ham; score=-1.5\\n\\nthere'
    """
    return b"".join(pieces(raw, value))


def pieces(raw: bytes, value: str) -> tuple[memoryview, bytes, memoryview]:
    """The same in three pieces: one who only writes it need not hold a large mail twice."""
    raw = without_stamps(raw)
    start, at = headers(raw)
    if at > start and not raw.endswith((b"\r", b"\n"), 0, at):
        at = _last_field(raw, start, at)
    line_end = _line_end(raw, at)
    parted = at > start or raw[at : at + 1] in (b"\r", b"\n") or _is_unfinished(raw, at)
    return memoryview(raw)[:at], _field(value, line_end) + (b"" if parted else line_end), memoryview(raw)[at:]


def _is_unfinished(raw: bytes, at: int) -> bool:
    """Whether headers, which a stamp comes before, go on at `at`."""
    return headers(raw[at:])[1] > 0


def _last_field(raw: bytes, start: int, end: int) -> int:
    """Where the last header begins that is no line of the one before it."""
    found = LAST.match(raw, start, end)
    return start if found is None else found.end()


def _line_end(raw: bytes, at: int) -> bytes:
    """That of the line before `at`, or else of the first line."""
    before = raw[max(at - 2, 0) : at] or next(iter(raw[:100_000].splitlines(keepends=True)), b"")[-2:]
    return before if before == b"\r\n" else before[-1:] if before[-1:] in (b"\r", b"\n") else b"\n"


def _field(value: str, line_end: bytes) -> bytes:
    text = "".join(c if c.isprintable() else " " for c in value).encode("ascii", "backslashreplace")
    lines = [STAMP + b":"]
    for word in text.split():
        for piece in [word] if len(word) <= LONGEST else PIECES.findall(word):
            if len(lines[-1]) + 1 + len(piece) > WIDTH and lines[-1] != STAMP + b":":
                lines.append(b"")
            lines[-1] += b" " + piece
    return line_end.join(lines) + line_end
