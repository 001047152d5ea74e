"""The layout of a table: whether it has a header, its label column, and the type of each column.

The layout is found from the first rows and the user's options.

Header    The first row is a header in any of these cases: it contains a column name given in the options; there are columns of
          numbers below it (if none has numbers alone, those with one other cell, or a tenth), and its cell is a name in at
          least half of them, or in one of them and no cell of the row is a number; or there are no columns of numbers, and it
          contains a common label name, or a value that does not occur below it in a column of recurring values, or it is the
          only line.
Label     The label is the column given by the user, else a column with a common label name, else the last or the first column
          if it looks like labels: text or integers with few distinct values. A column y is a coordinate and not the label if
          there are a column x and a third column.
Types     See `kinds.py`.

Formats with typed cells (JSON, Parquet, Arrow) follow the same rules, see `typed_layout.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from ...array_types import Array
from ...reporting.text import comma_list, count, plural, quoted_list
from ..table import Data, DataError, Table
from . import Options
from .cells import DEFAULT_DELIMITER, ENCODING_ADVICE, ENCODING_OPTION, MISSING, SEVERAL_LABELS, WORDS
from .kinds import Form, Kind, Survey, choose_forms, describe_forms, is_number, is_value, stored_form, survey

LABEL_NAMES = ("label", "target", "class", "y", "category", "outcome")
MAX_COLUMNS_LISTED = 6
MAX_LABEL_CHARS = 100
MIN_LABELED = 0.5  # of the cells of a column that is taken for the labels though some are missing
# Command-line options that error messages name.
LABEL_OPTION = "--label"
MISSING_OPTION, MISSING_ADVICE = (
    "--missing auto",
    "use --missing auto to fill missing cells, or --ignore to leave the column out",
)
MODEL_MISSING_OPTION, MODEL_MISSING_ADVICE = "--missing fill", "use --missing fill to fill it as the training rows show"
ONE_COLUMN = "the lines have one cell; the cells of a row must be separated by commas, semicolons, tabs, pipes or blanks"
SEP_OPTION, SEP_ADVICE = "--sep", "use --sep for any other character"
EMPTY_ADVICE = "leave the cell empty if its value is missing"
LABEL_ADVICE = "delete the rows without a label, or use --label for another column"

Cells = Sequence[Sequence[bytes]]


# --- Column names


def find_column(source: str, names: Sequence[str], key: str, role: str) -> int:
    """Find a column by its name or its position. Positions count from 0; negative ones count from the end."""
    if key in names:
        return names.index(key)
    try:
        position = int(key)
    except ValueError:
        position = len(names)
    if not -len(names) <= position < len(names):
        several = [name.strip() for name in key.split(",")]
        if role == "of labels" and len(several) > 1 and set(several) <= set(names):
            raise DataError(source, f"--label names one column, got {len(several)}: {SEVERAL_LABELS}", headers=names)
        alike = next((name for name in names if name.casefold() == key.casefold()), None)
        sentence = f"there is no column {key!r} {role}; columns: {comma_list(names, MAX_COLUMNS_LISTED)}"
        if alike is not None:
            sentence = f"there is no column {key!r} {role}, but there is {alike!r}"
        raise DataError(source, sentence, headers=names)
    return position % len(names)


def _find_columns(source: str, names: Sequence[str], keys: Iterable[str], role: str, options: Options) -> set[int]:
    """Find columns by name or position. If the file is read for a model, names that it lacks are skipped."""
    return {find_column(source, names, key, role) for key in keys if options.required is None or key in names}


def missing_columns(source: str, absent: Sequence[str], names: Sequence[str]) -> DataError:
    noun = "columns" if len(absent) > 1 else "column"
    missing, present = comma_list(absent, MAX_COLUMNS_LISTED), comma_list(names, MAX_COLUMNS_LISTED)
    if {name.casefold() for name in absent} <= {name.casefold() for name in names}:
        sentence = f"the names of columns differ in case from those of the model: {missing} (columns: {present})"
        return DataError(source, sentence, advice="rename them in the header")
    return DataError(source, f"missing {noun} required by the model: {missing} (columns: {present})")


def may_be_absent(absent: Sequence[str], options: Options) -> bool:
    """Whether a file for a model may lack these columns: at most half of all."""
    return options.fill_absent and 2 * len(absent) <= len(options.required or ())


def check_names(source: str, names: Sequence[str], line: int | None = None) -> None:
    """Raise DataError if two columns have the same name."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(source, f"two columns are named {name!r}; rename one", line)
        seen.add(name)


# --- Labels


