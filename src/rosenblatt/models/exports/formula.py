"""A linear model as a formula of its input columns, which is what every export writes down.

    score_h = sum_t weights[h, t] * (product of the columns factors[t]) + sum_c (weight of column c's category) + intercept[h]

Where the model has a recipe, its scaling is folded into the weights: sum_j w_j (f_j - s_j)/d_j + b has the weights w_j/d_j and
the intercept b - sum_j w_j s_j/d_j. Scores then equal the model's up to rounding, and to the last bits where nothing is folded;
a score that overflows here is infinite, where the model would still know its sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ..model import Model


class ExportError(ValueError):
    """A model that cannot be exported so, in one sentence."""


@dataclass(frozen=True)
class Category:
    """A column of names, and what each name adds to the scores; others add nothing."""

    column: str
    values: tuple[str, ...]
    weights: Any  # heads x values


@dataclass(frozen=True)
class Formula:
    inputs: tuple[str, ...]  # the columns that are numbers
    fill: Any | None  # what stands for a missing number in each; None: a missing number is an error
    factors: tuple[tuple[int, ...], ...] | None  # of each term; None: each column is one
    weights: Any  # heads x terms, float64
    intercept: Any  # float64
    categories: tuple[Category, ...]
    classes: list[Any]  # Python values
    pairs: bool

    @property
    def heads(self) -> int:
        return len(self.intercept)

    @property
    def terms(self) -> tuple[tuple[int, ...], ...]:
        return tuple((j,) for j in range(len(self.inputs))) if self.factors is None else self.factors

    def duels(self) -> list[tuple[int, int]]:
        """Which classes each head tells apart, where heads are pairs."""
        return list(combinations(range(len(self.classes)), 2))


def linear(model: Model, language: str) -> Model:
    """The model, if it is one that can be written as a formula."""
    if model.coef is None:
        raise ExportError(
            f"a vote has no weights that {language} could hold: it is a majority of many planes; train with keep='average'"
        )
    if model.recipe is not None and model.recipe.kind == "mail":
        raise ExportError(f"a mail filter reads raw mails, which {language} has no room for; use `rosenblatt mail`")
    if len(model.classes) < 2:
        raise ExportError(f"the model knows one class only, {model.classes.tolist()[0]!r}, and there is nothing to score")
    return model


def formula_of(model: Model, language: str, *, categories: bool = False) -> Formula:
    """The formula of a model; `categories` says whether the language has room for columns of names."""
    coef = np.asarray(linear(model, language).coef, np.float64)
    intercept = np.asarray(model.intercept, np.float64)
    classes = labels_of(model)
    recipe = model.recipe
    if recipe is None:
        return Formula(names_of(model), None, None, coef, intercept, (), classes, model.pairs)
    numbers, at = recipe.numbers, recipe.numbers.width
    found = []
    for block in recipe.strings:
        if not hasattr(block, "values"):
            raise ExportError(f"column {block.name!r} is text, whose bag of words {language} has no room for; export to JSON")
        if not categories:
            raise ExportError(f"column {block.name!r} holds names, which {language} has no room for; export to SQL or JSON")
        found.append(Category(block.name, tuple(block.values), coef[:, at : at + block.width]))
        at += block.width
    weights = coef[:, : numbers.width]
    weights, intercept = _folded(weights, intercept, numbers.shift, numbers.divide)
    factors = None
    if numbers.degree > 1:
        factors = tuple(tuple(numbers.polynomial.factors(feature)) for feature in range(numbers.width))
    return Formula(inputs_of(recipe), numbers.means, factors, weights, intercept, tuple(found), classes, model.pairs)


def _folded(weights: Any, intercept: Any, shift: Any, divide: Any) -> tuple[Any, Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        if divide is not None:
            weights = weights / divide
        if shift is not None:
            intercept = intercept - weights @ shift
    if not (np.isfinite(weights).all() and np.isfinite(intercept).all()):
        raise ExportError("the scaling of the features cannot be folded into the weights: they would pass 1.8e308")
    return weights, intercept


def labels_of(model: Model) -> list[Any]:
    """The classes as Python's numbers, truth values or text."""
    return [label.decode("latin-1") if isinstance(label, bytes) else label for label in model.classes.tolist()]


def names_of(model: Model) -> tuple[str, ...]:
    """The names of the columns, or x0, x1, ... where they have none."""
    names = model.feature_names
    return tuple(f"x{j}" for j in range(model.n_features)) if names is None else tuple(names)


def inputs_of(recipe: Any) -> tuple[str, ...]:
    """The names of the columns of numbers that a recipe reads."""
    if recipe.kind == "table":
        return tuple(recipe.number_names)
    return tuple(f"x{j + recipe.first}" for j in range(recipe.numbers.columns))
