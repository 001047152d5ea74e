"""An exact hash table of grams: open addressing by MurmurHash3, with comparison of the bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...array_types import IntArray
from ..compile import inlined, kernel
from .grams import ONE, GramBuffers, GramRules, find_grams, split_units
from .hashing import RowBuffers, count_columns, hash_grams, sort_keys

U1 = np.uint32(1)


class GramTable(NamedTuple):
    """Entry e is text[stops[e]:stops[e + 1]]; a slot holds e + 1, or 0 if free. The number of slots is a power of two."""

    slots: IntArray
    hashes: IntArray
    stops: IntArray
    text: IntArray
    rows: IntArray  # the number of texts that contain it
    last: IntArray  # the last text that contained it, from 1
    spot: IntArray  # where this text is noted in `FoundGrams`


class FoundGrams(NamedTuple):
    """The distinct grams of texts, those of text t at ends[t]:ends[t + 1]; there is room for all, or for none (not noted)."""

    entries: IntArray  # int32: entries of a table, in the order in which the text has them first
    times: IntArray  # int32: how often the text has each
    ends: IntArray  # uintp


@inlined
def _same(table: GramTable, entry: Any, h: Any, clean: IntArray, start: Any, stop: Any) -> Any:
    if table.hashes[entry] != h:
        return False
    first = table.stops[entry]
    if table.stops[entry + ONE] - first != stop - start:
        return False
    k, length = np.uintp(0), stop - start
    while k < length and table.text[first + k] == clean[start + k]:
        k += ONE
    return k == length


@inlined
def _slot(table: GramTable, h: Any, clean: IntArray, start: Any, stop: Any) -> Any:
    """The slot of a gram, or the free slot for it."""
    mask = np.uintp(table.slots.shape[0] - 1)
    slot = np.uintp(h) & mask
    while table.slots[slot] != np.uint32(0):
        if _same(table, np.uintp(table.slots[slot] - U1), h, clean, start, stop):
            break
        slot = (slot + ONE) & mask
    return slot


@kernel
def enter_all(table: GramTable, count: Any) -> None:
    """Enter the first `count` entries, which are distinct, into free slots."""
    mask = np.uintp(table.slots.shape[0] - 1)
    for entry in range(count):
        slot = np.uintp(table.hashes[entry]) & mask
        while table.slots[slot] != np.uint32(0):
            slot = (slot + ONE) & mask
        table.slots[slot] = np.uint32(entry + 1)


@kernel
def count_rows(
    rules: GramRules,
    text: IntArray,
    bounds: IntArray,
    first: Any,
    before: Any,
    buffers: GramBuffers,
    hashes: IntArray,
    table: GramTable,
    count: Any,
    limit: Any,
    found: FoundGrams,
) -> Any:
    """Count the texts that contain each gram, from text `first` on; `before` is the number of texts in earlier blocks.

    Grams that are new when there are `limit` entries are left out. Returns the text for which the table was too small (or the
    number of texts), the number of entries, the entries and bytes that this text may need, and whether a gram was left out.
    """
    clean, froms, tos, left_out, noting = buffers.clean, buffers.froms, buffers.tos, False, found.entries.shape[0] > 0
    noted = found.ends[first]
    for t in range(first, bounds.shape[0] - 1):
        units = split_units(rules, text, bounds[t], bounds[t + 1], clean, buffers.starts)
        m = find_grams(rules, clean, buffers.starts, units, froms, tos)
        size = np.uintp(0)
        for g in range(m):
            size += tos[g] - froms[g]
        at = table.stops[count]
        if count < limit and (count + m > np.uintp(table.hashes.shape[0]) or at + size > np.uintp(table.text.shape[0])):
            return np.uintp(t), count, count + m, at + size, left_out
        hash_grams(clean, froms, tos, m, hashes)
        row = np.uint32(before + np.uintp(t) + ONE)
        for g in range(m):
            slot = _slot(table, hashes[g], clean, froms[g], tos[g])
            if table.slots[slot] == np.uint32(0):
                if count >= limit:
                    left_out = True
                    continue
                for i in range(froms[g], tos[g]):
                    table.text[at] = clean[i]
                    at += ONE
                table.hashes[count], table.rows[count], table.last[count] = hashes[g], np.uint32(0), np.uint32(0)
                count += ONE
                table.stops[count] = at
                table.slots[slot] = np.uint32(count)
            entry = np.uintp(table.slots[slot] - U1)
            if table.last[entry] != row:
                table.last[entry] = row
                table.rows[entry] += U1
                if noting:
                    table.spot[entry] = np.uint32(noted)
                    found.entries[noted], found.times[noted] = np.int32(entry), np.int32(1)
                    noted += ONE
            elif noting:
                found.times[np.uintp(table.spot[entry])] += np.int32(1)
        found.ends[np.uintp(t) + ONE] = noted
    return np.uintp(bounds.shape[0] - 1), count, np.uintp(0), np.uintp(0), left_out


@kernel
def look_up(
    rules: GramRules,
    text: IntArray,
    bounds: IntArray,
    buffers: GramBuffers,
    hashes: IntArray,
    table: GramTable,
    bits: Any,
    rows: RowBuffers,
) -> None:
    """Compute the rows of texts: how many times each entry occurs."""
    clean, froms, tos, at = buffers.clean, buffers.froms, buffers.tos, np.uintp(0)
    for t in range(bounds.shape[0] - 1):
        units = split_units(rules, text, bounds[t], bounds[t + 1], clean, buffers.starts)
        m = find_grams(rules, clean, buffers.starts, units, froms, tos)
        hash_grams(clean, froms, tos, m, hashes)
        found = np.uintp(0)
        for g in range(m):
            entry = table.slots[_slot(table, hashes[g], clean, froms[g], tos[g])]
            if entry != np.uint32(0):
                rows.keys[found] = np.uint32(np.uint32(entry - U1) << U1)
                found += ONE
        sort_keys(rows.keys, rows.spare, found, bits, rows.bins)
        at = count_columns(rows.keys, found, at, rows.indices, rows.counts)
        rows.indptr[t + 1] = at


@kernel
def rows_of_found(
    found: FoundGrams, places: IntArray, starts: IntArray, spare: FoundGrams, indices: IntArray, counts: IntArray
) -> None:
    """Rows of the grams that have a place, in the order of places, from grams in any order: sorted by place, then by text.

    places : for each entry its place, or -1.
    starts : the sum of the texts that contain the grams of earlier places; changed.
    spare : room for `found`; its `ends` become the row pointers.
    """
    texts = found.ends.shape[0] - 1
    spare.ends[0] = np.uintp(0)
    for t in range(texts):
        kept = np.uintp(0)
        for k in range(found.ends[t], found.ends[t + 1]):
            place = places[found.entries[k]]
            if place >= 0:
                at = starts[place]
                spare.entries[at], spare.times[at] = np.int32(t), found.times[k]
                starts[place] = at + ONE
                kept += ONE
        spare.ends[t + 1] = spare.ends[t] + kept
    # Each start is now the end of its place, and each end of a row is moved through the row and back.
    at = np.uintp(0)
    for place in range(starts.shape[0]):
        while at < starts[place]:
            t = spare.entries[at]
            to = spare.ends[t]
            indices[to], counts[to] = np.int32(place), spare.times[at]
            spare.ends[t] = to + ONE
            at += ONE
    for t in range(texts, 0, -1):
        spare.ends[t] = spare.ends[t - 1]
    spare.ends[0] = np.uintp(0)
