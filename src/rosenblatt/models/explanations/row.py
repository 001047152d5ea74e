"""One row that a model predicts: its columns, its features, and its scores if one of its cells were another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...array_types import Array, FloatArray, IntArray
from ...data.csr import CSRMatrix, row_pointers
from ...data.readers.kinds import form_from_json
from ...data.readers.notation import NumberForm
from ...data.table import Data, Table
from ...preprocessing.categorical import Categories, NumberedColumns, as_matrix
from ...preprocessing.date_parts import date_text
from ...preprocessing.numeric import Numbers
from ...preprocessing.recipe import Recipe
from ...preprocessing.text_features import TextFeatures
from ...scores import linear_scores, votes_of_pairs

if TYPE_CHECKING:
    from ..model import Model

Cell = float | str | None
# Sparse rows with more columns are explained by their stored values alone: the others are zeros that say nothing.
MAX_SPARSE_COLUMNS = 5_000
# Values of the features of variants that are scored at a time.
VALUES_PER_BLOCK = 1 << 22


class Row:
    """One row of some data, with the model that predicts it.

    Attributes
    ----------
    data : Data
        The row alone, without its label.
    recipe : Recipe
        How its columns become features; for a model without a recipe, as they are.
    scores : ndarray of shape (n_heads,)
        The score of each plane.
    code : int
        The predicted class.
    """

    def __init__(self, model: Model, data: Data, row: int) -> None:
        self.model = model
        if not 0 <= row < data.n_rows:
            raise IndexError(f"row must be from 0 to {data.n_rows - 1}, got {row}")
        mask = np.zeros(data.n_rows, bool)
        mask[row] = True
        self.data = replace(data.take(mask), labels=None)
        self.recipe = self._recipe()
        self.indices, self.values = self._features()
        self.scores = self._head_scores(self.data)[0]
        self.code = int(self.decide(self.scores[None])[0])

    def _recipe(self) -> Recipe:
        if isinstance(self.model.recipe, Recipe):
            return self.model.recipe
        sparse = isinstance(self.data.features, CSRMatrix)
        return Recipe("sparse" if sparse else "dense", Numbers(self.model.n_features))

    @property
    def numbers(self) -> Numbers:
        return self.recipe.numbers

    @cached_property
    def number_names(self) -> Sequence[str]:
        """The names of the numeric columns."""
        if self.recipe.kind == "table":
            return self.recipe.number_names
        if self.model.recipe is None and self.model.names is not None:
            return self.model.names
        return NumberedColumns(self.numbers.columns, self.recipe.first)

    @cached_property
    def stored(self) -> IntArray:
        """The numeric columns that may be changed: all but the zeros of a wide sparse row."""
        features = self.data.features
        if isinstance(features, CSRMatrix) and self.numbers.columns > MAX_SPARSE_COLUMNS:
            return features.indices[features.indices < self.numbers.columns].astype(np.int64)
        return np.arange(self.numbers.columns)

    @cached_property
    def cells(self) -> FloatArray:
        """The numbers in `stored`; NaN where a cell is missing."""
        features, found = self.data.features, None
        if isinstance(features, Table):
            found = as_matrix(self.data, self.recipe.number_names)[0]
        elif not isinstance(features, CSRMatrix):
            found = features[0]
        elif len(self.stored) < self.numbers.columns:
            found = features.values[features.indices < self.numbers.columns]
        else:
            found = features.with_width(self.numbers.columns).toarray()[0]
        return found.astype(np.float64)

    @cached_property
    def filled(self) -> FloatArray:
        """The numbers in `stored`, with missing cells filled."""
        if self.numbers.fill is None:
            return self.cells
        found: FloatArray = np.where(np.isnan(self.cells), self.numbers.fill, self.cells)
        return found

    @cached_property
    def dates(self) -> dict[str, str]:
        """The columns of dates, with their kinds."""
        return dict(self.recipe.dates)

    @cached_property
    def forms(self) -> dict[str, NumberForm]:
        """How the columns that programs would write otherwise write their numbers, such as percentages."""
        return number_forms(self.model)

    def as_cell(self, name: str, number: float) -> Cell:
        """A number of a column as a cell of the file: None if it is missing, a date in ISO form, a percentage with its sign."""
        if number != number:
            return None
        if name in self.forms:
            return self.forms[name].text(number)
        return date_text(number, self.dates[name]) if name in self.dates else number

    def cell(self, block: Categories | TextFeatures) -> str | None:
        """The cell of a column of strings."""
        table = cast(Table, self.data.features)
        found: str | None = table.columns[table.names.index(block.name)][0]
        return found

    # --- features and scores

    def _features(self) -> tuple[IntArray, FloatArray]:
        """The features that are not zero."""
        rows: Any = self.features_of(self.data)
        if isinstance(rows, CSRMatrix):
            return rows.indices.astype(np.int64), rows.values.astype(np.float64)
        found = np.flatnonzero(rows[0])
        return found, rows[0][found].astype(np.float64)

    def features_of(self, data: Data) -> Any:
        """The features of rows, as the model scores them."""
        return self.model._score_input(data.features if self.model.recipe is None else self.recipe.rows(data))

    def _head_scores(self, data: Data) -> FloatArray:
        assert self.model.coef is not None
        assert self.model.intercept is not None
        return linear_scores(self.features_of(data), self.model.coef, self.model.intercept)

    def decide(self, scores: FloatArray) -> IntArray:
        """The predicted class for scores of all planes, rows x planes."""
        return self.model.winners(self.class_scores(scores))

    def class_scores(self, scores: FloatArray) -> FloatArray:
        return votes_of_pairs(scores, len(self.model.classes)) if self.model.pairs else scores

    def scores_with(self, column: int | str, cells: Sequence[Cell]) -> FloatArray:
        """The scores, rows x planes, of copies of the row with these cells in a column.

        A numeric column is given by its position in `stored`, a column of strings by its name.
        """
        step = max(1, VALUES_PER_BLOCK // max(1, len(self.indices) + len(self.stored)))
        parts = [cells[start : start + step] for start in range(0, len(cells), step)]
        return np.concatenate([self._head_scores(self._variants(column, part)) for part in parts])

    def scores_with_all(self, cells: FloatArray) -> FloatArray:
        """The scores of the row, rows x planes, with these numbers in the columns `stored`."""
        features: Any = self.data.features
        if isinstance(features, Table):
            columns = dict(zip(features.names, features.columns, strict=True))
            columns |= {name: np.array([cell]) for name, cell in zip(self.number_names, cells.tolist(), strict=True)}
            features = Table(features.names, tuple(columns.values()))
        elif isinstance(features, CSRMatrix):
            features = CSRMatrix(cells, self.stored.astype(np.int32), row_pointers(np.array([len(cells)])), features.width)
        else:
            features = cells[None]
        return self._head_scores(replace(self.data, features=features))

    def _variants(self, column: int | str, cells: Sequence[Cell]) -> Data:
        n, features = len(cells), self.data.features
        none = replace(self.data, lines=None, positions=None)
        if isinstance(features, Table):
            name = column if isinstance(column, str) else self.number_names[column]
            copies = [np.repeat(cell, n) for cell in features.columns]
            copies[features.names.index(name)] = _column(cells)
            return replace(none, features=Table(features.names, tuple(copies)))
        assert isinstance(column, int)
        if isinstance(features, CSRMatrix):
            dense = np.repeat(self.cells[None], n, axis=0)
            dense[:, column] = np.array(cells, np.float64)
            indptr = row_pointers(np.full(n, len(self.stored)))
            indices = np.tile(self.stored.astype(np.int32), n)
            return replace(none, features=CSRMatrix(dense.ravel(), indices, indptr, features.width))
        changed = np.repeat(features, n, axis=0)
        changed[:, column] = np.array(cells, np.float64)
        return replace(none, features=changed)


def number_forms(model: Model) -> dict[str, NumberForm]:
    """The forms of the columns whose cells are percentages, amounts of money, true and false, or have a decimal comma."""
    found = {name: form_from_json(form) for name, form in model.provenance.get("reading", {}).get("forms", {}).items()}
    return {name: form for name, form in found.items() if isinstance(form, NumberForm) and (form.currency or not form.is_plain)}


def _column(cells: Sequence[Cell]) -> Array:
    if all(isinstance(cell, float) for cell in cells):
        return np.array(cells, np.float64)
    column = np.empty(len(cells), object)
    column[:] = cells
    return column
