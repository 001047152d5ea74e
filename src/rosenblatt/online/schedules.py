"""Step sizes, and the orders in which the passes of a run visit the rows."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ..array_types import FloatArray, IntArray
from ..kernels.linear.random_orders import draw_blocks, fill_windows

Step = float | Callable[[int], float]
MAX_COUNT = 2**63 - 1  # of updates, in int64
# The number of rows, those drawn at once, random numbers, the number of passes (several together have up to that many rows).
Order = Callable[[int, int, "Draws", int], Iterator[IntArray]]

# A permuted pass takes blocks of neighboring rows in random order and shuffles the rows of 64 blocks together. It learns as
# well as a full shuffle (a window holds 64 places of the data) and is 1.3 times as fast on 100k x 100 floats, because the
# memory pages of a window stay in the TLB.
ROWS_PER_BLOCK = 16
BLOCKS_PER_WINDOW = 64
ROWS_PER_WINDOW = BLOCKS_PER_WINDOW * ROWS_PER_BLOCK
# Raw numbers drawn at least at once, and those that a kernel gets beyond its mean need: it discards some.
RAW_NUMBERS, SPARE_NUMBERS = 64, 16

# --- step sizes ----------------------------------------------------------------------------------------------------------


class Steps:
    """Step sizes rho_k for k = 1, 2, ...: a number, or a callable, which is called ahead of time."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._known = np.zeros(0) if callable(step) else np.array([float(step)])

    @property
    def known(self) -> FloatArray:
        """The step sizes that were computed so far."""
        return self._known

    def continue_from(self, known: FloatArray) -> None:
        """Take over the step sizes that another run computed."""
        self._known = known.copy()  # writable, as kernels take it

    def table(self, upto: int) -> tuple[FloatArray, int]:
        """Step sizes and the number of updates they cover, at least `upto`.

        Errors in later values are raised only when those values are reached.
        """
        if not callable(self._step):
            return self._known, MAX_COUNT
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
    rho = step(k)
    try:
        value = float(rho)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"step({k}) returned {rho!r}; a step must be a number") from None
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"step({k}) returned {value!r}; a step must be finite and greater than 0")
    return value


# --- orders --------------------------------------------------------------------------------------------------------------


class Draws:
    """The random numbers of a run: NumPy's generator, or its raw numbers for kernels, but not both in one run."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.place = np.zeros(3, np.uint64)  # see `next_below` of the kernels, which changes it
        self._raw = np.zeros(0, np.uint64)

    def raw(self, count: int) -> IntArray:
        """Raw numbers, at least `count` of them after `place`."""
        left = self._raw[int(self.place[0]) :]
        if len(left) < count:
            more = self.rng.bit_generator.random_raw(max(count - len(left), RAW_NUMBERS))
            self._raw, self.place[0] = np.concatenate([left, more]), 0
        return self._raw


def cyclic(n: int, size: int, draws: Draws, passes: int = 1) -> Iterator[IntArray]:
    """The rows 0, 1, ..., n-1."""
    if passes > 1:
        yield np.tile(np.arange(n), passes)
        return
    for start in range(0, n, size):
        yield np.arange(start, min(start + size, n))


def permuted(n: int, size: int, draws: Draws, passes: int = 1) -> Iterator[IntArray]:
    """Every row once, in a new order each pass; up to ROWS_PER_WINDOW rows it is a uniform permutation."""
    blocks = -(-n // ROWS_PER_BLOCK)
    windows = -(-blocks // BLOCKS_PER_WINDOW)
    starts, seeds = np.empty(passes * blocks, np.int64), np.empty(passes * windows, np.uint64)
    numbers = passes * (blocks + windows) + SPARE_NUMBERS
    while not draw_blocks(draws.raw(numbers), draws.place, ROWS_PER_BLOCK, blocks, starts, seeds):
        numbers *= 2
    at_once = len(seeds) if passes > 1 else max(1, size // ROWS_PER_WINDOW)
    for first in range(0, len(seeds), at_once):
        some = starts[first * BLOCKS_PER_WINDOW : (first + at_once) * BLOCKS_PER_WINDOW]
        order = np.empty(len(some) * ROWS_PER_BLOCK, np.int64)
        yield order[: int(fill_windows(some, ROWS_PER_BLOCK, BLOCKS_PER_WINDOW, blocks, n, seeds[first:], order))]


def random(n: int, size: int, draws: Draws, passes: int = 1) -> Iterator[IntArray]:
    """n rows, drawn with replacement."""
    for start in range(0, n * passes, size):
        yield draws.rng.integers(0, n, min(size, n * passes - start))


# "mistakes" is not listed: the next row depends on the weights (see full_scans.py).
ORDERS: dict[str, Order] = {"cyclic": cyclic, "permuted": permuted, "random": random}


class Orders:
    """The order of the rows in each pass of a run."""

    def __init__(self, name: str, n: int, size: int, seed: int) -> None:
        self._draw, self._n, self._size, self._draws = ORDERS[name], n, size, Draws(seed)
        self._fixed = name == "cyclic" and n <= size
        self._known: dict[int, list[IntArray]] = {}

    def next_passes(self, passes: int) -> Iterable[IntArray]:
        """The rows of the next pass in parts of up to `size` rows, or those of several passes, up to `size`, in one part."""
        if passes in self._known:
            return self._known[passes]
        drawn = self._draw(self._n, self._size, self._draws, passes)
        if self._fixed:
            self._known = {passes: list(drawn)}
            return self._known[passes]
        return drawn
