"""Medians of columns: exact if all rows may stay in memory, otherwise of evenly spaced rows.

A stream keeps every s-th row, where s doubles whenever the kept cells exceed a limit. Up to this limit, medians are exact;
beyond it, they are those of at least half as many rows. Chunk boundaries do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..array_types import FloatArray

KEPT_CELLS = 1 << 22  # of all columns of a stream, 32 MB
MIN_KEPT_ROWS = 1 << 10


class Medians:
    """Collects the cells of columns; `in_memory`: the arrays that are added exist anyway, and are kept whole."""

    def __init__(self, columns: int, *, in_memory: bool) -> None:
        self._limit = None if in_memory else max(MIN_KEPT_ROWS, KEPT_CELLS // max(1, columns))
        self._parts: list[list[FloatArray]] = [[] for _ in range(columns)]
        self._rows = self._kept = 0
        self._stride = 1

    def add(self, columns: Sequence[FloatArray]) -> None:
        """Add the next rows, as columns."""
        rows = len(columns[0]) if columns else 0
        first = -self._rows % self._stride
        self._rows += rows
        for parts, cells in zip(self._parts, columns, strict=True):
            parts.append(cells if self._limit is None else cells[first :: self._stride].copy())
        self._kept += len(range(first, rows, self._stride))
        while self._limit is not None and self._kept > self._limit:
            self._parts = [[np.concatenate(parts)[::2]] for parts in self._parts]
            self._stride, self._kept = 2 * self._stride, (self._kept + 1) // 2

    def medians(self) -> FloatArray:
        """The median of the cells of each column that are not missing; 0 for a column without any."""
        return np.array([_median(np.concatenate(parts)) if parts else 0.0 for parts in self._parts], np.float64)


def _median(cells: FloatArray) -> float:
    """The median: of an even number of cells, the mean of the middle two."""
    missing = np.isnan(cells)
    known = cells[~missing] if missing.any() else cells
    n = len(known)
    if not n:
        return 0.0
    low, high = (n - 1) // 2, n // 2
    middle = np.partition(known, (low, high) if low != high else low)
    return float(middle[low] / 2 + middle[high] / 2) if low != high else float(middle[low])
