"""Rows, and caches made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.cache import Cache
from rosenblatt.data.cache_header import in_hexadecimal
from rosenblatt.data.cache_writer import CacheWriter
from rosenblatt.kernels.checksums import checksums


def noisy(classes: int = 2, n: int = 150, d: int = 6, seed: int = 0) -> tuple[Any, Any]:
    """Rows that no plane separates, half of them zeros, the first of another class than the second."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    y = (X[:, :classes] + rng.normal(size=(n, classes))).argmax(axis=1)
    y[:classes] = np.arange(classes)[::-1]
    return X, y


def contained(X: Any, kind: str, dtype: str) -> Any:
    return X.astype(dtype) if kind == "dense" else sp.csr_array(X.astype(dtype))


def cached(path: Path, X: Any, y: Any, size: int = 40, **options: Any) -> Cache:
    """A cache of these rows, written in chunks, labels numbered as they come."""
    classes = list(dict.fromkeys(y.tolist()))
    codes = np.array([classes.index(label) for label in y.tolist()])
    with CacheWriter(path, sparse=sp.issparse(X), dtype=X.dtype.name, **options) as writer:
        for start in range(0, len(y), size):
            writer.append(X[start : start + size], codes[start : start + size])
        writer.close(np.array(classes, y.dtype), width=X.shape[1])
    return Cache.open(path)


def stored_checksums(path: Path) -> list[str]:
    """The checksums of the blocks of a file, as a header has them."""
    return list(in_hexadecimal(checksums(np.frombuffer(path.read_bytes(), np.uint8))))
