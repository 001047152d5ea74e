"""Facts about the columns of the training rows, stored with the recipe: ranges, categories with their counts, missing cells.

Later rows are compared with them: drift reports and explanations read them, predictions do not.

A stored set of facts is the number of rows, and arrays. minimum, maximum (float64) and missing (int64) have one entry for each
numeric column; mean, edges and shares (float64), which sparse rows do not have, one, nine and ten. string_missing (int64) has
one for each column of strings, counts0, counts1, ... (int64) have one for each value of a categorical column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array_types import BoolArray, FloatArray, IntArray
from ..reporting.text import plural
from .categorical import Categories
from .text_features import TextFeatures

MAX_ROWS = 1 << 48  # sums of counts stay integers of 64 bits
# Sparse training rows with more columns have no facts: they would take more space than the weights.
MAX_SPARSE_COLUMNS = 1 << 17


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What the training rows have in each column of a recipe.

    `minimum`, `maximum` and `missing` are in the order of the numeric columns, `counts` and `string_missing` in the order of
    the columns of strings. Columns of sparse rows include their zeros.
    """

    rows: int
    minimum: FloatArray  # of the cells that are not missing; 0 if all are
    maximum: FloatArray
    missing: IntArray
    counts: tuple[IntArray | None, ...]  # of each value of a categorical column; None for a column of text
    string_missing: IntArray
    # Of rows that are not sparse: means, deciles (9 a column), and the shares of cells in the bins between them (10 a column).
    mean: FloatArray | None = None
    edges: FloatArray | None = None
    shares: FloatArray | None = None

    def take(self, numbers: BoolArray, strings: Sequence[int]) -> ColumnFacts:
        """The facts of some of the numeric columns, and of some of the columns of strings."""
        counts = tuple(self.counts[place] for place in strings)
        low, high = self.minimum[numbers], self.maximum[numbers]
        more = (None if each is None else each[numbers] for each in (self.mean, self.edges, self.shares))
        return ColumnFacts(self.rows, low, high, self.missing[numbers], counts, self.string_missing[list(strings)], *more)

    def to_arrays(self) -> dict[str, Any]:
        """The facts as arrays of a model file."""
        arrays = {"minimum": self.minimum, "maximum": self.maximum, "missing": self.missing}
        if self.mean is not None and self.edges is not None and self.shares is not None:
            arrays |= {"mean": self.mean, "edges": self.edges, "shares": self.shares}
        if self.counts:
            arrays["string_missing"] = self.string_missing
        return arrays | {f"counts{place}": counts for place, counts in enumerate(self.counts) if counts is not None}


def facts_of(
    rows: int, minimum: FloatArray, maximum: FloatArray, missing: IntArray, strings: Sequence[tuple[IntArray | None, int]] = ()
) -> ColumnFacts:
    """Facts from statistics, where columns without values have infinite ranges; `strings`: counts and missing cells."""
    known = np.isfinite(minimum) & np.isfinite(maximum)
    lost = np.array([number for _, number in strings], np.int64)
    return ColumnFacts(
        rows, np.where(known, minimum, 0.0), np.where(known, maximum, 0.0), missing, tuple(each for each, _ in strings), lost
    )


def facts_from_arrays(
    rows: Any, arrays: dict[str, Any], columns: int, strings: Sequence[Categories | TextFeatures]
) -> ColumnFacts | None:
    """Take the facts out of the arrays of a file, fully checked; None if the file has none (`rows` is null)."""
    if rows is None:
        return None
    if type(rows) is not int or not 1 <= rows <= MAX_ROWS:
        raise ValueError(f"a recipe's rows must be an integer from 1 to {MAX_ROWS}, got {rows!r:.80}")
    minimum, maximum = (_array(arrays, name, np.float64, columns) for name in ("minimum", "maximum"))
    if not (np.isfinite(minimum).all() and np.isfinite(maximum).all() and (minimum <= maximum).all()):
        raise ValueError("a recipe's ranges of columns must be finite and ascend")
    mean = edges = shares = None
    if "mean" in arrays:
        mean, edges = (_finite(arrays, name, shape) for name, shape in (("mean", (columns,)), ("edges", (columns, 9))))
        shares = _finite(arrays, "shares", (columns, 10))
        if (edges[:, 1:] < edges[:, :-1]).any() or (shares < 0).any() or (shares > 1).any():
            raise ValueError("a recipe's edges must ascend, and its shares must be from 0 to 1")
    missing = _counts(arrays, "missing", columns, rows)
    string_missing = _counts(arrays, "string_missing", len(strings), rows) if strings else np.zeros(0, np.int64)
    counts: list[IntArray | None] = []
    for place, block in enumerate(strings):
        if isinstance(block, TextFeatures):
            counts.append(None)
            continue
        each = _counts(arrays, f"counts{place}", len(block.values), rows)
        if int(each.sum()) + int(string_missing[place]) > rows:
            raise ValueError(f"a recipe's counts of categories exceed its {plural(rows, 'row')}")
        counts.append(each)
    return ColumnFacts(rows, minimum, maximum, missing, tuple(counts), string_missing, mean, edges, shares)


def _finite(arrays: dict[str, Any], name: str, shape: tuple[int, ...]) -> FloatArray:
    array = arrays.pop(name, None)
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"a recipe's {name} must be finite floats of shape {shape}")
    return array


def _array(arrays: dict[str, Any], name: str, dtype: type, length: int) -> Any:
    array = arrays.pop(name, None)
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != (length,):
        raise ValueError(f"a recipe's {name} must be {plural(length, 'number')}")
    return array


def _counts(arrays: dict[str, Any], name: str, length: int, rows: int) -> IntArray:
    counts: IntArray = _array(arrays, name, np.int64, length)
    if not ((counts >= 0) & (counts <= rows)).all():
        raise ValueError(f"a recipe's {name} must be from 0 to its {plural(rows, 'row')}")
    return counts
