"""Columns of text as features: n-grams of words or characters, counted, weighted and brought to length 1.

Problem    A row of known grams for a text: `kind` says which runs of words or characters are grams, and how they are weighted.
Update     One pass counts the texts that contain each gram. Features are all words, and longer runs in at least two texts.
Guarantee  Grams and values are those of scikit-learn's TfidfVectorizer, with `min_df=2` for runs of characters, and for each
           weight: binary (binary=True, use_idf=False), counts (use_idf=False), tfidf, log-tfidf (sublinear_tf=True).

Words are runs of two or more letters, digits or underscores, in lower case. Characters are those within parts between blanks,
with a blank before and after each part (analyzer="char_wb"). A missing cell is a text without words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.csr import CSRMatrix, hstack, row_pointers
from .text.plain_grams import are_few, count_rows_of, find_places, normalize_rows
from .text_kinds import MIN_ROWS_OF_A_RUN, TextKind

if TYPE_CHECKING:
    from ..kernels.text.vocabulary import GramTable
    from .text.gram_tables import GramCounter

Found = tuple[IntArray, IntArray, IntArray]  # the places of the grams of texts, how often each occurs, and row pointers
MAX_GRAMS_COUNTED = 1 << 22  # distinct grams of a column
MAX_GRAMS = 1 << 20  # features of a kind of grams; the most frequent ones are kept

# --- Features


@dataclass(frozen=True, eq=False)
class Grams:
    """Features of a text: feature k is the weight of the k-th gram, and 0 if the text does not have it.

    The values of a text have length 1, unless all are 0.
    """

    kind: TextKind
    grams: tuple[str, ...]  # sorted
    idf: FloatArray | None = None  # a factor for each gram, if the kind has one

    @cached_property
    def _table(self) -> GramTable:
        from .text.gram_tables import make_table

        return make_table(self.grams)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {gram: place for place, gram in enumerate(self.grams)}

    def feature_name(self, column: str, feature: int) -> str:
        """The column and the gram; characters are quoted, because of their blanks."""
        gram = self.grams[feature]
        return f"{column}:{gram}" if self.kind.unit == "words" else f"{column}:'{gram}'"

    def sparse(self, texts: list[str]) -> CSRMatrix:
        """The values of texts."""
        if are_few(sum(map(len, texts))):
            places, times, indptr = find_places(texts, self.kind, self._places)
            values = self._weigh(places, times)
            normalize_rows(values, indptr)
            return CSRMatrix(values, places, indptr, len(self.grams))
        return self._sparse_of_many(texts)

    def _sparse_of_many(self, texts: list[str]) -> CSRMatrix:
        from ..kernels.text import hashing
        from .text.gram_tables import CellCutter, find_known, split_cells

        indices: list[IntArray] = [np.empty(0, np.int32)]
        values: list[FloatArray] = [np.empty(0)]
        counts: list[IntArray] = [np.empty(0, np.int64)]
        for places, times, indptr in find_known(split_cells(texts), CellCutter.of(self.kind), self._table, len(self.grams)):
            indices.append(places.copy())
            values.append(self._weigh(places, times))
            hashing.normalize_rows(values[-1], indptr, True)
            counts.append(np.diff(indptr).astype(np.int64))
        return CSRMatrix(np.concatenate(values), np.concatenate(indices), row_pointers(np.concatenate(counts)), len(self.grams))

    def sparse_of_found(self, found: Found) -> CSRMatrix:
        """The values of texts with these grams."""
        from ..kernels.text import hashing

        places, times, indptr = found
        values = self._weigh(places, times)
        hashing.normalize_rows(values, indptr, True)
        return CSRMatrix(values, places, indptr.astype(np.int64), len(self.grams))

    def _weigh(self, places: IntArray, counts: IntArray) -> FloatArray:
        """The values of grams with these counts, before rows are brought to length 1."""
        weight = self.kind.weight
        values = np.ones(len(places)) if weight == "binary" else counts.astype(np.float64)
        if weight == "log-tfidf":
            values = np.log(values) + 1.0
        if self.idf is not None:
            values *= self.idf[places]
        return values


class LearnedTexts:
    """The grams of the texts that features were learned from, for the first texts that are converted: mostly the same ones."""

    def __init__(self, texts: list[str] | None = None, found: Sequence[Found] = ()) -> None:
        self._held = None if texts is None else (texts, found)

    def take(self, texts: list[str]) -> Sequence[Found] | None:
        """The grams for each part, if these are the texts; they are then forgotten."""
        held, self._held = self._held, None
        return held[1] if held is not None and held[0] == texts else None

    def __reduce__(self) -> tuple[type[LearnedTexts], tuple[()]]:
        return LearnedTexts, ()  # copies and files have none


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """The features of a column of text: those of each of its parts, divided by the square root of the number of parts."""

    name: str
    parts: tuple[Grams, ...]
    learned: LearnedTexts = field(default_factory=LearnedTexts, repr=False)

    @property
    def width(self) -> int:
        return sum(len(part.grams) for part in self.parts)

    @property
    def kinds(self) -> tuple[TextKind, ...]:
        return tuple(part.kind for part in self.parts)

    def feature_name(self, feature: int) -> str:
        for part in self.parts:
            if feature < len(part.grams):
                return part.feature_name(self.name, feature)
            feature -= len(part.grams)
        raise AssertionError

    def sparse(self, cells: Array) -> CSRMatrix:
        texts = _texts(cells)
        learned = self.learned.take(texts)
        if learned is None:
            blocks = [part.sparse(texts) for part in self.parts]
        else:
            blocks = [part.sparse_of_found(found) for part, found in zip(self.parts, learned, strict=True)]
        if len(blocks) == 1:
            return blocks[0]
        rows = hstack(blocks, len(texts))
        rows.values[:] /= np.sqrt(len(blocks))
        return rows


# --- Learning


class TextStatistics:
    """Counts the grams of the cells of a column, in one pass; chunk boundaries do not change the result.

    in_memory : whether all cells fit into memory; their grams are then kept for the features of the same cells.
    """

    def __init__(self, kinds: tuple[TextKind, ...], in_memory: bool = False) -> None:
        self.kinds, self.rows = kinds, 0
        self._few: list[str] | None = []  # all texts so far; None once they are counted
        self._chars = 0
        self._counters: list[GramCounter] = []
        self._in_memory, self._all = in_memory, list[str]()

    @property
    def truncated(self) -> bool:
        """Whether grams beyond the limit were not counted."""
        return any(counter.truncated for counter in self._counters)

    def add(self, cells: Array | Iterable[str | None]) -> None:
        texts = _texts(cells)
        self.rows += len(texts)
        self._chars += sum(map(len, texts))
        if self._few is None:
            self._count(texts)
            return
        self._few.extend(texts)
        if not are_few(self._chars):
            texts, self._few = self._few, None
            self._count(texts)

    def _count(self, texts: list[str]) -> None:
        from .text.gram_tables import CellCutter, GramCounter, split_cells

        self._counters = self._counters or [
            GramCounter(CellCutter.of(kind), MAX_GRAMS_COUNTED, note=self._in_memory) for kind in self.kinds
        ]
        for block in split_cells(texts):
            for counter in self._counters:
                counter.add(block)
        if self._in_memory:
            self._all.extend(texts)

    def finish(self, name: str) -> TextFeatures:
        """The features; there are no parts without grams."""
        if self._few is not None:
            counts = [(kind, count_rows_of(self._few, kind)) for kind in self.kinds]
            few = [(kind, {gram: n for gram, n in rows.items() if kind.is_kept(gram, n)}) for kind, rows in counts]
            found = [(kind, sorted(rows), rows) for kind, rows in few if rows]
            return TextFeatures(
                name, tuple(self._grams(kind, grams, np.array([rows[g] for g in grams])) for kind, grams, rows in found)
            )
        parts, learned = [], []
        for kind, counter in zip(self.kinds, self._counters, strict=True):
            kept = _frequent(counter, kind)
            grams = counter.grams(kept)
            order = sorted(range(len(grams)), key=grams.__getitem__)
            if order:
                kept = kept[order]
                parts.append(self._grams(kind, [grams[k] for k in order], counter.rows[kept]))
                learned.append(counter.rows_of_texts(kept))
        noted = [found for found in learned if found is not None]
        return TextFeatures(name, tuple(parts), LearnedTexts(self._all, noted) if len(noted) == len(parts) else LearnedTexts())

    def _grams(self, kind: TextKind, grams: list[str], rows: IntArray) -> Grams:
        """Features of these grams, in order, with the number of texts that each is in."""
        idf = np.log((1.0 + self.rows) / (1.0 + rows)) + 1.0 if kind.uses_idf else None
        return Grams(kind, tuple(grams), idf)


def _frequent(counter: GramCounter, kind: TextKind) -> IntArray:
    """The places in `counter.rows` of the grams that are kept; of too many grams, those in the most texts."""
    rows = counter.rows
    enough = rows >= MIN_ROWS_OF_A_RUN
    kept: IntArray = np.flatnonzero(enough | counter.are_words if kind.unit == "words" else enough)
    if len(kept) > MAX_GRAMS:
        kept = np.sort(kept[np.argsort(-rows[kept], kind="stable")[:MAX_GRAMS]])
    return kept


def _texts(cells: Array | Iterable[str | None]) -> list[str]:
    found: list[str | None] = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
    return [cell or "" for cell in found] if None in found else cast("list[str]", found)
