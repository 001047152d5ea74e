"""Step sizes rho_1, rho_2, ... and the orders in which rows are visited."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..kernels.linear.shuffle import fill_windows

Step = float | Callable[[int], float]

# A permuted pass takes blocks of neighbouring rows in random order, and shuffles the rows of 64 such blocks at a time: as
# good as a full shuffle for learning (a window holds 64 places of the data), and 1.3 times as fast on 100k x 100 floats,
# because the pages of a window stay in the address cache.
BLOCK = 16
BLOCKS = 64
WINDOW = BLOCKS * BLOCK

# How many rows ahead memory is asked for where the order is not the memory's own: 4 to 16 measured level, 1 and 2 slower.
AHEAD = 8

Order = Callable[[int, int, np.random.Generator], Iterator[Any]]


class Steps:
    """rho_k for k = 1, 2, ...: a number, or a callable, asked ahead but held to account only as far as the run goes."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._known = np.zeros(0) if callable(step) else np.array([float(step)])

    def table(self, upto: int) -> tuple[Any, int]:
        """(rhos, how many updates they are good for), at least `upto`; what is wrong further on is not our business yet."""
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


def cyclic(n: int, size: int, rng: np.random.Generator) -> Iterator[Any]:
    """0, 1, ..., n-1."""
    for start in range(0, n, size):
        yield np.arange(start, min(start + size, n))


def permuted(n: int, size: int, rng: np.random.Generator) -> Iterator[Any]:
    """Every row once, in a fresh order each pass; up to WINDOW rows it is a uniform permutation."""
    starts = rng.permutation(-(-n // BLOCK)) * BLOCK
    seeds = rng.integers(1, 2**64, -(-len(starts) // BLOCKS), dtype=np.uint64)
    windows = max(1, size // WINDOW)
    for first in range(0, len(seeds), windows):
        some = starts[first * BLOCKS : (first + windows) * BLOCKS]
        order = np.empty(len(some) * BLOCK, np.int64)
        yield order[: int(fill_windows(some, BLOCK, BLOCKS, n, seeds[first:], order))]


def random(n: int, size: int, rng: np.random.Generator) -> Iterator[Any]:
    """n rows drawn with replacement."""
    for start in range(0, n, size):
        yield rng.integers(0, n, min(size, n - start))


# "mistakes" is not listed: which row comes next depends on the weights, see solve.py.
ORDERS: dict[str, Order] = {"cyclic": cyclic, "permuted": permuted, "random": random}
