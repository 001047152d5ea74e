"""Step sizes rho_1, rho_2, ... and the orders in which rows are visited."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..array_types import FloatArray, IntArray
from ..kernels.linear.sweeps import fill_windows

Step = float | Callable[[int], float]

# A permuted pass takes blocks of neighboring rows in random order and shuffles the rows of 64 blocks together. It learns as
# well as a full shuffle (a window holds 64 places of the data) and is 1.3 times as fast on 100k x 100 floats, because the
# memory pages of a window stay in the TLB.
ROWS_PER_BLOCK = 16
BLOCKS_PER_WINDOW = 64
ROWS_PER_WINDOW = BLOCKS_PER_WINDOW * ROWS_PER_BLOCK

# Rows prefetched ahead when the order is not the order in memory: 4 to 16 measured equal, 1 and 2 slower.
PREFETCH_ROWS = 8

Order = Callable[[int, int, np.random.Generator], Iterator[IntArray]]


class Steps:
    """Step sizes rho_k for k = 1, 2, ...: a number, or a callable, which is called ahead of time."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._known = np.zeros(0) if callable(step) else np.array([float(step)])

    def table(self, upto: int) -> tuple[FloatArray, int]:
        """Step sizes and the number of updates they cover, at least `upto`.

        Errors in later values are raised only when those values are reached.
        """
        if not callable(self._step):
            return self._known, np.iinfo(np.int64).max
        if upto > len(self._known):
            more = [_checked(self._step, k) for k in range(len(self._known) + 1, upto + 1)]
            with contextlib.suppress(Exception):
                for k in range(upto + 1, 2 * upto + 1):
                    more.append(_checked(self._step, k))
            self._known = np.concatenate([self._known, more])
        return self._known, len(self._known)

    def __call__(self, k: int) -> float:
        return float(self.table(k)[0][min(k, len(self._known)) - 1])


def _checked(step: Callable[[int], float], k: int) -> float:
    rho: Any = step(k)
    try:
        value = float(rho)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"step({k}) returned {rho!r}; a step must be a number") from None
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"step({k}) returned {value!r}; a step must be finite and greater than 0")
    return value


def cyclic(n: int, size: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """The rows 0, 1, ..., n-1."""
    for start in range(0, n, size):
        yield np.arange(start, min(start + size, n))


def permuted(n: int, size: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """Every row once, in a new order each pass; up to ROWS_PER_WINDOW rows it is a uniform permutation."""
    starts = rng.permutation(-(-n // ROWS_PER_BLOCK)) * ROWS_PER_BLOCK
    seeds = rng.integers(1, 2**64, -(-len(starts) // BLOCKS_PER_WINDOW), dtype=np.uint64)
    windows = max(1, size // ROWS_PER_WINDOW)
    for first in range(0, len(seeds), windows):
        some = starts[first * BLOCKS_PER_WINDOW : (first + windows) * BLOCKS_PER_WINDOW]
        order = np.empty(len(some) * ROWS_PER_BLOCK, np.int64)
        yield order[: int(fill_windows(some, ROWS_PER_BLOCK, BLOCKS_PER_WINDOW, n, seeds[first:], order))]


def random(n: int, size: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """n rows, drawn with replacement."""
    for start in range(0, n, size):
        yield rng.integers(0, n, min(size, n - start))


# "mistakes" is not listed: the next row depends on the weights (see solver.py).
ORDERS: dict[str, Order] = {"cyclic": cyclic, "permuted": permuted, "random": random}
