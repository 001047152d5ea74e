"""What is counted of a column of strings while the training rows go by once.

A column is text where, in its first 1,000 rows, more than half of the cells differ and they have three words or more on
average; it is names otherwise. Names are refused where they look like an id: over 10,000 different ones, or one for more than
half of over a hundred rows.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

from ..data.table import DataError
from .categorical import Categories, Words
from .tallies import SAMPLE
from .words import words_of

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
