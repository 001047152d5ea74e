"""Character references of HTML, such as `&amp;`, `&#65` and `&#x1F600;`, as browsers read them.

Reference  WHATWG, HTML Living Standard, 13.2.5.72 to 13.2.5.80 (tokenization of character references).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

# Quantifiers that never give back: whatever does not match is left at once.
REFERENCE = re.compile(rb"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|[A-Za-z][A-Za-z0-9]*+;?)")
LONGEST_OPEN = 6  # letters of the longest name that may stand without a semicolon
REPLACEMENT = 0xFFFD
SHORT = 8  # bytes of references that are remembered: mails repeat them
AT_ONCE = 1 << 16  # bytes; of more, a list of pieces would take much memory


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
    if len(raw) <= AT_ONCE:
        return REFERENCE.sub(character, raw)
    pieces, at = [], 0
    while at < len(raw):
        end = raw.find(b"&", at + AT_ONCE)  # no reference goes beyond the next one
        end = end if end >= 0 else len(raw)
        pieces.append(REFERENCE.sub(character, raw[at:end]))
        at = end
    return b"".join(pieces)


def _in_text(found: Any) -> bytes:
    return (_one if found.end() - found.start() > SHORT else _short)(found[0], False, b"")


def _in_attribute(found: Any) -> bytes:
    after = found.string[found.end() : found.end() + 1]
    return (_one if found.end() - found.start() > SHORT else _short)(found[0], True, after)


def _one(reference: bytes, attribute: bool, after: bytes) -> bytes:
    if reference[1] == ord("#"):
        return _character(reference)
    name, table = reference[1:], names()
    whole = table.get(name) if name.endswith(b";") else None
    if whole is not None:
        return _blank_or(whole)
    for length in range(min(LONGEST_OPEN, len(name)), 1, -1):
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
