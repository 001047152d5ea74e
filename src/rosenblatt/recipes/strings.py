"""Columns of strings as features: names as one-hot vectors, text as bags of words.

Words are runs of two or more letters, digits or underscores, in lower case, as in scikit-learn's CountVectorizer; a bag says
which words of the vocabulary are there, and has length 1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rosenblatt.readers.data import Sparse

from .stacking import pointers

_WORD = re.compile(r"\b\w\w+\b")


def words_of(text: str) -> set[str]:
    """The different words of a text.

    >>> sorted(words_of("The cat, the CAT: a 2nd one!"))
    ['2nd', 'cat', 'one', 'the']
    """
    return set(_WORD.findall(text.lower()))


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
        places = self._places
        bags = [sorted(places[word] for word in words_of(cell) & places.keys()) if cell else [] for cell in cells]
        counts = np.array([len(bag) for bag in bags], np.int64)
        indices = np.array([place for bag in bags for place in bag], np.int32)
        lengths = np.sqrt(np.maximum(counts, 1))
        return Sparse(np.repeat(1 / lengths, counts), indices, pointers(counts), self.width)
