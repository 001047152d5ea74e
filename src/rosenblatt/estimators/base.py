"""What every linear classifier shares: validation, scores, prediction, and a fit that leaves nothing half done."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, check_is_fitted, validate_data

from ..data.labels import classes_and_codes
from ..data.problem import Problem, make_problem
from ..scores import linear_scores
from ..validation import one_of

FLOATS = [np.float64, np.float32]


class LinearClassifier(ClassifierMixin, BaseEstimator):
    """Base of all estimators: `coef_` and `intercept_` score the rows, `classes_` has the labels, sorted."""

    classes_: Any
    coef_: Any
    intercept_: Any
    n_features_in_: int

    @contextmanager
    def _unharmed(self) -> Iterator[None]:
        """Whatever is raised inside, Ctrl-C too, leaves the estimator as it was."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _check_finite(self, X: Any) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")

    def _validated(self, X: Any, y: Any, dtype: Any, reset: bool, finite: bool = True) -> tuple[Any, Any]:
        with np.errstate(over="ignore", invalid="ignore"):  # the finiteness check sums X, which may overflow on its way
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=dtype, order="C", accept_large_sparse=True, reset=reset,
                ensure_all_finite=finite,
            )  # fmt: skip
        if y.dtype.kind not in "biuSU":
            check_classification_targets(y)
        return X, y

    def _check_two(self, classes: Any) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes to tell apart: y has only one class, {classes.tolist()[0]!r}"
            )

    def decision_function(self, X: Any) -> Any:
        """Scores: (rows,) for two classes, over 0 for `classes_[1]`; (rows, classes) for more. Votes score as shares."""
        check_is_fitted(self, "classes_")
        with np.errstate(over="ignore", invalid="ignore"):
            X = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, accept_large_sparse=True, reset=False)
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _scores(self, X: Any) -> Any:
        """Rows x heads."""
        return linear_scores(X, self.coef_, self.intercept_)

    def predict(self, X: Any) -> Any:
        """The class of every row; a tie goes to the smaller label."""
        scores = self.decision_function(X)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        return self.classes_[(scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)]

    def show(self, X: Any = None, y: Any = None, *, columns: Any = None) -> Any:
        """The run in a notebook, to be played forwards and backwards (needs the extra `rosenblatt[notebook]`).

        X, y : what it was fitted on; may be left out where the update log has kept the rows
        columns : two of X's columns, by name or position, to run again on; None: of more than two, the first two principal
            components
        """
        from ..studio.notebook import show

        return show(self, X, y, columns=columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def check_n_jobs_and_verbose(estimator: Any) -> None:
    n_jobs, verbose = estimator.n_jobs, estimator.verbose
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")
    if not isinstance(verbose, Integral | np.bool_):
        raise TypeError(f"verbose must be True, False or a whole number, got {verbose!r}")


def seed_of(random_state: Any) -> int:
    """A whole number is the seed as it is: making scikit-learn's generator from it takes half a millisecond."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and 0 <= random_state < 2**32:
        return int(random_state)
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError:
        raise ValueError(
            f"random_state must be None, a whole number from 0 to 2**32 - 1 or a RandomState, got {random_state!r}"
        ) from None


# --- Row weights from `sample_weight` and `class_weight`.


def row_weights(sample_weight: Any, class_weight: Any, X: Any, codes: Any, classes: Any, *, some: bool = True) -> Any:
    """One weight >= 0 per row, or None where every row weighs 1; `some`: refuse weights that are all zero."""
    if sample_weight is None and class_weight is None:
        return None
    weights = np.ones(len(codes))
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, allow_all_zero_weights=True)
        if (weights < 0).any():
            raise ValueError(f"sample_weight must not be negative, got {weights.min():g}")
    if class_weight is not None:
        weights = weights * _of_class(class_weight, codes, classes, sample_weight)[codes]
    if some and not weights.any():
        raise ValueError("sample_weight and class_weight leave every row with weight zero: there is nothing to learn from")
    return weights


def check_every_class_weighs(weights: Any, codes: Any, classes: Any) -> None:
    """For solvers that need rows of all classes."""
    if weights is not None and len(present := np.unique(codes[weights > 0])) < len(classes):
        absent = classes[np.setdiff1d(np.arange(len(classes)), present)].tolist()
        raise ValueError(f"no row of class {absent[0]!r} has a weight over 0: there is nothing to tell from the others")


def weights_of_classes(class_weight: Any, classes: Any, counts: Any) -> Any:
    """The weight of each class, from how many rows it has; as bits, what `row_weights` gives its rows."""
    if _is_balanced(class_weight):
        return compute_class_weight(class_weight, classes=classes, y=classes, sample_weight=counts.astype(np.float64))
    return _given(class_weight, classes)


def _is_balanced(class_weight: Any) -> bool:
    if isinstance(class_weight, str):
        one_of("class_weight", class_weight, ("balanced",), "None or a dict of class to weight")
    elif not isinstance(class_weight, dict):
        raise TypeError(f"class_weight must be None, 'balanced' or a dict of class to weight, got {class_weight!r}")
    return isinstance(class_weight, str)


def _of_class(class_weight: Any, codes: Any, classes: Any, sample_weight: Any) -> Any:
    if _is_balanced(class_weight):
        present, each = np.unique(codes), np.ones(len(classes))
        each[present] = compute_class_weight(
            class_weight, classes=classes[present], y=classes[codes], sample_weight=sample_weight
        )
        return each
    return _given(class_weight, classes)


def _given(class_weight: Any, classes: Any) -> Any:
    given = [class_weight.get(label, 1.0) for label in classes.tolist()]
    if not all(isinstance(weight, Real) for weight in given):
        raise TypeError(f"class_weight must map classes to numbers, got {class_weight!r}")
    each = np.array(given, np.float64)
    if not (np.isfinite(each).all() and (each >= 0).all()):
        raise ValueError(f"class_weight must be finite and not negative, got {class_weight!r}")
    return each


# --- What every classifier shares that sweeps over the rows: how `fit` turns them into a `Problem`.


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
