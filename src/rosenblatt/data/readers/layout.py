"""What the columns of a table are, from its first rows and what a person said: names, the labels, numbers or text.

Header    The first row is names where it holds one that was said; where some columns hold numbers below it and it has none in
          half of them or more; or, where no column holds numbers, where it holds a usual name of a label, or something new
          over a column whose values recur.
Labels    The column that was said; else one with a usual name, y beside x and others being a coordinate; else the last, else
          the first, if it looks like labels: text or whole numbers of which few are distinct and some recur.
Kinds     A column is numbers where all its cells are; text where most are not. In between, a cell is an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ...reporting.text import quoted_list
from ..read_options import Options
from ..table import NOT_FINITE, Data, DataError, Table, number
from .cells import MISSING

NUMBER, TEXT, FREE, LEFT_OUT = 0, 1, 2, 3  # FREE: text where nothing counts as missing
LABEL_NAMES = ("label", "target", "class", "y", "category", "outcome")
LISTED = 6

Cells = Sequence[Sequence[bytes]]


@dataclass(frozen=True)
class Layout:
    header: bool
    names: tuple[str, ...]  # of all columns of the file
    kinds: tuple[int, ...]
    features: tuple[int, ...]  # the columns of the table, in its order
    label: int | None
    note: str | None
    text: tuple[str, ...] = ()  # columns that were said to be text, by name
    categorical: tuple[str, ...] = ()  # or names

    def place(self, column: int) -> str:
        """What messages call a column, after the word column."""
        return self.names[column].removeprefix("column ")


def lay_out(source: str, rows: Cells, options: Options) -> Layout:
    """`rows` are the first of a file, at least one, all of one length."""
    below = [_counts([row[c] for row in rows[1:]]) for c in range(len(rows[0]))]
    header = _has_header(rows, below, options) if options.header is None else options.header
    body = rows[1:] if header else rows
    if not body:
        raise DataError(source, "there are no rows in it, only names")
    names = _names(source, rows[0] if header else None, len(rows[0]))
    left_out = {find_column(source, names, said, "to ignore") for said in options.ignore}
    if len(names) > 2 and not any(row[-1] for row in rows):  # every line ends with a delimiter
        left_out.add(len(names) - 1)
    free = {find_column(source, names, said, "of text") for said in options.text if _there(names, said, options)}
    fixed = {find_column(source, names, said, "of categories") for said in options.categorical if _there(names, said, options)}
    notes = []
    label: int | None
    if options.wanted is None and options.label is None and len(names) - len(left_out) == options.width:
        label, features = None, [c for c in range(len(names)) if c not in left_out]
    elif options.wanted is None:
        label, why = _label(source, names, body, options.label, left_out)
        if label in left_out:
            raise DataError(source, f"the column of labels, {names[label]!r}, cannot be ignored")
        features = [c for c in range(len(names)) if c != label and c not in left_out]
        if not features:
            raise DataError(source, "there is no column beside the labels")
        notes.append(why)
    else:
        label = _label_of_wanted(source, names, options)
        names, features = _wanted(source, names, options.wanted, label, header)
    kinds, used = [], {label, *features}
    for c in range(len(names)):
        if c not in used:
            kinds.append(LEFT_OUT)
        elif c in free:
            kinds.append(FREE)
        else:
            known, numbers = below[c] if header else map(sum, zip(below[c], _counts(rows[0][c : c + 1]), strict=True))
            # Labels stay as they are written: 01 is not 1.
            kinds.append(TEXT if c == label or c in fixed or 2 * numbers < known else NUMBER)
    if options.header is None:
        notes.append("the first line is names" if header else "there is no line of names")
    text, categorical = (tuple(names[c] for c in sorted(said)) for said in (free, fixed))
    return Layout(header, names, tuple(kinds), tuple(features), label, "; ".join(notes) or None, text, categorical)


def find_column(source: str, names: Sequence[str], said: str, what: str) -> int:
    """A column by its name, or by its position from 0, or from the end where it is negative."""
    if said in names:
        return names.index(said)
    try:
        position = int(said)
    except ValueError:
        position = len(names)
    if not -len(names) <= position < len(names):
        shown = ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED:,} more" if len(names) > LISTED else "")
        raise DataError(source, f"there is no column {said!r} {what}; the columns are {shown}", headers=names)
    return position % len(names)


def _there(names: Sequence[str], said: str, options: Options) -> bool:
    """What a model knows of the column of its labels may be said of files without labels."""
    return options.wanted is None or said in names


def is_number(cell: bytes) -> bool:
    return number(cell) is not None


def _counts(cells: Sequence[bytes]) -> tuple[int, int]:
    """How many cells are not missing, and how many of those are meant as numbers."""
    known = [cell for cell in cells if cell not in MISSING]
    return len(known), sum(is_number(cell) or NOT_FINITE.fullmatch(cell) is not None for cell in known)


def _has_header(rows: Cells, below: list[tuple[int, int]], options: Options) -> bool:
    first, body = rows[0], rows[1:]
    if not body:
        return False
    names = {cell.decode("utf-8", "replace") for cell in first}
    said = {options.label or "", *options.ignore, *options.text, *options.categorical}
    if any(name in names and not is_number(name.encode()) for name in said if name):
        return True
    if options.wanted is not None and names >= set(options.wanted):
        return True
    numeric = [c for c, (known, numbers) in enumerate(below) if 0 < known == numbers]
    if numeric:
        named = sum(first[c] not in MISSING and not is_number(first[c]) for c in numeric)
        return 2 * named >= len(numeric)
    if any(cell in MISSING or is_number(cell) for cell in first) or len(set(first)) < len(first):
        return False
    if any(_named(cell) for cell in first):
        return True
    columns = ({row[c] for row in body} for c in range(len(first)))
    return any(len(values) <= len(body) // 2 and name not in values for name, values in zip(first, columns, strict=True))


def _named(cell: bytes) -> bool:
    """Whether it is a usual name of labels."""
    return cell.decode("utf-8", "replace").casefold() in LABEL_NAMES


def _names(source: str, first: Sequence[bytes] | None, width: int) -> tuple[str, ...]:
    if first is None:
        return tuple(f"column {c}" for c in range(width))
    names = tuple(cell.decode("utf-8", "replace") or f"column {c}" for c, cell in enumerate(first))
    if len(set(names)) < width:
        twice = next(name for c, name in enumerate(names) if name in names[:c])
        raise DataError(source, f"two columns are named {twice!r}: rename one", 1)
    return names


def _label(source: str, names: Sequence[str], body: Cells, said: str | None, left_out: set[int]) -> tuple[int, str]:
    if said is not None:
        found = find_column(source, names, said, "of labels")
        return found, f"labels: {names[found]}, as said"
    free = [c for c in range(len(names)) if c not in left_out]
    usual = usual_label(names, free)
    if usual is not None:
        return usual, f"labels: {names[usual]}, by its name"
    for which in (-1, 0):
        if len(free) > 1 and _like_labels([row[free[which]] for row in body]):
            found = free[which]
            return found, f"labels: {names[found]}, the {'first' if which == 0 else 'last'} column, which looks like labels"
    sentence = "it is not clear which column is the labels: say --label NAME (or its position, from 0)"
    raise DataError(source, sentence, headers=names)


def usual_label(names: Sequence[str], columns: Sequence[int]) -> int | None:
    """The one of the columns that has a usual name of labels. Beside an x, y is the other coordinate, if there is more.

    >>> usual_label(["x", "y"], [0, 1]), usual_label(["x", "y", "colour"], [0, 1, 2]), usual_label(["y", "a", "b"], [0, 1, 2])
    (1, None, 0)
    """
    called = {c: names[c].casefold() for c in columns}
    coordinate = "y" if len(called) > 2 and "x" in called.values() else None
    usual = [c for c, name in called.items() if name in LABEL_NAMES and name != coordinate]
    return min(usual, key=lambda c: LABEL_NAMES.index(called[c]), default=None)


def _like_labels(cells: Sequence[bytes]) -> bool:
    distinct = set(cells)
    if any(cell in MISSING for cell in distinct):
        return False
    numbers = all(map(is_number, distinct))
    if numbers and not all(float(cell).is_integer() for cell in distinct):
        return False
    return few_enough(len(distinct), len(cells), numbers)


def few_enough(distinct: int, rows: int, numbers: bool) -> bool:
    """Whether so many different cells among the first rows could be classes: some recur, and numbers may be counts instead."""
    most = min(50, rows // 4) if numbers else max(20, rows // 10)
    return distinct <= max(2, min(most, rows // 2))


def _label_of_wanted(source: str, names: Sequence[str], options: Options) -> int | None:
    """Labels are welcome in a file for a model, but need not be there."""
    wanted = set(options.wanted or ())
    if options.label is not None:
        try:
            found = find_column(source, names, options.label, "of labels")
        except DataError:
            return None
        return None if names[found] in wanted else found
    return next((c for c, name in enumerate(names) if name.casefold() in LABEL_NAMES and name not in wanted), None)


def _wanted(
    source: str, names: tuple[str, ...], wanted: tuple[str, ...], label: int | None, header: bool
) -> tuple[tuple[str, ...], list[int]]:
    """The names of the columns and where the wanted ones are; in a file without names, by their number."""
    where = {name: c for c, name in enumerate(names)}
    absent = [name for name in wanted if name not in where]
    if not absent:
        return names, [where[name] for name in wanted]
    rest = [c for c in range(len(names)) if c != label]
    if not header and len(rest) == len(wanted):
        renamed = dict(zip(rest, wanted, strict=True))
        return tuple(renamed.get(c, name) for c, name in enumerate(names)), rest
    if not header:
        raise DataError(source, f"the model reads {len(wanted):,} columns, but there are {len(names):,}, without names")
    shown = ", ".join(absent[:LISTED]) + (f" and {len(absent) - LISTED:,} more" if len(absent) > LISTED else "")
    raise DataError(source, f"the model reads columns that are not there: {shown}")


# --- Which column of a table is what, where columns have names and cells have types: JSON lines, Parquet and Arrow.
#
# The rules are those of `layout.py` for delimited files. What a column is like is judged by its first 1,000 rows, so that a
# file that is read in chunks is read the same way.

SAMPLE = 1_000  # rows


@dataclass(frozen=True)
class TypedLayout:
    """Where a table's labels and features are, as indices into its columns."""

    label: int | None
    features: tuple[int, ...]
    names: tuple[str, ...]  # of the features
    label_name: str | None
    headers: tuple[str, ...]  # of all columns
    written: frozenset[int]  # columns that are text or names whatever their cells look like
    text: tuple[str, ...] = ()  # those that were said to be text, by name
    categorical: tuple[str, ...] = ()  # or names


