"""Notes about a recipe for the user: one sentence for each thing that was found or decided."""

from __future__ import annotations

import shlex
from collections.abc import Container, Mapping, Sequence

from ..data.table import Loss, loss_of, vanishes
from ..reporting.text import comma_list, count, cut, join_and, plural, quoted_list
from .categorical import MISSING, Categories
from .date_parts import CYCLES, KINDS
from .statistics import StringStatistics
from .text_features import MAX_GRAMS_COUNTED, TextFeatures
from .text_kinds import joined_name

MAX_COLUMNS_LISTED = 20
MAX_CONSTANT_LISTED = 8
UNIT_ADVICE = "write the numbers without it"
CYCLE_WORDS = {"hour": "day", "weekday": "week", "year": "year"}


def string_notes(blocks: Sequence[Categories | TextFeatures], statistics: dict[str, StringStatistics]) -> tuple[str, ...]:
    notes = []
    for block in blocks:
        if isinstance(block, TextFeatures):
            notes.append(_text_note(block, statistics[block.name].truncated))
    categorical = [block for block in blocks if not isinstance(block, TextFeatures)]
    if categorical:
        sizes = [f"{block.name!r} ({count(block.width)})" for block in categorical]
        notes.append(f"Categorical columns were one-hot encoded: {comma_list(sizes, MAX_COLUMNS_LISTED)}.")
    for name, column in statistics.items():
        if column.unread_number is not None:
            reason = f"because {cut(column.unread_number)!r} is not a number"
            notes.append(f"Column {name!r} looks numeric but is categorical, {reason}: use decimal points and no units.")
        elif column.unit is not None and not column.is_identifier:
            notes.append(f"Column {name!r} has numbers with {cut(column.unit)!r}, read as categories: {UNIT_ADVICE}.")
    return tuple(notes)


def _text_note(block: TextFeatures, truncated: bool) -> str:
    parts = " and ".join(f"{count(len(part.grams))} {part.kind.description}" for part in block.parts)
    limit = f", of the first {count(MAX_GRAMS_COUNTED)} distinct ones" if truncated else ""
    return f"Column {block.name!r} is text: {parts}{limit} (--text-features {joined_name(block.kinds)})."


def loss_notes(losses: Mapping[str, str], identifiers: Container[str] | None = None) -> tuple[str, ...]:
    """Notes on columns with numbers that are not those of the file, or not numbers.

    `identifiers` are those of a table that identify the rows; None: the columns have no names, and cannot be left out.
    """
    notes, table = [], identifiers is not None
    for name, text in losses.items():
        column = name.removeprefix("column ")
        subject, option = f"Column {repr(name) if column == name and table else column}", shlex.quote(column)
        if vanishes(text):
            note = f"{subject} has numbers that are too small for floats, such as {cut(text)}: they are read as 0."
        elif identifiers is None:
            note = f"{subject} looks like an identifier: floats do not hold integers such as {cut(text)}."
        elif loss_of(text) is Loss.ZEROS and name not in identifiers:
            note = f"{subject} has codes such as {cut(text)}, but is read as numbers. As categories: --categorical {option}"
        else:
            note = f"{subject} looks like an identifier (such as {cut(text)}). To exclude it: --ignore {option}"
        notes.append(note)
    return tuple(notes)


def identifier_notes(columns: Sequence[StringStatistics]) -> tuple[str, ...]:
    """The notes on columns of strings that were left out, because the rows have values of their own."""
    notes = []
    for column in columns:
        name = column.name.removeprefix("column ")
        subject, option = f"Column {repr(name) if name == column.name else name}", shlex.quote(name)
        if column.unit is not None:
            notes.append(f"{subject} was left out: its cells are numbers with {cut(column.unit)!r}. To use it, {UNIT_ADVICE}.")
            continue
        notes.append(f"{subject} was left out: {column.distinct_values}, like an id. To use it: --categorical {option}")
    return tuple(notes)


def constant_notes(
    names: Sequence[str], *, all_of_them: bool = False, missing: Mapping[str, int] | None = None, rows: int = 0
) -> tuple[str, ...]:
    """The note on columns that were dropped, because all training rows have the same value or none.

    `missing`: the number of missing cells of each column.
    """
    if all_of_them:
        return ("All columns are constant: the model can only guess the most frequent class.",)
    if not names:
        return ()
    lost = {name: n for name, n in (missing or {}).items() if n}
    words = {name: " (no values)" if n == rows else f" (missing in {plural(n, 'row')})" for name, n in lost.items()}
    listed = comma_list([f"{name!r}{words.get(name, '')}" for name in names], MAX_CONSTANT_LISTED)
    if any(lost.get(name, rows) < rows for name in names):
        listed += ". To use what is missing: --missing-indicator"
    return (f"Constant {'column' if len(names) == 1 else 'columns'} dropped: {listed}.",)


def date_notes(dates: Mapping[str, str]) -> tuple[str, ...]:
    """The note on the features of dates and times besides the numbers as which they are read."""
    cycles = [name for name in CYCLES if any(name in KINDS[kind] for kind in dates.values())]
    if not cycles:
        return ()
    where = join_and([CYCLE_WORDS[name] for name in cycles])
    return (f"Features were added for the position in the {where}: {quoted_list(list(dates))}.",)


def missing_notes(
    numbers: Mapping[str, int], fill: str, indicator: bool, strings: Sequence[Categories | TextFeatures], lost: Sequence[int]
) -> tuple[str, ...]:
    """The note on missing cells: the columns and their counts, and what became of the cells."""
    categories = {block.name: n for block, n in zip(strings, lost, strict=True) if n and isinstance(block, Categories)}
    words = {block.name: n for block, n in zip(strings, lost, strict=True) if n and isinstance(block, TextFeatures)}
    also = " and marked by a feature" if indicator else ""
    kinds = (
        (numbers, f"filled with the column {fill}{also}"),
        (categories, f"category {MISSING!r}"),
        (words, "text without words"),
    )
    parts = [
        f"{comma_list([f'{name!r} {count(n)}' for name, n in columns.items()], MAX_COLUMNS_LISTED)} ({what})"
        for columns, what in kinds
        if columns
    ]
    return (f"Missing cells: {'; '.join(parts)}.",) if parts else ()
