"""`python -m rosenblatt.certificates.verify certificate.json data`."""

from __future__ import annotations

import argparse
import bz2
import csv
import gzip
import lzma
import os
import re
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from .files import load_certificate
from .verify import verify

# --- Rows and labels from a file with the standard library and NumPy alone, for the checker.
#
# svmlight   label column:value column:value ...; columns count from 1, or from 0 where a 0 occurs
# CSV, TSV   numbers and one column of labels, the last unless said otherwise; a first line without numbers is a header
# .npz       arrays X and y; or y and the data, indices, indptr and shape of a CSR or CSC matrix, with or without X_ before them
# Files may be compressed: .gz, .bz2, .xz.

OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class Sparse:
    """As much of a CSR matrix as the checker looks at."""

    has_canonical_format = True

    def __init__(self, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> None:
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape

    def tocsr(self) -> Sparse:
        return self


def read_data(path: str | os.PathLike[str], n_columns: int, label: int = -1) -> tuple[Any, Any]:
    """(X, y) of a file; `n_columns` is the width of svmlight rows, `label` the column of labels in CSV files."""
    path = Path(path)
    try:
        return _npz(path) if path.suffix == ".npz" else _text(path, n_columns, label)
    except (EOFError, csv.Error, lzma.LZMAError, zipfile.BadZipFile, zlib.error, OverflowError) as wrong:
        raise ValueError(f"{path.name} is damaged or not what its name says: {wrong}") from None


def _text(path: Path, n_columns: int, label: int) -> tuple[Any, Any]:
    with OPENERS.get(path.suffix, open)(path, "rt", encoding="utf-8-sig", newline="") as file:
        lines = [line for line in file if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise ValueError(f"{path.name} has no rows")
    # A row of zeros is its label alone, so that the first row may not tell.
    if any(re.match(r"\S+\s+\d+:", line) for line in lines) or not re.search(r"[\t,; ]", lines[0].strip()):
        return _svmlight(lines, n_columns, path.name)
    return _csv(lines, label, path.name)


def _svmlight(lines: list[str], n_columns: int, name: str) -> tuple[Any, Any]:
    labels: list[str] = []
    columns: list[int] = []
    values: list[float] = []
    indptr, first = [0], 1
    for number, line in enumerate(lines, 1):
        label, *entries = line.split("#")[0].split()
        try:
            here = sorted((int(column), float(value)) for column, _, value in (entry.partition(":") for entry in entries))
        except ValueError:
            raise ValueError(f"row {number} of {name} is not 'label column:value ...'") from None
        if len({column for column, _ in here}) < len(here):
            raise ValueError(f"row {number} of {name} has a column twice")
        first = min(first, here[0][0]) if here else first
        stored = [(column, value) for column, value in here if value != 0]
        labels.append(label)
        columns.extend(column for column, _ in stored)
        values.extend(value for _, value in stored)
        indptr.append(len(columns))
    indices = np.array(columns, np.int64) - (1 if first > 0 else 0)
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_columns:
        raise ValueError(f"{name} has columns outside the {n_columns} that the certificate speaks of")
    return Sparse(np.array(values, np.float64), indices, np.array(indptr), (len(labels), n_columns)), labels


def _csv(lines: list[str], label: int, name: str) -> tuple[Any, Any]:
    delimiter = next((mark for mark in ("\t", ",", ";") if mark in lines[0]), None)
    rows = list(csv.reader(lines, delimiter=delimiter)) if delimiter else [line.split() for line in lines]
    width = len(rows[0])
    if not -width <= label < width:
        raise ValueError(f"{name} has {width} columns, and none is number {label}")
    if all(_number(cell) is None for cell in _without(rows[0], label)):
        rows = rows[1:]
    table = []
    for number, row in enumerate(rows, 1):
        numbers = [_number(cell) for cell in _without(row, label)] if len(row) == width else [None]
        if None in numbers:
            raise ValueError(f"row {number} of {name} is not {width - 1} numbers and a label")
        table.append(numbers)
    return np.array(table, np.float64).reshape(len(table), width - 1), [row[label] for row in rows]


def _without(row: list[str], label: int) -> list[str]:
    at = label % len(row) if row else 0
    return row[:at] + row[at + 1 :]


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _npz(path: Path) -> tuple[Any, Any]:
    with path.open("rb") as raw:
        file = np.load(raw, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise ValueError(f"{path.name} is one array, not the arrays X and y")
        arrays = {name.removeprefix("X_"): file[name] for name in file.files}
    if "y" in arrays and "X" in arrays:
        return arrays["X"], arrays["y"]
    if not {"y", "data", "indices", "indptr", "shape"} <= set(arrays):
        raise ValueError(f"{path.name} has not the arrays X and y, nor y and those of a CSR matrix")
    kind = bytes(arrays.get("format", np.array(b"csr")).astype("S").tolist()).decode()
    if kind not in ("csr", "csc"):
        raise ValueError(f"{path.name} has a sparse matrix of format {kind}: only csr and csc are read")
    lengths = np.diff(arrays["indptr"])
    shape = tuple(map(int, arrays["shape"]))
    outer, inner = shape if kind == "csr" else shape[::-1]
    indices, data = arrays["indices"].astype(np.int64), arrays["data"]
    fits = len(lengths) == outer and (lengths >= 0).all() and lengths.sum() == len(indices) == len(data)
    if not fits or not (0 <= indices.min(initial=0) <= indices.max(initial=0) < max(1, inner)):
        raise ValueError(f"{path.name} has a sparse matrix whose parts do not fit together")
    places = np.repeat(np.arange(outer), lengths)
    rows, columns = (places, indices) if kind == "csr" else (indices, places)
    return _sorted(data, rows, columns, (shape[0], shape[1])), arrays["y"]


def _sorted(data: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Sparse:
    """Rows and columns ascending and no zeros, as the checker reads them."""
    order = np.lexsort((columns, rows))
    order = order[data[order] != 0]
    data, rows, columns = data[order], rows[order], columns[order]
    if ((np.diff(rows) == 0) & (np.diff(columns) == 0)).any():
        raise ValueError("a row has a column twice")
    counts = np.bincount(rows, minlength=shape[0])
    return Sparse(data, columns, np.concatenate([[0], np.cumsum(counts)]), shape)


# ---


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m rosenblatt.certificates.verify",
        description="Check a certificate against its data, in exact arithmetic. Exit status: 0 it holds, 1 it does not, 2 a "
        "file cannot be read.",
        epilog="example: python -m rosenblatt.certificates.verify certificate.json heart_scale",
    )
    parser.add_argument("certificate", help="a JSON file, as rb.save_certificate writes it")
    parser.add_argument("data", help="svmlight, CSV, TSV or .npz, also .gz, .bz2, .xz")
    parser.add_argument("--label", default="last", help="the column of labels in CSV: first, last, or its number from 0")
    options = parser.parse_args(arguments)
    try:
        label = {"first": 0, "last": -1}[options.label] if options.label in ("first", "last") else int(options.label)
        certificate = load_certificate(options.certificate)
        check = verify(certificate, *read_data(options.data, certificate.about.n_columns, label))
    except (ValueError, OSError, MemoryError) as wrong:
        sys.stderr.write(f"{wrong or type(wrong).__name__}\n")
        return 2
    sys.stdout.write(f"{check}\n{certificate}\n" if check else f"{check}\n")
    return 0 if check else 1