def lay_out_typed(source: str, names: Sequence[str], options: Options, sample: Callable[[int], Any]) -> TypedLayout:
    """Which columns are the labels and the features; `sample(i)` gives the first cells of column i."""
    check_names(source, names)
    if options.wanted is not None:
        return _as_wanted(source, names, options)
    ignored = {find_column(source, names, key, "to ignore") for key in options.ignore}
    unlabelled = options.label is None and len(names) - len(ignored) == options.width
    label = None if unlabelled else _typed_label(source, names, options, ignored, sample)
    features = tuple(i for i in range(len(names)) if i != label and i not in ignored)
    if not features:
        raise DataError(source, "there is no column besides the labels")
    text = {find_column(source, names, key, "of text") for key in options.text}
    fixed = {find_column(source, names, key, "of categories") for key in options.categorical}
    said = (tuple(names[i] for i in sorted(which)) for which in (text, fixed))
    return TypedLayout(
        label,
        features,
        tuple(names[i] for i in features),
        None if label is None else names[label],
        tuple(names),
        frozenset(text | fixed),
        *said,
    )


def check_names(source: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for at, name in enumerate(names, 1):
        if name in seen:
            raise DataError(source, f"two columns are called {name!r}", column=at)
        seen.add(name)


def looks_like_labels(cells: Any) -> bool:
    """Whether the first cells of a column could be classes: none missing, few different ones, whole if they are numbers."""
    if not len(cells):
        return False
    numbers = cells.dtype.kind == "f"
    if numbers and not (np.isfinite(cells).all() and (cells == np.round(cells)).all()):
        return False
    if not numbers and any(cell is None or len(cell) > 100 for cell in cells):
        return False
    return few_enough(len(set(cells.tolist())), len(cells), numbers)


def _typed_label(source: str, names: Sequence[str], options: Options, ignored: set[int], sample: Callable[[int], Any]) -> int:
    if options.label is not None:
        label = find_column(source, names, options.label, "of labels")
        if label in ignored:
            raise DataError(source, f"the column of labels, {names[label]!r}, cannot be ignored")
        return label
    left = [i for i in range(len(names)) if i not in ignored]
    usual = usual_label(names, left)
    if usual is not None:
        return usual
    for i in (left[-1], left[0]) if len(left) > 1 else ():
        if looks_like_labels(sample(i)):
            return i
    sentence = f"which column has the labels cannot be told: say it with --label; there are {quoted_list(names)}"
    raise DataError(source, sentence, headers=names)


def _as_wanted(source: str, names: Sequence[str], options: Options) -> TypedLayout:
    """The columns that a model reads, in its order; the labels where they are there."""
    wanted, label = options.wanted or (), None
    places = {name: i for i, name in enumerate(names)}
    if options.label is not None:
        with contextlib.suppress(DataError):
            label = find_column(source, names, options.label, "of labels")
    else:
        label = next((i for i, name in enumerate(names) if name.casefold() in LABEL_NAMES and name not in wanted), None)
    absent = [name for name in wanted if name not in places]
    if absent:
        raise DataError(source, f"there is no column {absent[0]!r}, which the model reads; there are {quoted_list(names)}")
    features = tuple(places[name] for name in wanted)
    if label in features:
        label = None
    forced = {*options.text, *options.categorical}
    written = frozenset(i for i, name in zip(features, wanted, strict=True) if name in forced)
    return TypedLayout(label, features, tuple(wanted), None if label is None else names[label], tuple(names), written)


def missing_cell(source: str, name: str, line: int | None, row: int | None = None, *, label: bool = False) -> DataError:
    where = "" if row is None else f" in row {row:,}"
    if label:
        return DataError(source, f"there is no label{where}", line, name)
    return DataError(source, f"there is no value{where}: leave the column out, or fill it with --missing mean", line, name)


def joined(parts: list[Data]) -> Data:
    """Chunks of one table, one below the other."""
    if len(parts) == 1:
        return parts[0]
    head = parts[0]
    tables = [cast(Table, part.features) for part in parts]
    columns = tuple(np.concatenate([table.columns[j] for table in tables]) for j in range(len(tables[0].names)))
    labels = None if head.labels is None else np.concatenate([part.labels for part in parts])
    return replace(head, features=Table(tables[0].names, columns), labels=labels)
