"""Character references of HTML, as `mail/message/html.py` defines them, with a hash table of names."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import IntArray
from ..compile import inlined, kernel

ZERO, ONE, TWO = np.uintp(0), np.uintp(1), np.uintp(2)
# The context of a reference; not bools, for each of which Numba would compile a version.
TEXT, ATTRIBUTE = np.uint8(0), np.uint8(1)
AMPERSAND, SEMICOLON, HASH, EQUALS = (np.uint8(ord(c)) for c in "&;#=")
CASE, DIGIT, LETTER, LETTER_X = np.uint8(32), np.uint8(ord("0")), np.uint8(ord("a")), np.uint8(ord("x"))
TEN, SIX, LETTERS = np.uint8(10), np.uint8(6), np.uint8(26)
LONGEST_OPEN, LONGEST = np.uintp(6), np.uintp(31)  # bytes of a name that may lack its semicolon, and of any name
START, PRIME, MASK = np.uint32(2166136261), np.uint32(16777619), np.uint32(8191)
NONE, REPLACEMENT, BEYOND = np.uint32(0), np.uint32(0xFFFD), np.uint32(0x110000)
SURROGATES, AFTER_SURROGATES = np.uint32(0xD800), np.uint32(0xE000)
C1, AFTER_C1 = np.uint32(0x80), np.uint32(0xA0)
TWO_BYTES, THREE_BYTES, FOUR_BYTES = np.uint32(0x80), np.uint32(0x800), np.uint32(0x10000)
LEAD_TWO, LEAD_THREE, LEAD_FOUR, FOLLOW, SIX_BITS = (np.uint32(c) for c in (0xC0, 0xE0, 0xF0, 0x80, 0x3F))


class References(NamedTuple):
    """A hash table of names (FNV-1a; -1: free).

    Name k is letters[starts[k]:starts[k + 1]]; its characters are first[k] and second[k], or 0. `pages` has the characters of
    the numbers from 128 to 159.
    """

    slots: IntArray
    starts: IntArray
    letters: IntArray
    first: IntArray
    second: IntArray
    pages: IntArray


@inlined
def hashed(h: Any, c: Any) -> Any:
    """FNV-1a: the hash h extended by one byte."""
    return np.uint32(np.uint32(h ^ np.uint32(c)) * PRIME)


@inlined
def _is_alphanumeric(c: Any) -> Any:
    return np.uint8(np.uint8(c | CASE) - LETTER) < LETTERS or np.uint8(c - DIGIT) < TEN


@kernel
def _find(html: IntArray, start: Any, length: Any, h: Any, table: References) -> Any:
    """The number of the name html[start:start + length] with the hash h, or -1."""
    slot = np.uintp(h & MASK)
    while table.slots[slot] >= 0:
        k = np.uintp(table.slots[slot])
        at = np.uintp(table.starts[k])
        if np.uintp(table.starts[k + ONE]) - at == length:
            same = ZERO
            while same < length and table.letters[at + same] == html[start + same]:
                same += ONE
            if same == length:
                return np.int64(k)
        slot = np.uintp(np.uint32(slot + ONE) & MASK)
    return np.int64(-1)


@kernel
def reference(html: IntArray, i: Any, stop: Any, where: Any, table: References) -> Any:
    """The end of the reference that begins with the "&" at i, and its one or two characters; i if it is not a reference."""
    j = i + ONE
    if j >= stop:
        return i, NONE, NONE
    if html[j] == HASH:
        return _number(html, i, stop, table)
    if np.uint8(np.uint8(html[j] | CASE) - LETTER) >= LETTERS:
        return i, NONE, NONE
    begin, h = j, START
    while j < stop and j - begin <= LONGEST and _is_alphanumeric(html[j]):
        h = hashed(h, html[j])
        j += ONE
    if j < stop and html[j] == SEMICOLON:
        k = _find(html, begin, j + ONE - begin, hashed(h, SEMICOLON), table)
        if k >= 0:
            return j + ONE, table.first[k], table.second[k]
    length = min(LONGEST_OPEN, j - begin)
    while length >= TWO:
        h, at = START, begin
        while at < begin + length:
            h = hashed(h, html[at])
            at += ONE
        k = _find(html, begin, length, h, table)
        if k >= 0:
            if where == ATTRIBUTE and at < stop and (_is_alphanumeric(html[at]) or html[at] == EQUALS):
                return i, NONE, NONE
            return at, table.first[k], table.second[k]
        length -= ONE
    return i, NONE, NONE


@kernel
def _number(html: IntArray, i: Any, stop: Any, table: References) -> Any:
    """The same for a numeric reference."""
    j, base = i + TWO, np.uint32(10)
    if j < stop and np.uint8(html[j] | CASE) == LETTER_X:
        j, base = j + ONE, np.uint32(16)
    begin, number = j, NONE
    while j < stop:
        digit, letter = np.uint8(html[j] - DIGIT), np.uint8(np.uint8(html[j] | CASE) - LETTER)
        if digit >= TEN:
            if base == np.uint32(10) or letter >= SIX:
                break
            digit = np.uint8(letter + TEN)
        number = min(np.uint32(number * base + np.uint32(digit)), BEYOND)
        j += ONE
    if j == begin:
        return i, NONE, NONE
    if j < stop and html[j] == SEMICOLON:
        j += ONE
    if C1 <= number < AFTER_C1:
        number = table.pages[np.uintp(number - C1)]
    if number == NONE or number >= BEYOND or SURROGATES <= number < AFTER_SURROGATES:
        number = REPLACEMENT
    return j, number, NONE


@kernel
def encoded(out: IntArray, at: Any, character: Any) -> Any:
    """Write a character as UTF-8; returns its end."""
    if character < TWO_BYTES:
        out[at] = np.uint8(character)
        return at + ONE
    if character < THREE_BYTES:
        out[at] = np.uint8(LEAD_TWO | character >> np.uint32(6))
        out[at + ONE] = np.uint8(FOLLOW | character & SIX_BITS)
        return at + TWO
    if character < FOUR_BYTES:
        out[at] = np.uint8(LEAD_THREE | character >> np.uint32(12))
        out[at + ONE] = np.uint8(FOLLOW | character >> np.uint32(6) & SIX_BITS)
        out[at + TWO] = np.uint8(FOLLOW | character & SIX_BITS)
        return at + np.uintp(3)
    out[at] = np.uint8(LEAD_FOUR | character >> np.uint32(18))
    out[at + ONE] = np.uint8(FOLLOW | character >> np.uint32(12) & SIX_BITS)
    out[at + TWO] = np.uint8(FOLLOW | character >> np.uint32(6) & SIX_BITS)
    out[at + np.uintp(3)] = np.uint8(FOLLOW | character & SIX_BITS)
    return at + np.uintp(4)
