"""`LinearMSE`: the plane of least squared error, w = pinv(P) t."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data.labels import classes_and_codes, classes_of_chunk
from ..data.problem import Problem, make_problem
from ..kernels.linear.schemes import Rest
from ..least_squares.linear import SquaresOutOfRangeError, checked, from_triangle, least_squares
from ..least_squares.moments import triangle, triangle_of
from ..least_squares.solution import LeastSquaresSolution
from ..online.stopping import Stop
from ..parallel import one_blas_thread
from ..validation import flag, number
from .base import FLOATS, LinearClassifier, row_weights

# Bytes that the moments of a stream may take: as many columns as there are features and classes, squared.
MOMENTS = 1 << 30


@dataclass(frozen=True)
class _Stream:
    """What is left of the rows so far: R with R'R = (1, X, T)'(1, X, T), T one column of targets for each class."""

    R: Any
    rows: int
    classes: Any
    fixed: bool


class LinearMSE(LinearClassifier):
    """Linear least squares on targets -1 and +1, exact also where columns depend on each other.

    Problem    min sum_n c_n (t_n - <w, p_n>)^2 + alpha |w|^2, where p = (x_0, x) and the penalty leaves the bias alone. With
               alpha = 0 and dependent columns, the shortest of all minima, the bias counted: w = pinv(P) t.
               With k > 2 classes one w for each, t = +1 on its own rows and -1 on the others.
    Guarantee  `solver_` says how it was solved, `stop_` how well; squares of X are only summed where that is safe. A weight of
               2 is a row given twice. `partial_fit` over all chunks is `fit` on the whole.
    Reference  A. Bjorck, Numerical Methods for Least Squares Problems (1996); the rest in `direct/least_squares.py`.

    With alpha > 0 it is scikit-learn's RidgeClassifier(alpha=alpha).

    Parameters
    ----------
    alpha : a number >= 0, what the squared length of w (without the bias) costs.
    fit_intercept, intercept_scaling : whether rows are augmented by a constant x_0, and by which. It matters only where
        the minimum is not unique.
    tol : of the iterations where rows are sparse and both rows and columns are many: the residual, or its gradient, relative
        to their size, as LSMR measures it; after 1000 iterations for a class it gives up with a ConvergenceWarning. All other
        ways are direct.
    class_weight : None, "balanced" or a dict; multiplies `sample_weight`.

    Attributes
    ----------
    coef_, intercept_ : of shape (1, d) and (1,) for two classes, (k, d) and (k,) for more; always float64.
    classes_ : the labels, sorted. A tie is predicted as the smaller one.
    mse_ : mean squared error over the training rows (by their weights) and classes.
    rank_ : columns of the augmented rows that do not depend on others, to working precision (with alpha > 0: that were used);
        None where "lsmr" did not look.
    solver_ : "normal", "qr", "svd", "rows", "rows-svd" or "lsmr", see `direct/least_squares.py`.
    stop_ : the same in a sentence.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.LinearMSE().fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> model.coef_.round(6).tolist(), model.intercept_.round(6).tolist(), round(model.mse_, 6)
    ([[1.0, 1.0]], [-1.5], 0.25)
    """

    mse_: float
    rank_: int | None
    solver_: str
    stop_: Stop
    _stream: _Stream | None
    _moments: tuple[Any, Any, Any, int]  # of `fit`, for a partial_fit that goes on: (squares, shift, R, rows)

    def __init__(
        self,
        *,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-10,
        class_weight: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows.

        X : array or sparse matrix of shape (rows, features); float32 and float64 are used as they are, without a copy.
        y : class labels, one per row.
        sample_weight : a number >= 0 for each row that scales its squared error.
        """
        with self._unharmed():
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        # Whether X is finite is not looked up before: what is not finite shows in the sums.
        self._check_parameters()
        X, y = self._validated(X, y, FLOATS, reset=True, finite=False)
        classes, codes = classes_and_codes(y)
        self._check_two(classes)
        problem = self._problem(X, codes, classes, sample_weight, some=True)
        return self._learn(problem, classes, lambda: self._check_finite(X))

    def _learn(self, problem: Problem, classes: Any, check_finite: Callable[[], None]) -> Self:
        """Learn from rows that are laid out for the kernels; `check_finite` raises where they are not finite."""
        if problem.visited is not None:
            check_finite()  # a weight of 0 times infinity is neither
        try:
            found = least_squares(problem, float(self.alpha), float(self.tol))
        except SquaresOutOfRangeError:
            check_finite()
            raise
        if found.stop.reason != "solved":
            warnings.warn(f"the least squares were not reached: {found.stop}", ConvergenceWarning, stacklevel=4)
        self._set(found, classes)
        self._stream, self._moments = None, (found.total, found.shift, found.R, problem.n_visited)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one chunk of a stream; the result is that of `fit` on all rows so far.

        classes : all labels that will ever come, in the first call. Without it a class may also appear in a later chunk.
        """
        with self._unharmed():
            return self._partial_fit(X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows before the first, and partial_fit has one chunk; use fit")
        before = self._stream_so_far()
        X, y = self._validated(X, y, FLOATS, reset=before is None)
        known, fixed = classes_of_chunk(y, classes, *((None, False) if before is None else (before.classes, before.fixed)))
        codes = np.searchsorted(known, y)
        problem = self._problem(X, codes, known, sample_weight, some=False)
        labels = Rest(codes.astype(np.int32), np.arange(len(known), dtype=np.int32), problem.labels.weights)
        problem = replace(problem, labels=labels)
        columns = 1 + problem.n_features + len(known)
        if 8 * columns**2 > MOMENTS:
            raise ValueError(f"partial_fit keeps the square of {columns} columns and classes, over {MOMENTS >> 20} MB; use fit")
        R = None if before is None else _with_classes(before, problem.n_features, known)
        with one_blas_thread():
            R = triangle(problem, R)
            rows = problem.n_visited + (0 if before is None else before.rows)
            self._set(self._solved(R, problem, rows), known)
        self._stream = _Stream(R, rows, known, fixed)
        return self

    def _stream_so_far(self) -> _Stream | None:
        if not hasattr(self, "classes_"):
            return None
        if self._stream is not None:
            return self._stream
        total, shift, R, rows = self._moments
        if total is None and R is None:
            raise ValueError(f"a fit with solver_={self.solver_!r} keeps no moments for partial_fit: begin with partial_fit")
        R = triangle_of(total, shift) if R is None else R
        if len(self.classes_) == 2:
            R = np.column_stack([R[:, :-1], -R[:, -1], R[:, -1]])
        return _Stream(R, rows, self.classes_, True)

    def _solved(self, R: Any, problem: Problem, rows: int) -> LeastSquaresSolution:
        d, k = problem.n_features, R.shape[1] - 1 - problem.n_features
        if k < 2 or not R[0, 0]:
            why = "only one class has come so far." if k < 2 else "no row weighs anything so far."
            heads = 1 if k <= 2 else k
            return LeastSquaresSolution(np.zeros((heads, d)), np.zeros(heads), 1.0, 0, "none", Stop("chunk", why))
        R = np.delete(R, d + 1, axis=1) if k == 2 else R
        return checked(from_triangle(R, d, problem.x0, float(self.alpha), rows))

    def _check_parameters(self) -> None:
        number("alpha", self.alpha, or_equal=True)
        number("intercept_scaling", self.intercept_scaling)
        number("tol", self.tol)
        flag("fit_intercept", self.fit_intercept)

    def _problem(self, X: Any, codes: Any, classes: Any, sample_weight: Any, some: bool) -> Problem:
        weights = row_weights(sample_weight, self.class_weight, X, codes, classes, some=some)
        x0 = float(self.intercept_scaling) if self.fit_intercept else 0.0
        return make_problem(X, codes, len(classes), multiclass="ovr", weights=weights, x0=x0)

    def _set(self, found: LeastSquaresSolution, classes: Any) -> None:
        self.coef_, self.intercept_, self.classes_ = found.heads, found.bias, classes
        self.mse_, self.rank_, self.solver_, self.stop_ = float(found.mse), found.rank, found.solver, found.stop


def _with_classes(before: _Stream, d: int, classes: Any) -> Any:
    """R with a column for each class known now; a class that is new had no row so far, so that all its targets are -1."""
    place = {label: d + 1 + h for h, label in enumerate(before.classes.tolist())}
    columns = [before.R[:, place[label]] if label in place else -before.R[:, 0] for label in classes.tolist()]
    return np.column_stack([before.R[:, : d + 1], *columns])
