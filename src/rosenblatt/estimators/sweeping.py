"""What every classifier shares that sweeps over the rows: how `fit` turns them into a `Problem`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

from ..data.labels import classes_and_codes
from ..data.problem import Problem, make_problem
from .base import FLOATS, LinearClassifier
from .weighting import row_weights


class SweepingClassifier(LinearClassifier):
    """Base of the estimators that learn row by row; subclasses have `multiclass`, `fit_intercept`, `intercept_scaling` and
    `class_weight` among their parameters."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise on a bad parameter."""

    @abstractmethod
    def _learn(self, problem: Problem, classes: Any, check_finite: Callable[[], None]) -> Self:
        """Learn from rows that are laid out for the kernels; `check_finite` raises where they are not finite."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows.

        X : array or sparse matrix of shape (rows, features); float32 and float64 are used as they are, without a copy.
        y : class labels, one per row.
        sample_weight : a number >= 0 for each row, how much it counts; rows of weight 0 are not visited.
        """
        with self._unharmed():
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        # Whether X is finite is not looked up before, which would take a pass: a row that is not has no finite score, and the
        # first pass stops there. Where not every row is visited, `_learn` looks it up.
        self._check_parameters()
        X, y = self._validated(X, y, FLOATS, reset=True, finite=False)
        classes, codes = classes_and_codes(y)
        self._check_two(classes)
        problem = self._problem(X, codes, classes, sample_weight)
        del codes  # the problem has what it needs of them
        return self._learn(problem, classes, lambda: self._check_finite(X))

    def _problem(self, X: Any, codes: Any, classes: Any, sample_weight: Any, chunk: bool = False) -> Problem:
        weights = row_weights(sample_weight, self.class_weight, X, codes, classes, some=not chunk)
        return make_problem(X, codes, len(classes), multiclass=self.multiclass, weights=weights, x0=self._x0)

    @property
    def _x0(self) -> float:
        """The constant before every row; 0: none."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0
