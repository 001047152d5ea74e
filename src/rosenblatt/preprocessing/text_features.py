"""Columns of text as features: n-grams of words or characters, counted, weighted and brought to length 1.

Problem    A row of known grams for a text: `kind` says which runs of words or characters are grams, and how they are weighted.
Update     One pass counts the texts that contain each gram; grams in at least two texts, in order, are the features.
Guarantee  Grams and values are those of scikit-learn's TfidfVectorizer with `min_df=2` and, for each weight: binary
           (binary=True, use_idf=False), counts (use_idf=False), tfidf, log-tfidf (sublinear_tf=True).

Words are runs of two or more letters, digits or underscores, in lower case. Characters are those within parts between blanks,
with a blank before and after each part (analyzer="char_wb"). A missing cell is a text without words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.csr import CSRMatrix, hstack, row_pointers
from ..kernels.text.hashing import normalize_rows
from ..kernels.text.vocabulary import GramTable
from .text.blocks import Block, GramCutter, split_blocks
from .text.gram_tables import GramCounter, find_known, make_table
from .text_kinds import TextKind

MIN_ROWS_OF_A_GRAM = 2  # rarer grams are left out
MAX_GRAMS_COUNTED = 1 << 22  # distinct grams of a column
MAX_GRAMS = 1 << 20  # features of a kind of grams; the most frequent ones are kept

# --- Words

_WORD = re.compile(r"\w\w+")


def words_of(text: str) -> list[str]:
    """The words of a text.

    >>> words_of("The cat, the CAT: a 2nd one!")
    ['the', 'cat', 'the', 'cat', '2nd', 'one']
    """
    return _WORD.findall(text.lower())


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
        return make_table(self.grams)

    def feature_name(self, column: str, feature: int) -> str:
        """The column and the gram; characters are quoted, because of their blanks."""
        gram = self.grams[feature]
        return f"{column}:{gram}" if self.kind.unit == "words" else f"{column}:'{gram}'"

    def sparse(self, texts: list[str]) -> CSRMatrix:
        """The values of texts."""
        indices: list[IntArray] = [np.empty(0, np.int32)]
        values: list[FloatArray] = [np.empty(0)]
        counts: list[IntArray] = [np.empty(0, np.int64)]
        for places, times, indptr in find_known(_blocks(texts), _Cutter.of(self.kind), self._table, len(self.grams)):
            indices.append(places.copy())
            values.append(self._values(places, times, indptr))
            counts.append(np.diff(indptr).astype(np.int64))
        return CSRMatrix(np.concatenate(values), np.concatenate(indices), row_pointers(np.concatenate(counts)), len(self.grams))

    def _values(self, places: IntArray, counts: IntArray, indptr: IntArray) -> FloatArray:
        weight = self.kind.weight
        values = np.ones(len(places)) if weight == "binary" else counts.astype(np.float64)
        if weight == "log-tfidf":
            values = np.log(values) + 1.0
        if self.idf is not None:
            values *= self.idf[places]
        normalize_rows(values, indptr, True)
        return values


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """The features of a column of text: those of each of its parts, divided by the square root of the number of parts."""

    name: str
    parts: tuple[Grams, ...]

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
        blocks = [part.sparse(texts) for part in self.parts]
        if len(blocks) == 1:
            return blocks[0]
        rows = hstack(blocks, len(texts))
        rows.values[:] /= np.sqrt(len(blocks))
        return rows


# --- Learning


class TextStatistics:
    """Counts the grams of the cells of a column, in one pass; chunk boundaries do not change the result."""

    def __init__(self, kinds: tuple[TextKind, ...]) -> None:
        self._counters = [(kind, GramCounter(_Cutter.of(kind), MAX_GRAMS_COUNTED)) for kind in kinds]
        self.kinds, self.rows = kinds, 0

    @property
    def truncated(self) -> bool:
        """Whether grams beyond the limit were not counted."""
        return any(counter.truncated for _, counter in self._counters)

    def add(self, cells: Iterable[str | None]) -> None:
        texts = _texts(cells)
        self.rows += len(texts)
        for block in _blocks(texts):
            for _, counter in self._counters:
                counter.add(block)

    def finish(self, name: str) -> TextFeatures:
        """The features; there are no parts if no gram is in two rows."""
        parts = (self._grams(kind, counter) for kind, counter in self._counters)
        return TextFeatures(name, tuple(part for part in parts if part.grams))

    def _grams(self, kind: TextKind, counter: GramCounter) -> Grams:
        rows = counter.rows
        kept = np.flatnonzero(rows >= MIN_ROWS_OF_A_GRAM)
        if len(kept) > MAX_GRAMS:
            kept = np.sort(kept[np.argsort(-rows[kept], kind="stable")[:MAX_GRAMS]])
        named = sorted(zip(counter.grams(kept), rows[kept].tolist(), strict=True))
        idf = None
        if kind.uses_idf:
            frequencies = np.array([1.0 + each for _, each in named])
            idf = np.log((1.0 + self.rows) / frequencies) + 1.0
        return Grams(kind, tuple(gram for gram, _ in named), idf)


# --- Texts for the kernels


@dataclass(frozen=True)
class _Cutter(GramCutter):
    """Splits cells, of which some may have characters that no file can hold: these are replaced by question marks."""

    @classmethod
    def of(cls, kind: TextKind) -> _Cutter:
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


def _texts(cells: Iterable[str | None]) -> list[str]:
    return [cell or "" for cell in cells]


def _blocks(texts: list[str]) -> Iterator[list[str]]:
    return split_blocks(texts, lambda text: text)
