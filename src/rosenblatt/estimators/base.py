"""What every linear classifier shares: validation, scores, prediction, and a fit that leaves nothing half done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from ..scores import linear_scores

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
