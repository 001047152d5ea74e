"""MurmurHash3, 32 bits, of a range of bytes, as used for feature hashing by scikit-learn and Vowpal Wabbit.

Reference  A. Appleby, MurmurHash3_x86_32 (public domain).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import inlined

C1, C2, C3, M1, M2 = (np.uint32(c) for c in (0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35))
FIVE = np.uint32(5)


@inlined
def _rotated(x: Any, by: Any) -> Any:
    return np.uint32(np.uint32(x << np.uint32(by)) | np.uint32(x >> np.uint32(32 - by)))


@inlined
def _mixed(k: Any) -> Any:
    return np.uint32(_rotated(np.uint32(k * C1), 15) * C2)


@inlined
def murmur3(text: Any, start: Any, stop: Any, seed: Any) -> Any:
    """The hash of text[start:stop] as uint32; start, stop: np.uintp, seed: np.uint32."""
    h, i, length = np.uint32(seed), np.uintp(start), np.uintp(stop - start)
    whole = np.uintp(start + (length & ~np.uintp(3)))
    while i < whole:
        k = (
            np.uint32(text[i])
            | np.uint32(np.uint32(text[i + np.uintp(1)]) << np.uint32(8))
            | np.uint32(np.uint32(text[i + np.uintp(2)]) << np.uint32(16))
            | np.uint32(np.uint32(text[i + np.uintp(3)]) << np.uint32(24))
        )
        h = np.uint32(_rotated(np.uint32(h ^ _mixed(k)), 13) * FIVE + C3)
        i += np.uintp(4)
    k, left = np.uint32(0), np.uintp(length & np.uintp(3))
    if left == np.uintp(3):
        k = np.uint32(np.uint32(text[i + np.uintp(2)]) << np.uint32(16))
    if left >= np.uintp(2):
        k = np.uint32(k | np.uint32(np.uint32(text[i + np.uintp(1)]) << np.uint32(8)))
    if left >= np.uintp(1):
        h = np.uint32(h ^ _mixed(np.uint32(k | np.uint32(text[i]))))
    h = np.uint32(h ^ np.uint32(length))
    h = np.uint32(np.uint32(h ^ np.uint32(h >> np.uint32(16))) * M1)
    h = np.uint32(np.uint32(h ^ np.uint32(h >> np.uint32(13))) * M2)
    return np.uint32(h ^ np.uint32(h >> np.uint32(16)))
