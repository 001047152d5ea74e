"""HTML to text and addresses, as `mail/message/html.py` defines them, for valid UTF-8; every byte is read once or twice.

White space is not written at once: `due` is the separator before the next character, a space or a line break.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import IntArray
from ..compile import inlined, kernel
from .references import (
    AMPERSAND,
    ATTRIBUTE,
    CASE,
    DIGIT,
    EQUALS,
    LETTER,
    LETTERS,
    NONE,
    ONE,
    TEN,
    TEXT,
    TWO,
    ZERO,
    References,
    encoded,
    reference,
)

PLAIN, WHITE, CONTROL, ANGLE, REFERENCE, WIDE = (np.uint8(k) for k in range(6))  # kinds of bytes
NOTHING, BLANK = np.uint8(0), np.uint8(1)  # separators before the next character; BLOCK is a line break
# Kinds of tags are sums of flags: the separator around them, and the kind of content that they begin.
OTHER, CELL, BLOCK, GAP, META, HIDDEN, TITLE, VERBATIM, ENDLESS = (np.uint8(k) for k in (0, 1, 2, 3, 4, 8, 16, 32, 64))
OPEN, CLOSE, SLASH, BANG, QUESTION, DASH, QUOTE, APOSTROPHE, DOT, SEMICOLON = (np.uint8(ord(c)) for c in "<>/!?-\"'.;")
SPACE, TAB, NEWLINE, DELETE, FIVE = (np.uint8(c) for c in (32, 9, 10, 127, 5))
NO_BREAK, SOFT_HYPHEN, WORD_JOINER, BYTE_ORDER = (np.uint32(c) for c in (0xA0, 0xAD, 0x2060, 0xFEFF))
NO_WIDTH, AFTER_NO_WIDTH = np.uint32(0x200B), np.uint32(0x2010)
LEAD_C2, LEAD_EF = np.uint8(0xC2), np.uint8(0xEF)
THREE, FOUR, SEVEN = np.uintp(3), np.uintp(4), np.uintp(7)
MAX_NAME_BYTES = np.uintp(10)  # longer names of tags and attributes have no key
# Slot of a key in the table of tags: the upper bits of key * HASH_MULTIPLIER.
HASH_MULTIPLIER, HASH_SHIFT, SLOT_MASK = np.uint64(0x9E3779B97F4A7C15), np.uint64(56), np.uintp(255)
LETTER_U, LETTER_R, LETTER_L = (np.uint8(c) for c in b"url")


class Markup(NamedTuple):
    """Kinds of bytes; hash table of tag names by their keys (0: free) with their kinds; character references."""

    bytes: IntArray
    keys: IntArray
    kinds: IntArray
    references: References


def key_of(name: bytes) -> int:
    """A name of at most ten letters and digits as a number, six bits for each."""
    key = 0
    for c in name:
        key = key << 6 | (c - 48 + 27 if c < 58 else c - 96)
    return key


ALT, CONTENT, ACTION, BACKGROUND, DATA, HREF, SRC = (
    np.uint64(key_of(name)) for name in (b"alt", b"content", b"action", b"background", b"data", b"href", b"src")
)


@inlined
def _is_white(c: Any) -> Any:
    return c == SPACE or np.uint8(c - TAB) < FIVE


@inlined
def _name(html: IntArray, i: Any, n: Any, where: Any) -> Any:
    """The end of a name, and its key, or 0 if it is too long; the name of an attribute may begin with "="."""
    begin, key = i, np.uint64(0)
    while i < n:
        c = html[i]
        if c in (CLOSE, SLASH) or _is_white(c) or (where == ATTRIBUTE and c == EQUALS and i > begin):
            break
        letter, digit, code = np.uint8(np.uint8(c | CASE) - LETTER), np.uint8(c - DIGIT), np.uint64(63)
        if letter < LETTERS:
            code = np.uint64(letter) + np.uint64(1)
        elif digit < TEN:
            code = np.uint64(digit) + np.uint64(27)
        key = np.uint64(key << np.uint64(6)) | code
        i += ONE
    return i, key if i - begin <= MAX_NAME_BYTES else np.uint64(0)


@inlined
def kind_of(key: Any, markup: Markup) -> Any:
    """The kind of a tag, by the key of its name."""
    slot = np.uintp(np.uint64(key * HASH_MULTIPLIER) >> HASH_SHIFT)
    while markup.keys[slot] != np.uint64(0):
        if markup.keys[slot] == key:
            return markup.kinds[slot]
        slot = (slot + ONE) & SLOT_MASK
    return OTHER


@inlined
def _before(text: IntArray, o: Any, due: Any) -> Any:
    """Write the separator before a character, unless that is the first."""
    if due != NOTHING and o > ZERO:
        text[o] = SPACE if due == BLANK else NEWLINE
        o += ONE
    return o


@kernel
def _character(text: IntArray, o: Any, due: Any, character: Any) -> Any:
    """Write the character of a reference, if it is visible."""
    if np.uint32(9) <= character <= np.uint32(13) or character in (np.uint32(32), NO_BREAK):
        return o, max(due, BLANK)
    if character < np.uint32(32) or character == np.uint32(127) or NO_WIDTH <= character < AFTER_NO_WIDTH:
        return o, due
    if character in (SOFT_HYPHEN, WORD_JOINER, BYTE_ORDER):
        return o, due
    return encoded(text, _before(text, o, due), character), NOTHING


@inlined
def _wide(html: IntArray, i: Any, n: Any) -> Any:
    """The number of bytes at i of a no-break space (first) or a zero-width character (second)."""
    c, d, e = html[i], html[i + ONE] if i + ONE < n else SPACE, html[i + TWO] if i + TWO < n else SPACE
    if c == LEAD_C2:
        return TWO if d == np.uint8(0xA0) else ZERO, TWO if d == np.uint8(0xAD) else ZERO
    if c == LEAD_EF:
        return ZERO, THREE if d == np.uint8(0xBB) and e == np.uint8(0xBF) else ZERO
    marks = d == np.uint8(0x80) and e >= np.uint8(0x8B) and e <= np.uint8(0x8F)
    return ZERO, THREE if marks or (d == np.uint8(0x81) and e == np.uint8(0xA0)) else ZERO


@inlined
def _words(html: IntArray, i: Any, n: Any, where: Any, text: IntArray, o: Any, due: Any, markup: Markup) -> Any:
    """Write text up to n, or in TEXT to the next "<"; returns that place, the end of the output, and `due`."""
    while i < n:
        c = html[i]
        kind = markup.bytes[c]
        if kind == WHITE:
            due = max(due, BLANK)
            i += ONE
            continue
        if kind == CONTROL:
            i += ONE
            continue
        if kind == ANGLE and where == TEXT:
            break
        if kind == REFERENCE and where != VERBATIM:
            after, first, second = reference(html, i, n, where, markup.references)
            if after > i:
                o, due = _character(text, o, due, first)
                if second != NONE:
                    o, due = _character(text, o, due, second)
                i = after
                continue
        if kind == WIDE:
            blank, hidden = _wide(html, i, n)
            if blank + hidden > ZERO:
                due = max(due, BLANK) if blank > ZERO else due
                i += blank + hidden
                continue
        o, due = _before(text, o, due), NOTHING
        text[o] = c
        o += ONE
        i += ONE
        while i < n and markup.bytes[html[i]] == PLAIN:
            text[o] = html[i]
            o += ONE
            i += ONE
    return i, o, due


@kernel
def _address(html: IntArray, i: Any, n: Any, links: IntArray, q: Any, references: References) -> Any:
    """Write an address without white space, and a line break; nothing if the address is empty."""
    begin = q
    while i < n:
        c = html[i]
        if c == AMPERSAND:
            after, first, second = reference(html, i, n, ATTRIBUTE, references)
            if after > i:
                if first > np.uint32(SPACE) and first != np.uint32(DELETE):
                    q = encoded(links, q, first)
                if second != NONE:
                    q = encoded(links, q, second)
                i = after
                continue
        if c > SPACE and c != DELETE:
            links[q] = c
            q += ONE
        i += ONE
    if q > begin:
        links[q] = NEWLINE
        q += ONE
    return q


@kernel
def _refreshed(html: IntArray, i: Any, n: Any) -> Any:
    """Start and end of the address in the content of a `meta` tag with a redirect: after "url="."""
    while i < n and _is_white(html[i]):
        i += ONE
    if i == n or (np.uint8(html[i] - DIGIT) >= TEN and html[i] != DOT and html[i] != SEMICOLON):
        return n, n
    while i + THREE < n:
        if html[i] | CASE == LETTER_U and html[i + ONE] | CASE == LETTER_R and html[i + TWO] | CASE == LETTER_L:
            j = _blanks(html, i + THREE, n)
            if j < n and html[j] == EQUALS:
                j = _blanks(html, j + ONE, n)
                if j < n and (html[j] == QUOTE or html[j] == APOSTROPHE):
                    end = j + ONE
                    while end < n and html[end] != html[j]:
                        end += ONE
                    return j + ONE, end
                return j, n
        i += ONE
    return n, n


@inlined
def _blanks(html: IntArray, i: Any, n: Any) -> Any:
    while i < n and _is_white(html[i]):
        i += ONE
    return i


@inlined
def _attribute(html: IntArray, i: Any, n: Any) -> Any:
    """The attribute at i: its end, its key, and start and end of its value."""
    i, key = _name(html, i, n, ATTRIBUTE)
    j = _blanks(html, i, n)
    if j >= n or html[j] != EQUALS:
        return j, key, j, j
    i = _blanks(html, j + ONE, n)
    if i < n and (html[i] == QUOTE or html[i] == APOSTROPHE):
        begin, quote = i + ONE, html[i]
        i += ONE
        while i < n and html[i] != quote:
            i += ONE
        return min(i + ONE, n), key, begin, i
    begin = i
    while i < n and html[i] != CLOSE and not _is_white(html[i]):
        i += ONE
    return i, key, begin, i


@kernel
def _after_raw(html: IntArray, i: Any, n: Any, name: Any) -> Any:
    """The "</" of the tag that ends an element of raw text, or n."""
    while i + TWO < n:
        if html[i] == OPEN and html[i + ONE] == SLASH:
            end, key = _name(html, i + TWO, n, TEXT)
            if key == name and end < n:
                return i
        i += ONE
    return n


@kernel
def _unmarked(html: IntArray, i: Any, n: Any, kind: Any, text: IntArray, o: Any, due: Any, markup: Markup) -> Any:
    """Write raw text up to n, which has no tags, and in VERBATIM no references."""
    i, o, due = _words(html, i, n, np.uint8(kind & (TITLE | VERBATIM)), text, o, due, markup)
    return o, due


@kernel
def _after_comment(html: IntArray, i: Any, n: Any) -> Any:
    """The end of the comment or declaration that begins with the "<" at i."""
    if i + THREE < n and html[i + ONE] == BANG and html[i + TWO] == DASH and html[i + THREE] == DASH:
        j = i + FOUR
        while j < n:
            if html[j] == CLOSE:
                # "-->" may begin with the dashes that began the comment; "--!>" may not.
                loud = html[j - ONE] == BANG and j >= i + SEVEN
                last = j - TWO if loud else j - ONE
                if html[last] == DASH and html[last - ONE] == DASH:
                    return j + ONE
            j += ONE
        return n
    while i < n and html[i] != CLOSE:
        i += ONE
    return min(i + ONE, n)


@kernel
def html_text(html: IntArray, text: IntArray, links: IntArray, done: IntArray, markup: Markup) -> None:
    """Write text and addresses; `done` gets their sizes. Both outputs must have 5/4 of the size of the input, and 16 bytes."""
    i, n, o, q, due = ZERO, np.uintp(html.shape[0]), ZERO, ZERO, NOTHING
    while i < n:
        i, o, due = _words(html, i, n, TEXT, text, o, due, markup)
        if i >= n:
            break
        c = html[i + ONE] if i + ONE < n else SPACE
        d = html[i + TWO] if i + TWO < n else SPACE
        closing = c == SLASH
        if np.uint8(np.uint8((d if closing else c) | CASE) - LETTER) >= LETTERS:
            if c in (BANG, QUESTION) or (closing and i + TWO < n):
                i = _after_comment(html, i, n)
                continue
            o, due = _before(text, o, due), NOTHING
            text[o] = OPEN
            o += ONE
            i += ONE
            continue
        i, name = _name(html, i + TWO if closing else i + ONE, n, TEXT)
        kind = kind_of(name, markup)
        due = max(due, np.uint8(kind & GAP))
        while i < n and html[i] != CLOSE:
            if html[i] == SLASH or _is_white(html[i]):
                i += ONE
                continue
            i, key, begin, end = _attribute(html, i, n)
            if closing or begin == end:
                continue
            if key == ALT:
                due = max(due, BLANK)
                begin, o, due = _words(html, begin, end, ATTRIBUTE, text, o, due, markup)
                due = max(due, BLANK)
            elif key in (HREF, SRC, ACTION, BACKGROUND, DATA):
                q = _address(html, begin, end, links, q, markup.references)
            elif key == CONTENT and kind == META:
                begin, end = _refreshed(html, begin, end)
                q = _address(html, begin, end, links, q, markup.references)
        if i < n:
            i += ONE
            if not closing and kind >= HIDDEN:
                end = n if kind & ENDLESS else _after_raw(html, i, n, name)
                if kind != HIDDEN:
                    o, due = _unmarked(html, i, end, kind, text, o, due, markup)
                i = end
    done[0], done[1] = o, q
