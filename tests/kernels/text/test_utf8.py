"""The kernel accepts the bytes that `bytes.decode` accepts, and no others."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from rosenblatt.kernels.text.utf8 import is_utf8

# The edges of the ranges in table 3-7 of the Unicode Standard.
EDGES = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF]


def accepted(raw: bytes) -> bool:
    text = np.frombuffer(raw, np.uint8)
    return bool(is_utf8(text, text[: len(raw) // 8 * 8].view(np.uint64)))


def is_decoded(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_sequences_of_edge_bytes() -> None:
    for length in (1, 2, 3):
        for combination in itertools.product(EDGES, repeat=length):
            raw = bytes(combination)
            assert accepted(raw) == is_decoded(raw), raw
    for first, second in itertools.product([0xF0, 0xF1, 0xF4, 0xF5], EDGES):
        for end in (b"\x80\x80", b"\x80", b"\xbf\xc0", b"\xc0\x80", b"\x80\x80\x80"):
            raw = bytes([first, second]) + end
            assert accepted(raw) == is_decoded(raw), raw


@settings(max_examples=examples(100))
@given(st.text(max_size=30), st.integers(0, 40), st.integers(0, 255))
def test_a_text_with_a_changed_byte(text: str, place: int, byte: int) -> None:
    """Long enough for steps of eight ASCII bytes, which the change interrupts."""
    raw = bytearray(b"sixteen letters.." + text.encode() + b"and sixteen more.")
    assert accepted(bytes(raw))
    raw[place % len(raw)] = byte
    assert accepted(bytes(raw)) == is_decoded(bytes(raw))
