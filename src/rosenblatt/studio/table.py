"""A file as a table that the page can show: columns of numbers, their principal components, and labels of at most six classes.

What the project's readers can read from a disk, the command line can show; of bytes that were dropped on the page, only what
is text: a few of them cannot become gigabytes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_X_y

from ..data.csr import CSRMatrix
from ..data.read_options import Options
from ..data.readers.layout import LABEL_OPTION
from ..data.readers.read import format_of, read
from ..data.readers.sources import COMPRESSED, Source
from ..data.table import Data, DataError, Table, typed_labels
from ..parallel import one_blas_thread
from ..reporting.story import evenly
from ..reporting.text import plural
from ..training.preparation import check_classes, require_labels
from .arrays import pack
from .request import MAX_CLASSES, MAX_POINTS, RequestError

# --- Principal components: the two directions in which standardised columns spread most.
#
# Problem    u_1, u_2 orthonormal with the largest |Z u|^2, Z the columns with mean 0 and deviation 1.
# Update     the largest eigenvectors of Z'Z, or, where columns are more than rows, of ZZ'.
# Guarantee  the same numbers each time: of u and -u, the one whose largest part is positive.
# Reference  K. Pearson, Philosophical Magazine 2 (1901); H. Hotelling, J. Educational Psychology 24 (1933).


def principal(X: Any, count: int = 2) -> tuple[Any, Any]:
    """(rows x count scores, their shares of the whole spread); zeros where columns are constant or too few."""
    Z = X - X.mean(axis=0)
    deviations = Z.std(axis=0)
    Z = Z[:, deviations > 0.0] / deviations[deviations > 0.0]
    scores, shares = np.zeros((len(X), count)), np.zeros(count)
    if not Z.size:
        return scores, shares
    with one_blas_thread():
        wide = Z.shape[1] > Z.shape[0]
        values, vectors = np.linalg.eigh(Z @ Z.T if wide else Z.T @ Z)
        for at in range(min(count, len(values))):
            direction = vectors[:, -1 - at]
            direction = Z.T @ direction if wide else direction
            length = float(np.linalg.norm(direction))
            if length == 0.0:
                continue
            direction = direction / length
            sign = np.sign(direction[np.argmax(abs(direction))])
            scores[:, at] = sign * (Z @ direction)
            shares[at] = max(0.0, float(values[-1 - at])) / float(Z.size)
    return scores, shares


# ---

MAX_ROWS = 2000
MAX_COLUMNS = 50
MAX_HEADERS = 1000
# Columns that components are made of.
MAX_PCA_COLUMNS = 2000
# Columns of a file that is dropped on the page, and the bytes of its first line that they are looked for in.
MAX_FILE_COLUMNS, MAX_HEADER_LINE_BYTES = 5000, 1 << 20
# Bytes of a compressed file, once it is unpacked.
MAX_UNPACKED_BYTES = 64 << 20
TEXT_FORMATS = ("csv", "tsv", "svmlight", "jsonl")
LARGEST = 1e9
OTHER_CLASS = "other"
# Different whole numbers that may still be classes.
MAX_INTEGER_CLASSES = 50

# A cell like 1,5 in a file whose cells are told apart by something else.
DECIMAL_COMMA_CELL = re.compile(rb"(?:^|[;\t|])[ ]*([+-]?[0-9]{1,15},[0-9]{1,15})[ ]*(?=[;\t|\r])", re.MULTILINE)
COMMA_SAID = "looks like a number with a decimal comma, and numbers have a point here"


def table_of_bytes(name: str, data: bytes, label: str | None = None) -> dict[str, Any]:
    """The table in a file that was dropped on the page; `name` says how it is written, `label` which column has the labels, by
    name or position. A `RequestError` where there is none."""
    try:
        with Source(Path(name).name or "file", io.BytesIO(data)) as source:
            plain = source if source.compression is None else _unpacked(source)
            kind = format_of(plain, Options())
            if kind not in TEXT_FORMATS:
                sentence = f"files of this kind ({kind}) are not read here: open it with rosenblatt studio {source.name}"
                raise DataError(source.name, sentence)
            if kind in ("csv", "tsv"):
                _check_width(plain)
            return table_of(read(plain, Options(label=label, missing="mean")), Path(name).name)
    except DataError as error:
        # The page has a menu for the label, but none of the other command-line options.
        sentence = str(error)
        if error.option == LABEL_OPTION:
            sentence = f"{error.problem}: choose it"
        elif error.option is not None:
            sentence = f"{error.problem}: open it with rosenblatt studio {Path(name).name} {error.option}"
        comma = (
            DECIMAL_COMMA_CELL.search(data[:4096]) if COMMA_SAID not in sentence else None
        )  # without numbers, labels are not found
        told = f"{sentence}; {comma[1].decode()} {COMMA_SAID}" if comma else sentence
        raise RequestError(told, _some(error.headers)) from error


def table_of_data(source: str, options: Options | None = None) -> dict[str, Any]:
    """The table in anything that `train` could learn from: a file's path, "-" or an example."""
    return table_of(read(source, options or Options(missing="mean")), Path(source).name if source != "-" else "stdin")


