"""Where the real data sets are: in the folder ROSENBLATT_DATA, or in `shared/data` beside the repository."""

from __future__ import annotations

import csv
import gzip
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file


def data_path(name: str) -> Path:
    """Where a data file or folder is, if it is."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    return Path(os.environ.get("ROSENBLATT_DATA", beside)) / name


def data_file(name: str) -> Path:
    """The path of a data file; skips the test where it is absent."""
    return _here(data_path(name), name, data_path(name).is_file())


def data_folder(name: str) -> Path:
    """The path of a folder of data; skips the test where it is absent."""
    return _here(data_path(name), name, data_path(name).is_dir())


def _here(path: Path, name: str, here: bool) -> Path:
    if not here:
        pytest.skip(f"no {name} in the data folder: set ROSENBLATT_DATA to the folder that has it")
    return path


def libsvm(name: str, dtype: Any = np.float64) -> tuple[Any, Any]:
    """A CSR matrix and labels, which the caller may change."""
    X, y = _svmlight(data_file(f"libsvm/{name}"))
    return X.astype(dtype), y.astype(int)


@cache
def _svmlight(path: Path) -> tuple[Any, Any]:
    return load_svmlight_file(str(path))


def mnist(part: str = "train", rows: int | None = None) -> tuple[Any, Any]:
    """Pixels from 0 to 1, and digits."""
    images, labels = (_idx(data_file(f"mnist/{part}-{kind}.gz")) for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    return images[:rows].reshape(len(images[:rows]), -1) / 255.0, labels[:rows].astype(int)


@cache
def _idx(path: Path) -> Any:
    """The idx format: two zero bytes, the type (8: bytes), the number of axes, their lengths, the values."""
    with gzip.open(path) as file:
        zeros, kind, axes = int.from_bytes(file.read(2)), file.read(1)[0], file.read(1)[0]
        assert (zeros, kind) == (0, 8)
        shape = [int.from_bytes(file.read(4)) for _ in range(axes)]
        return np.frombuffer(file.read(), np.uint8).reshape(shape)


def uci(name: str, label: int = -1) -> tuple[Any, Any]:
    """Numbers and labels from a comma-separated file; a first line without numbers is left out."""
    with data_file(f"uci/{name}").open(newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    at = label % len(rows[0])
    rows = [row for row in rows if row[1 - bool(at)].lstrip("-").replace(".", "").isdigit()]
    return np.array([[float(cell) for cell in row[:at] + row[at + 1 :]] for row in rows]), np.array([row[at] for row in rows])
