"""A recipe as it is stored in a model file: JSON values and arrays, which are fully checked when they are read.

meta     kind, columns, degree, first, names, notes, constant (names), dates ([[name, kind], ...]), scale (its kind),
         rows (of training, or null), strings: [[name, "names", [value, ...], has a feature for missing cells], ...] or
         [[name, "text", [[unit, low, high, weight, count], ...]], ...]
arrays   fill, shift, divide: float64, if any; inputs and parts: int64, pairs of a column and a part of it, if features are not
         the columns; indicators: int64, columns; grams0.0, grams0.1, grams1.0, ...: the grams of each part of a column of text
         in UTF-8, one per line, by its place in strings; idf0.0, ...: float64, their factors, if the weight has them; and, if
         the number of rows is given, those of `column_facts.py`
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.polynomials import MAX_DEGREE
from ..reporting.text import count, plural
from .categorical import Categories
from .column_facts import facts_from_arrays
from .date_parts import KINDS as DATE_KINDS
from .date_parts import PARTS, parts_of
from .numeric import Numbers
from .recipe import Recipe
from .scaling import KINDS as SCALING_KINDS
from .statistics import MAX_CATEGORIES, MAX_CATEGORY_CHARS
from .text_features import TextFeatures
from .text_parts import text_from_parts, text_to_parts

KINDS = ("table", "sparse", "dense")
MAX_COLUMNS = 1 << 31
MAX_TABLE_COLUMNS = 1_000_000
MAX_NOTES = 1_000
KEYS = {"kind", "columns", "degree", "first", "names", "strings", "notes", "rows", "constant", "dates", "scale"}
VECTORS = ("fill", "shift", "divide", "indicators")


def to_parts(recipe: Recipe) -> tuple[dict[str, Any], dict[str, Any]]:
    """A recipe as JSON values and arrays."""
    arrays = {name: getattr(recipe.numbers, name) for name in VECTORS if getattr(recipe.numbers, name) is not None}
    if recipe.numbers.inputs is not None:
        arrays["inputs"], arrays["parts"] = (np.ascontiguousarray(each) for each in recipe.numbers.inputs.T)
    strings: list[list[Any]] = []
    for block in recipe.strings:
        if isinstance(block, TextFeatures):
            parts, found = text_to_parts(block, len(strings))
            arrays |= found
            strings.append([block.name, "text", parts])
        else:
            strings.append([block.name, "names", list(block.values), block.missing])
    meta = {
        "kind": recipe.kind,
        "columns": recipe.numbers.columns,
        "degree": recipe.numbers.degree,
        "first": recipe.first,
        "names": list(recipe.names),
        "strings": strings,
        "notes": list(recipe.notes),
        "constant": list(recipe.constant),
        "dates": [list(pair) for pair in recipe.dates],
        "scale": recipe.scale,
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
    dates = _dates(meta["dates"], number_names)
    inputs = _inputs(left, columns, [dict(dates).get(name) for name in number_names])
    fill = _vector(left.pop("fill", None), "fill", columns)
    width = Numbers(columns, degree, inputs=inputs).width
    shift, divide = (_vector(left.pop(name, None), name, width) for name in ("shift", "divide"))
    numbers = Numbers(columns, degree, fill, shift, divide, inputs, _indicators(left, columns))
    _check_numbers(meta["kind"], meta["scale"], numbers)
    facts = facts_from_arrays(meta["rows"], left, columns, strings)
    if left:
        raise ValueError(f"a recipe has an unknown array {sorted(left)[0]!r:.80}")
    constant = _strings(meta["constant"], "constant columns", MAX_TABLE_COLUMNS)
    return Recipe(
        meta["kind"], numbers, names, number_names, strings, first, notes, facts, meta["scale"], dates, constant
    )  # fmt: skip


def _check_numbers(kind: str, scale: Any, numbers: Numbers) -> None:
    if numbers.divide is not None and not (numbers.divide > 0).all():
        raise ValueError("a recipe's divisors must be positive")
    if (numbers.fill is None) != (kind == "sparse"):
        raise ValueError(f"a recipe for {kind} rows {'has no' if numbers.fill is None else 'has'} fill")
    if kind == "sparse" and (numbers.inputs is not None or numbers.indicators is not None):
        raise ValueError("a recipe for sparse rows must have all columns as inputs, and no indicators")
    if scale not in SCALING_KINDS or (scale == "none") != (numbers.divide is None):
        raise ValueError(f"a recipe's scale {scale!r:.80} does not fit its divisors")
    if (scale == "standard") != (numbers.shift is not None):
        raise ValueError("a recipe that shifts features must have the scale standard and divisors")


def _dates(value: Any, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs: list[Any] = value if isinstance(value, list) else [None]
    if not all(isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) for one in pair) for pair in pairs):
        raise ValueError("a recipe's dates must be pairs of a column and its kind")
    dates: dict[str, str] = dict(pairs)
    if len(dates) != len(pairs) or not set(dates) <= set(names) or not set(dates.values()) <= DATE_KINDS.keys():
        raise ValueError("a recipe's dates must be numeric columns of a known kind")
    return tuple(dates.items())


def _inputs(arrays: dict[str, Any], columns: int, kinds: list[str | None]) -> IntArray | None:
    """Take the inputs out of the arrays; `kinds` are those of dates, or nothing for rows without names."""
    chosen, parts = arrays.pop("inputs", None), arrays.pop("parts", None)
    if chosen is None and parts is None:
        return None
    for array in (chosen, parts):
        if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.ndim != 1 or array.shape != chosen.shape:
            raise ValueError("a recipe's inputs must be columns, with a part for each")
    if len(chosen) > MAX_COLUMNS or not ((chosen >= 0) & (chosen < columns) & (parts >= 0) & (parts < len(PARTS))).all():
        raise ValueError("a recipe's inputs must be among its columns")
    if not (np.diff(chosen * len(PARTS) + parts) > 0).all():
        raise ValueError("a recipe's inputs must ascend")
    for column, part in zip(chosen[parts > 0].tolist(), parts[parts > 0].tolist(), strict=True):
        if not kinds or part not in parts_of(kinds[column]):
            raise ValueError(f"a recipe's column {column} has no part {PARTS[part]!r}")
    return np.column_stack([chosen, parts])


def _indicators(arrays: dict[str, Any], columns: int) -> IntArray | None:
    found = arrays.pop("indicators", None)
    if found is None:
        return None
    if not isinstance(found, np.ndarray) or found.dtype != np.int64 or found.ndim != 1:
        raise ValueError("a recipe's indicators must be columns")
    if not ((found >= 0) & (found < columns)).all() or not (np.diff(found) > 0).all():
        raise ValueError("a recipe's indicators must be among its columns, and ascend")
    indicators: IntArray = found
    return indicators


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


def _blocks(value: Any, arrays: dict[str, Any]) -> tuple[Categories | TextFeatures, ...]:
    if not isinstance(value, list) or len(value) > MAX_TABLE_COLUMNS:
        raise ValueError("a recipe's strings must be a list")
    found: list[Categories | TextFeatures] = []
    for place, block in enumerate(value):
        valid = isinstance(block, list) and len(block) >= 3 and isinstance(block[0], str) and block[1] in ("names", "text")
        if not valid or len(block) != (4 if block[1] == "names" else 3):
            raise ValueError("a recipe's column of strings must have a name, a kind and values")
        if block[1] == "names":
            values = _strings(block[2], "values of a column", MAX_CATEGORIES)
            if not _ascending(values) or max(map(len, values), default=0) > MAX_CATEGORY_CHARS:
                raise ValueError(f"a recipe's categories must ascend and have at most {count(MAX_CATEGORY_CHARS)} characters")
            if type(block[3]) is not bool:
                raise ValueError("a recipe's categories must tell whether missing cells are one of them")
            found.append(Categories(block[0], values, block[3]))
        else:
            found.append(text_from_parts(block[0], block[2], place, arrays))
    return tuple(found)


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
