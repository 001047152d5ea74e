"""Tables of n-grams for the kernels: counting the texts that contain each, and finding known ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ...array_types import Array, BoolArray, IntArray
from ...kernels.text.grams import SPACE
from ...kernels.text.hashing import hash_grams
from ...kernels.text.vocabulary import FoundGrams, GramTable, count_rows, enter_all, look_up, rows_of_found
from ..text_kinds import TextKind
from .blocks import Block, Buffers, GramCutter, join_ascii, join_pieces, split_blocks

# The initial size of a table that counts grams.
FIRST_ENTRIES, FIRST_BYTES = 1 << 12, 1 << 15
MAX_ENTRIES = (1 << 31) - 2
MAX_NOTED = 1 << 25  # grams of all texts that are kept, in a quarter of a gigabyte


def make_table(grams: Iterable[str]) -> GramTable:
    """A table whose entry k is the k-th of these grams."""
    tokens = list(grams)
    n = len(tokens)
    block = join_ascii(tokens) or join_pieces([gram.encode("utf-8", "surrogatepass") for gram in tokens])
    hashes = np.empty(n, np.uint32)
    hash_grams(block.text, block.bounds[:-1], block.bounds[1:], np.uintp(n), hashes)
    none = np.zeros(0, np.uint32)
    table = GramTable(_free_slots(n), hashes, block.bounds, block.text.copy(), none, none, none)
    enter_all(table, np.uintp(n))
    return table


def _free_slots(entries: int) -> IntArray:
    return np.zeros(1 << max(3, (2 * entries - 1).bit_length()), np.uint32)


def _empty_table(entries: int, size: int) -> GramTable:
    hashes, rows, last, spot = (np.empty(entries, np.uint32) for _ in range(4))
    stops, text = np.zeros(entries + 1, np.uintp), np.empty(size, np.uint8)
    return GramTable(_free_slots(entries), hashes, stops, text, rows, last, spot)


def _enlarge_table(table: GramTable, count: int, entries: int, size: int) -> GramTable:
    """A copy of the table with space for this many entries and bytes, at least twice as many as before."""
    entries, size = max(entries, 2 * len(table.hashes)), max(size, 2 * len(table.text))
    larger, held = _empty_table(entries, size), int(table.stops[count])
    for name, kept in (("hashes", count), ("stops", count + 1), ("text", held), ("rows", count), ("last", count)):
        getattr(larger, name)[:kept] = getattr(table, name)[:kept]
    enter_all(larger, np.uintp(count))
    return larger


class GramCounter:
    """Counts the texts that contain each gram, block by block.

    The first `limit` distinct grams are counted, in the order of the texts and in each text by length.

    note : whether the grams of each text are kept, for `rows_of_texts`; given up where they are more than MAX_NOTED.
    """

    def __init__(self, cutter: GramCutter, limit: int = MAX_ENTRIES, note: bool = False) -> None:
        self._cutter, self._limit = cutter, np.uintp(limit)
        self._table, self._count, self._buffers = _empty_table(FIRST_ENTRIES, FIRST_BYTES), np.uintp(0), Buffers()
        self.texts = 0
        self.truncated = False  # whether grams beyond the limit were not counted
        self._noted: list[FoundGrams] | None = [] if note else None
        self._n_noted = 0

    def add(self, texts: list[str]) -> None:
        """Count a block of texts."""
        block = self._cutter.encode(texts)
        longest = int(block.lengths.max())
        rules, grams = self._cutter.rules(block), self._buffers.grams(self._cutter, longest)
        hashes, done = self._buffers.array("hashes", len(grams.froms), np.uint32), 0
        found = self._room(block)
        while True:
            done, self._count, entries, size, left_out = count_rows(
                rules, block.text, block.bounds, np.uintp(done), np.uintp(self.texts), grams, hashes, self._table,
                np.uintp(self._count), self._limit, found,
            )  # fmt: skip
            self.truncated |= bool(left_out)
            if done == len(texts):
                break
            self._table = _enlarge_table(self._table, int(self._count), int(entries), int(size))
        self.texts += len(texts)
        if self._noted is not None:
            self._note(found)

    def _room(self, block: Block) -> FoundGrams:
        """Room for the grams of a block, or none if they are not noted."""
        size = 0 if self._noted is None else int(self._cutter.max_grams(block.lengths).sum())
        ends = self._buffers.array("ends", len(block.lengths) + 1, np.uintp)[: len(block.lengths) + 1]
        ends[0] = 0
        entries = self._buffers.array("entries", size, np.int32) if size else np.empty(0, np.int32)
        return FoundGrams(entries, self._buffers.array("times", size, np.int32), ends)

    def _note(self, found: FoundGrams) -> None:
        size = int(found.ends[-1])
        self._n_noted += size
        if self._noted is None or self._n_noted > MAX_NOTED:
            self._noted = None
        else:
            self._noted.append(FoundGrams(found.entries[:size].copy(), found.times[:size].copy(), found.ends.copy()))

    def rows_of_texts(self, kept: IntArray) -> tuple[IntArray, IntArray, IntArray] | None:
        """Places, counts and row pointers of all texts, as `find_known` has them; None if they were not noted.

        kept : the grams of `rows` that have a place, in the order of their places.
        """
        if self._noted is None:
            return None
        parts, self._noted = self._noted, None
        shifts = np.cumsum([0, *(part.ends[-1] for part in parts)]).astype(np.uintp)
        ends = np.concatenate([shifts[:1], *(part.ends[1:] + shift for part, shift in zip(parts, shifts, strict=False))])
        found = FoundGrams(
            np.concatenate([part.entries for part in parts]), np.concatenate([part.times for part in parts]), ends
        )
        rows, places = self.rows[kept], np.full(int(self._count), -1, np.int32)
        places[kept] = np.arange(len(kept), dtype=np.int32)
        starts, size = (np.cumsum(rows) - rows).astype(np.uintp), int(rows.sum())
        spare = FoundGrams(np.empty(size, np.int32), np.empty(size, np.int32), np.empty_like(ends))
        indices, counts = np.empty(size, np.int32), np.empty(size, np.int32)
        rows_of_found(found, places, starts, spare, indices, counts)
        return indices, counts, spare.ends

    @property
    def rows(self) -> IntArray:
        """The number of texts that contain each gram, in the order in which they were found."""
        return self._table.rows[: int(self._count)].astype(np.int64)

    @property
    def are_words(self) -> BoolArray:
        """Whether each gram is a single word, without a blank; grams of words have no others."""
        n = int(self._count)
        stops = self._table.stops[: n + 1]
        blanks = np.flatnonzero(self._table.text[: int(stops[n])] == SPACE)
        words: BoolArray = np.searchsorted(blanks, stops[:-1]) == np.searchsorted(blanks, stops[1:])
        return words

    def grams(self, places: IntArray) -> list[str]:
        """The grams at these places of `rows`."""
        stops = self._table.stops[: int(self._count) + 1]
        raw = self._table.text[: int(stops[-1])].tobytes()
        bounds = zip(stops[places].tolist(), stops[places + 1].tolist(), strict=True)
        if raw.isascii():  # cut as text, which is twice as fast
            text = raw.decode("ascii")
            return [text[start:stop] for start, stop in bounds]
        return [raw[start:stop].decode("utf-8", "surrogatepass") for start, stop in bounds]


def count_words(blocks: Iterable[list[str]], cutter: GramCutter) -> tuple[list[str], IntArray]:
    """The distinct grams of blocks of texts, and the number of texts that contain each."""
    counter = GramCounter(cutter)
    for texts in blocks:
        counter.add(texts)
    rows = counter.rows
    return counter.grams(np.arange(len(rows))), rows


def find_known(
    blocks: Iterable[list[str]], cutter: GramCutter, table: GramTable, size: int
) -> Iterator[tuple[Array, Array, Array]]:
    """Entries, counts and row pointers of each block of texts; `size` is the number of entries of the table.

    The arrays are views of buffers that the next block changes.
    """
    buffers, bits = Buffers(), np.uint32((size - 1).bit_length())
    for texts in blocks:
        block = cutter.encode(texts)
        longest = int(block.lengths.max())
        grams = buffers.grams(cutter, longest)
        rows = buffers.rows(len(texts), int(cutter.max_grams(block.lengths).sum()), len(grams.froms))
        hashes = buffers.array("hashes", len(grams.froms), np.uint32)
        look_up(cutter.rules(block), block.text, block.bounds, grams, hashes, table, bits, rows)
        found = int(rows.indptr[-1])
        yield rows.indices[:found], rows.counts[:found], rows.indptr


# --- Cells of a column of text


@dataclass(frozen=True)
class CellCutter(GramCutter):
    """Splits cells, of which some may have characters that no file can hold: these are replaced by question marks."""

    @classmethod
    def of(cls, kind: TextKind) -> CellCutter:
        return cls("word" if kind.unit == "words" else "char_wb", kind.low, kind.high, True, _reject)

    def encode(self, texts: list[str]) -> Block:
        try:
            return super().encode(texts)
        except _SurrogateError:
            return super().encode([text.encode("utf-8", "replace").decode() for text in texts])


class _SurrogateError(Exception):
    pass


def _reject(text: str) -> None:
    raise _SurrogateError


def split_cells(texts: list[str]) -> Iterator[list[str]]:
    """The texts of cells in blocks."""
    return split_blocks(texts, lambda text: text)
