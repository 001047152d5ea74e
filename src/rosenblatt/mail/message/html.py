"""HTML to the text that a reader sees and to the addresses in it: one pass, linear in every input.

Tags        as in browsers: a name after "<" or "</", then attributes, whose quotes may contain ">"; any other "<" is text
Blocks      become a line break, table cells and controls a space, other tags nothing, so that "V<b></b>iagra" is one word
Removed     comments of all kinds, scripts, style sheets, and content for browsers without frames or plug-ins; to the end of
            the document if not closed, as in browsers
Raw text    titles and text areas have references but no tags; xmp and the text after plaintext have neither
Characters  references are replaced; control and zero-width characters are removed; white space and no-break spaces become one
            space, or one line break at the border of a block
Kept        the title, and alternative texts of pictures (alt)
Hidden      text that styles hide (display:none, size 0, white on white) is kept: styles are not interpreted

Bytes that are not UTF-8 are replaced by U+FFFD first. `plain` is the definition; `compiled`, by `kernels/mail/html.py`, gives
the same result.
Addresses in plain text are found by `links_of`.

Reference   WHATWG, HTML Living Standard, 13.2.5 (tokenization), without the states inside scripts, and 13.2.6.4 (which
            elements have no tags inside), without the exceptions inside SVG and MathML.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from .encodings import INVISIBLE, visible

if TYPE_CHECKING:
    from ...kernels.mail.html import Markup
    from ...kernels.mail.references import References

# --- character references, such as `&amp;`, `&#65` and `&#x1F600;` ------------------------------------------------------------
#
# Reference  WHATWG, HTML Living Standard, 13.2.5.72 to 13.2.5.80 (tokenization of character references).

# Possessive quantifiers: matching takes linear time.
REFERENCE = re.compile(rb"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|[A-Za-z][A-Za-z0-9]*+;?)")
MAX_OPEN_NAME_BYTES = 6  # length of the longest name that may lack its semicolon
REPLACEMENT = 0xFFFD
CACHED_REFERENCE_BYTES = 8  # results for references up to this size are cached
BYTES_PER_STEP = 1 << 16  # longer texts are processed in steps, to save memory


@cache
def names() -> dict[bytes, bytes]:
    """All names, with their semicolon if it is required, and their characters in UTF-8."""
    from html.entities import html5

    return {name.encode(): value.encode() for name, value in html5.items()}


@cache
def code_pages() -> dict[int, int]:
    """The characters of the numbers from 128 to 159, which mean Windows-1252."""
    found = {}
    for number in range(0x80, 0xA0):
        character = bytes([number]).decode("cp1252", "ignore")
        if character:
            found[number] = ord(character)
    return found


def decoded(raw: bytes, attribute: bool = False) -> bytes:
    """Replace references by their characters, and those of white space by a space.

    In the value of an attribute, a name without semicolon is a reference only before a character that cannot continue an
    address, so that "?a=1&copy=2" stays.
    """
    if b"&" not in raw:
        return raw
    character = _in_attribute if attribute else _in_text
    if len(raw) <= BYTES_PER_STEP:
        return REFERENCE.sub(character, raw)
    pieces, at = [], 0
    while at < len(raw):
        end = raw.find(b"&", at + BYTES_PER_STEP)  # no reference contains another "&"
        end = end if end >= 0 else len(raw)
        pieces.append(REFERENCE.sub(character, raw[at:end]))
        at = end
    return b"".join(pieces)


def _in_text(match: re.Match[bytes]) -> bytes:
    return (_one if match.end() - match.start() > CACHED_REFERENCE_BYTES else _short)(match[0], False, b"")


def _in_attribute(match: re.Match[bytes]) -> bytes:
    after = match.string[match.end() : match.end() + 1]
    return (_one if match.end() - match.start() > CACHED_REFERENCE_BYTES else _short)(match[0], True, after)


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


# --- tags ---------------------------------------------------------------------------------------------------------------------

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
MAX_ADDRESS_BYTES = 2048

CONTROLS = bytes(c for c in (*range(32), 127) if c not in b"\t\n\v\f\r")
NO_BREAK = "\u00a0".encode()
BLANKS = bytes.maketrans(b"\t\n\v\f\r", b"     ")
NOT_IN_ADDRESSES = bytes((*range(33), 127))

# Possessive quantifiers ("*+", "?+"): matching takes linear time. A "<" that does not begin markup does not match.
MARKUP = re.compile(rb"<(?:(/)?([A-Za-z][^ />]*+)|(!--)|[!?]|/(?s:.))")
ATTRIBUTE = re.compile(
    rb"""[ /]*+(?:([^ />][^ />=]*+)(?:[ ]*+=[ ]*+(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^ >"'][^ >]*+)?+))?+)?+"""
)
ENDS = {name: re.compile(rb"</" + name + rb"[ />]", re.I) for name in HIDDEN | TITLES | VERBATIM}
ENDS[ENDLESS] = re.compile(rb"\Z")
REFRESH = re.compile(rb" *+[0-9.;]")
URL = re.compile(rb"url *+= *+", re.I)

# Compiled code is imported for documents of this size (the import takes about a second, and `Limits.mail` is smaller);
IMPORT_FROM = 1 << 23
# if it is loaded already, it is used from this size on.
COMPILED_FROM = 64


def strip(html: bytes) -> tuple[bytes, list[bytes]]:
    """The text of an HTML document, and the addresses of its links, pictures and forms, in order, both as UTF-8.

    >>> strip(b"<h1>V<!-- x -->iagra &amp; more</h1>Only <a href='http://a.example/?b&amp;c'>here</a>")
    (b'Viagra & more\\nOnly here', [b'http://a.example/?b&c'])
    """
    if len(html) >= (COMPILED_FROM if "numba" in sys.modules else IMPORT_FROM):
        from ...kernels.compile import COMPILED

        if COMPILED:
            return compiled(html)
    return plain(html)


def repaired(html: bytes) -> bytes:
    """With U+FFFD for bytes that are not UTF-8."""
    try:
        html.decode()
    except UnicodeDecodeError:
        return html.decode("utf-8", "replace").encode()
    return html


def plain(html: bytes) -> tuple[bytes, list[bytes]]:
    """The definition of `strip`."""
    html = repaired(html).translate(BLANKS)  # line breaks are now those of blocks
    text = bytearray()  # one buffer: millions of small pieces take forty times the memory
    addresses: list[bytes] = []
    at, loud = 0, -2  # loud: where the next "--!>" is, searched once
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
    """Process a tag whose name ends at `at`; returns the position at which the text continues."""
    if name in BLOCKS:
        text += b"\n"
    elif name in CELLS:
        text += b" "
    while html[at : at + 1] not in END_OF_TAG:
        found = ATTRIBUTE.match(html, at)
        assert found is not None  # the pattern also matches nothing
        at = found.end()
        kind = found.lastindex
        if kind is not None and kind > 1 and not closing and (value := found[kind]):
            _add_value(name, found[1].lower(), value, text, addresses)
    at += 1  # after ">", or past the end
    if closing or name not in ENDS or at > len(html):
        return at
    over = ENDS[name].search(html, at)
    end = over.start() if over is not None else len(html)
    if name not in HIDDEN:
        text += decoded(html[at:end]) if name in TITLES else html[at:end]
    return end


def _add_value(name: bytes, attribute: bytes, value: bytes, text: bytearray, addresses: list[bytes]) -> None:
    """Add the value of an attribute to the text or to the addresses."""
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
    """An address of at most MAX_ADDRESS_BYTES, without an incomplete character."""
    return address if len(address) <= MAX_ADDRESS_BYTES else address[:MAX_ADDRESS_BYTES].decode("utf-8", "ignore").encode()


def _tidied(text: bytes) -> bytes:
    text = text.translate(None, CONTROLS)
    text = visible(text.replace(NO_BREAK, b" "))
    if len(text) <= BYTES_PER_STEP:
        lines = (b" ".join(line.split()) for line in text.split(b"\n"))
        return b"\n".join(line for line in lines if line)
    # The same without a list of all words, at a third of the speed.
    return _once(_once(text, b" ").replace(b" \n", b"\n").replace(b"\n ", b"\n"), b"\n").strip()


def _once(text: bytes, white: bytes) -> bytes:
    """Replace runs of a white-space character by one; every round halves them."""
    while 2 * white in text:
        text = text.replace(2 * white, white)
    return text


# --- the same, compiled -----------------------------------------------------------------------------------------------------


def compiled(html: bytes) -> tuple[bytes, list[bytes]]:
    """The result of `plain` for the same bytes."""
    from ...kernels.mail.html import html_text
    from ...kernels.text.utf8 import is_utf8

    raw = np.frombuffer(html, np.uint8)
    if not (html.isascii() or is_utf8(raw, raw[: len(raw) // 8 * 8].view(np.uint64))):
        html = repaired(html)
    room = len(html) * 5 // 4 + 16
    text, links, done = np.empty(room, np.uint8), np.empty(room, np.uint8), np.zeros(2, np.int64)
    html_text(np.frombuffer(html, np.uint8), text, links, done, markup())
    addresses = links[: done[1]].tobytes().split(b"\n")[:-1]
    return text[: done[0]].tobytes(), [a if len(a) <= MAX_ADDRESS_BYTES else shortened(a) for a in addresses]


@cache
def markup() -> Markup:
    """The tables of the kernel: kinds of bytes and tags, and character references."""
    from ...kernels.mail import html as kinds

    of_bytes = np.full(256, kinds.PLAIN, np.uint8)
    of_bytes[list(CONTROLS)] = kinds.CONTROL
    of_bytes[list(b" \t\n\v\f\r")] = kinds.WHITE
    of_bytes[[character[0] for character in INVISIBLE]] = kinds.WIDE
    of_bytes[ord("<")], of_bytes[ord("&")] = kinds.ANGLE, kinds.REFERENCE
    tags: Counter[bytes] = Counter({b"meta": int(kinds.META), ENDLESS: int(kinds.ENDLESS)})
    for tag_names, kind_ in (
        (BLOCKS, kinds.BLOCK), (CELLS, kinds.CELL), (HIDDEN, kinds.HIDDEN), (TITLES, kinds.TITLE), (VERBATIM, kinds.VERBATIM),
    ):  # fmt: skip
        tags.update(dict.fromkeys(tag_names, int(kind_)))
    keys, of_tags = np.zeros(int(kinds.SLOT_MASK) + 1, np.uint64), np.zeros(int(kinds.SLOT_MASK) + 1, np.uint8)
    for name, kind in sorted(tags.items()):
        key = kinds.key_of(name)
        slot = (key * int(kinds.HASH_MULTIPLIER) & 0xFFFFFFFFFFFFFFFF) >> int(kinds.HASH_SHIFT)
        while keys[slot]:
            slot = (slot + 1) & int(kinds.SLOT_MASK)
        keys[slot], of_tags[slot] = key, kind
    return kinds.Markup(of_bytes, keys, of_tags, _references())


def _references() -> References:
    """The table of named character references, and the characters of the numbers from 128 to 159."""
    from ...kernels.mail.references import MASK, PRIME, START, References

    table = sorted(names().items())
    slots = np.full(int(MASK) + 1, -1, np.int32)
    for k, (name, _) in enumerate(table):
        h = int(START)
        for c in name:
            h = (h ^ c) * int(PRIME) & 0xFFFFFFFF
        slot = h & int(MASK)
        while slots[slot] >= 0:
            slot = (slot + 1) & int(MASK)
        slots[slot] = k
    starts = np.concatenate(([0], np.cumsum([len(name) for name, _ in table]))).astype(np.int32)
    values = [value.decode() for _, value in table]
    first = np.array([ord(value[0]) for value in values], np.uint32)
    second = np.array([ord(value[1]) if len(value) > 1 else 0 for value in values], np.uint32)
    pages = np.array([code_pages().get(number, number) for number in range(0x80, 0xA0)], np.uint32)
    letters = np.frombuffer(b"".join(name for name, _ in table), np.uint8)
    return References(slots, starts, letters, first, second, pages)


# --- addresses in plain text: http://..., https://..., ftp://... and www.... --------------------------------------------------

_REST = re.compile(rb"[^\s<>\"'`\\()\[\]{}|^\x00-\x1f]{1,500}")
_SCHEMES = (b"http", b"https", b"ftp")
_TRAILING = b".,;:!?*_-="


def links_of(text: bytes, limit: int) -> list[bytes]:
    """At most `limit` addresses in their order; the search is by substrings, so that text without addresses takes little time.

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
