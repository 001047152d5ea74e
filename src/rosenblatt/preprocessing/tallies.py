"""What is counted while the training rows go by once: constant memory, and the same bits however the rows are cut into chunks.

Maxima and counts do not depend on the order. Means and deviations do in their last bits, so that rows are gathered into blocks
of a fixed number of rows first: a block's mean and sum of squares by NumPy, blocks joined in order by the update of Chan, Golub
and LeVeque, "Algorithms for computing the sample variance", 1983.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np

from ..data.table import DataError
from .categorical import Categories, Words, words_of
from .numeric import Polynomial
from .sparse import to_dense

BLOCK = 4096  # rows
CELLS = 1 << 18  # a block of wide rows has fewer, so that it stays in a cache
SAMPLE = 1_000  # rows that say what a column is like


class Moments:
    """Of each feature of dense rows: how many cells are there, their mean, largest absolute value and, if wanted, deviation."""

    def __init__(self, columns: int, degree: int, deviations: bool = False) -> None:
        self.polynomial, self._spread = Polynomial(columns, degree), deviations
        width = self.polynomial.width
        self._block = np.empty((max(1, min(BLOCK, CELLS // max(1, width))), columns))
        self._filled = 0
        self.rows = 0
        self.counts = np.zeros(width, np.int64)
        self._means, self._squares, self.largest = np.zeros(width), np.zeros(width), np.zeros(width)

    def add(self, X: Any) -> None:
        self.rows += len(X)
        at = 0
        while at < len(X):
            taken = min(len(X) - at, len(self._block) - self._filled)
            self._block[self._filled : self._filled + taken] = X[at : at + taken]
            at += taken
            self._filled += taken
            if self._filled == len(self._block):
                self._fold()

    def finish(self) -> None:
        self._fold()

    @property
    def means(self) -> Any:
        """Zero where there is none, or it passed the largest float."""
        return np.where(np.isfinite(self._means), self._means, 0.0)

    @property
    def deviations(self) -> Any:
        """Zero where a feature is constant; infinite where its squares passed the largest float."""
        with np.errstate(invalid="ignore"):
            found = np.sqrt(self._squares / np.maximum(self.counts, 1))
        found[~np.isfinite(found)] = np.inf
        # What rounding leaves of a constant is no deviation.
        return np.where(found <= 1e-12 * self.largest, 0.0, found)

    def _fold(self) -> None:
        if not self._filled:
            return
        X = self.polynomial.expand(self._block[: self._filled])
        self._filled = 0
        with np.errstate(all="ignore"):
            self.largest = np.fmax(self.largest, np.fmax(np.fmax.reduce(X, axis=0), -np.fmin.reduce(X, axis=0)))
            sums = X.sum(axis=0)
            whole = not np.isnan(sums).any()
            present: Any = True if whole else ~np.isnan(X)
            here = np.full(X.shape[1], len(X)) if whole else present.sum(axis=0)
            mean = (sums if whole else X.sum(axis=0, where=present)) / np.maximum(here, 1)
            total = self.counts + here
            gap = np.where(here > 0, mean - self._means, 0.0)
            share = here / np.maximum(total, 1)
            if self._spread:
                squares = np.square(X - mean).sum(axis=0, where=present)
                self._squares = self._squares + squares + gap * gap * (self.counts * share)
            self._means = self._means + gap * share
            self.counts = total


class Largest:
    """The largest absolute value of each feature of sparse rows, whose width may grow on the way."""

    def __init__(self, degree: int) -> None:
        self.degree, self.rows, self._stored = degree, 0, 0
        self.polynomial = Polynomial(0, 1)
        self.largest = np.zeros(0)

    def add(self, S: Any) -> None:
        self.rows += S.shape[0]
        self._stored += len(S.values)
        if S.width > self.polynomial.columns:
            self._widen(S.width)
        if self.degree == 1:
            np.maximum.at(self.largest, S.indices, abs(S.values))
            return
        step = max(1, CELLS // max(1, self.polynomial.width))
        for start in range(0, S.shape[0], step):
            part = to_dense(S, start, min(start + step, S.shape[0]), self.polynomial.columns)
            self.largest = np.fmax(self.largest, abs(self.polynomial.expand(part)).max(axis=0, initial=0))

    @property
    def density(self) -> float:
        """Of all cells, those that are stored."""
        return self._stored / max(1, self.rows * self.polynomial.columns)

    def _widen(self, columns: int) -> None:
        wider = Polynomial(columns, self.degree)
        largest = np.zeros(wider.width)
        if self.polynomial.columns:
            largest[self.polynomial.places_in(wider)] = self.largest
        self.polynomial, self.largest = wider, largest


class First:
    """The first cells of a column of numbers: do they look like somebody's numbering?"""

    def __init__(self) -> None:
        self._cells = np.zeros(0)

    def add(self, cells: Any) -> None:
        if len(self._cells) < SAMPLE:
            self._cells = np.concatenate([self._cells, cells[: SAMPLE - len(self._cells)]])

    @property
    def like_an_id(self) -> bool:
        cells = self._cells
        if len(cells) <= 100 or not np.isfinite(cells).all() or (cells != np.round(cells)).any():
            return False
        return len(np.unique(cells)) == len(cells)


