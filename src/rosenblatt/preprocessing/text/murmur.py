"""MurmurHash3 of many byte strings at once with NumPy: the hash of `kernels/text/hashing.py`, without compilation.

Reference  A. Appleby, MurmurHash3_x86_32 (public domain).
"""

from __future__ import annotations

import numpy as np

from ...array_types import IntArray

C1, C2, C3, M1, M2 = 0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35
MAX_SCALAR_TOKENS = 8  # up to this number, tokens are hashed one by one, which is faster than NumPy calls


def murmur3_of(tokens: list[bytes], seed: int = 0) -> IntArray:
    """The hash of each token, as uint32.

    >>> murmur3_of([b"", b"cat", b"perceptron"]).tolist()
    [0, 1751422759, 1728603698]
    """
    if len(tokens) <= MAX_SCALAR_TOKENS:
        return np.array([_one(token, seed) for token in tokens], np.uint32)
    lengths = np.array([len(token) for token in tokens], np.int64)
    whole = lengths >> 2
    starts = np.zeros(len(tokens), np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    text = np.frombuffer(b"".join(tokens) + bytes(4), np.uint8)
    hashes = np.full(len(tokens), seed, np.uint32)
    left, block = np.flatnonzero(whole), 0
    while len(left) > MAX_SCALAR_TOKENS:
        hashes[left] = _with_block(hashes[left], _words(text, starts[left] + 4 * block))
        block += 1
        left = left[whole[left] > block]
    for token in left.tolist():  # few and possibly long tokens
        hashes[token] = _blocks(tokens[token], int(hashes[token]), 4 * block)
    rest = (lengths & 3).astype(np.uint32)
    tails = _words(text, starts + 4 * whole) & ((np.uint32(1) << (8 * rest)) - np.uint32(1))
    hashes ^= _mixed(tails)  # an empty tail is 0, which changes nothing
    return _finished(hashes, lengths.astype(np.uint32))


def murmur3_windows(text: IntArray, width: int, seed: int = 0) -> IntArray:
    """The hashes of text[0:width], text[1:1+width], ... of an array of bytes, as uint32; none if the text is shorter.

    >>> murmur3_windows(np.frombuffer(b"scat", np.uint8), 3).tolist() == murmur3_of([b"sca", b"cat"]).tolist()
    True
    """
    count = len(text) - width + 1
    if count <= 0:
        return np.zeros(0, np.uint32)
    wide = np.zeros(len(text) + 3, np.uint32)  # the tail reads and masks three more bytes
    wide[: len(text)] = text
    words = wide[:-3].copy()
    for place in (1, 2, 3):
        words |= wide[place : place + len(words)] << np.uint32(8 * place)
    hashes: IntArray = np.full(count, seed, np.uint32)
    for start in range(0, width - 3, 4):
        hashes = _with_block(hashes, words[start : start + count])
    if width & 3:
        hashes = hashes ^ _mixed(words[width & ~3 : (width & ~3) + count] & np.uint32((1 << 8 * (width & 3)) - 1))
    return _finished(hashes, np.uint32(width))


def _words(text: IntArray, starts: IntArray) -> IntArray:
    """Four bytes from each start as one number."""
    words = text[starts].astype(np.uint32)
    for place in (1, 2, 3):
        words |= text[starts + place].astype(np.uint32) << np.uint32(8 * place)
    return words


def _mixed(k: IntArray) -> IntArray:
    k = k * np.uint32(C1)
    return (k << np.uint32(15) | k >> np.uint32(17)) * np.uint32(C2)


def _with_block(h: IntArray, k: IntArray) -> IntArray:
    h = h ^ _mixed(k)
    return (h << np.uint32(13) | h >> np.uint32(19)) * np.uint32(5) + np.uint32(C3)


def _finished(h: IntArray, lengths: IntArray | np.uint32) -> IntArray:
    h = h ^ lengths
    h = (h ^ h >> np.uint32(16)) * np.uint32(M1)
    h = (h ^ h >> np.uint32(13)) * np.uint32(M2)
    return h ^ h >> np.uint32(16)


def _blocks(token: bytes, h: int, start: int) -> int:
    """The state `h` updated by the complete blocks of four bytes from `start` on."""
    for place in range(start, len(token) - 3, 4):
        k = int.from_bytes(token[place : place + 4], "little") * C1 & 0xFFFFFFFF
        h ^= (k << 15 | k >> 17) * C2 & 0xFFFFFFFF
        h = ((h << 13 | h >> 19) & 0xFFFFFFFF) * 5 + C3 & 0xFFFFFFFF
    return h


def _one(token: bytes, seed: int) -> int:
    h = _blocks(token, seed, 0)
    k = int.from_bytes(token[len(token) & ~3 :], "little") * C1 & 0xFFFFFFFF
    h ^= (k << 15 | k >> 17) * C2 & 0xFFFFFFFF ^ len(token)
    h = (h ^ h >> 16) * M1 & 0xFFFFFFFF
    h = (h ^ h >> 13) * M2 & 0xFFFFFFFF
    return h ^ h >> 16
