"""`AROW`: weights that know how sure they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from ..data.labels import classes_of_chunk
from ..data.problem import Problem
from ..online.config import RunConfig
from ..online.rules.arow import arow_rule
from ..online.run_state import OutOfRangeError
from ..online.second_order import GaussianWeights, SecondOrderResult, fit_second_order, initial_gaussian
from ..online.stopping import Stop
from ..progress import current_callback
from ..reporting.text import plural
from ..validation import count, flag, number, one_of
from .base import FLOATS, SweepingClassifier, check_n_jobs_and_verbose, seed_of

# max_iter="auto"
PASSES = 10
ORDERS = ("cyclic", "permuted", "random")


class AROW(SweepingClassifier):
    """Adaptive regularization of weight vectors: an online learner with a variance for each weight, binary and multiclass.

    Problem    after each row, a Gaussian belief about the weights that stays near the one before, gives the row a margin of 1,
               and is surer about its features. Features seen seldom keep large variances, and still move far.
    Update     where m = y <w, p> < 1: with v = sum_j s_j p_j^2, beta = 1/(v + r) and alpha = (1 - m) beta,
               w_j += alpha y s_j p_j  and  s_j -= beta (s_j p_j)^2, from w = 0 and s = 1.
    Guarantee  a row's loss 1 - m shrinks by r/(v + r) at its update and never changes sign; no variance grows, and all stay
               over 0. The mistake bound is of the full matrix, see `rules/arow.py`.
    Reference  Crammer, Kulesza and Dredze, NIPS 22 (2009); several classes: Machine Learning 91 (2013).

    There is no log, as a move is no multiple of a row, and so no other reading than the last weights.

    Parameters
    ----------
    r : greater than 0; the larger, the smaller the steps and the slower the variances shrink. A row's weight divides it, see
        `class_weight`.
    max_iter : a whole number, or "auto": 10. The first pass does most of the work, and five do nearly all of it.
    order : "cyclic", "permuted" (a fresh order each pass) or "random" (drawn with replacement).
    multiclass : "joint": the heads against each other, a row moves that of its class and that of the best rival. "ovr": one
        head for each class, against the rest; measured, it is better on text and worse on few dense features.
    fit_intercept, intercept_scaling : whether rows are augmented by a constant x_0, and by which; its weight has a variance
        as any other.
    class_weight : None, "balanced" or a dict; multiplies `sample_weight`. A weight c makes the row's loss c times as dear, so
        that r/c stands for r: the row's margin goes to m + (1 - m) v/(v + r/c), and never beyond 1. Where v is much larger
        than r, as on long texts, it gets there anyway, and weights over 1 change next to nothing: give the other rows weights
        well under 1 instead, or take a larger r.
    warm_start : go on from the weights and variances of the fit before.
    random_state : of the order; a whole number gives the same bits each time.
    n_jobs : threads that share the heads of "ovr"; the bits do not depend on it.
    verbose : whether to tell of each pass on standard error.

    Attributes
    ----------
    coef_, intercept_ : of shape (1, d) and (1,) for two classes, (k, d) and (k,) for more; always float64.
    variances_ : one for each weight in `coef_`, from 1 (nothing known) towards 0 (sure).
    classes_ : the labels, sorted. A tie is predicted as the smaller one.
    n_iter_, n_updates_ : passes, and updates over all heads.
    stop_ : why it ended: "passes" or "chunk"; "separated" where a pass found every row at a margin of 1, which only rounding
        brings about, as each update leaves its own row a little short of it.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> model = rb.AROW(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
    >>> model.predict([[1, 1], [0, 0]]).tolist()
    [1, 0]
    >>> model.stop_.reason, bool((model.variances_ < 0.5).all())
    ('passes', True)
    """

    n_iter_: int
    n_updates_: int
    stop_: Stop
    variances_: Any
    _belief: GaussianWeights
    _classes_fixed: bool

    def __init__(
        self,
        *,
        r: float = 1.0,
        max_iter: int | str = "auto",
        order: str = "permuted",
        multiclass: str = "joint",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting -------------------------------------------------------------------------------------------------------

    def _learn(self, problem: Problem, classes: Any, check_finite: Callable[[], None]) -> Self:
        """Learn from rows that are laid out for the kernels; `check_finite` raises where they are not finite."""
        if problem.visited is not None or self.order == "random":
            check_finite()  # not every row is visited
        try:
            found = self._fit_second_order(problem, self._start(problem, classes), self._plan(self.order, self._passes()))
        except OutOfRangeError:
            check_finite()
            raise
        self._classes_fixed = True
        self._set(found.weights, classes, found.stop, found.passes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one chunk of a stream: each row once, in order.

        classes : all labels that will ever come, in the first call. Without it a class may also appear in a later chunk; it
        starts with zero weights and variances of 1 then. The result equals one cyclic pass of `fit` over the whole stream, bit
        for bit and however the stream is cut into chunks, as long as all classes are announced or in the first chunk.
        """
        with self._unharmed():
            return self._partial_fit(X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows before the first, and partial_fit has one chunk; use fit")
        first = not hasattr(self, "_belief")
        X, y = self._validated(X, y, FLOATS, reset=first)
        before = (None, False) if first else (self.classes_, self._classes_fixed)
        known, fixed = classes_of_chunk(y, classes, *before)
        problem = self._problem(X, np.searchsorted(known, y), known, sample_weight, chunk=True)
        belief = self._nothing(problem, known) if first else self._belief.extended(known, self.classes_, self._joint(known))
        if len(belief.counts) != (1 if self._joint(known) else len(belief.bias)):
            raise ValueError(f"partial_fit goes on as it began, and not with multiclass={self.multiclass!r}")
        if len(known) < 2:
            stop = Stop("chunk", "only one class has been seen so far")
        elif problem.n_visited == 0:
            stop = Stop("chunk", "all rows of the chunk have weight 0")
        else:
            made, belief = int(belief.counts.sum()), self._fit_second_order(problem, belief, self._plan("cyclic", 1)).weights
            made = int(belief.counts.sum()) - made
            stop = Stop("chunk", f"read the chunk: {plural(problem.n_visited, 'row')}, {plural(made, 'update')}")
        self._classes_fixed = fixed
        self._set(belief, known, stop, 1)
        return self

    # --- pieces of a fit -----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        number("r", self.r)
        one_of("order", self.order, ORDERS)
        one_of("multiclass", self.multiclass, ("ovr", "joint"))
        number("intercept_scaling", self.intercept_scaling)
        for name in ("fit_intercept", "warm_start"):
            flag(name, getattr(self, name))
        if isinstance(self.max_iter, str):
            one_of("max_iter", self.max_iter, ("auto",), "a whole number")
        else:
            count("max_iter", self.max_iter)
        check_n_jobs_and_verbose(self)

    def _joint(self, classes: Any) -> bool:
        return self.multiclass == "joint" and len(classes) > 2

    def _nothing(self, problem: Problem, classes: Any) -> GaussianWeights:
        return initial_gaussian(len(classes), problem.n_features, self._joint(classes))

    def _start(self, problem: Problem, classes: Any) -> GaussianWeights:
        start = self._nothing(problem, classes)
        if not (self.warm_start and hasattr(self, "_belief")):
            return start
        before = self._belief
        if not np.array_equal(classes, self.classes_) or before.weights.shape != start.weights.shape:
            raise ValueError(
                f"warm_start goes on from a run on classes {self.classes_.tolist()} and {before.weights.shape[1]} features, "
                f"got classes {classes.tolist()} and {start.weights.shape[1]} features"
            )
        return GaussianWeights(before.weights, before.bias, before.variances, before.bias_variances, start.counts)

    def _passes(self) -> int:
        return PASSES if isinstance(self.max_iter, str) else int(self.max_iter)

    def _plan(self, order: str, passes: int) -> RunConfig:
        return RunConfig(
            order=order,
            max_iter=passes,
            seed=seed_of(self.random_state),
            n_jobs=effective_n_jobs(self.n_jobs),
            progress=current_callback(bool(self.verbose)),
        )

    def _fit_second_order(self, problem: Problem, start: GaussianWeights, plan: RunConfig) -> SecondOrderResult:
        return fit_second_order(problem, arow_rule(float(self.r)), plan, start)

    def _set(self, belief: GaussianWeights, classes: Any, stop: Stop, passes: int) -> None:
        self._belief, self.classes_, self.stop_, self.n_iter_ = belief, classes, stop, passes
        self.coef_, self.intercept_, self.variances_ = belief.weights.copy(), belief.bias * self._x0, belief.variances.copy()
        self.n_updates_ = int(belief.counts.sum())
