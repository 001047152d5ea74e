"""Models to export, and a stand-in for a recipe with the attributes that exports read."""

from __future__ import annotations

from itertools import combinations_with_replacement
from types import SimpleNamespace
from typing import Any

import numpy as np

import rosenblatt as rb
from rosenblatt.models.state import model_of
from rosenblatt.preprocessing.categorical import Categories
from rosenblatt.preprocessing.text_features import Grams, TextFeatures
from rosenblatt.preprocessing.text_kinds import BINARY

LABELS = {
    "text": ["it's", 'a "b"\\', "\u00fc;--", r"?\?/"],
    "whole": [-3, 0, 5, 9],
    "floats": [-1.0, 0.0, 2.0, 3.0],
    "truth": [False, True],
    "bytes": [b"n\xffo", b"yes"],
}
NAMES = ("size", 'a "quoted" one', "it's; DROP TABLE rows; --", "*/ not a comment", "\u00fcber")


def rows(k: int, n: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(k)
    X = rng.normal(size=(n, 5)) * 10.0 ** rng.integers(-3, 4, 5)
    X[np.arange(n), np.arange(n) % k] += 3.0
    return X, np.arange(n) % k


def a_model(k: int = 2, labels: str = "text", dtype: Any = np.float64, **options: Any) -> Any:
    X, codes = rows(k)
    y = np.array(sorted(LABELS[labels][:k]))[codes]
    if options.pop("pairs", False):
        estimator: Any = rb.SoftMargin(multiclass="ovo", solver="dual-coordinates", tol=0.1)
    else:
        estimator = rb.Perceptron(keep="average")
    return model_of(estimator.fit((X / abs(X).max(axis=0)).astype(dtype), y), **{"names": NAMES, **options})


class Recipe:
    """Numbers, perhaps with products, filled, shifted and divided; then names, one feature each, or words."""

    def __init__(self, columns: int, degree: int = 1, fill: bool = False, scaled: bool = True, strings: Any = ()) -> None:
        rng = np.random.default_rng(9)
        every = [c for m in range(1, degree + 1) for c in combinations_with_replacement(range(columns), m)]
        width = len(every)
        self.kind, self.first, self.number_names = "table", 0, NAMES[:columns]
        self.dates, self.required = (), None
        self.strings, self.products = tuple(strings), every
        self.numbers = SimpleNamespace(
            columns=columns, degree=degree, width=width, fill=rng.normal(size=columns) if fill else None, inputs=None,
            indicators=None,
            shift=rng.normal(size=width) if scaled else None, divide=rng.random(width) + 0.5 if scaled else None,
            polynomial=SimpleNamespace(factors=lambda j: list(every[j]), width=width),
        )  # fmt: skip

    @property
    def width(self) -> int:
        return int(self.numbers.width) + sum(block.width for block in self.strings)

    @property
    def feature_names(self) -> list[str]:
        return [f"f{j}" for j in range(self.width)]

    def rows(self, X: Any) -> Any:
        """X: an array of numbers, or (numbers, one list of cells for each column of names)."""
        X, cells = X if isinstance(X, tuple) else (X, [])
        n = self.numbers
        X = np.where(np.isnan(X), n.fill, X) if n.fill is not None else X
        features = np.column_stack([np.prod(X[:, list(factors)], axis=1) for factors in self.products])
        if n.shift is not None:
            features = (features - n.shift) / n.divide
        hot = [
            [[float(cell == value) for value in b.values] for cell in col] for b, col in zip(self.strings, cells, strict=True)
        ]
        return np.column_stack([features, *hot])


def category(name: str, *values: str) -> Any:
    return Categories(name, values)


def words(name: str, *known: str) -> Any:
    return TextFeatures(name, (Grams(BINARY, known),))


def with_recipe(recipe: Recipe, k: int = 2, pairs: bool = False) -> Any:
    rng = np.random.default_rng(k)
    heads = 1 if k == 2 else k * (k - 1) // 2 if pairs else k
    classes = np.array(sorted(LABELS["text"][:k]))
    return rb.Model(
        "Perceptron", {}, classes, rng.normal(size=(heads, recipe.width)), rng.normal(size=heads), pairs, recipe=recipe
    )
