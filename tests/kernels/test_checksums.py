"""XXH64 equals the published values, and its definition in plain integers."""

from __future__ import annotations

import numpy as np
import pytest

from rosenblatt.kernels.checksums import xxh64

P1, P2, P3, P4, P5 = 11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261
LIMIT = 1 << 64


def rotated(x: int, bits: int) -> int:
    return (x << bits | x >> 64 - bits) % LIMIT


def mixed(lane: int, word: int) -> int:
    return rotated((lane + word * P2) % LIMIT, 31) * P1 % LIMIT


def plain(text: bytes) -> int:
    at, h = 0, P5
    if len(text) >= 32:
        lanes = [(P1 + P2) % LIMIT, P2, 0, -P1 % LIMIT]
        for at in range(0, len(text) - 31, 32):
            lanes = [mixed(lane, int.from_bytes(text[at + 8 * k : at + 8 * k + 8], "little")) for k, lane in enumerate(lanes)]
        at += 32
        h = sum(rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) % LIMIT
        for lane in lanes:
            h = ((h ^ mixed(0, lane)) * P1 + P4) % LIMIT
    h = (h + len(text)) % LIMIT
    while at + 8 <= len(text):
        h = (rotated(h ^ mixed(0, int.from_bytes(text[at : at + 8], "little")), 27) * P1 + P4) % LIMIT
        at += 8
    if at + 4 <= len(text):
        h = (rotated(h ^ int.from_bytes(text[at : at + 4], "little") * P1 % LIMIT, 23) * P2 + P3) % LIMIT
        at += 4
    for byte in text[at:]:
        h = rotated(h ^ byte * P5 % LIMIT, 11) * P1 % LIMIT
    h = (h ^ h >> 33) * P2 % LIMIT
    h = (h ^ h >> 29) * P3 % LIMIT
    return h ^ h >> 32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_published_values(text: bytes, expected: int) -> None:
    assert xxh64(np.frombuffer(text, np.uint8)) == plain(text) == expected


def test_every_length_follows_the_definition() -> None:
    text = np.random.default_rng(0).bytes(200)
    for n in range(len(text)):
        assert xxh64(np.frombuffer(text[:n], np.uint8)) == plain(text[:n])
