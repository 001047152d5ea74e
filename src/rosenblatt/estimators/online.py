"""What every online linear classifier shares: validation, `fit`, `partial_fit`, prediction and readings."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..data.labels import classes_of_chunk
from ..data.problem import Problem, as_heads, heads_of, zero_state, zero_sums
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary, State
from ..online.config import RunConfig, RunResult
from ..online.history import History, history_of_fit
from ..online.readings import Vote
from ..online.run_state import OutOfRangeError
from ..online.solver import solve, visited_every_row
from ..online.stopping import Stop
from ..online.update_log import UpdateLog
from ..progress import current_callback
from ..reporting.text import plural
from ..validation import count, flag, number, one_of
from .base import FLOATS, SweepingClassifier, check_n_jobs_and_verbose, seed_of

if TYPE_CHECKING:
    from ..proofs.run_proofs import Proofs


# --- The weights a run starts from: zeros, the sum of all signed rows, a given array, or where the last run ended.


def starting_state(problem: Problem, classes: Any, init: Any, fit_intercept: bool, before: History | None) -> State:
    start = zero_state(problem, len(classes))
    heads = as_heads(start.w, problem.rows)
    if before is not None:
        if not np.array_equal(classes, before.classes) or before.heads.shape != heads.shape:
            raise ValueError(
                f"warm_start goes on from a run on classes {before.classes.tolist()} and {before.heads.shape[1]} features, "
                f"got classes {classes.tolist()} and {heads.shape[1]} features"
            )
        heads[...], start.bias[...] = before.heads, before.state.bias
    elif isinstance(init, str):
        if init == "sum":
            heads[...], start.bias[...] = _signed_sum(problem, len(classes))
    else:
        _from_array(_as_numbers(init), heads, start, fit_intercept)
    return start


def _signed_sum(problem: Problem, n_classes: int) -> tuple[Any, Any]:
    """sum_n y_n x_n for each head, y_n = +1 on the head's own rows and -1 on the others."""
    labels = problem.labels
    codes = (labels.signs > 0).astype(np.int64) if isinstance(labels, Binary) else labels.codes
    own = np.arange(1, 2) if isinstance(labels, Binary) else np.arange(n_classes)
    signs = np.where(codes == own[:, None], 1.0, -1.0)
    if labels.weights.size:
        signs = signs * labels.weights
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.asarray(signs @ problem.matrix())
    if not (abs(total) <= np.finfo(problem.rows.values.dtype).max).all():
        raise ValueError("init='sum' overflowed: scale the features")
    return total, signs.sum(axis=1) * problem.x0


def _as_numbers(init: Any) -> Any:
    try:
        array = np.asarray(init)
    except ValueError:
        raise ValueError(f"init must be 'zeros', 'sum' or an array with rows of one length, got {init!r:.80}") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"init must be 'zeros', 'sum' or an array of real numbers, got {array.tolist()!r:.80}")
    return array


def _from_array(init: Any, heads: Any, start: State, fit_intercept: bool) -> None:
    k, d = heads.shape
    if not (abs(init) <= np.finfo(heads.dtype).max).all():
        raise ValueError(
            f"init must be 'zeros', 'sum' or an array of finite {heads.dtype.name} numbers, got {init.tolist()!r:.80}"
        )
    full = init[None] if init.ndim == 1 else init
    if full.shape == (k, d + 1) and fit_intercept:
        start.bias[...], full = full[:, 0], full[:, 1:]
    if full.shape != (k, d):
        with_bias = f" or {(k, d + 1)} with weight 0 first" if fit_intercept else ""
        raise ValueError(f"init must have shape {(k, d)}{with_bias}, got {init.shape}")
    heads[...] = full


# ---

READINGS = ("last", "pocket", "average", "vote")
# max_iter="auto", measured in docs/defaults.md: PASSES, on small sets as many as visit SMALL rows.
PASSES = 10
SMALL = 10_000


def _streams(self: OnlineClassifier) -> bool:
    if self.keep == "pocket" or self._plan_options().get("update", "online") != "online":
        raise AttributeError(
            "partial_fit sees each row once; keep='pocket' and batch updates look at all rows again and again: use fit"
        )
    return True


