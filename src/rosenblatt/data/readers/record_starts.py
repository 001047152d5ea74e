"""Where the records of a delimited file begin, if quoted cells may contain line feeds.

Whether a line feed ends a record depends on all quotes before it. Each range of a file is therefore read for each state in
which it may begin, apart from the others; the states that occur follow from the first range on. This is exact, unlike a guess
by the text around a place, and takes one pass over the file, by as many tasks as there are ranges. `cells.py` defines a record.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from ...array_types import IntArray
from .byte_ranges import READ_BYTES, ByteRange
from .cells import BLANKS, NEWLINE, QUOTE
from .window import BOM

# States: at the start of a record, or of another cell; in a cell without quotes, or with quotes; after a quote within quotes,
# which may be doubled; and after blanks behind it.
RECORD, CELL, PLAIN, QUOTED, AFTER, CLOSED = range(6)
Transitions = list[tuple[int, int]]  # for each state at the start: that at the end, and where the first record begins, or -1


@cache
def _automaton(delimiter: bytes) -> IntArray:
    """The state after a byte, for each state before it. What is an error in a record is one when it is parsed."""
    table = np.empty((6, 256), np.uint8)
    table[[RECORD, CELL, PLAIN]] = PLAIN
    table[QUOTED] = QUOTED
    table[[AFTER, CLOSED]] = PLAIN
    separators = BLANKS if delimiter == b" " else delimiter
    for blank in BLANKS:
        table[[RECORD, CELL], blank], table[[AFTER, CLOSED], blank] = CELL, CLOSED
    for separator in separators:
        table[[RECORD, CELL, PLAIN, AFTER, CLOSED], separator] = CELL
    table[[RECORD, CELL], QUOTE] = QUOTED
    table[QUOTED, QUOTE], table[AFTER, QUOTE] = AFTER, QUOTED
    table[[RECORD, CELL, PLAIN, AFTER, CLOSED], NEWLINE] = RECORD
    table.flags.writeable = False
    return table


def scan_range(path: str | Path, start: int, stop: int, delimiter: bytes, skip_lines: int) -> Transitions:
    """A range of the bytes of a file, read for each state in which it may begin; lines to be skipped are left out."""
    from ...kernels.parsing.record_ends import walk_records

    table = _automaton(delimiter)
    states, firsts, at = list(range(6)), [-1] * 6, start
    with ByteRange(path, start, stop, exact=True) as stream:
        while piece := stream.read(READ_BYTES):
            skipped = 0
            if not at:
                skipped = len(BOM) if piece.startswith(BOM) else 0
                for _ in range(skip_lines):
                    skipped = piece.find(b"\n", skipped) + 1 or len(piece)
            text = np.frombuffer(piece, np.uint8)[skipped:]
            walked = {state: walk_records(text, state, table) for state in set(states)}
            for origin, state in enumerate(states):
                end, first = map(int, walked[state])
                states[origin] = end
                if first >= 0 and firsts[origin] < 0:
                    firsts[origin] = at + skipped + first
            at += len(piece)
    return list(zip(states, firsts, strict=True))


def record_starts(starts: list[int], stop: int, found: list[Transitions]) -> list[int]:
    """Where the first record begins in each range or after it, and last the end of the file.

    starts, stop : the ranges, and the end of the file.
    found : what `scan_range` returned for each of them.
    """
    places, state = [], RECORD
    for start, transitions in zip(starts, found, strict=True):
        end, first = transitions[state]
        places.append(start if state == RECORD else first)
        state = end
    places.append(stop)
    for at in range(len(places) - 2, -1, -1):
        places[at] = places[at] if places[at] >= 0 else places[at + 1]
    return places
