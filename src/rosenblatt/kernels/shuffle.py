"""A permutation of rows, window by window, from random numbers drawn beforehand."""

from __future__ import annotations

from typing import Any

from .compile import kernel


@kernel
def fill_windows(starts: Any, block: int, per_window: int, n: int, draws: Any, order: Any) -> None:
    """Write the rows of the blocks at `starts` (cut off at n) into `order`, shuffled within windows of `per_window` blocks.

    Fisher-Yates; draws: one uniform 32-bit number per row, as int64.
    """
    filled = first = 0
    for b in range(starts.shape[0]):
        for row in range(starts[b], min(starts[b] + block, n)):
            order[filled] = row
            filled += 1
        if (b + 1) % per_window == 0 or b + 1 == starts.shape[0]:
            for i in range(filled - 1, first, -1):
                j = first + ((draws[i] * (i - first + 1)) >> 32)
                kept = order[i]
                order[i] = order[j]
                order[j] = kept
            first = filled
