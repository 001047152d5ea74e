"""Data sets of the benchmarks: generated with fixed seeds, or real ones if their files exist."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split

DATA = Path(os.environ.get("ROSENBLATT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def missing(what: str) -> str:
    """Return the reason why a benchmark without its files is skipped."""
    return f"no {what} in {DATA}: set ROSENBLATT_DATA to the folder that has it"


@cache
def dense(n: int, d: int, k: int = 2, noise: float = 0.1, seed: int = 0) -> tuple[Any, Any]:
    """Gaussian rows, labeled by a plane with noise: noise 0 flips no label, 0.1 flips 3 % of them, 0.5 flips 15 %."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if k == 2:
        score = X @ rng.standard_normal(d) + noise * np.sqrt(d) * rng.standard_normal(n)
        return X, (score > 0).astype(np.int64)
    y = rng.integers(0, k, n)
    X += 0.15 * rng.standard_normal((k, d))[y]
    return X, y


@cache
def sparse(n: int, d: int, nonzeros: int = 75, k: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Rows of length 1 whose columns follow a power law, as words do, labeled by planes with noise."""
    rng = np.random.default_rng(seed)
    share = np.cumsum(1.0 / np.arange(1, d + 1))
    columns = np.searchsorted(share / share[-1], rng.random(n * int(1.5 * nonzeros)))
    columns = rng.permutation(d)[np.minimum(columns, d - 1)].reshape(n, -1)
    parts = [rng.permutation(np.unique(row))[:nonzeros] for row in columns]
    indices = np.concatenate([np.sort(part) for part in parts]).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int32)
    values = 0.1 + rng.random(len(indices))
    X = sp.csr_matrix((values, indices, indptr), shape=(n, d))
    X.data /= np.repeat(np.sqrt(np.add.reduceat(values**2, indptr[:-1])), np.diff(indptr))
    scores = X @ rng.standard_normal((d, k)) + 0.5 * rng.standard_normal((n, k))
    return X, scores.argmax(axis=1)


def real(name: str) -> tuple[Any, Any, Any, Any] | None:
    """(X, X_test, y, y_test) of a real data set, or None if there is no data."""
    if not DATA.is_dir():
        return None
    if name == "mnist":
        (X, y), (X_test, y_test) = mnist("train"), mnist("t10k")
        return X, X_test, y, y_test
    X, y = svmlight({"ijcnn1": "ijcnn1.trn.bz2", "news20": "news20.bz2"}.get(name, name))
    if name == "a9a":
        X_test, y_test = svmlight("a9a.t", X.shape[1])
        return X, X_test, y, y_test
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    return X, X_test, y, y_test


SMALL = ("heart_scale", "breast-cancer_scale", "australian", "german.numer", "fourclass", "mushrooms")
TABLES = ("spambase.data", "sonar.all-data", "ionosphere.data", "banknote_authentication.csv")


def two_classes(quick: bool) -> Iterator[tuple[str, Any, Any]]:
    """Real sets of two classes, small ones first: (name, X, y); nothing if there is no data."""
    if not DATA.is_dir():
        return
    for name in SMALL:
        yield name, *svmlight(name)
    for name in TABLES:
        table = np.genfromtxt(DATA / "uci" / name, delimiter=",", dtype=str)
        table = table[1:] if table[0, 0].isalpha() else table
        yield name.split(".")[0], table[:, :-1].astype(float), table[:, -1]
    if quick:
        return
    for name in ("a9a", "w8a"):
        yield name, *svmlight(name)
    X, y = mnist("train")
    yield "MNIST 0 against 1", X[y < 2], y[y < 2]
    X, y = svmlight("news20.bz2")
    for i, j in ((1, 2), (16, 19)):
        chosen = np.flatnonzero((y == i) | (y == j))
        yield f"news20 {i} against {j}", *draw(X[chosen], y[chosen], len(chosen), 0)


def draw(X: Any, y: Any, n: int, seed: int) -> tuple[Any, Any]:
    """n rows, drawn without replacement."""
    chosen = np.random.default_rng(seed).permutation(len(y))[:n]
    rows = X[chosen]
    return sp.csr_matrix((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), shape=rows.shape), y[chosen]


def svmlight(name: str, columns: int | None = None) -> tuple[Any, Any]:
    X, y = load_svmlight_file(str(DATA / "libsvm" / name), n_features=columns)
    # The peers take 32-bit indices only.
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape), y.astype(int)


def mnist(part: str) -> tuple[Any, Any]:
    with gzip.open(DATA / "mnist" / f"{part}-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(DATA / "mnist" / f"{part}-labels-idx1-ubyte.gz") as file:
        y = np.frombuffer(file.read(), np.uint8, offset=8)
    return X / 255.0, y.astype(int)
