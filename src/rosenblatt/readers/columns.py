"""Which column of a table is what: one set of rules for CSV, JSON lines, Parquet and Arrow.

Positions count from 1, or from -1 backwards; a name that is a number wins over a position. Columns without a name are called by
their position. What a column is like is judged by its first 1,000 rows, so that a file read in chunks is read the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .data import DataError
from .options import Options

LABEL_NAMES = frozenset({"label", "target", "class", "y", "category", "outcome"})
SAMPLE = 1_000  # rows
MOST_CLASSES = 1_000


@dataclass(frozen=True)
class Layout:
    """Where a table's labels and features are, as indices into its columns."""

    label: int | None
    features: tuple[int, ...]
    names: tuple[str, ...]  # of the features: those of the file, or those that a model knows them by
    label_name: str | None
    written: frozenset[int]  # columns that are text or names whatever their cells look like


def lay_out(source: str, names: Sequence[str], options: Options, sample: Callable[[int], Any], *, named: bool = True) -> Layout:
    """Which columns are the labels and the features; `sample(i)` gives the first cells of column i."""
    check_names(source, names)
    if options.wanted is not None:
        return _as_wanted(source, names, options, named)
    ignored = {position(source, names, key, "ignore") for key in options.ignore}
    label = _label(source, names, options, ignored, sample)
    features = tuple(i for i in range(len(names)) if i != label and i not in ignored)
    if not features:
        raise DataError(source, "there is no column besides the labels")
    written = frozenset(
        position(source, names, key, option) for option in ("text", "categorical") for key in getattr(options, option)
    )
    return Layout(label, features, tuple(names[i] for i in features), names[label], written)


def check_names(source: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for at, name in enumerate(names, 1):
        if name in seen:
            raise DataError(source, f"two columns are called {name!r}", column=at)
        seen.add(name)


def position(source: str, names: Sequence[str], key: str, option: str) -> int:
    """The index of a column that a person named, by its name or its position."""
    if key in names:
        return list(names).index(key)
    if key.removeprefix("-").isdecimal() and len(key) < 10:
        at = int(key)
        if 1 <= abs(at) <= len(names):
            return at - 1 if at > 0 else len(names) + at
        raise DataError(source, f"{option}={key}: there are {len(names)} columns, counted from 1 or from the end with -1")
    raise DataError(source, f"{option}={key!r}: no column has that name; there are {listed(names)}")


def listed(names: Sequence[str], most: int = 12) -> str:
    """Some names as words of a sentence.

    >>> listed(["a", "b"]), listed(["a", "b", "c"], most=1)
    ("'a', 'b'", "'a' and 2 more")
    """
    some = ", ".join(repr(name if len(name) <= 60 else name[:57] + "...") for name in names[:most])
    return some if len(names) <= most else f"{some} and {len(names) - most:,} more"


def looks_like_labels(cells: Any) -> bool:
    """Whether the first cells of a column could be classes: none missing, few different ones, whole if they are numbers."""
    if not len(cells):
        return False
    if cells.dtype.kind == "f":
        if not (np.isfinite(cells).all() and (cells == np.round(cells)).all()):
            return False
    elif any(cell is None or len(cell) > 100 for cell in cells):
        return False
    return len(set(cells.tolist())) <= min(MOST_CLASSES, max(2, len(cells) // 2))


def _label(source: str, names: Sequence[str], options: Options, ignored: set[int], sample: Callable[[int], Any]) -> int:
    if options.label is not None:
        label = position(source, names, options.label, "label")
        if label in ignored:
            raise DataError(source, f"the column of labels, {names[label]!r}, cannot be ignored")
        return label
    left = [i for i in range(len(names)) if i not in ignored]
    called = [i for i in left if names[i].strip().lower() in LABEL_NAMES]
    if len(called) == 1:
        return called[0]
    for i in called if called else ([left[-1], left[0]] if left else []):
        if looks_like_labels(sample(i)):
            return i
    raise DataError(source, f"which column has the labels cannot be told: say it with --label; there are {listed(names)}")


def _as_wanted(source: str, names: Sequence[str], options: Options, named: bool) -> Layout:
    """The columns that a model reads, in its order; the labels where they are there."""
    wanted = options.wanted or ()
    places = {name: i for i, name in enumerate(names)}
    label = None if options.label is None else places.get(options.label)
    if label is None and options.label is None:
        label = next((i for i, name in enumerate(names) if name.strip().lower() in LABEL_NAMES and name not in wanted), None)
    if not named and len(names) == len(wanted):  # the model's columns and nothing else
        features, label = tuple(range(len(names))), None
    else:
        absent = [name for name in wanted if name not in places]
        if absent:
            raise DataError(source, f"there is no column {absent[0]!r}, which the model reads; there are {listed(names)}")
        features = tuple(places[name] for name in wanted)
    if label in features:
        label = None
    forced = {*options.text, *options.categorical}
    written = frozenset(i for i, name in zip(features, wanted, strict=True) if name in forced)
    return Layout(label, features, tuple(wanted), None if label is None else names[label], written)
