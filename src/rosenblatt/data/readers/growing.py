"""Arrays that grow while a file is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sources import Source


def enlarged(array: Any, room: int) -> Any:
    """The array with room for more, its pages moved rather than copied; room that is never used costs no memory."""
    if len(array) <= 1:  # at most the leading 0 of an indptr: nothing worth keeping
        return np.empty(room, array.dtype)
    array.resize(room, refcheck=False)
    return array


def room_for(needed: int, had: int, ahead: float) -> int:
    """How much room to make where `needed` is more than there is: for what is ahead, and never by small steps."""
    return max(int(needed * ahead), had * 5 // 4)


def ahead(source: Source) -> float:
    """How many times what has been read of a file the whole will be, with a little over; 1 where nobody knows."""
    return max(1.0, 1.02 * source.size / max(1, source.position)) if source.size else 1.0
