"""`predict_proba` of all estimators: native, or by cross-fitted calibration."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted

from ..array_types import Array, FloatArray, MatrixLike
from ..probabilities.maps import CALIBRATIONS, Calibration, ProbabilityMap
from ..validation import check_choice
from .calibration import cross_fitted_map
from .row_reference import FLOATS
from .shared_parameters import seed_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from .base import LinearClassifier, Way


class NoProbabilitiesError(AttributeError):
    """An estimator without `calibrate` and without probabilities of its own."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind

    def __str__(self) -> str:
        return (
            f"{self.kind} has scores but no probabilities: fit it with calibrate='sigmoid' "
            "(on the command line --calibrate sigmoid), which learns them on held-out rows"
        )


class ProbabilityMethod:
    """A method that an estimator has if it has probabilities; else reading it raises `NoProbabilitiesError`."""

    def __init__(self, function: Callable[..., FloatArray]) -> None:
        self._function = function
        update_wrapper(cast(Callable[..., FloatArray], self), function)

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self._function
        if model.calibrate is None and model._native_map is None:
            raise NoProbabilitiesError(type(model).__name__)
        return MethodType(self._function, model)


class ProbabilityMethods:
    """Mixin of `LinearClassifier`: the parameter `calibrate`, and the methods of probabilities."""

    calibrate: Calibration | None = None  # of an estimator that lacks the parameter
    calibration_: ProbabilityMap

    if TYPE_CHECKING:  # of the class that this is mixed into
        classes_: Array

        @property
        def _way(self) -> Way: ...
        def decision_function(self, X: MatrixLike) -> FloatArray: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    @property
    def _native_map(self) -> ProbabilityMap | None:
        """The map of an estimator, with its parameters, whose scores are made for probabilities; None for all others."""
        return None

    @property
    def _probability_map(self) -> ProbabilityMap | None:
        """The map of the fitted estimator; None if it has none."""
        return self._native_map if self.calibrate is None else self.__dict__.get("calibration_")

    @ProbabilityMethod
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probability of each class. Needs `calibrate`, unless the loss of the estimator is logistic.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`; each row sums to 1. They come from the scores of
            `decision_function`, by the map `calibration_`. `predict` does not use them: its class may have a probability
            below that of another class, where the scores of the model are biased.
        """
        return self._checked_map().probabilities(self._scores_of_heads(X))

    @ProbabilityMethod
    def predict_log_proba(self, X: MatrixLike) -> FloatArray:
        """Return the logarithm of the probability of each class, see `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        logarithms : ndarray of shape (n_rows, n_classes)
            The logarithms, also of probabilities that are too small for a float. An isotonic map has probabilities of
            exactly 0, whose logarithm is -inf.
        """
        return self._checked_map().log_probabilities(self._scores_of_heads(X))

    def _checked_map(self) -> ProbabilityMap:
        check_is_fitted(self, "classes_")
        found = self._probability_map
        if found is None or (self.calibrate is not None and found.kind != self.calibrate):
            raise NotFittedError(f"calibrate={self.calibrate!r} was set after the fit: fit the {type(self).__name__} again")
        return found

    def _scores_of_heads(self, X: MatrixLike) -> FloatArray:
        scores = self.decision_function(X)
        return scores[:, None] if scores.ndim == 1 else scores

    def _check_calibrate(self) -> None:
        """Raise an error for a bad value of the parameter."""
        if self.calibrate is None:
            return
        check_choice("calibrate", self.calibrate, CALIBRATIONS, "None")
        if getattr(self, "warm_start", False) and self._way != "solver":
            raise ValueError(
                f"calibrate={self.calibrate!r} fits copies from the start, which warm_start=True does not: use one of them"
            )

    def _refuse_calibration_in_streams(self) -> None:
        if self.calibrate is not None:
            raise ValueError(
                f"calibrate={self.calibrate!r} needs all rows for its folds, but partial_fit has one chunk: use fit"
            )

    def _calibrate(self, X: MatrixLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None) -> None:
        """Set `calibration_` after a fit on the same rows."""
        self.__dict__.pop("calibration_", None)
        if self.calibrate is None:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            rows = check_array(X, accept_sparse="csr", dtype=FLOATS, accept_large_sparse=True)
        codes = np.searchsorted(self.classes_, column_or_1d(y))
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, rows, dtype=np.float64)
        parameters = self.get_params(deep=False)
        seed = seed_of(parameters["random_state"]) if "random_state" in parameters else 0
        self.calibration_ = cross_fitted_map(cast("LinearClassifier", self), self.calibrate, rows, codes, weights, seed)
