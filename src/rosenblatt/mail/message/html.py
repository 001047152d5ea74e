"""HTML to the text that a reader sees, and to the addresses that it points to: one pass, linear in every input.

Tags        as browsers find them: a name after "<" or "</", then attributes, whose quotes may hold ">"; any other "<" is text
Blocks      give a new line, cells of tables and controls a blank, all else nothing, so that "V<b></b>iagra" is one word
Left out    comments of all kinds, scripts, style sheets, and what only browsers without frames or plug-ins show, each to
            the end where it is not closed, as in browsers
Unmarked    titles and text areas have references but no tags, xmp and what follows plaintext neither
Characters  references become what they stand for; control characters and those without width vanish; white space and
            no-break spaces become one blank, or one new line where a block begins or ends
Kept        the title, and what stands for a picture (alt)
Hidden      text that styles hide (display:none, size 0, white on white) is left in: what hides it is not looked at

Bytes that are not UTF-8 become U+FFFD before anything else. `plain` is the definition; `kernels/html.py` does the same.

Reference   WHATWG, HTML Living Standard, 13.2.5 (tokenization), without the states inside scripts, and 13.2.6.4 (which
            elements have no tags inside), without the exceptions inside SVG and MathML.
"""

from __future__ import annotations

import re
import sys
from functools import cache, lru_cache
from typing import Any

from .encodings import visible

# --- Character references of HTML, such as `&amp;`, `&#65` and `&#x1F600;`, as browsers read them.
#
# Reference  WHATWG, HTML Living Standard, 13.2.5.72 to 13.2.5.80 (tokenization of character references).

# Quantifiers that never give back: whatever does not match is left at once.
REFERENCE = re.compile(rb"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|[A-Za-z][A-Za-z0-9]*+;?)")
MAX_OPEN_NAME_BYTES = 6  # letters of the longest name that may stand without a semicolon
REPLACEMENT = 0xFFFD
CACHED_REFERENCE_BYTES = 8  # bytes of references that are remembered: mails repeat them
BYTES_PER_STEP = 1 << 16  # bytes; of more, a list of pieces would take much memory


@cache
def names() -> dict[bytes, bytes]:
    """All names, with their semicolon where they need one, and what they stand for as UTF-8."""
    from html.entities import html5

    return {name.encode(): value.encode() for name, value in html5.items()}


@cache
def code_pages() -> dict[int, int]:
    """Numbers from 128 to 159 mean Windows-1252, where that has a character."""
    found = {}
    for number in range(0x80, 0xA0):
        character = bytes([number]).decode("cp1252", "ignore")
        if character:
            found[number] = ord(character)
    return found


def decoded(raw: bytes, attribute: bool = False) -> bytes:
    """With every reference replaced by its character; white space by a blank. In the value of an attribute a name without a
    semicolon counts only before what can be no part of an address, so that "?a=1&copy=2" stays."""
    if b"&" not in raw:
        return raw
    character = _in_attribute if attribute else _in_text
    if len(raw) <= BYTES_PER_STEP:
        return REFERENCE.sub(character, raw)
    pieces, at = [], 0
    while at < len(raw):
        end = raw.find(b"&", at + BYTES_PER_STEP)  # no reference goes beyond the next one
        end = end if end >= 0 else len(raw)
        pieces.append(REFERENCE.sub(character, raw[at:end]))
        at = end
    return b"".join(pieces)


def _in_text(found: Any) -> bytes:
    return (_one if found.end() - found.start() > CACHED_REFERENCE_BYTES else _short)(found[0], False, b"")


def _in_attribute(found: Any) -> bytes:
    after = found.string[found.end() : found.end() + 1]
    return (_one if found.end() - found.start() > CACHED_REFERENCE_BYTES else _short)(found[0], True, after)


def _one(reference: bytes, attribute: bool, after: bytes) -> bytes:
    if reference[1] == ord("#"):
        return _character(reference)
    name, table = reference[1:], names()
    whole = table.get(name) if name.endswith(b";") else None
    if whole is not None:
        return _blank_or(whole)
    for length in range(min(MAX_OPEN_NAME_BYTES, len(name)), 1, -1):
        value = table.get(name[:length])
        if value is not None:
            rest = name[length:]
            following = rest[:1] or after
            if attribute and (following.isalnum() or following == b"="):
                break
            return _blank_or(value) + rest
    return reference


_short = lru_cache(4096)(_one)


def _character(reference: bytes) -> bytes:
    digits = reference.rstrip(b";")[2:]
    hexadecimal = digits[:1] in (b"x", b"X")
    digits = digits.lstrip(b"xX0")
    number = int(digits or b"0", 16 if hexadecimal else 10) if len(digits) <= 7 else 0
    number = code_pages().get(number, number)
    if number == 0 or number > 0x10FFFF or 0xD800 <= number < 0xE000:
        number = REPLACEMENT
    return _blank_or(chr(number).encode())


def _blank_or(value: bytes) -> bytes:
    return value if value.strip() else b" "


# ---

BLOCKS = frozenset(
    b"address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure footer"
    b" form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main menu nav ol optgroup option p"
    b" plaintext pre section summary table tbody tfoot thead title tr ul xmp".split()
)
CELLS = frozenset(b"button input select td textarea th".split())
END_OF_TAG = (b">", b"")
HIDDEN = frozenset(b"iframe noembed noframes script style".split())
TITLES = frozenset(b"textarea title".split())
VERBATIM = frozenset(b"plaintext xmp".split())
ENDLESS = b"plaintext"
ADDRESSES = frozenset(b"action background data href src".split())
MAX_ADDRESS_BYTES = 2048  # bytes kept of one

