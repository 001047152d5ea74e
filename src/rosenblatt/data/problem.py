"""The training set in the layout of the kernels: rows without a copy, labels as class codes, and weights of the same layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..array_types import Array, BoolArray, FloatArray, IntArray, Matrix
from ..kernels.linear.column_order import SORT_STACK, sum_columns_and_square
from ..kernels.linear.rows import CSR, NO_SQNORMS, Dense, Rows
from ..kernels.linear.schemes import Binary, Joint, Labels, Rest, State
from .csr import CSRMatrix

Scalar = TypeVar("Scalar", bound=np.generic)

# Values squared at a time by `mean_sqnorm`.
VALUES_PER_BLOCK = 1 << 20
# Weights checked or moved at a time, so that temporary arrays stay small.
WEIGHTS_PER_BLOCK = 1 << 16
# Integer labels within a range of this size are counted instead of sorted, which is several times as fast.
MAX_COUNTED_RANGE = 1 << 16


@dataclass(frozen=True)
class Pages:
    """Memory management of rows that are mapped from files on disk."""

    consecutive: int  # rows in file order to visit before their memory is released
    scattered: int  # the same for rows in random order, each of which loads whole pages
    check_rows: Callable[[int, int], None]  # raises an error if the rows from `start` to `stop` are damaged
    release_pages: Callable[[int, int], None]  # releases the memory of the rows from `start` to `stop`


class RowFinder(Protocol):
    """Finds the rows of a problem again in the X of the caller, which a fitted model does not keep."""

    def __call__(self) -> Rows | None:
        """Return the rows, or None if X is gone."""

    def check_exact(self) -> None:
        """Raise `ValueError` if the rows are not the numbers of X, but rounded ones."""


@dataclass(frozen=True)
class Problem:
    """Rows, labels, and the constant x_0 prepended to every row (0: no intercept)."""

    rows: Rows
    labels: Labels
    x0: float
    visited: IntArray | None = None  # the rows of positive weight; None: all of them
    pages: Pages | None = field(default=None, compare=False)  # None: the rows are in memory
    find_rows: RowFinder | None = field(default=None, compare=False)

    @property
    def n_rows(self) -> int:
        return len(self.rows.values) if isinstance(self.rows, Dense) else len(self.rows.indptr) - 1

    @property
    def n_features(self) -> int:
        return rows_width(self.rows)

    @property
    def n_visited(self) -> int:
        return self.n_rows if self.visited is None else len(self.visited)

    @property
    def signs(self) -> IntArray:
        """The labels of a binary problem, +1 or -1."""
        assert isinstance(self.labels, Binary)
        return self.labels.signs

    @property
    def density(self) -> float:
        """Stored values per row."""
        return float(self.rows.values.size) / max(1, self.n_rows)

    @property
    def total_weight(self) -> float:
        return float(self.labels.weights.sum()) if self.labels.weights.size else float(self.n_rows)

    def check_exact(self) -> None:
        """Raise `ValueError` if the rows were rounded, so that nothing can be proved about those that were given."""
        if self.find_rows is not None:
            self.find_rows.check_exact()

    def check_rows(self, start: int, stop: int) -> None:
        """Check mapped rows before their use; those in memory were checked when the problem was made."""
        if self.pages is not None:
            self.pages.check_rows(start, stop)

    def release_pages(self, start: int = 0, stop: int | None = None) -> None:
        """Release the memory of mapped rows that are not needed for a while."""
        if self.pages is not None:
            self.pages.release_pages(start, self.n_rows if stop is None else stop)

    def matrix(self, start: int = 0, stop: int | None = None) -> Matrix:
        """The rows from `start` to `stop` as an array (a view) or a SciPy CSR array."""
        stop = self.n_rows if stop is None else min(stop, self.n_rows)
        return rows_as_matrix(self.rows, start, stop)


def classes_and_codes(y: Array) -> tuple[Array, IntArray]:
    """The sorted classes and the position of each row's label among them, as np.unique(y, return_inverse=True)."""
    if y.dtype.kind not in "iu":
        return np.unique(y, return_inverse=True)
    low, high = int(y.min()), int(y.max())
    if high - low >= MAX_COUNTED_RANGE:
        return np.unique(y, return_inverse=True)
    offsets = (y.astype(np.int64) - low).astype(np.int32)
    if high - low == 1:
        return np.array([low, high]).astype(y.dtype), offsets
    present = np.flatnonzero(np.bincount(offsets))
    places = np.zeros(high - low + 1, np.int32)
    places[present] = np.arange(len(present))
    return (present + low).astype(y.dtype), places[offsets]


