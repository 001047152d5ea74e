"""Fits a recipe to the training rows, in one pass over them."""

from __future__ import annotations

import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal, cast

import numpy as np

from ..array_types import FloatArray, MatrixLike
from ..data.csr import CSRMatrix
from ..data.polynomials import DegreeError
from ..data.table import Data, DataError, Table, as_data
from ..reporting.text import count, plural, quoted_list
from .categorical import Categories, NumberedColumns, as_numbers, as_strings
from .choices import Choices
from .column_facts import MAX_SPARSE_COLUMNS, facts_of
from .number_statistics import NumberStatistics, without_unused
from .numeric import Numbers
from .recipe import Recipe
from .recipe_notes import constant_notes, date_notes, identifier_notes, loss_notes, missing_notes, string_notes
from .scaling import choose_scaling
from .statistics import Moments, SparseMoments, StringStatistics
from .text_features import TextFeatures
from .text_kinds import AUTO as AUTO_TEXT


def fit_recipe(chunks: Iterable[MatrixLike | Data | Table], choices: Choices) -> Recipe:
    """The recipe of the training rows."""
    parts = (as_data(chunk) for chunk in chunks)
    head = next(parts, None)
    if head is None:
        raise DataError("X", "there are no rows")
    learner = RecipeLearner(head, choices)
    for data in itertools.chain([head], parts):
        learner.add(data)
    return learner.finish()


class RecipeLearner:
    """Learns a recipe from consecutive training rows; how they are cut into chunks does not change the result.

    Parameters
    ----------
    head : Data
        The first rows, which decide the kinds of the columns. They are not learned from: add them, too.
    choices : Choices
        How columns become features.
    """

    def __init__(self, head: Data, choices: Choices) -> None:
        self._source, self.rows = head.source, 0
        kind: type[_Learner] = _DenseLearner
        if isinstance(head.features, Table):
            kind = _TableLearner
        elif isinstance(head.features, CSRMatrix):
            kind = _SparseLearner
        if kind is not _TableLearner:
            _refuse_text_features(head.source, choices)
        with _errors_of_degree(head.source):
            self._learner = kind(head, choices)

    def add(self, data: Data) -> None:
        """Learn from the next rows."""
        self.rows += data.n_rows
        with _errors_of_degree(self._source):
            self._learner.add(data)

    def finish(self) -> Recipe:
        """The recipe. Nothing can be added afterwards."""
        with _errors_of_degree(self._source):
            return self._learner.finish()


@contextlib.contextmanager
def _errors_of_degree(source: str) -> Iterator[None]:
    try:
        yield
    except DegreeError as fault:
        raise DataError(source, str(fault)) from None


class _Learner(ABC):
    """Learns from rows of one kind."""

    def __init__(self, head: Data, choices: Choices) -> None:
        self.source, self.choices = head.source, choices
        self.losses: dict[str, str] = {}

    @abstractmethod
    def add(self, data: Data) -> None: ...

    @abstractmethod
    def finish(self) -> Recipe: ...


# --- Matrices


class _SparseLearner(_Learner):
    def __init__(self, head: Data, choices: Choices) -> None:
        super().__init__(head, choices)
        self.statistics = SparseMoments(choices.degree)

    def add(self, data: Data) -> None:
        _check_kind(data, CSRMatrix)
        self.losses = data.losses | self.losses
        self.statistics.add(cast(CSRMatrix, data.features))

    def finish(self) -> Recipe:
        statistics, choices = self.statistics, self.choices
        _check_statistics(self.source, statistics)
        scaling = choose_scaling(statistics, choices.scale, statistics.density)
        columns, facts = statistics.polynomial.columns, None
        if columns <= MAX_SPARSE_COLUMNS:
            low, high = statistics.minimum[:columns], statistics.maximum[:columns]
            facts = facts_of(statistics.rows, low, high, np.zeros(columns, np.int64))
        numbers = Numbers(columns, choices.degree, None, scaling.shift, scaling.divide)
        notes = (*loss_notes(self.losses), *scaling.note(choices.scale))
        first = 1 if choices.first is None else choices.first
        return Recipe("sparse", numbers, first=first, notes=notes, facts=facts, scale=scaling.kind)


