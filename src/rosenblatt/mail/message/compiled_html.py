"""`html.plain` with compiled code, and the tables of the kernel."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np

from ...kernels.compile import COMPILED
from ...kernels.mail import html as kinds
from ...kernels.mail.html import SLOTS, SPREAD, TOP, Markup, html_text, key_of
from ...kernels.mail.references import MASK, PRIME, START, References
from ...kernels.text.utf8 import is_utf8
from .encodings import INVISIBLE
from .html import (  # fmt: skip
    BLOCKS,
    CELLS,
    CONTROLS,
    ENDLESS,
    HIDDEN,
    MAX_ADDRESS_BYTES,
    TITLES,
    VERBATIM,
    code_pages,
    names,
    repaired,
    shortened,
)

__all__ = ["COMPILED", "compiled", "markup"]


def compiled(html: bytes) -> tuple[bytes, list[bytes]]:
    """The result of `html.plain` for the same bytes."""
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
    of_bytes = np.full(256, kinds.PLAIN, np.uint8)
    of_bytes[list(CONTROLS)] = kinds.CONTROL
    of_bytes[list(b" \t\n\v\f\r")] = kinds.WHITE
    of_bytes[[character[0] for character in INVISIBLE]] = kinds.WIDE
    of_bytes[ord("<")], of_bytes[ord("&")] = kinds.ANGLE, kinds.REFERENCE
    tags: Counter[bytes] = Counter({b"meta": int(kinds.META), ENDLESS: int(kinds.ENDLESS)})
    for names_, kind_ in (
        (BLOCKS, kinds.BLOCK), (CELLS, kinds.CELL), (HIDDEN, kinds.HIDDEN), (TITLES, kinds.TITLE), (VERBATIM, kinds.VERBATIM),
    ):  # fmt: skip
        tags.update(dict.fromkeys(names_, int(kind_)))
    keys, of_tags = np.zeros(int(SLOTS) + 1, np.uint64), np.zeros(int(SLOTS) + 1, np.uint8)
    for name, kind in sorted(tags.items()):
        key = key_of(name)
        slot = (key * int(SPREAD) & 0xFFFFFFFFFFFFFFFF) >> int(TOP)
        while keys[slot]:
            slot = (slot + 1) & int(SLOTS)
        keys[slot], of_tags[slot] = key, kind
    return Markup(of_bytes, keys, of_tags, _references())


def _references() -> References:
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
