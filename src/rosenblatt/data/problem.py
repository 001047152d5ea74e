"""The training set, validated once and laid out as the kernels want it: no copy of the rows, one type per kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..kernels.linear.rows import CSR, Dense
from ..kernels.linear.schemes import Binary, Joint, Rest, State

Rows = Dense | CSR


@dataclass(frozen=True)
class Pages:
    """Rows that lie in files on disk: how many to go through before their memory is given back, and how to."""

    neighbours: int  # rows in the order of the file
    scattered: int  # rows from here and there, each of which takes whole pages
    give_back: Callable[[int, int], None]  # the rows from one to another will not be needed for a while


@dataclass(frozen=True)
class Problem:
    """Rows, what their labels ask for, and the constant x_0 put before every row (0: no intercept)."""

    rows: Rows
    labels: Any  # Binary, Joint or Rest
    x0: float
    visited: Any | None = None  # the rows that weigh something; None: all of them
    pages: Pages | None = field(default=None, compare=False)  # None: the rows are in memory

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
    def density(self) -> float:
        """Stored values per row."""
        return float(self.rows.values.size) / max(1, self.n_rows)

    @property
    def total_weight(self) -> float:
        return float(self.labels.weights.sum()) if self.labels.weights.size else float(self.n_rows)

    def give_back(self, start: int = 0, stop: int | None = None) -> None:
        """These rows will not be needed for a while."""
        if self.pages is not None:
            self.pages.give_back(start, self.n_rows if stop is None else stop)

    def matrix(self, start: int = 0, stop: int | None = None) -> Any:
        """The rows from `start` to `stop` as an array (a view) or a scipy CSR array."""
        stop = self.n_rows if stop is None else min(stop, self.n_rows)
        return rows_as_matrix(self.rows, start, stop)


def make_problem(
    X: Any, codes: Any, n_classes: int, *, multiclass: str = "joint", weights: Any = None, x0: float = 1.0
) -> Problem:
    """A problem from a C-ordered float array or a CSR matrix and class codes 0..k-1; two classes make it binary."""
    c = np.zeros(0) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    visited = np.flatnonzero(c) if c.size and not c.all() else None
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    labels: Any
    if n_classes == 2:
        labels = Binary(read_only(_signs(codes == 1)), read_only(c))
    elif multiclass == "joint":
        labels = Joint(read_only(codes), read_only(c))
    else:
        labels = Rest(read_only(codes), read_only(np.arange(n_classes, dtype=np.int32)), read_only(c))
    return Problem(make_rows(X), labels, float(x0), visited)


def _signs(positive: Any) -> Any:
    """+1 where true, else -1."""
    return positive.view(np.int8) * np.int8(2) - np.int8(1)


def make_rows(X: Any) -> Rows:
    if not sp.issparse(X):
        return Dense(read_only(np.require(X, requirements=["C"])))
    if not X.has_canonical_format:
        # Squared norms need each column once; the caller's matrix stays as it is.
        X = X.copy()
        X.sum_duplicates()
    return CSR(read_only(X.data), read_only(X.indices), read_only(X.indptr.astype(np.int64, copy=False)), X.shape[1])


def rows_width(rows: Rows) -> int:
    return int(rows.values.shape[1]) if isinstance(rows, Dense) else int(rows.width)


def rows_as_matrix(rows: Rows, start: int, stop: int) -> Any:
    if isinstance(rows, Dense):
        return rows.values[start:stop]
    low, high = rows.indptr[start], rows.indptr[stop]
    parts = (rows.values[low:high], rows.indices[low:high], rows.indptr[start : stop + 1] - low)
    return sp.csr_array(parts, shape=(stop - start, rows.width), copy=False)


def some_rows(rows: Rows, start: int, stop: int) -> Rows:
    """The rows from `start` to `stop` as the kernels want them, without a copy."""
    if isinstance(rows, Dense):
        return Dense(rows.values[start:stop])
    return rows._replace(indptr=rows.indptr[start : stop + 1])


def take_rows(rows: Rows, wanted: Any) -> Rows:
    """A container of its own with just the wanted rows."""
    if isinstance(rows, Dense):
        return Dense(read_only(rows.values[wanted]))
    lengths = np.diff(rows.indptr)[wanted]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    source = np.repeat(rows.indptr[:-1][wanted] - indptr[:-1], lengths) + np.arange(indptr[-1])
    return CSR(read_only(rows.values[source]), read_only(rows.indices[source]), read_only(indptr), rows.width)


def mean_sqnorm(problem: Problem) -> float:
    """The mean squared length of the augmented rows."""
    values, stretch = problem.rows.values.reshape(-1), 1 << 20

    def squares() -> Iterator[float]:
        for start in range(0, len(values), stretch):
            yield float(np.square(values[start : start + stretch], dtype=np.float64).sum())
            problem.give_back()

    with np.errstate(over="ignore"):
        total = sum(squares())
    mean = total / problem.n_rows + problem.x0 * problem.x0
    if not mean < np.inf:
        raise ValueError("margin='auto' is the mean squared length of the rows, which overflowed: scale the features")
    return mean


def read_only(array: Any) -> Any:
    """A plain read-only view: kernels then see one type, whether the caller's array may be written or not."""
    plain = type(array) is np.ndarray and array.flags.aligned  # as most are; asking costs more than the view
    view = array.view() if plain else np.require(np.asarray(array), requirements=["A"]).view()
    view.flags.writeable = False
    return view


