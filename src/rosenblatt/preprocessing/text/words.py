"""What a word is: token patterns that are runs of one kind of character, and stop words, for the kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ...kernels.text.grams import StopWords, slot_of_word

# A flag; a word boundary; one kind of character, perhaps repeated; at least once, or at least n times; a word boundary.
RUN_PATTERN = re.compile(
    r"(?:\(\?u\))?(?P<left>\\b)?(?P<one>\\w|\\S|\[\^?[A-Za-z0-9_\-]+\])(?P<more>(?P=one)*)"
    r"(?:(?P<plus>\+)|\{(?P<least>\d{1,3}),\})(?P<right>\\b)?"
)
MAX_SHORTEST = 1000


class WordPattern(NamedTuple):
    """Words are the longest runs of at least `shortest` characters that match `of_words`, a pattern of one character."""

    of_words: str
    shortest: int


DEFAULT_WORDS = WordPattern(r"\w", 2)


def word_pattern(pattern: object) -> WordPattern | None:
    r"""The runs that a token pattern finds; None for patterns of another form.

    >>> word_pattern(r"(?u)\b\w\w+\b"), word_pattern("[a-z]{3,}"), word_pattern(r"\w+-\w+")
    (WordPattern(of_words='\\w', shortest=2), WordPattern(of_words='[a-z]', shortest=3), None)
    """
    found = RUN_PATTERN.fullmatch(pattern) if isinstance(pattern, str) else None
    if found is None:
        return None
    one, least = found["one"], 1 if found["plus"] else int(found["least"])
    shortest = len(found["more"]) // len(one) + least
    # Runs of word characters end at word boundaries; runs of other characters may not.
    bounded = bool(found["left"] or found["right"]) and one != r"\w"
    if bounded or not least or shortest > MAX_SHORTEST:
        return None
    try:
        re.compile(one)
    except re.error:
        return None
    return WordPattern(one, shortest)


def stop_word_table(words: Iterable[object]) -> StopWords:
    """The table of these words; what is not a string never equals a word."""
    pieces = sorted({word.encode("utf-8", "surrogatepass") for word in words if isinstance(word, str) and word})
    text, bounds = np.frombuffer(b"".join(pieces) + bytes(4), np.uint8), np.zeros(len(pieces) + 1, np.uintp)
    np.cumsum([len(piece) for piece in pieces], out=bounds[1:], dtype=np.uintp)
    size = 4
    while size < 2 * len(pieces):
        size *= 2
    slots = np.zeros(size if pieces else 0, np.uint32)
    for number in range(len(pieces)):
        slot = int(slot_of_word(text, bounds[number], bounds[number + 1], size))
        while slots[slot]:
            slot = (slot + 1) % size
        slots[slot] = number + 1
    return StopWords(slots, bounds, text, np.uintp(max(map(len, pieces), default=0)))
