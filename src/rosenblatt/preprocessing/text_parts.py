"""Features of a column of text as they are stored in a model file: JSON values and arrays, checked when they are read."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np

from ..reporting.text import count, plural
from .text_features import MAX_GRAMS, Grams, TextFeatures
from .text_kinds import MAX_LENGTH, UNITS, WEIGHTS, TextKind


def text_to_parts(block: TextFeatures, place: int) -> tuple[list[list[Any]], dict[str, Any]]:
    """The parts of a column of text, and their arrays; `place` is that of the column among those of strings."""
    arrays: dict[str, Any] = {}
    for number, part in enumerate(block.parts):
        arrays[f"grams{place}.{number}"] = np.frombuffer("\n".join(part.grams).encode(), np.uint8)
        if part.idf is not None:
            arrays[f"idf{place}.{number}"] = part.idf
    kinds = ((part.kind, len(part.grams)) for part in block.parts)
    return [[kind.unit, kind.low, kind.high, kind.weight, n] for kind, n in kinds], arrays


def text_from_parts(name: str, parts: Any, place: int, arrays: dict[str, Any]) -> TextFeatures:
    """The features of these parts; takes their arrays out of `arrays`."""
    if not isinstance(parts, list) or not 1 <= len(parts) <= len(UNITS):
        raise ValueError(f"a recipe's column of text must have one to {len(UNITS)} parts")
    found = tuple(
        _grams(part, arrays.pop(f"grams{place}.{number}", None), arrays.pop(f"idf{place}.{number}", None))
        for number, part in enumerate(parts)
    )
    if len({part.kind.unit for part in found}) < len(found):
        raise ValueError("a recipe's column of text must have at most one part of words, and one of characters")
    return TextFeatures(name, found)


def _grams(part: Any, array: Any, idf: Any) -> Grams:
    if not isinstance(part, list) or len(part) != 5:
        raise ValueError("a recipe's part of a text must have a unit, two lengths, a weight and a number of grams")
    unit, low, high, weight, size = part
    if unit not in UNITS or weight not in WEIGHTS:
        raise ValueError(f"a recipe's part of a text has unknown unit {unit!r:.80} or weight {weight!r:.80}")
    if type(low) is not int or type(high) is not int or not 1 <= low <= high <= MAX_LENGTH[unit]:
        raise ValueError(f"a recipe's lengths of {unit} must ascend, from 1 to {MAX_LENGTH[unit]}")
    kind = TextKind(unit, low, high, weight)
    grams = _vocabulary(array, kind, size)
    if (idf is not None) != kind.uses_idf:
        raise ValueError(
            f"a recipe's part of a text with weight {weight} {'must not' if idf is not None else 'must'} have an idf"
        )
    if idf is not None and (
        not isinstance(idf, np.ndarray) or idf.dtype != np.float64 or idf.shape != (size,) or not (idf >= 1.0).all()
    ):
        raise ValueError(f"a recipe's idf must be {plural(size, 'float')} of at least 1")
    if idf is not None and not np.isfinite(idf).all():
        raise ValueError("a recipe's idf must be finite")
    return Grams(kind, grams, idf)


def _vocabulary(array: Any, kind: TextKind, size: Any) -> tuple[str, ...]:
    if not isinstance(array, np.ndarray) or array.dtype != np.uint8 or array.ndim != 1:
        raise ValueError("a recipe's vocabulary must be an array of bytes")
    try:
        text = array.tobytes().decode()
    except UnicodeDecodeError:
        raise ValueError("a recipe's vocabulary is not UTF-8") from None
    grams = tuple(text.split("\n"))
    if type(size) is not int or len(grams) != size or size > MAX_GRAMS:
        raise ValueError(f"a recipe's vocabulary must have {size!r:.80} entries, got {count(len(grams))}")
    pattern = _pattern(kind)
    valid = text == text.lower() and all(pattern.fullmatch(gram) for gram in grams)
    if not valid or not all(one < other for one, other in pairwise(grams)):
        raise ValueError(f"a recipe's vocabulary must be {kind.description} in ascending order")
    return grams


def _pattern(kind: TextKind) -> re.Pattern[str]:
    if kind.unit == "words":
        return re.compile(rf"\w{{2,}}+(?: \w{{2,}}+){{{kind.low - 1},{kind.high - 1}}}+")
    return re.compile(rf"(?=.{{1,{kind.high}}}\Z)(?: ?\S+ ?| )")
