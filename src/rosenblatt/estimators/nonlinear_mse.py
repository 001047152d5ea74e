"""`NonlinearMSE`: least squares through tanh or the logistic function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..data.problem import Problem, as_heads, zero_state
from ..kernels.linear.schemes import State
from ..least_squares.nonlinear import NonlinearOutOfRangeError, evaluate, minimize_nonlinear, total_sqnorm
from ..online.config import RunConfig, RunResult
from ..online.rules.nonlinear_mse import ACTIVATIONS, BEND, LONGEST, NonlinearMSERule, nonlinear_mse_rule
from ..online.run_state import OutOfRangeError
from ..online.schedules import Step
from ..validation import count, number, one_of
from .online import OnlineClassifier

SOLVERS = ("minimum", "online", "batch", "batch-mean")
# max_iter="auto" where all rows are looked at for each step.
ITERATIONS = 1000
# step="auto" of online runs, as a share of the longest step that is safe for a mean row: of 0.01 to 2, never far from the best
# on six sets, raw and scaled, noisy and separable, wide and sparse.
SHARE = 0.3


class NonlinearMSE(OnlineClassifier):
    """Least squares through a squashing function: 1/2 sum_n c_n (t_n - h(<w, p_n>))^2, p = (x_0, x).

    Problem    h = tanh with targets -1 and +1, or h = logistic with targets 0 and 1. Unlike linear least squares, rows far on
               the right side cost nothing; rows far on the wrong side cost no more than any other, and hardly pull: E is not
               convex. With k > 2 classes, each against the rest.
    Update     one row: w += rho c (t - h(a)) h'(a) p; batch: the sum of that over all rows; batch-mean: over sum_n c_n.
    Guarantee  solver="minimum" ends where the gradient is under `tol`, or warns; it starts from w = 0 and only goes down.
               Batch steps with step="auto" never make E larger.
    Reference  B. Widrow and M. Lehr, Proc. IEEE 78 (1990); the rest in `rules/nonlinear_mse.py` and `direct/nonlinear.py`.

    Parameters
    ----------
    activation : "tanh" or "logistic".
    solver : "minimum": Newton's method, or L-BFGS where columns are many; "online": the textbook's single-pattern steps;
        "batch", "batch-mean": gradient steps on all rows.
    step : rho > 0, or a callable k -> rho_k, k = 1, 2, ... counting updates. "auto": for batch steps 1/(B sum_n c_n |p_n|^2)
        with B the largest second derivative of a row's cost (1.23 for tanh, 0.077 for logistic), for batch-mean times
        sum_n c_n, for online steps 0.3 of that over the largest c_n; `partial_fit` takes it from the first chunk.
        Not used by "minimum".
    tol : minimum: the largest partial derivative of E, over the column's largest value and sum_n c_n; batch: the length of a
        step. Online runs end with their passes.
    max_iter : passes, steps or iterations at most. "auto": 1000; for online runs as in `Perceptron`.
    keep, order, max_updates, vote_count, log : of online and batch runs, as in `Perceptron`; nearly every row moves the weights
        at every visit, so that votes and pockets are long.
    fit_intercept, intercept_scaling, class_weight, warm_start, random_state, n_jobs, verbose : as in `Perceptron`.

    Attributes
    ----------
    coef_, intercept_, classes_, stop_, log_, n_iter_, n_updates_ : as in `Perceptron`; "minimum" keeps no log.
    loss_ : E of the training rows (for the last weights where votes are kept), summed over classes.
    gradient_norm_ : the largest partial derivative there, as for `tol`.
    saturated_ : the rows that gave up: on the wrong side (of any class's plane), and their step is under 1 % of the longest
        that any margin gives, so that their gradient has vanished: a margin under -3.26 for tanh, -6.51 for logistic. After
        `partial_fit`, rows of the last chunk.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.NonlinearMSE().fit([[0], [1], [2], [3], [4], [5], [8]], [0, 0, 0, 1, 1, 1, 0])
    >>> model.predict([[0], [5]]).tolist(), model.saturated_.tolist(), model.stop_.reason
    ([0, 1], [6], 'solved')
    """

    loss_: float
    gradient_norm_: float
    saturated_: Any
    multiclass = "ovr"  # not a parameter: a class's plane has targets of its own
    _auto: float

    def __init__(
        self,
        *,
        activation: str = "tanh",
        solver: str = "minimum",
        step: Step | str = "auto",
        tol: float = 1e-6,
        keep: str = "last",
        order: str = "permuted",
        max_iter: int | str = "auto",
        max_updates: int | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        vote_count: str = "lifetime",
        class_weight: Any = None,
        warm_start: bool = False,
        log: bool = True,
        random_state: Any = None,
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def reading(self, keep: str) -> Self:
        check_is_fitted(self, "classes_")
        if self.solver == "minimum" and keep != "last":
            raise ValueError(f"solver='minimum' makes no run of updates to read, got keep={keep!r}; use solver='online'")
        return super().reading(keep)

    def _rule(self, problem: Problem) -> NonlinearMSERule:
        return nonlinear_mse_rule(self.activation)

    def _plan_options(self) -> dict[str, Any]:
        tol = float(self.tol) if self.solver.startswith("batch") else None
        return {"update": self.solver, "order": self.order, "max_updates": self.max_updates, "tol": tol}

    def _plan(self, problem: Problem, keep_log: bool) -> RunConfig:
        plan = super()._plan(problem, keep_log)
        if self.max_iter == "auto" and self.solver != "online":
            plan = replace(plan, max_iter=ITERATIONS)
        if not isinstance(self.step, str):
            return replace(plan, step=self.step)
        if not hasattr(self, "_auto"):
            self._auto = self._auto_step(problem) if self.solver != "minimum" else 1.0
        return replace(plan, step=self._auto)

    def _auto_step(self, problem: Problem) -> float:
        total = total_sqnorm(problem)
        if not total < np.inf:
            raise ValueError("step='auto' is over the squared length of the rows, which overflowed: scale the features")
        safe = 1.0 / (BEND[self.activation] * total) if total > 0.0 else 1.0
        if self.solver == "batch":
            return safe
        # A single step is made as long as the heaviest row allows: one that overshoots leaves rows on the wrong side for good.
        c = problem.labels.weights
        return safe * problem.total_weight * (1.0 if self.solver == "batch-mean" else SHARE / float(c.max(initial=0.0) or 1.0))

    def _learn(self, problem: Problem, classes: Any, check_finite: Callable[[], None]) -> Self:
        self.__dict__.pop("_auto", None)
        return super()._learn(problem, classes, check_finite)

    def _check_own_parameters(self) -> None:
        one_of("activation", self.activation, ACTIVATIONS)
        one_of("solver", self.solver, SOLVERS)
        one_of("order", self.order, ("cyclic", "permuted", "random"))
        number("tol", self.tol)
        if isinstance(self.step, str):
            one_of("step", self.step, ("auto",), "a number greater than 0 or a callable")
        elif not callable(self.step):
            number("step", self.step)
        if self.max_iter is None:
            raise ValueError("max_iter must be 'auto' or a whole number, got None: every row moves the weights at every visit")
        if self.max_updates is not None:
            count("max_updates", self.max_updates)
        if self.solver == "minimum" and self.keep != "last":
            raise ValueError(f"solver='minimum' makes no run of updates to read, got keep={self.keep!r}; use solver='online'")

    def _solve(self, problem: Problem, plan: RunConfig, start: State, sums: State | None) -> RunResult:
        if self.solver != "minimum":
            return super()._solve(problem, plan, start, sums)
        state, most = zero_state(problem, len(start.bias), np.float64), plan.max_iter or ITERATIONS
        heads = as_heads(start.w, problem.rows).astype(np.float64)
        try:
            found = minimize_nonlinear(
                problem, self._rule(problem), float(self.tol), most, heads, start.bias, plan.n_jobs, plan.progress
            )
        except NonlinearOutOfRangeError as error:
            raise OutOfRangeError(str(error)) from None
        as_heads(state.w, problem.rows)[...] = found.heads
        state.bias[...] = found.bias
        result = RunResult(state, found.stops, found.iterations, np.full(len(state.counts), problem.n_rows), None, None)
        if result.stop.reason != "solved":
            warnings.warn(f"the minimum was not reached: {result.stop}", ConvergenceWarning, stacklevel=6)
        return result

    def _look_back(self, problem: Problem) -> None:
        if len(self.classes_) < 2:
            self.loss_, self.gradient_norm_, self.saturated_ = 0.0, 0.0, np.zeros(0, np.intp)
            return
        heads, bias = np.asarray(self._run.heads, np.float64), self._run.state.bias
        if "coef_" in self.__dict__ and problem.x0:
            heads, bias = np.asarray(self.coef_, np.float64), self.intercept_ / problem.x0
        elif "coef_" in self.__dict__:
            heads = np.asarray(self.coef_, np.float64)
        rule = self._rule(problem)
        self.loss_, self.gradient_norm_, self.saturated_ = evaluate(problem, rule, heads, bias, LONGEST[self.activation])
