"""The base of estimators that learn row by row: `fit` and `partial_fit` on an update log, and the readings of a run."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from ..array_types import Array, FloatArray, Matrix, MatrixLike
from ..data.indicators import is_indicator
from ..data.problem import Problem, copy_state, virtual_sums, zero_sums
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import State
from ..online.history import History, Init, history_of_fit, initial_state
from ..online.readings import NoSinglePlaneError, Vote
from ..online.run import OutOfRangeError, Rule, RunConfig, RunResult, reads_norms
from ..online.solver import solve, visited_every_row
from ..online.stopping import Outlook, Stop, chunk_stop, unknown_outlook
from ..online.update_log import UpdateLog
from ..progress import current_callback
from ..validation import check_choice
from .base import KnownClasses, LinearClassifier, RandomState, StopWarning, StreamingObstacle, Way, seed_of
from .conditional_methods import method_if
from .early_stopping import EarlyStopping, check_without_early_stopping, without_rows
from .online_parameters import (
    MAX_AUTO_PASSES,
    JointOrOvr,
    Keep,
    Log,
    VoteCount,
    auto_passes,
    check_online_parameters,
    check_vote_count,
)
from .probability_methods import check_uncalibrated
from .row_reference import FLOATS
from .row_weights import ClassWeight
from .run_readings import hypothesis_of, label_reading, run_found_in

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..proofs.run_proofs import Proofs


def _check_streams(self: OnlineClassifier) -> None:
    if self.keep == "pocket" or self._way != "online":
        raise AttributeError(
            "partial_fit visits each row once, but keep='pocket' and batch updates need all rows several times: use fit"
        )
    check_uncalibrated(self)
    check_without_early_stopping(self)


class OnlineClassifier(EarlyStopping, LinearClassifier):
    """Base of the estimators that move the weights row by row and keep an update log. Subclasses define the rule."""

    keep: Keep
    max_iter: int | Literal["auto"] | None
    vote_count: VoteCount
    warm_start: bool
    log: Log
    random_state: RandomState
    n_jobs: int | None
    verbose: int
    class_weight: ClassWeight
    intercept_scaling: float
    order: str

    n_updates_: int
    log_: UpdateLog | None
    _run: History
    _votes: list[Vote] | None

    @property
    def _class_weight(self) -> ClassWeight:
        return self.class_weight

    @property
    def _intercept_scaling(self) -> float:
        return float(self.intercept_scaling)

    @property
    def _keep(self) -> str:
        return self.keep

    @property
    def _order(self) -> str:
        return self.order

    @property
    def _keeps_rows(self) -> bool:
        return self.log == "rows"

    # --- defined by subclasses ---------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _multiclass(self) -> JointOrOvr:
        """How more than two classes are learned."""

    @abstractmethod
    def _rule(self, problem: Problem) -> Rule:
        """Return the rule, from checked parameters."""

    @abstractmethod
    def _config_options(self) -> dict[str, Any]:
        """Return the fields of `RunConfig` that only this estimator has parameters for."""

    @abstractmethod
    def _check_own_parameters(self) -> None:
        """Raise an error for a bad parameter that only this estimator has."""

    def _own_streaming_obstacle(self) -> StreamingObstacle | None:
        if self.early_stopping:
            return self._early_stopping_obstacle()
        if self.keep == "pocket":
            return StreamingObstacle("scans all rows repeatedly", "keep", "pocket", ("average",))
        if self.keep == "vote":
            return StreamingObstacle("keeps every row that caused an update", "keep", "vote", ("average",))
        if self._scans_for_each_update:
            return StreamingObstacle("scans all rows before each update", "order", "mistakes", ("cyclic",))
        return None

    @property
    def _way(self) -> Way:
        return "online"

    @property
    def _iterations_are_passes(self) -> bool:
        return True

    @property
    def _first_weights(self) -> Init:
        """The weights before the first update."""
        return "zeros"

    @property
    def _scans_for_each_update(self) -> bool:
        """Whether every update scans all rows; a pass is then n updates."""
        return self.order == "mistakes" and self._way == "online"

    def _check_stream_parameters(self) -> None:
        """Raise an error for a parameter that needs all rows, which `partial_fit` does not have."""
        self._refuse_in_streams("class_weight", self.class_weight, "balanced")

    def _needs_finite_rows(self) -> bool:
        """Whether X must be checked before the first pass, because a parameter is computed from all rows."""
        return False

    def _solve(self, problem: Problem, config: RunConfig, start: State, sums: State | None) -> RunResult:
        rule = self._rule(problem)
        self._continue_counts(rule, start)
        return solve(problem, rule, config, start, sums)

    def _continue_counts(self, rule: Rule, start: State) -> None:
        """Count the updates before a warm start, if the rule depends on their number."""
        if self.warm_start and "_run" in self.__dict__ and reads_norms(rule):
            before = self._run.state.counts  # the weights are those of all updates since w = 0
            start.counts[:] = before if before.shape == start.counts.shape else before.sum()

    def _proofs(self, problem: Problem, classes: Array, start: State) -> Proofs | None:
        """Return the separability check that runs after each pass, or None."""
        return None

    def _outlook(self, problem: Problem, classes: Array, start: State) -> Callable[[int], Outlook]:
        """Return what computes the outlook of a head without progress toward `w_max` and `tol`."""
        return unknown_outlook

    def _finish(self, problem: Problem) -> None:
        """Set further attributes when the run has ended."""

    # --- fitting -------------------------------------------------------------------------------------------------------

    def _learn(self, problem: Problem, classes: Array, check_finite: Callable[[], None]) -> Self:
        if self._needs_finite_rows():
            check_finite()
        held = None
        if self.early_stopping:
            held = self._held_out(problem, classes, seed_of(self.random_state), self.keep, self.vote_count)
            problem = without_rows(problem, held)
        before = self._run if self.warm_start and hasattr(self, "_run") else None
        start = initial_state(problem, classes, self._first_weights, bool(self.fit_intercept), before)
        keep_log = (bool(self.log) and problem.pages is None) or self.keep in ("pocket", "vote")
        # The average sums dense rows during the pass. Sparse rows are cheaper to sum from the log, where a row that moved the
        # weights many times is added once; but not in cyclic order, which gives the same bits with a log, without one and from
        # a file on disk. With early stopping, the average is needed after every pass.
        sum_in_pass = isinstance(problem.rows, Dense) or not keep_log or self.order == "cyclic" or held is not None
        sums = virtual_sums(start) if self.keep == "average" and sum_in_pass else None
        proofs = self._proofs(problem, classes, start)
        config = replace(self._config(problem, keep_log), held_out=held)
        if proofs is not None:
            check_finite()
            config = replace(config, check=proofs.check)
        elif config.may_stall and problem.pages is None:
            config = replace(config, outlook=self._outlook(problem, classes, start))
        try:
            result = self._solve(problem, config, start, sums)
        except OutOfRangeError:
            check_finite()
            raise
        if not visited_every_row(problem, config, result):
            check_finite()
        if proofs is not None:
            result.stops = proofs.attached(result.stops)
        stop = result.merged_stop(classes)
        proved = stop.reason == "impossible" and stop.certificate is not None
        endless = (self.max_iter is None and held is None) or (proofs is not None and config.max_iter is None)
        if endless and not (stop.separated or proved):
            warnings.warn(StopWarning("the rows were not separated", stop), stacklevel=5)
        self._set_run(problem, classes, result, stop)
        if proofs is not None:
            self.certificate_ = proofs.certificates
        if not self.log:
            self._forget_log()
        self._finish(problem)
        if self.log_ is not None and not self._keeps_rows:
            self.log_._record.release_rows()
        return self

    def _set_run(self, problem: Problem, classes: Array, result: RunResult, stop: Stop) -> None:
        """Set the fitted attributes of a whole run."""
        self._classes_fixed = True
        self._set(self._held(history_of_fit(problem, classes, result), self.keep), stop, result.passes)
        self._forget_proofs()
        self._set_validation_errors(result.validation_errors)

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
        classes are given by `classes` or occur in the first chunk. A chunk after `fit` continues its run; the average of
        more than 4 MB of weights then continues up to rounding.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows of the chunk.
        y : array-like of shape (n_rows,), or {array-like, sparse matrix} of shape (n_rows, n_labels)
            The class label of each row; or an indicator matrix, whose columns are those of the first chunk.
        classes : array-like, default=None
            All labels of the stream, in the first call. Without it, a class may appear in a later chunk; its weights then
            start at zero.
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
        self._check_stream_parameters()
        before: History | None = self.__dict__.get("_run")
        known, fixed = (None, False) if before is None else (before.classes, self._classes_fixed)
        dtype = FLOATS if before is None else before.state.w.dtype
        data = self._prepare(X, y, sample_weight, dtype=dtype, finite=True, stream=KnownClasses(classes, known, fixed))
        problem = data.problem(self._multiclass, self._x0, self._takes_unsorted_columns)
        if before is None:
            before = self._empty_run(problem, data.classes)
        run = before
        if len(data.classes) < 2:
            run = before.skip(problem.n_visited)
        elif problem.n_visited:
            run, _ = before.learn(problem, self._rule(problem), self._config(problem, True), data.classes, self.keep)
        made = int(run.state.counts.sum() - before.state.counts.sum())
        stop = chunk_stop(len(data.classes), problem.n_visited, made)
        self._classes_fixed = data.fixed
        self._set(run, stop, 1)
        self._forget_proofs()
        self._set_validation_errors(None)
        self.log_ = None
        self._finish(problem)
        return self

    def _empty_run(self, problem: Problem, classes: Array) -> History:
        if len(classes) < 2 and not isinstance(self._first_weights, str):
            raise ValueError("init is an array, which needs all classes: pass classes= in the first call of partial_fit")
        start = initial_state(problem, classes, self._first_weights, bool(self.fit_intercept), None)
        sums = zero_sums(start) if self.keep == "average" else None
        durations = np.zeros(len(start.counts), np.int64)
        return History(classes, copy_state(start), isinstance(problem.rows, Dense), 0, durations, sums)

    # --- pieces of a fit -----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_online_parameters(self)
        self._check_early_stopping()
        self._check_own_parameters()
        check_vote_count(self, self.keep)

    def _config(self, problem: Problem, keep_log: bool) -> RunConfig:
        return RunConfig(
            max_iter=self._passes(problem) if self.max_iter == "auto" else self.max_iter,
            seed=seed_of(self.random_state),
            keep_log=keep_log,
            n_jobs=effective_n_jobs(self.n_jobs),
            progress=current_callback(bool(self.verbose)),
            **self._config_options(),
        )

    def _passes(self, problem: Problem) -> int | None:
        """Return the number of passes for max_iter="auto"; None: no limit."""
        if self.early_stopping and self._config_options().get("max_updates") is None:
            return MAX_AUTO_PASSES
        return auto_passes(problem.n_visited, self._scans_for_each_update, self._config_options().get("max_updates"))

    def _set(self, run: History, stop: Stop, passes: int) -> None:
        """Set the fitted attributes."""
        fitted: dict[str, Any] = {"_votes": None}  # computed when they are first used, from rows that the history holds
        if self.keep != "vote" or len(run.classes) < 2:
            fitted = hypothesis_of(run, self.keep, self.n_features_in_, effective_n_jobs(self.n_jobs))
        elif any(not log.is_compact for _, log in run.logs) or (self.vote_count == "survivals" and stop.reason != "chunk"):
            fitted["_votes"] = self._count_votes(run)  # now, since X may change, or since there may be no votes
        for name in ("coef_", "intercept_", "pocket_errors_", "_votes"):
            self.__dict__.pop(name, None)
        self.__dict__.update(
            fitted,
            classes_=run.classes,
            stop_=stop,
            n_iter_=passes,
            n_updates_=int(run.state.counts.sum()),
            log_=run.logs[0][1] if run.logs else None,
            _run=run,
        )

    def _held(self, run: History, keep: str) -> History:
        """Return the run with what a reading needs later, when X is gone."""
        if keep == "vote":
            run.check_logged("vote")
            return run if self._keeps_rows else run.holding(keep)
        return run.holding(keep) if self._keeps_rows else run.holding(keep).without_rows()

    def _forget_proofs(self) -> None:
        for name in ("certificate_", "_convergence", "mixing_"):
            self.__dict__.pop(name, None)

    def _forget_log(self) -> None:
        if self.keep == "vote" and self._votes is None:
            self._votes = self._count_votes(self._run)
        self.log_, self._run = None, replace(self._run, logs=(), logged=False)

    # --- readings ------------------------------------------------------------------------------------------------------

    def reading(self, keep: Keep, X: MatrixLike | None = None, y: npt.ArrayLike | None = None) -> Self:
        """Return another reading of the same run as a fitted estimator, without fitting again.

        A fitted model does not keep the rows of X. "last" never needs them, and each model has what its own `keep` needs. Other
        readings find the rows as long as the caller keeps the X of `fit`; for a loaded model, give X and y again.

        Parameters
        ----------
        keep : {"last", "pocket", "average", "vote"}
            Which hypothesis of the run to keep, see the parameter `keep`.
        X : {array-like, sparse matrix} of shape (n_rows, n_features), default=None
            The rows of `fit`, in their order. Shape, number type, a sample of the values and the replay of the log are checked.
        y : array-like of shape (n_rows,), default=None
            The labels of `fit`, if X is given. The weights of the rows are known.

        Returns
        -------
        model : object
            A copy of this estimator with that reading. Its `log_` finds its rows in X, if X was given.

        Examples
        --------
        >>> import rosenblatt as rb
        >>> model = rb.Perceptron(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
        >>> model.reading("average").predict([[1, 1]]).tolist()
        [1]
        """
        check_is_fitted(self, "classes_")
        check_choice("keep", keep, get_args(Keep))
        check_vote_count(self, keep)
        if (X is None) != (y is None):
            raise ValueError("reading takes X and y together, or neither")
        if self.multilabel_:
            return label_reading(self, keep, X, y)
        run = self._run if X is None or y is None else run_found_in(self, self._run, X, y)
        other = copy.copy(self)
        if keep == self.keep and X is None:
            return other
        if run.needs_rows(keep):
            run.check_rows(whole=keep == "pocket")
        other.keep = keep
        other._set(self._held(run, keep), self.stop_, self.n_iter_)
        if self.log_ is None:
            other.log_ = None
        return other

    # --- predicting ----------------------------------------------------------------------------------------------------

    def _scores(self, X: Matrix) -> FloatArray:
        if "coef_" in self.__dict__:
            return super()._scores(X)
        if self._votes is None:
            self._votes = self._count_votes(self._run)
        return np.concatenate([vote.scores(X, effective_n_jobs(self.n_jobs)) for vote in self._votes], axis=1)

    def _count_votes(self, run: History) -> list[Vote]:
        return run.votes(self._multiclass == "ovr", self.vote_count)

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__())
        if state.get("_votes") and self._run.logs and all(log.is_compact for _, log in self._run.logs):
            state["_votes"] = None  # the log holds the same rows
        return state

    def __getattr__(self, name: str) -> Any:
        if name in ("coef_", "intercept_") and "_votes" in self.__dict__:
            raise NoSinglePlaneError(
                f"a vote has no {name}, because it is a majority of many planes: use reading('average') for one plane"
            )
        return object.__getattribute__(self, name)  # raises the same error
