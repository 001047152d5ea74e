"""What a search varies: the parameters of an estimator, and the steps of a Pipeline that make its features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, PolynomialFeatures, StandardScaler
from sklearn.utils import _safe_indexing

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..catalog import ESTIMATORS, is_estimator
from ..estimators.base import LinearClassifier
from ..estimators.candidates import Candidate, accepted_by, candidates_of, in_search_order, untried
from ..estimators.row_weights import ClassWeight
from ..estimators.search import Part, weights_of_errors
from ..estimators.trials import PATH_PARAMETER, Trial, best
from ..reporting.text import join_and
from ..validation import ParameterTypeError, check_integer, check_number
from .kept import Kept, bytes_of_rows

# What a grid may vary besides the parameters of a bare estimator.
FEATURE_PARAMETERS = ("scale", "degree")
SCALES = ("none", "max", "standard")
# Features and their products up to which degree 2 is tried by default, and the values that they may have.
MAX_PRODUCT_FEATURES, MAX_PRODUCT_VALUES = 500, 20_000_000
Grid: TypeAlias = Mapping[str, Sequence[object] | Array]


@dataclass(frozen=True)
class Plan:
    """An estimator or a Pipeline that ends in one, and the grid to search.

    Attributes
    ----------
    model : LinearClassifier or Pipeline
        What the user gave.
    grid : mapping
        Values by parameter. Those of the final estimator of a Pipeline have no prefix.
    candidates : list of Candidate
        The combinations to try.
    refused : dict of str to int
        The number of combinations of the user's grid that the estimator refuses, by the reason.
    sparse : bool
        Whether the rows are sparse, so that they are not shifted.
    """

    model: LinearClassifier | Pipeline
    grid: Mapping[str, Sequence[Any]]
    sparse: bool
    candidates: list[Candidate]
    refused: dict[str, int]

    @classmethod
    def of(cls, model: LinearClassifier | Pipeline, X: Any, grid: Grid | None) -> Plan:
        final = final_of(model)
        values = _default_grid(model, X) if grid is None else _checked_grid(model, grid)
        plan = cls(model, values, bool(issparse(X)), [], {})
        candidates = candidates_of(values)
        found, refused = accepted_by(plan.estimator, candidates)
        plan.candidates.extend(found)
        if grid is not None:
            plan.refused.update(refused)
        if not candidates[1:] and grid is None:
            name = type(final).__name__
            raise ValueError(f"{name} has no parameters that are tuned by default: give grid={{'parameter': [values]}}")
        return plan

    def choose(self, trials: Sequence[Trial]) -> dict[str, Any]:
        """Return the parameters of the best trial; without trials, those that need none."""
        if trials:
            return best(trials).parameters
        first, accepted = untried(self.grid), [candidate.parameters for candidate in self.candidates]
        return first if not self.refused or first in accepted else accepted[in_search_order(self.candidates)[0]]

    def _is_own(self, name: str) -> bool:
        """Whether a parameter is one of the final estimator, and not of its features."""
        return name in final_of(self.model).get_params(deep=False)

    def estimator(self, parameters: Mapping[str, Any]) -> LinearClassifier:
        """Return a new final estimator with a candidate's parameters."""
        own = {name: value for name, value in parameters.items() if self._is_own(name)}
        made: LinearClassifier = clone(final_of(self.model)).set_params(**own)
        return made

    def of_features(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in parameters.items() if not self._is_own(name)}

    def features(self, parameters: Mapping[str, Any]) -> Pipeline | None:
        """Return new transformers with a candidate's parameters; None if the rows are used as they are."""
        chosen = self.of_features(parameters)
        if isinstance(self.model, Pipeline):
            copies = {name: clone(value, safe=False) for name, value in chosen.items()}
            return clone(self.model).set_params(**copies)[:-1] if len(self.model.steps) > 1 else None
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


def final_of(model: LinearClassifier | Pipeline) -> LinearClassifier:
    """Return the estimator, or the last one of a Pipeline; raises TypeError if it is not Rosenblatt's."""
    final = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not is_estimator(final):
        raise TypeError(f"tune needs an estimator of Rosenblatt, or a Pipeline that ends in one, got {final!r}")
    return final


