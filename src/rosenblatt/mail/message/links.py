"""Addresses in plain text: http://..., https://..., ftp://... and www...."""

from __future__ import annotations

import re

_REST = re.compile(rb"[^\s<>\"'`\\()\[\]{}|^\x00-\x1f]{1,500}")
_SCHEMES = (b"http", b"https", b"ftp")
_TRAILING = b".,;:!?*_-="


def links_of(text: bytes, limit: int) -> list[bytes]:
    """In their order, `limit` at most. Found by what every address has, so that text without it costs next to nothing.

    >>> links_of(b"See http://a.example/x, or <www.b.example>.", 10)
    [b'http://a.example/x', b'www.b.example']
    """
    found: list[tuple[int, bytes]] = []
    for mark in (b"://", b"www.", b"WWW."):
        at = text.find(mark)
        while at >= 0 and len(found) < limit:
            start, end = at, at + len(mark)
            if mark == b"://":
                before = text[max(at - 5, 0) : at].lower()
                start -= next((len(scheme) for scheme in _SCHEMES if before.endswith(scheme)), -1)
            elif text[at - 1 : at].isalnum() or text[at - 1 : at] in (b"/", b".", b"@"):
                start = end  # within a longer address
            if start <= at and (rest := _REST.match(text, end)):
                found.append((start, text[start : rest.end()].rstrip(_TRAILING)))
                end = rest.end()
            at = text.find(mark, end)
    return [link for _, link in sorted(found)[:limit]]
