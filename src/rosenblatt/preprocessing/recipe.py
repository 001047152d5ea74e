"""Recipes: how the columns of a file become features, and how a recipe is stored in a model file.

Numeric columns come first, in the order of the file, then their products up to the degree; then the features of each column of
strings. Rows are sparse if there is a column of strings or the training rows were sparse, else dense.

`recipe_fit.py` learns a recipe from training rows; `recipe_parts.py` is its form in a model file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..array_types import FloatArray, MatrixLike
from ..data.csr import CSRMatrix, hstack
from ..data.readers import Missing
from ..data.table import Data, DataError, Table, as_data
from ..reporting.text import count, plural, quoted_list
from .categorical import Categories, FeatureNames, NumberedColumns, as_matrix, as_strings
from .choices import Choices
from .column_facts import ColumnFacts
from .numeric import Numbers
from .scaling import Kind, Scale
from .text_features import TextFeatures
from .text_kinds import AUTO as AUTO_TEXT


@dataclass(frozen=True, eq=False)
class Recipe:
    """How columns become features, learned from the training rows.

    >>> table = Table(("size", "color"), (np.array([1.0, 3.0]), np.array(["red", "blue"], object)))
    >>> recipe = Recipe.learn([table])
    >>> list(recipe.feature_names), recipe.rows(table).to_scipy().toarray().tolist()
    (['size', 'color=blue', 'color=red'], [[-1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    """

    kind: str  # kind of the training rows: "table", "sparse" or "dense"
    numbers: Numbers
    names: tuple[str, ...] = ()  # all columns of the table, in the order of the file
    number_names: tuple[str, ...] = ()  # the numeric columns
    strings: tuple[Categories | TextFeatures, ...] = ()  # the other columns
    first: int = 0  # the number of the first unnamed column
    notes: tuple[str, ...] = ()  # sentences for the user
    facts: ColumnFacts | None = None  # ranges and counts of the training rows; None: not stored
    scale: Kind = "none"  # how the numeric features are scaled
    dates: tuple[tuple[str, str], ...] = ()  # the numeric columns that are dates, with their kinds: see `date_parts.py`
    constant: tuple[str, ...] = ()  # columns of the training rows that were left out because they are constant

    @classmethod
    def learn(
        cls,
        chunks: Iterable[MatrixLike | Data | Table],
        *,
        degree: int = 1,
        scale: Scale = "auto",
        text: tuple[str, ...] = (),
        categorical: tuple[str, ...] = (),
        first: int | None = None,
        missing: Missing = "auto",
        missing_indicator: bool = False,
        drop_constant: bool = False,
        text_features: str = AUTO_TEXT,
        in_memory: bool = True,
    ) -> Recipe:
        """Learn a recipe from training rows in one pass; chunk boundaries do not change the result.

        Parameters
        ----------
        chunks : iterable of Data, Table, array, SciPy matrix or DataFrame
            Consecutive training rows.
        degree : int, default=1
            The largest number of factors in products of numeric columns.
        scale : {"auto", "none", "max", "standard"}, default="auto"
            How features are scaled: not, to [-1, 1], or to mean 0 and standard deviation 1; "auto" is "standard". Columns with
            few nonzero cells keep their zeros.
        text, categorical : tuple of str, default=()
            Names of columns that are text or categorical, even if their cells look like numbers.
        first : int, optional
            The number of the first column of a matrix; by default 1 for sparse rows, 0 for arrays.
        missing : {"auto", "median", "mean", "refuse"}, default="auto"
            What replaces missing numbers, in these rows and in later ones: the median ("auto"), or the mean. Missing
            categories are a category of their own, except for "refuse": readers then accept no missing cells.
        missing_indicator : bool, default=False
            Whether each numeric column with missing cells gets a feature that marks them.
        drop_constant : bool, default=False
            Whether columns with one value in all rows are left out.
        text_features : str, default="auto"
            The features of text columns, such as "words-2" or "words,chars-3-5:tfidf": see `text_kinds.py`.
        in_memory : bool, default=True
            Whether the chunks fit into memory together. If not, medians are of evenly spaced rows, see `medians.py`.
        """
        from .recipe_fit import fit_recipe

        choices = Choices(
            degree, scale, text, categorical, first, missing, missing_indicator, drop_constant, text_features, in_memory
        )  # fmt: skip
        return fit_recipe(chunks, choices)

    @property
    def scales(self) -> bool:
        return self.numbers.shift is not None or self.numbers.divide is not None

    def unscaled(self) -> Recipe:
        """The recipe without the scaling, which rounds."""
        return replace(self, numbers=replace(self.numbers, shift=None, divide=None), scale="none")

    @property
    def width(self) -> int:
        """The number of features."""
        return self.numbers.width + sum(block.width for block in self.strings)

    @property
    def feature_names(self) -> Sequence[str]:
        names = self.number_names if self.kind == "table" else NumberedColumns(self.numbers.columns, self.first)
        return FeatureNames(self.numbers, names, self.strings)

    @property
    def required(self) -> tuple[str, ...] | None:
        """The columns that a table must have; None for a matrix."""
        return self.names if self.kind == "table" else None

    @property
    def text(self) -> tuple[str, ...]:
        """The text columns."""
        return tuple(block.name for block in self.strings if isinstance(block, TextFeatures))

    @property
    def of_text(self) -> bool:
        """Whether there is text, and no numeric column."""
        return bool(self.text) and not self.numbers.width

    @property
    def categorical(self) -> tuple[str, ...]:
        """The categorical columns."""
        return tuple(block.name for block in self.strings if isinstance(block, Categories))

    @property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values of each categorical column."""
        return {block.name: block.values for block in self.strings if isinstance(block, Categories)}

    def rows(self, X: MatrixLike | Data | Table | CSRMatrix) -> FloatArray | CSRMatrix:
        """The features of rows: a `CSRMatrix` or a C-ordered float array."""
        data = as_data(X)
        if self.kind != "table" or not isinstance(data.features, Table):
            return self._matrix_rows(data)
        known = set(data.features.names)
        absent = [name for name in self.names if name not in known]
        if absent:
            found = quoted_list(data.features.names)
            raise DataError(data.source, f"missing column required by the model: {absent[0]} (columns: {found})")
        dense = self.numbers.dense(as_matrix(data, self.number_names), data.source, own=True)
        if not self.strings:
            return dense
        places = {name: place for place, name in enumerate(data.features.names)}
        blocks = [block.sparse(as_strings(data.features.columns[places[block.name]])) for block in self.strings]
        return hstack([CSRMatrix.from_dense(dense), *blocks], data.n_rows)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The recipe as JSON values and arrays."""
        from .recipe_parts import to_parts

        return to_parts(self)

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, Any]) -> Recipe:
        """The recipe of these parts; raises ValueError for anything that `to_parts` cannot have made."""
        from .recipe_parts import from_parts

        return from_parts(meta, arrays)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recipe):
            return NotImplemented
        (meta, arrays), (other_meta, others) = self.to_parts(), other.to_parts()
        same = meta == other_meta and arrays.keys() == others.keys()
        return same and all(np.array_equal(arrays[k], others[k]) for k in arrays)

    __hash__ = None  # type: ignore[assignment]

    def _matrix_rows(self, data: Data) -> FloatArray | CSRMatrix:
        """The features of rows whose columns are identified by position."""
        if self.strings:
            sentence = f"the model requires named columns, {quoted_list(self.names)}, but these rows have no names"
            raise DataError(data.source, sentence)
        features, numbers = data.features, self.numbers
        if isinstance(features, Table):
            features = as_matrix(data, features.names)
        if isinstance(features, CSRMatrix):
            if numbers.shift is None:
                return numbers.sparse(features, data.source)
            features = features.with_width(numbers.columns).toarray()
        if features.shape[1] != numbers.columns:
            raise DataError(
                data.source, f"rows have {plural(features.shape[1], 'column')}, but the model requires {count(numbers.columns)}"
            )
        return numbers.dense(features, data.source)
