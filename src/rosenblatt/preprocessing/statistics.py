"""Statistics of the training columns, in one pass and constant memory; chunk boundaries do not change their bits.

Maxima and counts do not depend on the order of the rows. Means and deviations do in their last bits, so rows are first
collected into blocks of a fixed size: NumPy computes the mean and the sum of squares of a block, and blocks are merged in
order by the update of Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.

A column of strings is text if, in its first 1,000 rows, more than half of the cells are distinct and have three words or more
on average, or at least 30 are distinct and have five words or more: sentences that repeat. Else it is categorical. Such a
column identifies the rows if at least nine of ten of its cells, and at least ten, have a value of their own, or if it has more
distinct values than half of over a hundred rows: of the values of later rows, few or none would be known. A column with over
10,000 distinct values is rejected, unless it identifies the rows.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import Any, Literal, cast

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.csr import CSRMatrix
from ..data.polynomials import Polynomial
from ..data.table import DataError
from ..reporting.text import count, cut, plural
from .categorical import Categories
from .text_features import TextFeatures, TextStatistics
from .text_kinds import BINARY, MIN_ROWS_OF_A_RUN, TextKind

ROWS_PER_BLOCK = 4096
FEATURES_PER_BLOCK = 1 << 18  # limits the rows of a block, so that it stays in a cache
SAMPLE_ROWS = 1_000  # rows that decide the kind of a column
# A column of strings identifies the rows from this many cells on, and from this share of cells with a value of their own; or if
# it has more distinct values than half of its rows, which must be more.
MIN_OWN_VALUES, MIN_OWN_SHARE, MIN_ROWS_OF_AN_ID = 10, 0.9, 100
MAX_CATEGORIES = 10_000
MAX_CATEGORY_CHARS = 1_000
MIN_WORDS_OF_TEXT = 3  # words in a cell of a text column, on average
MIN_WORDS_OF_SENTENCES, MIN_SENTENCES = 5, 30  # the same of a column of text that repeats, and its least distinct cells
DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]{1,15},[0-9]{1,15}\s*")
LOOKS_NUMERIC = re.compile(
    r"[+-]?[$€£]?\s?(?:[0-9]{1,3}(?:[.,'\s][0-9]{3})+|[0-9]+)(?:[.,][0-9]*)?(?:e[+-]?[0-9]+)?\s?[%$€£]?", re.IGNORECASE
)
WITH_UNIT = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?\s?([^\W\d_]{1,12}|[°µ][^\W\d_]{0,3}|[^\W\d_]{1,4}/[^\W\d_]{1,4})")
MIN_VALUES_WITH_UNIT = 5
IGNORE_OPTION, IGNORE_ADVICE = "--ignore", "leave the column out with --ignore"


# --- Numeric columns


class Moments:
    """For each feature of dense rows: the number of values, their range, mean and, optionally, deviation."""

    def __init__(self, columns: int, degree: int, deviations: bool = False) -> None:
        self.polynomial, self._spread = Polynomial(columns, degree), deviations
        width = self.polynomial.width
        self._block = np.empty((max(1, min(ROWS_PER_BLOCK, FEATURES_PER_BLOCK // max(1, width))), columns))
        self._filled = 0
        self.rows = 0
        self.counts, self._nonzero = np.zeros(width, np.int64), np.zeros(width, np.int64)
        self._means, self._squares = np.zeros(width), np.zeros(width)
        self.minimum, self.maximum = np.full(width, np.inf), np.full(width, -np.inf)  # as they are without values

    def add(self, X: FloatArray) -> None:
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
    def largest(self) -> FloatArray:
        """The largest absolute value of each feature; zero if there are no values."""
        largest: FloatArray = np.maximum(np.maximum(self.maximum, -self.minimum), 0.0)
        return largest

    @property
    def means(self) -> FloatArray:
        """The mean of each feature; zero if there are no values or the mean overflowed."""
        return np.where(np.isfinite(self._means), self._means, 0.0)

    @property
    def deviations(self) -> FloatArray:
        """The standard deviation of each feature; zero if it is constant, infinite if its squares overflowed."""
        with np.errstate(invalid="ignore"):
            found = np.sqrt(self._squares / np.maximum(self.counts, 1))
        found[~np.isfinite(found)] = np.inf
        return np.where(self.minimum < self.maximum, found, 0.0)

    @property
    def nonzero_share(self) -> FloatArray:
        """The share of values that are not zero."""
        return self._nonzero / np.maximum(self.counts, 1)

    def _fold(self) -> None:
        if not self._filled:
            return
        X = self.polynomial.expand(self._block[: self._filled])
        self._filled = 0
        with np.errstate(all="ignore"):
            self.minimum = np.fmin(self.minimum, np.fmin.reduce(X, axis=0))
            self.maximum = np.fmax(self.maximum, np.fmax.reduce(X, axis=0))
            sums = X.sum(axis=0)
            complete = not np.isnan(sums).any()
            present: Any = True if complete else ~np.isnan(X)
            here = np.full(X.shape[1], len(X)) if complete else present.sum(axis=0)
            mean = (sums if complete else X.sum(axis=0, where=present)) / np.maximum(here, 1)
            total = self.counts + here
            gap = np.where(here > 0, mean - self._means, 0.0)
            share = here / np.maximum(total, 1)
            if self._spread:
                self._nonzero += here - (X == 0.0).sum(axis=0)
                squares = np.square(X - mean).sum(axis=0, where=present)
                self._squares = self._squares + squares + gap * gap * (self.counts * share)
            self._means = self._means + gap * share
            self.counts = total


class SparseMoments:
    """For each feature of sparse rows: its range, mean and deviation, zeros included. The width may grow from chunk to chunk.

    Values are added one by one, minus the first value of their feature, so that sums neither cancel nor depend on the cut.
    """

    def __init__(self, degree: int) -> None:
        self.degree, self.rows = degree, 0
        self.polynomial = Polynomial(0, 1)
        self._stored = np.zeros(0, np.int64)
        self._low, self._high, self._first = np.zeros(0), np.zeros(0), np.zeros(0)
        self._sums, self._squares = np.zeros(0), np.zeros(0)

    def add(self, rows: CSRMatrix) -> None:
        self.rows += rows.shape[0]
        if rows.width > self.polynomial.columns:
            self._widen(rows.width)
        step = rows.shape[0] if self.degree == 1 else max(1, FEATURES_PER_BLOCK // max(1, self.polynomial.width))
        for start in range(0, rows.shape[0], max(1, step)):
            part = rows if step >= rows.shape[0] else rows.slice(start, start + step)
            self._add_features(self.polynomial.expand_sparse(part.with_width(self.polynomial.columns)))

    def _add_features(self, features: CSRMatrix) -> None:
        indices, values = features.indices, features.values
        counts = np.bincount(indices, minlength=self.polynomial.width)
        if ((self._stored == 0) & (counts > 0)).any():
            found, first = np.unique(indices, return_index=True)
            new = self._stored[found] == 0
            self._first[found[new]] = values[first[new]]
        self._stored += counts
        with np.errstate(all="ignore"):
            np.minimum.at(self._low, indices, values)
            np.maximum.at(self._high, indices, values)
            shifted = values - self._first[indices]
            np.add.at(self._sums, indices, shifted)
            np.add.at(self._squares, indices, np.square(shifted, out=shifted))

    @property
    def nonzero_share(self) -> FloatArray:
        """The share of rows that store each feature."""
        return self._stored / max(1, self.rows)

    @property
    def density(self) -> float:
        """The share of cells that are stored."""
        columns = self.polynomial.columns
        return int(self._stored[:columns].sum()) / max(1, self.rows * columns)

    @property
    def minimum(self) -> FloatArray:
        return np.where(self._stored < self.rows, np.minimum(self._low, 0.0), self._low)

    @property
    def maximum(self) -> FloatArray:
        return np.where(self._stored < self.rows, np.maximum(self._high, 0.0), self._high)

    @property
    def largest(self) -> FloatArray:
        largest: FloatArray = np.maximum(self.maximum, -self.minimum)
        return largest

    @property
    def means(self) -> FloatArray:
        with np.errstate(all="ignore"):
            means = self._stored_means * self.nonzero_share
        return np.where(np.isfinite(means), means, 0.0)

    @property
    def deviations(self) -> FloatArray:
        """The standard deviation of each feature; zero if it is constant, infinite if its squares overflowed."""
        n, stored, share = max(1, self.rows), np.maximum(self._stored, 1), self.nonzero_share
        with np.errstate(all="ignore"):
            within = np.maximum(self._squares - self._sums * (self._sums / stored), 0.0) / n
            found = np.sqrt(within + np.square(self._stored_means) * (share * (1.0 - share)))
        found[~np.isfinite(found)] = np.inf
        return np.where(self.minimum < self.maximum, found, 0.0)

    @property
    def _stored_means(self) -> FloatArray:
        return self._first + self._sums / np.maximum(self._stored, 1)

    def _widen(self, columns: int) -> None:
        wider = Polynomial(columns, self.degree)
        places = self.polynomial.places_in(wider) if self.polynomial.columns else np.zeros(0, np.int64)
        self._stored, self._first, self._sums, self._squares, self._low, self._high = (
            _spread(array, places, wider.width, empty)
            for array, empty in (
                (self._stored, 0), (self._first, 0.0), (self._sums, 0.0), (self._squares, 0.0), (self._low, np.inf),
                (self._high, -np.inf),
            )
        )  # fmt: skip
        self.polynomial = wider


def _spread(array: Array, places: IntArray, width: int, empty: float) -> Array:
    """The entries at new places, with a value for all others."""
    wider = np.full(width, empty, array.dtype)
    wider[places] = array
    return wider


# --- Columns of strings


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


class StringStatistics:
    """The values or words of a column of strings; its kind is given or decided by the first rows."""

    def __init__(
        self,
        source: str,
        name: str,
        kind: Literal["words", "names"] | None = None,
        *,
        may_drop: bool = False,
        text_kinds: tuple[TextKind, ...] = (BINARY,),
        in_memory: bool = False,
    ) -> None:
        self.source, self.name, self.kind, self._may_drop = source, name, kind, may_drop
        self.declared = kind is not None
        self.rows = 0
        self._first: list[str | None] = []
        self._names: Counter[str] = Counter()
        self._missing = 0
        self._text = TextStatistics(text_kinds, in_memory)
        self._values_truncated = False

    def add(self, cells: Array | list[str | None]) -> None:
        at = 0
        if self.kind is None:
            at = min(len(cells), SAMPLE_ROWS - len(self._first))
            self._first.extend(cells[:at])
            if len(self._first) == SAMPLE_ROWS:
                self._decide()
        if self.kind is not None:
            self._count(cells[at:])

    def finish(self) -> Categories | TextFeatures:
        """The features of the column."""
        if self.kind is None:
            self._decide()
        if self.kind == "words":
            found = self._text.finish(self.name)
            if not found.parts:
                raise self._no_grams()
            return found
        if self._mostly_distinct and not self.is_identifier:
            raise self.too_many()
        return Categories(self.name, tuple(sorted(self._names)))

    def _no_grams(self) -> DataError:
        """The error for a column of text without features."""
        if any(kind.unit == "words" and kind.low == 1 for kind in self._text.kinds):
            sentence = "it is text without words of two or more letters or digits"
            return DataError(self.source, sentence, column=self.name, option=IGNORE_OPTION, advice=IGNORE_ADVICE)
        unit = "words" if any(kind.unit == "words" for kind in self._text.kinds) else "characters"
        sentence = f"no run of {unit} that --text-features names is in {MIN_ROWS_OF_A_RUN} rows"
        return DataError(self.source, sentence, column=self.name, option="--text-features", advice="use --text-features words")

    @property
    def truncated(self) -> bool:
        """Whether grams or values beyond the limit were not counted."""
        return self._values_truncated or self._text.truncated

    @property
    def is_identifier(self) -> bool:
        """Whether the column is left out, because its values identify the rows."""
        if self.kind != "names" or self.declared or not self._may_drop or self.unread_number is not None:
            return False
        own = sum(rows == 1 for rows in self._names.values())
        present = self.rows - self._missing
        return self._values_truncated or self._mostly_distinct or (present >= MIN_OWN_VALUES and own >= MIN_OWN_SHARE * present)

    @property
    def _mostly_distinct(self) -> bool:
        return self.kind == "names" and not self.declared and self.rows > MIN_ROWS_OF_AN_ID and len(self._names) > self.rows / 2

    @property
    def distinct_values(self) -> str:
        distinct = f"over {count(MAX_CATEGORIES)}" if self._values_truncated else count(len(self._names))
        return f"{distinct} distinct non-numeric values in {plural(self.rows, 'row')}"

    @property
    def facts(self) -> tuple[IntArray | None, int]:
        """The count of each category, in the order of `finish`, or None for text; and the number of missing cells."""
        counts = None if self.kind == "words" else np.array([self._names[name] for name in sorted(self._names)], np.int64)
        return counts, self._missing

    @property
    def unread_number(self) -> str | None:
        """A value that keeps a column of mostly numeric values from being numeric, such as '3,5'; None for other columns."""
        if self.declared or self.kind != "names":
            return None
        numeric = sum(LOOKS_NUMERIC.fullmatch(value.strip()) is not None for value in self._names)
        unread = (value for value in sorted(self._names) if not _is_number(value))
        return next(unread, None) if 2 * numeric > len(self._names) else None

    @property
    def unit(self) -> str | None:
        """The unit that all values have after a number, such as "years"; None for other columns."""
        if self.declared or self.kind != "names" or len(self._names) < MIN_VALUES_WITH_UNIT:
            return None
        units = {None if (found := WITH_UNIT.fullmatch(value.strip())) is None else found[1] for value in self._names}
        return units.pop() if len(units) == 1 else None

    def _decide(self) -> None:
        cells = [cell for cell in self._first if cell is not None]
        words, distinct = sum(len(cell.split()) for cell in cells) / max(1, len(cells)), len(set(cells))
        own = words >= MIN_WORDS_OF_TEXT and 2 * distinct > len(cells)
        repeated = words >= MIN_WORDS_OF_SENTENCES and distinct >= MIN_SENTENCES
        self.kind = "words" if own or repeated else "names"
        first, self._first = self._first, []
        self._count(first)

    def _count(self, cells: Array | list[str | None]) -> None:
        self.rows += len(cells)
        if self.kind == "names":
            self._count_names(cells)
            return
        cells = cells if isinstance(cells, list) else cells.tolist()
        self._missing += cells.count(None)
        self._text.add(cells)

    def _count_names(self, cells: Array | list[str | None]) -> None:
        cells = cells if isinstance(cells, list) else cells.tolist()
        here: Counter[str | None] = Counter(cells)
        self._missing += here.pop(None, 0)
        if self._values_truncated:
            return
        if len(self._names) + len(here) > MAX_CATEGORIES and len(self._names.keys() | here.keys()) > MAX_CATEGORIES:
            self._exceed(cells)
        else:
            self._names.update(cast("Counter[str]", here))
        if max(map(len, self._names), default=0) > MAX_CATEGORY_CHARS:
            sentence = f"a value has over {count(MAX_CATEGORY_CHARS)} characters, which looks like text"
            option, advice = "--text", "use --text or --ignore"
            raise DataError(self.source, sentence, column=self.name, option=option, advice=advice)

    def _exceed(self, cells: list[str | None]) -> None:
        """Stop counting where there are too many values; raise DataError unless they identify the rows up to there."""
        before = self.rows - len(cells)
        for row, cell in enumerate(cells, before + 1):
            if cell is not None:
                self._names[cell] += 1
            if len(self._names) == MAX_CATEGORIES + 1:
                self._values_truncated = self._may_drop and not self.declared and 2 * len(self._names) > row
                break
        if not self._values_truncated or self.unread_number is not None:
            raise self.too_many(f"over {count(MAX_CATEGORIES)} distinct non-numeric values")

    def too_many(self, values: str = "", option: str = IGNORE_OPTION) -> DataError:
        """The error for a column with too many values to be categorical: numbers with decimal commas, or an id."""
        example = min(self._names)
        sentence = f"{values or self.distinct_values} (such as {cut(example)!r})"
        if DECIMAL_COMMA.fullmatch(example):
            return DataError(self.source, f"{sentence}; numbers must have a decimal point, not a comma", column=self.name)
        option = f"{option} {shlex.quote(self.name.removeprefix('column '))}"
        advice = f"if it is an id, exclude it with {option}"
        if not option.startswith(IGNORE_OPTION):
            sentence, advice = f"{sentence}, like an id, and no other column", f"use {option}, or --text for its words"
        return DataError(self.source, sentence, column=self.name, option=option, advice=advice)
