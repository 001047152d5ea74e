"""Recipes: how the columns of a file become features, and how a recipe is stored in a model file.

Numeric columns come first, in the order of the file, then their products up to the degree; then the features of each column of
strings. Rows are sparse if there is a column of strings or the training rows were sparse, else dense.

A stored recipe consists of JSON values and arrays, which are fully checked when they are read:

meta     kind, columns, degree, first, names, notes, strings: [[name, "names", [value, ...]] or [name, "words", count], ...]
arrays   means, shift, divide: float64, if any; words0, words1, ...: a vocabulary in UTF-8, one word per line
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..array_types import FloatArray, MatrixLike
from ..data.csr import CSRMatrix, hstack
from ..data.polynomials import MAX_DEGREE
from ..data.table import Data, DataError, Table, as_data
from ..reporting.text import count, plural, quoted_list
from .categorical import Categories, FeatureNames, NumberedColumns, Words, as_matrix, as_strings, words_of
from .numeric import Numbers
from .statistics import MAX_CATEGORIES, MAX_CATEGORY_CHARS, MAX_WORDS_COUNTED

KINDS = ("table", "sparse", "dense")
MAX_COLUMNS = 1 << 31
MAX_TABLE_COLUMNS = 1_000_000
MAX_NOTES = 1_000
KEYS = {"kind", "columns", "degree", "first", "names", "strings", "notes"}
VECTORS = ("means", "shift", "divide")


@dataclass(frozen=True, eq=False)
class Recipe:
    """How columns become features, learned from the training rows.

    >>> table = Table(("size", "color"), (np.array([1.0, 3.0]), np.array(["red", "blue"], object)))
    >>> recipe = Recipe.learn([table])
    >>> list(recipe.feature_names), recipe.rows(table).to_scipy().toarray().tolist()
    (['size', 'color=blue', 'color=red'], [[1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    """

    kind: str  # kind of the training rows: "table", "sparse" or "dense"
    numbers: Numbers
    names: tuple[str, ...] = ()  # all columns of the table, in the order of the file
    number_names: tuple[str, ...] = ()  # the numeric columns
    strings: tuple[Categories | Words, ...] = ()  # the other columns
    first: int = 0  # the number of the first unnamed column
    notes: tuple[str, ...] = ()  # sentences for the user

    @classmethod
    def learn(
        cls,
        chunks: Iterable[MatrixLike | Data | Table],
        *,
        degree: int = 1,
        scale: str = "auto",
        text: tuple[str, ...] = (),
        categorical: tuple[str, ...] = (),
        first: int | None = None,
    ) -> Recipe:
        """Learn a recipe from training rows in one pass; chunk boundaries do not change the result.

        Parameters
        ----------
        chunks : iterable of Data, Table, array, SciPy matrix or DataFrame
            Consecutive training rows.
        degree : int, default=1
            The largest number of factors in products of numeric columns.
        scale : {"auto", "none", "max", "standard"}, default="auto"
            How features are scaled; "auto" divides by the largest absolute value if ranges differ wildly.
        text, categorical : tuple of str, default=()
            Names of columns that are text or categorical, even if their cells look like numbers.
        first : int, optional
            The number of the first column of a matrix; by default 1 for sparse rows, 0 for arrays.
        """
        from .recipe_fit import fit_recipe

        return fit_recipe(chunks, degree=degree, scale=scale, text=text, categorical=categorical, first=first)

    @property
    def scales(self) -> bool:
        return self.numbers.shift is not None or self.numbers.divide is not None

    def unscaled(self) -> Recipe:
        """The recipe without the scaling, which rounds."""
        return replace(self, numbers=replace(self.numbers, shift=None, divide=None))

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
        return tuple(block.name for block in self.strings if isinstance(block, Words))

    @property
    def categorical(self) -> tuple[str, ...]:
        """The categorical columns."""
        return tuple(block.name for block in self.strings if isinstance(block, Categories))

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

    def count_unknown_columns(self, X: MatrixLike | Data | Table | CSRMatrix) -> int:
        """The number of columns that are not part of the recipe and therefore not used."""
        data = as_data(X)
        features = data.features
        if isinstance(features, Table):
            # A reader leaves out what is not required, and names all columns in `headers`.
            found = {*features.names, *data.headers} - {data.label_name}
            return len(found - set(self.names)) if self.kind == "table" else 0
        return max(0, features.shape[1] - self.numbers.columns) if isinstance(features, CSRMatrix) else 0

    def unknown_categories(self, X: MatrixLike | Data | Table | CSRMatrix) -> list[tuple[str, int, str]]:
        """The categorical columns with values that the training rows did not have: name, number of cells, first value."""
        table, found = as_data(X).features, []
        if self.kind == "table" and isinstance(table, Table):
            places = {name: place for place, name in enumerate(table.names)}
            for block in self.strings:
                if isinstance(block, Categories):
                    unknown = block.unknown(as_strings(table.columns[places[block.name]]))
                    found += [(block.name, len(unknown), unknown[0])] if unknown else []
        return found

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The recipe as JSON values and arrays."""
        return to_parts(self)

    @classmethod
    def from_parts(cls, meta: dict[str, Any], arrays: dict[str, Any]) -> Recipe:
        """The recipe of these parts; raises ValueError for anything that `to_parts` cannot have made."""
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


# --- Stored recipes


def to_parts(recipe: Recipe) -> tuple[dict[str, Any], dict[str, Any]]:
    """A recipe as JSON values and arrays."""
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
    """The recipe of these parts, fully checked."""
    if not isinstance(meta, dict) or meta.keys() != KEYS:
        raise ValueError("a recipe has missing or unknown entries")
    if meta["kind"] not in KINDS:
        raise ValueError(f"a recipe has unknown kind {meta['kind']!r:.80}")
    columns = _integer(meta, "columns", 0, MAX_COLUMNS)
    degree, first = _integer(meta, "degree", 1, MAX_DEGREE), _integer(meta, "first", 0, 1)
    names, notes = _strings(meta["names"], "names", MAX_TABLE_COLUMNS), _strings(meta["notes"], "notes", MAX_NOTES)
    left = dict(arrays)
    strings = _blocks(meta["strings"], left)
    taken = {block.name for block in strings}
    number_names = tuple(name for name in names if name not in taken)
    _check_columns(meta["kind"], columns, first, names, len(number_names), strings)
    width = Numbers(columns, degree).width
    vectors = {}
    for name, length in (("means", columns), ("shift", width), ("divide", width)):
        vectors[name] = _vector(left.pop(name, None), name, length)
    if left:
        raise ValueError(f"a recipe has an unknown array {sorted(left)[0]!r:.80}")
    if vectors["divide"] is not None and not (vectors["divide"] > 0).all():
        raise ValueError("a recipe's divisors must be positive")
    if (vectors["means"] is None) != (meta["kind"] == "sparse"):
        raise ValueError(f"a recipe for {meta['kind']} rows {'has no' if vectors['means'] is None else 'has'} means")
    if vectors["shift"] is not None and (vectors["divide"] is None or meta["kind"] == "sparse"):
        raise ValueError("a recipe that shifts features must be for dense rows and have divisors")
    return Recipe(meta["kind"], Numbers(columns, degree, **vectors), names, number_names, strings, first, notes)


def _check_columns(kind: str, columns: int, first: int, names: Any, n_numeric: int, strings: Any) -> None:
    if len(set(names)) != len(names):
        raise ValueError("a recipe has two columns of the same name")
    if kind != "table":
        if names or strings:
            raise ValueError("a recipe for a matrix must not have column names")
        return
    if first or not names:
        raise ValueError(
            "a recipe for a table has no columns" if not names else "a recipe for a table must not number its columns"
        )
    taken = [block.name for block in strings]
    chosen = set(taken)
    if [name for name in names if name in chosen] != taken:
        raise ValueError("a recipe's columns of strings are not among its columns")
    if columns != n_numeric:
        raise ValueError(f"a recipe has {columns} numeric columns but {n_numeric} names for them")


def _integer(meta: dict[str, Any], key: str, minimum: int, maximum: int) -> int:
    value = meta[key]
    if type(value) is not int or not minimum <= value <= maximum:
        raise ValueError(f"a recipe's {key} must be an integer from {minimum} to {maximum}, got {value!r:.80}")
    return value


def _strings(value: Any, key: str, max_items: int) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > max_items or not all(isinstance(one, str) for one in value):
        raise ValueError(f"a recipe's {key} must be a list of at most {count(max_items)} strings")
    try:
        "".join(value).encode()
    except UnicodeEncodeError:
        raise ValueError(f"a recipe's {key} must be valid text") from None
    return tuple(value)


def _ascending(values: tuple[str, ...]) -> bool:
    return all(one < other for one, other in pairwise(values))


def _blocks(value: Any, arrays: dict[str, Any]) -> tuple[Categories | Words, ...]:
    if not isinstance(value, list) or len(value) > MAX_TABLE_COLUMNS:
        raise ValueError("a recipe's strings must be a list")
    found: list[Categories | Words] = []
    for place, block in enumerate(value):
        if (
            not isinstance(block, list)
            or len(block) != 3
            or not isinstance(block[0], str)
            or block[1] not in ("names", "words")
        ):
            raise ValueError("a recipe's column of strings must have a name, a kind and values")
        if block[1] == "names":
            values = _strings(block[2], "values of a column", MAX_CATEGORIES)
            if not _ascending(values) or max(map(len, values), default=0) > MAX_CATEGORY_CHARS:
                raise ValueError(f"a recipe's categories must ascend and have at most {count(MAX_CATEGORY_CHARS)} characters")
            found.append(Categories(block[0], values))
        else:
            found.append(Words(block[0], _vocabulary(arrays.pop(f"words{place}", None), block[2])))
    return tuple(found)


def _vocabulary(array: Any, size: Any) -> tuple[str, ...]:
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("a recipe's vocabulary must be an array of bytes")
    try:
        words = tuple(array.tobytes().decode().split("\n"))
    except UnicodeDecodeError:
        raise ValueError("a recipe's vocabulary is not UTF-8") from None
    if type(size) is not int or len(words) != size or size > MAX_WORDS_COUNTED:
        raise ValueError(f"a recipe's vocabulary must have {size!r:.80} words, got {count(len(words))}")
    if not _ascending(words) or any(words_of(word) != [word] for word in words):
        raise ValueError("a recipe's vocabulary must be words in ascending order")
    return words


def _vector(array: Any, name: str, length: int) -> FloatArray | None:
    if array is None:
        return None
    if (
        not isinstance(array, np.ndarray)
        or array.dtype != np.float64
        or array.shape != (length,)
        or not np.isfinite(array).all()
    ):
        raise ValueError(f"a recipe's {name} must be {plural(length, 'finite float')}")
    return array
