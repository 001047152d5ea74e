"""Records of delimited text: numbers are read, text cells are found. What a record is, `readers/cells.py` defines.

Only what is plainly right is done here. At the first record that is not, the kernel stops, and the definition takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compile import inlined, kernel
from .numbers import EXACT, ONE, WRONG, decimal

NUMBER, TEXT, LEFT_OUT = 0, 1, 2
FNV_OFFSET, FNV_PRIME, FNV_FOLD = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3), np.uint64(32)
SPACE, TAB, NEWLINE, RETURN, QUOTE = (np.uint8(ord(c)) for c in ' \t\n\r"')


@inlined
def _skip(text: Any, i: Any, delimiter: Any) -> Any:
    """The next byte that is no blank."""
    while text[i] == SPACE or text[i] == RETURN or text[i] == TAB:
        if text[i] == delimiter and delimiter != SPACE:
            break
        i += ONE
    return i


@inlined
def _ends(c: Any, delimiter: Any) -> Any:
    """Whether a cell ends before such a byte."""
    if delimiter == SPACE:
        return c in (SPACE, NEWLINE, TAB, RETURN)
    return c in (delimiter, NEWLINE)


@kernel
def _cell(text: Any, i: Any, end: Any, delimiter: Any) -> Any:
    """Where the cell at text[i] starts and stops, where its delimiter is, and whether it is plain or has doubled quotes."""
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
def _same(text: Any, a: Any, b: Any, n: Any) -> Any:
    k = np.uintp(0)
    while k < n and text[a + k] == text[b + k]:
        k += ONE
    return k == n


@kernel
def _code(text: Any, first: Any, last: Any, slots: Any, firsts: Any, count: Any) -> Any:
    """Which of the `count` different cells so far this one is; `count` where it is new, `firsts.shape[0]` where none fits."""
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
    text: Any, start: int, stop: int, delimiter: Any, columns: Any, numbers: Any, odd: Any,
    spans: Any, codes: Any, slots: Any, firsts: Any, counts: Any, done: Any,
) -> Any:  # fmt: skip
    """Parse records from `start` until `stop`, until `numbers` or `odd` is full, or to one that is not plain; returns where.

    `columns[c]` is a kind, a place among the columns of that kind, and an option. Numbers: whether an empty cell is NaN; a row
    of `odd` is a cell that is no number, or a long one: column, row and the text's two ends. Text: the two ends in `spans`,
    the second negative where quotes are doubled; and with the option, which of the different cells in `firsts` it is, as
    long as those fit (`counts` says how many there are). `done` counts rows and rows of `odd`.
    """
    i, end, width = np.uintp(start), np.uintp(stop), columns.shape[0]
    rows, oddities, room, most = np.int64(0), np.int64(0), np.int64(numbers.shape[1]), np.int64(odd.shape[0])
    while i < end and rows < room:
        record, kept = i, oddities
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
                        if doubled:  # Python must make one quote of two: leave the whole column to it
                            counts[place] = firsts.shape[1] + 1
                elif kind == NUMBER:
                    if first == last and columns[c, 2] != 0:
                        numbers[place, rows] = np.nan
                    elif oddities < most:
                        odd[oddities, 0], odd[oddities, 1] = np.int64(c), rows
                        odd[oddities, 2], odd[oddities, 3] = np.int64(first), np.int64(last)
                        oddities += 1
                    else:
                        plain = False
                        break
            c += 1
            i += ONE
            if text[i - ONE] == NEWLINE:
                break
        if not plain or c != width:
            i, oddities = record, kept
            break
        rows += 1
    done[0], done[1] = rows, oddities
    return i
