"""Numbers that are no quantities: marks of missing cells, and days such as 20240301.

Missing cells may be marked by runs of nines at an end, far from all other values, such as -999 in a column of ages. A cell with
such a number is read as it stands: it moves the mean and the deviation of its column more than all others together. Days that
are written as one number are unequally spaced: there are 8,870 from the last of a year to the next day.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...array_types import Array
from ...reporting.text import short

MARKERS = frozenset(sign * (10**digits - 1) for digits in range(2, 8) for sign in (-1, 1)) | {-9}
DAYS = {-719_162: "0001-01-01", -25_567: "1900-01-01", 2_932_896: "9999-12-31"}  # since 1970, in columns of dates
MIN_CELLS = 3
# Least distance from the other cells, as a multiple of their range: a limit that stands for all larger values is nearer.
MIN_GAP, MIN_GAP_OF_NEGATIVE = 2.0, 1.0  # the second for a negative number among others that are not


FIRST_DAY, LAST_DAY = 1900_01_01, 2100_12_31
MIN_DAYS = 3  # distinct


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
        if (end not in MARKERS and end not in DAYS) or n < MIN_CELLS or len(rest) < MIN_CELLS:
            continue
        low, high = float(rest.min()), float(rest.max())
        with np.errstate(over="ignore"):
            least = MIN_GAP_OF_NEGATIVE if end < 0.0 <= low else MIN_GAP
            if max(low - end, end - high) > least * (high - low) > 0.0:
                return Marker(float(end), n, low, high)
    return None


def written_marker(marker: Marker) -> tuple[str, str, str]:
    """The number and the range of the other cells as text; as dates if the number stands for one."""
    if marker.value not in DAYS:
        return short(marker.value, 8), short(marker.low), short(marker.high)
    low, high = (str(np.datetime64(math.floor(days), "D")) for days in (marker.low, marker.high))
    return DAYS[int(marker.value)], low, high


def are_day_numbers(cells: Array) -> bool:
    """Whether all cells of a column of floats that are not missing are days as year, month and day in eight digits.

    >>> are_day_numbers(np.array([20240228.0, 20240229.0, 20240301.0]))
    True
    >>> are_day_numbers(np.array([20240228.0, 20240230.0, 20240301.0]))
    False
    """
    cells = cells[~np.isnan(cells)]
    if not len(cells) or not ((cells >= FIRST_DAY) & (cells <= LAST_DAY)).all() or (cells != np.floor(cells)).any():
        return False
    days = np.unique(cells).astype(np.int64)
    month, day = days // 100, days % 100
    if len(days) < MIN_DAYS or not ((month % 100 >= 1) & (month % 100 <= 12) & (day >= 1) & (day <= 31)).all():
        return False
    first = (month // 100 - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (month % 100 - 1)
    found = first.astype("datetime64[D]") + (day - 1)
    return bool((found.astype("datetime64[M]") == first).all())
