"""XXH64, the checksum of blocks of binary files: as fast as memory is read, and it changes with any bit.

Problem    a 64-bit number that differs for two blocks of bytes unless they are equal, except with probability 2^-64.
Update     Four lanes take every fourth word each: lane = rotate(lane + word * P2, 31) * P1. They are merged with the rest of
           the words and bytes, and mixed.
Reference  Y. Collet, xxHash fast digest algorithm, version 0.1.1 (2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array_types import Array, IntArray
from .compile import inlined, kernel

P1, P2, P3, P4, P5 = (
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
ZERO, WORD_BITS = np.uint64(0), np.uint64(64)
U1, U7, U11, U12, U18 = (np.uint64(bits) for bits in (1, 7, 11, 12, 18))
U23, U27, U29, U31, U32, U33 = (np.uint64(bits) for bits in (23, 27, 29, 31, 32, 33))
ONE, TWO, THREE, FOUR = (np.uintp(k) for k in (1, 2, 3, 4))
WORD_BYTES, HALF_BYTES = 8, 4


@inlined
def _rotated(x: Any, bits: Any) -> Any:
    return np.uint64((x << bits) | (x >> (WORD_BITS - bits)))


@inlined
def _next(lane: Any, word: Any) -> Any:
    return np.uint64(_rotated(np.uint64(lane + word * P2), U31) * P1)


@inlined
def _merged(h: Any, lane: Any) -> Any:
    return np.uint64(np.uint64(h ^ _next(ZERO, lane)) * P1 + P4)


@kernel
def _xxh64(words: IntArray, halves: IntArray, tail: IntArray, length: Any) -> Any:
    """The checksum of `length` bytes: words of 8 bytes, then at most one half of 4, then at most 3 bytes."""
    i, n = np.uintp(0), np.uintp(len(words))
    if n >= FOUR:
        a, b, c, d = np.uint64(P1 + P2), P2, ZERO, np.uint64(ZERO - P1)
        while i + FOUR <= n:
            a, b = _next(a, words[i]), _next(b, words[i + ONE])
            c, d = _next(c, words[i + TWO]), _next(d, words[i + THREE])
            i += FOUR
        h = np.uint64(_rotated(a, U1) + _rotated(b, U7) + _rotated(c, U12) + _rotated(d, U18))
        h = _merged(_merged(_merged(_merged(h, a), b), c), d)
    else:
        h = P5
    h = np.uint64(h + length)
    while i < n:
        h = np.uint64(_rotated(np.uint64(h ^ _next(ZERO, words[i])), U27) * P1 + P4)
        i += ONE
    for half in halves:
        h = np.uint64(_rotated(np.uint64(h ^ (np.uint64(half) * P1)), U23) * P2 + P3)
    for byte in tail:
        h = np.uint64(_rotated(np.uint64(h ^ (np.uint64(byte) * P5)), U11) * P1)
    h = np.uint64((h ^ (h >> U33)) * P2)
    h = np.uint64((h ^ (h >> U29)) * P3)
    return np.uint64(h ^ (h >> U32))


def xxh64(block: Array) -> int:
    """XXH64, with seed 0, of the bytes of an aligned uint8 array.

    >>> f"{xxh64(np.frombuffer(b'abc', np.uint8)):016x}"
    '44bc2cf5ad770999'
    """
    n = len(block)
    whole, half = n - n % WORD_BYTES, n - n % HALF_BYTES
    words, halves = block[:whole].view("<u8"), block[whole:half].view("<u4")
    return int(_xxh64(words, halves, block[half:], np.uint64(n)))
