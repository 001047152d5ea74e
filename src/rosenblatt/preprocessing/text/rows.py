"""Counts of columns, block by block, become one CSR matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config

from ...data.readers.growing import enlarged, room_for
from ...kernels.text.hashing import normalise

MOST_INT32 = 2**31 - 1


class Values(NamedTuple):
    """What the number of times a column is there becomes."""

    binary: bool
    norm: str | None
    dtype: Any

    def of(self, counts: Any, indptr: Any) -> Any:
        wanted = np.dtype(self.dtype)
        if wanted.kind not in "biuf" or wanted.itemsize not in (1, 2, 4, 8) or wanted == np.float16 or not wanted.isnative:
            raise ValueError(f"dtype must be bool, float32, float64 or whole numbers, got {self.dtype!r}")
        ones = self.binary or wanted.kind == "b"  # as True and True are True
        values = np.ones(len(counts), wanted) if ones else counts.astype(wanted)
        if self.norm is not None and wanted.kind != "f":  # as scikit-learn does
            values = values.astype(np.float64)
        if self.norm is not None:
            normalise(values, indptr, self.norm == "l2")
        return values


def stacked(blocks: Iterable[tuple[Any, Any, Any]], columns: int) -> Any:
    """Blocks of (indices, values, indptr) as one matrix, of the kind that scikit-learn is set to give; it is held once."""
    indices: Any = np.empty(0, np.int32)
    values: Any = None
    ends, size = [np.zeros(1, np.int64)], 0
    for some, its, indptr in blocks:
        values = np.empty(0, its.dtype) if values is None else values
        if size + len(some) > len(indices):
            room = room_for(size + len(some), len(indices), 1.0)
            indices, values = enlarged(indices, room), enlarged(values, room)
        indices[size : size + len(some)], values[size : size + len(some)] = some, its
        ends.append(indptr[1:].astype(np.int64) + size)
        size += len(some)
    if values is None:
        raise ValueError("Cannot vectorize empty sequence.")
    indices.resize(size, refcheck=False)
    values.resize(size, refcheck=False)
    whole = np.int32 if size <= MOST_INT32 else np.int64
    kind = csr_array if get_config().get("sparse_interface") == "sparray" else csr_matrix
    indptr = np.concatenate(ends).astype(whole, copy=False)
    X = kind((values, indices.astype(whole, copy=False), indptr), shape=(len(indptr) - 1, columns))
    X.has_canonical_format = True
    return X
