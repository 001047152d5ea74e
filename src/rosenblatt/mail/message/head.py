"""Where the headers of a raw mail are, whatever its line ends, and a mail without some of them.

A line ends with LF, CR LF or CR. Headers are the lines from the first (after the "From " line of an mbox) that have a name and
a colon, or go on with white space; the first other line ends them, blank or not, as in Python's own parser.
"""

from __future__ import annotations

import re
from functools import lru_cache

STAMP = b"X-Rosenblatt"
END = rb"(?:\r\n|[\r\n])"
# Nothing gives back what it took, so all is linear.
POSTMARK = re.compile(rb"From [^\r\n]*+" + END)
POSTMARK_LF = re.compile(rb"From [^\n]*+\n")
HEADERS = re.compile(rb"(?:(?:[!-9;-~]*+:|[ \t])[^\r\n]*+(?:\r\n|[\r\n]|\Z))*+")
# The last byte of a line and the line end of an empty one.
EMPTY, EMPTY_LF = (b"\n\n", b"\n\r", b"\r\r"), (b"\n\n", b"\n\r\n")


def headers(raw: bytes) -> tuple[int, int]:
    """Where headers begin and end; a mail that begins with white space has none."""
    postmark = POSTMARK.match(raw)
    start = postmark.end() if postmark is not None else 0
    if raw[start : start + 1] in (b" ", b"\t"):
        return start, start
    found = HEADERS.match(raw, start)
    return start, found.end() if found is not None else start


def without(raw: bytes, names: tuple[bytes, ...]) -> bytes:
    """Without headers of these names that some program may see: some read on to the first empty line, whatever comes before,
    and to some a CR ends no line. All other bytes stay; where CR and LF both end lines, a header may leave its LF."""
    end, end_lf = _end(raw), _end_lf(raw)
    low = raw[: max(end, end_lf)].lower()
    if not any(name.lower() in low for name in names):
        return raw
    fields, fields_lf = _fields(names)
    raw = _dropped(raw, fields, end)
    return _dropped(raw, fields_lf, _end_lf(raw)) if b"\r" in raw else raw


def without_stamps(raw: bytes) -> bytes:
    return without(raw, (STAMP,))


@lru_cache(8)
def _fields(names: tuple[bytes, ...]) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Headers of these names, one after the other, where a line begins; and where one does to those who know only LF."""
    field = rb"(?:%s)[ \t]*+:[^\r\n]*+(?:%s[ \t][^\r\n]*+)*+(?:%s|\Z)" % (b"|".join(map(re.escape, names)), END, END)
    return re.compile(rb"(?:\A|(?<=[\r\n]))(?:%s)++" % field, re.I), re.compile(rb"(?<=\n)(?:%s)++" % field, re.I)


def _end(raw: bytes) -> int:
    """Where the first empty line begins."""
    return _first_empty(raw, POSTMARK, EMPTY, (b"\n", b"\r"))


def _end_lf(raw: bytes) -> int:
    """Where it does to those who know only LF."""
    return _first_empty(raw, POSTMARK_LF, EMPTY_LF, (b"\n", b"\r\n"))


def _first_empty(raw: bytes, postmarks: re.Pattern[bytes], empty: tuple[bytes, ...], line_ends: tuple[bytes, ...]) -> int:
    postmark = postmarks.match(raw)
    start = postmark.end() if postmark is not None else 0
    if raw.startswith(line_ends, start):
        return start
    first = len(raw)
    for each in empty:  # far quicker than a pattern of all
        at = raw.find(each, start, first + len(each))
        first = min(first, at + 1) if at >= 0 else first
    return first


def _dropped(raw: bytes, fields: re.Pattern[bytes], end: int) -> bytes:
    kept, at, view = [], 0, memoryview(raw)  # of which no piece is a copy
    for found in fields.finditer(raw, 0, end):
        kept.append(view[at : found.start()])
        at = found.end()
        if raw.endswith(b"\r", 0, found.start()) and raw.endswith(b"\n", 0, at):
            at -= 1  # else two line ends might become one
    return b"".join((*kept, view[at:])) if at else raw
