"""Shuffling rows window by window, from random numbers drawn beforehand."""

from __future__ import annotations

from typing import Any

from .compile import kernel


@kernel
def shuffle_windows(order: Any, draws: Any, window: int) -> None:
    """Fisher-Yates within each `window` of `order`; draws: one uniform 32-bit number per entry, as int64."""
    for start in range(0, order.shape[0], window):
        stop = min(start + window, order.shape[0])
        for i in range(stop - 1, start, -1):
            j = start + ((draws[i] * (i - start + 1)) >> 32)
            kept = order[i]
            order[i] = order[j]
            order[j] = kept
