"""Random orders of rows, from random numbers that the caller draws.

`next_below` and `draw_blocks` make of the raw numbers of a NumPy generator what `Generator.integers` and
`Generator.permutation` make of them, without a call of NumPy for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array_types import IntArray
from ..compile import inlined, kernel

# The shifts of Marsaglia's xorshift64 in their order, and the bits of half a random number.
XORSHIFT_LEFT_1, XORSHIFT_RIGHT, XORSHIFT_LEFT_2, HALF_BITS = (np.uint64(bits) for bits in (13, 7, 17, 32))
ZERO, ONE, LOWER_HALF = np.uint64(0), np.uint64(1), np.uint64(2**32 - 1)


@inlined
def _next_half(raw: IntArray, place: IntArray) -> Any:
    """The next 32 bits, the lower half of a number first; -1 if `raw` has no number left.

    place : (the next number of `raw`, whether the upper half of the previous one is left, that half), all uint64.
    """
    if place[1] == ONE:
        place[1] = ZERO
        return np.int64(place[2])
    if place[0] >= np.uint64(raw.shape[0]):
        return np.int64(-1)
    number = raw[place[0]]
    place[0] += ONE
    place[1] = ONE
    place[2] = number >> HALF_BITS
    return np.int64(number & LOWER_HALF)


@inlined
def next_below(raw: IntArray, place: IntArray, n: int) -> Any:
    """A whole number from 0 to n - 1, uniformly, for n < 2^32; -1 if `raw` has no number left. For `place`, see `_next_half`.

    D. Lemire, ACM Transactions on Modeling and Computer Simulation 29 (2019).
    """
    if n == 1:
        return np.int64(0)
    size = np.uint64(n)
    while True:
        half = _next_half(raw, place)
        if half < 0:
            return np.int64(-1)
        product = np.uint64(half) * size
        rest = product & LOWER_HALF
        if rest >= size or rest >= (LOWER_HALF - (size - ONE)) % size:
            return np.int64(product >> HALF_BITS)


@inlined
def _next_up_to(raw: IntArray, place: IntArray, most: int) -> Any:
    """A whole number from 0 to `most`: as many bits as that has, again until they are not more; -1 as for `next_below`."""
    mask = np.int64(1)
    while mask < most:
        mask = 2 * mask + 1
    while True:
        half = _next_half(raw, place)
        if half < 0 or half & mask <= most:
            return half & mask if half >= 0 else np.int64(-1)


@kernel
def draw_blocks(raw: IntArray, place: IntArray, size: int, per_pass: int, starts: IntArray, seeds: IntArray) -> bool:
    """Draw the order of the blocks of several passes, and a seed other than 0 for each window.

    starts : int64, the first rows of the blocks of `size` rows; `per_pass` of them belong to a pass.
    seeds : uint64, the same number for each pass.

    Returns False, with `place` as before, if `raw` has too few numbers.
    """
    before, half_left, half = place[0], place[1], place[2]
    passes = starts.shape[0] // per_pass
    windows = seeds.shape[0] // passes
    for p in range(passes):
        blocks = starts[p * per_pass : (p + 1) * per_pass]
        for b in range(per_pass):
            blocks[b] = b * size
        for b in range(per_pass - 1, 0, -1):
            other = _next_up_to(raw, place, b)
            if other < 0:
                place[0], place[1], place[2] = before, half_left, half
                return False
            blocks[b], blocks[other] = blocks[other], blocks[b]
        if place[0] + np.uint64(windows) > np.uint64(raw.shape[0]):
            place[0], place[1], place[2] = before, half_left, half
            return False
        for window in range(windows):
            seeds[p * windows + window] = max(raw[place[0]], ONE)
            place[0] += ONE
    return True


@kernel
def fill_windows(starts: IntArray, block: int, per_window: int, per_pass: int, n: int, seeds: IntArray, order: IntArray) -> Any:
    """Write the rows of the blocks at `starts` (up to n) into `order`, shuffled within windows of blocks; return their number.

    A window ends with its pass of `per_pass` blocks. Inside-out Fisher-Yates: each row takes a random place among the previous
    ones, whose row moves to the end. The draws are the upper halves of Marsaglia's xorshift64 (Journal of Statistical Software
    8, 2003); seeds are any uint64 but 0.
    """
    drawn, filled, first, window = seeds[0], np.uint64(0), np.uint64(0), 0
    for b in range(starts.shape[0]):
        if b % per_pass % per_window == 0:
            drawn, first, window = seeds[window], filled, window + 1
        for row in range(starts[b], min(starts[b] + block, n)):
            drawn ^= drawn << XORSHIFT_LEFT_1
            drawn ^= drawn >> XORSHIFT_RIGHT
            drawn ^= drawn << XORSHIFT_LEFT_2
            place = first + (((drawn >> HALF_BITS) * (filled - first + ONE)) >> HALF_BITS)
            order[filled] = order[place]
            order[place] = row
            filled += ONE
    return filled


@kernel
def shuffle(order: IntArray, m: int, seed: IntArray) -> int:
    """Shuffle the first m entries and update `seed`, one uint64 other than 0; return m."""
    drawn = seed[0]
    for p in range(1, m):
        drawn ^= drawn << XORSHIFT_LEFT_1
        drawn ^= drawn >> XORSHIFT_RIGHT
        drawn ^= drawn << XORSHIFT_LEFT_2
        place = ((drawn >> HALF_BITS) * np.uint64(p + 1)) >> HALF_BITS
        order[p], order[place] = order[place], order[p]
    seed[0] = drawn
    return m
