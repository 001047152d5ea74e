"""Sparse matrices side by side, and from and to dense ones, without SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.table import Sparse


def from_dense(X: Any) -> Sparse:
    rows, columns = np.nonzero(X)
    return Sparse(X[rows, columns], columns.astype(np.int32), pointers(np.bincount(rows, minlength=len(X))), X.shape[1])


def to_dense(S: Sparse, start: int = 0, stop: int | None = None, width: int | None = None) -> Any:
    """Some rows; columns at or over `width` are left out."""
    stop = S.shape[0] if stop is None else stop
    width = S.width if width is None else width
    low, high = int(S.indptr[start]), int(S.indptr[stop])
    rows = np.repeat(np.arange(stop - start), np.diff(S.indptr[start : stop + 1]))
    columns, values = S.indices[low:high], S.values[low:high]
    X = np.zeros((stop - start, width))
    kept = columns < width
    X[rows[kept], columns[kept]] = values[kept]
    return X


def side_by_side(blocks: list[Sparse], n_rows: int) -> Sparse:
    """One matrix of all columns, in the order of the blocks."""
    counts = [np.diff(block.indptr) for block in blocks]
    indptr = pointers(sum(counts, np.zeros(n_rows, np.int64)))
    values, indices = np.empty(int(indptr[-1])), np.empty(int(indptr[-1]), np.int32)
    begin, offset = indptr[:-1].copy(), 0
    for block, count in zip(blocks, counts, strict=True):
        places = np.repeat(begin - block.indptr[:-1], count) + np.arange(len(block.values))
        values[places] = block.values
        indices[places] = block.indices + np.int32(offset)
        begin += count
        offset += block.width
    return Sparse(values, indices, indptr, offset)


def one_below_other(parts: list[Sparse], width: int) -> Sparse:
    lengths = [np.diff(part.indptr) for part in parts]
    counts = np.concatenate(lengths) if lengths else np.zeros(0, np.int64)
    values = np.concatenate([part.values for part in parts]) if parts else np.zeros(0)
    indices = np.concatenate([part.indices for part in parts]) if parts else np.zeros(0, np.int32)
    return Sparse(values, indices, pointers(counts), width)


def cut_columns(S: Sparse, width: int) -> Sparse:
    """The first `width` columns; fewer are padded."""
    if S.width <= width:
        return S if S.width == width else Sparse(S.values, S.indices, S.indptr, width)
    kept = S.indices < width
    if kept.all():
        return Sparse(S.values, S.indices, S.indptr, width)
    before = np.concatenate([[0], np.cumsum(kept)])
    return Sparse(S.values[kept], S.indices[kept], before[S.indptr].astype(np.int64), width)


def pointers(counts: Any) -> Any:
    indptr = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    return indptr


# --- Products of sparse rows with weights, without SciPy: a third of a second that a small prediction need not wait.

# Stored values that are multiplied at a time: nothing of the size of the rows is made.
STRETCH = 1 << 20


class SparseRows:
    """Rows that `linear_scores` can score: `rows @ weights`, some of them, and those as an array.

    A row's products are added one after the other, in the order of its columns, as SciPy adds them: the bits are the same.
    """

    def __init__(self, rows: Sparse) -> None:
        self.rows = rows

    def __matmul__(self, weights: Any) -> Any:
        rows, n = self.rows, self.rows.shape[0]
        out = np.zeros((n, weights.shape[1]), np.result_type(weights, rows.values))
        start = 0
        while start < n:
            stop = max(start + 1, int(np.searchsorted(rows.indptr, rows.indptr[start] + STRETCH, side="right")) - 1)
            low, high = int(rows.indptr[start]), int(rows.indptr[stop])
            which = np.repeat(np.arange(stop - start), np.diff(rows.indptr[start : stop + 1]))
            values, columns = rows.values[low:high], rows.indices[low:high]
            for h in range(weights.shape[1]):
                # bincount adds in float64 and in order; np.add.reduceat would add in pairs
                out[start:stop, h] = np.bincount(which, values * weights[columns, h], stop - start)
            start = stop
        return out

    def __getitem__(self, places: Any) -> Any:
        """Some rows as an array, for those few whose scores overflow."""
        out = np.zeros((len(places), self.rows.width))
        for row, place in zip(out, places, strict=True):
            here = slice(int(self.rows.indptr[place]), int(self.rows.indptr[place + 1]))
            row[self.rows.indices[here]] = self.rows.values[here]
        return out
