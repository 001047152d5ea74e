"""Statistics of the numeric columns of training rows, and the `Numbers` that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..array_types import BoolArray, FloatArray, IntArray
from .choices import Choices
from .column_facts import ColumnFacts, facts_of
from .date_parts import expand_parts, parts_of
from .medians import Medians
from .numeric import Numbers
from .scaling import Scaling, choose_scaling
from .statistics import ROWS_PER_BLOCK, Moments, StringStatistics

# Sine and cosine of a time that is constant differ by rounding of the day they are computed from.
MIN_PART_RANGE = 1e-6


class NumberStatistics:
    """Moments of the inputs of numeric columns (see `Numbers`) and, if they fill missing cells, medians of the columns."""

    def __init__(self, columns: int, dates: Mapping[int, str], choices: Choices) -> None:
        """`dates`: the kinds of the columns that are dates."""
        self.columns, self.choices = columns, choices
        pairs = [(column, part) for column in range(columns) for part in parts_of(dates.get(column))]
        self._inputs = np.array(pairs, np.int64).reshape(-1, 2)
        self._own = np.flatnonzero(self._inputs[:, 1] == 0)  # the input that is the column itself, for each column
        self._expands = bool(dates)
        self.moments = Moments(len(pairs), choices.degree, choices.scale in ("auto", "standard"))
        self._medians = Medians(columns, in_memory=choices.in_memory) if choices.fill == "median" else None

    def add(self, columns: Sequence[FloatArray], rows: int) -> None:
        """Add some rows as columns."""
        if not columns:
            self.moments.rows += rows
            return
        if self._medians is not None:
            self._medians.add(columns)
        for start in range(0, rows, ROWS_PER_BLOCK):
            self._add_block(np.column_stack([column[start : start + ROWS_PER_BLOCK] for column in columns]))

    def add_array(self, X: FloatArray) -> None:
        """Add rows."""
        if self._medians is not None:
            self._medians.add(list(X.T))
        self._add_block(X)

    def _add_block(self, X: FloatArray) -> None:
        self.moments.add(expand_parts(X, self._inputs) if self._expands else X)

    @property
    def missing(self) -> IntArray:
        """The number of missing cells of each column."""
        missing: IntArray = self.moments.rows - self.moments.counts[self._own]
        return missing

    @property
    def fill(self) -> FloatArray:
        """What replaces missing cells of each column; 0 if all are missing."""
        return self.moments.means[self._own] if self._medians is None else self._medians.medians()

    def facts(self, strings: Sequence[StringStatistics] = ()) -> ColumnFacts:
        """The facts about the columns, and those of columns of strings."""
        low, high = self.moments.minimum[self._own], self.moments.maximum[self._own]
        return facts_of(self.moments.rows, low, high, self.missing, [column.facts for column in strings])

    def numbers(self, *, keep_some: bool) -> tuple[Numbers, Scaling]:
        """How the columns become features, and their scaling. Constant inputs are left out, unless `keep_some` and all are."""
        choices, moments, missing = self.choices, self.moments, self.missing
        indicators = np.flatnonzero((missing > 0) & (missing < moments.rows)) if choices.missing_indicator else None
        if indicators is not None and not len(indicators):
            indicators = None
        kept = self._varying()
        if not choices.drop_constant or (keep_some and indicators is None and not kept.any()):
            kept[:] = True
        scaling = choose_scaling(moments, choices.scale)
        inputs = self._inputs
        if not kept.all():
            inputs, chosen = inputs[kept], moments.polynomial.features_of(kept)
            scaling = scaling.take(chosen)
        plain = len(inputs) == self.columns and not inputs[:, 1].any()
        numbers = Numbers(
            self.columns, choices.degree, self.fill, scaling.shift, scaling.divide, None if plain else inputs, indicators
        )
        return numbers, scaling

    @property
    def varies(self) -> bool:
        """Whether a column is not constant."""
        return bool(self._varying().any())

    def _varying(self) -> BoolArray:
        n = len(self._inputs)
        low, high = self.moments.minimum[:n], self.moments.maximum[:n]
        with np.errstate(invalid="ignore", over="ignore"):
            varies: BoolArray = np.where(self._inputs[:, 1] == 0, low < high, high - low > MIN_PART_RANGE)
        return varies


def without_unused(numbers: Numbers) -> tuple[Numbers, BoolArray]:
    """The numbers of the columns that a feature needs, and which columns these are."""
    used = np.ones(numbers.columns, bool)
    if numbers.inputs is None:
        return numbers, used
    used[:] = False
    used[numbers.inputs[:, 0]] = True
    if numbers.indicators is not None:
        used[numbers.indicators] = True
    place = np.cumsum(used) - 1
    inputs = np.column_stack([place[numbers.inputs[:, 0]], numbers.inputs[:, 1]])
    plain = len(inputs) == used.sum() and not inputs[:, 1].any()
    indicators = None if numbers.indicators is None else place[numbers.indicators]
    fill = None if numbers.fill is None else numbers.fill[used]
    kept = Numbers(int(used.sum()), numbers.degree, fill, numbers.shift, numbers.divide, None if plain else inputs, indicators)
    return kept, used
