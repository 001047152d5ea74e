"""Rows in blocks for a model that is fitted: blocks need no common layout, and no labels if they are only predicted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..array_types import Array, IntArray
from ..data.csr import CSRMatrix
from ..data.table import Data, DataError, codes_of
from ..models.model import Model
from ..models.reading import reading_of
from .block_set import ArraySource, DelayedSource
from .blocks import BlockError
from .engine import Engine, Handle
from .features import whole_records
from .file_sources import CACHE, FilePart, read_part
from .read import FileBlocks, blocks_of_files
from .sources import sources_of

ROWS_PER_FRAME = 100_000  # of a data frame in memory, in a block


class Given(NamedTuple):
    """The blocks of some data: their names, and handles or arguments that tasks get as their rows."""

    names: list[str]
    values: list[Any]


class PartOfFile(NamedTuple):
    """A block of a file, and how the file is read."""

    part: FilePart
    form: Handle  # in a task, the form itself


class BlockRows(NamedTuple):
    """What a task sees of a block."""

    X: Any
    y: Array | Data | None  # labels, or the rows of a file, which may have some


def blocks_given(data: Any, block_rows: int | None, engine: Engine, model: Model | None) -> Given:
    """The blocks of rows with labels, or of rows alone.

    model : the model that reads files; None if it cannot.
    """
    if isinstance(data, FileBlocks):
        return _files_given(data, engine, model)
    if isinstance(data, Sequence) and not isinstance(data, tuple | str):
        values = [DelayedSource(number, block) if _is_delayed(block) else block for number, block in enumerate(data)]
        names = [f"block {number + 1}" for number in range(len(values))]
    else:
        pair = data if isinstance(data, tuple) else (data, None)
        values = _frame_slices(pair, block_rows) if _is_frame(pair[0]) else _slices(pair, block_rows)
        names = [f"block {number + 1}" for number in range(len(values))]
    if not values:
        raise ValueError("there are no blocks")
    delayed = iter(engine.compute([each.delayed for each in values if isinstance(each, DelayedSource)]))
    return Given(names, [next(delayed) if isinstance(each, DelayedSource) else each for each in values])


def _is_delayed(value: Any) -> bool:
    return hasattr(value, "__dask_graph__")


def _is_frame(value: Any) -> bool:
    return hasattr(value, "iloc") and not _is_delayed(value)


def _slices(pair: tuple[Any, ...], block_rows: int | None) -> list[Any]:
    """Chunks of Dask collections, and slices of arrays and sparse matrices."""
    X, y = pair[0], pair[1] if len(pair) > 1 else None
    if y is None and not _is_delayed(X):
        X = X if hasattr(X, "tocsr") else np.asarray(X)
        found = sources_of((X, np.zeros(X.shape[0], np.int8)), block_rows)
        return [each.X for each in found if isinstance(each, ArraySource)]
    found = sources_of((X, y), block_rows)
    return [(each.X, each.y) if isinstance(each, ArraySource) else each for each in found]


def _frame_slices(pair: tuple[Any, ...], block_rows: int | None) -> list[Any]:
    X, rest = pair[0], [np.asarray(part) for part in pair[1:2] if part is not None]
    step = block_rows or ROWS_PER_FRAME
    edges = range(0, len(X), step)
    return [(X.iloc[start : start + step], *(part[start : start + step] for part in rest)) for start in edges]


def _files_given(data: FileBlocks, engine: Engine, model: Model | None) -> Given:
    """The blocks of files as the model reads them."""
    if model is None:
        raise TypeError("files are read by an estimator of Rosenblatt or a Model: give one, or arrays")
    if data.form.kind != CACHE:
        options = replace(data.form.options, **reading_of(model))
        data = blocks_of_files(data.files, options, block_bytes=data.block_bytes, as_streamed=True)
    parts = whole_records(engine, [source.part for source in data.sources], data.form)
    form = engine.put(data.form)
    return Given([part.title for part in parts], [PartOfFile(part, form) for part in parts])


# --- tasks -----------------------------------------------------------------------------------------------------------------


def start_on_blocks(
    engine: Engine, given: Given, function: Any, *arguments: Any, of_each: Sequence[Sequence[Any]] = ()
) -> list[Handle]:
    """Start `function(name, rows, *own, *arguments)` for every block; `own` are its entries of the lists in `of_each`."""
    found = []
    for name, value, *own in zip(given.names, given.values, *of_each, strict=True):
        if isinstance(value, PartOfFile):
            found.append(engine.submit(_on_file, function, value.part, value.form, *own, *arguments))
        else:
            found.append(engine.submit(_on_rows, function, name, value, *own, *arguments))
    return found


def _on_file(function: Any, part: FilePart, form: Any, *arguments: Any) -> Any:
    data = read_part(part, form)
    if data is None:
        return function(part.title, BlockRows(None, None), *arguments)
    with part.errors():
        return function(part.title, BlockRows(data, data), *arguments)


def _on_rows(function: Any, name: str, value: Any, *arguments: Any) -> Any:
    with errors_of_block(name):
        return function(name, _rows_of(value), *arguments)


@contextmanager
def errors_of_block(name: str) -> Iterator[None]:
    """Let errors about the rows name the block."""
    try:
        yield
    except DataError:
        raise
    except ValueError as error:
        raise BlockError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None


def _rows_of(value: Any) -> BlockRows:
    """The rows of a block: a pair (X, y), or X alone."""
    if isinstance(value, tuple | list) and 1 <= len(value) <= 3 and _has_two_dimensions(value[0]):
        y = None if len(value) == 1 or value[1] is None else np.asarray(value[1])
        return BlockRows(value[0], y.ravel() if y is not None and y.shape[1:] == (1,) else y)
    if not _has_two_dimensions(value):
        raise ValueError(f"the block must be rows with two dimensions, or a pair (X, y) of them, got {type(value).__name__}")
    return BlockRows(value, None)


def _has_two_dimensions(value: Any) -> bool:
    return len(getattr(value, "shape", ())) == 2


def widened(X: Any, width: int) -> Any:
    """Sparse rows with at least `width` columns: a block may lack the last columns."""
    if not sp.issparse(X) or X.shape[1] >= width:
        return X
    return CSRMatrix.from_scipy(X, any_order=True).with_width(width)


def n_rows_of(X: Any) -> int:
    """The number of rows."""
    return X.n_rows if isinstance(X, Data) else int(X.shape[0])


def codes_of_block(name: str, y: Array | Data | None, classes: Array) -> IntArray:
    """The class codes of the rows of a block, by the classes of a model."""
    if y is None:
        raise BlockError(f"{name} has no labels: give pairs (X, y)")
    if isinstance(y, Data):
        return codes_of(y, classes)
    if y.dtype.kind in "iu":
        y = y.astype(np.float64)
    labels = y.astype(object) if y.dtype.kind in "US" else y
    return codes_of(Data(name, np.zeros((len(y), 0)), labels), classes)
