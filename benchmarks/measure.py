"""How things are measured: contestants in turn, thread time, medians; memory as the system sees it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

Contestant = Callable[[], Any]


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


def bandwidth() -> float:
    """Bytes a second that one thread reads: the best of five sums over 400 MB."""
    block = np.ones(50_000_000)
    times = []
    with threadpool_limits(1):
        for _ in range(5):
            start = time.perf_counter()
            np.dot(block, block)
            times.append(time.perf_counter() - start)
    return block.nbytes / min(times)


def peak_memory(work: Contestant) -> int:
    """Bytes that the process grew at most while `work` ran: resident memory, from Linux's own high-water mark."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(field))
    return int(line.split()[1]) * 1024
