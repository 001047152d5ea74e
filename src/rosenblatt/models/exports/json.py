"""A model as JSON: everything a person needs to score rows in any language, with numbers that read back to the same bits.

{"format": "rosenblatt linear model", "version": 1,
 "how": ["sentences that say how to score"],
 "columns": ["size", ...],               the numbers of a row, in this order
 "recipe": null, or                      what becomes of them first
    {"fill": [...] or null,              stands for a missing number of each column
     "products": [[0], [1], [0, 0], ...] or null: the features are the columns themselves,
     "shift": [...] or null, "divide": [...] or null,      feature j is (product - shift[j])/divide[j]
     "categories": [{"column": "colour", "values": ["blue", ...]}, ...],      one more feature for each value
     "words": [{"column": "message", "words": ["cash", ...]}, ...]},          one more for each word
 "classes": ["no", "yes"], "pairs": null or [[0, 1], [0, 2], ...],
 "weights": [[...], ...], "intercept": [...],              a row of weights and an intercept for each head
 "model": {"kind": "Perceptron", "provenance": {...}}}
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

from ..model import Model
from .formula import inputs_of, labels_of, linear, names_of

HOW_TWO = "score = intercept[0] + sum_j weights[0][j] * feature[j]; over 0: classes[1], else classes[0]."
HOW_MANY = (
    "score[h] = intercept[h] + sum_j weights[h][j] * feature[j]; the class is that of the largest score, the first of equals."
)
HOW_PAIRS = (
    "score[h] = intercept[h] + sum_j weights[h][j] * feature[j] is about the pair of classes pairs[h] = [a, b]: "
    "over 0 it is a vote for b, else for a; it is also added to b's total and taken from a's. "
    "The class is that of the largest votes + total/(3 * (abs(total) + 1)), the first of equals."
)
HOW_FEATURES = (
    "Features come in this order: the products of the columns, each shifted and divided; then block by block: "
    "for each of a block's values 1 where the cell is that value, else 0; "
    "for each of a block's words 1/sqrt(m) where it is among the m known words of the cell, else 0. "
    "Words are runs of two or more letters, digits or underscores in lower case, each counted once."
)


def to_json(model: Model) -> str:
    """The text of the JSON file; it ends with a newline."""
    linear(model, "JSON")
    assert model.coef is not None and model.intercept is not None  # noqa: PT018
    k, recipe = len(model.classes), model.recipe
    how = HOW_PAIRS if model.pairs else HOW_TWO if k == 2 else HOW_MANY
    told = {
        "format": "rosenblatt linear model",
        "version": 1,
        "how": [how] if recipe is None else [how, HOW_FEATURES],
        "columns": list(names_of(model) if recipe is None else inputs_of(recipe)),
        "recipe": None if recipe is None else _recipe(recipe),
        "classes": labels_of(model),
        "pairs": list(combinations(range(k), 2)) if model.pairs else None,
        "weights": model.coef.astype("f8").tolist(),
        "intercept": model.intercept.astype("f8").tolist(),
        "model": {"kind": model.kind, "provenance": model.provenance},
    }
    lines = (f" {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in told.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _recipe(recipe: Any) -> dict[str, Any]:
    numbers = recipe.numbers
    products = None
    if numbers.degree > 1:
        products = [numbers.polynomial.factors(feature) for feature in range(numbers.width)]
    return {
        "fill": _numbers(numbers.means),
        "products": products,
        "shift": _numbers(numbers.shift),
        "divide": _numbers(numbers.divide),
        "blocks": [_block(block) for block in recipe.strings],
    }


def _block(block: Any) -> dict[str, Any]:
    if hasattr(block, "values"):
        return {"column": block.name, "values": list(block.values)}
    return {"column": block.name, "words": list(block.words)}


def _numbers(array: Any) -> Any:
    return None if array is None else array.tolist()