def classes_of_chunk(y: Array, classes: npt.ArrayLike | None, known: Array | None, fixed: bool) -> tuple[Array, bool]:
    """The classes known after a chunk of a stream, and whether they are fixed, so that a new class is an error.

    classes : the argument of `partial_fit`, or None.
    known : the classes before this chunk; None at the start.
    fixed : whether `known` was given by the caller.
    """
    occurring = np.unique(y)
    if classes is not None and len(np.unique(classes)) < 2:
        raise ValueError(f"classes must name at least two classes, got {classes!r}")
    if known is None:
        known, fixed = (occurring, False) if classes is None else (np.unique(classes), True)
    elif classes is not None and not np.array_equal(np.unique(classes), known):
        raise ValueError(f"classes={classes!r} must be the same as in the first call, {known.tolist()}")
    if (occurring.dtype.kind in "biuf") != (known.dtype.kind in "biuf"):
        raise ValueError(f"y mixes numbers and text: {occurring.tolist()} after {known.tolist()}")
    new = np.setdiff1d(occurring, known)
    if len(new) and fixed:
        raise ValueError(f"y has labels {new.tolist()} that are not in classes {known.tolist()}")
    return (np.union1d(known, new) if len(new) else known), fixed


def make_problem(
    X: Matrix | CSRMatrix,
    codes: Array,
    n_classes: int,
    *,
    multiclass: str = "joint",
    weights: Array | None = None,
    x0: float = 1.0,
    any_order: bool = False,
) -> Problem:
    """A problem from validated rows and class codes 0..k-1; two classes make it binary. For `any_order`, see `make_rows`."""
    c = np.zeros(0) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    visited = np.flatnonzero(c) if c.size and not c.all() else None
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    labels: Labels
    if n_classes == 2:
        labels = Binary(read_only(_signs(codes == 1)), read_only(c))
    elif multiclass == "joint":
        labels = Joint(read_only(codes), read_only(c))
    else:
        labels = Rest(read_only(codes), read_only(np.arange(n_classes, dtype=np.int32)), read_only(c))
    return Problem(make_rows(X, any_order=any_order), labels, float(x0), visited)


def _signs(positive: BoolArray) -> IntArray:
    """+1 for True, -1 for False."""
    return positive.view(np.int8) * np.int8(2) - np.int8(1)


def make_rows(X: Matrix | CSRMatrix, *, any_order: bool = False) -> Rows:
    """Rows as kernels take them: read-only views of an array, a SciPy CSR matrix or a `CSRMatrix`.

    A SciPy matrix is copied if columns do not ascend within its rows, or are repeated, unless `any_order` is set. Repeated
    columns are then left as they are, and their sums are taken only for the squared length of each row.
    """
    sqnorms = NO_SQNORMS
    if sp.issparse(X):
        matrix: Any = X
        csr = matrix.tocsr()
        X = CSRMatrix.from_scipy(csr, any_order=any_order)
        if any_order and not csr.has_canonical_format:
            sqnorms = _sqnorms_if_repeated(X)
    if isinstance(X, CSRMatrix):
        return CSR(read_only(X.values), read_only(X.indices), read_only(X.indptr), X.width, sqnorms)
    return Dense(read_only(np.require(X, requirements=["C"])))


