"""Numbers that mark missing cells, such as -999 in a column of ages: runs of nines at an end, far from all other values.

A cell with such a number is read as it stands: it moves the mean and the deviation of its column more than all others together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...array_types import Array

MARKERS = frozenset(sign * (10**digits - 1) for digits in range(2, 8) for sign in (-1, 1)) | {-9}
MIN_CELLS = 3
# Least distance from the other cells, as a multiple of their range: a limit that stands for all larger values is nearer.
MIN_GAP, MIN_GAP_OF_NEGATIVE = 2.0, 1.0  # the second for a negative number among others that are not


class Marker(NamedTuple):
    """A number at an end of a column: in how many cells it is, and the range of the other cells."""

    value: float
    cells: int
    low: float
    high: float


def find_marker(cells: Array) -> Marker | None:
    """The number that marks missing cells in a column of floats; None if no number stands apart.

    A number stands apart if its distance from all other cells is more than twice their range, or more than their range if it
    alone is negative.

    >>> find_marker(np.array([31.0, 42.0, 18.0, 79.0, 64.0, -999.0, -999.0, -999.0]))
    Marker(value=-999.0, cells=3, low=18.0, high=79.0)
    >>> find_marker(np.array([990.0, 993.0, 999.0, 999.0, 999.0]))
    """
    cells = cells[np.isfinite(cells)]
    for end in (cells.min(initial=np.inf), cells.max(initial=-np.inf)):
        rest = cells[cells != end]
        n = len(cells) - len(rest)
        if end not in MARKERS or n < MIN_CELLS or len(rest) < MIN_CELLS:
            continue
        low, high = float(rest.min()), float(rest.max())
        with np.errstate(over="ignore"):
            least = MIN_GAP_OF_NEGATIVE if end < 0.0 <= low else MIN_GAP
            if max(low - end, end - high) > least * (high - low) > 0.0:
                return Marker(float(end), n, low, high)
    return None
