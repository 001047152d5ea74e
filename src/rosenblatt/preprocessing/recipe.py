"""How a file's columns become features.

Numbers come first, in the order of the columns, then their products where a degree is asked for; then the columns of strings,
each as a block of its own. The rows are sparse where there is a block of strings or the file is sparse, else dense.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.adapt import as_data
from ..data.table import Data, DataError, Sparse, Table
from ..reporting.sentences import listed
from .categorical import Categories, Words
from .cells import as_matrix, as_strings
from .names import Counted, FeatureNames
from .numeric import Numbers
from .sparse import from_dense, side_by_side, to_dense


@dataclass(frozen=True, eq=False)
class Recipe:
    """What was learned from the columns of the training rows.

    >>> table = Table(("size", "colour"), (np.array([1.0, 3.0]), np.array(["red", "blue"], object)))
    >>> recipe = Recipe.learn([table])
    >>> list(recipe.feature_names), recipe.rows(table).to_scipy().toarray().tolist()
    (['size', 'colour=blue', 'colour=red'], [[1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    """

    kind: str  # what the training rows were: table, sparse or dense
    numbers: Numbers
    names: tuple[str, ...] = ()  # all columns of the table, as in the file
    number_names: tuple[str, ...] = ()  # those that are numbers
    strings: tuple[Categories | Words, ...] = ()  # the others
    first: int = 0  # what the first column without a name is called
    notes: tuple[str, ...] = ()  # sentences for the person

    @classmethod
    def learn(
        cls,
        chunks: Iterable[Any],
        *,
        degree: int = 1,
        scale: str = "auto",
        text: tuple[str, ...] = (),
        categorical: tuple[str, ...] = (),
        first: int | None = None,
    ) -> Recipe:
        """A recipe from training rows in one run over them; the result does not depend on how they are cut into chunks.

        text, categorical : names of columns that are text, or names, whatever their cells look like
        first : what the first column of a matrix is called; None: 1 for a sparse one, 0 for an array
        """
        from .fitting import learn

        return learn(chunks, degree=degree, scale=scale, text=text, categorical=categorical, first=first)

    @property
    def width(self) -> int:
        """Features that come out."""
        return self.numbers.width + sum(block.width for block in self.strings)

    @property
    def feature_names(self) -> Sequence[str]:
        names = self.number_names if self.kind == "table" else Counted(self.numbers.columns, self.first)
        return FeatureNames(self.numbers, names, self.strings)

    @property
    def wanted(self) -> tuple[str, ...] | None:
        """The columns that a table must have; None for a matrix."""
        return self.names if self.kind == "table" else None

    @property
    def text(self) -> tuple[str, ...]:
        return tuple(block.name for block in self.strings if isinstance(block, Words))

    @property
    def categorical(self) -> tuple[str, ...]:
        return tuple(block.name for block in self.strings if isinstance(block, Categories))

    def rows(self, X: Any) -> Any:
        """The features of some rows: a `Sparse` or a C-ordered array of floats."""
        data = as_data(X)
        if self.kind != "table" or not isinstance(data.features, Table):
            return self._matrix_rows(data)
        known = set(data.features.names)
        absent = [name for name in self.names if name not in known]
        if absent:
            there = listed(data.features.names)
            raise DataError(data.source, f"there is no column {absent[0]!r}, which the model reads; there are {there}")
        dense = self.numbers.dense(as_matrix(data.features, data.source, self.number_names), data.source, own=True)
        if not self.strings:
            return dense
        places = {name: place for place, name in enumerate(data.features.names)}
        blocks = [block.sparse(as_strings(data.features.columns[places[block.name]])) for block in self.strings]
        return side_by_side([from_dense(dense), *blocks], data.n_rows)

    def strangers(self, X: Any) -> int:
        """How many columns the model does not know and leaves out."""
        features = as_data(X).features
        if isinstance(features, Table):
            return len(set(features.names) - set(self.names)) if self.kind == "table" else 0
        return max(0, features.shape[1] - self.numbers.columns) if isinstance(features, Sparse) else 0

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The recipe as plain JSON values and arrays."""
        from .parts import to_parts

        return to_parts(self)

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, Any]) -> Recipe:
        """The recipe of such parts; a `ValueError` for anything that `to_parts` would not have made."""
        from .parts import from_parts

        return from_parts(meta, arrays)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recipe):
            return NotImplemented
        (mine, arrays), (theirs, others) = self.to_parts(), other.to_parts()
        return mine == theirs and arrays.keys() == others.keys() and all(np.array_equal(arrays[k], others[k]) for k in arrays)

    __hash__ = None  # type: ignore[assignment]

    def _matrix_rows(self, data: Data) -> Any:
        """Rows whose columns go by their position."""
        if self.strings:
            raise DataError(data.source, f"the model reads columns by name, {listed(self.names)}, and these rows have no names")
        features, numbers = data.features, self.numbers
        if isinstance(features, Table):
            features = as_matrix(features, data.source, features.names)
        if isinstance(features, Sparse):
            if numbers.shift is None:
                return numbers.sparse(features, data.source)
            features = to_dense(features, width=numbers.columns)
        if features.shape[1] != numbers.columns:
            raise DataError(data.source, f"rows have {features.shape[1]:,} columns, and the model reads {numbers.columns:,}")
        return numbers.dense(features, data.source)
