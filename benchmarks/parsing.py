"""Parsing of text files: svmlight against scikit-learn, CSV against pyarrow and pandas, on one thread, with equal results.

Our times include the SHA-256 of the file. Files are read from the page cache. Real data sets are read from the folder
ROSENBLATT_DATA or `shared/data` next to the repository, if they exist.
"""

from __future__ import annotations

import bz2
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from rosenblatt.data.readers import Options
from rosenblatt.data.readers.delimited import read_delimited
from rosenblatt.data.readers.sources import Source
from rosenblatt.data.readers.svmlight import read_svmlight
from rosenblatt.data.writers import write_csv, write_svmlight

from .measure import interleave
from .workloads import DATA

REAL_FILES = ("a9a", "w8a", "news20.bz2", "reuters.trn.bz2", "ijcnn1.trn.bz2", "letter.scale")
REQUIRED_RATIO = 7.0  # speed relative to load_svmlight_file


def _svmlight(path: Path) -> Any:
    with Source(path) as source:
        return read_svmlight(source)


def _table(path: Path) -> Any:
    with Source(path) as source:
        return read_delimited(source, Options(header=True, label="-1", missing="mean"))


def _real(folder: Path) -> Iterator[tuple[str, Path]]:
    for name in REAL_FILES:
        if (path := DATA / "libsvm" / name).is_file():
            if path.suffix == ".bz2":  # both readers get uncompressed text
                plain = folder / path.stem
                plain.write_bytes(bz2.decompress(path.read_bytes()))
                path = plain
            yield name.removesuffix(".bz2"), path


def _written(path: Path, write: Callable[..., None], *args: Any) -> Path:
    with path.open("wb") as stream:
        write(stream, *args)
    return path


def _generated(folder: Path, quick: bool) -> Iterator[tuple[str, Path]]:
    random, n = np.random.default_rng(0), 2_000 if quick else 20_000
    X = random.normal(size=(n, 54))
    y = random.integers(1, 8, n)
    yield "dense text, 54 columns, 6 decimals", _written(folder / "six", write_svmlight, np.round(X, 6), y)
    yield "dense text, 54 columns, 16 and 17 digits", _written(folder / "all", write_svmlight, X, y)


def _tables(folder: Path, quick: bool) -> Iterator[tuple[str, Path]]:
    random, n = np.random.default_rng(0), 5_000 if quick else 50_000
    X, y = random.normal(size=(n, 20)), random.integers(0, 2, n)
    names = [f"x{k}" for k in range(20)]
    yield "20 columns, 6 decimals", _written(folder / "six.csv", write_csv, names, np.round(X, 6), y)
    yield "20 columns, 16 and 17 digits", _written(folder / "all.csv", write_csv, names, X, y)
    yield "20 columns, integers", _written(folder / "integers.csv", write_csv, names, np.floor(100 * X), y)
    words = np.array(["Private", "State-gov", "Never-worked", "?"], object)
    some = [words[random.integers(0, 3, n)] for _ in range(10)]
    yield "10 numeric and 10 categorical columns", _written(folder / "mixed.csv", write_csv, names, [*X.T[:10], *some], y)


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for work, path in (*_real(folder), *_generated(folder, quick)):
            theirs: Any = partial(load_svmlight_file, str(path), zero_based=False)
            yield _row(f"svmlight: {work}", path, theirs, partial(_svmlight, path), _same_rows, repeats, REQUIRED_RATIO)
        for work, path in _tables(folder, quick):
            for peer, theirs in _table_readers(path):
                yield _row(f"CSV: {work}, {peer}", path, theirs, partial(_table, path), _same_table, repeats, None)


def _table_readers(path: Path) -> Iterator[tuple[str, Any]]:
    """The installed CSV readers, as functions that return the columns of a file."""
    with contextlib.suppress(ImportError):
        import pyarrow.csv

        options = pyarrow.csv.ReadOptions(use_threads=False)
        yield "pyarrow", lambda: pyarrow.csv.read_csv(str(path), read_options=options).columns
    with contextlib.suppress(ImportError):
        import pandas

        yield "pandas", lambda: [column for _, column in pandas.read_csv(path).items()]


def _row(work: str, path: Path, theirs: Any, ours: Any, same: Any, repeats: int, required: float | None) -> dict[str, Any]:
    agree = same(theirs(), ours())
    peer = work.rpartition(", ")[2] if work.startswith("CSV") else "sklearn"
    # Process time, because a reader may use threads of its own.
    seconds = interleave({peer: theirs, "ours": ours}, repeats, clock=time.process_time)
    return {
        "work": f"{work}, {path.stat().st_size / 1e6:.1f} MB",
        "dtype": "float64",
        "peer": peer,
        "seconds": seconds,
        "ratio": seconds[peer] / seconds["ours"],
        "required": required,
        "agree": agree,
    }


def _same_rows(theirs: Any, ours: Any) -> float:
    """0 if all arrays are equal bit for bit, else infinity."""
    (X, y), rows = theirs, ours.features
    pairs = (
        (X.data.view(np.int64), rows.values.view(np.int64)),
        (X.indices, rows.indices),
        (X.indptr, rows.indptr),
        (y, ours.labels),
    )
    return 0.0 if all(np.array_equal(*pair) for pair in pairs) else float("inf")


def _same_table(theirs: Any, ours: Any) -> float:
    """0 if all columns are equal, else the largest difference of a number."""
    worst = 0.0
    for other, column in zip(theirs, [*ours.features.columns, ours.labels], strict=True):
        values = np.asarray(other)
        if column.dtype == object and values.dtype.kind in "iuf":  # labels stay as written
            column = column.astype(np.float64)
        if column.dtype == object:
            worst = worst if np.array_equal(values.astype(object), column) else float("inf")
        else:
            worst = max(worst, float(np.abs(values - column).max()))
    return worst
