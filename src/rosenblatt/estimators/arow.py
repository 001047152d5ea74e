"""`AROW`: adaptive regularization, with a variance for each weight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
from joblib import effective_n_jobs

from ..array_types import Array, FloatArray, MatrixLike
from ..data.indicators import is_indicator
from ..data.problem import Problem
from ..losses import SQUARED_HINGE, Objective
from ..online.rules.arow import arow_rule
from ..online.run import OutOfRangeError, RunConfig
from ..online.second_order import GaussianWeights, SecondOrderResult, fit_second_order, initial_gaussian
from ..online.stopping import Stop, chunk_stop
from ..probabilities.maps import Calibration
from ..progress import current_callback
from ..validation import check_choice, check_flag, check_integer, check_number
from .base import (
    KnownClasses,
    LinearClassifier,
    RandomState,
    SolutionPath,
    StreamingObstacle,
    Way,
    check_n_jobs_and_verbose,
    seed_of,
)
from .conditional_methods import method_if
from .early_stopping import EarlyStopping, check_without_early_stopping, without_rows
from .online_parameters import MAX_AUTO_PASSES, JointOrOvr
from .probability_methods import check_uncalibrated
from .row_weights import ClassWeight

if TYPE_CHECKING:
    import numpy.typing as npt

AUTO_PASSES = 10  # max_iter="auto"
Order: TypeAlias = Literal["cyclic", "permuted", "random"]


def _check_streams(self: AROW) -> None:
    check_uncalibrated(self)
    check_without_early_stopping(self)


class AROW(EarlyStopping, LinearClassifier):
    """Adaptive regularization of weight vectors: an online learner with a variance for each weight, binary and multiclass.

    Problem    after each row, the normal distribution of the weights that stays near the previous one, gives the row a margin
               of 1 and shrinks the variances of its features. Rare features keep large variances, and so move far.
    Update     if m = y <w, p> < 1: with v = sum_j s_j p_j^2, beta = 1/(v + r) and alpha = (1 - m) beta,
               w_j += alpha y s_j p_j  and  s_j -= beta (s_j p_j)^2, from w = 0 and s = 1.
    Guarantee  a row's loss 1 - m shrinks by r/(v + r) at its update and never changes sign; no variance grows, and all stay
               over 0. The mistake bound is of the full matrix, see `rules/arow.py`.
    Reference  Crammer, Kulesza and Dredze, NIPS 22 (2009); several classes: Machine Learning 91 (2013).

    There is no update log, because an update is not a multiple of a row, and so no reading but the last weights.

    Parameters
    ----------
    r : float, default=1.0
        Greater than 0. A larger r makes steps smaller and variances shrink more slowly. A row's weight divides it, see
        `class_weight`.
    max_iter : int or "auto", default="auto"
        The number of passes; "auto" is 10. The first pass does most of the work, and five do nearly all of it.
    order : {"cyclic", "permuted", "random"}, default="permuted"
        The order of the rows. "permuted": a fresh permutation each pass. "random": drawn with replacement.
    multiclass : {"joint", "ovr"}, default="joint"
        "joint": a row moves the weights of its class and of the best rival. "ovr": one run per class, against the rest;
        measured better on text and worse on few dense features.
    fit_intercept : bool, default=True
        Whether rows are augmented by a constant. Its weight has a variance like any other.
    intercept_scaling : float, default=1.0
        x_0, that constant.
    class_weight : dict, "balanced" or None, default=None
        Multiplies `sample_weight`. A weight c scales the row's loss, so that r/c replaces r: the row's margin moves to
        m + (1 - m) v/(v + r/c), at most 1. Where v is much larger than r, as on long texts, it gets there anyway, and weights
        above 1 change almost nothing: give the other rows weights well below 1 instead, or use a larger r.
    warm_start : bool, default=False
        Continue from the weights and variances of the previous fit.
    early_stopping : bool, default=False
        Hold out a share of the rows, classify them after each pass by the reading that is kept, and end the fit when their
        error has not become smaller for `n_iter_no_change` passes. The model is that of the best pass: the first one with the
        smallest error. It has seen no held-out row. For one-vs-rest, each class has its own best pass. The "auto" of
        `max_iter` is then 1000.
    validation_fraction : float, default=0.1
        The share of each class that `early_stopping` holds out: at least one row, drawn by `random_state` from the rows of
        positive weight.
    n_iter_no_change : int, default=5
        The number of passes without a smaller error that end the fit.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        The map from scores to probabilities, which gives `predict_proba`. It is fitted on held-out scores of five folds, each
        of which takes one more fit. `predict` does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the row order.
    n_jobs : int, default=None
        Threads for the classes of "ovr". The result does not depend on it.
    verbose : int, default=0
        1 writes a line per pass to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights, always float64; one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    variances_ : ndarray of the shape of coef_
        The variance of each weight, from 1 (unknown) down to 0 (certain).
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted. Ties are predicted as the smaller one.
    n_features_in_ : int
        The number of columns of X.
    n_iter_ : int
        The number of passes made; with `early_stopping`, up to the best one.
    n_updates_ : int
        The number of updates, over all classes.
    validation_errors_ : list of ndarray
        With `early_stopping`, the share of the held-out rows, by weight, that was misclassified after each pass: one
        array, or one per class for one-vs-rest of more than two classes.
    calibration_ : ProbabilityMap
        With `calibrate`, the map.
    stop_ : Stop
        Why the run ended: "passes" or "chunk". "separated" if a pass found every row at a margin of 1, which only rounding
        brings about, because each update leaves its own row slightly below 1.

    See Also
    --------
    PassiveAggressive : One step length for all weights.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.AROW(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> model.predict([[1, 1], [0, 0]]).tolist()
    [1, 0]
    >>> model.stop_.reason, bool((model.variances_ < 0.5).all())
    ('passes', True)
    """

    n_updates_: int
    variances_: FloatArray
    _gaussian: GaussianWeights
    _classes_fixed: bool

    _path: ClassVar[SolutionPath | None] = "chunks"
    _checks_rows_as_read = True

    def __init__(
        self,
        *,
        r: float = 1.0,
        max_iter: int | Literal["auto"] = "auto",
        order: Order = "permuted",
        multiclass: JointOrOvr = "joint",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: ClassWeight = None,
        warm_start: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        calibrate: Calibration | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.r = r
        self.max_iter = max_iter
        self.order = order
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _class_weight(self) -> ClassWeight:
        return self.class_weight

    @property
    def _multiclass(self) -> str:
        return self.multiclass

    @property
    def _intercept_scaling(self) -> float:
        return float(self.intercept_scaling)

    @property
    def _order(self) -> str:
        return self.order

    @property
    def _way(self) -> Way:
        return "online"

    @property
    def _iterations_are_passes(self) -> bool:
        return True

    def _minimized(self) -> Objective:
        return Objective(SQUARED_HINGE)

    def _own_streaming_obstacle(self) -> StreamingObstacle | None:
        return self._early_stopping_obstacle()

    # --- fitting -------------------------------------------------------------------------------------------------------

    def _learn(self, problem: Problem, classes: Array, check_finite: Callable[[], None]) -> Self:
        if problem.visited is not None or self.order == "random" or self.early_stopping:
            check_finite()  # not every row is visited
        config = self._config(self.order, self._passes())
        if self.early_stopping:
            held = self._held_out(problem, classes, config.seed)
            config, problem = replace(config, held_out=held), without_rows(problem, held)
        try:
            found = self._fit_second_order(problem, self._start(problem, classes), config)
        except OutOfRangeError:
            check_finite()
            raise
        self._classes_fixed = True
        self._set(found.weights, classes, found.merged_stop(classes), found.passes)
        self._set_validation_errors(found.validation_errors)
        return self

    @method_if(_check_streams)
    def partial_fit(
        self,
        X: MatrixLike,
        y: npt.ArrayLike,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn from one chunk of a stream: each row once, in order.

        The result equals one cyclic pass of `fit` over the whole stream, bit for bit and for any division into chunks, if all
        classes are given by `classes` or occur in the first chunk.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows of the chunk.
        y : array-like of shape (n_rows,), or {array-like, sparse matrix} of shape (n_rows, n_labels)
            The class label of each row; or an indicator matrix, whose columns are those of the first chunk.
        classes : array-like, default=None
            All labels of the stream, in the first call. Without it, a class may appear in a later chunk; it then starts with
            zero weights and variances of 1.
        sample_weight : array-like of shape (n_rows,), default=None
            The weight of each row, at least 0.

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
        first = "_gaussian" not in self.__dict__
        known, fixed = (None, False) if first else (self.classes_, self._classes_fixed)
        data = self._prepare(X, y, sample_weight, finite=True, stream=KnownClasses(classes, known, fixed))
        problem = data.problem(self.multiclass, self._x0, self._takes_unsorted_columns)
        joint = self._is_joint(data.classes)
        weights = self._initial(problem, data.classes) if first else self._gaussian.extended(data.classes, self.classes_, joint)
        if len(weights.counts) != (1 if joint else len(weights.bias)):
            raise ValueError(f"multiclass={self.multiclass!r} cannot change between calls of partial_fit")
        updates = int(weights.counts.sum())
        if len(data.classes) >= 2 and problem.n_visited:
            weights = self._fit_second_order(problem, weights, self._config("cyclic", 1)).weights
        stop = chunk_stop(len(data.classes), problem.n_visited, int(weights.counts.sum()) - updates)
        self._classes_fixed = data.fixed
        self._set(weights, data.classes, stop, 1)
        self._set_validation_errors(None)
        return self

    # --- pieces of a fit -----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_number("r", self.r)
        self._check_early_stopping()
        check_choice("order", self.order, get_args(Order))
        check_choice("multiclass", self.multiclass, get_args(JointOrOvr))
        check_number("intercept_scaling", self.intercept_scaling)
        for name in ("fit_intercept", "warm_start"):
            check_flag(name, getattr(self, name))
        if isinstance(self.max_iter, str):
            check_choice("max_iter", self.max_iter, ("auto",), "a whole number")
        else:
            check_integer("max_iter", self.max_iter)
        check_n_jobs_and_verbose(self.n_jobs, self.verbose)

    def _is_joint(self, classes: Array) -> bool:
        return self.multiclass == "joint" and len(classes) > 2

    def _initial(self, problem: Problem, classes: Array) -> GaussianWeights:
        return initial_gaussian(len(classes), problem.n_features, self._is_joint(classes))

    def _start(self, problem: Problem, classes: Array) -> GaussianWeights:
        start = self._initial(problem, classes)
        if not (self.warm_start and "_gaussian" in self.__dict__):
            return start
        before = self._gaussian
        if not np.array_equal(classes, self.classes_) or before.weights.shape != start.weights.shape:
            raise ValueError(
                f"warm_start continues a run on classes {self.classes_.tolist()} and {before.weights.shape[1]} features, "
                f"got classes {classes.tolist()} and {start.weights.shape[1]} features"
            )
        return GaussianWeights(before.weights, before.bias, before.variances, before.bias_variances, start.counts)

    def _passes(self) -> int:
        auto = MAX_AUTO_PASSES if self.early_stopping else AUTO_PASSES
        return auto if isinstance(self.max_iter, str) else int(self.max_iter)

    def _config(self, order: str, passes: int) -> RunConfig:
        return RunConfig(
            order=order,
            max_iter=passes,
            seed=seed_of(self.random_state),
            n_jobs=effective_n_jobs(self.n_jobs),
            progress=current_callback(bool(self.verbose)),
        )

    def _fit_second_order(self, problem: Problem, start: GaussianWeights, config: RunConfig) -> SecondOrderResult:
        return fit_second_order(problem, arow_rule(float(self.r)), config, start)

    def _set(self, weights: GaussianWeights, classes: Array, stop: Stop, passes: int) -> None:
        self.__dict__.pop("mixing_", None)
        self._gaussian, self.classes_, self.stop_, self.n_iter_ = weights, classes, stop, passes
        self.coef_, self.intercept_, self.variances_ = (
            weights.weights.copy(),
            weights.bias * self._x0,
            weights.variances.copy(),
        )
        self.n_updates_ = int(weights.counts.sum())
