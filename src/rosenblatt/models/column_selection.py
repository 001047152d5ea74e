"""Columns that the steps of a saved Pipeline take: their names, and those that a ColumnTransformer selects for each step.

They are selected by name, position, mask or slice, as scikit-learn selects them.

A file lists the position of every selected column. They are compared with the selection in time that is linear in the size of
the file: each step is compared after its number of columns, and the names are looked up in one table for all steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array_types import Array
from .strict_json import require


def are_columns(columns: Any) -> bool:
    """Whether this is a column or a selection of columns; a function is not stored."""
    if isinstance(columns, np.ndarray):
        text = columns.dtype.kind != "O" or all(type(each) is str for each in columns.tolist())
        return columns.ndim == 1 and columns.dtype.kind in "ibOU" and text
    if type(columns) in (list, tuple):
        return {type(each) for each in columns} in (set(), {int}, {str}, {bool})
    return type(columns) in (int, str, slice)


def same_columns(one: Any, other: Any) -> bool:
    """Whether two selections are written in the same way."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        arrays = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
        return arrays and one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and bool(one == other)


class Selection:
    """The features that a ColumnTransformer takes."""

    def __init__(self, names: Array | None, width: int) -> None:
        self.names = [] if names is None else names.tolist()
        self.places = {name: at for at, name in enumerate(self.names)}
        self.width = width

    def matches(self, columns: Any, places: list[int]) -> bool:
        """Whether these columns are those at the positions that the file lists."""
        if isinstance(columns, slice):
            found = self._range(columns)
            return len(found) == len(places) and list(found) == places
        listed = columns.tolist() if isinstance(columns, np.ndarray) else columns
        listed = list(listed) if isinstance(listed, list | tuple) else [listed]
        if listed and all(type(each) is bool for each in listed):
            require(len(listed) == self.width, "a mask of columns has the wrong length")
            return [at for at, each in enumerate(listed) if each] == places
        return [self.places[each] if isinstance(each, str) else range(self.width)[each] for each in listed] == places

    def of_remainder(self, places: list[int], kind: str) -> list[Any]:
        """The columns that no step selects, written as scikit-learn writes them beside steps of this kind.

        Its own `_get_remainder_cols` takes quadratic time for masks.
        """
        if kind == "str":
            return [self.names[at] for at in places]
        if kind == "bool":
            chosen = set(places)
            return [at in chosen for at in range(self.width)]
        return places

    def _range(self, columns: slice) -> range:
        start, stop = columns.start, columns.stop
        start = self.places[start] if isinstance(start, str) else start
        stop = self.places[stop] + 1 if isinstance(stop, str) else stop  # a name is included, a position is not
        return range(self.width)[slice(start, stop, columns.step)]


# --- names -------------------------------------------------------------------------------------------------------------------


def names_agree(step: Any, names: list[str] | None) -> bool:
    """Whether the names that a fitted step and its steps were fitted with are those of its input; None: not known."""
    kind = type(step).__name__
    if kind == "Pipeline":
        for _, one in step.steps:
            if not names_agree(one, names):
                return False
            names = _names_made(one, names)
        return True
    if kind == "FeatureUnion":
        return all(names_agree(one, names) for _, one in step.transformer_list)
    own = _names_of(step)
    if own is None or names is None:
        return True
    return own == names


def _names_made(step: Any, names: list[str] | None) -> list[str] | None:
    """Names of the features that a step makes, where they are those of its input; None: not known."""
    from sklearn.base import OneToOneFeatureMixin

    if step is None or isinstance(step, str):
        return names if step != "drop" else None
    if type(step).__name__ == "FunctionTransformer" or isinstance(step, OneToOneFeatureMixin):
        return _names_of(step) or names
    return None


def _names_of(step: Any) -> list[str] | None:
    own = getattr(step, "__dict__", {}).get("feature_names_in_")
    return None if own is None else own.tolist()
