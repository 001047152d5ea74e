"""Texts to sparse rows: the hash of each gram gives its column and sign; the columns of a row are sorted and counted.

The keys of a row, column << 1 | sign, are sorted by column with a radix sort. Its time does not depend on the words, so no
choice of words can make it slow. The hash is MurmurHash3 with 32 bits, as in scikit-learn and Vowpal Wabbit.

Reference  A. Appleby, MurmurHash3_x86_32 (public domain).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ..compile import inlined, kernel
from .grams import CHARS, ONE, GramBuffers, GramRules, find_grams, split_units

MAX_INSERTION_SORT = np.uintp(24)  # keys of a row that are sorted by insertion
MAX_SHORT_DIGITS = np.uintp(512)  # keys of a row that are sorted by digits of at most 7 bits; longer rows, of at most 11
BINS = 2048  # of the radix sort
# The constants of the hash.
C1, C2, C3, M1, M2 = (np.uint32(c) for c in (0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35))
FIVE = np.uint32(5)
U1, U13, U15, U16 = (np.uint32(bits) for bits in (1, 13, 15, 16))
U17, U19, U31 = (np.uint32(bits) for bits in (17, 19, 31))


class HashRules(NamedTuple):
    """How a hash becomes one of `columns`, numbers of `bits` bits, with a sign if `signed` is 1."""

    columns: np.uint32
    bits: np.uint32
    signed: np.uint32


class RowBuffers(NamedTuple):
    """The output CSR rows, and buffers to sort them."""

    indices: IntArray
    counts: IntArray
    indptr: IntArray
    keys: IntArray
    spare: IntArray
    bins: IntArray


class NameBuffers(NamedTuple):
    """The first gram of each column not yet `seen`: its column, and its end in `text`. No names if `seen` is empty."""

    seen: IntArray
    columns: IntArray
    stops: IntArray
    text: IntArray


@inlined
def _four_bytes(text: IntArray, i: Any) -> Any:
    """Four bytes as a number; compiled to one load."""
    low = np.uint32(np.uint32(text[i]) | np.uint32(np.uint32(text[i + ONE]) << np.uint32(8)))
    high = np.uint32(np.uint32(text[i + np.uintp(2)]) | np.uint32(np.uint32(text[i + np.uintp(3)]) << np.uint32(8)))
    return np.uint32(low | np.uint32(high << U16))


@inlined
def _mixed(k: Any) -> Any:
    k = np.uint32(k * C1)
    return np.uint32(np.uint32(np.uint32(k << U15) | np.uint32(k >> U17)) * C2)


@inlined
def _with_block(h: Any, k: Any) -> Any:
    h = np.uint32(h ^ _mixed(k))
    return np.uint32(np.uint32(np.uint32(np.uint32(h << U13) | np.uint32(h >> U19)) * FIVE) + C3)


@inlined
def _finished(h: Any, length: Any) -> Any:
    h = np.uint32(h ^ length)
    h = np.uint32(np.uint32(h ^ np.uint32(h >> U16)) * M1)
    h = np.uint32(np.uint32(h ^ np.uint32(h >> U13)) * M2)
    return np.uint32(h ^ np.uint32(h >> U16))


@inlined
def murmur3(text: IntArray, start: Any, stop: Any, seed: Any) -> Any:
    """The hash of text[start:stop] as uint32; start, stop: np.uintp, seed: np.uint32. No byte after `stop` is read."""
    h, i, length = np.uint32(seed), np.uintp(start), np.uintp(stop - start)
    whole = np.uintp(start + (length & ~np.uintp(3)))
    while i < whole:
        h = _with_block(h, _four_bytes(text, i))
        i += np.uintp(4)
    k, left = np.uint32(0), np.uintp(length & np.uintp(3))
    if left == np.uintp(3):
        k = np.uint32(np.uint32(text[i + np.uintp(2)]) << U16)
    if left >= np.uintp(2):
        k = np.uint32(k | np.uint32(np.uint32(text[i + ONE]) << np.uint32(8)))
    if left >= ONE:
        h = np.uint32(h ^ _mixed(np.uint32(k | np.uint32(text[i]))))
    return _finished(h, np.uint32(length))


@inlined
def _mask(rest: Any) -> Any:
    """The lowest `rest` bytes of four."""
    return np.uint32(np.uint32(U1 << np.uint32(np.uint32(8) * np.uint32(rest))) - U1)


@kernel
def hash_grams(clean: IntArray, froms: IntArray, tos: IntArray, count: Any, hashes: IntArray) -> None:
    """MurmurHash3 of clean[froms[g]:tos[g]]; up to three bytes after a gram are read and masked."""
    for g in range(count):
        i, stop, h = froms[g], tos[g], np.uint32(0)
        length = np.uint32(stop - i)
        while i + np.uintp(4) <= stop:
            h = _with_block(h, _four_bytes(clean, i))
            i += np.uintp(4)
        h = np.uint32(h ^ _mixed(np.uint32(_four_bytes(clean, i) & _mask(stop - i))))
        hashes[g] = _finished(h, length)


@kernel
def hash_windows(clean: IntArray, size: Any, count: Any, hashes: IntArray) -> None:
    """MurmurHash3 of `count` overlapping windows of `size` bytes; every loop is vectorized."""
    for w in range(count):
        hashes[w] = np.uint32(0)
    start = np.uintp(0)
    while start + np.uintp(4) <= size:
        for w in range(count):
            hashes[w] = _with_block(hashes[w], _four_bytes(clean, start + np.uintp(w)))
        start += np.uintp(4)
    mask, length = _mask(size - start), np.uint32(size)
    for w in range(count):
        hashes[w] = _finished(np.uint32(hashes[w] ^ _mixed(np.uint32(_four_bytes(clean, start + np.uintp(w)) & mask))), length)


@inlined
def _key(h: Any, column: Any, signed: Any) -> Any:
    return np.uint32(np.uint32(column << U1) | np.uint32(np.uint32(h >> U31) & signed))


@inlined
def _size(h: Any) -> Any:
    """|h| of a hash as a signed number."""
    sign = np.uint32(h >> U31)
    return np.uint32(np.uint32(h ^ np.uint32(np.uint32(0) - sign)) + sign)


@kernel
def make_keys(hashes: IntArray, count: Any, columns: Any, signed: Any) -> None:
    """Replace hashes by keys: column |h| modulo `columns`, and sign bit 1 if h is negative and `signed` is 1."""
    mask = np.uint32(columns - U1)
    if np.uint32(columns & mask) == np.uint32(0):
        for g in range(count):
            hashes[g] = _key(hashes[g], np.uint32(_size(hashes[g]) & mask), signed)
    else:
        for g in range(count):
            hashes[g] = _key(hashes[g], np.uint32(_size(hashes[g]) % columns), signed)


@kernel
def _insertion(keys: IntArray, count: Any) -> None:
    for g in range(ONE, count):
        key, place = keys[g], np.uintp(g)
        while place > np.uintp(0) and keys[place - ONE] > key:
            keys[place] = keys[place - ONE]
            place -= ONE
        keys[place] = key


@kernel
def _pass(keys: IntArray, sorted_: IntArray, count: Any, shift: Any, digit: Any, bins: IntArray) -> None:
    """Stable sort by `digit` bits from `shift` on."""
    mask = np.uint32(np.uint32(U1 << digit) - U1)
    for b in range(np.uintp(mask) + ONE):
        bins[b] = np.uint32(0)
    for g in range(count):
        bins[np.uintp(np.uint32(keys[g] >> shift) & mask)] += U1
    total = np.uint32(0)
    for b in range(np.uintp(mask) + ONE):
        here = bins[b]
        bins[b] = total
        total = np.uint32(total + here)
    for g in range(count):
        bin_ = np.uintp(np.uint32(keys[g] >> shift) & mask)
        sorted_[np.uintp(bins[bin_])] = keys[g]
        bins[bin_] += U1


@kernel
def sort_keys(keys: IntArray, spare: IntArray, count: Any, bits: Any, bins: IntArray) -> None:
    """Sort keys by columns of `bits` bits."""
    if count <= MAX_INSERTION_SORT:
        _insertion(keys, count)
        return
    most = np.uint32(7) if count <= MAX_SHORT_DIGITS else np.uint32(11)
    passes = np.uint32((bits + most - U1) // most)
    passes += passes & U1  # an even number, so that the result is in `keys`
    digit = np.uint32((bits + passes - U1) // passes)
    for p in range(passes // np.uint32(2)):
        shift = np.uint32(U1 + np.uint32(2) * np.uint32(p) * digit)
        _pass(keys, spare, count, shift, digit, bins)
        _pass(spare, keys, count, np.uint32(shift + digit), digit, bins)


@kernel
def count_columns(keys: IntArray, count: Any, at: Any, indices: IntArray, counts: IntArray) -> Any:
    """Write each column of sorted keys once, with the sum of its signs; returns the start of the next row."""
    if count == np.uintp(0):
        return at
    column, total = np.uint32(keys[0] >> U1), np.int32(0)
    for g in range(count):
        here = np.uint32(keys[g] >> U1)
        new = here != column
        at += np.uintp(new)
        total = np.int32(np.int32(1) - np.int32(2) * np.int32(keys[g] & U1) + (np.int32(0) if new else total))
        column = here
        indices[at] = np.int32(column)
        counts[at] = total
    return at + ONE


@inlined
def _add_name(clean: IntArray, start: Any, stop: Any, key: Any, names: NameBuffers, noted: Any) -> Any:
    """Add clean[start:stop] as a name if it is the first gram of its column; returns the number of names."""
    column = np.uintp(key >> U1)
    if names.seen[column] != np.uint8(0):
        return noted
    names.seen[column] = np.uint8(1)
    at = names.stops[noted]
    for i in range(start, stop):
        names.text[at] = clean[i]
        at += ONE
    names.columns[noted] = column
    names.stops[noted + ONE] = at
    return noted + ONE


@kernel
def _add_names(
    clean: IntArray, froms: IntArray, tos: IntArray, keys: IntArray, count: Any, names: NameBuffers, noted: Any
) -> Any:
    for g in range(count):
        noted = _add_name(clean, froms[g], tos[g], keys[g], names, noted)
    return noted


@kernel
def _add_window_names(clean: IntArray, size: Any, keys: IntArray, count: Any, names: NameBuffers, noted: Any) -> Any:
    for w in range(count):
        noted = _add_name(clean, np.uintp(w), np.uintp(w) + size, keys[w], names, noted)
    return noted


@inlined
def _finish_row(rules: HashRules, rows: RowBuffers, m: Any, at: Any) -> Any:
    sort_keys(rows.keys, rows.spare, m, rules.bits, rows.bins)
    return count_columns(rows.keys, m, at, rows.indices, rows.counts)


@kernel
def hash_texts(
    rules: GramRules,
    hashing: HashRules,
    text: IntArray,
    bounds: IntArray,
    buffers: GramBuffers,
    rows: RowBuffers,
    names: NameBuffers,
) -> Any:
    """Compute the rows of the texts text[bounds[t]:bounds[t + 1]]; returns the number of names added."""
    at, noted, naming = np.uintp(0), np.uintp(0), names.seen.shape[0] > 0
    clean, starts, froms, tos = buffers.clean, buffers.starts, buffers.froms, buffers.tos
    for t in range(bounds.shape[0] - 1):
        units = split_units(rules, text, bounds[t], bounds[t + 1], clean, starts)
        m = np.uintp(0)
        if rules.analyzer == CHARS and starts[units] == units:  # every character is one byte
            for size in range(rules.low, min(rules.high, units) + ONE):
                count, keys = units - np.uintp(size) + ONE, rows.keys[m:]
                hash_windows(clean, np.uintp(size), count, keys)
                make_keys(keys, count, hashing.columns, hashing.signed)
                if naming:
                    noted = _add_window_names(clean, np.uintp(size), keys, count, names, noted)
                m += count
        else:
            m = find_grams(rules, clean, starts, units, froms, tos)
            hash_grams(clean, froms, tos, m, rows.keys)
            make_keys(rows.keys, m, hashing.columns, hashing.signed)
            if naming:
                noted = _add_names(clean, froms, tos, rows.keys, m, names, noted)
        at = _finish_row(hashing, rows, m, at)
        rows.indptr[t + 1] = at
    return noted


@kernel
def hash_tokens(
    hashing: HashRules, text: IntArray, stops: IntArray, bounds: IntArray, rows: RowBuffers, names: NameBuffers
) -> Any:
    """Compute the rows of lists of tokens, text[stops[g]:stops[g + 1]] for g in bounds[t]..bounds[t + 1].

    Returns the number of names added.
    """
    at, noted = np.uintp(0), np.uintp(0)
    for t in range(bounds.shape[0] - 1):
        first, m = bounds[t], bounds[t + 1] - bounds[t]
        froms, tos = stops[first:], stops[first + ONE :]
        hash_grams(text, froms, tos, m, rows.keys)
        make_keys(rows.keys, m, hashing.columns, hashing.signed)
        if names.seen.shape[0] > 0:
            noted = _add_names(text, froms, tos, rows.keys, m, names, noted)
        at = _finish_row(hashing, rows, m, at)
        rows.indptr[t + 1] = at
    return noted


@kernel
def normalize_rows(values: FloatArray, indptr: IntArray, squares: bool) -> None:
    """Divide each row by its Euclidean length or, without `squares`, by the sum of its absolute values."""
    for t in range(indptr.shape[0] - 1):
        total = 0.0
        for k in range(indptr[t], indptr[t + 1]):
            total += np.float64(values[k] * values[k]) if squares else np.float64(abs(values[k]))
        if total == 0.0:
            continue
        if squares:
            total = np.sqrt(total)
        for k in range(indptr[t], indptr[t + 1]):
            values[k] /= total
