"""The parts of a mail (RFC 2046), found with an explicit stack instead of recursion, and their content headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .encodings import UUENCODED, from_transfer, one_newline, to_utf8
from .headers import content_headers, decoded, end_of_head, subject_of
from .message import LIMITS, Limits

# --- content headers: type, charset, boundary, encoding and name (RFC 2045, 2183, 2231) ---------------------------------------

# An unclosed quote extends to the end, so that no second one is searched for from there.
_PARAMETER = re.compile(rb';\s*+([^\s=;"]++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)(?:"|\\?$)|([^;]*+))', re.S)
_ESCAPED = re.compile(rb"\\(.)", re.S)
_PIECE = re.compile(rb"(.*?)(?:\*(\d{1,2}))?(\*?)$", re.S)
_PERCENT = re.compile(rb"%([0-9a-fA-F]{2})")
_TYPE = re.compile(rb"\s*+([\w.+-]++)\s*/\s*([\w.+-]++)")


class Content(NamedTuple):
    type: bytes = b"text/plain"
    charset: bytes = b""
    boundary: bytes = b""
    encoding: bytes = b""
    name: bytes = b""  # name of the file in UTF-8
    attached: bool = False


def content_of(type_: bytes, encoding: bytes, disposition: bytes, default: bytes = b"text/plain") -> Content:
    """Parse the three content headers; a missing one is empty."""
    parameters, where = parameters_of(type_), parameters_of(disposition)
    name = where.get(b"filename") or parameters.get(b"name", b"") or parameters.get(b"filename", b"")
    return Content(
        media_type(type_, default),
        parameters.get(b"charset", b""),
        parameters.get(b"boundary", b""),
        encoding.strip().lower(),
        name,
        disposition.lstrip()[:10].lower() == b"attachment",
    )


def media_type(value: bytes, default: bytes = b"text/plain") -> bytes:
    found = _TYPE.match(value)
    if found:
        return found[1].lower() + b"/" + found[2].lower()
    return default


def parameters_of(value: bytes) -> dict[bytes, bytes]:
    """Parameters of a header by name in lower case, the first of each; pieces of one value, name*0, name*1*, are joined.

    >>> parameters_of(b"attachment; filename*0*=utf-8''%e2%82%ac; filename*1=.exe")[b"filename"].decode()
    '€.exe'
    """
    found: dict[bytes, bytes] = {}
    if b";" not in value:
        return found
    pieces: dict[bytes, dict[int, tuple[bytes, bool]]] = {}
    for name, quoted, plain in _PARAMETER.findall(value):
        name, text = name.lower(), _ESCAPED.sub(rb"\1", quoted) if b"\\" in quoted else quoted or plain.strip()
        if b"*" in name and (piece := _PIECE.match(name)):
            pieces.setdefault(piece[1], {}).setdefault(int(piece[2] or 0), (text, bool(piece[3])))
        elif name not in found:
            found[name] = decoded(text) if name in (b"name", b"filename") else text
    for name, numbered in pieces.items():
        if name not in found:
            found[name] = _joined(numbered)
    return found


def _joined(numbered: dict[int, tuple[bytes, bool]]) -> bytes:
    charset, parts = b"", []
    for number, (text, escaped) in sorted(numbered.items()):
        if escaped and number == min(numbered) and text.count(b"'") >= 2:
            charset, _, text = text.split(b"'", 2)
        parts.append(_PERCENT.sub(lambda code: bytes((int(code[1], 16),)), text) if escaped else text)
    return to_utf8(b"".join(parts), charset)


# --- parts ------------------------------------------------------------------------------------------------------------------

# A boundary that is not declared: the first line that could be one and is followed by a content header.
_UNDECLARED_BOUNDARY = re.compile(rb"^--([^\n]{1,200}+)\n(?=content-)", re.M | re.I)
_CODED = (b"base64", b"quoted", *UUENCODED)


class Part(NamedTuple):
    """A leaf of the tree of parts."""

    content: Content
    body: bytes  # not decoded
    group: int  # parts of one group are alternatives; 0: no alternatives


class _Work(NamedTuple):
    raw: bytes
    start: int
    end: int
    depth: int
    group: int
    default: bytes
    content: Content | None  # None: to be read from the headers at `start`


def parts_of(raw: bytes, start: int, content: Content, limits: Limits = LIMITS) -> Iterator[Part]:
    """The leaves of a mail whose body begins at `start`, in their order: `limits.parts` at most, and the rest as text."""
    work = [_Work(raw, start, len(raw), 0, 0, b"text/plain", content)]
    groups = 0
    lines = _Lines(limits.parts)
    while work:
        here = work.pop()
        raw, start, end, content = here.raw, here.start, here.end, here.content or Content()
        if here.content is None:
            stop, body = end_of_head(raw, start, end)
            content = content_of(*content_headers(raw[start:stop], limits), default=here.default)
            start = body
        kind = content.type
        deep = here.depth >= limits.depth
        if kind.startswith(b"multipart/") and not deep:
            pieces, rest = lines.pieces(raw, start, end, content.boundary)
            if pieces:
                group = here.group
                if kind == b"multipart/alternative" and not group:
                    groups += 1
                    group = groups
                default = b"message/rfc822" if kind == b"multipart/digest" else b"text/plain"
                if rest < end:  # more parts than the limit
                    work.append(_Work(raw, rest, end, here.depth + 1, 0, default, Content()))
                work += [_Work(raw, *piece, here.depth + 1, group, default, None) for piece in reversed(pieces)]
                continue
            content = Content()
        elif kind in (b"message/rfc822", b"message/global") and not deep:
            if content.encoding.startswith(_CODED):
                raw = one_newline(from_transfer(raw[start:end], content.encoding))
                start, end = 0, len(raw)
            stop, _ = end_of_head(raw, start, end)
            if subject := subject_of(raw[start:stop], limits):
                yield Part(Content(charset=b"utf-8"), subject, 0)
            work.append(_Work(raw, start, end, here.depth + 1, here.group, b"text/plain", None))
            continue
        elif kind.startswith((b"multipart/", b"message/")):
            content = Content()
        yield Part(content, raw[start:end], here.group)


class _Lines:
    """Search for boundary lines within the limits of one mail."""

    def __init__(self, parts: int) -> None:
        self.parts, self.lines = parts, 100 * parts  # lines: including those that only begin like a boundary

    def pieces(self, raw: bytes, start: int, end: int, boundary: bytes) -> tuple[list[tuple[int, int]], int]:
        """Start and end of the parts between boundary lines, and the end of the search."""
        found = self._between(raw, start, end, b"--" + boundary.rstrip()) if boundary.strip() else ([], end)
        if not found[0] and (lost := _UNDECLARED_BOUNDARY.search(raw, start, min(end, start + 10_000))):
            found = self._between(raw, start, end, b"--" + lost[1].rstrip())
        return found

    def _between(self, raw: bytes, start: int, end: int, line: bytes) -> tuple[list[tuple[int, int]], int]:
        pieces: list[tuple[int, int]] = []
        opened = -1
        at = start if raw.startswith(line, start, end) else _next(raw, line, start, end)
        while at >= 0 and self.parts > 0 and self.lines > 0:
            self.lines -= 1
            after = at + len(line)
            closing = raw[after : after + 2] == b"--"
            stop = raw.find(b"\n", after, end)
            stop = end if stop < 0 else stop
            if not raw[after + 2 * closing : stop].strip():  # else a longer line that only begins like a boundary
                if opened >= 0:
                    pieces.append((opened, max(at - 1, opened)))
                    self.parts -= 1
                if closing and pieces:
                    return pieces, end
                opened = min(stop + 1, end)
            at = _next(raw, line, after, end)
        if opened >= 0 and at < 0:
            pieces.append((opened, end))
            self.parts -= 1
        return pieces, end if at < 0 else opened


def _next(raw: bytes, line: bytes, start: int, end: int) -> int:
    at = raw.find(b"\n" + line, start, end)
    return at + 1 if at >= 0 else -1
