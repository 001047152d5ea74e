"""Parses records of delimited text: numbers are converted, text cells are located. `data/readers/cells.py` defines a record.

The kernel parses simple records only. It stops at any other record, which the definition parses or rejects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import inlined, kernel
from .numbers import EXACT, INEXACT_BYTES, INEXACT_VALUE, NINE, ONE, WRONG, ZERO, decimal

NUMBER, TEXT, UNUSED = 0, 1, 2
EMPTY_IS_NAN, MAY_CHANGE = 1, 2  # options of columns of numbers
FNV_OFFSET, FNV_PRIME, FNV_FOLD = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3), np.uint64(32)
SPACE, TAB, NEWLINE, RETURN, QUOTE = (np.uint8(ord(c)) for c in ' \t\n\r"')


@inlined
def _skip(text: IntArray, i: Any, delimiter: Any) -> Any:
    """The next byte that is not a blank."""
    while text[i] == SPACE or text[i] == RETURN or text[i] == TAB:
        if text[i] == delimiter and delimiter != SPACE:
            break
        i += ONE
    return i


@inlined
def _ends(c: Any, delimiter: Any) -> Any:
    """Whether a cell ends before this byte."""
    if delimiter == SPACE:
        return c in (SPACE, NEWLINE, TAB, RETURN)
    return c in (delimiter, NEWLINE)


@kernel
def _cell(text: IntArray, i: Any, end: Any, delimiter: Any) -> Any:
    """Start, end and delimiter of the cell at text[i], whether it is simple, and whether it has doubled quotes."""
    if text[i] == QUOTE:
        i += ONE
        begin, doubled = i, False
        while i < end:
            if text[i] == QUOTE:
                if text[i + ONE] != QUOTE:
                    break
                doubled = True
                i += ONE
            i += ONE
        if i >= end or delimiter == TAB:
            return begin, i, i, False, doubled
        stop = i
        i += ONE
        if delimiter != SPACE:
            i = _skip(text, i, delimiter)
        return begin, stop, i, _ends(text[i], delimiter), doubled
    begin = i
    while not _ends(text[i], delimiter):
        i += ONE
    stop = i
    while stop > begin and (text[stop - ONE] == SPACE or text[stop - ONE] == TAB or text[stop - ONE] == RETURN):
        stop -= ONE
    return begin, stop, i, True, False


@kernel
def _same(text: IntArray, a: Any, b: Any, n: Any) -> Any:
    k = np.uintp(0)
    while k < n and text[a + k] == text[b + k]:
        k += ONE
    return k == n


@kernel
def _code(text: IntArray, first: Any, last: Any, slots: IntArray, firsts: IntArray, count: Any) -> Any:
    """The code of a cell among the `count` distinct ones so far: `count` if new, `firsts.shape[0]` if the table is full."""
    mask, h = np.uint64(slots.shape[0] - 1), FNV_OFFSET
    for k in range(first, last):
        h = (h ^ np.uint64(text[k])) * FNV_PRIME
    slot = np.uintp((h ^ (h >> FNV_FOLD)) & mask)
    while slots[slot] >= 0:
        code = np.int64(slots[slot])
        if firsts[code, 1] - firsts[code, 0] == np.int64(last - first) and _same(
            text, np.uintp(firsts[code, 0]), first, last - first
        ):
            return code
        slot = (slot + ONE) & np.uintp(mask)
    if count < firsts.shape[0]:
        slots[slot] = count
        firsts[count, 0], firsts[count, 1] = np.int64(first), np.int64(last)
    return count


@kernel
def delimited_rows(
    text: IntArray, start: int, stop: int, delimiter: Any, columns: IntArray, numbers: FloatArray, deferred: IntArray,
    spans: IntArray, codes: IntArray, slots: IntArray, firsts: IntArray, counts: IntArray, done: IntArray,
) -> Any:  # fmt: skip
    """Parse records from `start` to `stop`, until `numbers` or `deferred` is full, or to a record that is not simple.

    Returns the end of the last record parsed. `columns[c]` holds a kind, a position among the columns of that kind, and an
    option. For numbers, bit 0 of the option makes empty cells NaN. A cell that is not a number, or is too long, is left to
    Python in a row of `deferred`: column, row, and the start and end of its text; without bit 1, so is a number with leading
    zeros or with more digits than a float holds for certain. For text, `spans` holds start and end, with a negative
    end if quotes are doubled; with the option, `codes` holds the code of the cell among the distinct ones in `firsts`, as long
    as they fit (`counts` holds their number). `done` holds the numbers of rows and of deferred cells.
    """
    i, end, width = np.uintp(start), np.uintp(stop), columns.shape[0]
    rows, n_deferred, max_rows, max_deferred = np.int64(0), np.int64(0), np.int64(numbers.shape[1]), np.int64(deferred.shape[0])
    while i < end and rows < max_rows:
        record, kept = i, n_deferred
        i = _skip(text, i, delimiter)
        if text[i] == NEWLINE:
            i += ONE
            continue
        plain, c = True, 0
        while True:
            i = _skip(text, i, delimiter)
            if delimiter == SPACE and text[i] == NEWLINE:
                i += ONE
                break
            if c == width:
                plain = False
                break
            kind, place = columns[c, 0], np.uintp(columns[c, 1])
            begin, known = i, False
            if kind == NUMBER:
                quoted = text[i] == QUOTE
                value, i, found = decimal(text, i + ONE if quoted else i)
                if quoted:
                    found = found if text[i] == QUOTE else WRONG
                    i += ONE
                if delimiter != SPACE:
                    i = _skip(text, i, delimiter)
                known = found == EXACT and _ends(text[i], delimiter)
                if known and columns[c, 2] < MAY_CHANGE:
                    first = begin + ONE if quoted else begin
                    zeros = text[first] == ZERO and np.uint8(text[first + ONE] - ZERO) <= NINE
                    known = not (zeros or (i - first >= INEXACT_BYTES and abs(value) >= INEXACT_VALUE))
                if known:
                    numbers[place, np.uintp(rows)] = value
            if not known:
                first, last, i, plain, doubled = _cell(text, begin, end, delimiter)
                if not plain:
                    break
                if kind == TEXT:
                    spans[place, rows, 0] = np.int64(first)
                    spans[place, rows, 1] = -np.int64(last) if doubled else np.int64(last)
                    if columns[c, 2] != 0 and counts[place] <= firsts.shape[1]:
                        code = _code(text, first, last, slots[place], firsts[place], counts[place])
                        codes[place, rows] = code
                        counts[place] += np.int64(code == counts[place])
                        if doubled:  # Python must unescape the quotes, so the whole column is left to it
                            counts[place] = firsts.shape[1] + 1
                elif kind == NUMBER:
                    if first == last and columns[c, 2] & EMPTY_IS_NAN:
                        numbers[place, rows] = np.nan
                    elif n_deferred < max_deferred:
                        deferred[n_deferred, 0], deferred[n_deferred, 1] = np.int64(c), rows
                        deferred[n_deferred, 2], deferred[n_deferred, 3] = np.int64(first), np.int64(last)
                        n_deferred += 1
                    else:
                        plain = False
                        break
            c += 1
            i += ONE
            if text[i - ONE] == NEWLINE:
                break
        if not plain or c != width:
            i, n_deferred = record, kept
            break
        rows += 1
    done[0], done[1] = rows, n_deferred
    return i
