"""Smaller exports: light features left out, and weights in 16 bits.

Weight     of a feature: how far it can move a score within the ranges of the training rows, its largest |w| times its largest
           distance from its middle. The middle is the mean of standardized features, the center of the range of others, and 0
           of sparse columns, categories, indicators and text; where the model has no ranges, the distance counts as 1.
Prune      A feature that is left out counts as its middle, which goes into the intercept. No score of a row within the ranges
           changes by more than the sum of the weights of the features that are left out.
Float16    Weights are rounded to 11 significant bits, times one power of two if they are too large or too small for 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ...array_types import BoolArray, FloatArray
from ...preprocessing.recipe import Recipe
from ...reporting.text import short
from ..model import Model
from .formula import ExportError, recipe_of, weights_of

LARGEST_WEIGHT = 1e290  # sums of them are finite
MAX_FLOAT16, MIN_NORMAL_FLOAT16 = 65504.0, 2.0**-14
TOP_EXPONENT = 14  # of the largest weight, if weights are multiplied by a power of two


@dataclass(frozen=True)
class Reduction:
    """The weights of a smaller export.

    coef, intercept : the exported numbers, in float64; the weights of features that are left out are 0.
    exponent : weights are float16 numbers times 2**exponent; None: they are float64.
    pruned : whether features were left out.
    kept, features : how many features have a weight, and how many the model has.
    bound : no score of a row within the ranges of the training rows changes by more because of `pruned`; None: no ranges.
    """

    coef: FloatArray
    intercept: FloatArray
    exponent: int | None
    pruned: bool
    kept: int
    features: int
    bound: float | None

    def describe_bound(self) -> str:
        """What the features that are left out could do to a score, in a sentence."""
        if self.bound is None:
            return "the model does not store how far its columns range, so that weights were compared as they are"
        return f"within the ranges of the training rows, the others change no score by more than {rounded_up(self.bound)}"

    def model(self, model: Model) -> Model:
        """The model with these weights, which scores rows as the export does."""
        return replace(model, coef=self.coef, intercept=self.intercept, more=None)


def reduce(model: Model, language: str, prune: float | None, float16: bool) -> Reduction:
    """Return the weights of an export.

    Parameters
    ----------
    model : Model
        The model.
    language : str
        The name of the language, for messages.
    prune : float or None
        At least 1: the number of the heaviest features, which are kept. Below 1: the lightest features are left out that
        together have at most this share of the weight; 0 leaves out those without weight. None: none is left out.
    float16 : bool
        Whether weights are rounded to 16 bits.

    Returns
    -------
    Reduction
        The weights.
    """
    recipe_of(model, language)
    coef, intercept = weights_of(model, language)
    features, bound = coef.shape[1], 0.0 if prune is None else None
    pruned = prune is not None
    if prune is not None:
        spread = _spread(model, features)
        heaviest = abs(coef).max(axis=0)
        with np.errstate(over="ignore"):
            weights = np.minimum(heaviest * spread.distance, LARGEST_WEIGHT)
        out = _left_out(weights, prune)
        intercept = intercept + coef[:, out] @ spread.middle[out]
        coef = np.where(out, 0.0, coef)
        bound = float(weights[out].sum()) if spread.known else None
    exponent = None
    if float16:
        coef, exponent = _rounded(coef)
    if not np.isfinite(intercept).all():
        raise ExportError("the weights are too large to leave out features: the intercept would exceed 1.8e308")
    return Reduction(coef, intercept, exponent, pruned, int((coef != 0).any(axis=0).sum()), features, bound)


def rounded_up(value: float) -> str:
    """A number with three digits, not less than it is.

    >>> rounded_up(0.12345), rounded_up(0.5)
    ('0.124', '0.5')
    """
    if not np.isfinite(value) or value <= 0.0:
        return short(value)
    text = short(value)
    return text if float(text.replace(",", "")) >= value else short(value + 10.0 ** (int(np.floor(np.log10(value))) - 2))


def check_prune(prune: float | None) -> None:
    """Raise `ValueError` unless `prune` is a share below 1 or a whole number of features."""
    number = isinstance(prune, int | float | np.integer | np.floating) and not isinstance(prune, bool)
    if prune is None or (number and (0.0 <= prune < 1.0 or (prune >= 1 and float(prune).is_integer()))):
        return
    raise ValueError(
        "prune must be the number of features to keep, such as 100, or the share of the weight to leave out, at least 0 and "
        f"below 1, such as 0.01; got {prune!r}"
    )


def _left_out(weights: FloatArray, prune: float) -> BoolArray:
    """Which features are left out; at least one is kept."""
    order = np.argsort(-weights, kind="stable")
    if prune >= 1:
        kept = min(int(prune), max(1, int((weights > 0).sum())))
    else:
        rest = np.concatenate([np.cumsum(weights[order][::-1])[::-1], [0.0]])  # the weight of a feature and all lighter ones
        kept = max(1, int(np.argmax(rest <= prune * rest[0])))
    out = np.ones(len(weights), bool)
    out[order[:kept]] = False
    return out


def _rounded(coef: FloatArray) -> tuple[FloatArray, int]:
    """Weights that are float16 numbers times a power of two, and its exponent."""
    sizes = abs(coef[coef != 0.0])
    exponent = 0
    if sizes.size and (sizes.max() > MAX_FLOAT16 or sizes.min() < MIN_NORMAL_FLOAT16):
        exponent = int(np.frexp(sizes.max())[1]) - 1 - TOP_EXPONENT
    halves = np.ldexp(coef, -exponent).astype(np.float16)
    return np.ldexp(halves.astype(np.float64), exponent), exponent


# --- the ranges of features --------------------------------------------------------------------------------------------------


class Spread(NamedTuple):
    """The middle of each feature, and how far its values are from the middle at most."""

    middle: FloatArray
    distance: FloatArray
    known: bool  # from the ranges of the training rows


def _spread(model: Model, features: int) -> Spread:
    middle, distance = np.zeros(features), np.ones(features)
    recipe = model.recipe
    if not isinstance(recipe, Recipe) or recipe.facts is None:
        return Spread(middle, distance, False)
    numbers = recipe.numbers
    low, high = recipe.facts.minimum, recipe.facts.maximum
    if numbers.inputs is not None:
        columns, parts = numbers.inputs.T
        low, high = np.where(parts == 0, low[columns], -1.0), np.where(parts == 0, high[columns], 1.0)
    if recipe.kind == "sparse":
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    column_low, column_high = low, high
    with np.errstate(over="ignore", invalid="ignore"):
        for left, right in numbers.polynomial.stages:
            corners = [a[left] * b[right] for a in (low, high) for b in (column_low, column_high)]
            low, high = np.concatenate([low, np.min(corners, axis=0)]), np.concatenate([high, np.max(corners, axis=0)])
        if numbers.shift is not None:
            low, high = low - numbers.shift, high - numbers.shift
        if numbers.divide is not None:
            low, high = low / numbers.divide, high / numbers.divide
        own = np.zeros(len(low)) if numbers.shift is not None or recipe.kind == "sparse" else low / 2 + high / 2
        n = numbers.polynomial.width
        middle[:n], distance[:n] = own, np.maximum(high - own, own - low)
    lost = ~(np.isfinite(middle) & np.isfinite(distance))
    middle[lost], distance[lost] = 0.0, 1.8e308
    return Spread(middle, distance, True)
