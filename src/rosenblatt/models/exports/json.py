"""A model as JSON: everything needed to score rows in any language, with numbers that read back to the same bits.

{"format": "rosenblatt linear model", "version": 1,
 "how": ["instructions for scoring a row"],
 "columns": ["size", ...],               the numeric columns, in this order
 "recipe": null, or                      the steps from columns to features:
    {"fill": [...] or null,              replaces a missing number of each column
     "products": [[0], [1], [0, 0], ...] or null (the features are the columns themselves),
     "shift": [...] or null, "divide": [...] or null,      feature j is (product - shift[j])/divide[j]
     "blocks": [{"column": "color", "values": ["blue", ...]},        one more feature for each value,
                {"column": "message", "words": ["cash", ...]}, ...]},    or for each word
 "classes": ["no", "yes"], "pairs": null or [[0, 1], [0, 2], ...],
 "weights": [[...], ...], "intercept": [...],              a row of weights and an intercept for each head
 "model": {"kind": "Perceptron", "provenance": {...}}}
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ...array_types import FloatArray
from ...preprocessing.categorical import Categories, Words
from ..model import Model
from .export import inputs_of, labels_of, names_of, recipe_of, weights_of

if TYPE_CHECKING:
    from ...preprocessing.recipe import Recipe

SCORE_TWO_CLASSES = (
    "score = intercept[0] + sum_j weights[0][j] * feature[j]; a score above 0 means classes[1], any other classes[0]."
)
SCORE_MORE_CLASSES = (
    "score[h] = intercept[h] + sum_j weights[h][j] * feature[j]; the class with the largest score wins, the first one if tied."
)
SCORE_PAIRS = (
    "score[h] = intercept[h] + sum_j weights[h][j] * feature[j] compares the classes pairs[h] = [a, b]: "
    "a score above 0 is a vote for b, any other a vote for a, and the other class loses by abs(score[h]). "
    "duels[c] = the votes of class c against classes with as many votes as c has; lost[c] = the sum of what it loses by. "
    "The class with the largest votes + (duels + 0.5 / (lost + 1)) / (number of classes) wins, the first one if tied."
)
COMPUTE_FEATURES = (
    "Order of the features: the products of the columns, each shifted and divided; then block by block: "
    "for each of a block's values 1 if the cell is that value, else 0; "
    "for each of a block's words 1/sqrt(m) if it is among the m known words of the cell, else 0. "
    "Words are runs of two or more letters, digits or underscores in lower case, each counted once."
)


def to_json(model: Model) -> str:
    """Return the text of the JSON file, which ends with a newline."""
    weights, intercept = weights_of(model, "JSON")
    k, recipe = len(model.classes), recipe_of(model, "JSON")
    how = SCORE_PAIRS if model.pairs else SCORE_TWO_CLASSES if k == 2 else SCORE_MORE_CLASSES
    content = {
        "format": "rosenblatt linear model",
        "version": 1,
        "how": [how] if recipe is None else [how, COMPUTE_FEATURES],
        "columns": list(names_of(model) if recipe is None else inputs_of(recipe)),
        "recipe": None if recipe is None else _recipe(recipe),
        "classes": labels_of(model),
        "pairs": list(combinations(range(k), 2)) if model.pairs else None,
        "weights": weights.tolist(),
        "intercept": intercept.tolist(),
        "model": {"kind": model.kind, "provenance": model.provenance},
    }
    lines = (f" {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _recipe(recipe: Recipe) -> dict[str, Any]:
    numbers = recipe.numbers
    products = None
    if numbers.degree > 1:
        products = [numbers.polynomial.factors(feature) for feature in range(numbers.width)]
    return {
        "fill": _numbers(numbers.fill),
        "products": products,
        "shift": _numbers(numbers.shift),
        "divide": _numbers(numbers.divide),
        "blocks": [_block(block) for block in recipe.strings],
    }


def _block(block: Categories | Words) -> dict[str, Any]:
    if isinstance(block, Categories):
        return {"column": block.name, "values": list(block.values)}
    return {"column": block.name, "words": list(block.words)}


def _numbers(array: FloatArray | None) -> list[float] | None:
    return None if array is None else array.tolist()
