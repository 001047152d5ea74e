"""Permutations of rows: in windows, or in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import kernel

A, B, C, HALF, ONE = (np.uint64(number) for number in (13, 7, 17, 32, 1))


@kernel
def fill_windows(starts: Any, block: int, per_window: int, n: int, seeds: Any, order: Any) -> Any:
    """Write the rows of the blocks at `starts` (up to n) into `order`, shuffled within windows of blocks; return their number.

    Inside-out Fisher-Yates: each row takes a random place among the previous ones, whose row moves to the end. The draws are
    the upper halves of Marsaglia's xorshift64 (Journal of Statistical Software 8, 2003); seeds are any uint64 but 0.
    """
    drawn, filled, first = seeds[0], np.uint64(0), np.uint64(0)
    for b in range(starts.shape[0]):
        if b % per_window == 0:
            drawn, first = seeds[b // per_window], filled
        for row in range(starts[b], min(starts[b] + block, n)):
            drawn ^= drawn << A
            drawn ^= drawn >> B
            drawn ^= drawn << C
            place = first + (((drawn >> HALF) * (filled - first + ONE)) >> HALF)
            order[filled] = order[place]
            order[place] = row
            filled += ONE
    return filled


@kernel
def shuffle(order: Any, m: int, seed: Any) -> int:
    """Shuffle the first m entries and update `seed`, one uint64 other than 0; return m."""
    drawn = seed[0]
    for p in range(1, m):
        drawn ^= drawn << A
        drawn ^= drawn >> B
        drawn ^= drawn << C
        place = ((drawn >> HALF) * np.uint64(p + 1)) >> HALF
        order[p], order[place] = order[place], order[p]
    seed[0] = drawn
    return m
