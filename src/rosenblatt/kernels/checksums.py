"""Checksums of blocks of binary files, at the speed of memory, and a check of the columns in them.

Problem    Two 64-bit numbers for a block of bytes that tell whether any of them changed.
Update     A block is cut into pieces of 512 words w_i of 64 bits; the last piece is filled up with zeros. Each piece has
           s = sum of (low(w_i) + low(k_i)) (high(w_i) + high(k_i)), where low and high are halves of 32 bits, which wrap, and
           k_i are the first 512 outputs of SplitMix64 with seed 0. The pieces are chained: h = (h xor s) C, then
           h = h xor (h >> 32). The checksum is the sum of all words, and h. All sums wrap at 2^64.
Guarantee  A change within one aligned word changes the sum of the words. Any other change that does not depend on the keys
           changes the s of a piece, except with probability 2^-32 over random keys; one changed s changes h. Not for forgeries.
Reference  s is NH: J. Black, S. Halevi, H. Krawczyk, T. Krovetz and P. Rogaway, UMAC: fast and secure message authentication,
           CRYPTO 1999. SplitMix64: G. Steele, D. Lea and C. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
"""

from __future__ import annotations

import numpy as np

from ..array_types import Array, IntArray
from .compile import kernel

BLOCK_BYTES = 1 << 20  # bytes of a file that have one checksum
PIECE_WORDS = 512
PIECE_BYTES = 8 * PIECE_WORDS
PIECES_PER_BLOCK = BLOCK_BYTES // PIECE_BYTES
ZERO, HALF_BITS, LOW_HALF = np.uint64(0), np.uint64(32), np.uint64(0xFFFFFFFF)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, odd
SPLITMIX_FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SPLITMIX_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)


def _keys() -> IntArray:
    z = np.arange(1, PIECE_WORDS + 1, dtype=np.uint64) * GOLDEN
    for shift, factor in zip(SPLITMIX_SHIFTS, SPLITMIX_FACTORS, strict=False):
        z = (z ^ (z >> shift)) * factor
    return z ^ (z >> SPLITMIX_SHIFTS[-1])


KEYS = _keys()


@kernel
def _add_pieces(words: IntArray, first: int, keys: IntArray, sums: IntArray) -> None:
    """Add pieces, of which `first` come before, to the checksums of their blocks, sums[block] = (sum of words, h)."""
    for piece in range(words.shape[0] // PIECE_WORDS):
        total, products = ZERO, ZERO
        part = words[piece * PIECE_WORDS : (piece + 1) * PIECE_WORDS]
        for i in range(PIECE_WORDS):
            word, key = part[i], keys[i]
            total += word
            products += ((word + key) & LOW_HALF) * (((word >> HALF_BITS) + (key >> HALF_BITS)) & LOW_HALF)
        block = (first + piece) // PIECES_PER_BLOCK
        sums[block, 0] += total
        chained = np.uint64((sums[block, 1] ^ products) * GOLDEN)
        sums[block, 1] = chained ^ (chained >> HALF_BITS)


def checksums(content: Array) -> IntArray:
    """The checksums of the blocks of an aligned uint8 array: uint64, of shape (number of blocks, 2).

    >>> checksums(np.frombuffer(b"abc", np.uint8)).tolist()
    [[6513249, 9118316945389978820]]
    """
    n = len(content)
    sums = np.zeros((-(-n // BLOCK_BYTES), 2), np.uint64)
    whole = n - n % PIECE_BYTES
    _add_pieces(content[:whole].view("<u8"), 0, KEYS, sums)
    if whole < n:
        padded = np.zeros(PIECE_BYTES, np.uint8)
        padded[: n - whole] = content[whole:]
        _add_pieces(padded.view("<u8"), whole // PIECE_BYTES, KEYS, sums)
    return sums


@kernel
def valid_columns(indices: IntArray, indptr: IntArray, columns: int) -> bool:
    """Whether the row pointers ascend, and the column numbers ascend within each row and are in range."""
    n = indptr.shape[0] - 1
    for i in range(n):
        if indptr[i] > indptr[i + 1]:
            return False
    start, stop = indptr[0], indptr[n]
    if start < 0 or stop > indices.shape[0]:
        return False
    falls, some = 0, indices[start:stop]
    for j in range(1, some.shape[0]):
        falls += some[j] <= some[j - 1]
    for i in range(n):
        first, last = np.uintp(indptr[i] - start), np.uintp(indptr[i + 1] - start)
        if first < last:
            if some[first] < 0 or some[last - np.uintp(1)] >= columns:
                return False
            if first > 0:
                falls -= some[first] <= some[first - np.uintp(1)]
    return falls == 0
