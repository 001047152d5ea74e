"""A model as JSON: everything needed to score rows in any language, with numbers that read back to the same bits.

{"format": "rosenblatt linear model", "version": 2,
 "how": ["instructions for scoring a row"],
 "columns": ["size", ...],               the numeric columns, in this order
 "recipe": null, or                      the steps from columns to features:
    {"fill": [...] or null,              replaces a missing number of each column
     "inputs": [[0, "value"], [1, "hour sin"], ...] or null (the inputs are the columns themselves),
     "products": [[0], [1], [0, 0], ...] or null (the features are the inputs themselves),
     "shift": [...] or null, "divide": [...] or null,      feature j is (product - shift[j])/divide[j]
     "indicators": [0, 3, ...],          columns with one more feature: 1 if the cell is missing
     "blocks": [{"column": "color", "values": ["blue", ...], "missing": true},     one more feature for each value,
                {"column": "message", "parts": [{"unit": "words", "low": 1, "high": 2, "weight": "log-tfidf",
                 "grams": ["cash", ...], "idf": [...]}, ...]}, ...],           or for each gram of each part
     "missing_cells": ["", "-", "?", ...],                 words that are missing categories
     "refuse_missing": false},           whether a missing category is an error
 "units": {"rate": "0.45 for 45 %"},     what the numbers of some columns are
 "classes": ["no", "yes"], "pairs": null or [[0, 1], [0, 2], ...],
 "weights": [[...], ...], "intercept": [...],              a row of weights and an intercept for each head
 "probabilities": null, or the map from scores, with an instruction: {"how": ..., "map": "sigmoid", "a": [...], "b": [...]},
    {"how": ..., "map": "temperature", "temperature": 1.5},
    {"how": ..., "map": "isotonic", "scores": [[...], ...], "values": [[...], ...]},
 "model": {"kind": "Perceptron", "provenance": {...}}}
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ...array_types import FloatArray
from ...preprocessing.text_features import Grams
from ..model import Model
from .cells import MISSING_WORDS, units_of
from .formula import Category, Formula, Text, formula_of, part_names
from .probabilities import as_json
from .reduction import Reduction

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
    "Order of the features: the products of the inputs, each shifted and divided; "
    "then for each of the indicators 1 if the cell of that column is missing, else 0; then block by block: "
    "for each of a block's values 1 if the cell is that value, else 0, "
    'and if "missing" is true 1 if the cell is missing, else 0; '
    "for each of the grams of each of a block's parts its value in the cell. "
    "A missing number is null or NaN; a missing category is null, or one of the missing_cells but none of the block's values. "
    'A missing number is an error if "fill" is null, and so is a missing category if "refuse_missing" is true.'
)
COMPUTE_TEXT = (
    "The grams of a cell: the text in lower case, a missing cell as empty text. "
    'For unit "words", its words are the longest runs of letters, digits and underscores that have two characters or more, '
    "and a gram is low to high consecutive words joined by single blanks. "
    'For unit "chars", each of its parts between blanks gets a blank before and after it, '
    "and a gram is low to high consecutive characters of one of these; "
    "if n characters are not fewer than all of it, it is a gram as a whole, and no longer ones are counted."
)
WEIGH_TEXT = (
    "The value of a gram that is n times in the cell: "
    '1 if the weight is "binary", n if it is "counts" or "tfidf", 1 + ln(n) if it is "log-tfidf", and 0 for n = 0; '
    "times its idf, unless that is null. The values of a part are then divided by the square root of the sum of their squares, "
    "unless all are 0, and by the square root of the number of parts of the block."
)

COMPUTE_DATES = (
    "A column of dates holds the number t of days since 1970-01-01, with the time as a fraction; "
    "one of times the fraction of a day. "
    'The part "value" is t; the others are the sine or the cosine of 2 pi (p - floor(p)), '
    "where p of the hour is t, of the weekday (floor(t) + 3)/7, and of the year t/365.2425."
)


def to_json(model: Model, reduction: Reduction | None = None) -> str:
    """Return the text of the JSON file, which ends with a newline."""
    formula = formula_of(model, "JSON", reduction)
    k = len(formula.classes)
    how = SCORE_PAIRS if formula.pairs else SCORE_TWO_CLASSES if k == 2 else SCORE_MORE_CLASSES
    blocks = (block.features() if isinstance(block, Category) else block.weights for block in formula.blocks)
    marked = [] if formula.indicator_weights is None else [formula.indicator_weights]
    content = {
        "format": "rosenblatt linear model",
        "version": 2,
        "how": [how, *_instructions(model, formula)],
        "columns": list(formula.columns),
        "units": units_of(model, formula),
        "recipe": None if model.recipe is None else _recipe(formula),
        "classes": formula.classes,
        "pairs": formula.class_pairs() if formula.pairs else None,
        "weights": np.concatenate([formula.weights, *marked, *blocks], axis=1).tolist(),
        "intercept": formula.intercept.tolist(),
        "probabilities": as_json(model.probability_map, k, formula.pairs),
        "model": {"kind": model.kind, "provenance": model.provenance},
    }
    lines = (f" {json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _instructions(model: Model, formula: Formula) -> list[str]:
    if model.recipe is None:
        return []
    texts = [COMPUTE_TEXT, WEIGH_TEXT] if any(isinstance(block, Text) for block in formula.blocks) else []
    return [COMPUTE_FEATURES, *texts, *([COMPUTE_DATES] if formula.has_dates else [])]


def _recipe(formula: Formula) -> dict[str, Any]:
    return {
        "fill": _numbers(formula.fill),
        "inputs": part_names(formula),
        "products": formula.factors,
        "shift": _numbers(formula.shift),
        "divide": _numbers(formula.divide),
        "indicators": list(formula.indicators),
        "blocks": [_block(block) for block in formula.blocks],
        "missing_cells": list(MISSING_WORDS),
        "refuse_missing": formula.refuses,
    }


def _block(block: Category | Text) -> dict[str, Any]:
    if isinstance(block, Category):
        return {"column": block.column, "values": list(block.values), "missing": block.missing is not None}
    return {"column": block.column, "parts": [_part(part) for part in block.parts]}


def _part(part: Grams) -> dict[str, Any]:
    kind = part.kind
    lengths = {"low": kind.low, "high": kind.high}
    return {"unit": kind.unit, **lengths, "weight": kind.weight, "grams": list(part.grams), "idf": _numbers(part.idf)}


def _numbers(array: FloatArray | None) -> list[float] | None:
    return None if array is None else array.tolist()
