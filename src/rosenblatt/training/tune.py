"""`tune`: choose the parameters of an estimator by cross-validation, and estimate the error of that whole procedure."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline
from sklearn.utils import check_X_y
from sklearn.utils.validation import _check_sample_weight

from ..array_types import Array, BoolArray, FloatArray, Matrix, MatrixLike
from ..estimators.search import Scorer, Search, Trial, best, candidates_of, describe, stratified_folds
from ..progress import without_callback
from ..reporting.text import duration, percent, plural
from ..validation import check_integer
from .metrics import wilson
from .tuning_plan import Parts, Plan

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..estimators.base import LinearClassifier


@dataclass(frozen=True)
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
        without outer folds. It is higher than the error of the chosen trial, which is the best of many and so too low.
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

    def __str__(self) -> str:
        tried = f"{plural(len(self.trials), 'candidate')} in {duration(self.seconds)}"
        lines = [f"chosen     {describe(self.parameters)}, of {tried}"]
        if self.left_out:
            lines.append(f"           {plural(self.left_out, 'candidate')} not tried, because the budget was used up")
        if self.error is not None and self.interval is not None:
            low, high = self.interval
            lines.append(
                f"error      {percent(self.error)} of this procedure on rows it has not seen, "
                f"95 % interval {percent(low)} to {percent(high)}"
            )
            lines.append(f"in folds   {'; '.join(describe(each) for each in self.chosen)}")
        return "\n".join(lines)


def tune(
    estimator: LinearClassifier | Pipeline,
    X: MatrixLike,
    y: npt.ArrayLike,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    cv: int = 5,
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
        The rows.
    y : array-like of shape (n_rows,)
        Their labels.
    grid : dict of str to list, default=None
        Values of parameters of the estimator. "scale" ("none", "max", "standard") and "degree" (of polynomial features) make a
        Pipeline of it. The parameters of the steps of a Pipeline are written "step__parameter". None takes the default grid of
        the estimator: C of `SoftMargin`, for example.
    cv : int, default=5
        Folds of the search; as many as the smallest class has rows, if that is less.
    outer : int, default=5
        Parts for the estimate; 0 makes none, and takes a sixth of the time.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn, of which the greatest mean is chosen. None chooses by the share of wrong rows.
    budget : float, default=None
        Seconds for everything but the last fit: the candidates are tried from coarse to fine, as many as there is time for. The
        first round is always made.
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
    check_integer("cv", cv, minimum=2)
    check_integer("outer", outer, minimum=0)
    if outer == 1:
        raise ValueError("outer must be 0 or at least 2, got 1")
    check_budget(budget)
    rows, labels = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
    rows = csr_array(rows) if issparse(rows) else rows
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows, dtype=np.float64)
    plan = Plan.of(estimator, rows, grid)
    scorer = None if scoring is None else check_scoring(plan._final, scoring=scoring)
    procedure = _Procedure(plan, cv, scorer, n_jobs, random_state)
    parts = stratified_folds(labels, outer, random_state) if outer else []
    trials = procedure.search(rows, labels, weights, budget=None if budget is None else budget / (1 + len(parts)))
    chosen: list[dict[str, Any]] = []
    wrong = np.zeros(len(labels), bool)
    for number, (train, test) in enumerate(parts, start=1):
        inner = rows[train], labels[train], None if weights is None else weights[train]
        tried = procedure.search(*inner, count=len(trials), title=f"outer fold {number} of {len(parts)}, ")
        chosen.append(best(tried).parameters)
        with without_callback():
            wrong[test] = procedure.fit(chosen[-1], *inner).predict(rows[test]) != labels[test]
    parameters = best(trials).parameters
    error, interval = _estimate(wrong, weights) if parts else (None, None)
    left_out = len(candidates_of(plan.grid)) - len(trials)
    fitted = procedure.fit(parameters, rows, labels, weights)
    return Tuned(fitted, parameters, error, interval, trials, left_out, chosen, time.perf_counter() - started)


@dataclass(frozen=True)
class _Procedure:
    """A search and the fit of its winner, for any rows."""

    plan: Plan
    cv: int
    scorer: Scorer | None
    n_jobs: int | None
    seed: int

    def search(
        self,
        X: Matrix,
        y: Array,
        weights: FloatArray | None,
        *,
        budget: float | None = None,
        count: int | None = None,
        title: str = "",
    ) -> list[Trial]:
        """Try the candidates within a budget, or the first `count` of them in the order of the search."""
        folds = stratified_folds(y, self.cv, self.seed)
        search = Search(self.plan.estimator, Parts(self.plan, X, y, weights, folds), len(folds), self.scorer, self.n_jobs)
        return search.run(candidates_of(self.plan.grid), budget, count, title)

    def fit(
        self, parameters: Mapping[str, Any], X: Matrix, y: Array, weights: FloatArray | None
    ) -> LinearClassifier | Pipeline:
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
    """Raise ValueError unless a budget is a positive number of seconds."""
    if budget is not None and not 0.0 < budget < float("inf"):
        raise ValueError(f"budget must be a positive number of seconds, got {budget}")
