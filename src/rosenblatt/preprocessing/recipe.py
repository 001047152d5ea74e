"""How a file's columns become features.

Numbers come first, in the order of the columns, then their products where a degree is asked for; then the columns of strings,
each as a block of its own. The rows are sparse where there is a block of strings or the file is sparse, else dense.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..data.table import Data, DataError, Sparse, Table, as_data
from ..reporting.text import quoted_list
from .categorical import Categories, Counted, FeatureNames, Words, as_matrix, as_strings, words_of
from .numeric import Numbers
from .sparse import from_dense, side_by_side, to_dense
from .tallies import LONGEST_NAME, MOST_NAMES, MOST_WORDS


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
            there = quoted_list(data.features.names)
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

        return to_parts(self)

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, Any]) -> Recipe:
        """The recipe of such parts; a `ValueError` for anything that `to_parts` would not have made."""

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
            raise DataError(
                data.source, f"the model reads columns by name, {quoted_list(self.names)}, and these rows have no names"
            )
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


# --- A recipe as plain JSON values and arrays, and back again, where nothing is believed.
#
# meta     kind, columns, degree, first, names, notes, strings: [[name, "names", [value, ...]] or [name, "words", count], ...]
# arrays   means, shift, divide: float64, where there are any; words0, words1, ...: a vocabulary in UTF-8, one word a line

KINDS = ("table", "sparse", "dense")
MOST_COLUMNS = 1 << 31
MOST_TABLE_COLUMNS = 1_000_000
MOST_NOTES = 1_000
KEYS = {"kind", "columns", "degree", "first", "names", "strings", "notes"}
VECTORS = ("means", "shift", "divide")


def to_parts(recipe: Recipe) -> tuple[dict[str, Any], dict[str, Any]]:
    arrays = {name: getattr(recipe.numbers, name) for name in VECTORS if getattr(recipe.numbers, name) is not None}
    strings: list[list[Any]] = []
    for block in recipe.strings:
        if isinstance(block, Words):
            arrays[f"words{len(strings)}"] = np.frombuffer("\n".join(block.words).encode(), np.uint8)
            strings.append([block.name, "words", block.width])
        else:
            strings.append([block.name, "names", list(block.values)])
    meta = {
        "kind": recipe.kind,
        "columns": recipe.numbers.columns,
        "degree": recipe.numbers.degree,
        "first": recipe.first,
        "names": list(recipe.names),
        "strings": strings,
        "notes": list(recipe.notes),
    }
    return meta, arrays


def from_parts(meta: dict[str, Any], arrays: dict[str, Any]) -> Recipe:
    if not isinstance(meta, dict) or meta.keys() != KEYS:
        raise ValueError("a recipe has not the entries it should have")
    if meta["kind"] not in KINDS:
        raise ValueError(f"a recipe is for no kind of rows {meta['kind']!r:.80}")
    columns = _whole(meta, "columns", 0, MOST_COLUMNS)
    degree, first = _whole(meta, "degree", 1, 20), _whole(meta, "first", 0, 1)
    names, notes = _strings(meta["names"], "names", MOST_TABLE_COLUMNS), _strings(meta["notes"], "notes", MOST_NOTES)
    left = dict(arrays)
    strings = _blocks(meta["strings"], left)
    taken = {block.name for block in strings}
    number_names = tuple(name for name in names if name not in taken)
    _fits_together(meta["kind"], columns, first, names, number_names, strings)
    width = Numbers(columns, degree).width
    vectors = {}
    for name, length in (("means", columns), ("shift", width), ("divide", width)):
        vectors[name] = _vector(left.pop(name, None), name, length)
    if left:
        raise ValueError(f"a recipe has an array {sorted(left)[0]!r:.80} that it should not have")
    if vectors["divide"] is not None and not (vectors["divide"] > 0).all():
        raise ValueError("a recipe divides a feature by a number that is not positive")
    if (vectors["means"] is None) != (meta["kind"] == "sparse"):
        raise ValueError(f"a recipe for {meta['kind']} rows {'has no' if vectors['means'] is None else 'has'} means")
    if vectors["shift"] is not None and (vectors["divide"] is None or meta["kind"] == "sparse"):
        raise ValueError("a recipe shifts features that it should not shift")
    return Recipe(meta["kind"], Numbers(columns, degree, **vectors), names, number_names, strings, first, notes)


def _fits_together(kind: str, columns: int, first: int, names: Any, number_names: Any, strings: Any) -> None:
    if len(set(names)) != len(names):
        raise ValueError("a recipe has a column twice")
    if kind != "table":
        if names or strings:
            raise ValueError("a recipe for a matrix has columns with names")
        return
    if first or not names:
        raise ValueError("a recipe for a table has no columns" if not names else "a recipe for a table counts columns")
    if [name for name in names if name not in number_names] != [block.name for block in strings]:
        raise ValueError("a recipe's columns of strings are not among its columns")
    if columns != len(number_names):
        raise ValueError(f"a recipe has {columns} columns of numbers and {len(number_names)} names for them")


def _whole(meta: dict[str, Any], key: str, least: int, most: int) -> int:
    value = meta[key]
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"a recipe's {key} must be a whole number from {least} to {most}, got {value!r:.80}")
    return value


def _strings(value: Any, what: str, most: int) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > most or not all(isinstance(one, str) for one in value):
        raise ValueError(f"a recipe's {what} must be a list of at most {most:,} strings")
    try:
        "".join(value).encode()
    except UnicodeEncodeError:
        raise ValueError(f"a recipe's {what} are not text") from None
    return tuple(value)


def _ascending(values: tuple[str, ...]) -> bool:
    return all(one < other for one, other in pairwise(values))


def _blocks(value: Any, arrays: dict[str, Any]) -> tuple[Categories | Words, ...]:
    if not isinstance(value, list) or len(value) > MOST_TABLE_COLUMNS:
        raise ValueError("a recipe's strings must be a list")
    found: list[Categories | Words] = []
    for place, block in enumerate(value):
        if (
            not isinstance(block, list)
            or len(block) != 3
            or not isinstance(block[0], str)
            or block[1] not in ("names", "words")
        ):
            raise ValueError("a recipe's column of strings must be its name, its kind and its values")
        if block[1] == "names":
            values = _strings(block[2], "values of a column", MOST_NAMES)
            if not _ascending(values) or max(map(len, values), default=0) > LONGEST_NAME:
                raise ValueError(f"a recipe's values of a column must ascend and have at most {LONGEST_NAME:,} characters")
            found.append(Categories(block[0], values))
        else:
            found.append(Words(block[0], _vocabulary(arrays.pop(f"words{place}", None), block[2])))
    return tuple(found)


def _vocabulary(array: Any, count: Any) -> tuple[str, ...]:
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("a recipe's vocabulary must be an array of bytes")
    try:
        words = tuple(array.tobytes().decode().split("\n"))
    except UnicodeDecodeError:
        raise ValueError("a recipe's vocabulary is not UTF-8") from None
    if type(count) is not int or len(words) != count or count > MOST_WORDS:
        raise ValueError(f"a recipe's vocabulary has {len(words):,} words, and {count!r:.80} were announced")
    if not _ascending(words) or any(words_of(word) != [word] for word in words):
        raise ValueError("a recipe's vocabulary must be words in ascending order")
    return words


def _vector(array: Any, name: str, length: int) -> Any:
    if array is None:
        return None
    if (
        not isinstance(array, np.ndarray)
        or array.dtype != np.float64
        or array.shape != (length,)
        or not np.isfinite(array).all()
    ):
        raise ValueError(f"a recipe's {name} must be {length:,} finite floats")
    return array
