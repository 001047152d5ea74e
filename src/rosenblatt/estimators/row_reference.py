"""A weak reference to the X of a fit: finds its rows as long as the caller keeps them, and does not keep them alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array

from ..array_types import Array, MatrixLike
from ..certificates.exact_arrays import exact_matrix
from ..data.problem import make_rows
from ..kernels.linear.rows import Rows

FLOATS = [np.float64, np.float32]


class RowReference:
    """A function that returns the rows of X in the layout of the kernels, or None if X is gone.

    Arrays are found by the memory that they are views of, so that `fit(X[:100], y[:100])` finds its rows while X lives. Data
    that was converted is converted again. What Python cannot refer to weakly, such as a list, is kept as the rows made of it.

    Parameters
    ----------
    X : array-like or sparse matrix
    rows : Rows
        The rows made of X.
    any_order : bool
        See `make_rows`.
    rounded : str, optional
        How X itself was rounded, if the caller knows it.
    """

    def __init__(self, X: MatrixLike, rows: Rows, any_order: bool, rounded: str | None = None) -> None:
        self._any_order, self._rounded = any_order, rounded
        self._rows: Rows | None = None
        self._inexact: ValueError | None = None
        self._owner: Callable[[], Any]
        self._view: _View | None
        owner, self._view = _owner(X) if isinstance(X, np.ndarray) else (X, None)
        try:
            self._owner = weakref.ref(owner)
        except TypeError:
            self._rows, self._owner, self._inexact = rows, lambda: None, _inexactness(X)

    def _given(self) -> MatrixLike | None:
        """The X of the caller, or None."""
        owner = self._owner()
        return owner if owner is None or self._view is None else self._view.of(owner)

    def __call__(self) -> Rows | None:
        X = self._given()
        return self._rows if X is None else as_rows(X, self._any_order)

    def check_exact(self) -> None:
        if self._rounded is not None:
            raise ValueError(self._rounded)
        X = self._given()
        found = self._inexact if X is None else _inexactness(X)
        if found is not None:
            raise found


def _inexactness(X: MatrixLike) -> ValueError | None:
    """The error that names what float64 does not hold of X, or None."""
    try:
        exact_matrix(X)
    except ValueError as error:
        return error
    return None


def as_rows(X: MatrixLike, any_order: bool) -> Rows:
    """X in the layout of the kernels, converted as by `fit`; for `any_order`, see `make_rows`."""
    with np.errstate(over="ignore", invalid="ignore"):
        checked = check_array(
            X, accept_sparse="csr", dtype=FLOATS, order="C", accept_large_sparse=True, ensure_all_finite=False,
            ensure_min_samples=0, ensure_min_features=0,
        )  # fmt: skip
    return make_rows(checked, any_order=any_order)


class _View(NamedTuple):
    """The part of an array that a view shows."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    offset: int

    def of(self, owner: Array) -> Array:
        buffer: Any = owner if owner.flags.c_contiguous else owner.T
        return np.ndarray(self.shape, self.dtype, buffer, self.offset, self.strides)


def _owner(X: Array) -> tuple[Any, _View | None]:
    """The array that owns the memory of X, and where X is in it; X itself if it is not a view of a contiguous array."""
    owner = X
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if owner is X or not (owner.flags.c_contiguous or owner.flags.f_contiguous) or owner.dtype.hasobject:
        return X, None
    return owner, _View(X.shape, X.dtype, X.strides, X.ctypes.data - owner.ctypes.data)
