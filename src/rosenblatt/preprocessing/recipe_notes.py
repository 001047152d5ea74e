"""Notes about a recipe for the user: one sentence for each thing that was found or decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..data.table import vanishes
from ..reporting.text import comma_list, count, cut
from .categorical import MISSING, Categories, Words
from .statistics import MAX_WORDS_COUNTED, IdCheck, StringStatistics

MAX_COLUMNS_LISTED = 20
MAX_CONSTANT_LISTED = 8


def string_notes(blocks: Sequence[Categories | Words], statistics: dict[str, StringStatistics]) -> tuple[str, ...]:
    notes = []
    for block in blocks:
        if isinstance(block, Words):
            limit = f", of the first {count(MAX_WORDS_COUNTED)} distinct words" if statistics[block.name].truncated else ""
            notes.append(f"Column {block.name!r} is text: {count(block.width)} words that occur in at least two rows{limit}.")
    categorical = [block for block in blocks if not isinstance(block, Words)]
    if categorical:
        sizes = [f"{block.name!r} ({count(block.width)})" for block in categorical]
        notes.append(f"Categorical columns were one-hot encoded: {comma_list(sizes, MAX_COLUMNS_LISTED)}.")
    for name, column in statistics.items():
        if column.unread_number is not None:
            reason = f"because {cut(column.unread_number)!r} is not a number"
            notes.append(f"Column {name!r} looks numeric but is categorical, {reason}: use decimal points and no units.")
    return tuple(notes)


def id_notes(numeric: Sequence[str], ids: dict[str, IdCheck], losses: dict[str, str]) -> tuple[str, ...]:
    notes = []
    for name in numeric:
        if name in losses and vanishes(losses[name]):
            example = f"Column {name!r} has numbers that are too small for floats, such as {cut(losses[name])}"
            notes.append(f"{example}: they are read as 0.")
        elif name in losses:
            example = f"Column {name!r} looks like an identifier (such as {cut(losses[name])}), but is read as numbers."
            notes.append(f"{example} To exclude it: --ignore {name!r}; as categories: --categorical {name!r}")
        elif ids[name].looks_like_id:
            notes.append(f"Column {name!r} looks like a row id. To exclude it: --ignore {name!r}")
    return tuple(notes)


def loss_notes(losses: dict[str, str]) -> tuple[str, ...]:
    """Notes on columns without names."""
    return tuple(
        f"Column {name} has numbers that are too small for floats, such as {cut(text)}: they are read as 0."
        if vanishes(text)
        else f"Column {name} looks like an identifier: floats do not hold integers such as {cut(text)}."
        for name, text in losses.items()
    )


def constant_notes(names: Sequence[str], *, all_of_them: bool = False) -> tuple[str, ...]:
    """The note on columns that were dropped, because all training rows have the same value or none."""
    if all_of_them:
        return ("All columns are constant: the model can only guess the most frequent class.",)
    if not names:
        return ()
    listed = comma_list([repr(name) for name in names], MAX_CONSTANT_LISTED)
    return (f"Constant {'column' if len(names) == 1 else 'columns'} dropped: {listed}.",)


def date_notes(dates: Mapping[str, str]) -> tuple[str, ...]:
    """The note on columns of dates and times."""
    if not dates:
        return ()
    listed = comma_list([f"{name!r} ({kind})" for name, kind in dates.items()], MAX_COLUMNS_LISTED)
    return (f"Dates became numbers of days and positions in the day, week and year: {listed}.",)


def missing_notes(
    numbers: Mapping[str, int], fill: str, indicator: bool, strings: Sequence[Categories | Words], lost: Sequence[int]
) -> tuple[str, ...]:
    """The note on missing cells: the columns and their counts, and what became of the cells."""
    categories = {block.name: n for block, n in zip(strings, lost, strict=True) if n and isinstance(block, Categories)}
    words = {block.name: n for block, n in zip(strings, lost, strict=True) if n and isinstance(block, Words)}
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
