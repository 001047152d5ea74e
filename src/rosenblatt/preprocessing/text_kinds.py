"""Which runs of words or characters of a text are features, and how they are weighted: the values of `--text-features`.

words              single words
words-2            words and pairs of words; words-3: up to three; words-2-3: two or three
chars-3-5          three to five characters within words; a word begins and ends with a blank
words-2,chars-3-5  both, side by side
binary             single words that occur or do not: words:binary
words:tfidf        another weight: binary, counts, tfidf or log-tfidf, which is the default

Weights are those of scikit-learn: a feature counts n times in a text and is in d of N training texts. `counts` is n, `tfidf`
n (1 + log((1 + N)/(1 + d))), and `log-tfidf` has 1 + log n in place of n. Every text is then brought to length 1. Words of a
single training text are features, since later texts may have them, too; runs of words or characters must be in two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

Unit = Literal["words", "chars"]
Weight = Literal["binary", "counts", "tfidf", "log-tfidf"]
UNITS: tuple[Unit, ...] = get_args(Unit)
WEIGHTS: tuple[Weight, ...] = get_args(Weight)
# The longest runs.
MAX_LENGTH: dict[Unit, int] = {"words": 5, "chars": 10}
MIN_ROWS_OF_A_RUN = 2  # training texts that must contain a run of several words, or of characters
AUTO = "auto"
# What `auto` stands for; docs/defaults.md has the measurements.
DEFAULT = "words"
_ITEM = re.compile(r"(words|chars)(?:-([0-9]{1,4}))?(?:-([0-9]{1,4}))?(?::([a-z-]+))?")
_FORMS = "words, words-2, chars-3-5 or binary, perhaps with a weight, such as words:tfidf"


@dataclass(frozen=True)
class TextKind:
    """Runs of `low` to `high` words or characters, and the weight of each.

    >>> TextKind("words", 1, 2).name, TextKind("words", 1, 1, "binary").name, TextKind("chars", 3, 5, "tfidf").name
    ('words-2', 'binary', 'chars-3-5:tfidf')
    """

    unit: Unit
    low: int = 1
    high: int = 1
    weight: Weight = "log-tfidf"

    @property
    def uses_idf(self) -> bool:
        """Whether grams of few training texts weigh more than those of many."""
        return self.weight in ("tfidf", "log-tfidf")

    def is_kept(self, gram: str, rows: int) -> bool:
        """Whether a gram that is in `rows` training texts is a feature: all single words are, and longer runs that repeat."""
        return rows >= MIN_ROWS_OF_A_RUN or (self.unit == "words" and " " not in gram)

    @property
    def name(self) -> str:
        """The shortest text that stands for this kind."""
        if self == BINARY:
            return "binary"
        lengths = [self.low, self.high] if self.unit == "chars" or self.low > 1 else [self.high] if self.high > 1 else []
        weight = "" if self.weight == "log-tfidf" else f":{self.weight}"
        return "-".join([self.unit, *map(str, lengths)]) + weight

    @property
    def description(self) -> str:
        """What the features are, after their number."""
        if self.unit == "chars":
            return f"runs of {self.low} to {self.high} characters within words"
        if self.high == 1:
            return "words"
        if (self.low, self.high) == (1, 2):
            return "words and pairs of words"
        return f"runs of {self.low} to {self.high} words"


BINARY = TextKind("words", weight="binary")


def parse_text_features(text: str) -> tuple[TextKind, ...]:
    """The kinds of features that a value of `--text-features` names.

    >>> [kind.name for kind in parse_text_features("words-2, chars-3-5:tfidf")]
    ['words-2', 'chars-3-5:tfidf']
    """
    if not isinstance(text, str):
        raise ValueError(f"text_features must be text such as {_FORMS}; got {text!r:.80}")
    kinds = tuple(_parse(item.strip()) for item in (DEFAULT if text == AUTO else text).split(","))
    for unit in UNITS:
        if sum(kind.unit == unit for kind in kinds) > 1:
            raise ValueError(f"text_features {text!r:.80} has two items of {unit}: give one range, such as {unit}-1-3")
    return kinds


def _parse(item: str) -> TextKind:
    if item == "binary":
        return BINARY
    found = _ITEM.fullmatch(item)
    if found is None:
        raise ValueError(f"text_features must be {_FORMS}; got {item!r:.80}")
    unit: Unit = "chars" if found[1] == "chars" else "words"
    first, second, weight = found[2], found[3], found[4]
    if unit == "chars" and second is None:
        raise ValueError(f"text_features {item!r} must have the least and the largest number of characters, such as chars-3-5")
    low, high = (1, int(first or 1)) if second is None else (int(first), int(second))
    if low > high:
        raise ValueError(f"text_features {item!r} has a range that is reversed: write {unit}-{high}-{low}")
    if not 1 <= low <= high <= MAX_LENGTH[unit]:
        raise ValueError(f"text_features {item!r} must have lengths from 1 to {MAX_LENGTH[unit]} {unit}")
    weights: dict[str, Weight] = {each: each for each in WEIGHTS}
    if weight is not None and weight not in weights:
        raise ValueError(f"text_features {item!r} must have a weight among {', '.join(WEIGHTS)}")
    return TextKind(unit, low, high, weights[weight or "log-tfidf"])


def joined_name(kinds: tuple[TextKind, ...]) -> str:
    """The value of `--text-features` for these kinds."""
    return ",".join(kind.name for kind in kinds)
