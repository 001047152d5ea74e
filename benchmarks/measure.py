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
    contestants: dict[str, Contestant], repeats: int, clock: Callable[[], float] = time.thread_time
) -> dict[str, float]:
    """Median seconds of each contestant. They take turns, so that what disturbs one disturbs all; a first turn warms up."""
    for contestant in contestants.values():
        contestant()
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, contestant in contestants.items():
            start = clock()
            contestant()
            seconds[name].append(clock() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def reading() -> Contestant:
    """Reads BLOCK bytes of memory in order: run in turn with the others, it measures the speed of memory at the time."""
    block = np.ones(BLOCK // 8)
    return lambda: np.dot(block, block)
