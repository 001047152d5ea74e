"""The grams of a few texts in plain Python, without Numba, whose import takes longer than counting them.

`gram_tables.py` has the same for many texts; both find the same grams in the same order.
"""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from math import sqrt

import numpy as np

from ...array_types import FloatArray, IntArray
from ..text_kinds import TextKind

# Texts of at least this many characters together are counted by compiled code: where Numba is loaded, and where it is not.
COMPILED_FROM, IMPORT_FROM = 1 << 10, 1 << 17
WORD = re.compile(r"\w\w+")


def are_few(n_chars: int) -> bool:
    """Whether texts of this many characters together take less time here than with compiled code."""
    return n_chars < (COMPILED_FROM if "numba" in sys.modules else IMPORT_FROM)


def words_of(text: str) -> list[str]:
    """The words of a text.

    >>> words_of("The cat, the CAT: a 2nd one!")
    ['the', 'cat', 'the', 'cat', '2nd', 'one']
    """
    return WORD.findall(text.lower())


def grams_of(text: str, kind: TextKind) -> list[str]:
    """All grams of a text; lone surrogates are question marks.

    >>> grams_of("The cat sat", TextKind("words", 1, 2))
    ['the', 'cat', 'sat', 'the cat', 'cat sat']
    >>> grams_of("a cat", TextKind("chars", 3, 4))
    [' a ', ' ca', 'cat', 'at ', ' cat', 'cat ']
    """
    text = text.encode("utf-8", "replace").decode()
    if kind.unit == "words":
        words = words_of(text)
        sizes = range(kind.low, kind.high + 1)
        return [" ".join(words[start : start + size]) for size in sizes for start in range(len(words) - size + 1)]
    found: list[str] = []
    for part in text.lower().split():
        padded = f" {part} "
        for size in range(kind.low, kind.high + 1):
            if len(padded) <= size:  # a short part counts once
                found.append(padded)
                break
            found.extend(padded[start : start + size] for start in range(len(padded) - size + 1))
    return found


def count_rows_of(texts: list[str], kind: TextKind) -> dict[str, int]:
    """The number of texts that contain each gram."""
    rows: dict[str, int] = {}
    for text in texts:
        for gram in dict.fromkeys(grams_of(text, kind)):
            rows[gram] = rows.get(gram, 0) + 1
    return rows


def find_places(texts: list[str], kind: TextKind, places: dict[str, int]) -> tuple[IntArray, IntArray, IntArray]:
    """The places of the known grams of each text in ascending order, how often each occurs, and row pointers."""
    indices: list[int] = []
    counts: list[int] = []
    ends = [0]
    for text in texts:
        here: dict[int, int] = {}
        for gram in grams_of(text, kind):
            place = places.get(gram)
            if place is not None:
                here[place] = here.get(place, 0) + 1
        found = sorted(here.items())
        indices.extend(place for place, _ in found)
        counts.extend(times for _, times in found)
        ends.append(len(indices))
    return np.array(indices, np.int32), np.array(counts, np.int64), np.array(ends, np.int64)


def normalize_rows(values: FloatArray, indptr: IntArray) -> None:
    """Divide each row by its Euclidean length, with the bits of the kernel: squares are added one by one."""
    numbers, bounds = values.tolist(), indptr.tolist()
    for start, stop in pairwise(bounds):
        total = 0.0
        for value in numbers[start:stop]:
            total += value * value
        if total:
            values[start:stop] /= sqrt(total)