class _DenseLearner(_Learner):
    def __init__(self, head: Data, choices: Choices) -> None:
        super().__init__(head, choices)
        self.columns = int(head.features.shape[1])
        self.statistics = NumberStatistics(self.columns, {}, choices)

    def add(self, data: Data) -> None:
        self.losses = data.losses | self.losses
        _check_kind(data, np.ndarray)
        found = int(data.features.shape[1])
        if found != self.columns:
            raise DataError(data.source, f"rows have {plural(found, 'column')}, but earlier rows have {count(self.columns)}")
        self.statistics.add_array(cast(FloatArray, data.features))

    def finish(self) -> Recipe:
        statistics, choices = self.statistics, self.choices
        statistics.moments.finish()
        _check_statistics(self.source, statistics.moments)
        numbers, scaling = statistics.numbers(keep_some=True)
        names, missing = NumberedColumns(self.columns, choices.first or 0), statistics.missing.tolist()
        constant = [name for name, used in zip(names, without_unused(numbers)[1].tolist(), strict=True) if not used]
        filled = {name: n for name, n in zip(names, missing, strict=True) if n and name not in set(constant)}
        notes = (
            *loss_notes(self.losses),
            *constant_notes(constant, all_of_them=choices.drop_constant and not statistics.varies),
            *missing_notes(filled, choices.fill, choices.missing_indicator, (), ()),
            *scaling.note(choices.scale),
        )
        first = choices.first or 0
        return Recipe("dense", numbers, first=first, notes=notes, facts=statistics.facts(), scale=scaling.kind)


# --- Tables


class _TableLearner(_Learner):
    def __init__(self, head: Data, choices: Choices) -> None:
        super().__init__(head, choices)
        table = _table(head)
        declared: dict[str, Literal["words", "names"]] = {
            **dict.fromkeys(choices.text, "words"), **dict.fromkeys(choices.categorical, "names"),
        }  # fmt: skip
        self.names = table.names
        self.strings: dict[str, StringStatistics] = {}
        self.numeric: list[str] = []
        for name, cells in zip(table.names, table.columns, strict=True):
            if name in declared or cells.dtype.kind == "O":
                self.strings[name] = StringStatistics(
                    head.source,
                    name,
                    declared.get(name),
                    may_drop=choices.drop_constant,
                    text_kinds=choices.text_kinds,
                    in_memory=choices.in_memory,
                )
            else:
                self.numeric.append(name)
        self.dates = {name: kind for name, kind in head.dates.items() if name in self.numeric}
        dates = {self.numeric.index(name): kind for name, kind in self.dates.items()}
        self.statistics = NumberStatistics(len(self.numeric), dates, choices)

    def add(self, data: Data) -> None:
        self.losses = data.losses | self.losses
        table = _table(data)
        if table.names != self.names:
            raise DataError(
                data.source, f"columns are {quoted_list(table.names)}, but earlier rows have {quoted_list(self.names)}"
            )
        columns = dict(zip(self.names, table.columns, strict=True))
        for name, column in self.strings.items():
            column.add(as_strings(columns[name]))
        self.statistics.add([as_numbers(columns[name], data, name) for name in self.numeric], data.n_rows)

    def finish(self) -> Recipe:
        statistics, numeric = self.statistics, self.numeric
        statistics.moments.finish()
        _check_statistics(self.source, statistics.moments)
        blocks = tuple(column.finish() for column in self.strings.values())
        if not any(isinstance(block, TextFeatures) for block in blocks):
            _refuse_text_features(self.source, self.choices)
        lost = {name: self.losses[name] for name in numeric if name in self.losses}
        found = loss_notes(lost, {name for name in lost if statistics.is_identifier(numeric.index(name), name)})
        whole = Recipe(
            "table", Numbers(len(numeric)), names=self.names, number_names=tuple(numeric), strings=blocks, notes=found
        )
        return _complete(whole, statistics, self.strings, self.dates)


