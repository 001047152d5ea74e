"""Dates and times as numbers: the day itself, and where it lies in its hour, week and year, as points on circles.

A column of dates holds days since 1970-01-01, one of times the fraction of a day. A part "hour sin" is sin(2 pi p), where p is
the position in the cycle, from 0 to 1: the fraction of the day, the weekday (Monday is 0) over 7, or days over 365.2425.
The linear classifier then weighs a direction of each circle, such as evenings against mornings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..array_types import FloatArray, IntArray
from ..reporting.text import short

SECONDS_PER_DAY, MINUTES_PER_DAY = 86_400, 1_440
MAX_DAYS_SHOWN = 4_000_000  # beyond the year 12,000, a number is no date


class Cycle(NamedTuple):
    """A cycle of `period` days, with the position (t + offset) / period modulo 1: t is the day, or its start if `whole`."""

    period: float
    whole: bool = False
    offset: float = 0.0


CYCLES = {"hour": Cycle(1.0), "weekday": Cycle(7.0, True, 3.0), "year": Cycle(365.2425)}  # 1970-01-01 was a Thursday
# The parts of a column, by their numbers in model files: 0 is the column itself.
PARTS = ("value", *(f"{cycle} {wave}" for cycle in CYCLES for wave in ("sin", "cos")))
KINDS = {"date": ("weekday", "year"), "datetime": ("hour", "weekday", "year"), "time": ("hour",)}


def parts_of(kind: str | None) -> list[int]:
    """The numbers of the parts of a column of dates; of any other column, itself.

    >>> [PARTS[part] for part in parts_of("time")], parts_of(None)
    (['value', 'hour sin', 'hour cos'], [0])
    """
    cycles = () if kind is None else KINDS[kind]
    return [0, *(part for part, name in enumerate(PARTS) if name.split()[0] in cycles)]


def cycle_of(part: int) -> tuple[Cycle, str]:
    """The cycle of a part, and the wave: "sin" or "cos"."""
    name, wave = PARTS[part].split()
    return CYCLES[name], wave


def part_values(days: FloatArray, part: int) -> FloatArray:
    """A part of each number of days; NaN stays NaN.

    >>> part_values(np.array([0.25, 1.5]), PARTS.index("hour sin")).round(9).tolist()
    [1.0, 0.0]
    """
    if part == 0:
        return days
    cycle, wave = cycle_of(part)
    turns = ((np.floor(days) if cycle.whole else days) + cycle.offset) / cycle.period
    angles = 2.0 * np.pi * (turns - np.floor(turns))
    values: FloatArray = np.sin(angles) if wave == "sin" else np.cos(angles)
    return values


def expand_parts(X: FloatArray, inputs: IntArray) -> FloatArray:
    """The parts of columns that are listed as pairs of a column and a part."""
    if not (inputs[:, 1] != 0).any():
        return X[:, inputs[:, 0]]
    out = np.empty((len(X), len(inputs)))
    for place, (column, part) in enumerate(inputs.tolist()):
        out[:, place] = part_values(X[:, column], part)
    return out


def part_name(column: str, part: int) -> str:
    """The name of a part, such as "sold (weekday sin)"; the column itself keeps its name."""
    return column if part == 0 else f"{column} ({PARTS[part]})"


def date_text(number: float, kind: str) -> str:
    """A number of days since 1970 as a date in ISO form, which a reader takes in any column of dates; to the second.

    >>> date_text(20088.0, "date"), date_text(20088.5, "datetime"), date_text(0.25, "time")
    ('2024-12-31', '2024-12-31 12:00', '06:00')
    """
    if not abs(number) < MAX_DAYS_SHOWN:
        return short(number)
    moment = np.datetime64(round(number * SECONDS_PER_DAY), "s")
    if kind == "date":
        return str(moment.astype("datetime64[D]"))
    day, _, time = str(moment).partition("T")
    time = time.removesuffix(":00")
    return f"{day} {time}" if kind == "datetime" else time
