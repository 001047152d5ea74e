"""Fits a recipe to the training rows, in one pass over them."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Sequence
from typing import Literal, cast

import numpy as np

from ..array_types import FloatArray, MatrixLike
from ..data.csr import CSRMatrix
from ..data.polynomials import DegreeError
from ..data.table import Data, DataError, Loss, Table, as_data, loss_of, vanishes
from ..reporting.text import MAX_EXACT_BOUND, comma_list, count, cut, plural, quoted_list, short
from .categorical import Categories, Words, as_matrix, as_strings
from .column_facts import MAX_SPARSE_COLUMNS, ColumnFacts, facts_of
from .numeric import Numbers, check_scale, largest_divisors, needs_scaling, range_ratio, standard_scaling
from .recipe import Recipe
from .statistics import IGNORE_ADVICE, IGNORE_OPTION, MAX_WORDS_COUNTED, Moments, SparseMaxima, StringStatistics

MAX_CATEGORICAL_LISTED = 20

Strings = tuple[Categories | Words, ...]


def fit_recipe(
    chunks: Iterable[MatrixLike | Data | Table],
    *,
    degree: int = 1,
    scale: str = "auto",
    text: tuple[str, ...] = (),
    categorical: tuple[str, ...] = (),
    first: int | None = None,
) -> Recipe:
    """The recipe of the training rows; the parameters are those of `Recipe.learn`."""
    check_scale(scale)
    parts = (as_data(chunk) for chunk in chunks)
    head = next(parts, None)
    if head is None:
        raise DataError("X", "there are no rows")
    everything = itertools.chain([head], parts)
    try:
        if isinstance(head.features, Table):
            return _fit_tables(everything, head, degree, scale, text, categorical)
        if isinstance(head.features, CSRMatrix):
            return _fit_sparse(everything, head, degree, scale, 1 if first is None else first)
        return _fit_arrays(everything, head, degree, scale, first or 0)
    except DegreeError as fault:
        raise DataError(head.source, str(fault)) from None


# --- By the kind of rows


def _fit_sparse(chunks: Iterable[Data], head: Data, degree: int, scale: str, first: int) -> Recipe:
    statistics = SparseMaxima(degree)
    losses: dict[str, str] = {}
    for data in chunks:
        _check_kind(data, CSRMatrix)
        losses = data.losses | losses
        statistics.add(cast(CSRMatrix, data.features))
    _check_statistics(head, statistics)
    if scale == "standard":
        raise DataError(head.source, "scale='standard' would make sparse rows dense; use scale='max'")
    divide, scaling = _scale_by_largest(scale, statistics.largest, statistics.density)
    notes, columns = (*_loss_notes(losses), *scaling), statistics.polynomial.columns
    facts = None
    if columns <= MAX_SPARSE_COLUMNS:
        facts = facts_of(statistics.rows, statistics.minimum, statistics.maximum, np.zeros(columns, np.int64))
    return Recipe("sparse", Numbers(columns, degree, None, None, divide), first=first, notes=notes, facts=facts)


def _fit_arrays(chunks: Iterable[Data], head: Data, degree: int, scale: str, first: int) -> Recipe:
    columns = head.features.shape[1]
    statistics = Moments(columns, degree, scale == "standard")
    losses: dict[str, str] = {}
    for data in chunks:
        losses = data.losses | losses
        _check_kind(data, np.ndarray)
        if data.features.shape[1] != columns:
            raise DataError(
                data.source, f"rows have {plural(data.features.shape[1], 'column')}, but earlier rows have {count(columns)}"
            )
        statistics.add(cast(FloatArray, data.features))
    statistics.finish()
    _check_statistics(head, statistics)
    numbers, scaling = _scale(statistics, scale)
    return Recipe("dense", numbers, first=first, notes=(*_loss_notes(losses), *scaling), facts=_facts(statistics))


def _fit_tables(
    chunks: Iterable[Data], head: Data, degree: int, scale: str, text: tuple[str, ...], categorical: tuple[str, ...]
) -> Recipe:
    names = _table(head).names
    declared: dict[str, Literal["words", "names"]] = {**dict.fromkeys(text, "words"), **dict.fromkeys(categorical, "names")}
    strings: dict[str, StringStatistics] = {}
    numeric: list[str] = []
    for name, cells in zip(names, _table(head).columns, strict=True):
        if name in declared or cells.dtype.kind == "O":
            strings[name] = StringStatistics(head.source, name, declared.get(name))
        else:
            numeric.append(name)
    moments = Moments(len(numeric), degree, scale == "standard")
    losses: dict[str, str] = {}
    for data in chunks:
        losses = data.losses | losses
        table = _table(data)
        if table.names != names:
            raise DataError(data.source, f"columns are {quoted_list(table.names)}, but earlier rows have {quoted_list(names)}")
        columns = dict(zip(names, table.columns, strict=True))
        for name, column in strings.items():
            column.add(as_strings(columns[name]))
        moments.add(as_matrix(data, numeric))
    moments.finish()
    _check_statistics(head, moments)
    for j, name in enumerate(numeric):
        if not moments.counts[j]:
            sentence = "all values are missing"
            raise DataError(head.source, sentence, column=name, option=IGNORE_OPTION, advice=IGNORE_ADVICE)
    blocks = tuple(column.finish() for column in strings.values())
    numbers, scaling = _scale(moments, scale)
    lost = {name: losses[name] for name in numeric if name in losses}
    notes = (*_string_notes(blocks, strings), *_loss_notes(lost, table=True), *_missing_notes(numeric, moments), *scaling)
    facts = _facts(moments, tuple(strings.values()))
    return Recipe("table", numbers, names=names, number_names=tuple(numeric), strings=blocks, notes=notes, facts=facts)


def _facts(moments: Moments, strings: Sequence[StringStatistics] = ()) -> ColumnFacts:
    n = moments.polynomial.columns
    missing = moments.rows - moments.counts[:n]
    return facts_of(moments.rows, moments.minimum[:n], moments.maximum[:n], missing, [column.facts for column in strings])


def _table(data: Data) -> Table:
    _check_kind(data, Table)
    return cast(Table, data.features)


def _check_kind(data: Data, kind: type) -> None:
    if not isinstance(data.features, kind):
        found, expected = type(data.features).__name__, kind.__name__
        raise DataError(data.source, f"rows are of type {found}, but earlier rows are of type {expected}")


def _check_statistics(head: Data, statistics: Moments | SparseMaxima) -> None:
    if not statistics.rows:
        raise DataError(head.source, "there are no rows")
    if not np.isfinite(statistics.largest).all():
        subject = "a product of columns" if statistics.polynomial.degree > 1 else "a number"
        raise DataError(head.source, f"{subject} is too large (over 1.8e308)")


# --- Scaling


def _scale(moments: Moments, scale: str) -> tuple[Numbers, tuple[str, ...]]:
    polynomial, largest = moments.polynomial, moments.largest
    means = moments.means[: polynomial.columns]
    if scale == "standard":
        shift, divide = standard_scaling(moments.means, moments.deviations, largest)
        note = "Numeric columns were scaled to mean 0 and standard deviation 1, as requested."
        return Numbers(polynomial.columns, polynomial.degree, means, shift, divide), (note,)
    divisors, notes = _scale_by_largest(scale, largest)
    return Numbers(polynomial.columns, polynomial.degree, means, None, divisors), notes


def _fold(ratio: float) -> str:
    return count(ratio) if ratio < MAX_EXACT_BOUND else short(ratio)


def _scale_by_largest(scale: str, largest: FloatArray, density: float = 1.0) -> tuple[FloatArray | None, tuple[str, ...]]:
    if scale == "none" or (scale == "auto" and not needs_scaling(largest, density)):
        return None, ()
    reason = "as requested" if scale == "max" else f"because their ranges differ {_fold(range_ratio(largest))}-fold"
    return largest_divisors(largest), (f"Numeric columns were scaled by their largest absolute values, {reason}.",)


# --- Notes for the user


def _string_notes(blocks: Strings, statistics: dict[str, StringStatistics]) -> tuple[str, ...]:
    notes = []
    for block in blocks:
        if isinstance(block, Words):
            limit = f", of the first {count(MAX_WORDS_COUNTED)} distinct words" if statistics[block.name].truncated else ""
            notes.append(f"Column {block.name!r} is text: {count(block.width)} words that occur in at least two rows{limit}.")
    categorical = [block for block in blocks if not isinstance(block, Words)]
    if categorical:
        sizes = [f"{block.name!r} ({count(block.width)})" for block in categorical]
        notes.append(f"Categorical columns were one-hot encoded: {comma_list(sizes, MAX_CATEGORICAL_LISTED)}.")
    for name, column in statistics.items():
        if column.unread_number is not None:
            reason = f"because {cut(column.unread_number)!r} is not a number"
            notes.append(f"Column {name!r} looks numeric but is categorical, {reason}: use decimal points and no units.")
    return tuple(notes)


def _loss_notes(losses: dict[str, str], *, table: bool = False) -> tuple[str, ...]:
    """Notes on columns with numbers that are not those of the file, or not numbers; those of a `table` can be left out."""
    notes = []
    for name, text in losses.items():
        column = name.removeprefix("column ")
        subject, option = f"Column {repr(name) if column == name and table else column}", shlex.quote(column)
        if vanishes(text):
            note = f"{subject} has numbers that are too small for floats, such as {cut(text)}: they are read as 0."
        elif not table:
            note = f"{subject} looks like an identifier: floats do not hold integers such as {cut(text)}."
        elif loss_of(text) is Loss.ZEROS:
            note = f"{subject} has codes such as {cut(text)}, but is read as numbers. As categories: --categorical {option}"
        else:
            note = f"{subject} looks like an identifier (such as {cut(text)}). To exclude it: --ignore {option}"
        notes.append(note)
    return tuple(notes)


def _missing_notes(numeric: Sequence[str], moments: Moments) -> tuple[str, ...]:
    missing = {name: int(moments.rows - moments.counts[j]) for j, name in enumerate(numeric)}
    missing = {name: cells for name, cells in missing.items() if cells}
    if not missing:
        return ()
    cells = plural(sum(missing.values()), "missing cell")
    return (f"{cells} of {quoted_list(list(missing))} filled with the column mean.",)
