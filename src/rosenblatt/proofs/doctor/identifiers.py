"""Numeric columns that identify rows instead of describing them: row numbers and ids.

Missing cells, and rows that are in a file twice, do not hide an identifier: nine of ten cells must be filled and distinct. The
others are left out. A column then numbers the rows if its cells
- are a progression in the order of the file, such as 1, 2, 3 or 0.0, 0.5, 1.0, or
- are integers that fill at least two thirds of a progression in any order: of n values drawn from so few, two would be equal.

Other distinct integers identify rows only if the name of the column says so: populations, prices and zip codes are often
distinct, too, and spread over a range much wider than the number of rows. Columns of time are progressions by nature.
"""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from ...array_types import Array, FloatArray

Identifier = Literal["row numbers", "ids"]

MIN_ROWS, MIN_ROWS_NAMED = 20, 5  # of a progression, without and with the name of an identifier
MIN_ROWS_SHUFFLED = 40
MIN_ROWS_UNNAMED = 100  # of distinct integers in the first column of a file without a header
MIN_FILLED = 2 / 3  # share of a progression
MIN_DISTINCT = 0.9  # share of cells that are not missing and not equal to an earlier one
MAX_EXACT_INTEGER = 2.0**53
STEP_TOLERANCE = 1e-6  # of a step
SAMPLE_ROWS = 1_000  # rows among which two equal cells are looked for first
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
NAMES = {
    "id", "ids", "idx", "index", "uuid", "guid", "nr", "unnamed", "rowid", "row", "key", "serial", "phone", "telephone", "fax",
    "ssn", "isbn", "ean", "iban", "imei", "barcode",
}  # fmt: skip
LAST_NAMES = {"number", "num", "no"}  # at the end of a name: an order number, but not the number of orders
TIMES = {
    "time",
    "date",
    "datetime",
    "timestamp",
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "epoch",
}


def identifier(cells: Array, name: str | None = None, *, first: bool = False) -> Identifier | None:
    """What a column of floats identifies rows by, if it does.

    Parameters
    ----------
    cells : ndarray of float64
        The cells in the order of the file.
    name : str, optional
        The name of the column; None: the file has no header.
    first : bool, default=False
        Whether it is the first column of the file, where tables have their ids.

    Returns
    -------
    {"row numbers", "ids"} or None

    Examples
    --------
    >>> identifier(np.arange(1.0, 41.0)), identifier(np.arange(40.0), "year")
    ('row numbers', None)
    >>> customers = np.random.default_rng(0).permutation(100_000)[:60] + 0.0
    >>> identifier(customers, "CustomerID"), identifier(customers, "population")
    ('ids', None)
    """
    found = [word.lower() for word in WORD.findall(name or "")]
    words = set(found)
    named = bool(words & NAMES or LAST_NAMES.intersection(found[-1:]))
    if len(cells) < (MIN_ROWS_NAMED if named else MIN_ROWS) or words & TIMES:
        return None
    if _is_progression(cells):
        return "row numbers"
    some = _distinct(cells[:SAMPLE_ROWS])
    distinct = _distinct(cells) if len(cells) > SAMPLE_ROWS and some is not None else some
    if distinct is None:
        return None
    cells = distinct
    n = len(cells)
    if _is_progression(cells):
        return "row numbers"
    if not _are_integers(cells):
        return None
    places = (cells - cells.min()).astype(np.int64)
    step = int(np.gcd.reduce(places))
    filled = n >= MIN_FILLED * (int(places.max()) // step + 1)
    if filled and n >= (MIN_ROWS if named else MIN_ROWS_SHUFFLED):
        return "row numbers" if np.bincount(places // step).max() == 1 else None
    alone = name is None and first and n > MIN_ROWS_UNNAMED
    return "ids" if (alone or (named and n >= MIN_ROWS)) and len(np.unique(places)) == n else None


def _distinct(cells: FloatArray) -> FloatArray | None:
    """The cells that are neither missing nor equal to an earlier one, in order; None if they are too few."""
    present = cells[np.isfinite(cells)]
    if len(present) < MIN_DISTINCT * len(cells):
        return None
    _, firsts = np.unique(present, return_index=True)
    return None if len(firsts) < MIN_DISTINCT * len(cells) else present[np.sort(firsts)]


def _is_progression(cells: FloatArray) -> bool:
    """Whether the cells ascend or descend in equal steps, up to the rounding of decimal fractions."""
    with np.errstate(over="ignore"):
        step = (cells[-1] - cells[0]) / (len(cells) - 1)
    if not (step and np.isfinite(step)):
        return False
    expected = cells[0] + step * np.arange(len(cells))
    return bool((abs(cells - expected) <= STEP_TOLERANCE * abs(step)).all())


def _are_integers(cells: FloatArray) -> bool:
    return bool(abs(cells).max() <= MAX_EXACT_INTEGER / 2 and (cells == np.round(cells)).all())
