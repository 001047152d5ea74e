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

from .message.added import is_added
from .message.head import headers, without_stamps

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
