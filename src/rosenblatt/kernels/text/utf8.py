"""Validation of UTF-8: the same answer as `bytes.decode`, without creating a string.

Reference  The Unicode Standard, table 3-7 (well-formed UTF-8 byte sequences).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array_types import IntArray
from ..compile import inlined, kernel

ONE, TWO, THREE, EIGHT = (np.uintp(k) for k in (1, 2, 3, 8))
HIGH = np.uint64(0x8080808080808080)
ASCII, LEAD_TWO, LEAD_THREE, LEAD_FOUR, AFTER_FOUR = (np.uint8(c) for c in (0x80, 0xC2, 0xE0, 0xF0, 0xF5))
FIRST, MIDDLE, LATE, LAST, SPAN = (np.uint8(c) for c in (0x80, 0x90, 0xA0, 0xC0, 0x40))
SURROGATES = np.uint8(0xED)
LEAD_LAST = np.uint8(0xF4)


@inlined
def _follows(text: IntArray, i: Any, n: Any) -> Any:
    return i < n and np.uint8(text[i] - FIRST) < SPAN


@kernel
def is_utf8(text: IntArray, words: IntArray) -> Any:
    """Whether `text` is valid UTF-8; `words` holds the same bytes, eight at a time, without an incomplete rest."""
    i, n, eights = np.uintp(0), np.uintp(text.shape[0]), np.uintp(words.shape[0]) * EIGHT
    while i < n:
        c = text[i]
        if c < ASCII:
            i += ONE
            while i < eights and i % EIGHT == 0 and words[i // EIGHT] & HIGH == 0:
                i += EIGHT
        elif c < LEAD_TWO or c >= AFTER_FOUR or not _follows(text, i + ONE, n):
            return False
        elif c < LEAD_THREE:
            i += TWO
        else:
            d = text[i + ONE]
            low, high = FIRST, LAST
            if c == LEAD_THREE:
                low = LATE
            elif c == SURROGATES:
                high = LATE
            elif c == LEAD_FOUR:
                low = MIDDLE
            elif c == LEAD_LAST:
                high = MIDDLE
            if d < low or d >= high or not _follows(text, i + TWO, n):
                return False
            i += THREE
            if c >= LEAD_FOUR:
                if not _follows(text, i, n):
                    return False
                i += ONE
    return True