def named_label(names: Sequence[str], columns: Sequence[int]) -> int | None:
    """The column with a common label name. A column y is a coordinate if there are a column x and a third column.

    >>> named_label(["x", "y"], [0, 1]), named_label(["x", "y", "color"], [0, 1, 2]), named_label(["y", "a", "b"], [0, 1, 2])
    (1, None, 0)
    """
    folded = {c: names[c].casefold() for c in columns}
    coordinate = "y" if len(folded) > 2 and "x" in folded.values() else None
    usual = [c for c, name in folded.items() if name in LABEL_NAMES and name != coordinate]
    return min(usual, key=lambda c: LABEL_NAMES.index(folded[c]), default=None)


def _is_label_name(name: str) -> bool:
    return name.casefold() in LABEL_NAMES


def few_distinct(distinct: int, rows: int, numbers: bool) -> bool:
    """Whether there are few enough distinct cells for classes. The limit is lower for numbers, which may be counts."""
    limit = min(50, rows // 4) if numbers else max(20, rows // 10)
    return distinct <= max(2, min(limit, rows // 2))


def looks_like_labels(cells: Array, some_missing: bool = False) -> bool:
    """Whether the cells of a typed column could be classes: none is missing, few are distinct, and numbers are integers.

    `some_missing`: as if those that are missing were not there, if they are few.
    """
    if not len(cells):
        return False
    if some_missing:
        known = cells[~np.isnan(cells)] if cells.dtype.kind == "f" else cells[np.array([cell is not None for cell in cells])]
        return MIN_LABELED * len(cells) <= len(known) < len(cells) and looks_like_labels(known)
    numbers = cells.dtype.kind == "f"
    if numbers and not (np.isfinite(cells).all() and (cells == np.round(cells)).all()):
        return False
    if not numbers and any(cell is None or len(cell) > MAX_LABEL_CHARS for cell in cells):
        return False
    return few_distinct(len(set(cells.tolist())), len(cells), numbers)


def _cells_look_like_labels(cells: Sequence[bytes], some_missing: bool = False) -> bool:
    """Whether cells could be classes; `some_missing`: as if those that are missing were not there, if they are few."""
    if some_missing:
        known = [cell for cell in cells if cell not in WORDS]
        return MIN_LABELED * len(cells) <= len(known) < len(cells) and _cells_look_like_labels(known)
    distinct = set(cells)
    if not WORDS.isdisjoint(distinct):
        return False
    numbers = all(map(is_number, distinct))
    if numbers and not all(float(cell).is_integer() for cell in distinct):
        return False
    return few_distinct(len(distinct), len(cells), numbers)


def find_label(
    source: str, names: Sequence[str], key: str | None, ignored: set[int], looks_like: Callable[[int, bool], bool]
) -> tuple[int, str]:
    """The label column and how it was found.

    `looks_like(c, some_missing)`: whether column c looks like labels, all of them there, or some of them missing.
    """
    if key is not None:
        label = find_column(source, names, key, "of labels")
        if label in ignored:
            raise DataError(source, f"the label column {names[label]!r} cannot be ignored")
        return label, "as given"
    columns = [c for c in range(len(names)) if c not in ignored]
    named = named_label(names, columns)
    if named is not None:
        return named, "by its name; change with --label"
    for c, place, some_missing in ((-1, "last", False), (0, "first", False), (-1, "last", True)) if len(columns) > 1 else ():
        if looks_like(columns[c], some_missing):
            return columns[c], f"the {place} column; change with --label"
    advice = f"use --label with its name or its position from 0 (columns: {quoted_list(names)})"
    raise DataError(source, "cannot tell which column is the label", headers=names, option=LABEL_OPTION, advice=advice)


def find_optional_label(source: str, names: Sequence[str], options: Options) -> int | None:
    """The label column of a file that is read for a model, if there is one."""
    required = options.required or ()
    if options.label is None:
        return next((c for c, name in enumerate(names) if _is_label_name(name) and name not in required), None)
    with contextlib.suppress(DataError):
        label = find_column(source, names, options.label, "of labels")
        return None if names[label] in required else label
    return None


# --- Delimited files


@dataclass(frozen=True)
class Layout:
    """The columns of a delimited file."""

    header: bool
    names: tuple[str, ...]  # names of all columns of the file
    kinds: tuple[Kind, ...]
    features: tuple[int, ...]  # positions of the feature columns, in the order of the table
    label: int | None
    note: str | None  # a message for the user: how the label and the header were found
    text: tuple[str, ...] = ()  # names of the columns declared as text
    categorical: tuple[str, ...] = ()  # names of the columns declared as categorical
    forms: Mapping[int, Form] = field(default_factory=dict)  # of the columns of dates and of formatted numbers
    missing: Mapping[int, frozenset[bytes]] = field(default_factory=dict)  # the cells that are missing in columns of text

    def place(self, column: int) -> str:
        """The name of a column for messages, which put the word "column" before it."""
        return self.names[column].removeprefix("column ")


def lay_out(source: str, rows: Cells, options: Options, delimiter: bytes = DEFAULT_DELIMITER) -> Layout:
    """Find the layout of a file from its first rows: at least one, all of the same length."""
    others = [row for row in rows[1:] if row != rows[0]] or rows[1:]  # a header may be repeated
    below = [survey([row[c] for row in others], options) for c in range(len(rows[0]))]
    header = _has_header(rows, below, options) if options.header is None else options.header
    body = rows[1:] if header else rows
    if not body:
        raise DataError(source, "the file has a header but no rows", advice="if its only line is a row, use --no-header")
    names = _column_names(source, rows[0] if header else None, len(rows[0]))
    if len(names) == 1 and options.label is None and options.required is None and options.required_width is None:
        if options.sep is not None:  # the lines have one cell
            sentence = f"the lines have no {options.sep!r}, which --sep names"
            raise DataError(
                source, sentence, option=SEP_OPTION, advice="leave out --sep, or use the character between the cells"
            )
        raise DataError(source, ONE_COLUMN, option=SEP_OPTION, advice=SEP_ADVICE)
    ignored = {find_column(source, names, key, "to ignore") for key in options.ignore}
    for c in (0, len(names) - 1) if len(names) > 2 else ():  # every line begins or ends with a delimiter
        ignored |= set() if any(row[c] for row in rows) else {c}
    free = _find_columns(source, names, options.text, "of text", options)
    categorical = _find_columns(source, names, options.categorical, "of categories", options)
    notes: list[str] = []
    label: int | None
    if options.required is not None:
        label = find_optional_label(source, names, options)
        names, features = _required_columns(source, names, options, label, header)
    elif options.label is None and len(names) - len(ignored) == options.required_width:
        label, features = None, [c for c in range(len(names)) if c not in ignored]
    else:
        label, how = find_label(
            source, names, options.label, ignored, lambda c, some: _cells_look_like_labels([row[c] for row in body], some)
        )
        features = [c for c in range(len(names)) if c != label and c not in ignored]
        notes.append(f"label column: {names[label]} ({how})")
    if options.header is None:
        notes.append("header found" if header else "no header found")
    surveys = below if header else [survey([row[c] for row in rows], options) for c in range(len(names))]
    used = {label, *features}
    fixed = {c: Kind.UNUSED for c in range(len(names)) if c not in used}
    fixed |= dict.fromkeys([*(categorical & used), *([] if label is None else [label])], Kind.TEXT) | dict.fromkeys(
        free & used, Kind.FREE_TEXT
    )
    kinds, forms = _find_kinds(names, body, fixed, surveys, options, delimiter)
    dates = [c for c, form in forms.items() if form.kind != "number"]
    if options.dates == "ignore" and options.required is None and dates:
        features = [c for c in features if c not in dates]
        kinds = [Kind.UNUSED if c in dates else kind for c, kind in enumerate(kinds)]
        notes.append(f"dates left out: {quoted_list([names[c] for c in dates])}")
        forms = {c: form for c, form in forms.items() if c not in dates}
    notes += describe_forms({names[c]: form for c, form in forms.items()})
    if not features and options.required is None:
        raise DataError(source, "there is no column besides the label")
    text, categories = (tuple(names[c] for c in sorted(columns)) for columns in (free, categorical))
    missing = {c: missing_cells(names[c], [row[c] for row in body], options) for c in features if kinds[c] == Kind.TEXT}
    missing |= {} if label is None else {label: WORDS}
    note = "; ".join(notes) or None
    return Layout(header, names, tuple(kinds), tuple(features), label, note, text, categories, forms, missing)


def _find_kinds(
    names: Sequence[str], body: Cells, fixed: Mapping[int, Kind], surveys: Sequence[Survey], options: Options, delimiter: bytes
) -> tuple[list[Kind], dict[int, Form]]:
    """The kind of each column, unless it is fixed, and the forms of those that have one."""
    kinds, free = dict(fixed), []
    forms: dict[int, Form] = {}
    for c, name in enumerate(names):
        if c in fixed:
            continue
        if name in options.numeric:  # a model reads the column as in its training file
            form = stored_form(name, [row[c] for row in body], options)
            kinds[c] = Kind.NUMBER if form is None else Kind.FORMATTED
            forms |= {} if form is None else {c: form}
        else:
            free.append(c)
    columns = {c: [row[c] for row in body] for c in free}
    for c, (kind, form) in choose_forms(columns, {c: surveys[c] for c in free}, options, delimiter == b";").items():
        kinds[c] = kind
        forms |= {} if form is None else {c: form}
    return [kinds[c] for c in range(len(names))], forms


def missing_cells(name: str, cells: Sequence[bytes], options: Options) -> frozenset[bytes]:
    """The cells that are missing in a categorical column."""
    if options.required is not None:
        return MISSING - {value.encode() for value in options.values.get(name, ())}
    return WORDS if b"+" in cells else MISSING


def _has_header(rows: Cells, below: Sequence[Survey], options: Options) -> bool:
    first, body = rows[0], rows[1:]
    names = {cell.decode("utf-8", "replace") for cell in first}
    given = {options.label or "", *options.ignore, *options.text, *options.categorical}
    if any(name in names and not is_number(name.encode()) for name in given if name):
        return True
    if options.required and 2 * len(names & set(options.required)) >= len(options.required):
        return True
    numeric = [c for c, found in enumerate(below) if found.all_values] or [
        c for c, found in enumerate(below) if found.most_values
    ]
    if numeric:
        named = [not is_value(first[c]) for c in numeric if first[c] not in MISSING]
        return 2 * sum(named) >= len(numeric) or (any(named) and not any(map(is_value, first)))
    if any(cell in MISSING or is_value(cell) for cell in first) or len(set(first)) < len(first):
        return False
    if any(map(_is_label_name, names)):
        return True
    if not body:  # a single line: a row if a model reads it, else a header
        return options.required is None and options.required_width is None
    columns = ({row[c] for row in body} for c in range(len(first)))
    return any(len(values) <= len(body) // 2 and name not in values for name, values in zip(first, columns, strict=True))


def _column_names(source: str, first: Sequence[bytes] | None, width: int) -> tuple[str, ...]:
    if first is None:
        return tuple(f"column {c}" for c in range(width))
    names = header_names(source, first)
    check_names(source, names, line=1)
    return names


def header_names(source: str, cells: Sequence[bytes]) -> tuple[str, ...]:
    """The names of columns in a header."""
    return tuple(_decode_name(source, cell, c) or f"column {c}" for c, cell in enumerate(cells))


def _decode_name(source: str, cell: bytes, column: int) -> str:
    try:
        return cell.decode()
    except UnicodeDecodeError:
        sentence = f"the name of column {column} is not UTF-8"
        raise DataError(source, sentence, line=1, option=ENCODING_OPTION, advice=ENCODING_ADVICE) from None


def _required_columns(
    source: str, names: tuple[str, ...], options: Options, label: int | None, header: bool
) -> tuple[tuple[str, ...], list[int]]:
    """The names of all columns and the positions of the required ones; of a file with a header, some may be absent.

    Without a header, the columns other than the label are taken as the required ones, in their order.
    """
    position = {name: c for c, name in enumerate(names)}
    required = options.required or ()
    absent = [name for name in required if name not in position]
    if not absent or (header and may_be_absent(absent, options)):
        return names, [position[name] for name in required if name in position]
    rest = [c for c in range(len(names)) if c != label]
    if not header and len(rest) == len(required):
        renamed = dict(zip(rest, required, strict=True))
        return tuple(renamed.get(c, name) for c, name in enumerate(names)), rest
    if not header:
        raise DataError(
            source, f"the model requires {plural(len(required), 'column')}; the file has {count(len(names))} and no header"
        )
    raise missing_columns(source, absent, names)


# --- What readers share


def missing_cell(
    source: str, name: str, line: int | None, row: int | None = None, *, label: bool = False, model: bool = False
) -> DataError:
    """The error for a missing cell of a column; `model`: the file is read for one."""
    if label:
        return DataError(source, "the label is missing", line, name, row=row, option=LABEL_OPTION, advice=LABEL_ADVICE)
    option, advice = (MODEL_MISSING_OPTION, MODEL_MISSING_ADVICE) if model else (MISSING_OPTION, MISSING_ADVICE)
    return DataError(source, "the value is missing", line, name, row=row, option=option, advice=advice)


def other_kind_advice(name: str, alike: bool = False) -> str:
    """What to do about a cell of another kind than its column; `alike`: a number that is written otherwise."""
    first = "write all cells of the column alike" if alike else EMPTY_ADVICE
    return f"{first}, or use --categorical {name!r} or --ignore {name!r}"


def join_chunks(chunks: list[Data]) -> Data:
    """Join the chunks of a table."""
    if len(chunks) == 1:
        return chunks[0]
    head = chunks[0]
    tables = [cast(Table, chunk.features) for chunk in chunks]
    columns = tuple(np.concatenate([table.columns[j] for table in tables]) for j in range(len(tables[0].names)))
    labels = None if head.labels is None else np.concatenate([chunk.labels for chunk in chunks])
    lines = None if head.lines is None else [line for chunk in chunks for line in chunk.lines or ()]
    return replace(head, features=Table(tables[0].names, columns), labels=labels, lines=lines, losses=chunks[-1].losses)
