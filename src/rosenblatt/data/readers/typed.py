"""Which column of a table is what, where columns have names and cells have types: JSON lines, Parquet and Arrow.

The rules are those of `layout.py` for delimited files. What a column is like is judged by its first 1,000 rows, so that a file
that is read in chunks is read the same way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ...reporting.sentences import listed
from ..options import Options
from ..table import Data, DataError, Table
from .layout import LABEL_NAMES, few_enough, find_column, usual_label

SAMPLE = 1_000  # rows


@dataclass(frozen=True)
class Layout:
    """Where a table's labels and features are, as indices into its columns."""

    label: int | None
    features: tuple[int, ...]
    names: tuple[str, ...]  # of the features
    label_name: str | None
    headers: tuple[str, ...]  # of all columns
    written: frozenset[int]  # columns that are text or names whatever their cells look like
    text: tuple[str, ...] = ()  # those that were said to be text, by name
    categorical: tuple[str, ...] = ()  # or names


def lay_out(source: str, names: Sequence[str], options: Options, sample: Callable[[int], Any]) -> Layout:
    """Which columns are the labels and the features; `sample(i)` gives the first cells of column i."""
    check_names(source, names)
    if options.wanted is not None:
        return _as_wanted(source, names, options)
    ignored = {find_column(source, names, key, "to ignore") for key in options.ignore}
    unlabelled = options.label is None and len(names) - len(ignored) == options.width
    label = None if unlabelled else _label(source, names, options, ignored, sample)
    features = tuple(i for i in range(len(names)) if i != label and i not in ignored)
    if not features:
        raise DataError(source, "there is no column besides the labels")
    text = {find_column(source, names, key, "of text") for key in options.text}
    fixed = {find_column(source, names, key, "of categories") for key in options.categorical}
    said = (tuple(names[i] for i in sorted(which)) for which in (text, fixed))
    return Layout(
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


def _label(source: str, names: Sequence[str], options: Options, ignored: set[int], sample: Callable[[int], Any]) -> int:
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
    sentence = f"which column has the labels cannot be told: say it with --label; there are {listed(names)}"
    raise DataError(source, sentence, headers=names)


def _as_wanted(source: str, names: Sequence[str], options: Options) -> Layout:
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
        raise DataError(source, f"there is no column {absent[0]!r}, which the model reads; there are {listed(names)}")
    features = tuple(places[name] for name in wanted)
    if label in features:
        label = None
    forced = {*options.text, *options.categorical}
    written = frozenset(i for i, name in zip(features, wanted, strict=True) if name in forced)
    return Layout(label, features, tuple(wanted), None if label is None else names[label], tuple(names), written)


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
