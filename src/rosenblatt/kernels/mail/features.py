"""The columns of messages; `mail/features.py` defines them in plain NumPy, and the kernel gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array_types import IntArray
from ..compile import inlined, kernel
from ..text.hashing import murmur3

# The constants of `mail/features.py` in the types of the kernel, which may not import it; a test compares the columns.
N_FIELDS, HEADERS_FIELD, BODY_FIELD, GRAM_BYTES = np.uintp(9), np.uintp(5), np.uintp(6), np.uintp(5)
WORD_SEED, LINE_SEED, NAME_SEED, PAIR_MULTIPLIER = np.uint32(16), np.uint32(32), np.uint32(33), np.uint32(0x9E3779B1)
BODY_GRAM_HASHES = np.uint32(1 << 31)
ZERO, ONE, TWO = np.uintp(0), np.uintp(1), np.uintp(2)
SPACE, NEWLINE, COLON = np.uint8(32), np.uint8(10), np.uint8(58)
DIGIT_BITS = 11  # of one pass of the radix sort

# 0: not in words; 1: inside a word, not at its ends; 2: anywhere in a word.
KINDS = np.zeros(256, np.uint8)
KINDS[list(b".@_'-")] = 1
KINDS[list(b"abcdefghijklmnopqrstuvwxyz0123456789$")] = 2
KINDS[128:] = 2


@inlined
def _is_space(c: Any) -> Any:
    return c == SPACE or np.uint8(9) <= c <= np.uint8(13)


@inlined
def _collapse_spaces(text: IntArray, start: Any, stop: Any, max_bytes: Any, plain: IntArray) -> Any:
    """Copy text[start:stop] to plain[1:] with single spaces, up to `max_bytes`, between two spaces; return its end."""
    plain[ZERO] = SPACE
    n, i, last = ONE, start, max_bytes + ONE
    space = False  # whether a space comes before the next word
    while i < stop and n < last:
        c = text[i]
        if _is_space(c):
            space = bool(n > ONE)
        else:
            if space:
                plain[n] = SPACE
                n += ONE
                space = False
            if n < last:
                plain[n] = c
                n += ONE
        i += ONE
    plain[n] = SPACE
    return n + ONE


@kernel
def _find_word(text: IntArray, i: Any, stop: Any) -> Any:
    """Start and end of the first word from i on; both are `stop` if there is none."""
    while i < stop and KINDS[text[i]] != np.uint8(2):
        i += ONE
    start, end = i, i
    while i < stop and KINDS[text[i]] != np.uint8(0):
        i += ONE
        if KINDS[text[i - ONE]] == np.uint8(2):
            end = i
    return start, end


@kernel
def _hash_field(text: IntArray, size: Any, f: Any, found: IntArray, n: Any) -> Any:
    """Write the hashes of words, pairs and grams of a text with single spaces to found[n:]; returns the next n."""
    seed, before, first = np.uint32(np.uint32(f) + WORD_SEED), np.uint32(0), True
    start, end = _find_word(text, ZERO, size)
    while start < end:
        h = murmur3(text, start, end, seed)
        found[n] = h
        n += ONE
        if not first and f != BODY_FIELD:
            found[n] = np.uint32(np.uint32(before * PAIR_MULTIPLIER) + h)
            n += ONE
        before, first = h, False
        start, end = _find_word(text, end, size)
    i = ZERO
    while i + GRAM_BYTES <= size:
        h = murmur3(text, i, i + GRAM_BYTES, np.uint32(f))
        if f != BODY_FIELD or h < BODY_GRAM_HASHES:
            found[n] = h
            n += ONE
        i += ONE
    return n


@kernel
def _hash_headers(text: IntArray, start: Any, stop: Any, found: IntArray, n: Any) -> Any:
    """Write the hashes of header lines, and of their words with the header names, to found[n:]; returns the next n."""
    line = start
    while line < stop:
        end = line
        colon = stop  # where ": " begins
        while end < stop and text[end] != NEWLINE:
            if colon == stop and text[end] == COLON and end + ONE < stop and text[end + ONE] == SPACE:
                colon = end
            end += ONE
        if end > line:
            found[n] = murmur3(text, line, end, LINE_SEED)
            n += ONE
        if colon < stop:
            name = murmur3(text, line, colon, NAME_SEED)
            word, after = _find_word(text, colon + TWO, end)
            while word < after:
                found[n] = np.uint32(
                    np.uint32(name * PAIR_MULTIPLIER)
                    + murmur3(text, word, after, np.uint32(WORD_SEED + np.uint32(HEADERS_FIELD)))
                )
                n += ONE
                word, after = _find_word(text, after, end)
        line = end + ONE
    return n


@kernel
def _sort_distinct(values: IntArray, spare: IntArray, n: Any, bits: int, counts: IntArray, out: IntArray, at: Any) -> Any:
    """Write the distinct values[:n] to out[at:] in ascending order, by radix sort; returns their end."""
    shift = 0
    while shift < bits:
        digits = np.uint32((1 << min(DIGIT_BITS, bits - shift)) - 1)
        for d in range(np.int64(digits) + 1):
            counts[d] = 0
        for i in range(n):
            counts[(values[i] >> np.uint32(shift)) & digits] += 1
        total = 0
        for d in range(np.int64(digits) + 1):
            here = counts[d]
            counts[d] = total
            total += here
        for i in range(n):
            digit = (values[i] >> np.uint32(shift)) & digits
            spare[np.uintp(counts[digit])] = values[i]
            counts[digit] += 1
        values, spare = spare, values
        shift += DIGIT_BITS
    for i in range(n):
        if i == 0 or values[i] != values[i - 1]:
            out[at] = values[i]
            at += ONE
    return at


@kernel
def message_columns(
    text: IntArray,
    ends: IntArray,
    field_bytes: IntArray,
    bits: int,
    plain: IntArray,
    scratch: IntArray,
    counts: IntArray,
    out: IntArray,
    n_columns: IntArray,
) -> Any:
    """Write the columns of all messages to `out`, and how many each message has to `n_columns`; return the total.

    Field f of message m is text[ends[9 m + f]:ends[9 m + f + 1]], folded; up to field_bytes[f] bytes of it are read.
    """
    at, mask = ZERO, np.uint32((1 << bits) - 1)
    values, spare = scratch[0], scratch[1]
    for m in range(n_columns.shape[0]):
        n, f = ZERO, ZERO
        while f < N_FIELDS:
            start, stop = np.uintp(ends[np.uintp(m) * N_FIELDS + f]), np.uintp(ends[np.uintp(m) * N_FIELDS + f + ONE])
            if start < stop:
                if f == HEADERS_FIELD:
                    n = _hash_headers(text, start, stop, values, n)
                else:
                    n = _hash_field(plain, _collapse_spaces(text, start, stop, np.uintp(field_bytes[f]), plain), f, values, n)
            f += ONE
        for i in range(n):
            values[i] &= mask
        before = at
        at = _sort_distinct(values, spare, np.int64(n), bits, counts, out, at)
        n_columns[m] = np.int64(at - before)
    return at