# --- What is counted of a column of strings while the training rows go by once.
#
# A column is text where, in its first 1,000 rows, more than half of the cells differ and they have three words or more on
# average; it is names otherwise. Names are refused where they look like an id: over 10,000 different ones, or one for more than
# half of over a hundred rows.

MOST_NAMES = 10_000
LONGEST_NAME = 1_000  # characters
MOST_WORDS = 1 << 20  # different ones that are counted
ROWS_OF_A_WORD = 2  # a word in fewer rows is left out
WORDS_OF_TEXT = 3  # in a cell of text, on average


class Strings:
    """Names or text: told beforehand, or decided by the first rows."""

    def __init__(self, source: str, name: str, kind: str | None) -> None:
        self.source, self.name, self.kind = source, name, kind
        self.decided = kind is not None
        self.rows = 0
        self._first: list[str | None] = []
        self._names: set[str] = set()
        self._words: Counter[str] = Counter()
        self.full = False

    def add(self, cells: Any) -> None:
        at = 0
        if self.kind is None:
            at = min(len(cells), SAMPLE - len(self._first))
            self._first.extend(cells[:at])
            if len(self._first) == SAMPLE:
                self._decide()
        if self.kind is not None:
            self._count(cells[at:])

    def finish(self) -> Categories | Words:
        if self.kind is None:
            self._decide()
        if self.kind == "words":
            kept = tuple(sorted(word for word, rows in self._words.items() if rows >= ROWS_OF_A_WORD))
            if not kept:
                raise DataError(self.source, f"no word of the text is in {ROWS_OF_A_WORD} rows", column=self.name)
            return Words(self.name, kept)
        if not self.decided and self.rows > 100 and len(self._names) > self.rows / 2:
            found = f"{len(self._names):,} different names in {self.rows:,} rows"
            raise DataError(self.source, f"{found} look like an id: leave the column out with --ignore", column=self.name)
        return Categories(self.name, tuple(sorted(self._names)))

    def _decide(self) -> None:
        cells = [cell for cell in self._first if cell is not None]
        many_words = sum(len(cell.split()) for cell in cells) >= WORDS_OF_TEXT * max(1, len(cells))
        self.kind = "words" if many_words and 2 * len(set(cells)) > len(cells) else "names"
        first, self._first = self._first, []
        self._count(first)

    def _count(self, cells: Any) -> None:
        self.rows += len(cells)
        if self.kind == "names":
            self._names.update(cell for cell in cells if cell is not None)
            if len(self._names) > MOST_NAMES:
                sentence = f"over {MOST_NAMES:,} different names look like an id: leave the column out with --ignore"
                raise DataError(self.source, sentence, column=self.name)
            if max(map(len, self._names), default=0) > LONGEST_NAME:
                sentence = f"a name of over {LONGEST_NAME:,} characters looks like text: say --text, or --ignore"
                raise DataError(self.source, sentence, column=self.name)
            return
        for start in range(0, len(cells), SAMPLE):
            self._count_words([set(words_of(cell)) for cell in cells[start : start + SAMPLE] if cell])

    def _count_words(self, bags: list[set[str]]) -> None:
        counts = self._words
        here = Counter(chain.from_iterable(bags))
        if len(counts) + len(here) <= MOST_WORDS:
            counts.update(here)
            return
        # Some may be too many: which, must not depend on how the rows are cut.
        for word in chain.from_iterable(map(sorted, bags)):
            if word in counts or len(counts) < MOST_WORDS:
                counts[word] += 1
            else:
                self.full = True
