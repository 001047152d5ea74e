"""Finds where records of delimited text end without splitting them into cells: a finite automaton over the bytes.

A record ends with its line, unless the line feed is within quotes. `data/readers/record_starts.py` makes the automaton.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array_types import IntArray
from ..compile import kernel
from .numbers import ONE

NEXT_RECORD = np.uint8(0)  # the state after the end of a record
NONE = np.int64(-1)


@kernel
def walk_records(text: IntArray, state: Any, table: IntArray) -> Any:
    """The state after some bytes, and the position after the first end of a record, or -1.

    `table[state, byte]` is the state after a byte.
    """
    i, end, first = np.uintp(0), np.uintp(text.shape[0]), NONE
    state = np.uint8(state)
    while i < end:
        state = table[state, text[i]]
        i += ONE
        if state == NEXT_RECORD and first < 0:
            first = np.int64(i)
    return state, first
