"""Lines of svmlight, `label index:value index:value ...`, to the arrays of a CSR matrix.

Only what is plainly right is done here. At the first line that is not, the kernel stops, and the parser of one line in
`readers/svmlight.py`, which is the definition, reads it or says what is wrong with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import inlined, kernel
from .numbers import LONG, NINE, ONE, TEN, WRONG, ZERO, decimal

SPACE, TAB, NEWLINE, RETURN, COLON, HASH = (np.uint8(ord(c)) for c in " \t\n\r:#")
QID = tuple(np.uint8(c) for c in b"qid:")
TEN_DIGITS = np.uintp(10)


@inlined
def _ends(c: Any) -> Any:
    """Whether a token ends before such a byte."""
    return c in (SPACE, NEWLINE, TAB, RETURN, HASH)


@kernel
def _is_qid(text: Any, i: Any) -> Any:
    for c in QID:  # the line goes on as long as bytes match
        if text[i] != c:
            return False
        i += ONE
    return True


@inlined
def _skip(text: Any, i: Any) -> Any:
    """The next token's first byte; or the line's newline, where there is none or a comment begins."""
    while text[i] == SPACE or text[i] == TAB or text[i] == RETURN:
        i += ONE
    if text[i] == HASH:
        while text[i] != NEWLINE:
            i += ONE
    return i


@kernel
def svmlight_lines(
    text: Any, start: int, stop: int, base: int, largest: int,
    labels: Any, indptr: Any, indices: Any, values: Any, long: Any, done: Any,
) -> Any:  # fmt: skip
    """Parse whole lines from `start` until `stop`, or to the first one that is not plain; returns where it stopped.

    Indices are counted from `base` and go to `largest`. `done` counts rows, nonzeros, rows of `long`, and columns. A row of
    `long` is for Python's `float`: where the number goes (a nonzero, or -1 - the row of a label), and its text's two ends.
    """
    rows, n, spilled, width = np.uintp(done[0]), np.uintp(done[1]), np.uintp(done[2]), np.int64(done[3])
    i, end, room, lead, most = np.uintp(start), np.uintp(stop), np.uintp(long.shape[0]), np.uint64(base), np.uint64(largest)
    while i < end:
        line, first, kept = i, n, spilled
        i = _skip(text, i)
        if text[i] == NEWLINE:
            i += ONE
            continue
        begin = i
        label, i, found = decimal(text, i)
        plain = found != WRONG and _ends(text[i])
        if plain and found == LONG:
            plain = spilled < room
            if plain:
                long[spilled, 0], long[spilled, 1], long[spilled, 2] = -1 - np.int64(rows), begin, i
                spilled += ONE
        before = np.int64(-1)
        if plain:
            i = _skip(text, i)
            if _is_qid(text, i):
                while not _ends(text[i]):
                    i += ONE
                i = _skip(text, i)
        while plain and text[i] != NEWLINE:
            begin, index = i, np.uint64(0)
            digit = np.uint8(text[i] - ZERO)
            while digit <= NINE:
                index = index * TEN + np.uint64(digit)
                i += ONE
                digit = np.uint8(text[i] - ZERO)
            column = np.int64(index - lead)
            if text[i] != COLON or i == begin or i - begin > TEN_DIGITS or index > most or column <= before:
                plain = False
                break
            i += ONE
            begin, before = i, column
            x, i, found = decimal(text, i)
            if found == WRONG or not _ends(text[i]):
                plain = False
                break
            if found == LONG:
                if spilled >= room:
                    plain = False
                    break
                long[spilled, 0], long[spilled, 1], long[spilled, 2] = n, begin, i
                spilled += ONE
            indices[n], values[n] = column, x
            n += ONE
            i = _skip(text, i)
        if not plain:
            i, n, spilled = line, first, kept
            break
        i += ONE
        labels[rows] = label
        rows += ONE
        indptr[rows] = n
        width = max(width, before + 1)
    done[0], done[1], done[2], done[3] = rows, n, spilled, width
    return i
