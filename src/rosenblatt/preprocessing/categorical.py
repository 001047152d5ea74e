"""Columns of strings as features: names as one-hot vectors, text as bags of words.

Words are runs of two or more letters, digits or underscores, in lower case, as in scikit-learn's CountVectorizer; a bag says
which words of the vocabulary are there, and has length 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np

from ..data.table import Sparse
from .sparse import pointers
from .words import words_of


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
