"""`NonlinearMSE`: least squares through tanh or the logistic function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..array_types import Array, FloatArray, IntArray, MatrixLike
from ..data.problem import Problem, as_heads, zero_state
from ..kernels.linear.schemes import State
from ..least_squares.nonlinear import NonlinearOutOfRangeError, evaluate, minimize_nonlinear, total_sqnorm
from ..losses import LOGISTIC_MSE, NONLINEAR_MSE, Objective
from ..online.rules.nonlinear_mse import MAX_CURVATURE, MAX_STEP, Activation, NonlinearMSERule, nonlinear_mse_rule
from ..online.run import OutOfRangeError, RunConfig, RunResult
from ..online.schedules import Step
from ..probabilities.maps import Calibration
from ..validation import ParameterError, check_choice, check_integer, check_number
from .base import RandomState, SolutionPath, StopWarning, StreamingObstacle, Way
from .online import OnlineClassifier
from .online_parameters import JointOrOvr, Keep, Log, VoteCount
from .row_weights import ClassWeight

if TYPE_CHECKING:
    import numpy.typing as npt

Solver: TypeAlias = Literal["minimum", "online", "batch", "batch-mean"]
Order: TypeAlias = Literal["cyclic", "permuted", "random"]
AUTO_ITERATIONS = 1000  # max_iter="auto", except for online runs
# step="auto" of online runs, as a share of the longest step that is safe for a mean row. Of the values from 0.01 to 2, this one
# was never far from the best on six sets: raw and scaled, noisy and separable, wide and sparse.
ONLINE_STEP_SHARE = 0.3


class NonlinearMSE(OnlineClassifier):
    """Least squares through a squashing function: 1/2 sum_n c_n (t_n - h(<w, p_n>))^2, p = (x_0, x).

    Problem    h = tanh with targets -1 and +1, or h = logistic with targets 0 and 1. Unlike in linear least squares, rows
               far on the right side cost nothing. Rows far on the wrong side have a bounded cost and almost no gradient: E is
               not convex. With k > 2 classes, each against the rest.
    Update     one row: w += rho c (t - h(a)) h'(a) p; batch: the sum of that over all rows; batch-mean: over sum_n c_n.
    Guarantee  solver="minimum" ends when the gradient is under `tol`, or warns; it starts from w = 0 and only goes down.
               Batch steps with step="auto" never make E larger.
    Reference  B. Widrow and M. Lehr, Proc. IEEE 78 (1990); solver: `least_squares/nonlinear.py`.

    Parameters
    ----------
    activation : {"tanh", "logistic"}, default="tanh"
        The squashing function.
    solver : {"minimum", "online", "batch", "batch-mean"}, default="minimum"
        "minimum": Newton's method, or L-BFGS for many columns. "online": the textbook's single-pattern steps. "batch",
        "batch-mean": gradient steps on all rows.
    step : float, callable or "auto", default="auto"
        rho > 0, or a function k -> rho_k, where k = 1, 2, ... counts updates. "auto": for batch steps 1/(B sum_n c_n |p_n|^2)
        with B the largest second derivative of a row's cost (1.23 for tanh, 0.077 for logistic); for batch-mean times
        sum_n c_n; for online steps 0.3 of that over the largest c_n. `partial_fit` computes it from the first chunk. Not used
        by "minimum".
    tol : float, default=1e-6
        "minimum": the largest partial derivative of E, divided by the column's largest value, rounded down to a power of two,
        and by sum_n c_n. Batch: the length of a step. Online runs end with their passes.
    keep : {"last", "pocket", "average", "vote"}, default="last"
        Which hypothesis of an online or batch run to keep, as in `Perceptron`. Nearly every row moves the weights at every
        visit, so votes and pockets are long.
    order : {"cyclic", "permuted", "random"}, default="permuted"
        The order of the rows in online runs.
    max_iter : int or "auto", default="auto"
        The number of passes, steps or iterations. "auto": 1000; for online runs, and if `max_updates` is given, as in
        `Perceptron`.
    max_updates : int, default=None
        The number of updates (of each class's run).
    fit_intercept : bool, default=True
        Whether rows are augmented by a constant.
    intercept_scaling : float, default=1.0
        x_0, that constant.
    vote_count : {"lifetime", "survivals"}, default="lifetime"
        How votes are counted, as in `Perceptron`.
    class_weight : dict, "balanced" or None, default=None
        Multiplies `sample_weight`.
    warm_start : bool, default=False
        Start `fit` from the last weights of the previous fit.
    log : bool or "rows", default=True
        Keep the update log of online and batch runs in `log_`.
        The log holds no rows: it finds them in X as long as the caller keeps X. "rows": the log keeps X alive, too, and
        pickles hold the rows that moved the weights.
    early_stopping : bool, default=False
        Hold out a share of the rows, classify them after each pass by the reading that is kept, and end the fit when their
        error has not become smaller for `n_iter_no_change` passes. The model is that of the best pass: the first one with the
        smallest error. It has seen no held-out row. For one-vs-rest, each class has its own best pass. The "auto" of
        `max_iter` is then 1000. Not for "minimum".
    validation_fraction : float, default=0.1
        The share of each class that `early_stopping` holds out: at least one row, drawn by `random_state` from the rows of
        positive weight.
    n_iter_no_change : int, default=5
        The number of passes or batch steps without a smaller error that end the fit.
    calibrate : {"sigmoid", "isotonic", "temperature"} or None, default=None
        The map from scores to probabilities, which gives `predict_proba`. It is fitted on held-out scores of five folds, each
        of which takes one more fit. `predict` does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the row order.
    n_jobs : int, default=None
        Threads. The result does not depend on it.
    verbose : int, default=0
        1 writes a line per pass to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The weights; one row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercepts.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted. Ties are predicted as the smaller one.
    n_features_in_ : int
        The number of columns of X.
    loss_ : float
        E of the training rows (of the last weights, for votes), summed over classes.
    gradient_norm_ : float
        The largest partial derivative there, as for `tol`.
    saturated_ : ndarray of int
        The rows without influence: misclassified (by any class's plane) and with a step below 1 % of the longest possible, so
        that their gradient has vanished: a margin below -3.26 for tanh, -6.51 for logistic. After `partial_fit`, rows of the
        last chunk.
    n_iter_ : int
        The number of passes, steps or iterations made; with `early_stopping`, up to the best one.
    n_updates_ : int
        The number of updates made.
    validation_errors_ : list of ndarray
        With `early_stopping`, the share of the held-out rows, by weight, that was misclassified after each pass or step: one
        array, or one per class for one-vs-rest of more than two classes.
    calibration_ : ProbabilityMap
        With `calibrate`, the map.
    stop_ : Stop
        Why the run ended.
    log_ : UpdateLog or None
        The updates of the run; None for "minimum".
    pocket_errors_ : ndarray of shape (1,) or (n_classes,)
        The training errors of the pocket, if it was kept.

    See Also
    --------
    LinearMSE : Least squares without a squashing function.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.NonlinearMSE().fit([[0], [1], [2], [3], [4], [5], [8]], [0, 0, 0, 1, 1, 1, 0])
    >>> model.predict([[0], [5]]).tolist(), model.saturated_.tolist(), model.stop_.reason
    ([0, 1], [6], 'solved')
    """

    loss_: float
    gradient_norm_: float
    saturated_: IntArray
    _auto: float
    _path: ClassVar[SolutionPath | None] = "iterations"

    def __init__(
        self,
        *,
        activation: Activation = "tanh",
        solver: Solver = "minimum",
        step: Step | Literal["auto"] = "auto",
        tol: float = 1e-6,
        keep: Keep = "last",
        order: Order = "permuted",
        max_iter: int | Literal["auto"] = "auto",
        max_updates: int | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        vote_count: VoteCount = "lifetime",
        class_weight: ClassWeight = None,
        warm_start: bool = False,
        log: Log = True,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        calibrate: Calibration | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.activation = activation
        self.solver = solver
        self.step = step
        self.tol = tol
        self.keep = keep
        self.order = order
        self.max_iter = max_iter
        self.max_updates = max_updates
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.vote_count = vote_count
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.log = log
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def reading(self, keep: Keep, X: MatrixLike | None = None, y: npt.ArrayLike | None = None) -> Self:
        """Return another reading of the same run as a fitted estimator, without fitting again.

        Parameters
        ----------
        keep : {"last", "pocket", "average", "vote"}
            Which hypothesis of the run to keep. "minimum" has only the last.
        X : {array-like, sparse matrix} of shape (n_rows, n_features), default=None
            The rows of `fit`, in their order, if the caller has not kept the X of `fit`. They are checked.
        y : array-like of shape (n_rows,), default=None
            The labels of `fit`, if X is given.

        Returns
        -------
        model : object
            A copy of this estimator with that reading.
        """
        check_is_fitted(self, "classes_")
        if self.solver == "minimum" and keep != "last":
            raise ValueError(f"solver='minimum' has no updates to read, got keep={keep!r}: use solver='online'")
        return super().reading(keep, X, y)

    @property
    def _multiclass(self) -> JointOrOvr:
        return "ovr"

    @property
    def _way(self) -> Way:
        if self.solver == "minimum":
            return "solver"
        return "online" if self.solver == "online" else "batch"

    @property
    def _iterations_are_passes(self) -> bool:
        return self._way != "solver"

    def _minimized(self) -> Objective:
        return Objective(LOGISTIC_MSE if self.activation == "logistic" else NONLINEAR_MSE, 0.5)

    def _own_streaming_obstacle(self) -> StreamingObstacle | None:
        if self.solver == "minimum":
            return StreamingObstacle("keeps values for every row between steps", "solver", "minimum", ("online", "batch"))
        return super()._own_streaming_obstacle()

    def _rule(self, problem: Problem) -> NonlinearMSERule:
        return nonlinear_mse_rule(self.activation)

    def _config_options(self) -> dict[str, Any]:
        tol = float(self.tol) if self._way == "batch" else None
        return {"update": self.solver, "order": self.order, "max_updates": self.max_updates, "tol": tol}

    def _config(self, problem: Problem, keep_log: bool) -> RunConfig:
        config = super()._config(problem, keep_log)
        if self.max_iter == "auto" and self.solver != "online" and (self.solver == "minimum" or self.max_updates is None):
            config = replace(config, max_iter=AUTO_ITERATIONS)
        if not isinstance(self.step, str):
            return replace(config, step=self.step)
        if "_auto" not in self.__dict__:
            self._auto = self._auto_step(problem) if self.solver != "minimum" else 1.0
        return replace(config, step=self._auto)

    def _auto_step(self, problem: Problem) -> float:
        heaviest = float(problem.labels.weights.max(initial=0.0)) or 1.0
        return self._safe_step(total_sqnorm(problem), problem.total_weight, heaviest)

    def _safe_step(self, total: float, weight: float, heaviest: float) -> float:
        """Return the step for rows of this sum of squared lengths, total weight and largest weight."""
        if not total < np.inf:
            raise ValueError("step='auto' depends on the squared length of the rows, which overflowed: scale the features")
        safe = 1.0 / (MAX_CURVATURE[self.activation] * total) if total > 0.0 else 1.0
        if self.solver == "batch":
            return safe
        # The heaviest row limits the step: a step that overshoots leaves rows misclassified permanently.
        return safe * weight * (1.0 if self.solver == "batch-mean" else ONLINE_STEP_SHARE / heaviest)

    def _learn(self, problem: Problem, classes: Array, check_finite: Callable[[], None]) -> Self:
        self.__dict__.pop("_auto", None)
        return super()._learn(problem, classes, check_finite)

    def _needs_finite_rows(self) -> bool:
        return isinstance(self.step, str) or self.solver == "minimum"

    def _check_own_parameters(self) -> None:
        check_choice("activation", self.activation, get_args(Activation))
        check_choice("solver", self.solver, get_args(Solver))
        check_choice("order", self.order, get_args(Order))
        check_number("tol", self.tol)
        if isinstance(self.step, str):
            check_choice("step", self.step, ("auto",), "a number greater than 0", "a callable")
        elif not callable(self.step):
            check_number("step", self.step)
        if self.max_iter is None:
            reason = "every row moves the weights at every visit"
            raise ParameterError("max_iter", "'auto' or a whole number", None, reason=reason)
        if self.max_updates is not None:
            check_integer("max_updates", self.max_updates)
        if self.solver == "minimum" and self.keep != "last":
            raise ValueError(f"solver='minimum' has no updates to read, got keep={self.keep!r}: use solver='online'")
        if self.solver == "minimum" and self.early_stopping:
            raise ValueError("solver='minimum' makes no passes that early_stopping=True could end: use solver='online'")

    def _solve(self, problem: Problem, config: RunConfig, start: State, sums: State | None) -> RunResult:
        if self.solver != "minimum":
            return super()._solve(problem, config, start, sums)
        state, most = zero_state(problem, len(start.bias), np.float64), config.max_iter or AUTO_ITERATIONS
        heads = as_heads(start.w, problem.rows).astype(np.float64)
        try:
            found = minimize_nonlinear(
                problem, self._rule(problem), float(self.tol), most, heads, start.bias, config.n_jobs, config.progress
            )
        except NonlinearOutOfRangeError as error:
            raise OutOfRangeError(str(error)) from None
        as_heads(state.w, problem.rows)[...] = found.heads
        state.bias[...] = found.bias
        return RunResult(state, found.stops, found.iterations, np.full(len(state.counts), problem.n_rows), None, None)

    def _finish(self, problem: Problem) -> None:
        if self.solver == "minimum" and self.stop_.reason != "solved":
            warnings.warn(StopWarning("the minimum was not reached", self.stop_), stacklevel=7)
        if len(self.classes_) < 2:
            self.loss_, self.gradient_norm_, self.saturated_ = 0.0, 0.0, np.zeros(0, np.intp)
            return
        rule, longest = self._rule(problem), MAX_STEP[self.activation]
        self.loss_, self.gradient_norm_, self.saturated_ = evaluate(problem, rule, *self._measured_weights(), longest)

    def _measured_weights(self) -> tuple[FloatArray, FloatArray]:
        """Return the weights and the bias of each head whose loss is an attribute."""
        heads, bias = np.asarray(self._run.heads, np.float64), self._run.state.bias
        if "coef_" in self.__dict__:
            heads = np.asarray(self.coef_, np.float64)
            bias = self.intercept_ / self._x0 if self._x0 else bias
        return heads, bias