def _default_grid(model: LinearClassifier | Pipeline, X: Any) -> dict[str, Sequence[Any]]:
    """The values to try of what the user left at its default; of a bare estimator also scaling and degree, if X is dense."""
    final = final_of(model)
    entry, given = ESTIMATORS[type(final).__name__], final.get_params(deep=False)
    defaults = type(final)().get_params(deep=False)
    grid: dict[str, Sequence[Any]] = {}
    if not isinstance(model, Pipeline) and not issparse(X):
        grid["scale"] = ("standard", "none")
        if has_few_products(*X.shape):
            grid["degree"] = (1, 2)
    return grid | {name: values for name, values in entry.grid.items() if given[name] == defaults[name]}


def has_few_products(rows: int, width: int) -> bool:
    """Whether features and their products of two are few enough to be tried."""
    products = width * (width + 3) // 2
    return products <= MAX_PRODUCT_FEATURES and rows * products <= MAX_PRODUCT_VALUES


def _checked_grid(model: LinearClassifier | Pipeline, grid: Grid) -> dict[str, Sequence[Any]]:
    final = final_of(model)
    if not isinstance(grid, Mapping):
        raise ParameterTypeError("grid", "a dict of parameters to lists of values", grid, optional=True)
    name, prefix = type(final).__name__, f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
    values = {each.removeprefix(prefix): grid[each] for each in grid}
    if not values:
        raise ValueError("grid has no parameter: give grid={'parameter': [values]}, or None for the default grid")
    accepted = [*final.get_params(deep=False)]
    if isinstance(model, Pipeline):
        accepted += [each for each in model[:-1].get_params() if each not in ("memory", "steps", "transform_input", "verbose")]
    else:
        accepted += FEATURE_PARAMETERS
    for each, choices in values.items():
        if each not in accepted:
            raise ValueError(f"grid has {each!r}, which is not a parameter of {name}: it has {join_and(sorted(accepted))}")
        if isinstance(choices, str) or not isinstance(choices, Sequence | np.ndarray) or not len(choices):
            raise ValueError(f"grid[{each!r}] must be a list of values, got {choices!r}")
    if not isinstance(model, Pipeline):
        for value in values.get("scale", ()):
            if value not in SCALES:
                raise ValueError(f"grid['scale'] may have {join_and([repr(scale) for scale in SCALES])}, got {value!r}")
        for value in values.get("degree", ()):
            check_integer("grid['degree']", value)
    listed = {each: np.asarray(some).tolist() if isinstance(some, np.ndarray) else list(some) for each, some in values.items()}
    for cost in listed.get(PATH_PARAMETER, ()):
        check_number(f"grid[{PATH_PARAMETER!r}]", cost, maximum=float("inf"))
    return listed


@dataclass
class Parts:
    """The rows of the folds as features, see `Search`; `class_weight` weighs the errors."""

    plan: Plan
    X: Any
    y: Array
    weights: FloatArray | None
    folds: Sequence[tuple[IntArray, IntArray]]
    class_weight: ClassWeight = None
    _kept: Kept[tuple[Matrix, Matrix]] = field(default_factory=Kept)

    def __call__(self, parameters: Mapping[str, Any], fold: int) -> Part:
        train, test = self.folds[fold]
        features = self.plan.of_features(parameters)
        X, X_test = self._kept.get((repr(features), fold), lambda: self._features(parameters, fold), _size_of_both)
        weights = (None, None) if self.weights is None else (self.weights[train], self.weights[test])
        weights_test = weights_of_errors(self.class_weight, self.y[test], weights[1])
        return Part(X, self.y[train], weights[0], X_test, self.y[test], weights_test)

    def _features(self, parameters: Mapping[str, Any], fold: int) -> tuple[Matrix, Matrix]:
        train, test = self.folds[fold]
        X, X_test = (_safe_indexing(self.X, rows) for rows in (train, test))
        steps = self.plan.features(parameters)
        return (X, X_test) if steps is None else (steps.fit_transform(X, self.y[train]), steps.transform(X_test))


def _size_of_both(parts: tuple[Matrix, Matrix]) -> int:
    return sum(map(bytes_of_rows, parts))
