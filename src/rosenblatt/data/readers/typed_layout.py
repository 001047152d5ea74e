"""The layout of a table with typed cells (JSON, Parquet, Arrow): its label column, and what its columns of strings hold.

The rules are those of `layout.py`, applied to the first 1,000 rows, so that reading in chunks gives the same result. Strings
may be dates and formatted numbers, and words such as N/A are missing, as in text files; but a column of strings that are whole
numbers stays text, because its file has another type for quantities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...array_types import Array
from ...reporting.text import quoted_list
from ..table import DataError
from . import Options
from .cells import MISSING, WORDS
from .dates import DateForm
from .kinds import Form, Kind, Survey, choose_forms, describe_forms, stored_form, survey
from .layout import (
    check_names,
    find_column,
    find_label,
    find_optional_label,
    looks_like_labels,
    may_be_absent,
    missing_cells,
    missing_columns,
)
from .notation import NumberForm

TYPED_SAMPLE_ROWS = 1_000
MIN_FORM_CELLS, MAX_FORM_CELLS = 100, 100_000  # cells of a column, and of all, by which the forms of strings are found
BLANKS = " \t\r\n"  # around the strings of a cell
QUANTITIES = "write quantities as numbers, not as text"
MAX_CHARS_SHOWN = 40  # of a cell in a message


@dataclass(frozen=True)
class TypedLayout:
    """The columns of a file with typed cells; label and features are positions among all columns."""

    label: int | None
    features: tuple[int, ...]
    names: tuple[str, ...]  # names of the features
    label_name: str | None
    headers: tuple[str, ...]  # names of all columns
    as_strings: frozenset[int]  # text and categorical columns, in which numbers are read as strings
    text: tuple[str, ...] = ()  # names of the columns declared as text
    categorical: tuple[str, ...] = ()  # names of the columns declared as categorical
    forms: Mapping[str, Form] = field(default_factory=dict)  # of the columns of strings that are dates or numbers
    missing: Mapping[str, frozenset[str]] = field(default_factory=dict)  # the strings that are missing cells of a column
    note: str | None = None  # a message for the user: how columns are read

    @property
    def unusual(self) -> dict[str, Form]:
        """The forms but for those of numbers as programs write them, which every format reads."""
        return {name: form for name, form in self.forms.items() if form != NumberForm() or form.seen != ()}

    @property
    def dates(self) -> dict[str, DateForm]:
        """The columns of dates."""
        return {name: form for name, form in self.forms.items() if isinstance(form, DateForm)}


def lay_out_typed(source: str, names: Sequence[str], options: Options, sample: Callable[[int], Array]) -> TypedLayout:
    """Find the layout of a file with these columns; `sample(c)` returns the first cells of column c, dates as text."""
    check_names(source, names)
    if options.required is not None:
        return _with_forms(_lay_out_required(source, names, options.required, options), options, sample)
    ignored = {find_column(source, names, key, "to ignore") for key in options.ignore}
    label, found = None, ""
    if options.label is not None or len(names) - len(ignored) != options.required_width:
        label, how = find_label(
            source, names, options.label, ignored, lambda c, some: looks_like_labels(_without_words(sample(c)), some)
        )
        found = f"label column: {names[label]} ({how})"
    features = tuple(c for c in range(len(names)) if c != label and c not in ignored)
    if not features:
        raise DataError(source, "there is no column besides the label")
    text = {find_column(source, names, key, "of text") for key in options.text}
    categorical = {find_column(source, names, key, "of categories") for key in options.categorical}
    label_name = None if label is None else names[label]
    feature_names = tuple(names[c] for c in features)
    layout = TypedLayout(label, features, feature_names, label_name, tuple(names), frozenset(text | categorical))
    layout = replace(
        layout,
        text=tuple(names[c] for c in sorted(text)),
        categorical=tuple(names[c] for c in sorted(categorical)),
        note=found or None,
    )
    layout = _with_forms(layout, options, sample)
    if not layout.features:
        raise DataError(source, "there is no column besides the label and dates")
    return layout


def _without_words(cells: Array) -> Array:
    """The cells of a column, with None in place of words that stand for missing labels."""
    if cells.dtype.kind != "O":
        return cells
    words = {word.decode() for word in WORDS}
    known = cells.copy()
    known[[isinstance(cell, str) and cell.strip(BLANKS) in words for cell in cells]] = None
    return known


def _lay_out_required(source: str, names: Sequence[str], required: tuple[str, ...], options: Options) -> TypedLayout:
    """The layout for a model: its columns, in its order, and the label if the file has one."""
    label = find_optional_label(source, names, options)
    position = {name: c for c, name in enumerate(names)}
    absent = [name for name in required if name not in position]
    if absent and not may_be_absent(absent, options):
        raise missing_columns(source, absent, names)
    required = tuple(name for name in required if name in position)
    features = tuple(position[name] for name in required)
    declared = {*options.text, *options.categorical}
    as_strings = frozenset(c for c, name in zip(features, required, strict=True) if name in declared)
    return TypedLayout(label, features, required, None if label is None else names[label], tuple(names), as_strings)


def _with_forms(layout: TypedLayout, options: Options, sample: Callable[[int], Array]) -> TypedLayout:
    """The layout with the forms and missing cells of its columns, or without columns of dates that are to be left out."""
    most = max(MIN_FORM_CELLS, MAX_FORM_CELLS // max(1, len(layout.features)))
    missing = {} if layout.label_name is None else {layout.label_name: frozenset(word.decode() for word in WORDS)}
    columns: dict[str, list[bytes]] = {}
    for c, name in zip(layout.features, layout.names, strict=True):
        if name in layout.text or (options.required is not None and name in options.text):
            continue  # no cell of it is missing
        texts = [cell.strip(BLANKS).encode("utf-8", "replace") for cell in sample(c)[:most].tolist() if isinstance(cell, str)]
        missing[name] = frozenset(cell.decode() for cell in missing_cells(name, texts, options))
        if c not in layout.as_strings:
            columns[name] = texts
    if options.required is not None:  # strings in a numeric column of a model are read as numbers
        numeric = {name: texts for name, texts in columns.items() if name in options.numeric}
        forms = {name: stored_form(name, texts, options) or NumberForm() for name, texts in numeric.items()}
        return replace(layout, forms=forms, missing=missing)
    forms, whole = _choose({name: texts for name, texts in columns.items() if texts}, options)
    notes = [layout.note] if layout.note else []
    dates = [name for name, form in forms.items() if isinstance(form, DateForm)]
    if options.dates == "ignore" and dates:
        notes.append(f"dates left out: {quoted_list(dates)}")
        forms = {name: form for name, form in forms.items() if name not in dates}
        kept = tuple(c for c, name in zip(layout.features, layout.names, strict=True) if name not in dates)
        layout = replace(layout, features=kept, names=tuple(layout.headers[c] for c in kept))
    notes += describe_forms(forms)
    if whole:
        notes.append(f"whole numbers in text, read as categories: {quoted_list(whole)} ({QUANTITIES})")
    return replace(layout, forms=forms, missing=missing, note="; ".join(notes) or None)


def _choose(columns: Mapping[str, Sequence[bytes]], options: Options) -> tuple[dict[str, Form], list[str]]:
    """The forms of columns of strings by their first cells, and the columns of whole numbers, which have none."""
    names = list(columns)
    surveys = {c: survey(columns[name], options) for c, name in enumerate(names)}
    whole = [c for c, found in surveys.items() if _are_codes(found, columns[names[c]])]
    others = {c: columns[name] for c, name in enumerate(names) if c not in whole}
    chosen = choose_forms(others, {c: surveys[c] for c in others}, options, semicolons=False)
    forms = {
        names[c]: form or NumberForm(seen=()) for c, (kind, form) in chosen.items() if kind in (Kind.NUMBER, Kind.FORMATTED)
    }
    return forms, [names[c] for c in whole]


def _are_codes(found: Survey, cells: Sequence[bytes]) -> bool:
    """Whether all strings of a column that are not missing are whole numbers, as zip codes are."""
    return 0 < found.known == found.plain and all(cell.isdigit() for cell in cells if cell not in MISSING)


def value_of(cell: str, form: Form) -> float:
    """The number or the days that a string stands for; ValueError with a sentence for anything else."""
    text = cell.strip(BLANKS)
    value = form.value(text)
    if value is None and isinstance(form, NumberForm):
        words = f" like the others of the column ({form.describe()})" if form.seen else ""
        raise ValueError(f"{text[:MAX_CHARS_SHOWN]!r} is not a number{words}")
    if value is None:
        raise ValueError(f"{text[:MAX_CHARS_SHOWN]!r} is not a {form.kind}, but the column holds {form.describe()}")
    if not math.isfinite(value):
        raise ValueError(f"{text[:MAX_CHARS_SHOWN]!r} is not finite")
    return value
