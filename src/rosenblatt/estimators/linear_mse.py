"""`LinearMSE`: the plane of least squared error, w = pinv(P) t."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from ..array_types import Array, FloatArray, MatrixLike
from ..data.indicators import is_indicator
from ..data.problem import Problem
from ..kernels.linear.schemes import Rest
from ..least_squares.linear import LeastSquaresSolution, SquaresOutOfRangeError, checked, from_triangle, least_squares
from ..least_squares.moments import triangle, triangle_of
from ..losses import LINEAR_MSE, Objective
from ..online.stopping import chunk_stop
from ..parallel import one_blas_thread
from ..probabilities.maps import Calibration
from ..progress import current_callback
from ..reporting.text import byte_size, count, plural
from ..validation import check_flag, check_integer, check_number
from .base import KnownClasses, LinearClassifier, SolutionPath, StopWarning, check_n_jobs_and_verbose
from .conditional_methods import method_if
from .probability_methods import check_uncalibrated
from .row_weights import ClassWeight

if TYPE_CHECKING:
    import numpy.typing as npt

# The moments of a stream have (features + classes)^2 entries.
MAX_MOMENT_BYTES = 1 << 30
# Columns of a cache on disk, whose products are held in memory: 72 MB of float64.
MAX_STREAMED_COLUMNS = 3000


@dataclass(frozen=True)
class _Stream:
    """The rows so far: R with R'R = (1, X, T)'(1, X, T), T one column of targets for each class."""

    R: FloatArray
    rows: int
    classes: Array
    fixed: bool


class LinearMSE(LinearClassifier):
    """Linear least squares on targets -1 and +1, exact even if columns depend on each other.

    Problem    min sum_n c_n (t_n - <w, p_n>)^2 + alpha |w|^2, where p = (x_0, x) and the penalty leaves the bias alone. With
               alpha = 0 and dependent columns, the shortest of all minima, the bias counted: w = pinv(P) t.
               With k > 2 classes one w for each, t = +1 on its own rows and -1 on the others.
    Guarantee  `solver_` is the method, `stop_` reports its accuracy; squares of X are summed only if that is safe. A weight of
               2 is a row given twice. `partial_fit` over all chunks is `fit` on the whole.
    Reference  A. Bjorck, Numerical Methods for Least Squares Problems (1996); the rest in `least_squares/linear.py`.

    With alpha > 0 it is scikit-learn's `RidgeClassifier(alpha=alpha)`.

    Parameters
    ----------
    alpha : float, default=0.0
        The penalty of |w|^2 (without the bias), at least 0.
    fit_intercept : bool, default=True
        Whether rows are augmented by a constant.
    intercept_scaling : float, default=1.0
        x_0, that constant. It matters only if the minimum is not unique.
    tol : float, default=1e-10
        The tolerance of the iterative solver, which is used for sparse X with many rows and many columns: the
        residual or its gradient, relative to their size, as LSMR measures it. All other solvers are direct.
    max_iter : int, default=1000
        The number of iterations of the iterative solver. If it is reached before `tol`, the fit warns.
    class_weight : dict, "balanced" or None, default=None
        Multiplies `sample_weight`.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        The map from scores to probabilities, which gives `predict_proba`. It is fitted on held-out scores of five folds, each
        of which takes one more fit. `predict` does not depend on it.
    verbose : int, default=0
        1 writes a line per iteration of the iterative solver to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights, always float64; one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted. Ties are predicted as the smaller one.
    n_features_in_ : int
        The number of columns of X.
    mse_ : float
        The mean squared error over the training rows (by weight) and classes.
    rank_ : int or None
        The number of linearly independent columns of the augmented rows, to working precision (with alpha > 0: of those that
        were used). None for "cgls" and the refined solvers, which do not compute it.
    solver_ : {"normal", "qr", "svd", "rows", "rows-svd", "refined", "rows-refined", "cgls"}
        How it was solved, see `least_squares/linear.py`.
    n_iter_ : int
        The iterations of "cgls", or the rounds of refinement; 1 for all other solvers.
    calibration_ : ProbabilityMap
        With `calibrate`, the map.
    stop_ : Stop
        How well it was solved.

    See Also
    --------
    NonlinearMSE : Least squares through a squashing function.

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
    _stream: _Stream | None
    # From which partial_fit continues after fit: (squares, shift, R, rows).
    _moments: tuple[FloatArray | None, FloatArray | None, FloatArray | None, int]

    _path: ClassVar[SolutionPath | None] = "penalty"

    def __init__(
        self,
        *,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-10,
        max_iter: int = 1000,
        class_weight: ClassWeight = None,
        calibrate: Calibration | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.calibrate = calibrate
        self.verbose = verbose

    @property
    def _class_weight(self) -> ClassWeight:
        return self.class_weight

    @property
    def _intercept_scaling(self) -> float:
        return float(self.intercept_scaling)

    def _minimized(self) -> Objective:
        return Objective(LINEAR_MSE, penalty=float(self.alpha))

    def _own_streaming_obstacle(self) -> None:
        return None

    def _check_streaming_shape(self, rows: int, columns: int) -> None:
        if columns > MAX_STREAMED_COLUMNS or rows <= columns:
            raise ValueError(
                f"LinearMSE learns from a stream with more rows than columns and at most {count(MAX_STREAMED_COLUMNS)} "
                f"columns, got {plural(rows, 'row')} and {plural(columns, 'column')}: leave out --stream"
            )

    def _learn(self, problem: Problem, classes: Array, check_finite: Callable[[], None]) -> Self:
        if problem.visited is not None:
            check_finite()  # 0 times infinity is not 0
        try:
            callback = current_callback(bool(self.verbose))
            found = least_squares(problem, float(self.alpha), float(self.tol), int(self.max_iter), callback)
        except SquaresOutOfRangeError:
            check_finite()
            raise
        if found.stop.reason != "solved":
            warnings.warn(StopWarning("the minimum was not reached", found.stop), stacklevel=5)
        self._set(found, classes)
        self._stream, self._moments = None, (found.total, found.shift, found.R, problem.n_visited)
        return self

    @method_if(check_uncalibrated)
    def partial_fit(
        self,
        X: MatrixLike,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from one chunk of a stream; the result is that of `fit` on all rows so far.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows of the chunk.
        y : array-like of shape (n_rows,), or {array-like, sparse matrix} of shape (n_rows, n_labels)
            The class label of each row; or an indicator matrix, whose columns are those of the first chunk.
        classes : array-like, default=None
            All labels of the stream, in the first call. Without it, a class may appear in a later chunk.
        sample_weight : array-like of shape (n_rows,), default=None
            The weight of each row's squared error, at least 0.

        Returns
        -------
        self : object
            The estimator after the chunk.
        """
        with self._unchanged_on_error():
            if self.multilabel_ or is_indicator(y):
                self._partial_fit_labels(X, y, classes, sample_weight)
                return self
            return self._partial_fit(X, y, classes, sample_weight)

    def _partial_fit(
        self, X: MatrixLike, y: npt.ArrayLike, classes: npt.ArrayLike | None, sample_weight: npt.ArrayLike | None
    ) -> Self:
        self._check_parameters()
        self._refuse_in_streams("class_weight", self.class_weight, "balanced")
        before = self._stream_so_far()
        seen, fixed = (None, False) if before is None else (before.classes, before.fixed)
        data = self._prepare(X, y, sample_weight, finite=True, stream=KnownClasses(classes, seen, fixed))
        known, problem = data.classes, data.problem(self._multiclass, self._x0)
        labels = Rest(data.codes.astype(np.int32), np.arange(len(known), dtype=np.int32), problem.labels.weights)
        problem = replace(problem, labels=labels)
        columns = 1 + problem.n_features + len(known)
        if 8 * columns**2 > MAX_MOMENT_BYTES:
            wide, limit = count(columns), byte_size(MAX_MOMENT_BYTES)
            raise ValueError(f"partial_fit stores the square of {wide} columns and classes, more than {limit}: use fit")
        R = None if before is None else _with_classes(before, problem.n_features, known)
        with one_blas_thread():
            R = triangle(problem, R)
            rows = problem.n_visited + (0 if before is None else before.rows)
            self._set(self._solved(R, problem, rows), known)
        self._stream = _Stream(R, rows, known, data.fixed)
        return self

    def _stream_so_far(self) -> _Stream | None:
        if "classes_" not in self.__dict__:
            return None
        if self._stream is not None:
            return self._stream
        total, shift, R, rows = self._moments
        if R is None:
            if total is None or shift is None:
                raise ValueError(f"a fit with solver_={self.solver_!r} keeps no moments: use partial_fit from the start")
            R = triangle_of(total, shift)
        if len(self.classes_) == 2:
            R = np.column_stack([R[:, :-1], -R[:, -1], R[:, -1]])
        return _Stream(R, rows, self.classes_, True)

    def _solved(self, R: FloatArray, problem: Problem, rows: int) -> LeastSquaresSolution:
        d, k = problem.n_features, R.shape[1] - 1 - problem.n_features
        if k < 2 or not R[0, 0]:
            heads = 1 if k <= 2 else k
            return LeastSquaresSolution(np.zeros((heads, d)), np.zeros(heads), 1.0, 0, "none", chunk_stop(k, 0))
        R = np.delete(R, d + 1, axis=1) if k == 2 else R
        return checked(from_triangle(R, d, problem.x0, float(self.alpha), rows))

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, or_equal=True)
        check_number("intercept_scaling", self.intercept_scaling)
        check_number("tol", self.tol)
        check_integer("max_iter", self.max_iter)
        check_flag("fit_intercept", self.fit_intercept)
        check_n_jobs_and_verbose(None, self.verbose)

    def _set(self, solution: LeastSquaresSolution, classes: Array) -> None:
        self.coef_, self.intercept_, self.classes_ = solution.heads, solution.bias, classes
        self.mse_, self.rank_, self.solver_, self.stop_ = float(solution.mse), solution.rank, solution.solver, solution.stop
        self.n_iter_ = solution.iterations


def _with_classes(before: _Stream, d: int, classes: Array) -> FloatArray:
    """R with a column for each class known now; a class that is new had no row so far, so that all its targets are -1."""
    place = {label: d + 1 + h for h, label in enumerate(before.classes.tolist())}
    columns = [before.R[:, place[label]] if label in place else -before.R[:, 0] for label in classes.tolist()]
    return np.column_stack([before.R[:, : d + 1], *columns])
