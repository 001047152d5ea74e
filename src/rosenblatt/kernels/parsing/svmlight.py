"""Parses lines of svmlight, `label index:value index:value ...`, into the arrays of a CSR matrix.

The kernel parses simple lines only. It stops at any other line, which `parse_line` in `data/readers/svmlight.py`, the
definition, parses or rejects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import inlined, kernel
from .numbers import INEXACT_BYTES, INEXACT_VALUE, LONG, NINE, ONE, TEN, WRONG, ZERO, decimal

SPACE, TAB, NEWLINE, RETURN, COLON, HASH = (np.uint8(ord(c)) for c in " \t\n\r:#")
QID = tuple(np.uint8(c) for c in b"qid:")
MAX_INDEX_DIGITS = np.uintp(10)


@inlined
def _ends(c: Any) -> Any:
    """Whether a token ends before this byte."""
    return c in (SPACE, NEWLINE, TAB, RETURN, HASH)


@inlined
def _inexact(value: Any, length: Any) -> Any:
    """Whether a number may be an integer with more digits than a float holds."""
    return length >= INEXACT_BYTES and abs(value) >= INEXACT_VALUE


@kernel
def _is_qid(text: IntArray, i: Any) -> Any:
    for c in QID:  # the line continues as long as bytes match
        if text[i] != c:
            return False
        i += ONE
    return True


@inlined
def _skip(text: IntArray, i: Any) -> Any:
    """The start of the next token, or the newline if there is none or a comment starts."""
    while text[i] == SPACE or text[i] == TAB or text[i] == RETURN:
        i += ONE
    if text[i] == HASH:
        while text[i] != NEWLINE:
            i += ONE
    return i


@kernel
def svmlight_lines(
    text: IntArray, start: int, stop: int, base: int, largest: int,
    labels: FloatArray, indptr: IntArray, indices: IntArray, values: FloatArray, long: IntArray, done: IntArray,
) -> Any:  # fmt: skip
    """Parse whole lines from `start` to `stop`, or to the first that is not simple; returns the end of the last one parsed.

    Indices are counted from `base`, up to `largest`. `done` holds the numbers of rows, stored values, rows of `long`, and
    columns. A row of `long` is a number for Python, which is long or may not fit a float exactly: its destination (a stored
    value, or -1 - row for a label), and the start and end of its text.
    """
    rows, n, spilled, width = np.uintp(done[0]), np.uintp(done[1]), np.uintp(done[2]), np.int64(done[3])
    i, end, max_long, first_index, max_index = (
        np.uintp(start),
        np.uintp(stop),
        np.uintp(long.shape[0]),
        np.uint64(base),
        np.uint64(largest),
    )
    while i < end:
        line, first, kept = i, n, spilled
        i = _skip(text, i)
        if text[i] == NEWLINE:
            i += ONE
            continue
        begin = i
        label, i, found = decimal(text, i)
        plain = found != WRONG and _ends(text[i])
        if plain and (found == LONG or _inexact(label, i - begin)):
            plain = spilled < max_long
            if plain:
                long[spilled, 0], long[spilled, 1], long[spilled, 2] = -1 - np.int64(rows), begin, i
                spilled += ONE
        before = np.int64(-1)
        if plain:
            i = _skip(text, i)
            if _is_qid(text, i):
                while not _ends(text[i]):
                    plain = plain and text[i] > SPACE  # Python ends a token at other white space, too
                    i += ONE
                i = _skip(text, i)
        while plain and text[i] != NEWLINE:
            begin, index = i, np.uint64(0)
            digit = np.uint8(text[i] - ZERO)
            while digit <= NINE:
                index = index * TEN + np.uint64(digit)
                i += ONE
                digit = np.uint8(text[i] - ZERO)
            column = np.int64(index - first_index)
            if text[i] != COLON or i == begin or i - begin > MAX_INDEX_DIGITS or index > max_index or column <= before:
                plain = False
                break
            i += ONE
            begin, before = i, column
            x, i, found = decimal(text, i)
            if found == WRONG or not _ends(text[i]):
                plain = False
                break
            if found == LONG or _inexact(x, i - begin):
                if spilled >= max_long:
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
