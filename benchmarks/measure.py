"""Measurement: contestants in turn, thread time, medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Contestant = Callable[[], Any]
BLOCK = 200_000_000


def interleave(
    contestants: dict[str, Contestant], repeats: int, clock: Callable[[], float] = time.thread_time, memory: int = 0
) -> dict[str, float]:
    """Median seconds of each contestant. They take turns, so that what disturbs one disturbs all; a first turn warms up.

    A virtual machine may give freed memory back to its host after a second or two, and getting it again takes about a second
    for each gigabyte. The contestant after a slow one would pay for that, so `memory` bytes are written before each turn.
    """
    for contestant in contestants.values():
        contestant()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, contestant in contestants.items():
            np.ones(memory // 8)
            start = clock()
            contestant()
            seconds[name].append(clock() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def reading() -> Contestant:
    """Reads BLOCK bytes of memory in order: run in turn with the others, it measures the speed of memory at the time."""
    block = np.ones(BLOCK // 8)
    return lambda: np.dot(block, block)
