"""Arguments of `cluster.fit` as sources of blocks: Dask collections, delayed objects, arrays, and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .block_set import ArraySource, DelayedSource
from .blocks import Source
from .engine import Engine
from .read import FileBlocks

BLOCK_BYTES = 1 << 26  # of rows in memory, about


def sources_of(data: Any, block_rows: int | None) -> Sequence[Source]:
    """The sources of the blocks of some data."""
    if isinstance(data, FileBlocks):
        if block_rows is not None:
            raise ValueError(f"block_rows={block_rows} is for arrays: give block_bytes to rb.cluster.read")
        return data.sources
    if isinstance(data, tuple) and len(data) in (2, 3):
        if _is_dask(data[0]):
            return _dask_sources(*data)
        return _array_sources(data, block_rows)
    if isinstance(data, Sequence) and not isinstance(data, str):
        return [_source_of(number, block) for number, block in enumerate(data)]
    raise TypeError(
        "data must be a pair (X, y) of Dask collections or arrays, a list of blocks, or what rb.cluster.read returns, got "
        f"{type(data).__name__}"
    )


def with_features(data: Any, sources: Sequence[Source], engine: Engine) -> Sequence[Source]:
    """The sources, for `open_blocks`; features of files are learned first."""
    return data.learn(engine) if isinstance(data, FileBlocks) else sources


def _is_dask(value: Any) -> bool:
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def _source_of(number: int, block: Any) -> Source:
    if hasattr(block, "__dask_graph__"):
        return DelayedSource(number, block)
    if isinstance(block, tuple | list) and len(block) in (2, 3):
        return ArraySource(number, *block)
    raise TypeError(f"block {number + 1} must be a delayed pair (X, y), or such a pair, got {type(block).__name__}")


def _dask_sources(X: Any, y: Any, weights: Any = None) -> list[Source]:
    from dask.delayed import delayed

    columns = [_row_chunks(X)]
    for name, other in (("y", y), ("weights", weights)):
        if other is None:
            continue
        if not _is_dask(other):
            raise TypeError(f"{name} must be a Dask collection like X, got {type(other).__name__}")
        chunks = _row_chunks(other, None if not hasattr(X, "chunks") else X.chunks[0])
        if len(chunks) != len(columns[0]):
            raise ValueError(f"{name} has {len(chunks)} chunks of rows, but X has {len(columns[0])}: give both the same chunks")
        columns.append(chunks)
    together = delayed(_together)
    return [DelayedSource(number, together(*parts)) for number, parts in enumerate(zip(*columns, strict=True))]


def _together(*parts: Any) -> tuple[Any, ...]:
    return tuple(parts)


def _row_chunks(collection: Any, rows: tuple[int, ...] | None = None) -> list[Any]:
    """The chunks of rows of a collection as delayed objects; an array of several chunks of columns is joined first."""
    if not hasattr(collection, "chunks"):
        return list(collection.to_delayed())
    if collection.ndim == 2 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    known = rows is not None and not np.isnan([*rows, *collection.chunks[0]]).any()
    if known and rows != collection.chunks[0] and sum(rows or ()) == sum(collection.chunks[0]):
        collection = collection.rechunk({0: rows})
    return list(collection.to_delayed().ravel())


def _array_sources(data: tuple[Any, ...], block_rows: int | None) -> list[Source]:
    X: Any = data[0].tocsr() if hasattr(data[0], "tocsr") else np.asarray(data[0])
    n = X.shape[0]
    if block_rows is None:
        stored = X.data.nbytes + X.indices.nbytes if hasattr(X, "indptr") else X.nbytes
        block_rows = max(1, int(BLOCK_BYTES * n // max(1, stored)))
    rest = [np.asarray(part) for part in data[1:] if part is not None]
    for part in rest:
        if len(part) != n:
            raise ValueError(f"X has {n} rows, but y or weights have {len(part)}")
    return [
        ArraySource(number, X[start : start + block_rows], *(part[start : start + block_rows] for part in rest))
        for number, start in enumerate(range(0, n, block_rows))
    ]
