"""The base of the support vector machines: attributes of several binary problems, and prediction by pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array_types import FloatArray, IntArray, Matrix
from ..data.problem import rows_as_matrix, take_rows
from ..kernels.linear.rows import Rows
from ..scores import votes_of_pairs
from .base import LinearClassifier


class MarginClassifier(LinearClassifier):
    """Base of the estimators that are made of support vectors.

    Several classes are several binary problems. Attributes have one entry per binary problem, even if there is only one.
    """

    multiclass: str

    support_: list[IntArray]
    multipliers_: list[FloatArray]
    margin_: FloatArray
    gap_: FloatArray
    canonical_: FloatArray
    solver_: list[str]

    @property
    def _multiclass(self) -> str:
        return self.multiclass

    @property
    def support_vectors_(self) -> list[Matrix]:
        """The support vectors: the rows `support_` of X, one matrix per binary problem, as they were in `fit`."""
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

    def _set_each(self, rows: Rows, attributes: dict[str, Any]) -> None:
        """Set the attributes, and copy the support vectors: the caller may change or drop X."""
        self.__dict__.update(attributes)
        places = attributes["support_"]
        every = np.unique(np.concatenate(places))
        self._support_rows = take_rows(rows, every), [np.searchsorted(every, place) for place in places]

    def _scores(self, X: Matrix) -> FloatArray:
        scores = super()._scores(X)
        pairs = self.multiclass == "ovo" and len(self.classes_) > 2
        return votes_of_pairs(scores, len(self.classes_)) if pairs else scores


def margin_of(w: FloatArray) -> float:
    """Return 1/|w|."""
    length = float(np.linalg.norm(w))
    return 1.0 / length if length > 0.0 else np.inf
