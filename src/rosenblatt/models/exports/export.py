"""Export of a linear model to other languages. Every export writes the scores as formulas of the input columns:

    score_h = sum_t weights[h, t] * (product of the inputs factors[t] - shift[t]) + sum_i (weight of indicator i if its column's
              cell is missing) + sum_c (weight of column c's category) + intercept[h]

Inputs are numeric columns, whose missing cells are filled, or parts of columns of dates. The divisors of a recipe are folded
into the weights; shifts are not, because the terms of large means would cancel. Scores then equal the model's up to rounding;
without scaling they are the same numbers. A score that overflows is infinite here, whereas the model still gives its sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from ...array_types import FloatArray
from ...preprocessing.categorical import Categories
from ...preprocessing.text_features import TextFeatures
from ...validation import check_choice
from ..model import Model

if TYPE_CHECKING:
    from ...preprocessing.recipe import Recipe

Language = Literal["c", "json", "onnx", "sql"]
# Languages and the extensions of their files.
LANGUAGES: dict[Language, str] = {"c": ".c", "json": ".json", "onnx": ".onnx", "sql": ".sql"}
Label = str | int | float | bool


def export(model: Model, language: Language, *, table: str = "rows", columns: Sequence[str] | None = None) -> bytes:
    """Export a model to ONNX, JSON, C or SQL.

    Parameters
    ----------
    model : Model
        The model. Voted perceptrons and mail filters cannot be exported.
    language : {"c", "json", "onnx", "sql"}
        The format of the file.
    table : str, default="rows"
        SQL only: the table to read, as a name or as schema and name with a dot between them.
    columns : sequence of str, default=None
        SQL only: the table's names of the columns that the model reads, numeric columns first.

    Returns
    -------
    bytes
        The contents of the file.

    Raises
    ------
    ExportError
        If the format does not support the model.
    ImportError
        If ONNX is requested and the package onnx is not installed.

    See Also
    --------
    rosenblatt.save : Save a model to a file that Rosenblatt loads.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> from rosenblatt.models.state import model_of
    >>> model = model_of(rb.Perceptron(order="cyclic").fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]), names=["a", "b"])
    >>> print(export(model, "sql", table="measured").decode())
    WITH rosenblatt_scored AS (
      SELECT t.*,
        3.0e0 * CAST(t."a" AS DOUBLE PRECISION)
        + 2.0e0 * CAST(t."b" AS DOUBLE PRECISION)
        + -4.0e0 AS rosenblatt_score
      FROM "measured" AS t
    )
    SELECT rosenblatt_scored.*, CASE WHEN rosenblatt_score > 0 THEN 1 WHEN rosenblatt_score <= 0 THEN 0 END AS rosenblatt_label
    FROM rosenblatt_scored
    <BLANKLINE>
    """
    check_choice("language", language, LANGUAGES)
    if language == "onnx":
        from .onnx import to_onnx

        return to_onnx(model)
    if language == "c":
        from .c import to_c

        return to_c(model).encode("ascii")
    if language == "sql":
        from .sql import to_sql

        return to_sql(model, table=table, columns=columns).encode("utf-8")
    from .json import to_json

    return to_json(model).encode("ascii")


# --- the formula -----------------------------------------------------------------------------------------------------------


class ExportError(ValueError):
    """A model cannot be exported to a format; the message gives the reason and what to use instead.

    Parameters
    ----------
    problem : str
        The reason; also the whole message, unless there is advice.
    advice : str, optional
        What to do in Python, added to the message.
    option : str, optional
        What to give to `rosenblatt train` instead, for the command line.

    Examples
    --------
    >>> error = ExportError("voted perceptrons have no single plane", "train with keep='average'", "--algorithm average")
    >>> str(error)
    "voted perceptrons have no single plane; train with keep='average'"
    """

    def __init__(self, problem: str, advice: str | None = None, option: str | None = None) -> None:
        super().__init__(problem, advice, option)  # all of them, which a copy of the error needs
        self.problem, self.advice, self.option = problem, advice, option

    def __str__(self) -> str:
        return self.problem if self.advice is None else f"{self.problem}; {self.advice}"


@dataclass(frozen=True)
class Category:
    """A categorical column and the weight of each of its values; other values add nothing."""

    column: str
    values: tuple[str, ...]
    weights: FloatArray  # heads x values
    missing: FloatArray | None = None  # of each head, for missing cells


@dataclass(frozen=True)
class Formula:
    """Weights, terms and classes of a linear model."""

    columns: tuple[str, ...]  # numeric columns
    weights: FloatArray  # heads x terms, float64
    intercept: FloatArray  # float64
    classes: list[Label]
    pairs: bool  # whether each head separates a pair of classes
    fill: FloatArray | None = None  # replacement of missing numbers, per column; None: a missing number is an error
    inputs: list[tuple[int, int]] | None = None  # columns and their parts, see `date_parts.py`; None: each column is an input
    factors: tuple[tuple[int, ...], ...] | None = None  # inputs whose product is each term; None: each input is a term
    shift: FloatArray | None = None  # subtracted from each term
    indicators: tuple[int, ...] = ()  # columns with a weight for missing cells
    indicator_weights: FloatArray | None = None  # heads x indicators
    categories: tuple[Category, ...] = ()

    @property
    def heads(self) -> int:
        return len(self.intercept)

    @property
    def terms(self) -> tuple[tuple[int, ...], ...]:
        inputs = len(self.columns if self.inputs is None else self.inputs)
        return tuple((j,) for j in range(inputs)) if self.factors is None else self.factors

    @property
    def has_dates(self) -> bool:
        return any(part for _, part in self.inputs or ())

    def class_pairs(self) -> list[tuple[int, int]]:
        """The two classes of each head of a one-vs-one model."""
        return list(combinations(range(len(self.classes)), 2))


def weights_of(model: Model, language: str) -> tuple[FloatArray, FloatArray]:
    """Return weights and intercepts in float64, or raise `ExportError` if the model is not a formula."""
    if model.coef is None or model.intercept is None:
        problem = f"{language} export does not support voted perceptrons, which have no single plane"
        raise ExportError(problem, "train with keep='average'", "--algorithm average")
    if len(model.classes) < 2:
        raise ExportError(f"the model has only one class, {model.classes.tolist()[0]!r}: there is nothing to score")
    return np.asarray(model.coef, np.float64), np.asarray(model.intercept, np.float64)


def recipe_of(model: Model, language: str) -> Recipe | None:
    """Return the recipe of a model that reads columns, or raise `ExportError` if it reads mails."""
    if model.recipe is not None and model.recipe.kind == "mail":
        raise ExportError(f"{language} export does not support mail filters; use `rosenblatt mail classify`")
    return cast("Recipe | None", model.recipe)


def formula_of(model: Model, language: str, *, categories: bool = False) -> Formula:
    """Return the formula of a model; `categories` is whether the language supports categorical columns."""
    coef, intercept = weights_of(model, language)
    classes, recipe = labels_of(model), recipe_of(model, language)
    if recipe is None:
        return Formula(names_of(model), coef, intercept, classes, model.pairs)
    numbers = recipe.numbers
    weights, marked, named = np.split(coef, [numbers.polynomial.width, numbers.width], axis=1)
    if numbers.divide is not None:
        with np.errstate(over="ignore"):
            weights = weights / numbers.divide
        if not np.isfinite(weights).all():
            raise ExportError("the scaling of the features cannot be folded into the weights: they would exceed 1.8e308")
    factors = None
    if numbers.degree > 1:
        factors = tuple(tuple(numbers.polynomial.factors(feature)) for feature in range(numbers.polynomial.width))
    return Formula(
        columns_of(recipe),
        weights,
        intercept,
        classes,
        model.pairs,
        fill=numbers.fill,
        inputs=None if numbers.inputs is None else [(column, part) for column, part in numbers.inputs.tolist()],
        factors=factors,
        shift=numbers.shift,
        indicators=() if numbers.indicators is None else tuple(numbers.indicators.tolist()),
        indicator_weights=None if numbers.indicators is None else marked,
        categories=_categories(recipe.strings, named, language, categories),
    )


def _categories(
    blocks: Sequence[Categories | TextFeatures], weights: FloatArray, language: str, supported: bool
) -> tuple[Category, ...]:
    found, at = [], 0
    for block in blocks:
        if isinstance(block, TextFeatures):
            raise ExportError(f"{language} export does not support text columns ({block.name!r}); export to JSON")
        if not supported:
            raise ExportError(f"{language} export does not support categorical columns ({block.name!r}); export to SQL or JSON")
        mine = weights[:, at : at + block.width]
        n = len(block.values)
        found.append(Category(block.name, tuple(block.values), mine[:, :n], mine[:, n] if block.missing else None))
        at += block.width
    return tuple(found)


def labels_of(model: Model) -> list[Label]:
    """The classes as Python numbers, booleans or text."""
    return [label.decode("latin-1") if isinstance(label, bytes) else label for label in model.classes.tolist()]


def names_of(model: Model) -> tuple[str, ...]:
    """The names of the columns, or x0, x1, ... if they have no names."""
    names = model.feature_names
    return tuple(f"x{j}" for j in range(model.n_features)) if names is None else tuple(names)


def columns_of(recipe: Recipe) -> tuple[str, ...]:
    """The names of the numeric columns that a recipe reads."""
    if recipe.kind == "table":
        return tuple(recipe.number_names)
    return tuple(f"x{j + recipe.first}" for j in range(recipe.numbers.columns))
