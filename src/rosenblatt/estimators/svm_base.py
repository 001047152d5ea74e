"""The base of the support vector machines: attributes of several binary problems, and prediction by pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array_types import FloatArray, IntArray, Matrix
from ..data.problem import rows_as_matrix, take_rows
from ..kernels.linear.rows import Rows
from ..reporting.text import short
from ..scores import votes_of_pairs
from .base import LinearClassifier


class ZeroPlaneWarning(UserWarning):
    """Planes whose weights are all zero: the rows decide nothing there."""

    def __init__(self, zeros: int, planes: int, scheme: str, loss: str, least_C: float | None = None) -> None:
        super().__init__(zeros, planes, scheme, loss, least_C)
        self.zeros, self.planes, self.scheme, self.loss = zeros, planes, scheme, loss
        self.least_C = least_C  # with the L1 penalty, the C above which every plane has weights

    def __str__(self) -> str:
        if self.least_C is not None and np.isfinite(self.least_C):
            planes = "the plane is zero" if self.planes == 1 else f"{self.zeros} of {self.planes} planes are zero"
            least = self.least_C * (1.0 + 1e-5)  # rounding to six digits must not end below
            return f"{planes}, and no feature is used there: use C={short(least, 6)} or more, or a smaller tol"
        hinge = self.loss == "hinge"
        use = "loss='squared_hinge' or " if hinge else ""
        zeros = f"{self.zeros} of {self.planes} planes are zero"
        if self.planes == 1:
            remedy = f"use {use}class_weight='balanced'" if hinge else "the columns do not tell the classes apart"
            return f"the plane is zero, and all rows are predicted alike: {remedy}"
        if self.scheme == "labels":
            remedy = f"use {use}class_weight='balanced'" if hinge else "the columns do not tell the rows of such a label apart"
            return f"{zeros}, and all rows are predicted alike for such a label: {remedy}"
        if self.scheme == "ovo":
            votes = "each such pair votes for its more frequent class, or the smaller label of equally frequent ones"
            remedy = (
                f"use {use}class_weight='balanced'" if hinge else "the columns do not tell the classes of such a pair apart"
            )
            return f"{zeros}, and {votes}: {remedy}"
        return f"{zeros}, and their classes are predicted by the intercepts alone: use {use}multiclass='ovo'"


class MarginClassifier(LinearClassifier):
    """Base of the estimators that are made of support vectors.

    Several classes are several binary problems. Attributes have one entry per binary problem, even if there is only one.
    """

    multiclass: str

    support_: list[IntArray]
    multipliers_: list[FloatArray]
    margin_: FloatArray
    gap_: FloatArray
    solver_: list[str]
    _margins: list[FloatArray]  # per binary problem, those of all rows or of the rows in `_margin_rows`
    _margin_rows: list[IntArray]
    _n_rows: int

    @property
    def _multiclass(self) -> str:
        """The scheme of the fitted planes; before a fit, the parameter."""
        scheme: str = self.__dict__.get("_scheme", self.multiclass)
        return scheme

    @property
    def canonical_(self) -> FloatArray:
        """The margin y_i (<w, x_i> + b) of every row, per binary problem; NaN for rows that do not count."""
        if self.multilabel_:
            given = [head.canonical_ for head in self.estimators_ if isinstance(head, MarginClassifier)]
            nothing = np.full_like(given[0], np.nan)
            return np.concatenate([getattr(head, "canonical_", nothing) for head in self.estimators_])
        if "_margins" not in self.__dict__:
            where = "; model files do not hold it" if "support_" in self.__dict__ else ""
            raise AttributeError(f"{type(self).__name__} has no canonical_ before fit{where}")
        if not self._margin_rows:
            return self._margins[0][None] if len(self._margins) == 1 else np.stack(self._margins)
        found = np.full((len(self._margins), self._n_rows), np.nan)
        for row, places, margins in zip(found, self._margin_rows, self._margins, strict=True):
            row[places] = margins
        return found

    @property
    def support_vectors_(self) -> list[Matrix]:
        """The support vectors: the rows `support_` of X, one matrix per binary problem, as they were in `fit`."""
        if "support_" in self.__dict__ and getattr(self, "loss", None) == "logistic":
            raise AttributeError("with loss='logistic' every row has a multiplier: use X")
        self._refuse_labels("support_vectors_", "X[support_[j]]")
        if "_support_rows" not in self.__dict__:
            where = "; copies, pickles and model files hold no rows: use X[support_[0]]" if "support_" in self.__dict__ else ""
            raise AttributeError(f"{type(self).__name__} has no support_vectors_ before fit{where}")
        rows, places = self._support_rows
        return [rows_as_matrix(take_rows(rows, place), 0, len(place)) for place in places]

    @property
    def _objective(self) -> float:
        """The sum of the objectives of all binary problems."""
        return 0.5 * float(np.square(self.coef_).sum())

    def __getstate__(self) -> Any:
        """Leave out the support vectors: pickles and copies hold no training rows."""
        return {name: value for name, value in super().__getstate__().items() if name != "_support_rows"}

    def _set_each(self, rows: Rows, attributes: dict[str, Any], keep_rows: bool = True) -> None:
        """Set the attributes, and copy the support vectors: the caller may change or drop X."""
        self.__dict__.update(attributes)
        self.__dict__.pop("_support_rows", None)
        if not keep_rows or self._is_label:
            return  # those of all labels together would be X many times
        places = attributes["support_"]
        every = np.unique(np.concatenate(places))
        self._support_rows = take_rows(rows, every), [np.searchsorted(every, place) for place in places]

    def _scores(self, X: Matrix) -> FloatArray:
        scores = super()._scores(X)
        pairs = self._multiclass == "ovo" and len(self.classes_) > 2
        return votes_of_pairs(scores, len(self.classes_)) if pairs else scores


def margin_of(w: FloatArray) -> float:
    """Return 1/|w|."""
    length = float(np.linalg.norm(w))
    return 1.0 / length if length > 0.0 else np.inf