def _sqnorms_if_repeated(X: CSRMatrix) -> FloatArray:
    """The squared length of each row, if a row has a column several times; else an empty array."""
    longest, squares = int(np.diff(X.indptr).max(initial=0)), np.empty(X.shape[0])
    buffers = np.empty(longest, np.int64), np.empty(longest), np.empty(SORT_STACK, np.int64)
    arrays = read_only(X.values), read_only(X.indices), read_only(X.indptr)
    return read_only(squares) if sum_columns_and_square(*arrays, *buffers, squares) else NO_SQNORMS


def with_repeated_columns(rows: Rows) -> TypeGuard[CSR]:
    """Whether these are CSR rows of which one has several values in one column."""
    return isinstance(rows, CSR) and rows.sqnorms.size > 0


def take_summed_rows(rows: CSR, wanted: Array) -> Rows:
    """A copy of some rows with ascending columns, each one once."""
    return make_rows(CSRMatrix.from_kernel(rows).take(wanted).to_scipy())


def rows_width(rows: Rows) -> int:
    """The number of features."""
    return int(rows.values.shape[1]) if isinstance(rows, Dense) else int(rows.width)


def rows_as_matrix(rows: Rows, start: int, stop: int) -> Matrix:
    """The rows from `start` to `stop` as an array (a view) or a SciPy CSR array."""
    if isinstance(rows, Dense):
        return rows.values[start:stop]
    return CSRMatrix.from_kernel(rows).slice(start, stop).to_scipy()


def dense_array(X: Matrix) -> FloatArray:
    """The array, or the entries of the SciPy matrix as an array."""
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())


def some_rows(rows: Rows, start: int, stop: int) -> Rows:
    """The rows from `start` to `stop` in the layout of the kernels, without a copy."""
    if isinstance(rows, Dense):
        return Dense(rows.values[start:stop])
    return rows._replace(indptr=rows.indptr[start : stop + 1], sqnorms=rows.sqnorms[start:stop])


def take_rows(rows: Rows, wanted: Array) -> Rows:
    """A copy of some rows, given as a mask or as row numbers."""
    if isinstance(rows, Dense):
        return Dense(read_only(rows.values[wanted]))
    few = CSRMatrix.from_kernel(rows).take(wanted)
    sqnorms = rows.sqnorms[wanted] if rows.sqnorms.size else rows.sqnorms
    return CSR(read_only(few.values), read_only(few.indices), read_only(few.indptr), few.width, read_only(sqnorms))


def mean_sqnorm(problem: Problem) -> float:
    """The mean squared length of the augmented rows."""
    rows = problem.rows
    values = rows.values.reshape(-1)

    def squares() -> Iterator[float]:
        if with_repeated_columns(rows):
            yield float(rows.sqnorms.sum())
            return
        for start in range(0, len(values), VALUES_PER_BLOCK):
            yield float(np.square(values[start : start + VALUES_PER_BLOCK], dtype=np.float64).sum())
            problem.release_pages()

    with np.errstate(over="ignore"):
        total = sum(squares())
    mean = total / problem.n_rows + problem.x0 * problem.x0
    if not mean < np.inf:
        raise ValueError("margin='auto' is the mean squared length of the rows, which overflowed: scale the features")
    return mean


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """A plain, aligned, read-only view, so that kernels are compiled for one array type."""
    plain = type(array) is np.ndarray and array.flags.aligned  # np.require costs more than this check
    view = array.view() if plain else np.require(np.asarray(array), requirements=["A"]).view()
    view.flags.writeable = False
    return view


def zero_state(problem: Problem, n_classes: int, dtype: npt.DTypeLike | None = None) -> State:
    """All-zero weights in the layout of the kernels (see `kernels/linear/rows.py`)."""
    labels, d = problem.labels, problem.n_features
    dtype = problem.rows.values.dtype if dtype is None else dtype
    k = 1 if isinstance(labels, Binary) else n_classes
    runs = k if isinstance(labels, Rest) else 1
    shape: tuple[int, ...] = (d,) if isinstance(labels, Binary) else (k, d) if isinstance(problem.rows, Dense) else (d, k)
    return State(np.zeros(shape, dtype), np.zeros(k), np.zeros(runs, np.int64), np.zeros(runs), np.zeros(k), float(problem.x0))


