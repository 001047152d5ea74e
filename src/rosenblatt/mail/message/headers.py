"""The headers of a mail or part: where they end, their names and their values."""

from __future__ import annotations

import re

from .limits import LIMITS, Limits
from .words import decoded

# A name and a colon, or a line that carries on, as in `head.py`; but old mail may have blanks before the colon (RFC 5322, 4.5),
# and mbox writes "From " lines, quoted or not, among headers.
_HEAD = re.compile(rb"(?:[!-9;-~]*+[ \t]*+:[^\n]*+(?:\n|\Z)|[ \t][^\n]*+(?:\n|\Z)|>?From [^\n]*+(?:\n|\Z))*+")
_VALUE = rb"[ \t]*+:[ \t]*+([^\n]*+(?:\n[ \t][^\n]*+)*+)"
_HEADERS = re.compile(rb"^([!-9;-~]{1,100}+)" + _VALUE, re.M)
_CONTENT = re.compile(rb"^content-(type|transfer-encoding|disposition)" + _VALUE, re.M | re.I)
_SUBJECT = re.compile(rb"^subject" + _VALUE, re.M | re.I)
_NEEDED = re.compile(rb"^(subject|content-(?:type|transfer-encoding|disposition))" + _VALUE, re.M | re.I)


def end_of_head(raw: bytes, start: int, end: int) -> tuple[int, int]:
    """Where the headers that begin at `start` end, and where the body begins; what begins with white space has none."""
    found = _HEAD.match(raw, start, end) if raw[start : start + 1] not in (b" ", b"\t") else None
    stop = found.end() if found else start
    return stop, stop + 1 if stop < end and raw[stop : stop + 1] == b"\n" else stop


def headers_of(head: bytes, limits: Limits = LIMITS) -> list[tuple[bytes, bytes]]:
    """Names, in lower case, and values on one line, not decoded. Beyond the limits only the subject and what says how the body
    is written, the first of each."""
    if b"\0" in head:
        head = head.replace(b"\0", b"")
    found: list[tuple[bytes, bytes]] = []
    for header in _HEADERS.finditer(head):
        if len(found) == limits.headers or header.start() >= limits.head:
            return found + _needed(head, header.start(), limits)
        name, value = header.groups()
        if len(value) > limits.value:
            value = value[: limits.value]
        found.append((name.lower(), unfolded(value) if b"\n" in value else value))
    return found


def _needed(head: bytes, start: int, limits: Limits) -> list[tuple[bytes, bytes]]:
    found: dict[bytes, bytes] = {}
    for header in _NEEDED.finditer(head, start):
        if header.start(2) < header.end(2):
            found.setdefault(header[1].lower(), unfolded(header[2][: limits.value]))
    return list(found.items())


def unfolded(value: bytes) -> bytes:
    return b" ".join([line.strip() for line in value.split(b"\n")])


def content_headers(head: bytes, limits: Limits = LIMITS) -> tuple[bytes, bytes, bytes]:
    """Content-Type, Content-Transfer-Encoding and Content-Disposition: the first of each."""
    found: dict[bytes, bytes] = {}
    for header in _CONTENT.finditer(head):
        found.setdefault(header[1].lower(), header[2][: limits.value])
    return found.get(b"type", b""), found.get(b"transfer-encoding", b""), found.get(b"disposition", b"")


def subject_of(head: bytes, limits: Limits = LIMITS) -> bytes:
    found = _SUBJECT.search(head)
    return decoded(unfolded(found[1][: limits.value])).strip() if found else b""
