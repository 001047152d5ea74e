"""`predict_proba` of all estimators: native, or by cross-fitted calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted

from ..array_types import Array, FloatArray, MatrixLike
from ..probabilities.maps import CALIBRATIONS, Calibration, NoProbabilitiesError, ProbabilityMap
from ..scores import lost_pairs
from ..validation import check_choice
from .calibration import cross_fitted_map
from .conditional_methods import method_if
from .row_reference import FLOATS
from .shared_parameters import seed_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from .base import LinearClassifier, Way


def check_probabilities(model: ProbabilityMethods) -> None:
    """Raise an error unless an estimator, with its parameters, has probabilities."""
    if model.multilabel_:
        return model._check_label_probabilities()
    if model.calibrate is None and model._native_map is None:
        raise NoProbabilitiesError(type(model).__name__)


def check_uncalibrated(model: ProbabilityMethods) -> None:
    """Raise an error if an estimator is calibrated, which chunks of a stream cannot be."""
    if model.calibrate is not None:
        raise AttributeError(
            f"partial_fit has one chunk, but calibrate={model.calibrate!r} needs all rows for its folds: "
            "use fit, or calibrate=None"
        )


class ProbabilityMethods:
    """Mixin of `LinearClassifier`: the parameter `calibrate`, and the methods of probabilities."""

    calibrate: Calibration | None = None  # of an estimator that lacks the parameter
    calibration_: ProbabilityMap
    _offset: float = 0.0  # by how much scores were lowered after the fit, to move the threshold

    if TYPE_CHECKING:  # of the class that this is mixed into
        classes_: Array

        def _check_label_probabilities(self) -> None: ...
        @property
        def multilabel_(self) -> bool: ...
        def _label_probabilities(self, scores: FloatArray, logarithms: bool) -> FloatArray: ...
        @property
        def _way(self) -> Way: ...
        @property
        def _multiclass(self) -> str: ...
        def decision_function(self, X: MatrixLike) -> FloatArray: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    @property
    def _native_map(self) -> ProbabilityMap | None:
        """The map of an estimator, with its parameters, whose scores are made for probabilities; None for all others."""
        return None

    @property
    def _probability_map(self) -> ProbabilityMap | None:
        """The map of the fitted estimator; None if it has none, or one of another kind than the parameter."""
        found: ProbabilityMap | None = self._native_map if self.calibrate is None else self.__dict__.get("calibration_")
        if found is None or (self.calibrate is not None and found.kind != self.calibrate):
            return None
        return found.shifted(self._offset) if self._offset else found

    @method_if(check_probabilities)
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
            below that of another class, where the scores of the model are biased. After a fit on an indicator matrix, the
            probability of each label, from 0 to 1, whose sum may be anything.
        """
        if self.multilabel_:
            return self._label_probabilities(self.decision_function(X), False)
        return self._checked_map().probabilities(self._scores_of_heads(X))

    @method_if(check_probabilities)
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
        if self.multilabel_:
            return self._label_probabilities(self.decision_function(X), True)
        return self._checked_map().log_probabilities(self._scores_of_heads(X))

    def _checked_map(self) -> ProbabilityMap:
        check_is_fitted(self, "classes_")
        found = self._probability_map
        if found is None:
            raise NotFittedError(f"calibrate={self.calibrate!r} was set after the fit: fit the {type(self).__name__} again")
        return found

    def _scores_of_heads(self, X: MatrixLike) -> FloatArray:
        """Return the scores that probabilities are made of, rows x heads: of pairs of classes, the scores that they lost."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return scores[:, None]
        return lost_pairs(scores) if self._multiclass == "ovo" else scores

    def _check_calibrate(self) -> None:
        """Raise an error for a bad value of the parameter."""
        if self.calibrate is None:
            return
        check_choice("calibrate", self.calibrate, CALIBRATIONS, "None")
        if getattr(self, "warm_start", False) and self._way != "solver":
            raise ValueError(
                f"calibrate={self.calibrate!r} fits copies from the start, which warm_start=True does not: use one of them"
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