class OnlineClassifier(SweepingClassifier):
    """Base of the estimators that learn by moving the weights row by row; subclasses give the rule."""

    n_iter_: int
    n_updates_: int
    stop_: Stop
    log_: UpdateLog | None
    _run: History
    _votes: list[Vote] | None

    # --- what a subclass says ------------------------------------------------------------------------------------------

    @abstractmethod
    def _rule(self, problem: Problem) -> Any:
        """The rule, from checked parameters."""

    @abstractmethod
    def _plan_options(self) -> dict[str, Any]:
        """The fields of `RunConfig` that only this estimator has parameters for."""

    @abstractmethod
    def _check_own_parameters(self) -> None:
        """Raise on a bad parameter that only this estimator has."""

    def _solve(self, problem: Problem, plan: RunConfig, start: State, sums: State | None) -> RunResult:
        return solve(problem, self._rule(problem), plan, start, sums)

    def _proofs(self, problem: Problem, classes: Any, start: State) -> Proofs | None:
        """Who is asked after every pass whether the rows can be separated at all; None: nobody."""
        return None

    def _look_back(self, problem: Problem) -> None:
        """What else is said about the rows when all is learnt."""

    @property
    def _init(self) -> Any:
        return getattr(self, "init", "zeros")

    # --- fitting -------------------------------------------------------------------------------------------------------

    def _learn(self, problem: Problem, classes: Any, check_finite: Callable[[], None]) -> Self:
        """Learn from rows that are laid out for the kernels; `check_finite` raises where they are not finite."""
        early = (getattr(self, name, None) for name in ("init", "margin", "step", "solver"))
        if any(isinstance(given, str) and given in ("sum", "auto", "minimum") for given in early):
            check_finite()
        before = self._run if self.warm_start and hasattr(self, "_run") else None
        start = starting_state(problem, classes, self._init, bool(self.fit_intercept), before)
        keep_log = (bool(self.log) and problem.pages is None) or self.keep in ("pocket", "vote")
        # Dense rows are summed for the average while they are at hand. Sparse ones are cheaper to sum from the log, where those
        # that moved the weights many times are added once; but not in cyclic order, which gives the same bits with a log,
        # without one and from a file on disk.
        at_hand = isinstance(problem.rows, Dense) or not keep_log or getattr(self, "order", None) == "cyclic"
        sums = zero_sums(start) if self.keep == "average" and at_hand else None
        proofs = self._proofs(problem, classes, start)
        plan = self._plan(problem, keep_log)
        if proofs is not None:
            check_finite()
            plan = replace(plan, check=proofs.judge)
        try:
            result = self._solve(problem, plan, start, sums)
        except OutOfRangeError:
            check_finite()
            raise
        if not visited_every_row(problem, plan, result):
            check_finite()
        if proofs is not None:
            result.stops = proofs.attached(result.stops)
        proved = result.stop.reason == "impossible" and result.stop.certificate is not None
        endless = self.max_iter is None or (proofs is not None and plan.max_iter is None)
        if endless and not (result.stop.separated or proved):
            warnings.warn(f"the rows were not separated: {result.stop}", ConvergenceWarning, stacklevel=4)
        self._classes_fixed = True
        self._set(history_of_fit(problem, classes, result), result.stop, result.passes)
        self._forget_proofs()
        if proofs is not None:
            self.certificate_ = proofs.certificates if len(result.stops) > 1 else proofs.certificates[0]
        if not self.log:
            self._forget_log()
        self._look_back(problem)
        return self

    @available_if(_streams)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one chunk of a stream: each row once, in order.

        classes : all labels that will ever come, in the first call. Without it a class may also appear in a later chunk; it
        starts with zero weights then. The result equals one cyclic pass of `fit` over the whole stream, bit for bit and
        however the stream is cut into chunks, as long as all classes are announced or in the first chunk.
        """
        with self._unharmed():
            return self._partial_fit(X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        if getattr(self, "certify", False):
            raise ValueError("certify=True is about all rows, and partial_fit has one chunk; use fit, or rb.certify")
        for name, value in (("init", "sum"), ("margin", "auto"), ("class_weight", "balanced")):
            if isinstance(given := getattr(self, name, None), str) and given == value:
                raise ValueError(
                    f"{name}={value!r} needs all rows before the first step, and partial_fit has one chunk; use fit"
                )
        before: History | None = getattr(self, "_run", None)
        X, y = self._validated(X, y, FLOATS if before is None else before.state.w.dtype, reset=before is None)
        so_far = (None, False) if before is None else (before.classes, self._classes_fixed)
        known, fixed = classes_of_chunk(y, classes, *so_far)
        problem = self._problem(X, np.searchsorted(known, y), known, sample_weight, chunk=True)
        if before is None:
            before = self._empty_run(problem, known)
        if len(known) < 2:
            run = before.skip(problem.n_visited)
            stop = Stop("chunk", "only one class has been seen so far")
        elif problem.n_visited == 0:
            run, stop = before, Stop("chunk", "all rows of the chunk have weight 0")
        else:
            run, result = before.learn(problem, self._rule(problem), self._plan(problem, True), known, self.keep)
            made = int(result.state.counts.sum() - before.state.counts.sum())
            stop = Stop("chunk", f"read the chunk: {plural(problem.n_visited, 'row')}, {plural(made, 'update')}")
        self._classes_fixed = fixed
        self._set(run, stop, 1)
        self._forget_proofs()
        self.log_ = None
        self._look_back(problem)
        return self

    def _empty_run(self, problem: Problem, classes: Any) -> History:
        if len(classes) < 2 and not isinstance(self._init, str):
            raise ValueError("an array as init needs the classes: give classes= in the first call of partial_fit")
        start = starting_state(problem, classes, self._init, bool(self.fit_intercept), None)
        sums = zero_sums(start) if self.keep == "average" else None
        return History(classes, start, isinstance(problem.rows, Dense), 0, np.zeros(len(start.counts), np.int64), sums)

    # --- pieces of a fit -----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        one_of("keep", self.keep, READINGS)
        one_of("multiclass", self.multiclass, ("joint", "ovr"))
        one_of("vote_count", self.vote_count, ("lifetime", "survivals"))
        number("intercept_scaling", self.intercept_scaling)
        for name in ("fit_intercept", "warm_start", "log"):
            flag(name, getattr(self, name))
        if isinstance(self.max_iter, str):
            one_of("max_iter", self.max_iter, ("auto",), "a whole number or None")
        elif self.max_iter is not None:
            count("max_iter", self.max_iter)
        check_n_jobs_and_verbose(self)
        self._check_own_parameters()

    def _plan(self, problem: Problem, keep_log: bool) -> RunConfig:
        options = self._plan_options()
        return RunConfig(
            max_iter=self._passes(problem, options) if self.max_iter == "auto" else self.max_iter,
            seed=seed_of(self.random_state),
            keep_log=keep_log,
            n_jobs=effective_n_jobs(self.n_jobs),
            progress=current_callback(bool(self.verbose)),
            **options,
        )

    def _passes(self, problem: Problem, options: dict[str, Any]) -> int | None:
        """How many passes "auto" stands for."""
        # With order="mistakes" every update looks at all rows, and a pass is n of them.
        dear = options.get("order") == "mistakes" and options.get("update", "online") == "online"
        least, visits = (1, SMALL // 10) if dear else (PASSES, SMALL)
        return min(max(least, -(-visits // max(1, problem.n_visited))), 1000)

    def _set(self, run: History, stop: Stop, passes: int) -> None:
        """The fitted attributes."""
        fitted = self._read(run, self.keep)
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

    def _forget_proofs(self) -> None:
        for name in ("certificate_", "_convergence"):
            self.__dict__.pop(name, None)

    def _forget_log(self) -> None:
        self.log_, self._run = None, replace(self._run, logs=(), logged=False)

    # --- readings ------------------------------------------------------------------------------------------------------

    def reading(self, keep: str) -> Self:
        """Another reading of the same run as a fitted estimator, without refitting: "last", "pocket", "average" or "vote"."""
        check_is_fitted(self, "classes_")
        one_of("keep", keep, READINGS)
        other = copy.copy(self)
        if keep == self.keep:
            return other
        self._run.check_rows()
        other.keep = keep
        other._set(self._run, self.stop_, self.n_iter_)
        other.log_ = self.log_
        return other

    def _read(self, run: History, keep: str) -> dict[str, Any]:
        """The attributes that make up a reading."""
        x0 = run.state.x0
        if len(run.classes) < 2:
            return {"coef_": np.zeros((1, self.n_features_in_)), "intercept_": np.zeros(1)}
        if keep == "vote":
            # The log of a fit refers to X, which may change, so its vote is taken now; a stream's when it is first asked for.
            run.check_logged("vote")
            live = any(not log.is_compact for _, log in run.logs)
            return {"_votes": run.votes(self.multiclass == "ovr", self.vote_count) if live else None}
        if keep == "pocket":
            pockets = run.pockets(effective_n_jobs(self.n_jobs))
            states = [found.state for found in pockets]
            heads = np.concatenate([heads_of(state.w, run.dense) for state in states])
            bias = np.concatenate([state.bias for state in states])
            errors = [found.errors for found in pockets]
            return {"coef_": heads, "intercept_": bias * x0, "pocket_errors_": np.array(errors)}
        state = run.average() if keep == "average" else run.state
        return {"coef_": np.array(heads_of(state.w, run.dense)), "intercept_": state.bias * x0}

    # --- predicting ----------------------------------------------------------------------------------------------------

    def _scores(self, X: Any) -> Any:
        if "coef_" in self.__dict__:
            return super()._scores(X)
        if self._votes is None:
            self._votes = self._run.votes(self.multiclass == "ovr", self.vote_count)
        return np.concatenate([vote.scores(X, effective_n_jobs(self.n_jobs)) for vote in self._votes], axis=1)

    def __getattr__(self, name: str) -> Any:
        if name in ("coef_", "intercept_") and "classes_" in self.__dict__ and self.__dict__.get("keep") == "vote":
            raise AttributeError(
                f"a vote has no {name}: it is a majority of many planes; reading('average') gives one plane of the same run"
            )
        return object.__getattribute__(self, name)  # raises what it would have raised
