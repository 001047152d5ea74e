"""Step sizes rho_1, rho_2, ... and the orders in which rows are visited."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .kernels.shuffle import shuffle_windows

Step = float | Callable[[int], float]

# A permuted pass takes blocks of neighbouring rows in random order, and shuffles the rows of 64 such blocks at a time: as
# good as a full shuffle for learning (a window holds 64 places of the data), and 1.3 times as fast on 100k x 100 floats,
# because the pages of a window stay in the address cache.
BLOCK = 16
WINDOW = 64 * BLOCK

# How many rows ahead memory is asked for where the order is not the memory's own: 4 to 16 measured level, 1 and 2 slower.
AHEAD = 8

Order = Callable[[int, int, np.random.Generator], Iterator[Any]]


class Steps:
    """rho_k for k = 1, 2, ...: a number, or a callable asked only as far as the run goes."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._known = np.zeros(0) if callable(step) else np.array([float(step)])

    def table(self, upto: int) -> tuple[Any, int]:
        """(rhos, how many updates they are good for)."""
        if not callable(self._step):
            return self._known, np.iinfo(np.int64).max
        if upto > len(self._known):
            more = range(len(self._known) + 1, max(upto, 2 * len(self._known), 64) + 1)
            self._known = np.concatenate([self._known, [_checked(self._step(k), k) for k in more]])
        return self._known, len(self._known)

    def __call__(self, k: int) -> float:
        return float(self.table(k)[0][min(k, len(self._known)) - 1])


def _checked(rho: Any, k: int) -> float:
    try:
        value = float(rho)
    except (TypeError, ValueError):
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
    blocks = rng.permutation(-(-n // BLOCK)) * BLOCK
    per_segment = max(1, size // WINDOW) * WINDOW // BLOCK
    for start in range(0, len(blocks), per_segment):
        order = (blocks[start : start + per_segment, None] + np.arange(BLOCK)).ravel()
        order = order[order < n]
        shuffle_windows(order, rng.integers(0, 2**32, len(order), dtype=np.int64), WINDOW)
        yield order


def random(n: int, size: int, rng: np.random.Generator) -> Iterator[Any]:
    """n rows drawn with replacement."""
    for start in range(0, n, size):
        yield rng.integers(0, n, min(size, n - start))


# "mistakes" is not listed: which row comes next depends on the weights, see solve.py.
ORDERS: dict[str, Order] = {"cyclic": cyclic, "permuted": permuted, "random": random}