def heads_of(w: FloatArray, dense: bool) -> FloatArray:
    """A view of weights in the layout of the kernels, for dense or CSR rows, as heads x features."""
    return w[None] if w.ndim == 1 else w if dense else w.T


def as_heads(w: FloatArray, rows: Rows) -> FloatArray:
    """A view of weights in the layout for these rows as heads x features."""
    return heads_of(w, isinstance(rows, Dense))


def one_against_rest(problem: Problem, h: int) -> Problem:
    """Head h of a one-vs-rest problem as a binary problem on the same rows."""
    labels = problem.labels
    assert isinstance(labels, Rest)
    return replace(problem, labels=Binary(read_only(_signs(labels.codes == labels.heads[h])), labels.weights))


def select_heads(problem: Problem, heads: IntArray) -> Problem:
    """The one-vs-rest problem of some of the heads."""
    assert isinstance(problem.labels, Rest)
    return replace(problem, labels=problem.labels._replace(heads=read_only(problem.labels.heads[heads])))


def pick_heads(state: State, rows: Rows, heads: Array | list[int], *, flat: bool = False) -> State:
    """A copy of the state of some one-vs-rest heads; with `flat`, of one head, as a binary state."""
    vectors = as_heads(state.w, rows)[heads]
    w = vectors[0] if flat else vectors if isinstance(rows, Dense) else vectors.T
    bias, counts, sqnorms = (getattr(state, name)[heads].copy() for name in ("bias", "counts", "sqnorms"))
    return State(np.ascontiguousarray(w), bias, counts, sqnorms, np.zeros(len(heads)), state.x0)


def first_heads(state: State, rows: Rows, heads: IntArray) -> State:
    """The one-vs-rest heads whose weights are the first ones, with a copy of everything but the weights."""
    w = state.w[: len(heads)] if isinstance(rows, Dense) else state.w
    bias, counts, sqnorms = (getattr(state, name)[heads] for name in ("bias", "counts", "sqnorms"))
    return State(w, bias, counts, sqnorms, np.zeros(len(heads)), state.x0)


def reorder_heads(w: FloatArray, rows: Rows, order: IntArray) -> None:
    """Put the weights of the heads into another order, in place."""
    size = max(1, WEIGHTS_PER_BLOCK // len(order))
    for start in range(0, rows_width(rows), size):
        block = slice(start, start + size)
        if isinstance(rows, Dense):
            w[:, block] = w[order, block]
        else:
            w[block] = w[block].take(order, axis=1)


def all_finite(w: FloatArray) -> bool:
    """Whether all weights are finite."""
    flat = w.reshape(-1)
    return all(np.isfinite(flat[start : start + WEIGHTS_PER_BLOCK]).all() for start in range(0, len(flat), WEIGHTS_PER_BLOCK))


def copy_state(state: State) -> State:
    """A copy; weights from `virtual_zeros` become an ordinary array."""
    copies: list[Any] = [field.copy() if isinstance(field, np.ndarray) else field for field in state[1:]]
    virtual = not (any(state.w.strides) or state.w.flat[:1].any())
    return State(np.zeros(state.w.shape, state.w.dtype) if virtual else state.w.copy(), *copies)


def virtual_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> FloatArray:
    """Zeros that take no memory, read-only: the first weights of a run, which its log keeps."""
    zeros: FloatArray = np.broadcast_to(np.zeros((), dtype), shape)
    return zeros


def virtual_sums(state: State) -> State:
    """`zero_sums` without memory for the weights, to start a run with."""
    return State(virtual_zeros(state.w.shape, np.float64), np.zeros_like(state.bias), *state[2:])


def zero_sums(state: State) -> State:
    """A state of zeros in float64 in the shape of the weights, to accumulate updates in."""
    return State(np.zeros(state.w.shape), np.zeros_like(state.bias), *state[2:])
