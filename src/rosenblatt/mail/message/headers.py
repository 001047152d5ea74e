"""The headers of a mail or part: their place in the raw bytes, their removal, their names and values, encoded words.

A line ends with LF, CR LF or CR. Headers are the lines from the first (after the "From " line of an mbox) that have a name and
a colon, or continue with white space; the first other line ends them, blank or not, as in Python's own parser.
"""

from __future__ import annotations

import binascii
import re
from functools import lru_cache

from .encodings import from_base64, to_utf8, undeclared
from .message import LIMITS, Limits

# --- headers in the raw bytes -----------------------------------------------------------------------------------------------

STAMP = b"X-Rosenblatt"
LINE_END = rb"(?:\r\n|[\r\n])"
# Possessive quantifiers: matching takes linear time.
POSTMARK = re.compile(rb"From [^\r\n]*+" + LINE_END)
POSTMARK_LF = re.compile(rb"From [^\n]*+\n")
HEADERS = re.compile(rb"(?:(?:[!-9;-~]*+:|[ \t])[^\r\n]*+(?:\r\n|[\r\n]|\Z))*+")
# The last byte of a line and the line end of an empty line after it.
EMPTY, EMPTY_LF = (b"\n\n", b"\n\r", b"\r\r"), (b"\n\n", b"\n\r\n")


def header_span(raw: bytes) -> tuple[int, int]:
    """Start and end of the headers; a mail that begins with white space has none."""
    postmark = POSTMARK.match(raw)
    start = postmark.end() if postmark is not None else 0
    if raw[start : start + 1] in (b" ", b"\t"):
        return start, start
    found = HEADERS.match(raw, start)
    return start, found.end() if found is not None else start


def without_headers(raw: bytes, names: tuple[bytes, ...]) -> bytes:
    """The mail without headers of these names, whatever rules another program finds headers by.

    Some programs read headers up to the first empty line, even after lines that are not headers, and for some a CR does not end
    a line: headers are removed by all these rules. All other bytes stay; in mails with both line ends, the LF of a removed
    header may stay.
    """
    end, end_lf = _end(raw), _end_lf(raw)
    low = raw[: max(end, end_lf)].lower()
    if not any(name.lower() in low for name in names):
        return raw
    fields, fields_lf = _fields(names)
    raw = _dropped(raw, fields, end)
    return _dropped(raw, fields_lf, _end_lf(raw)) if b"\r" in raw else raw


def without_stamps(raw: bytes) -> bytes:
    return without_headers(raw, (STAMP,))


@lru_cache(8)
def _fields(names: tuple[bytes, ...]) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Patterns of consecutive headers of these names, with any line ends and with LF only."""
    field = rb"(?:%s)[ \t]*+:[^\r\n]*+(?:%s[ \t][^\r\n]*+)*+(?:%s|\Z)" % (b"|".join(map(re.escape, names)), LINE_END, LINE_END)
    return re.compile(rb"(?:\A|(?<=[\r\n]))(?:%s)++" % field, re.I), re.compile(rb"(?<=\n)(?:%s)++" % field, re.I)


def _end(raw: bytes) -> int:
    """The start of the first empty line, with any line ends."""
    return _first_empty(raw, POSTMARK, EMPTY, (b"\n", b"\r"))


def _end_lf(raw: bytes) -> int:
    """The start of the first empty line if only LF ends a line."""
    return _first_empty(raw, POSTMARK_LF, EMPTY_LF, (b"\n", b"\r\n"))


def _first_empty(raw: bytes, postmarks: re.Pattern[bytes], empty: tuple[bytes, ...], line_ends: tuple[bytes, ...]) -> int:
    postmark = postmarks.match(raw)
    start = postmark.end() if postmark is not None else 0
    if raw.startswith(line_ends, start):
        return start
    first = len(raw)
    for each in empty:  # far faster than one pattern
        at = raw.find(each, start, first + len(each))
        first = min(first, at + 1) if at >= 0 else first
    return first


def _dropped(raw: bytes, fields: re.Pattern[bytes], end: int) -> bytes:
    kept, at, view = [], 0, memoryview(raw)  # slices without copies
    for found in fields.finditer(raw, 0, end):
        kept.append(view[at : found.start()])
        at = found.end()
        if raw.endswith(b"\r", 0, found.start()) and raw.endswith(b"\n", 0, at):
            at -= 1  # else two line ends might become one
    return b"".join((*kept, view[at:])) if at else raw


# --- encoded words, =?charset?B or Q?text?= (RFC 2047) ------------------------------------------------------------------------

_START = re.compile(rb"=\?([^?\s]{1,60})\?([bBqQ])\?")


def decoded(value: bytes, charset: bytes = b"") -> bytes:
    """The value of a header as UTF-8; spaces between encoded words are dropped, and a character may span two of them.

    charset : of the body, for bytes outside encoded words that are not UTF-8.

    >>> decoded(b"=?utf-8?q?Fr=C3?= =?utf-8?B?qWU=?= tickets").decode()
    'Frée tickets'
    """
    if b"=?" not in value:
        return undeclared(value, charset)
    runs: list[tuple[bytes, list[bytes]]] = []  # a charset, or b"" for plain text, and pieces in it
    at = 0
    for start, end, declared, data in _words(value):
        between = value[at:start]
        if between and not (runs and runs[-1][0] and between.isspace()):
            runs.append((b"", [between]))
        if runs and runs[-1][0] == declared:
            runs[-1][1].append(data)
        else:
            runs.append((declared, [data]))
        at = end
    runs.append((b"", [value[at:]]))
    texts = (to_utf8(b"".join(part), name) if name else undeclared(b"".join(part), charset) for name, part in runs)
    text = b"".join(texts)
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


# --- names and values -------------------------------------------------------------------------------------------------------

# A name and a colon, or a continuation line, as above; in addition, old mail may have spaces before the colon (RFC 5322, 4.5),
# and mbox files have "From " lines, quoted or not, among headers. Lines end with LF here.
_HEADER_LINES = re.compile(rb"(?:[!-9;-~]*+[ \t]*+:[^\n]*+(?:\n|\Z)|[ \t][^\n]*+(?:\n|\Z)|>?From [^\n]*+(?:\n|\Z))*+")
_VALUE = rb"[ \t]*+:[ \t]*+([^\n]*+(?:\n[ \t][^\n]*+)*+)"
_HEADERS = re.compile(rb"^([!-9;-~]{1,100}+)" + _VALUE, re.M)
_CONTENT = re.compile(rb"^content-(type|transfer-encoding|disposition)" + _VALUE, re.M | re.I)
_SUBJECT = re.compile(rb"^subject" + _VALUE, re.M | re.I)
_CONTENT_HEADERS = re.compile(rb"^(subject|content-(?:type|transfer-encoding|disposition))" + _VALUE, re.M | re.I)


def end_of_head(raw: bytes, start: int, end: int) -> tuple[int, int]:
    """The end of the headers that begin at `start`, and the start of the body."""
    found = _HEADER_LINES.match(raw, start, end) if raw[start : start + 1] not in (b" ", b"\t") else None
    stop = found.end() if found else start
    return stop, stop + 1 if stop < end and raw[stop : stop + 1] == b"\n" else stop


def headers_of(head: bytes, limits: Limits = LIMITS) -> list[tuple[bytes, bytes]]:
    """Names in lower case and unfolded values, not decoded.

    Beyond the limits only the subject and the content headers are returned, the first of each.
    """
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
    for header in _CONTENT_HEADERS.finditer(head, start):
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
