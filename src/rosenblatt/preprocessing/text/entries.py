"""Tables of words as kernels keep them: made, enlarged, and filled from a list."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from ...kernels.text.hashing import hash_grams
from ...kernels.text.vocabulary import Table, count_rows, enter_all
from .blocks import Cutter, Room, joined

FIRST_ENTRIES, FIRST_BYTES = 1 << 12, 1 << 15


def table_of(words: list[str]) -> Table:
    """A table whose entry k is words[k]."""
    block = joined([word.encode("utf-8", "surrogatepass") for word in words])
    hashes = np.empty(len(words), np.uint32)
    hash_grams(block.text, block.bounds[:-1], block.bounds[1:], np.uintp(len(words)), hashes)
    none = np.zeros(0, np.uint32)
    table = Table(_free(len(words)), hashes, block.bounds, block.text.copy(), none, none)
    enter_all(table, np.uintp(len(words)))
    return table


def _free(entries: int) -> Any:
    return np.zeros(1 << max(3, (2 * entries - 1).bit_length()), np.uint32)


def _empty(entries: int, size: int) -> Table:
    hashes, rows, last = (np.empty(entries, np.uint32) for _ in range(3))
    return Table(_free(entries), hashes, np.zeros(entries + 1, np.uintp), np.empty(size, np.uint8), rows, last)


def _enlarged(table: Table, count: int, entries: int, size: int) -> Table:
    """The same entries with room for more: twice as much at least."""
    entries, size = max(entries, 2 * len(table.hashes)), max(size, 2 * len(table.text))
    larger, held = _empty(entries, size), int(table.stops[count])
    for name, kept in (("hashes", count), ("stops", count + 1), ("text", held), ("rows", count), ("last", count)):
        getattr(larger, name)[:kept] = getattr(table, name)[:kept]
    enter_all(larger, np.uintp(count))
    return larger


def words_and_rows(blocks: Iterable[list[str]], cutter: Cutter) -> tuple[list[str], Any]:
    """Every gram of blocks of texts once, and how many texts have it."""
    table, count, before, room = _empty(FIRST_ENTRIES, FIRST_BYTES), np.uintp(0), 0, Room()
    for some in blocks:
        block = cutter.encode(some)
        longest = int(block.lengths.max())
        cut, scratch = cutter.cut(block), room.scratch(cutter, longest)
        hashes, done = room.array("hashes", len(scratch.froms), np.uint32), 0
        while True:
            done, count, entries, size = count_rows(
                cut, block.text, block.bounds, np.uintp(done), np.uintp(before), scratch, hashes, table, np.uintp(count)
            )
            if done == len(some):
                break
            table = _enlarged(table, int(count), int(entries), int(size))
        before += len(some)
    stops = table.stops[: int(count) + 1].tolist()
    raw = table.text[: stops[-1]].tobytes()
    words = [raw[start:stop].decode("utf-8", "surrogatepass") for start, stop in pairwise(stops)]
    return words, table.rows[: len(words)].astype(np.int64)
