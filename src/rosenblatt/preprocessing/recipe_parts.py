"""A recipe as it is stored in a model file: JSON values and arrays, which are fully checked when they are read.

meta     kind, columns, degree, first, names, notes, rows (of training, or null),
         strings: [[name, "names", [value, ...]] or [name, "words", count], ...]
arrays   means, shift, divide: float64, if any; words0, words1, ...: a vocabulary in UTF-8, one word per line; and, if the
         number of rows is given, those of `column_facts.py`
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..array_types import FloatArray
from ..data.polynomials import MAX_DEGREE
from ..reporting.text import count, plural
from .categorical import Categories, Words, words_of
from .column_facts import facts_from_arrays
from .numeric import Numbers
from .recipe import Recipe
from .statistics import MAX_CATEGORIES, MAX_CATEGORY_CHARS, MAX_WORDS_COUNTED

KINDS = ("table", "sparse", "dense")
MAX_COLUMNS = 1 << 31
MAX_TABLE_COLUMNS = 1_000_000
MAX_NOTES = 1_000
KEYS = {"kind", "columns", "degree", "first", "names", "strings", "notes", "rows"}
VECTORS = ("means", "shift", "divide")


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
        "rows": None if recipe.facts is None else recipe.facts.rows,
    }
    return meta, arrays if recipe.facts is None else arrays | recipe.facts.to_arrays()


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
    facts = facts_from_arrays(meta["rows"], left, columns, strings)
    if left:
        raise ValueError(f"a recipe has an unknown array {sorted(left)[0]!r:.80}")
    if vectors["divide"] is not None and not (vectors["divide"] > 0).all():
        raise ValueError("a recipe's divisors must be positive")
    if (vectors["means"] is None) != (meta["kind"] == "sparse"):
        raise ValueError(f"a recipe for {meta['kind']} rows {'has no' if vectors['means'] is None else 'has'} means")
    if vectors["shift"] is not None and (vectors["divide"] is None or meta["kind"] == "sparse"):
        raise ValueError("a recipe that shifts features must be for dense rows and have divisors")
    return Recipe(meta["kind"], Numbers(columns, degree, **vectors), names, number_names, strings, first, notes, facts)


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
