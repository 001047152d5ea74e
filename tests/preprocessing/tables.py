"""Tables for tests of recipes, cut in any way."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from rosenblatt.data.csr import CSRMatrix
from rosenblatt.data.table import Data, Table


def strings(*cells: str | None) -> Any:
    found = np.empty(len(cells), object)
    found[:] = cells
    return found


def numbers(*cells: float) -> Any:
    return np.array(cells, np.float64)


def table(**columns: Any) -> Data:
    return Data("rows.csv", Table(tuple(columns), tuple(columns.values())), None)


def sparse(X: Any) -> CSRMatrix:
    X = np.asarray(X, np.float64)
    rows, columns = np.nonzero(X)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))]).astype(np.int64)
    return CSRMatrix(X[rows, columns], columns.astype(np.int32), indptr, X.shape[1])


def cut(features: Any, places: list[int]) -> list[Any]:
    """The rows between the places, which ascend."""
    n = features.shape[0]
    edges = [0, *sorted(min(place, n) for place in places), n]
    parts = []
    for start, stop in pairwise(edges):
        if isinstance(features, Table):
            parts.append(Table(features.names, tuple(column[start:stop] for column in features.columns)))
        elif isinstance(features, CSRMatrix):
            low, high = features.indptr[start], features.indptr[stop]
            indices = features.indices[low:high]
            # As a reader of svmlight does, each chunk has only the width seen so far.
            width = int(features.indices[:high].max(initial=-1)) + 1
            parts.append(CSRMatrix(features.values[low:high], indices, features.indptr[start : stop + 1] - low, width))
        else:
            parts.append(features[start:stop])
    return [Data("rows", part, None) for part in parts]


def dense(rows: Any) -> Any:
    return rows.to_scipy().toarray() if isinstance(rows, CSRMatrix) else rows
