"""`tune`: choose the parameters of an estimator by cross-validation, and estimate the error of that whole procedure."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_X_y, column_or_1d, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from ..array_types import Array, BoolArray, FloatArray, IntArray, MatrixLike
from ..data.indicators import is_indicator
from ..estimators.search import Folds, Scorer, Search, check_folds, check_two_rows_of_each_class, folds_of, stratified_folds
from ..estimators.trials import Trial, describe, effects
from ..progress import without_callback
from ..reporting.text import duration, percent, plural, short
from ..validation import ParameterTypeError, check_integer
from .metrics import wilson
from .tuning_plan import Grid, Parts, Plan, final_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..estimators.base import LinearClassifier


@dataclass(frozen=True, repr=False)
class Tuned:
    """The result of `tune`.

    Parameters
    ----------
    estimator : LinearClassifier or Pipeline
        Fitted on all rows with the chosen parameters.
    parameters : dict
        The chosen parameters.
    error : float or None
        The share of wrong rows in the outer folds, which estimates the error of the whole procedure, the search included; None
        without outer folds, or if the budget ended before the first one. It is higher than the error of the chosen trial, which
        is the best of many and so too low.
    interval : tuple of float or None
        Its 95 % interval (Wilson), as far as the rows are independent.
    trials : list of Trial
        The candidates that were tried, in the order of the grid.
    left_out : int
        Candidates that the budget did not reach.
    chosen : list of dict
        The parameters that were chosen in each outer fold: if they differ much, the data does not decide.
    seconds : float
        The duration of all of it.
    outer : int, default=0
        The number of outer folds that were asked for; `chosen` has those that the budget allowed.
    scored : bool, default=False
        Whether a scorer chose; the losses of the trials are then negated scores.
    refused : dict of str to int
        Combinations of a given grid that the estimator refuses, and so were not tried: how many, by the reason.

    See Also
    --------
    tune : Makes it.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tuned = rb.tune(rb.SoftMargin(), X, y, grid={"C": [0.1, 1.0, 10.0]})
    >>> len(tuned.trials), len(tuned.chosen), bool(tuned.error < 0.1)
    (3, 5, True)
    """

    estimator: LinearClassifier | Pipeline
    parameters: dict[str, Any]
    error: float | None
    interval: tuple[float, float] | None
    trials: list[Trial]
    left_out: int
    chosen: list[dict[str, Any]]
    seconds: float
    outer: int = 0
    scored: bool = False
    refused: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        error = "" if self.error is None else f", error={short(self.error)}"
        return f"Tuned({describe(self.parameters)}{error}, trials={len(self.trials)})"

    def __str__(self) -> str:
        tried = f"{plural(len(self.trials), 'candidate')} in {duration(self.seconds)}"
        lines = [f"chosen     {describe(self.parameters)}, of {tried}"]
        if not self.trials:
            lines = [f"chosen     nothing: the budget was used up before a candidate was tried; {describe(self.parameters)}"]
        if self.left_out:
            lines.append(f"           {plural(self.left_out, 'candidate')} not tried, because the budget was used up")
        lines += [f"           {plural(n, 'combination')} refused: {why}" for why, n in self.refused.items()]
        lines += [f"           {line}" for line in effects(self.trials, scored=self.scored)]
        if self.error is not None and self.interval is not None:
            low, high = self.interval
            lines.append(
                f"error      {percent(self.error)} of this procedure on rows it has not seen, "
                f"95 % interval {percent(low)} to {percent(high)}"
            )
            if len(self.chosen) < self.outer:
                done = f"{len(self.chosen)} of {self.outer} outer folds"
                lines.append(f"           tested in {done}, because the budget was used up")
        elif self.outer:
            lines.append("error      not estimated, because the budget was used up")
        if self.chosen:
            lines.append(f"in folds   {'; '.join(describe(each) for each in self.chosen)}")
        return "\n".join(lines)


def tune(
    estimator: LinearClassifier | Pipeline,
    X: MatrixLike,
    y: npt.ArrayLike,
    *,
    grid: Grid | None = None,
    cv: Folds = 5,
    outer: int = 5,
    scoring: str | Scorer | None = None,
    budget: float | None = None,
    sample_weight: npt.ArrayLike | None = None,
    n_jobs: int | None = -1,
    random_state: int = 0,
) -> Tuned:
    """Choose the parameters of an estimator by nested cross-validation.

    Every combination of the grid is tested on `cv` folds, and the one with the smallest mean error, averaged with its neighbors
    on the path of C, is fitted on all rows. The whole search is repeated without each of `outer` parts of the rows, and tested
    on that part: this estimates the error of the procedure, and not of its winner.

    Parameters
    ----------
    estimator : LinearClassifier or Pipeline
        An estimator, or a Pipeline that ends in one. It is not changed.
    X : {array-like, sparse matrix} of shape (n_rows, n_features)
        The rows. Those of a Pipeline may be what its first step takes: texts, or a data frame.
    y : array-like of shape (n_rows,)
        Their labels.
    grid : dict of str to list, default=None
        Values of parameters of the estimator. "scale" ("none", "max", "standard") and "degree" (of polynomial features) make a
        Pipeline of it. The parameters of the steps of a Pipeline are written "step__parameter". None tries what the estimator
        leaves at its default: loss and C of `SoftMargin`, `keep` and margin of `Perceptron`, and so on; of dense rows outside
        of a Pipeline also the scaling, and of few columns the degrees 1 and 2.
    cv : int, splitter or iterable, default=5
        Folds of the search. Each class is spread evenly over them. Or a splitter of scikit-learn or, with outer=0, the rows to
        learn from and those to test on, of each fold.
    outer : int, default=5
        Parts for the estimate; 0 makes none, and takes a sixth of the time.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn, of which the greatest mean is chosen. None chooses by the share of wrong rows, weighted by the
        estimator's `class_weight` unless the grid varies it.
    budget : float, default=None
        Seconds for everything but the last fit and the compilation of kernels. The candidates are tried from coarse to fine, as
        many as there is time for, and the fits that are under way when it ends are given up. If none was tried, the first value
        of each list is taken, and C nearest to 1.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows, in fits and in errors.
    n_jobs : int, default=-1
        Threads; -1 uses all cores. The result does not depend on it.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    tuned : Tuned
        The fitted estimator, the chosen parameters, the estimated error and the trials.

    Raises
    ------
    ValueError
        If a class has a single row, the budget is not positive, or the grid has an unknown parameter.

    See Also
    --------
    Tuned : The result.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tuned = rb.tune(rb.Perceptron(), X, y, grid={"keep": ["last", "average"], "scale": ["max", "standard"]})
    >>> [name for name, _ in tuned.estimator.steps], len(tuned.trials)
    (['scale', 'classifier'], 4)
    """
    started = time.perf_counter()
    check_folds(cv)
    check_integer("outer", outer, minimum=0)
    check_integer("random_state", random_state, minimum=0)
    if outer == 1:
        raise ValueError("outer must be 0 or at least 2, got 1")
    if outer and not (hasattr(cv, "split") or isinstance(cv, Integral)):
        raise ValueError("cv lists rows, which the searches of the outer folds do not have: use outer=0, or a splitter")
    check_budget(budget)
    rows, labels = _rows_and_labels(estimator, X, y)
    if outer or isinstance(cv, Integral):
        check_two_rows_of_each_class(labels)
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows, dtype=np.float64)
    plan = Plan.of(estimator, rows, grid)
    scorer = None if scoring is None else check_scoring(final_of(estimator), scoring=scoring)
    procedure = _Procedure(plan, cv, scorer, n_jobs, random_state)
    parts = stratified_folds(labels, outer, random_state) if outer else []
    share = None if budget is None else budget / (1 + len(parts))
    trials = procedure.search(rows, labels, weights, budget=share, started=started)
    begun, rest = time.perf_counter(), None if budget is None else budget - budget / (1 + len(parts))
    chosen: list[dict[str, Any]] = []
    tested, wrong = np.zeros(len(labels), bool), np.zeros(len(labels), bool)
    for number, (train, test) in enumerate(parts, start=1):
        title = f"outer fold {number} of {len(parts)}, "
        found = procedure.in_outer_fold((rows, labels, weights), train, test, len(trials), rest, begun, title)
        if found is None:
            break
        tested[test] = True
        chosen.append(found[0])
        wrong[test] = found[1]
    parameters = plan.choose(trials)
    error, interval = (None, None)
    if chosen:
        error, interval = _estimate(wrong[tested], None if weights is None else weights[tested])
    left_out = len(plan.candidates) - len(trials)
    fitted = procedure.fit(parameters, rows, labels, weights)
    seconds = time.perf_counter() - started
    scored, refused = scorer is not None, plan.refused
    return Tuned(fitted, parameters, error, interval, trials, left_out, chosen, seconds, len(parts), scored, refused)


def _rows_and_labels(estimator: LinearClassifier | Pipeline, X: Any, y: npt.ArrayLike) -> tuple[Any, Array]:
    """Check rows and labels. The rows of a Pipeline of several steps stay as they are: they may be texts, or a data frame."""
    if is_indicator(y):
        raise ValueError(
            "rb.tune takes one label a row, but y has an indicator matrix: use rb.SoftMarginCV, which chooses C for each "
            "label, or GridSearchCV of scikit-learn"
        )
    if isinstance(estimator, Pipeline) and len(estimator.steps) > 1:
        (rows,), labels = indexable(X), column_or_1d(y)
        check_consistent_length(rows, labels)
    else:
        rows, labels = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        rows = csr_array(rows) if issparse(rows) else rows
    check_classification_targets(labels)
    return rows, labels


@dataclass(frozen=True)
class _Procedure:
    """A search and the fit of its winner, for any rows."""

    plan: Plan
    cv: Folds
    scorer: Scorer | None
    n_jobs: int | None
    seed: int

    def search(
        self, X: Any, y: Array, weights: FloatArray | None, *, budget: float | None, started: float,
        count: int | None = None, title: str = "",
    ) -> list[Trial]:  # fmt: skip
        """Try the candidates within a budget, or the first `count` of them in the order of the search."""
        folds = folds_of(self.cv, X, y, self.seed)
        class_weight = final_of(self.plan.model)._class_weight
        # Errors of candidates with different weights of classes would not be comparable, and a scorer is the user's own.
        weighted = self.scorer is None and "class_weight" not in self.plan.grid
        parts = Parts(self.plan, X, y, weights, folds, class_weight if weighted else None)
        search = Search(self.plan.estimator, parts, len(folds), self.scorer, self.n_jobs)
        return search.run(self.plan.candidates, budget, count, title, started)

    def in_outer_fold(
        self, data: tuple[Any, Array, FloatArray | None], train: IntArray, test: IntArray, count: int, budget: float | None,
        started: float, title: str,
    ) -> tuple[dict[str, Any], BoolArray] | None:  # fmt: skip
        """Search the rows of an outer fold; return what was chosen and which test rows are wrong, None after the budget."""
        X, y, weights = data
        rows = _safe_indexing(X, train)
        mine = rows, y[train], None if weights is None else weights[train]
        tried = self.search(*mine, budget=budget, started=started, count=count, title=title)
        if len(tried) < count or (budget is not None and time.perf_counter() - started > budget):
            return None
        parameters = self.plan.choose(tried)
        with without_callback(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all rows warns
            predicted = self.fit(parameters, *mine).predict(_safe_indexing(X, test))
        return parameters, predicted != y[test]

    def fit(self, parameters: Mapping[str, Any], X: Any, y: Array, weights: FloatArray | None) -> LinearClassifier | Pipeline:
        """Fit the whole model with some parameters, exactly as a user would."""
        model = self.plan.assemble(parameters)
        if weights is None:
            return model.fit(X, y)
        prefix = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
        return model.fit(X, y, **{f"{prefix}sample_weight": weights})


def _estimate(wrong: BoolArray, weights: FloatArray | None) -> tuple[float, tuple[float, float]]:
    """The weighted share of wrong rows, and its interval for as many rows as the weights are worth (Kish)."""
    if weights is None:
        return float(wrong.mean()), wilson(int(wrong.sum()), len(wrong))
    error = float(np.average(wrong, weights=weights))
    worth = float(weights.sum() ** 2 / (weights**2).sum())
    return error, wilson(error * worth, worth)


def check_budget(budget: float | None) -> None:
    """Raise an error unless a budget is a positive number of seconds."""
    if budget is not None and (isinstance(budget, bool) or not isinstance(budget, Real)):
        raise ParameterTypeError("budget", "a positive number of seconds", budget, optional=True)
    if budget is not None and not 0.0 < budget < float("inf"):
        raise ValueError(f"budget must be a positive number of seconds, got {budget}")
