"""Blocks of rows: where a block comes from, what a task sees of it, and what is known of all blocks.

A block is fixed by the data and by parameters of the call, never by the workers. Its source reads it again whenever a worker
that held it is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..data.csr import CSRMatrix
from ..data.problem import Problem, make_problem, make_rows, read_only
from ..data.table import DataError
from ..kernels.linear.row_blocks import lengths
from ..kernels.linear.rows import CSR, Rows
from ..reporting.text import count, plural


class RawBlock(NamedTuple):
    """Rows as a source has them: a matrix of float32 or float64, their labels, and their weights or None."""

    X: Matrix | CSRMatrix
    y: Array
    weights: Array | None = None


class Source(Protocol):
    """Where a block comes from. It can be pickled, and reads the same rows each time."""

    @property
    def name(self) -> str:
        """The block in error messages."""

    def load(self) -> RawBlock:
        """Read the rows."""

    @property
    def identity(self) -> str:
        """What changes if the rows are others: the checkpoint of a fit is for these rows alone."""

    def place(self, row: int) -> tuple[str, dict[str, Any]]:
        """The file of a row, and its line or row there, as keywords of `DataError`."""


class BlockError(ValueError):
    """A block that cannot be used: one sentence that names the block, and the row and column if they are known."""


@dataclass(frozen=True)
class BlockFacts:
    """What one block, or all blocks together, contribute to the facts of a training set."""

    rows: int
    width: int
    sparse: bool
    float32: bool
    classes: Array  # sorted
    counts: IntArray  # rows of each class
    stored: int  # stored values
    longest: float  # the largest squared length of a row
    squares: float  # the sum of the squared lengths
    weighted: bool
    first: str = ""  # the block that these facts are from, for messages
    starts: tuple[int, ...] = field(default=(0,))  # the number of the first row of each block
    sums: FloatArray = field(default_factory=lambda: np.zeros(0))  # the weights of the rows of each class

    @property
    def density(self) -> float:
        """Stored values per row."""
        return self.stored / max(1, self.rows)


def as_raw(block: Any, name: str) -> RawBlock:
    """What a source gave, as a `RawBlock`: a pair (X, y) or (X, y, weights) of arrays, matrices or data frames."""
    if not (isinstance(block, tuple | list) and len(block) in (2, 3)):
        raise BlockError(f"{name} must be a pair (X, y) or a triple (X, y, weights), got {type(block).__name__}")
    X, y, weights = block[0], np.asarray(block[1]), block[2] if len(block) == 3 else None
    if not isinstance(X, CSRMatrix):
        X = _as_matrix(X, name)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or len(y) != X.shape[0]:
        raise BlockError(f"{name}: y must have one label for each row, got shape {y.shape} for {plural(X.shape[0], 'row')}")
    if y.dtype.kind == "O":
        y = np.array(y.tolist()) if len(y) else y.astype(float)
    if y.dtype.kind not in "biufSU":
        raise BlockError(f"{name}: labels must be numbers or text, got {y.dtype}")
    if weights is not None:
        weights = np.asarray(weights, np.float64)
        if weights.shape != y.shape or not np.isfinite(weights).all() or (weights < 0.0).any():
            raise BlockError(f"{name}: weights must be one finite number of at least 0 for each row")
    return RawBlock(X, y, weights)


def _as_matrix(X: Any, name: str) -> Matrix:
    if sp.issparse(X):
        csr: Any = X.tocsr()
        return csr if csr.dtype in (np.float32, np.float64) else csr.astype(np.float64)
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    array = np.asarray(X)
    if array.ndim != 2:
        raise BlockError(f"{name}: X must have two dimensions, got shape {array.shape}")
    if array.dtype not in (np.float32, np.float64):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise BlockError(
                f"{name}: X has values that are not numbers ({array.dtype}): use rb.cluster.read, or encode them"
            ) from None
    return np.ascontiguousarray(array)


def survey(raw: RawBlock, source: Source) -> BlockFacts:
    """A task: the facts of a block. Raises an error that names the first value that is not finite."""
    rows = make_rows(raw.X, any_order=True)
    n, width = raw.X.shape
    squares = np.empty(n)
    lengths(rows, 0.0, squares)
    if not np.isfinite(squares).all():
        _check_finite(rows, raw, source)
        raise BlockError(f"{source.name}: the squared length of a row exceeds the range of float64: scale the features")
    if raw.y.dtype.kind == "f" and not np.isfinite(raw.y).all():
        row = int(np.flatnonzero(~np.isfinite(raw.y))[0])
        raise _error(source, row, None, "the label is not finite")
    weights, labels = raw.weights, raw.y
    if weights is not None:  # rows without weight do not count
        labels, weights = labels[weights > 0.0], weights[weights > 0.0]
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    sums = counts.astype(np.float64) if weights is None else np.bincount(codes, weights, len(classes)).astype(np.float64)
    return BlockFacts(
        n, width, isinstance(rows, CSR), rows.values.dtype == np.float32, classes, counts.astype(np.int64),
        int(rows.values.size), float(squares.max(initial=0.0)), float(squares.sum()), weights is not None, source.name,
        sums=sums,
    )  # fmt: skip


def _check_finite(rows: Rows, raw: RawBlock, source: Source) -> None:
    values = rows.values
    bad = np.argwhere(~np.isfinite(values))
    if not len(bad):
        return
    if isinstance(rows, CSR):
        at = int(bad[0, 0])
        row, column = int(np.searchsorted(rows.indptr, at, side="right")) - 1, int(rows.indices[at])
        value = float(values[at])
    else:
        row, column = map(int, bad[0])
        value = float(values[row, column])
    raise _error(source, row, column, f"the value is {'NaN' if value != value else 'infinite'}")


def _error(source: Source, row: int, column: int | None, sentence: str) -> Exception:
    name, place = source.place(row)
    if place:
        return DataError(name, sentence, column=column, **place)
    where = f"row {count(row + 1)}" if column is None else f"row {count(row + 1)}, column {count(column)} (from 0)"
    return BlockError(f"{name}, {where}: {sentence}")


def merge_facts(left: BlockFacts, right: BlockFacts) -> BlockFacts:
    """The facts of neighboring blocks together. Raises an error if they do not fit together."""
    if not left.rows:
        return replace(right, starts=(*left.starts, *right.starts))
    if not right.rows:
        return replace(left, starts=(*left.starts, *(left.rows + start for start in right.starts)))
    if left.sparse != right.sparse:
        kinds = ["sparse" if each.sparse else "dense" for each in (left, right)]
        raise BlockError(f"{left.first} has {kinds[0]} rows, but {right.first} has {kinds[1]} rows: use one kind")
    if left.width != right.width and not left.sparse:
        raise BlockError(
            f"{left.first} has {plural(left.width, 'column')}, but {right.first} has {count(right.width)}: all blocks must "
            "have the same columns"
        )
    if (left.classes.dtype.kind in "biuf") != (right.classes.dtype.kind in "biuf"):
        raise BlockError(f"the labels of {left.first} and {right.first} mix numbers and text")
    classes = np.union1d(left.classes, right.classes)
    counts, sums = np.zeros(len(classes), np.int64), np.zeros(len(classes))
    for each in (left, right):
        counts[np.searchsorted(classes, each.classes)] += each.counts
        sums[np.searchsorted(classes, each.classes)] += each.sums
    return BlockFacts(
        left.rows + right.rows, max(left.width, right.width), left.sparse, left.float32 and right.float32, classes, counts,
        left.stored + right.stored, max(left.longest, right.longest), left.squares + right.squares,
        left.weighted or right.weighted, left.first, (*left.starts, *(left.rows + start for start in right.starts)), sums,
    )  # fmt: skip


@dataclass
class Block:
    """A block as tasks use it: rows in the layout of the kernels, class codes, and weights."""

    rows: Rows
    codes: IntArray  # int32
    weights: FloatArray  # one per row; empty if every row has weight 1
    number: int  # of the block
    start: int  # the number of its first row
    n_classes: int
    _problems: dict[Any, Any] = field(default_factory=dict, repr=False)  # what tasks derive from it, computed once

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def width(self) -> int:
        return int(self.rows.width) if isinstance(self.rows, CSR) else int(self.rows.values.shape[1])

    def derived(self, key: Any, make: Callable[[], Any]) -> Any:
        """Something that is computed from the block alone; the last one is kept as long as the block is in memory."""
        kept = self._problems  # replaced, never changed: other threads may have the same block
        if key not in kept:
            kept = {key: make()}
            self._problems = kept
        return kept[key]

    def problem(self, multiclass: str, x0: float) -> Problem:
        """The rows as a `Problem` for the kernels."""

        def make() -> Problem:
            weights = self.weights if self.weights.size else None
            labels = make_problem(
                np.zeros((self.n_rows, 0)), self.codes, self.n_classes, multiclass=multiclass, weights=weights, x0=x0
            )
            return replace(labels, rows=self.rows)

        found: Problem = self.derived((multiclass, x0), make)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_problems": {}}

    def __sizeof__(self) -> int:
        arrays = [*(value for value in self.rows if isinstance(value, np.ndarray)), self.codes, self.weights]
        return sum(array.nbytes for array in arrays)


class Layout(NamedTuple):
    """What `prepare` needs to know of all blocks."""

    classes: Array
    width: int
    float32: bool
    weighted: bool
    class_weights: Array | None
    any_order: bool


def prepare(raw: RawBlock, layout: Layout, number: int, start: int, name: str) -> Block:
    """A task: rows, codes and weights of a block in the layout that all blocks share."""
    X = raw.X
    if isinstance(X, CSRMatrix):
        X = X.with_width(layout.width)
    elif sp.issparse(X) and X.shape[1] < layout.width:
        X = CSRMatrix.from_scipy(X, any_order=layout.any_order).with_width(layout.width)
    dtype = np.float32 if layout.float32 else np.float64
    if isinstance(X, CSRMatrix):
        X = replace(X, values=X.values.astype(dtype, copy=False))
    elif X.dtype != dtype:
        X = X.astype(dtype)
    codes = np.searchsorted(layout.classes, raw.y).astype(np.int32)
    known = np.minimum(codes, len(layout.classes) - 1)
    weights = np.zeros(0) if not layout.weighted else np.ones(len(codes)) if raw.weights is None else raw.weights.copy()
    strange = layout.classes[known] != raw.y
    if strange.any():
        if raw.weights is None or (raw.weights[strange] > 0.0).any():
            raise BlockError(f"{name}: label {raw.y[strange][0]!r} is not among the classes {layout.classes.tolist()}")
        codes[strange] = 0  # rows without weight, whose labels no other row has
    if layout.class_weights is not None:
        weights = layout.class_weights[codes] * (weights if weights.size else 1.0)
    return Block(
        make_rows(X, any_order=layout.any_order), read_only(codes), read_only(np.ascontiguousarray(weights)), number, start,
        len(layout.classes),
    )  # fmt: skip
