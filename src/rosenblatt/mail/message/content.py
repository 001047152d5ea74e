"""What a part says of itself: its type, charset, boundary, encoding and name (RFC 2045, 2183, 2231)."""

from __future__ import annotations

import re
from typing import NamedTuple

from .encodings import to_utf8
from .words import decoded

# A quote that is not closed goes to the end, so that no second one is looked for from there.
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
    name: bytes = b""  # of the file, UTF-8
    attached: bool = False


def content_of(type_: bytes, encoding: bytes, disposition: bytes, default: bytes = b"text/plain") -> Content:
    """From the three headers as they are written; each may be missing (empty)."""
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
    """Names in lower case; of several with one name the first. Pieces of one value, name*0, name*1*, are joined.

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
