"""The headers of a mail or part: where they end, their names and their values."""

from __future__ import annotations

import re

from .limits import LIMITS, Limits
from .words import decoded

# A name and a colon, or a line that carries on; mbox writes "From " lines, quoted or not, among them.
_HEAD = re.compile(rb"(?:[!-9;-~]++[ \t]*+:[^\n]*+(?:\n|\Z)|[ \t]++[^\n]++(?:\n|\Z)|>?From [^\n]*+(?:\n|\Z))*+")
_VALUE = rb"[ \t]*+:[ \t]*+([^\n]*+(?:\n[ \t][^\n]*+)*+)"
_HEADERS = re.compile(rb"^([!-9;-~]{1,100}+)" + _VALUE, re.M)
_CONTENT = re.compile(rb"^content-(type|transfer-encoding|disposition)" + _VALUE, re.M | re.I)
_SUBJECT = re.compile(rb"^subject" + _VALUE, re.M | re.I)


def end_of_head(raw: bytes, start: int, end: int, limits: Limits = LIMITS) -> tuple[int, int]:
    """Where the headers that begin at `start` end, and where the body begins."""
    found = _HEAD.match(raw, start, min(end, start + limits.head))
    stop = found.end() if found else start
    if stop >= start + limits.head:  # cut within: the rest of the headers is left out
        blank = raw.find(b"\n\n", max(stop - 1, start), end)
        return stop, end if blank < 0 else blank + 2
    return stop, stop + 1 if stop < end and raw[stop : stop + 1] == b"\n" else stop


def headers_of(head: bytes, limits: Limits = LIMITS) -> list[tuple[bytes, bytes]]:
    """Names, in lower case, and values on one line, not decoded."""
    if b"\0" in head:
        head = head.replace(b"\0", b"")
    found = []
    for name, value in _HEADERS.findall(head)[: limits.headers]:
        if len(value) > limits.value:
            value = value[: limits.value]
        found.append((name.lower(), unfolded(value) if b"\n" in value else value))
    return found


def unfolded(value: bytes) -> bytes:
    return b" ".join([line.strip() for line in value.split(b"\n")])


def content_headers(head: bytes, limits: Limits = LIMITS) -> tuple[bytes, bytes, bytes]:
    """Content-Type, Content-Transfer-Encoding and Content-Disposition: the first of each."""
    found: dict[bytes, bytes] = {}
    for name, value in _CONTENT.findall(head):
        found.setdefault(name.lower(), value[: limits.value])
    return found.get(b"type", b""), found.get(b"transfer-encoding", b""), found.get(b"disposition", b"")


def subject_of(head: bytes, limits: Limits = LIMITS) -> bytes:
    found = _SUBJECT.search(head)
    return decoded(unfolded(found[1][: limits.value])).strip() if found else b""