CONTROLS = bytes(c for c in (*range(32), 127) if c not in b"\t\n\v\f\r")
NO_BREAK = "\u00a0".encode()
BLANKS = bytes.maketrans(b"\t\n\v\f\r", b"     ")
NOT_IN_ADDRESSES = bytes((*range(33), 127))

# Nothing here gives back what it took ("*+", "?+"), so all of it is linear. A "<" that begins no markup is not found.
MARKUP = re.compile(rb"<(?:(/)?([A-Za-z][^ />]*+)|(!--)|[!?]|/(?s:.))")
ATTRIBUTE = re.compile(
    rb"""[ /]*+(?:([^ />][^ />=]*+)(?:[ ]*+=[ ]*+(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^ >"'][^ >]*+)?+))?+)?+"""
)
ENDS = {name: re.compile(rb"</" + name + rb"[ />]", re.I) for name in HIDDEN | TITLES | VERBATIM}
ENDS[ENDLESS] = re.compile(rb"\Z")
REFRESH = re.compile(rb" *+[0-9.;]")
URL = re.compile(rb"url *+= *+", re.I)

# Bytes from which compiled code is worth its import (about a second), which are more than a mail has after `limits.mail`; and
# from which it is faster where it is there already.
IMPORT_FROM, COMPILED_FROM = 1 << 23, 64


def strip(html: bytes) -> tuple[bytes, list[bytes]]:
    """The text of an HTML document, and the addresses of its links, pictures and forms, in order, both as UTF-8.

    >>> strip(b"<h1>V<!-- x -->iagra &amp; more</h1>Only <a href='http://a.example/?b&amp;c'>here</a>")
    (b'Viagra & more\\nOnly here', [b'http://a.example/?b&c'])
    """
    if len(html) >= (COMPILED_FROM if "numba" in sys.modules else IMPORT_FROM):
        from .compiled_html import COMPILED, compiled

        if COMPILED:
            return compiled(html)
    return plain(html)


def repaired(html: bytes) -> bytes:
    """With U+FFFD in place of what is not UTF-8."""
    try:
        html.decode()
    except UnicodeDecodeError:
        return html.decode("utf-8", "replace").encode()
    return html


def plain(html: bytes) -> tuple[bytes, list[bytes]]:
    """The definition."""
    html = repaired(html).translate(BLANKS)  # from here on a new line is that of a block
    text = bytearray()  # in one piece: millions of small ones take forty times the memory
    addresses: list[bytes] = []
    at, loud = 0, -2  # loud: where the next comment's end "--!>" is, looked for once
    while (found := MARKUP.search(html, at)) is not None:
        start = found.start()
        if start > at:
            text += decoded(html[at:start])
        if found[2] is not None:
            at = _tag(html, found[2].lower(), found.end(), found[1] is not None, text, addresses)
        elif found[3] is not None:
            quiet = html.find(b"-->", start + 2)
            if loud != -1 and loud < start + 4:
                loud = html.find(b"--!>", start + 4)
            at = min(quiet + 3 if quiet >= 0 else len(html), loud + 4 if loud >= 0 else len(html))
        else:
            end = html.find(b">", start + 1)
            at = end + 1 if end >= 0 else len(html)
    text += decoded(html[at:])
    return _tidied(bytes(text)), [shortened(address) for address in addresses]


def _tag(html: bytes, name: bytes, at: int, closing: bool, text: bytearray, addresses: list[bytes]) -> int:
    """Where the text goes on after a tag, whose name has been read up to `at`."""
    if name in BLOCKS:
        text += b"\n"
    elif name in CELLS:
        text += b" "
    while html[at : at + 1] not in END_OF_TAG:
        found: Any = ATTRIBUTE.match(html, at)
        at = found.end()
        kind = found.lastindex
        if kind is not None and kind > 1 and not closing and (value := found[kind]):
            _note(name, found[1].lower(), value, text, addresses)
    at += 1  # after ">", or past the end
    if closing or name not in ENDS or at > len(html):
        return at
    over = ENDS[name].search(html, at)
    end = over.start() if over is not None else len(html)
    if name not in HIDDEN:
        text += decoded(html[at:end]) if name in TITLES else html[at:end]
    return end


def _note(name: bytes, attribute: bytes, value: bytes, text: bytearray, addresses: list[bytes]) -> None:
    """What a value says to a reader, or where it points."""
    if attribute == b"alt":
        text += b" " + decoded(value, attribute=True) + b" "
        return
    if attribute == b"content" and name == b"meta" and REFRESH.match(value):
        url = URL.search(value)
        value = value[url.end() :] if url is not None else b""
        if value[:1] in (b'"', b"'"):
            value = value[1:].partition(value[:1])[0]
    elif attribute not in ADDRESSES:
        return
    address = decoded(value, attribute=True).translate(None, NOT_IN_ADDRESSES)
    if address:
        addresses.append(address)


def shortened(address: bytes) -> bytes:
    """The first bytes of an address that is too long, up to a whole character."""
    return address if len(address) <= MAX_ADDRESS_BYTES else address[:MAX_ADDRESS_BYTES].decode("utf-8", "ignore").encode()


def _tidied(text: bytes) -> bytes:
    text = text.translate(None, CONTROLS)
    text = visible(text.replace(NO_BREAK, b" "))
    if len(text) <= BYTES_PER_STEP:
        lines = (b" ".join(line.split()) for line in text.split(b"\n"))
        return b"\n".join(line for line in lines if line)
    # The same at a third of the speed, without a list of all words.
    return _once(_once(text, b" ").replace(b" \n", b"\n").replace(b"\n ", b"\n"), b"\n").strip()


def _once(text: bytes, white: bytes) -> bytes:
    """With one where there were several; every round halves them."""
    while 2 * white in text:
        text = text.replace(2 * white, white)
    return text


# --- Addresses in plain text: http://..., https://..., ftp://... and www....

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
