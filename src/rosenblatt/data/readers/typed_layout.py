"""The layout of a table with typed cells (JSON, Parquet, Arrow): its label column, and its columns of dates.

The rules are those of `layout.py`, applied to the first 1,000 rows, so that reading in chunks gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...array_types import Array
from ...reporting.text import quoted_list
from ..table import DataError
from . import Options
from .cells import MISSING
from .dates import DateForm
from .kinds import describe_forms, stored_form, survey
from .layout import check_names, find_column, find_label, find_optional_label, looks_like_labels, may_be_absent, missing_columns

TYPED_SAMPLE_ROWS = 1_000
MIN_DATE_CELLS, MAX_DATE_CELLS = 100, 100_000  # cells of a column, and of all, by which dates are found


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
    forms: Mapping[str, DateForm] = field(default_factory=dict)  # of the columns of dates
    note: str | None = None  # a message for the user: which columns are dates


def lay_out_typed(source: str, names: Sequence[str], options: Options, sample: Callable[[int], Array]) -> TypedLayout:
    """Find the layout of a file with these columns; `sample(c)` returns the first cells of column c, dates as text."""
    check_names(source, names)
    if options.required is not None:
        return _with_dates(_lay_out_required(source, names, options.required, options), options, sample)
    ignored = {find_column(source, names, key, "to ignore") for key in options.ignore}
    label, found = None, ""
    if options.label is not None or len(names) - len(ignored) != options.required_width:
        label, how = find_label(source, names, options.label, ignored, lambda c, some: looks_like_labels(sample(c), some))
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
    layout = _with_dates(layout, options, sample)
    if not layout.features:
        raise DataError(source, "there is no column besides the label and dates")
    return layout


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


def _with_dates(layout: TypedLayout, options: Options, sample: Callable[[int], Array]) -> TypedLayout:
    """The layout with its columns of dates, or without them if they are to be left out."""
    most = max(MIN_DATE_CELLS, MAX_DATE_CELLS // max(1, len(layout.features)))
    forms = {}
    for c, name in zip(layout.features, layout.names, strict=True):
        form = None if c in layout.as_strings else _form(name, sample(c)[:most], options)
        if form is not None:
            forms[name] = form
    if options.required is not None:
        return replace(layout, forms=forms)
    if options.dates != "ignore" or not forms:
        return replace(layout, forms=forms, note="; ".join([*filter(None, [layout.note]), *describe_forms(forms)]) or None)
    kept = tuple(c for c, name in zip(layout.features, layout.names, strict=True) if name not in forms)
    note = "; ".join([*filter(None, [layout.note]), f"dates left out: {quoted_list(list(forms))}"])
    return replace(layout, features=kept, names=tuple(layout.headers[c] for c in kept), note=note)


def _form(name: str, cells: Array, options: Options) -> DateForm | None:
    """The form of a column of dates: as in the file of a model, or by its first cells."""
    texts = [cell.strip().encode("utf-8", "replace") for cell in cells.tolist() if isinstance(cell, str)]
    if options.required is not None:
        form = stored_form(name, texts, options) if name in options.numeric else None
    else:
        found = survey(texts, options)
        form = found.dates if max(2 * found.n_numbers, found.known) <= 2 * found.n_dates else None
    return form if isinstance(form, DateForm) else None


def date_value(cell: str, form: DateForm) -> float:
    """The number of days that a text stands for, NaN if it is missing; ValueError with a sentence for anything else."""
    cell = cell.strip()
    value = form.value(cell)
    if value is None and cell.encode() not in MISSING:
        raise ValueError(f"{cell[:40]!r} is not a {form.kind}, but the column holds {form.describe()}")
    return float("nan") if value is None else value
