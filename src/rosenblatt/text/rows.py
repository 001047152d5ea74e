"""Counts of columns, block by block, become one CSR matrix."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config

from rosenblatt.kernels.hashing import normalise

MOST_INT32 = 2**31 - 1


class Values(NamedTuple):
    """What the number of times a column is there becomes."""

    binary: bool
    norm: str | None
    dtype: Any

    def of(self, counts: Any, indptr: Any) -> Any:
        wanted = np.dtype(self.dtype)
        if wanted.kind not in "fi" or (wanted.kind == "f" and wanted.itemsize not in (4, 8)):
            raise ValueError(f"dtype must be float32, float64 or whole numbers with a sign, got {self.dtype!r}")
        if self.norm is not None and wanted.kind == "i":  # as scikit-learn does
            wanted = np.dtype(np.float64)
        values = np.ones(len(counts), wanted) if self.binary else counts.astype(wanted)
        if self.norm is not None:
            normalise(values, indptr, self.norm == "l2")
        return values


def stacked(blocks: Iterable[tuple[Any, Any, Any]], columns: int) -> Any:
    """Blocks of (indices, values, indptr) as one matrix, of the kind that scikit-learn is set to give."""
    kept = deque(blocks)
    if not kept:
        raise ValueError("Cannot vectorize empty sequence.")
    rows, size = sum(len(indptr) - 1 for *_, indptr in kept), sum(len(indices) for indices, *_ in kept)
    whole: Any = np.int32 if size <= MOST_INT32 else np.int64
    indices, values, indptr = np.empty(size, whole), np.empty(size, kept[0][1].dtype), np.zeros(rows + 1, whole)
    row = at = 0
    while kept:  # each block goes when it is copied: the matrix is there once
        some, its, ends = kept.popleft()
        indices[at : at + len(some)], values[at : at + len(some)] = some, its
        np.add(ends[1:], np.uintp(at), out=indptr[row + 1 : row + len(ends)], casting="unsafe")
        row, at = row + len(ends) - 1, at + len(some)
    kind = csr_array if get_config().get("sparse_interface") == "sparray" else csr_matrix
    X = kind((values, indices, indptr), shape=(rows, columns))
    X.has_canonical_format = True
    return X