def _complete(
    recipe: Recipe, statistics: NumberStatistics, strings: dict[str, StringStatistics], dates: dict[str, str]
) -> Recipe:
    """The recipe with its numbers, and without columns that are constant, or identify the rows, in the training rows."""
    choices, rows = statistics.choices, statistics.moments.rows
    facts = statistics.facts(list(strings.values()))
    lost = facts.string_missing.tolist()
    fills = choices.missing != "refuse"
    blocks = [
        replace(block, missing=bool(n)) if fills and isinstance(block, Categories) else block
        for block, n in zip(recipe.strings, lost, strict=True)
    ]
    varies = [isinstance(block, TextFeatures) or block.width > 1 or 0 < n < rows for block, n in zip(blocks, lost, strict=True)]
    if not choices.drop_constant:
        varies = [True] * len(blocks)
    identifiers = [column for column in strings.values() if column.is_identifier]
    varies = [one and not strings[block.name].is_identifier for one, block in zip(varies, blocks, strict=True)]
    if identifiers and not any(varies) and not recipe.number_names:
        raise identifiers[0].too_many(option="--categorical")
    numbers, scaling = statistics.numbers(keep_some=not any(varies))
    kept, used = without_unused(numbers) if choices.drop_constant else (numbers, np.ones(numbers.columns, bool))
    number_names = tuple(name for name, one in zip(recipe.number_names, used.tolist(), strict=True) if one)
    places = [place for place, one in enumerate(varies) if one]
    chosen = {*number_names, *(blocks[place].name for place in places)}
    dropped = tuple(name for name in recipe.names if name not in chosen)
    identifying = {column.name for column in identifiers}
    constant = [name for name in dropped if name not in identifying]
    missing = dict(zip(recipe.number_names, facts.missing.tolist(), strict=True))
    notes = (
        *string_notes([blocks[place] for place in places], strings),
        *recipe.notes,
        *date_notes({name: kind for name, kind in dates.items() if name in chosen}),
        *identifier_notes(identifiers),
        *constant_notes(
            constant, all_of_them=choices.drop_constant and not (any(varies) or statistics.varies), missing=missing, rows=rows
        ),
        *missing_notes(
            {name: missing[name] for name in number_names if missing[name]},
            choices.fill,
            choices.missing_indicator,
            [blocks[place] for place in places],
            [lost[place] for place in places],
        ),
        *(scaling.note(choices.scale) if used.any() and statistics.varies else ()),
    )
    return replace(
        recipe,
        numbers=kept,
        names=tuple(name for name in recipe.names if name in chosen),
        number_names=number_names,
        strings=tuple(blocks[place] for place in places),
        notes=notes,
        facts=facts.take(used, places),
        scale=scaling.kind,
        dates=tuple((name, kind) for name, kind in dates.items() if name in chosen),
        constant=dropped,
    )


def _table(data: Data) -> Table:
    _check_kind(data, Table)
    return cast(Table, data.features)


# --- Checks


def _check_kind(data: Data, kind: type) -> None:
    if not isinstance(data.features, kind):
        found, expected = type(data.features).__name__, kind.__name__
        raise DataError(data.source, f"rows are of type {found}, but earlier rows are of type {expected}")


def _refuse_text_features(source: str, choices: Choices) -> None:
    """Raise DataError if features of text were requested, since no column is text."""
    if choices.text_features != AUTO_TEXT:
        sentence = f"--text-features {choices.text_features}: no column is text"
        raise DataError(source, sentence, option="--text", advice="name a column of text with --text")


def _check_statistics(source: str, statistics: Moments | SparseMoments) -> None:
    if not statistics.rows:
        raise DataError(source, "there are no rows")
    if not np.isfinite(statistics.largest).all():
        subject = "a product of columns" if statistics.polynomial.degree > 1 else "a number"
        raise DataError(source, f"{subject} is too large (over 1.8e308)")