def _check_width(source: Source) -> None:
    """Whether a row is too long, by its first line: a reader takes a minute for what nobody can look at."""
    line = source.peek(MAX_HEADER_LINE_BYTES).partition(b"\n")[0] + b"\n"
    cells = max(line.count(delimiter) for delimiter in (b",", b";", b"\t", b"|")) + 1
    if cells > MAX_FILE_COLUMNS:
        raise DataError(
            source.name, f"the first row has {cells:,} cells or more, and {MAX_FILE_COLUMNS:,} columns are the most"
        )


def _unpacked(source: Source) -> Source:
    parts, left = [], MAX_UNPACKED_BYTES
    while left > 0 and (part := source.read(min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise DataError(
            source.name, f"is more than {MAX_UNPACKED_BYTES >> 20} MB when unpacked: open it with rosenblatt studio"
        )
    name = Path(source.name)
    name = name.with_suffix("") if name.suffix.lower() in COMPRESSED else name
    return Source(name, io.BytesIO(b"".join(parts)))


def table_of(data: Data, name: str) -> dict[str, Any]:
    """A `DataError` where there are no labels, one class, quantities instead of classes, or no numbers."""
    try:
        return _table_of(data, name)
    except DataError as error:
        error.headers = data.headers
        raise


def _table_of(data: Data, name: str) -> dict[str, Any]:
    labels = typed_labels(require_labels(data).labels)
    names, codes, notes = _classes(data, labels)
    rows = sample(codes)
    if len(rows) < len(codes):
        notes.append(f"{len(rows):,} of {len(codes):,} rows are shown, of each class its share")
    columns, left_out = _columns(data, rows)
    notes += left_out
    if not columns:
        raise DataError(data.source, f"there is no column of numbers to draw{_decimal_comma(data)}")
    mixed = columns[:MAX_PCA_COLUMNS]
    components, shares = principal(np.column_stack([values for _, values in mixed]))
    total = data.features.shape[1] if isinstance(data.features, CSRMatrix) else len(columns)
    if total > MAX_COLUMNS:
        of = "all" if len(mixed) == total else f"{len(mixed):,}"
        notes.append(f"{min(MAX_COLUMNS, len(columns))} of {total:,} columns are listed; the components are made of {of}")
    note = "; ".join(notes)
    return {
        "name": name,
        "rows": len(codes),
        "shown": len(rows),
        "columns": [{"name": title, "values": pack(values, "f64")} for title, values in columns[:MAX_COLUMNS]],
        "components": [
            {"name": f"principal component {at + 1} ({100.0 * share:.0f} %)", "values": pack(values, "f64")}
            for at, (values, share) in enumerate(zip(components.T, shares, strict=True))
        ],
        "label": data.label_name,
        "headers": _some(data.headers, data.label_name),
        "labels": codes[rows].tolist(),
        "names": names,
        "note": f"{note[0].upper()}{note[1:]}." if note else None,
    }


def _some(headers: Sequence[str], label: str | None = None) -> list[str]:
    """Names of columns, as many as a person can choose from."""
    listed = list(headers[:MAX_HEADERS]) if len(headers) > 1 else []
    return listed if label is None or label in listed or not listed else [*listed, label]


def _classes(data: Data, labels: Any) -> tuple[list[str], Any, list[str]]:
    """(names, codes, notes): more than six classes become the five most frequent, and the others."""
    classes, codes = np.unique(labels, return_inverse=True)
    check_classes(data, classes)
    if classes.dtype.kind in "iu" and len(classes) > min(MAX_INTEGER_CLASSES, max(MAX_CLASSES, data.n_rows // 4)):
        raise DataError(data.source, f"the labels are {len(classes):,} different numbers: these are quantities, not classes")
    names = [_short(str(label)) for label in classes.tolist()]
    if len(classes) <= MAX_CLASSES:
        return names, codes, []
    often = np.sort(np.argsort(-np.bincount(codes), kind="stable")[: MAX_CLASSES - 1])
    places = np.full(len(classes), MAX_CLASSES - 1)
    places[often] = np.arange(MAX_CLASSES - 1)
    note = f"of {len(classes):,} classes the {MAX_CLASSES - 1} most frequent are shown, and the rest as “{OTHER_CLASS}”"
    return [*(names[at] for at in often), OTHER_CLASS], places[codes], [note]


def sample(codes: Any) -> Any:
    """At most so many rows, of each class its share and at least one, evenly apart."""
    counts = np.bincount(codes)
    if len(codes) <= MAX_ROWS:
        return np.arange(len(codes))
    shares = np.maximum(1, np.floor(counts * ((MAX_ROWS - len(counts)) / len(codes)))).astype(int)
    mine = [np.flatnonzero(codes == code) for code in range(len(counts))]
    return np.sort(np.concatenate([all_of[evenly(len(all_of), most)] for all_of, most in zip(mine, shares, strict=True)]))


def _columns(data: Data, rows: Any) -> tuple[list[tuple[str, Any]], list[str]]:
    """Columns of numbers at some rows; missing cells get the column's mean."""
    found, notes = _numbers(data, rows), []
    missing = sum(int(np.isnan(values).sum()) for _, values in found)
    if missing:
        notes.append(f"{plural(missing, 'missing cell')} got their column's mean")
    kept = []
    for name, values in found:
        there = values[~np.isnan(values)]
        if len(there) and (abs(there) <= LARGEST).all():
            kept.append((_short(name), np.where(np.isnan(values), there.mean(), values)))
    if len(kept) < len(found):
        notes.append(f"columns without a number, or with one beyond {LARGEST:g}, are left out: {len(found) - len(kept):,}")
    strings = data.features.shape[1] - len(found) if isinstance(data.features, Table) else 0
    if strings:
        notes.append(f"{strings:,} of {data.features.shape[1]:,} columns are no numbers, and left out{_decimal_comma(data)}")
    return kept, notes


def _decimal_comma(data: Data) -> str:
    """What to say where words are numbers as they are written in German: nothing where there are none."""
    columns = data.features.columns if isinstance(data.features, Table) else []
    for cell in (str(column[0]) for column in columns if column.dtype.kind == "O" and len(column)):
        if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", cell.strip()):
            return f": {cell.strip()[:20]} {COMMA_SAID}"
    return ""


def _numbers(data: Data, rows: Any) -> list[tuple[str, Any]]:
    features = data.features
    if isinstance(features, Table):
        pairs = zip(features.names, features.columns, strict=True)
        return [(name, column[rows].astype(np.float64)) for name, column in pairs if column.dtype.kind != "O"]
    if isinstance(features, CSRMatrix):
        # Of many columns those that are set most often.
        shown = features.take(np.isin(np.arange(features.shape[0]), rows))
        columns, counts = np.unique(shown.indices, return_counts=True)
        often = np.sort(columns[np.argsort(-counts, kind="stable")[:MAX_PCA_COLUMNS]])
        place = np.searchsorted(often, shown.indices).clip(max=max(0, len(often) - 1))
        known = often[place] == shown.indices if len(often) else np.zeros(0, bool)
        dense = np.zeros((len(often), len(rows)))
        dense[place[known], np.repeat(np.arange(len(rows)), np.diff(shown.indptr))[known]] = shown.values[known]
        return [(f"column {at + 1}", values) for at, values in zip(often.tolist(), dense, strict=True)]
    return [(f"column {at}", column) for at, column in enumerate(np.asarray(features, np.float64)[rows].T)]


def _short(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:57]}..."


# --- Rows of any width as points of the plane: two of their columns, or their first two principal components.


class PlaneData(NamedTuple):
    points: Any  # rows x 2
    codes: Any
    names: list[str]
    note: str | None  # what was left out or made of the rows, if anything was
    axes: list[str] | None  # what the two coordinates are, where that has a name

    @property
    def data(self) -> dict[str, Any]:
        """As the state of a page has it."""
        named = {} if self.axes is None else {"axes": self.axes}
        return {"points": self.points.tolist(), "labels": self.codes.tolist(), "names": self.names} | named


def to_plane(X: Any, y: Any, columns: Any = None) -> PlaneData:
    """columns : two of X's, by name or position; None: all where there are two, principal components where there are more."""
    names = [str(name) for name in getattr(X, "columns", ())]
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    classes, codes = np.unique(y, return_inverse=True)
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise RequestError(f"the studio shows 2 to {MAX_CLASSES} classes, and y has {len(classes)}")
    told = []
    if len(codes) > MAX_POINTS:
        some = sample(codes)
        told.append(f"{len(some):,} of {len(codes):,} rows, of each class its share")
        X, codes = X[some], codes[some]
    width, axes = X.shape[1], names or None
    if columns is not None:
        chosen = _positions(columns, width, names)
        points, axes = _dense(X[:, chosen]), [names[j] if names else f"column {j}" for j in chosen]
        if width > 2:
            told.append(f"the columns {' and '.join(names[j] if names else str(j) for j in chosen)} of {width}")
    elif width == 2:
        points = _dense(X)
    elif width < 2:
        raise RequestError("the studio needs two columns or more, and X has one")
    else:
        points, shares = principal(_dense(X))
        axes = [f"principal component {n} ({share:.0%})" for n, share in enumerate(shares, 1)]
        told.append(
            f"the first two principal components of {width} columns (standardised), {sum(shares):.0%} of their variance"
        )
    note = f"Shown here: {'; '.join(told)}." if told else None
    return PlaneData(points + 0.0, codes, [str(each) for each in classes.tolist()], note, axes)


def _positions(columns: Any, width: int, names: list[str]) -> list[int]:
    chosen = [columns] if isinstance(columns, str) or not hasattr(columns, "__len__") else list(columns)
    found, there = [], f"; it has {', '.join(names[:20])}" if names else f"; it has {width}"
    for each in chosen:
        if isinstance(each, int | np.integer) and not isinstance(each, bool) and -width <= each < width:
            found.append(int(each) % width)
        elif str(each) in names:
            found.append(names.index(str(each)))
        else:
            raise RequestError(f"columns: X has no column {each!r}{there}")
    if len(found) != 2 or found[0] == found[1]:
        raise RequestError(f"columns must be two different ones, got {columns!r}")
    return found


def _dense(X: Any) -> Any:
    return np.asarray(X.toarray() if sp.issparse(X) else X, np.float64)
