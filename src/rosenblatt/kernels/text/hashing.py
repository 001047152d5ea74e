"""Texts to sparse rows: the hash of every gram is its column and sign; a row's columns are sorted and counted.

A row's keys, column << 1 | sign, are sorted by columns with a radix sort, which takes the same time whatever the texts are:
nobody can choose words that make it slow.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compile import inlined, kernel
from .grams import CHARS, ONE, Cut, Scratch, cleaned, grams
from .murmur import C1, C2, C3, FIVE, M1, M2

SHORT = np.uintp(24)  # rows up to here are sorted by insertion
MIDDLE = np.uintp(512)  # rows up to here by digits of at most 7 bits, longer ones of at most 11
BINS = 2048
U1, U13, U15, U16 = (np.uint32(bits) for bits in (1, 13, 15, 16))
U17, U19, U31 = (np.uint32(bits) for bits in (17, 19, 31))


class Hashed(NamedTuple):
    """What a hash becomes: one of `columns`, a number of `bits` bits, with a sign where `signed` is 1."""

    columns: Any
    bits: Any
    signed: Any


class Rows(NamedTuple):
    """CSR rows to be filled, and what sorting them needs."""

    indices: Any
    counts: Any
    indptr: Any
    keys: Any
    spare: Any
    bins: Any


class Names(NamedTuple):
    """The first gram of every column that is not `seen`: its column, and where it stops in `text`; an empty `seen`: none."""

    seen: Any
    columns: Any
    stops: Any
    text: Any


@inlined
def _four(text: Any, i: Any) -> Any:
    """Four bytes as a number; compiled, it is one load."""
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
def _mask(rest: Any) -> Any:
    """The lowest `rest` bytes of four."""
    return np.uint32(np.uint32(U1 << np.uint32(np.uint32(8) * np.uint32(rest))) - U1)


@kernel
def hash_grams(clean: Any, froms: Any, tos: Any, count: Any, hashes: Any) -> None:
    """MurmurHash3 of clean[froms[g]:tos[g]]; up to three bytes after a gram are looked at, and forgotten."""
    for g in range(count):
        i, stop, h = froms[g], tos[g], np.uint32(0)
        length = np.uint32(stop - i)
        while i + np.uintp(4) <= stop:
            h = _with_block(h, _four(clean, i))
            i += np.uintp(4)
        h = np.uint32(h ^ _mixed(np.uint32(_four(clean, i) & _mask(stop - i))))
        hashes[g] = _finished(h, length)


@kernel
def hash_windows(clean: Any, size: Any, count: Any, hashes: Any) -> None:
    """MurmurHash3 of `count` windows of `size` bytes, each a byte further: every loop runs in vector lanes."""
    for w in range(count):
        hashes[w] = np.uint32(0)
    start = np.uintp(0)
    while start + np.uintp(4) <= size:
        for w in range(count):
            hashes[w] = _with_block(hashes[w], _four(clean, start + np.uintp(w)))
        start += np.uintp(4)
    mask, length = _mask(size - start), np.uint32(size)
    for w in range(count):
        hashes[w] = _finished(np.uint32(hashes[w] ^ _mixed(np.uint32(_four(clean, start + np.uintp(w)) & mask))), length)


@inlined
def _key(h: Any, column: Any, signed: Any) -> Any:
    return np.uint32(np.uint32(column << U1) | np.uint32(np.uint32(h >> U31) & signed))


@inlined
def _size(h: Any) -> Any:
    """|h| of a hash seen as a signed number."""
    sign = np.uint32(h >> U31)
    return np.uint32(np.uint32(h ^ np.uint32(np.uint32(0) - sign)) + sign)


@kernel
def keys_of(hashes: Any, count: Any, columns: Any, signed: Any) -> None:
    """Hashes become keys in place: column |h| modulo `columns`, sign 1 where h is negative and signs are wanted."""
    mask = np.uint32(columns - U1)
    if np.uint32(columns & mask) == np.uint32(0):
        for g in range(count):
            hashes[g] = _key(hashes[g], np.uint32(_size(hashes[g]) & mask), signed)
    else:
        for g in range(count):
            hashes[g] = _key(hashes[g], np.uint32(_size(hashes[g]) % columns), signed)


@kernel
def _insertion(keys: Any, count: Any) -> None:
    for g in range(ONE, count):
        key, place = keys[g], np.uintp(g)
        while place > np.uintp(0) and keys[place - ONE] > key:
            keys[place] = keys[place - ONE]
            place -= ONE
        keys[place] = key


@kernel
def _pass(keys: Any, sorted_: Any, count: Any, shift: Any, digit: Any, bins: Any) -> None:
    """Sort by `digit` bits from `shift` on, keeping the order of equals."""
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
def sort_keys(keys: Any, spare: Any, count: Any, bits: Any, bins: Any) -> None:
    """Sort keys by columns of `bits` bits."""
    if count <= SHORT:
        _insertion(keys, count)
        return
    most = np.uint32(7) if count <= MIDDLE else np.uint32(11)
    passes = np.uint32((bits + most - U1) // most)
    passes += passes & U1  # an even number, so that the keys end where they were
    digit = np.uint32((bits + passes - U1) // passes)
    for p in range(passes // np.uint32(2)):
        shift = np.uint32(U1 + np.uint32(2) * np.uint32(p) * digit)
        _pass(keys, spare, count, shift, digit, bins)
        _pass(spare, keys, count, np.uint32(shift + digit), digit, bins)


@kernel
def tally(keys: Any, count: Any, at: Any, indices: Any, counts: Any) -> Any:
    """Each column of sorted keys once, with the sum of its signs; where the next row goes."""
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
def _noted(clean: Any, start: Any, stop: Any, key: Any, names: Any, noted: Any) -> Any:
    """How many names there are after clean[start:stop], which becomes one if it is the first of its column."""
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
def _note(clean: Any, froms: Any, tos: Any, keys: Any, count: Any, names: Any, noted: Any) -> Any:
    for g in range(count):
        noted = _noted(clean, froms[g], tos[g], keys[g], names, noted)
    return noted


@kernel
def _note_windows(clean: Any, size: Any, keys: Any, count: Any, names: Any, noted: Any) -> Any:
    for w in range(count):
        noted = _noted(clean, np.uintp(w), np.uintp(w) + size, keys[w], names, noted)
    return noted


@inlined
def _row(hashed: Any, rows: Any, m: Any, at: Any) -> Any:
    sort_keys(rows.keys, rows.spare, m, hashed.bits, rows.bins)
    return tally(rows.keys, m, at, rows.indices, rows.counts)


@kernel
def hash_texts(cut: Cut, hashed: Hashed, text: Any, bounds: Any, scratch: Scratch, rows: Rows, names: Names) -> Any:
    """The rows of the texts text[bounds[t]:bounds[t + 1]]; how many names were noted."""
    at, noted, naming = np.uintp(0), np.uintp(0), names.seen.shape[0] > 0
    clean, starts, froms, tos = scratch.clean, scratch.starts, scratch.froms, scratch.tos
    for t in range(bounds.shape[0] - 1):
        units = cleaned(cut, text, bounds[t], bounds[t + 1], clean, starts)
        m = np.uintp(0)
        if cut.how == CHARS and starts[units] == units:  # a byte each
            for size in range(cut.low, min(cut.high, units) + ONE):
                count, keys = units - np.uintp(size) + ONE, rows.keys[m:]
                hash_windows(clean, np.uintp(size), count, keys)
                keys_of(keys, count, hashed.columns, hashed.signed)
                if naming:
                    noted = _note_windows(clean, np.uintp(size), keys, count, names, noted)
                m += count
        else:
            m = grams(cut, clean, starts, units, froms, tos)
            hash_grams(clean, froms, tos, m, rows.keys)
            keys_of(rows.keys, m, hashed.columns, hashed.signed)
            if naming:
                noted = _note(clean, froms, tos, rows.keys, m, names, noted)
        at = _row(hashed, rows, m, at)
        rows.indptr[t + 1] = at
    return noted


@kernel
def hash_tokens(hashed: Hashed, text: Any, stops: Any, bounds: Any, rows: Rows, names: Names) -> Any:
    """The rows of lists of tokens, text[stops[g]:stops[g + 1]] for g in bounds[t]..bounds[t + 1]."""
    at, noted = np.uintp(0), np.uintp(0)
    for t in range(bounds.shape[0] - 1):
        first, m = bounds[t], bounds[t + 1] - bounds[t]
        froms, tos = stops[first:], stops[first + ONE :]
        hash_grams(text, froms, tos, m, rows.keys)
        keys_of(rows.keys, m, hashed.columns, hashed.signed)
        if names.seen.shape[0] > 0:
            noted = _note(text, froms, tos, rows.keys, m, names, noted)
        at = _row(hashed, rows, m, at)
        rows.indptr[t + 1] = at
    return noted


@kernel
def normalise(values: Any, indptr: Any, squares: Any) -> None:
    """Divide each row by its length, or the sum of its sizes; a row of zeros stays."""
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
