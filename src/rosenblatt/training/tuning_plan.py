"""What a search varies: the parameters of an estimator, and the steps of a Pipeline that make its features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, PolynomialFeatures, StandardScaler

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..catalog import ESTIMATORS, is_estimator
from ..estimators.base import LinearClassifier
from ..estimators.search import Part
from ..reporting.text import join_and

# What a grid may vary besides the parameters of a bare estimator.
FEATURE_PARAMETERS = ("scale", "degree")
SCALES = ("none", "max", "standard")
# Features of folds that are kept for all candidates, at most; above this they are made again for each.
CACHE_BYTES = 1 << 28


@dataclass(frozen=True)
class Plan:
    """An estimator or a Pipeline that ends in one, and the grid to search.

    Attributes
    ----------
    model : LinearClassifier or Pipeline
        What the user gave.
    grid : mapping
        Values by parameter. Those of the final estimator of a Pipeline have no prefix.
    sparse : bool
        Whether the rows are sparse, so that they are not shifted.
    """

    model: LinearClassifier | Pipeline
    grid: Mapping[str, Sequence[Any]]
    sparse: bool

    @classmethod
    def of(cls, model: LinearClassifier | Pipeline, X: Matrix, grid: Mapping[str, Sequence[Any]] | None) -> Plan:
        final = model.steps[-1][1] if isinstance(model, Pipeline) else model
        if not is_estimator(final):
            raise TypeError(f"tune needs an estimator of Rosenblatt, or a Pipeline that ends in one, got {final!r}")
        prefix = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
        name = type(final).__name__
        values: Mapping[str, Sequence[Any]] = ESTIMATORS[name].grid
        if grid is not None:
            values = {each.removeprefix(prefix): grid[each] for each in grid}
        if not values:
            raise ValueError(f"{name} has no parameters that are tuned by default: give grid={{'parameter': [values]}}")
        accepted = [*final.get_params(deep=False)]
        if isinstance(model, Pipeline):
            accepted += [each for each in model.get_params() if "__" in each and not each.startswith(prefix)]
        else:
            accepted += FEATURE_PARAMETERS
        for each, choices in values.items():
            if each not in accepted:
                raise ValueError(f"grid has {each!r}, which is not a parameter of {name}: it has {join_and(sorted(accepted))}")
            if isinstance(choices, str) or not isinstance(choices, Sequence | np.ndarray) or not len(choices):
                raise ValueError(f"grid[{each!r}] must be a list of values, got {choices!r}")
        for value in values.get("scale", ()) if not isinstance(model, Pipeline) else ():
            if value not in SCALES:
                raise ValueError(f"grid['scale'] may have {join_and([repr(scale) for scale in SCALES])}, got {value!r}")
        listed = {
            each: np.asarray(some).tolist() if isinstance(some, np.ndarray) else list(some) for each, some in values.items()
        }
        return cls(model, listed, bool(issparse(X)))

    @property
    def _final(self) -> LinearClassifier:
        final: LinearClassifier = self.model.steps[-1][1] if isinstance(self.model, Pipeline) else self.model
        return final

    def _is_own(self, name: str) -> bool:
        """Whether a parameter is one of the final estimator, and not of its features."""
        return name in self._final.get_params(deep=False)

    def estimator(self, parameters: Mapping[str, Any]) -> LinearClassifier:
        """Return a new final estimator with a candidate's parameters."""
        own = {name: value for name, value in parameters.items() if self._is_own(name)}
        made: LinearClassifier = clone(self._final).set_params(**own)
        return made

    def of_features(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if not self._is_own(name)}

    def features(self, parameters: Mapping[str, Any]) -> Pipeline | None:
        """Return new transformers with a candidate's parameters; None if the rows are used as they are."""
        chosen = self.of_features(parameters)
        if isinstance(self.model, Pipeline):
            return clone(self.model).set_params(**chosen)[:-1] if len(self.model.steps) > 1 else None
        steps: list[tuple[str, Any]] = []
        if chosen.get("degree", 1) > 1:
            steps.append(("polynomial", PolynomialFeatures(chosen["degree"], include_bias=False)))
        if chosen.get("scale", "none") != "none":
            standard = StandardScaler(with_mean=not self.sparse) if chosen["scale"] == "standard" else MaxAbsScaler()
            steps.append(("scale", standard))
        return Pipeline(steps) if steps else None

    def assemble(self, parameters: Mapping[str, Any]) -> LinearClassifier | Pipeline:
        """Return the whole unfitted model with a candidate's parameters."""
        features, estimator = self.features(parameters), self.estimator(parameters)
        if features is None:
            return Pipeline([(self.model.steps[-1][0], estimator)]) if isinstance(self.model, Pipeline) else estimator
        name = self.model.steps[-1][0] if isinstance(self.model, Pipeline) else "classifier"
        return Pipeline([*features.steps, (name, estimator)])


@dataclass
class Parts:
    """The rows of the folds as features, see `Search`."""

    plan: Plan
    X: Matrix
    y: Array
    weights: FloatArray | None
    folds: Sequence[tuple[IntArray, IntArray]]
    _kept: dict[tuple[str, int], tuple[Matrix, Matrix]] = field(default_factory=dict)
    _bytes: int = 0
    _lock: Lock = field(default_factory=Lock)

    def __call__(self, parameters: Mapping[str, Any], fold: int) -> Part:
        train, test = self.folds[fold]
        X, X_test = self._features(parameters, fold)
        weights = (None, None) if self.weights is None else (self.weights[train], self.weights[test])
        return Part(X, self.y[train], weights[0], X_test, self.y[test], weights[1])

    def _features(self, parameters: Mapping[str, Any], fold: int) -> tuple[Matrix, Matrix]:
        key = repr(self.plan.of_features(parameters)), fold
        if key in self._kept:
            return self._kept[key]
        train, test = self.folds[fold]
        X, X_test = self.X[train], self.X[test]
        steps = self.plan.features(parameters)
        if steps is not None:
            X, X_test = steps.fit_transform(X, self.y[train]), steps.transform(X_test)
        size = _bytes_of(X) + _bytes_of(X_test)
        with self._lock:
            if self._bytes + size <= CACHE_BYTES and key not in self._kept:
                self._kept[key], self._bytes = (X, X_test), self._bytes + size
        return X, X_test


def _bytes_of(X: Any) -> int:
    return int(X.data.nbytes + X.indices.nbytes) if issparse(X) else int(X.nbytes)
