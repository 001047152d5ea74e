"""Columns of a matrix that are to be left out: they become zero, so that all other columns keep their numbers.

Readers of tables leave columns out themselves. A column of zeros has no weight in a model, and no effect on a prediction.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...array_types import BoolArray, IntArray
from ..csr import CSRMatrix, row_pointers
from ..table import Data, DataError, Table
from . import Options


def without_ignored(data: Data, options: Options, *, whole: bool = True) -> Data:
    """Rows without the columns that the options ignore; `whole`: these are all rows, so that all columns are known."""
    features = data.features
    if not options.ignore or isinstance(features, Table):
        return data
    first = int(isinstance(features, CSRMatrix) and not options.zero_based)
    width = features.shape[1]
    ignored = np.zeros(width, bool)
    for key in options.ignore:
        if not key.isdecimal() or int(key) < first or (whole and int(key) >= first + width):
            ranged = f"from {first} to {first + width - 1}" if whole else f"from {first} on"
            raise DataError(data.source, f"there is no column {key!r} to ignore; columns have numbers {ranged}")
        ignored[int(key) - first : int(key) - first + 1] = True
    if isinstance(features, CSRMatrix):
        return replace(data, features=_without_columns(features, ignored))
    return replace(data, features=np.where(ignored, 0.0, features))


def _without_columns(rows: CSRMatrix, ignored: BoolArray) -> CSRMatrix:
    low, high = int(rows.indptr[0]), int(rows.indptr[-1])
    kept = ~ignored[rows.indices[low:high]]
    sizes: IntArray = np.bincount(rows.row_numbers()[kept], minlength=rows.shape[0])
    return CSRMatrix(rows.values[low:high][kept], rows.indices[low:high][kept], row_pointers(sizes), rows.width)
