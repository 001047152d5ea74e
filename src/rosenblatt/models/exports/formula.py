"""A linear model as formulas of its input columns, which every export writes in its language:

    score_h = sum_t weights[h, t] * (product of the inputs factors[t] - shift[t]) / divide[t] + sum_i (weight of indicator i if
              its column's cell is missing) + sum_c (weight of column c's category) + intercept[h]

Inputs are numeric columns, whose missing cells are filled, or parts of columns of dates. The numbers are those of the model, so
that scores equal the model's up to rounding. A score that overflows is infinite here, whereas the model still gives its sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, cast

import numpy as np

from ...array_types import BoolArray, FloatArray
from ...data.readers.cells import MISSING
from ...preprocessing.categorical import Categories
from ...preprocessing.date_parts import PARTS
from ...preprocessing.text_features import Grams, TextFeatures
from ..model import Model

if TYPE_CHECKING:
    from ...preprocessing.recipe import Recipe
    from .reduction import Reduction

Label = str | int | float | bool


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

    def features(self) -> FloatArray:
        """The weights of all features, heads x features."""
        return self.weights if self.missing is None else np.column_stack([self.weights, self.missing])


@dataclass(frozen=True)
class Text:
    """A text column and the weights of its features, heads x features."""

    column: str
    parts: tuple[Grams, ...]
    weights: FloatArray


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
    divide: FloatArray | None = None  # divides each shifted term
    indicators: tuple[int, ...] = ()  # columns with a weight for missing cells
    indicator_weights: FloatArray | None = None  # heads x indicators
    blocks: tuple[Category | Text, ...] = ()
    refuses: bool = False  # whether a missing category is an error
    absent_is_zero: bool = False  # whether rows are sparse, so that columns they do not have are zero
    order: tuple[str, ...] = ()  # all columns in the order of the file
    dates: tuple[tuple[str, str], ...] = ()  # columns of dates with their kinds
    exponent: int | None = None  # weights are float16 numbers times 2**exponent; None: they are float64

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

    @property
    def categories(self) -> tuple[Category, ...]:
        return tuple(block for block in self.blocks if isinstance(block, Category))

    @property
    def n_weights(self) -> int:
        blocks = (block.features() if isinstance(block, Category) else block.weights for block in self.blocks)
        return sum(each.size for each in (self.weights, *blocks)) + len(self.indicators) * self.heads

    def class_pairs(self) -> list[tuple[int, int]]:
        """The two classes of each head of a one-vs-one model."""
        return list(combinations(range(len(self.classes)), 2))

    def folded(self) -> Formula:
        """The same formula with the divisors in the weights; shifts stay, because the terms of large means would cancel."""
        if self.divide is None:
            return self
        with np.errstate(over="ignore"):
            weights = self.weights / self.divide
        if not np.isfinite(weights).all():
            raise ExportError("the scaling of the features cannot be folded into the weights: they would exceed 1.8e308")
        return replace(self, weights=weights, divide=None)

    def halves(self, weights: FloatArray) -> FloatArray:
        """Weights as numbers of 16 bits, without the power of two."""
        assert self.exponent is not None
        found: FloatArray = np.ldexp(weights, -self.exponent).astype(np.float16)
        return found

    def without_text(self, language: str, advice: str) -> Formula:
        """The formula itself, or `ExportError` if it has a text column."""
        for block in self.blocks:
            if isinstance(block, Text):
                raise ExportError(f"{language} export does not support text columns ({block.column!r}); {advice}")
        return self


def formula_of(model: Model, language: str, reduction: Reduction | None = None) -> Formula:
    """Return the formula of a model, perhaps with the weights of a smaller one, or raise `ExportError` if it has none."""
    coef, intercept = weights_of(model, language)
    if reduction is None:
        return _formula(model, language, coef, intercept)
    formula = replace(_formula(model, language, reduction.coef, reduction.intercept), exponent=reduction.exponent)
    return compact(formula) if reduction.pruned else formula


def _formula(model: Model, language: str, coef: FloatArray, intercept: FloatArray) -> Formula:
    classes, recipe = labels_of(model), recipe_of(model, language)
    if recipe is None:
        return Formula(names_of(model), coef, intercept, classes, model.pairs)
    numbers = recipe.numbers
    weights, marked, named = np.split(coef, [numbers.polynomial.width, numbers.width], axis=1)
    factors = None
    if numbers.degree > 1:
        factors = tuple(tuple(numbers.polynomial.factors(feature)) for feature in range(numbers.polynomial.width))
    refuses = recipe.kind == "table" and model.provenance.get("reading", {}).get("missing") == "refuse"
    return Formula(
        columns_of(recipe),
        weights,
        intercept,
        classes,
        model.pairs,
        fill=None if refuses else numbers.fill,
        inputs=None if numbers.inputs is None else [(column, part) for column, part in numbers.inputs.tolist()],
        factors=factors,
        shift=numbers.shift,
        divide=numbers.divide,
        indicators=() if numbers.indicators is None else tuple(numbers.indicators.tolist()),
        indicator_weights=None if numbers.indicators is None else marked,
        blocks=_blocks(recipe.strings, named),
        refuses=refuses,
        absent_is_zero=recipe.kind == "sparse",
        order=tuple(recipe.required or ()),
        dates=tuple(recipe.dates),
    )


def _blocks(blocks: Sequence[Categories | TextFeatures], weights: FloatArray) -> tuple[Category | Text, ...]:
    found: list[Category | Text] = []
    at = 0
    for block in blocks:
        mine = weights[:, at : at + block.width]
        at += block.width
        if isinstance(block, Categories):
            n = len(block.values)
            found.append(Category(block.name, tuple(block.values), mine[:, :n], mine[:, n] if block.missing else None))
        else:
            found.append(Text(block.name, block.parts, mine))
    return tuple(found)


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


# --- leaving out features ----------------------------------------------------------------------------------------------------


def compact(formula: Formula) -> Formula:
    """Return the formula without the features whose weights are all zero, and without the columns that nothing reads.

    One feature is kept if there is none with a weight.
    """
    term_used, mark_used = _used(formula.weights), _used(formula.indicator_weights)
    if term_used.size and not (term_used.any() or mark_used.any() or any(map(_compact_block, formula.blocks))):
        term_used[0] = True
    terms = [term for term, used in zip(formula.terms, term_used, strict=True) if used]
    marks = [column for column, used in zip(formula.indicators, mark_used, strict=True) if used]
    inputs = formula.inputs if formula.inputs is not None else [(j, 0) for j in range(len(formula.columns))]
    inputs_used = sorted({each for term in terms for each in term})
    columns = sorted({inputs[each][0] for each in inputs_used} | set(marks))
    place, column_place = ({old: new for new, old in enumerate(each)} for each in (inputs_used, columns))
    kept_inputs = [(column_place[inputs[each][0]], inputs[each][1]) for each in inputs_used]
    blocks = tuple(kept for block in formula.blocks if (kept := _compact_block(block)) is not None)
    names = {formula.columns[j] for j in columns} | {block.column for block in blocks}
    return replace(
        formula,
        columns=tuple(formula.columns[j] for j in columns),
        weights=formula.weights[:, term_used],
        fill=None if formula.fill is None else formula.fill[columns],
        inputs=None if kept_inputs == [(j, 0) for j in range(len(columns))] else kept_inputs,
        factors=None if formula.factors is None else tuple(tuple(place[each] for each in term) for term in terms),
        shift=None if formula.shift is None else formula.shift[term_used],
        divide=None if formula.divide is None else formula.divide[term_used],
        indicators=tuple(column_place[column] for column in marks),
        indicator_weights=None if formula.indicator_weights is None else formula.indicator_weights[:, mark_used],
        blocks=blocks,
        order=tuple(name for name in formula.order if name in names),
        dates=tuple((name, kind) for name, kind in formula.dates if name in names),
    )


def _used(weights: FloatArray | None) -> BoolArray:
    used: BoolArray = np.zeros(0, bool) if weights is None else (weights != 0.0).any(axis=0)
    return used


def _compact_block(block: Category | Text) -> Category | Text | None:
    if isinstance(block, Text):  # its words without a weight count in the length of a text
        return block if block.weights.any() else None
    # A value such as "-" stays even without a weight: as none of the values it would be a missing cell.
    used = _used(block.weights) | np.array([value.encode("utf-8", "replace") in MISSING for value in block.values], bool)
    missing = block.missing if block.missing is not None and block.missing.any() else None
    if not block.weights.any() and missing is None:
        return None
    values = tuple(value for value, kept in zip(block.values, used, strict=True) if kept)
    return Category(block.column, values, block.weights[:, used], missing)


def part_names(formula: Formula) -> list[tuple[int, str]] | None:
    """The inputs as columns and the names of their parts."""
    return None if formula.inputs is None else [(column, PARTS[part]) for column, part in formula.inputs]
