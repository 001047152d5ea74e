"""A recipe from the training rows, in one run over them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from ..data.table import Data, DataError, Sparse, Table, as_data
from ..reporting.text import quoted_list
from .categorical import Words, as_matrix, as_numbers, as_strings
from .numeric import DegreeError, Numbers, by_deviation, by_largest, check_scale, is_wild, spread
from .recipe import Recipe
from .tallies import MOST_WORDS, First, Largest, Moments, Strings


def learn(
    chunks: Iterable[Any],
    *,
    degree: int = 1,
    scale: str = "auto",
    text: tuple[str, ...] = (),
    categorical: tuple[str, ...] = (),
    first: int | None = None,
) -> Recipe:
    check_scale(scale)
    some = (as_data(chunk) for chunk in chunks)
    head = next(some, None)
    if head is None:
        raise DataError("X", "there are no rows")
    everything = itertools.chain([head], some)
    try:
        if isinstance(head.features, Table):
            return _from_tables(everything, head, degree, scale, text, categorical)
        if isinstance(head.features, Sparse):
            return _from_sparse(everything, head, degree, scale, 1 if first is None else first)
        return _from_arrays(everything, head, degree, scale, first or 0)
    except DegreeError as fault:
        raise DataError(head.source, str(fault)) from None


def _from_sparse(chunks: Iterable[Data], head: Data, degree: int, scale: str, first: int) -> Recipe:
    tally = Largest(degree)
    for data in chunks:
        _same_kind(data, Sparse)
        tally.add(data.features)
    _check(head, tally)
    if scale == "standard":
        raise DataError(head.source, "scale='standard' would make sparse rows dense: use scale='max'")
    divide, notes = _by_largest(scale, tally.largest, tally.density)
    return Recipe("sparse", Numbers(tally.polynomial.columns, degree, None, None, divide), first=first, notes=notes)


def _from_arrays(chunks: Iterable[Data], head: Data, degree: int, scale: str, first: int) -> Recipe:
    columns = head.features.shape[1]
    tally = Moments(columns, degree, scale == "standard")
    for data in chunks:
        _same_kind(data, np.ndarray)
        if data.features.shape[1] != columns:
            raise DataError(data.source, f"rows have {data.features.shape[1]:,} columns after rows of {columns:,}")
        tally.add(data.features)
    tally.finish()
    _check(head, tally)
    numbers, notes = _numbers(tally, scale)
    return Recipe("dense", numbers, first=first, notes=notes)


def _from_tables(
    chunks: Iterable[Data], head: Data, degree: int, scale: str, text: tuple[str, ...], categorical: tuple[str, ...]
) -> Recipe:
    names = _table(head).names
    told = dict.fromkeys(text, "words") | dict.fromkeys(categorical, "names")
    strings, numbers = {}, []
    for name, cells in zip(names, _table(head).columns, strict=True):
        if name in told or cells.dtype.kind == "O":
            strings[name] = Strings(head.source, name, told.get(name))
        else:
            numbers.append(name)
    tally, ids = Moments(len(numbers), degree, scale == "standard"), {name: First() for name in numbers}
    for data in chunks:
        table = _table(data)
        if table.names != names:
            raise DataError(data.source, f"columns {quoted_list(table.names)} come after rows of {quoted_list(names)}")
        columns = dict(zip(names, table.columns, strict=True))
        for name, strand in strings.items():
            strand.add(as_strings(columns[name]))
        for name in numbers:
            ids[name].add(as_numbers(columns[name], data.source, name))
        tally.add(as_matrix(table, data.source, numbers))
    tally.finish()
    _check(head, tally)
    for j, name in enumerate(numbers):
        if not tally.counts[j]:
            raise DataError(head.source, f"column {name!r} has no value in any row: leave it out with --ignore")
    finished = tuple(strand.finish() for strand in strings.values())
    done, notes = _numbers(tally, scale)
    notes = (*_notes_on_strings(finished, strings), *_notes_on_ids(numbers, ids), *_notes_on_gaps(numbers, tally), *notes)
    return Recipe("table", done, names=names, number_names=tuple(numbers), strings=finished, notes=notes)


def _numbers(tally: Moments, scale: str) -> tuple[Numbers, tuple[str, ...]]:
    polynomial, largest = tally.polynomial, tally.largest
    means = tally.means[: polynomial.columns]
    if scale == "standard":
        shift, divide = by_deviation(tally.means, tally.deviations, largest)
        note = "Columns of numbers were brought to mean 0 and deviation 1, as asked."
        return Numbers(polynomial.columns, polynomial.degree, means, shift, divide), (note,)
    divide, notes = _by_largest(scale, largest)
    return Numbers(polynomial.columns, polynomial.degree, means, None, divide), notes


def _by_largest(scale: str, largest: Any, density: float = 1.0) -> tuple[Any | None, tuple[str, ...]]:
    if scale == "none" or (scale == "auto" and not is_wild(largest, density)):
        return None, ()
    why = ", as asked" if scale == "max" else f": the widest range is {spread(largest):,.0f} times the narrowest"
    return by_largest(largest), (f"Columns of numbers were divided by their largest absolute values{why}.",)


def _notes_on_strings(finished: tuple[Any, ...], strands: dict[str, Strings]) -> tuple[str, ...]:
    notes = []
    for block in finished:
        if isinstance(block, Words):
            cut = f", of the first {MOST_WORDS:,} different ones" if strands[block.name].full else ""
            notes.append(f"Column {block.name!r} is text: a bag of {block.width:,} words that are in two rows or more{cut}.")
    names = [block for block in finished if not isinstance(block, Words)]
    if names:
        some = ", ".join(f"{block.name!r} ({block.width:,})" for block in names[:20])
        more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
        notes.append(f"Columns of names became one feature for each value: {some}{more}.")
    return tuple(notes)


def _notes_on_ids(numbers: list[str], ids: dict[str, First]) -> tuple[str, ...]:
    like = [name for name in numbers if ids[name].like_an_id]
    return (f"Column {quoted_list(like)} numbers the rows, it seems: leave it out with --ignore.",) if like else ()


def _notes_on_gaps(numbers: list[str], tally: Moments) -> tuple[str, ...]:
    gaps = {name: int(tally.rows - tally.counts[j]) for j, name in enumerate(numbers) if tally.counts[j] < tally.rows}
    return (f"{sum(gaps.values()):,} missing cells of {quoted_list(list(gaps))} get the column's mean.",) if gaps else ()


def _table(data: Data) -> Table:
    _same_kind(data, Table)
    return cast(Table, data.features)


def _same_kind(data: Data, kind: type) -> None:
    if not isinstance(data.features, kind):
        raise DataError(data.source, f"rows come as {type(data.features).__name__} after rows that came as {kind.__name__}")


def _check(head: Data, tally: Moments | Largest) -> None:
    if not tally.rows:
        raise DataError(head.source, "there are no rows")
    if not np.isfinite(tally.largest).all():
        name = "a product of columns is" if tally.polynomial.degree > 1 else "a number is"
        raise DataError(head.source, f"{name} too large, over 1.8e308")
