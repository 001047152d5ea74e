"""The base of all estimators: validation, `fit`, scores and prediction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from ..array_types import Array, FloatArray, Matrix, MatrixLike
from ..catalog import application_hook
from ..certificates.exact_arrays import check_exact
from ..data.problem import Problem, classes_and_codes, classes_of_chunk
from ..losses import Objective
from ..scores import linear_scores
from .callbacks import CallbackMethods, with_teardown
from .label_attributes import forget_fit
from .multilabel import MultiLabelMethods
from .probability_methods import ProbabilityMethods
from .row_reference import FLOATS, RowReference
from .row_weights import ClassWeight, check_weighted_classes, row_weights
from .shared_parameters import RandomState as RandomState
from .shared_parameters import check_n_jobs_and_verbose as check_n_jobs_and_verbose
from .shared_parameters import seed_of as seed_of
from .training_set import KnownClasses as KnownClasses
from .training_set import StopWarning as StopWarning
from .training_set import StreamingObstacle as StreamingObstacle
from .training_set import TrainingSet as TrainingSet

if TYPE_CHECKING:
    import numpy.typing as npt
    from anywidget import AnyWidget

    from ..models.explanations.explanation import Explanation
    from ..online.stopping import Stop
    from ..online.update_log import UpdateLog

# How a fit moves the weights: row by row, with all rows at once, or as iterations of a solver, which are no updates.
Way: TypeAlias = Literal["online", "batch", "solver"]
# What the page shows on the way to a solution: soft margins whose cost grows to that of the model ("cost") or to the widest
# margin ("widest"), a shrinking penalty, the iterations of the fit, or the rows in chunks.
SolutionPath: TypeAlias = Literal["cost", "widest", "penalty", "iterations", "chunks"]


class LinearClassifier(MultiLabelMethods, ProbabilityMethods, CallbackMethods, ClassifierMixin, BaseEstimator):
    """Base of all estimators: `coef_` and `intercept_` score the rows, `classes_` has the labels, sorted."""

    classes_: Array
    coef_: FloatArray
    intercept_: FloatArray
    n_features_in_: int
    n_iter_: int
    stop_: Stop

    fit_intercept: bool  # the one parameter that all estimators have

    # Values of parameters that an estimator lacks. Estimators that have the parameter return it.

    @property
    def _class_weight(self) -> ClassWeight:
        return None

    @property
    def _multiclass(self) -> str:
        return "ovr"

    @property
    def _intercept_scaling(self) -> float:
        return 1.0

    @property
    def _keep(self) -> str:
        return "last"

    @property
    def _order(self) -> str:
        return "cyclic"

    # --- capabilities, declared by subclasses ------------------------------------------------------------------------------

    # How the page shows the way to a solution; None: by the solution alone.
    _path: ClassVar[SolutionPath | None] = None
    _has_convergence: ClassVar[bool] = False  # whether `proofs.convergence` applies to its log
    # Whether a fit in cyclic order calls `Problem.check_rows` before it reads rows; else a cache is checked before the fit.
    _checks_rows_as_read: ClassVar[bool] = False

    # How the rows were rounded before `fit`, such as by scaling: nothing is then proved about them. None: they were not.
    _rounded: str | None = None

    @property
    def _states_proofs(self) -> bool:
        """Whether `fit` proves statements about the rows and labels, which must not be rounded then."""
        return False

    @property
    def _way(self) -> Way:
        """How a fit with these parameters moves the weights."""
        return "solver"

    @property
    def _updates_made(self) -> int | None:
        """The number of updates of the fit; None if the estimator does not count them."""
        made: int | None = self.__dict__.get("n_updates_")
        return made

    @property
    def _iterations_are_passes(self) -> bool:
        """Whether `n_iter_` counts passes over the rows."""
        return False

    @property
    def _scans_for_each_update(self) -> bool:
        """Whether every update scans all rows."""
        return False

    @property
    def _has_quadratic_time(self) -> bool:
        """Whether the time of a fit on noisy rows grows with the square of their number."""
        return self._scans_for_each_update or self._keep == "pocket"

    @property
    def _takes_unsorted_columns(self) -> bool:
        """Whether a fit uses CSR rows as they are if columns do not ascend or repeat; all learners that go row by row do."""
        return self._iterations_are_passes

    @property
    def _required_margin(self) -> float:
        """The margin, set by a parameter, that all rows must exceed to be separated."""
        return 0.0

    @property
    def _constant_step(self) -> float | None:
        """The step of a row of weight 1, set by a parameter; None if steps differ."""
        return None

    @property
    def _left_out_of_files(self) -> tuple[str, ...]:
        """Fitted attributes that a model file does not hold, although the catalog names them: they describe all rows."""
        return ()

    def _minimized(self) -> Objective | None:
        """Return what a fit minimizes; None: the loss of the margin in its catalog entry."""
        return None

    def _streaming_obstacle(self) -> StreamingObstacle | None:
        """Return why the estimator, with its parameters, cannot be fitted from a cache on disk; None if it can."""
        if self.calibrate is not None:
            return StreamingObstacle("fits copies on folds of the rows", "calibrate", self.calibrate, (None,))
        return self._own_streaming_obstacle()

    def _own_streaming_obstacle(self) -> StreamingObstacle | None:
        """Return an obstacle other than calibration."""
        return StreamingObstacle("visits rows in arbitrary order and needs them in memory")

    def _check_streaming_shape(self, rows: int, columns: int) -> None:
        """Raise an error if rows of a cache on disk are too few or too wide."""

    def _bounded_run(self) -> tuple[float, float] | None:
        """Return the margin b and the step rho of a fit with at most (R^2 + 2b/rho)/gamma^2 updates, or None."""
        return None

    @property
    def _update_log(self) -> UpdateLog | None:
        """The updates of the run; None if none were kept."""
        return None if self.multilabel_ else self.__dict__.get("log_")

    # --- defined by subclasses ---------------------------------------------------------------------------------------------

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise an error for a bad parameter."""

    @abstractmethod
    def _learn(self, problem: Problem, classes: Array, check_finite: Callable[[], None]) -> Self:
        """Learn from validated rows. `check_finite` raises an error if a value of X is not finite."""

    # --- fitting -----------------------------------------------------------------------------------------------------------

    @with_teardown
    def fit(self, X: MatrixLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows. Arrays in C order and CSR matrices of float32 or float64 are used without a copy. A CSR matrix whose
            columns do not ascend within a row, or are repeated, is copied, except by learners that go row by row. Repeated
            columns count as their sum, which these learners take in float64 and without rounding it to the type of X; in
            another order of the columns, the last bits of their sums may differ.
        y : array-like of shape (n_rows,), or {array-like, sparse matrix} of shape (n_rows, n_labels)
            The class label of each row; or an indicator matrix, with a 1 for each label of a row and else 0: one copy of the
            estimator is then fitted to each column, see `estimators_`.
        sample_weight : array-like of shape (n_rows,), default=None
            The weight of each row, at least 0. Rows of weight 0 are ignored. None gives every row weight 1.

        Returns
        -------
        self : object
            The fitted estimator. If an error is raised, the estimator stays as it was.
        """
        with self._called_back(X, y, sample_weight), self._unchanged_on_error():
            self._check_calibrate()
            if self._takes_labels(y):
                self._fit_labels(X, y, sample_weight)
                return self
            if self.multilabel_:
                forget_fit(self)
            self._fit(X, y, sample_weight)
            self._calibrate(X, y, sample_weight)
            return self

    def _fit(self, X: MatrixLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> Self:
        # X is not checked for finite values here, which would cost a pass: a row that is not finite has no finite score, and
        # the first pass stops there. `_learn` checks X if some rows are not visited.
        self._check_parameters()
        data = self._prepare(X, y, sample_weight)
        any_order, classes = self._takes_unsorted_columns, data.classes
        problem = data.problem(self._multiclass, self._x0, any_order)
        problem = replace(problem, find_rows=RowReference(X, problem.rows, any_order, self._rounded))
        check_finite = partial(self._check_finite, data.X)
        del data  # the problem holds the rows that are needed
        return self._learn(problem, classes, check_finite)

    def _prepare(
        self,
        X: MatrixLike,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None,
        *,
        dtype: npt.DTypeLike | list[type[np.floating[Any]]] = FLOATS,
        finite: bool = False,
        stream: KnownClasses | None = None,
    ) -> TrainingSet:
        """Validate rows, labels and weights, of a whole set or of one chunk of a stream."""
        reset = stream is None or stream.known is None
        with np.errstate(over="ignore", invalid="ignore"):  # the finiteness check sums X, which may overflow
            rows, labels = validate_data(
                self, X, y, accept_sparse="csr", dtype=dtype, order="C", accept_large_sparse=True, reset=reset,
                ensure_all_finite=finite,
            )  # fmt: skip
        if self._states_proofs:
            check_exact(X, y)
        if labels.dtype.kind not in "biuSU":
            check_classification_targets(labels)
        if stream is None:
            (classes, codes), fixed = classes_and_codes(labels), True
            self._check_two_classes(classes)
        else:
            classes, fixed = classes_of_chunk(labels, stream.announced, stream.known, stream.fixed)
            codes = np.searchsorted(classes, labels)
        if fixed:
            check_weighted_classes(self._class_weight, classes)
        weights = row_weights(sample_weight, self._class_weight, rows, codes, classes, allow_all_zero=stream is not None)
        return TrainingSet(rows, classes, codes, weights, fixed)

    def _refuse_in_streams(self, name: str, given: object, value: str) -> None:
        if isinstance(given, str) and given == value:
            raise ValueError(f"{name}={value!r} needs all rows before the first step, but partial_fit has one chunk: use fit")

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Restore the estimator if anything is raised inside, KeyboardInterrupt included."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_finite(self, X: Matrix) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")

    def _check_two_classes(self, classes: Array) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes, but y has only one class, {classes.tolist()[0]!r}"
            )

    @property
    def _x0(self) -> float:
        """The constant before every row; 0 without an intercept."""
        return self._intercept_scaling if self.fit_intercept else 0.0

    # --- predicting --------------------------------------------------------------------------------------------------------

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the scores of rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n_rows, n_classes)
            For two classes one score per row, positive for `classes_[1]`. For more, one per class, and for an indicator matrix
            one per label. A vote's scores are the shares of votes.
        """
        check_is_fitted(self, "classes_")
        with np.errstate(over="ignore", invalid="ignore"):
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, accept_large_sparse=True, reset=False)
        if self.multilabel_:
            return self._label_scores(X)
        scores: FloatArray = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _scores(self, X: Matrix) -> FloatArray:
        """Rows x heads."""
        return linear_scores(X, self.coef_, self.intercept_)

    def predict(self, X: MatrixLike) -> Array:
        """Return the class of every row; ties go to the smaller label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_rows,), or {ndarray, sparse matrix} of shape (n_rows, n_labels)
            Labels from `classes_`; after a fit on an indicator matrix another one, sparse if that was.
        """
        scores = self.decision_function(X)
        if self.multilabel_:
            return cast(Array, self._labels_of(scores))
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        labels: Array = self.classes_[(scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]
        return labels

    def explain(self, X: MatrixLike, *, row: int = 0, training: tuple[MatrixLike, npt.ArrayLike] | None = None) -> Explanation:
        """Explain the prediction of one row: what each column adds to the score, and what would change the prediction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows.
        row : int, default=0
            The row of X to explain.
        training : tuple (X, y), default=None
            The training data of a support vector machine: the explanation then has the nearest support vectors.

        Returns
        -------
        explanation : Explanation
            Contributions that sum to the score, and the nearest changes that are predicted otherwise, in the units of X.
        """
        check_is_fitted(self, "classes_")
        self._refuse_labels("explain", "estimators_[j].explain(X)")
        explanation: Explanation = application_hook("explain")(self, X, row=row, training=training)
        return explanation

    def show(
        self, X: MatrixLike | None = None, y: npt.ArrayLike | None = None, *, columns: Sequence[str | int] | None = None
    ) -> AnyWidget:
        """Show the run in a notebook, where it plays forwards and backwards. Needs the extra `rosenblatt[notebook]`.

        Parameters
        ----------
        X, y : array-like, default=None
            The training data. May be omitted if the update log finds its rows: as long as the caller keeps the X of `fit`.
        columns : pair of str or int, default=None
            Two columns of X to fit again on. None takes the first two principal components if X has more than two columns.

        Returns
        -------
        widget : object
            The widget; a notebook displays it.
        """
        self._refuse_labels("show", "estimators_[j].show(X, Y[:, j])")
        widget: AnyWidget = application_hook("show")(self, X, y, columns=columns)
        return widget

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
