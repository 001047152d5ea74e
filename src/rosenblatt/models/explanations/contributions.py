"""What each feature, and each column, contributed to the score that decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...array_types import FloatArray
from ...preprocessing.sources import share_among_inputs
from ...preprocessing.text_features import TextFeatures
from .row import Cell, Row


@dataclass(frozen=True)
class Contribution:
    """A part of the score: that of a column, or of a single feature.

    Parameters
    ----------
    name : str
        The column or the feature.
    value : float or str or None
        The cell of the column, as text unless programs write the number so, or the value of the feature; None if the cell is
        missing.
    amount : float
        What it adds to the score.
    """

    name: str
    value: float | str | None
    amount: float


class Decision(NamedTuple):
    """The two classes between which a row was decided, and the plane that separates them.

    A score above 0 favors `favored` over `other`.
    """

    favored: int
    other: int
    weights: FloatArray
    intercept: float
    score: float


def decision_of(row: Row) -> Decision:
    """The plane of two classes; of several, the predicted class against the one with the next highest score."""
    model = row.model
    assert model.coef is not None
    assert model.intercept is not None
    coef, intercept, scores = model.coef, model.intercept.astype(np.float64), row.scores.astype(np.float64)
    if len(model.classes) == 2:
        return Decision(1, 0, coef[0].astype(np.float64), float(intercept[0]), float(scores[0]))
    ranked = row.class_scores(scores[None])[0]
    best = row.code
    second = int(np.argmax(np.where(np.arange(len(ranked)) == best, -np.inf, ranked)))
    if model.pairs:
        low, high = sorted((best, second))
        head = low * (2 * len(model.classes) - low - 1) // 2 + high - low - 1  # of this pair
        sign = 1.0 if best == high else -1.0
        weights = sign * coef[head].astype(np.float64)
        return Decision(best, second, weights, sign * float(intercept[head]), sign * float(scores[head]))
    weights = coef[best].astype(np.float64) - coef[second]
    return Decision(best, second, weights, float(intercept[best] - intercept[second]), float(scores[best] - scores[second]))


def features_of(row: Row, decision: Decision) -> tuple[Contribution, ...]:
    """The contributions of the features that are not zero, the largest first; with the intercept they sum to the score."""
    names = row.model.feature_names or row.number_names
    amounts = decision.weights[row.indices] * row.values
    order = np.argsort(-abs(amounts), kind="stable")
    return tuple(
        Contribution(str(names[int(row.indices[at])]), float(row.values[at]), float(amounts[at])) for at in order.tolist()
    )


def columns_of(row: Row, decision: Decision) -> tuple[Contribution, ...]:
    """The contributions of the columns, the largest first: those of a column's features added up.

    A product of several columns is shared evenly by its factors. Columns that contribute nothing are left out.
    """
    amounts = decision.weights[row.indices] * row.values
    numbers, numeric = row.numbers, row.indices < row.numbers.polynomial.width
    inputs = share_among_inputs(numbers, row.indices[numeric], amounts[numeric])
    shares = np.bincount(numbers.input_columns, inputs, numbers.columns)
    if numbers.indicators is not None:
        marks = (row.indices >= numbers.polynomial.width) & (row.indices < numbers.width)
        np.add.at(shares, numbers.indicators[row.indices[marks] - numbers.polynomial.width], amounts[marks])
    cells = np.zeros(row.numbers.columns)
    cells[row.stored] = row.cells
    found: list[tuple[str, Cell, float]] = []
    for j in np.flatnonzero(shares).tolist():
        name = str(row.number_names[j])
        found.append((name, row.as_cell(name, float(cells[j])), float(shares[j])))
    start = row.numbers.width
    for block in row.recipe.strings:
        own = (row.indices >= start) & (row.indices < start + block.width)
        start += block.width
        if own.any():
            found.append((block.name, row.cell(block), float(amounts[own].sum())))
    ranked = sorted(found, key=lambda each: -abs(each[2]))
    return tuple(Contribution(*each) for each in ranked)


def words_of_columns(row: Row) -> tuple[str, ...]:
    """The columns of text, whose single words are of interest."""
    return tuple(block.name for block in row.recipe.strings if isinstance(block, TextFeatures))