def zero_state(problem: Problem, n_classes: int, dtype: Any = None) -> State:
    """All-zero weights in the layout of the kernels (see `kernels/rows.py`)."""
    labels, d = problem.labels, problem.n_features
    dtype = problem.rows.values.dtype if dtype is None else dtype
    k = 1 if isinstance(labels, Binary) else n_classes
    runs = k if isinstance(labels, Rest) else 1
    shape: tuple[int, ...] = (d,) if isinstance(labels, Binary) else (k, d) if isinstance(problem.rows, Dense) else (d, k)
    return State(np.zeros(shape, dtype), np.zeros(k), np.zeros(runs, np.int64), np.zeros(runs), np.zeros(k), float(problem.x0))


def heads_of(w: Any, dense: bool) -> Any:
    """Weights in the kernels' layout for dense or CSR rows, seen as heads x features."""
    return w[None] if w.ndim == 1 else w if dense else w.T


def as_heads(w: Any, rows: Rows) -> Any:
    return heads_of(w, isinstance(rows, Dense))


def one_against_rest(problem: Problem, h: int) -> Problem:
    """Head h of a one-vs-rest problem as a binary problem on the same rows."""
    labels = problem.labels
    return replace(problem, labels=Binary(read_only(_signs(labels.codes == labels.heads[h])), labels.weights))


def pick_heads(state: State, rows: Rows, heads: Any, *, flat: bool = False) -> State:
    """A copy of the state of some one-vs-rest heads; `flat`: of one head, as a binary state."""
    vectors = as_heads(state.w, rows)[heads]
    w = vectors[0] if flat else vectors if isinstance(rows, Dense) else vectors.T
    bias, counts, sqnorms = (getattr(state, name)[heads].copy() for name in ("bias", "counts", "sqnorms"))
    return State(np.ascontiguousarray(w), bias, counts, sqnorms, np.zeros(len(heads)), state.x0)


def copy_state(state: State) -> State:
    copies: list[Any] = [field.copy() if isinstance(field, np.ndarray) else field for field in state]
    return State(*copies)


def zero_sums(state: State) -> State:
    """Zeros in float64, in the shape of the weights: room for a sum of moves."""
    return State(np.zeros(state.w.shape), np.zeros_like(state.bias), *state[2:])
