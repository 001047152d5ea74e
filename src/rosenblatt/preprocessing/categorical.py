"""Columns of strings as features: names as one-hot vectors, text as bags of words.

Words are runs of two or more letters, digits or underscores, in lower case, as in scikit-learn's CountVectorizer; a bag says
which words of the vocabulary are there, and has length 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any, overload

import numpy as np

from ..data.table import DataError, Sparse, Table, number_as_text
from .numeric import Numbers
from .sparse import pointers

# --- Columns of a table as numbers or as strings, whichever a recipe wants of them.


def as_numbers(cells: Any, source: str, name: str) -> Any:
    """A column of floats; strings are read as such."""
    if cells.dtype.kind != "O":
        return cells
    found = np.empty(len(cells))
    for at, cell in enumerate(cells):
        try:
            found[at] = np.nan if cell is None else float(cell)
        except ValueError:
            shown = cell if len(cell) <= 40 else cell[:37] + "..."
            raise DataError(
                source, f"{shown!r} in row {at + 1:,} is not a number, as in the rows before", column=name
            ) from None
    return found


def as_strings(cells: Any) -> Any:
    """A column of str; numbers are written as such."""
    if cells.dtype.kind == "O":
        return cells
    found = np.empty(len(cells), object)
    found[:] = [None if cell != cell else number_as_text(cell) for cell in cells.tolist()]
    return found


def as_matrix(table: Table, source: str, names: Sequence[str]) -> Any:
    """Some columns of a table as an array of floats."""
    places = {name: place for place, name in enumerate(table.names)}
    X = np.empty((table.shape[0], len(names)))
    for j, name in enumerate(names):
        X[:, j] = as_numbers(table.columns[places[name]], source, name)
    return X


# --- What a word is: a run of two or more letters, digits or underscores, in lower case, as in scikit-learn's vectorizers.

_WORD = re.compile(r"\w\w+")
# ASCII text is cut at blanks, twice as fast: letters in lower case, and a blank for what is not of a word.
_LOWER = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128)).lower() + bytes(128)


def words_of(text: str) -> list[str]:
    """The words of a text.

    >>> words_of("The cat, the CAT: a 2nd one!")
    ['the', 'cat', 'the', 'cat', '2nd', 'one']
    """
    if text.isascii():
        return [word for word in text.encode("ascii").translate(_LOWER).decode("ascii").split() if len(word) > 1]
    return _WORD.findall(text.lower())


# ---


@dataclass(frozen=True)
class Categories:
    """Feature k is 1 where the cell is the k-th value; a value that was not there in training has none."""

    name: str
    values: tuple[str, ...]  # sorted

    @cached_property
    def _places(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self.values)}

    @property
    def width(self) -> int:
        return len(self.values)

    def feature_name(self, feature: int) -> str:
        return f"{self.name}={self.values[feature]}"

    def sparse(self, cells: Any) -> Sparse:
        places = self._places
        codes = np.array([places.get(cell, -1) for cell in cells], np.int32)
        known = codes >= 0
        return Sparse(np.ones(int(known.sum())), codes[known], pointers(known), self.width)


@dataclass(frozen=True)
class Words:
    """Feature k is 1/sqrt(m) where the k-th word is among the m known words of the cell."""

    name: str
    words: tuple[str, ...]  # sorted

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @property
    def width(self) -> int:
        return len(self.words)

    def feature_name(self, feature: int) -> str:
        return f"{self.name}:{self.words[feature]}"

    def sparse(self, cells: Any) -> Sparse:
        bags = [words_of(cell) if cell else [] for cell in cells]
        places = np.array(list(map(self._places.get, chain.from_iterable(bags), repeat(-1))), np.int64)
        rows = np.repeat(np.arange(len(bags)), np.fromiter(map(len, bags), np.int64, len(bags)))
        known = places >= 0
        found = np.unique(rows[known] * self.width + places[known])  # each word of a row once, in order
        counts = np.bincount(found // self.width, minlength=len(bags))
        lengths = np.sqrt(np.maximum(counts, 1))
        return Sparse(np.repeat(1 / lengths, counts), (found % self.width).astype(np.int32), pointers(counts), self.width)


# --- Names of features, made when asked for: a million columns are not a million strings.


class Counted(Sequence[str]):
    """The names of columns that have none: their numbers, from `first`.

    >>> Counted(3, 1)[-1], list(Counted(2, 0))
    ('3', ['0', '1'])
    """

    def __init__(self, columns: int, first: int) -> None:
        self.columns, self.first = columns, first

    def __len__(self) -> int:
        return self.columns

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: Any) -> Any:
        found = range(self.columns)[at]
        return str(found + self.first) if isinstance(found, int) else [str(one + self.first) for one in found]


class FeatureNames(Sequence[str]):
    """Those of the numbers and their products, then of each column of strings."""

    def __init__(self, numbers: Numbers, names: Sequence[str], strings: tuple[Categories | Words, ...]) -> None:
        self._numbers, self._names, self._strings = numbers, names, strings

    def __len__(self) -> int:
        return self._numbers.width + sum(block.width for block in self._strings)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[one] for one in range(len(self))[at]]
        feature = range(len(self))[at]
        if feature < self._numbers.columns:
            return self._names[feature]
        if feature < self._numbers.width:
            return self._numbers.polynomial.name(feature, self._names)
        feature -= self._numbers.width
        for block in self._strings:
            if feature < block.width:
                return block.feature_name(feature)
            feature -= block.width
        raise AssertionError
