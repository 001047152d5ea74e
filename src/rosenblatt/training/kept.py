"""Features of folds that several candidates of a search share: made once, as far as the memory for them reaches."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, TypeVar

from scipy.sparse import issparse

Value = TypeVar("Value")

# What is kept of all folds together, at most; the rest is made again for each candidate.
KEPT_BYTES = 1 << 29


@dataclass
class Kept(Generic[Value]):
    """Values by key. Threads that need the same value wait for the one that makes it."""

    _values: dict[Hashable, Value] = field(default_factory=dict)
    _locks: dict[Hashable, Lock] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _bytes: int = 0

    def get(self, key: Hashable, make: Callable[[], Value], size: Callable[[Value], int]) -> Value:
        """Return the value of a key, made by `make` unless it is kept."""
        with self._lock:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            if key in self._values:
                return self._values[key]
            value = make()
            with self._lock:
                if self._bytes + size(value) <= KEPT_BYTES:
                    self._values[key] = value
                    self._bytes += size(value)
            return value


def bytes_of_rows(X: Any) -> int:
    """The size of rows: an array, a sparse matrix, or a data frame."""
    if issparse(X):
        return int(X.data.nbytes + X.indices.nbytes)
    return int(getattr(X, "nbytes", 0)) or 8 * int(X.shape[0]) * int(X.shape[1])
