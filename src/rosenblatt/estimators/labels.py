"""Labels as class codes."""

from __future__ import annotations

from typing import Any

import numpy as np

# Whole numbers that span no more than this are counted instead of sorted, which is several times as fast.
SPAN = 1 << 16


def classes_and_codes(y: Any) -> tuple[Any, Any]:
    """The sorted labels that occur, and the position of each row's label among them: np.unique with its inverse."""
    if y.dtype.kind not in "iu":
        return np.unique(y, return_inverse=True)
    least, most = int(y.min()), int(y.max())
    if most - least >= SPAN:
        return np.unique(y, return_inverse=True)
    offsets = (y.astype(np.int64) - least).astype(np.int32)
    if most - least == 1:
        return np.array([least, most]).astype(y.dtype), offsets
    found = np.flatnonzero(np.bincount(offsets))
    places = np.zeros(most - least + 1, np.int32)
    places[found] = np.arange(len(found))
    return (found + least).astype(y.dtype), places[offsets]
