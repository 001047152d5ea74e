"""The command `python -m rosenblatt.certificates.verify certificate.json data`, and its reader of data files.

The reader needs the standard library and NumPy only:

svmlight   label column:value column:value ...; columns count from 1, or from 0 if a column 0 occurs
CSV, TSV   numbers and one column of labels, by default the last; a first line without numbers is a header
.npz       arrays X and y; or y with the data, indices, indptr and shape of a CSR or CSC matrix, with or without the prefix X_

Text files may be compressed: .gz, .bz2, .xz.
"""

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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

import numpy as np

from .exact_arrays import Array, MatrixLike, SparseRows, canonical_label
from .files import load_certificate
from .verify import verify

OPENERS: dict[str, Callable[..., IO[str]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

Labels = Array | list[str]
Line = tuple[int, str]  # its number in the file, from 1, and its text


def main(arguments: list[str]) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m rosenblatt.certificates.verify",
        description="Check a certificate against its data, in exact arithmetic. Exit status: 0 the certificate holds, "
        "1 it is rejected, 2 a file cannot be read.",
        epilog="example: python -m rosenblatt.certificates.verify certificate.json heart_scale",
    )
    parser.add_argument("certificate", help="a JSON file written by rb.save_certificate")
    parser.add_argument("data", help="svmlight, CSV, TSV or .npz; text files also as .gz, .bz2 or .xz")
    parser.add_argument("--label", default="last", help="the label column of a CSV file: first, last, or its number from 0")
    options = parser.parse_args(arguments)
    try:
        label = {"first": 0, "last": -1}[options.label] if options.label in ("first", "last") else int(options.label)
        certificate = load_certificate(options.certificate)
        check = verify(certificate, *read_data(options.data, certificate.about.n_columns, label))
    except (ValueError, OSError, MemoryError) as error:
        sys.stderr.write(f"{error or type(error).__name__}\n")
        return 2
    sys.stdout.write(f"{check}\n{certificate}\n" if check else f"{check}\n")
    return 0 if check else 1


def read_data(path: str | os.PathLike[str], n_columns: int, label: int = -1) -> tuple[MatrixLike, Labels]:
    """Rows and labels of a file; `n_columns` is the width of svmlight rows, `label` the label column of CSV files."""
    path = Path(path)
    try:
        return _read_npz(path) if path.suffix == ".npz" else _read_text(path, n_columns, label)
    except (EOFError, csv.Error, lzma.LZMAError, zipfile.BadZipFile, zlib.error, OverflowError) as error:
        raise ValueError(f"{path.name} is damaged or not of the type of its suffix: {error}") from None


def _read_text(path: Path, n_columns: int, label: int) -> tuple[MatrixLike, Labels]:
    opener: Callable[..., IO[str]] = OPENERS.get(path.suffix, open)
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        lines = [(n, line) for n, line in enumerate(file, 1) if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise ValueError(f"{path.name} has no rows")
    # A row of zeros is a label alone, so the first line does not always show the format.
    if any(re.match(r"\S+\s+\d+:", line) for _, line in lines) or not re.search(r"[\t,; ]", lines[0][1].strip()):
        return _parse_svmlight(lines, n_columns, path.name)
    return _parse_csv(lines, label, path.name)


def _parse_svmlight(lines: list[Line], n_columns: int, name: str) -> tuple[SparseRows, Labels]:
    labels: list[str] = []
    columns: list[int] = []
    values: list[float] = []
    indptr, first = [0], 1
    for number, line in lines:
        label, *entries = line.split("#")[0].split()
        try:
            row = sorted((_column(column), _value(value)) for column, _, value in (entry.partition(":") for entry in entries))
        except ValueError:
            raise ValueError(f"{name}, line {number}: expected 'label column:value ...'") from None
        _check_whole_numbers((entry.partition(":")[2] for entry in entries), f"{name}, line {number}")
        if len({column for column, _ in row}) < len(row):
            raise ValueError(f"{name}, line {number}: a column occurs twice")
        first = min(first, row[0][0]) if row else first
        nonzero = [(column, value) for column, value in row if value != 0]
        labels.append(canonical_label(label))
        columns.extend(column for column, _ in nonzero)
        values.extend(value for _, value in nonzero)
        indptr.append(len(columns))
    indices = np.array(columns, np.int64) - (1 if first > 0 else 0)
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_columns:
        raise ValueError(f"{name} has columns beyond the {n_columns} of the certificate")
    return SparseRows(np.array(values, np.float64), indices, np.array(indptr), (len(labels), n_columns)), labels


def _parse_csv(lines: list[Line], label: int, name: str) -> tuple[Array, Labels]:
    delimiter = next((mark for mark in ("\t", ",", ";") if mark in lines[0][1]), None)
    rows = _split_csv(lines, delimiter) if delimiter else [(number, line.split()) for number, line in lines]
    width = len(rows[0][1])
    if not -width <= label < width:
        raise ValueError(f"{name} has {width} columns, but the label column is {label}; use --label")
    if all(_number(cell) is None for cell in _without(rows[0][1], label)):
        rows = rows[1:]
    table = []
    for number, row in rows:
        numbers = [_number(cell) for cell in _without(row, label)] if len(row) == width else [None]
        if None in numbers:
            raise ValueError(f"{name}, line {number}: expected {width - 1} numbers and a label")
        _check_whole_numbers(_without(row, label), f"{name}, line {number}")
        table.append(numbers)
    return np.array(table, np.float64).reshape(len(table), width - 1), [canonical_label(row[label]) for _, row in rows]


def _split_csv(lines: list[Line], delimiter: str) -> list[tuple[int, list[str]]]:
    """The cells of every record, with the number of its first line."""
    reader, rows, used = csv.reader((line for _, line in lines), delimiter=delimiter), [], 0
    for row in reader:
        rows.append((lines[used][0], row))
        used = reader.line_num
    return rows


def _without(row: list[str], label: int) -> list[str]:
    at = label % len(row) if row else 0
    return row[:at] + row[at + 1 :]


def _number(cell: str) -> float | None:
    try:
        return _value(cell)
    except ValueError:
        return None


def _value(text: str) -> float:
    """The number that a text stands for: not 1_000 and digits of other scripts, which `float` accepts."""
    if "_" in text or not text.isascii():
        raise ValueError
    return float(text)


def _column(text: str) -> int:
    if "_" in text or not text.isascii():
        raise ValueError
    return int(text)


def _check_whole_numbers(cells: Iterable[str], where: str) -> None:
    """A number with a point or an exponent stands for the nearest float64; one of digits alone must be one, as in arrays."""
    for cell in cells:
        if len(cell) > 15 and re.fullmatch("[+-]?[0-9]{16,400}", cell.strip()) and int(cell) != float(cell):
            raise ValueError(f"{where}: float64 cannot hold {cell.strip():.40} exactly")


def _read_npz(path: Path) -> tuple[MatrixLike, Labels]:
    with path.open("rb") as raw:
        file = np.load(raw, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise ValueError(f"{path.name} holds a single array instead of the arrays X and y")
        arrays: dict[str, Array] = {}
        for name in file.files:
            short = name.removeprefix("X_")
            if short in arrays:
                raise ValueError(f"{path.name} has two arrays {short!r:.60}, with and without the prefix X_")
            arrays[short] = file[name]
    if "y" in arrays and "X" in arrays:
        return arrays["X"], arrays["y"]
    if not {"y", "data", "indices", "indptr", "shape"} <= set(arrays):
        raise ValueError(f"{path.name} must hold X and y, or y and the arrays data, indices, indptr and shape")
    kind = bytes(arrays.get("format", np.array(b"csr")).astype("S").tolist()).decode()
    if kind not in ("csr", "csc"):
        raise ValueError(f"{path.name} has a sparse matrix of format {kind!r}; supported formats: csr, csc")
    if any(arrays[name].dtype.kind not in "iu" for name in ("indices", "indptr", "shape")):
        raise ValueError(f"{path.name} has a sparse matrix whose indices are not integers")
    lengths = np.diff(arrays["indptr"])
    shape = tuple(map(int, arrays["shape"]))
    outer, inner = shape if kind == "csr" else shape[::-1]
    indices, data = arrays["indices"].astype(np.int64), arrays["data"]
    consistent = len(lengths) == outer and (lengths >= 0).all() and lengths.sum() == len(indices) == len(data)
    if not consistent or not (0 <= indices.min(initial=0) <= indices.max(initial=0) < max(1, inner)):
        raise ValueError(f"{path.name} has a sparse matrix with inconsistent arrays")
    outer_indices = np.repeat(np.arange(outer), lengths)
    rows, columns = (outer_indices, indices) if kind == "csr" else (indices, outer_indices)
    return _sorted_csr(data, rows, columns, (shape[0], shape[1]), path.name), arrays["y"]


def _sorted_csr(data: Array, rows: Array, columns: Array, shape: tuple[int, int], name: str) -> SparseRows:
    """A CSR matrix with ascending columns and without zeros."""
    order = np.lexsort((columns, rows))
    order = order[data[order] != 0]
    data, rows, columns = data[order], rows[order], columns[order]
    if ((np.diff(rows) == 0) & (np.diff(columns) == 0)).any():
        raise ValueError(f"{name} has a sparse matrix in which a row has a column twice")
    counts = np.bincount(rows, minlength=shape[0])
    return SparseRows(data, columns, np.concatenate([[0], np.cumsum(counts)]), shape)
