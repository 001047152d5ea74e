"""A file as a table for the page: columns of numbers, their principal components, and labels of at most six classes.

The command line can show every file that the readers can read. Of files dropped on the page only text formats are read, since
the other ones may expand to gigabytes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.csr import CSRMatrix
from ..data.readers import Options
from ..data.readers.foreign import HEAD_BYTES, is_container
from ..data.readers.kinds import describe_forms, forms_of
from ..data.readers.layout import LABEL_OPTION
from ..data.readers.read import format_of, read
from ..data.readers.sources import COMPRESSED, Source
from ..data.table import Data, DataError, Table, typed_labels
from ..reporting.text import byte_size, count, percent, plural, short
from ..training.preparation import check_classes, require_labels
from .arrays import pack
from .projection import principal_components, sample
from .run_request import MAX_CLASSES, MAX_COORDINATE, RequestError

MAX_COLUMNS = 50  # columns in the menus of the page
MAX_HEADERS = 1000  # names in the menu of the label column
MAX_PCA_COLUMNS = 2000
MAX_NAME_CHARACTERS = 60
# Limits of a file that is dropped on the page; its columns are counted in the first bytes of its first line.
MAX_FILE_COLUMNS, MAX_HEADER_LINE_BYTES, MAX_UNPACKED_BYTES = 5000, 1 << 20, 64 << 20
TEXT_FORMATS = ("csv", "tsv", "svmlight", "jsonl")
OTHER_CLASS = "other"
MAX_INTEGER_CLASSES = 50  # if there are more distinct integers, they are quantities


class Column(NamedTuple):
    """A column of numbers."""

    name: str
    values: FloatArray

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "values": pack(self.values, "f64")}


# --- Reading


def table_of_bytes(name: str, data: bytes, label: str | None = None) -> dict[str, Any]:
    """Return the table in a file that was dropped on the page.

    Parameters
    ----------
    name : str
        Name of the file, from which its format is guessed.
    data : bytes
        Its content.
    label : str, default=None
        The label column, by name or position; by default it is guessed.

    Raises
    ------
    RequestError
        If the file cannot be read or has no usable labels or columns.
    """
    try:
        with Source(Path(name).name or "file", io.BytesIO(data)) as source:
            plain = source if source.compression is None else _unpack_source(source)
            kind = "zip" if is_container(plain.peek(HEAD_BYTES)) else format_of(plain, Options())
            if kind not in TEXT_FORMATS:
                sentence = f"the page does not read {kind} files: open it with rosenblatt studio {source.name}"
                raise DataError(source.name, sentence)
            if kind in ("csv", "tsv"):
                _check_width(plain)
            return table_of(read(plain, Options(label=label, missing="mean")), Path(name).name)
    except DataError as error:
        raise RequestError(_message(error, Path(name).name), _listed_headers(error.headers)) from error


def _message(error: DataError, name: str) -> str:
    """Return the message for the page, which has a menu for the label but no other command-line option."""
    if error.option == LABEL_OPTION:
        return f"{error.problem}; choose the label column"
    if error.option is not None:
        return f"{error.problem}: open it with rosenblatt studio {name} {error.option}"
    return str(error)


def table_of_data(source: str, options: Options | None = None) -> dict[str, Any]:
    """Return the table in any data that `train` accepts: a path, "-" for standard input, or an example."""
    return table_of(read(source, options or Options(missing="mean")), Path(source).name if source != "-" else "stdin")


def _check_width(source: Source) -> None:
    """Raise if the first line has too many cells, which would take a reader a minute."""
    line = source.peek(MAX_HEADER_LINE_BYTES).partition(b"\n")[0] + b"\n"
    cells = max(line.count(delimiter) for delimiter in (b",", b";", b"\t", b"|")) + 1
    if cells > MAX_FILE_COLUMNS:
        limit = plural(MAX_FILE_COLUMNS, "column")
        raise DataError(source.name, f"the first line has {plural(cells, 'cell')} or more; the maximum is {limit}")


def _unpack_source(source: Source) -> Source:
    """Return a compressed source as a plain one, up to a maximum size."""
    parts, left = [], MAX_UNPACKED_BYTES
    while left > 0 and (part := source.read(min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        sentence = f"has more than {byte_size(MAX_UNPACKED_BYTES)} when unpacked: open it with rosenblatt studio"
        raise DataError(source.name, sentence)
    name = Path(source.name)
    name = name.with_suffix("") if name.suffix.lower() in COMPRESSED else name
    return Source(name, io.BytesIO(b"".join(parts)))


# --- The table


def table_of(data: Data, name: str) -> dict[str, Any]:
    """Return a table; raise `DataError` if labels or numeric columns are missing, or labels are quantities."""
    try:
        return _table_of(data, name)
    except DataError as error:
        error.headers = data.headers
        raise


def _table_of(data: Data, name: str) -> dict[str, Any]:
    labels = typed_labels(require_labels(data))
    names, codes, notes = _classes(data, labels)
    rows = sample(codes)
    if len(rows) < len(codes):
        notes.append(f"{count(len(rows))} of {count(len(codes))} rows are shown, in proportion to the classes")
    columns, column_notes = _columns(data, rows)
    notes += [*describe_forms(forms_of(data)), *column_notes]
    if not columns:
        raise DataError(data.source, "the table has no column of numbers")
    used = columns[:MAX_PCA_COLUMNS]
    scores, shares = principal_components(np.column_stack([column.values for column in used]))
    components = [
        Column(f"principal component {n} ({percent(share, 0)})", values)
        for n, (values, share) in enumerate(zip(scores.T, shares, strict=True), 1)
    ]
    total = data.features.shape[1] if isinstance(data.features, CSRMatrix) else len(columns)
    if total > MAX_COLUMNS:
        of = "all" if len(used) == total else count(len(used))
        listed = f"{min(MAX_COLUMNS, len(columns))} of {plural(total, 'column')}"
        notes.append(f"{listed} are listed; the components are made from {of}")
    note = "; ".join(notes)
    return {
        "name": name,
        "rows": len(codes),
        "shown": len(rows),
        "columns": [column.to_json() for column in columns[:MAX_COLUMNS]],
        "components": [component.to_json() for component in components],
        "label": data.label_name,
        "headers": _listed_headers(data.headers, data.label_name),
        "labels": codes[rows].tolist(),
        "names": names,
        "note": f"{note[0].upper()}{note[1:]}." if note else None,
    }


def _listed_headers(headers: Sequence[str], label: str | None = None) -> list[str]:
    """Return the column names for the menu of the label column, at most MAX_HEADERS and the label."""
    listed = list(headers[:MAX_HEADERS]) if len(headers) > 1 else []
    return listed if label is None or label in listed or not listed else [*listed, label]


def _classes(data: Data, labels: Array) -> tuple[list[str], IntArray, list[str]]:
    """Return (names, codes, notes); of more than six classes the five most frequent, and the others as one."""
    classes, codes = np.unique(labels, return_inverse=True)
    check_classes(data.source, classes, data.n_rows)
    if classes.dtype.kind in "iu" and len(classes) > min(MAX_INTEGER_CLASSES, max(MAX_CLASSES, data.n_rows // 4)):
        values = plural(len(classes), "distinct value")
        raise DataError(data.source, f"the labels have {values}: these are quantities, not classes")
    names = [_shortened(str(label)) for label in classes.tolist()]
    if len(classes) <= MAX_CLASSES:
        return names, codes, []
    frequent = np.sort(np.argsort(-np.bincount(codes), kind="stable")[: MAX_CLASSES - 1])
    new_codes = np.full(len(classes), MAX_CLASSES - 1)
    new_codes[frequent] = np.arange(MAX_CLASSES - 1)
    note = f"of {count(len(classes))} classes the {MAX_CLASSES - 1} most frequent are shown, the others as “{OTHER_CLASS}”"
    return [*(names[at] for at in frequent), OTHER_CLASS], new_codes[codes], [note]


def _columns(data: Data, rows: IntArray) -> tuple[list[Column], list[str]]:
    """Return (columns, notes) of some rows, with missing cells replaced by the mean of the column."""
    found, notes = _numeric_columns(data, rows), []
    missing = sum(int(np.isnan(column.values).sum()) for column in found)
    if missing:
        notes.append(f"{plural(missing, 'missing cell')} replaced by the mean of the column")
    kept = []
    for name, values in found:
        known = values[~np.isnan(values)]
        if len(known) and (abs(known) <= MAX_COORDINATE).all():
            kept.append(Column(_shortened(name), np.where(np.isnan(values), known.mean(), values)))
    if len(kept) < len(found):
        left_out = plural(len(found) - len(kept), "column")
        notes.append(f"left out: {left_out} without numbers or with numbers beyond {short(MAX_COORDINATE)}")
    strings = data.features.shape[1] - len(found) if isinstance(data.features, Table) else 0
    if strings:
        of_all = f"{count(strings)} of {plural(data.features.shape[1], 'column')}"
        notes.append(f"{of_all} are not numeric and left out")
    return kept, notes


def _numeric_columns(data: Data, rows: IntArray) -> list[Column]:
    features = data.features
    if isinstance(features, Table):
        pairs = zip(features.names, features.columns, strict=True)
        return [Column(name, column[rows].astype(np.float64)) for name, column in pairs if column.dtype.kind != "O"]
    if isinstance(features, CSRMatrix):
        return _frequent_columns(features, rows)
    return [Column(f"column {at}", column) for at, column in enumerate(np.asarray(features, np.float64)[rows].T)]


def _frequent_columns(features: CSRMatrix, rows: IntArray) -> list[Column]:
    """Return the columns with the most nonzero cells, as dense columns."""
    shown = features.take(np.isin(np.arange(features.shape[0]), rows))
    columns, counts = np.unique(shown.indices, return_counts=True)
    frequent = np.sort(columns[np.argsort(-counts, kind="stable")[:MAX_PCA_COLUMNS]])
    place = np.searchsorted(frequent, shown.indices).clip(max=max(0, len(frequent) - 1))
    known = frequent[place] == shown.indices if len(frequent) else np.zeros(0, bool)
    dense = np.zeros((len(frequent), len(rows)))
    dense[place[known], np.repeat(np.arange(len(rows)), np.diff(shown.indptr))[known]] = shown.values[known]
    return [Column(f"column {at + 1}", values) for at, values in zip(frequent.tolist(), dense, strict=True)]


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[: MAX_NAME_CHARACTERS - 3]}..."
