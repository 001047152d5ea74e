"""Explanations: the contribution of each feature or word to the score of a mail, and the heaviest features of a filter.

`reasons_of` lists features, `words_of` words. A feature touches words: the feature of a word touches the word, a pair both
words, a gram the words that it overlaps, a header line the words in it. A feature that touches no word counts as a word of its
own. The weight of a feature is shared evenly by its places in the mail, and at each place by the words that it touches, so that
the contributions of all words add up to the score.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from ..array_types import FloatArray, IntArray
from .features import GRAM_BYTES, WORD, FeatureName, Kind, columns_of, kinds_of, named_columns
from .message.message import Message
from .verdict import Reason

CANDIDATES_PER_REASON = 8  # features that are examined for each distinct one to be shown
WORD_PREFERENCE = 1.25  # factor by which words are preferred to grams of similar weight
NAME_SEARCH_S = 3.0  # seconds to search the log for names of columns


# --- which words the features of a mail touch ------------------------------------------------------------------------------


class Traces(NamedTuple):
    """Features and the words that they touch, one entry for each such pair."""

    hashes: IntArray  # the hash of the feature
    owners: IntArray  # the word, as a position in `names`
    shares: FloatArray  # the share of the feature that belongs to the word
    names: list[Callable[[], FeatureName]]


def traces_of(message: Message) -> Traces:
    """The words that each feature of a message touches."""
    found = _TraceBuilder()
    kinds = kinds_of(message)
    for kind in kinds:
        if kind.field == "headers":
            found.add_headers(kind, next(kinds))
        else:
            found.add_field(kind, kinds)
    return found.traces()


class _TraceBuilder:
    """Collects the traces of a message, kind by kind."""

    def __init__(self) -> None:
        self.names: list[Callable[[], FeatureName]] = []
        self.parts: list[tuple[IntArray, IntArray, FloatArray]] = [(np.zeros(0, np.uint32), np.zeros(0, np.int64), np.zeros(0))]

    def traces(self) -> Traces:
        hashes, owners, shares = (np.concatenate(each) for each in zip(*self.parts, strict=True))
        return Traces(hashes, owners, shares, self.names)

    def add_field(self, words: Kind, kinds: Iterator[Kind]) -> None:
        """Add the words of a field, its pairs, if any, and its grams."""
        owners = self._owners(words, words.tokens)
        self._add(words.hashes, owners)
        grams = next(kinds)
        if not isinstance(grams.tokens, bytes):
            pairs, grams = grams, next(kinds)
            self._add(np.repeat(pairs.hashes, 2), np.stack([owners[:-1], owners[1:]], axis=1).ravel(), 0.5)
        self._add_grams(grams, owners)

    def _add_grams(self, grams: Kind, owners: IntArray) -> None:
        """Add grams, each shared by the words that it overlaps."""
        assert isinstance(grams.tokens, bytes)
        spans = np.array([word.span() for word in WORD.finditer(grams.tokens)], np.int64).reshape(-1, 2)
        first = np.searchsorted(spans[:, 1], grams.places, side="right")
        touched = np.searchsorted(spans[:, 0], np.asarray(grams.places) + GRAM_BYTES, side="left") - first
        which = np.repeat(first - np.cumsum(touched) + touched, touched) + np.arange(int(touched.sum()))
        self._add(np.repeat(grams.hashes, touched), owners[which], np.repeat(1.0 / np.maximum(touched, 1), touched))
        alone = np.flatnonzero(touched == 0)
        self._add(grams.hashes[alone], self._owners(grams, [grams.hashes[at] for at in alone], alone))

    def add_headers(self, lines: Kind, words: Kind) -> None:
        """Add header words, and lines shared by their words."""
        owners = self._owners(words, list(zip(words.firsts, words.tokens, strict=True)))
        self._add(words.hashes, owners)
        at = 0
        for number, line in enumerate(lines.tokens):
            held = len(WORD.findall(line.partition(b": ")[2])) if isinstance(line, bytes) else 0
            own = owners[at : at + held] if held else self._owners(lines, [line], [number])
            self._add(np.repeat(lines.hashes[number], len(own)), own, 1.0 / len(own))
            at += held

    def _owners(self, kind: Kind, tokens: Sequence[Hashable], places: Iterable[int] | None = None) -> IntArray:
        """Positions in `names` of tokens; equal tokens share one."""
        known: dict[Hashable, int] = {}
        for at, token in zip(range(len(tokens)) if places is None else places, tokens, strict=True):
            if token not in known:
                known[token] = len(self.names)
                self.names.append(lambda kind=kind, at=int(at): kind.name(at))  # type: ignore[misc]
        return np.array([known[token] for token in tokens], np.int64)

    def _add(self, hashes: IntArray, owners: IntArray, share: float | FloatArray = 1.0) -> None:
        self.parts.append((hashes, owners, np.broadcast_to(share, len(owners))))


# --- contributions to the score of a mail -----------------------------------------------------------------------------------


def reasons_of(message: Message, columns: IntArray, weights: FloatArray, bits: int, n: int | None) -> list[Reason]:
    """The n heaviest features of a mail with their contributions; with n=None they add up to the score."""
    order = np.argsort(-abs(weights), kind="stable")[: len(columns) if n is None else n]
    names, share = named_columns(message, bits, np.sort(columns[order])), 1.0 / sqrt(max(1, len(columns)))
    return [reason_of(names, int(columns[at]), float(weights[at]) * share) for at in order.tolist()]


def words_of(message: Message, columns: IntArray, weights: FloatArray, bits: int, n: int | None) -> list[Reason]:
    """The n heaviest words of a mail with their contributions; with n=None they add up to the score."""
    found = traces_of(message)
    at = np.searchsorted(columns, found.hashes & np.uint32((1 << bits) - 1))
    # A feature may occur several times, and several features may share a column: each gets its share of the column's weight.
    parts = found.shares / np.maximum(np.bincount(at, found.shares, len(columns)), 1e-300)[at]
    added = np.bincount(found.owners, weights[at].astype(np.float64) * parts, len(found.names)) / sqrt(max(1, len(columns)))
    order = np.argsort(-abs(added), kind="stable")[:n]
    return [Reason(str(found.names[owner]()), float(added[owner])) for owner in order.tolist()]


# --- the heaviest features of a filter --------------------------------------------------------------------------------------


def extremes(weights: FloatArray, n: int) -> tuple[IntArray, IntArray]:
    """The columns of the n largest positive and of the n largest negative weights, the heaviest first."""
    found = []
    for side in (-weights, weights):
        some = np.flatnonzero(side < 0)  # few: most weights of a filter are zero
        if len(some) > n:
            some = some[side[some] <= np.partition(side[some], n - 1)[n - 1]]
        found.append(some[np.lexsort((some, side[some]))][:n])
    return found[0], found[1]


def names_in(
    messages: Iterable[Message], wanted: IntArray | list[int], bits: int, seconds: float = NAME_SEARCH_S
) -> dict[int, FeatureName]:
    """The names of columns, from messages that have them, as far as they are found within `seconds`."""
    names: dict[int, FeatureName] = {}
    missing, until = np.sort(np.asarray(wanted)), time.monotonic() + seconds
    for message in messages:
        if not len(missing) or time.monotonic() > until:
            break
        columns = columns_of(message, bits)
        at = np.minimum(np.searchsorted(columns, missing), max(0, len(columns) - 1))
        there = columns[at] == missing if len(columns) else np.zeros(len(missing), bool)
        if there.any():
            names.update(named_columns(message, bits, missing[there]))
            missing = missing[~there]
    return names


def distinct(features: Sequence[tuple[FeatureName | None, float]], n: int) -> list[int]:
    """The positions of the n heaviest features without repetitions, the heaviest first: no gram that shares three letters with
    a listed word, no pair that has one. A word is preferred to a gram of similar weight.

    features : names and weights; features without a name repeat nothing

    >>> body, subject = FeatureName("body", "lick ", is_gram=True), FeatureName("subject", "lick ", is_gram=True)
    >>> words = [(FeatureName("body", "click"), 0.4), (FeatureName("body", "click here"), 0.3)]
    >>> distinct([(body, 0.45), *words, (subject, 0.2)], 3)
    [1, 3]
    """
    names, sizes = [name for name, _ in features], [abs(weight) for _, weight in features]
    preferred = [size * (1.0 if name and name.is_gram else WORD_PREFERENCE) for name, size in zip(names, sizes, strict=True)]
    kept: list[int] = []
    texts: dict[str, list[str]] = {}
    for at in sorted(range(len(features)), key=lambda at: -preferred[at]):
        if len(kept) == n:
            break
        name = names[at]
        if name is None or _is_new(name, texts.setdefault(name.field, [])):
            kept.append(at)
    return sorted(kept, key=lambda at: -sizes[at])


def _is_new(name: FeatureName, others: list[str]) -> bool:
    """Whether a feature repeats none of the other texts of its field, to which its own is then added."""
    text = name.text.strip('"').strip()
    pieces = [text[k : k + 3] for k in range(max(1, len(text) - 2))] if name.is_gram else [text]
    for other in (f" {each} " for each in others):
        if other in f" {text} " or any(piece in other for piece in pieces):
            return False
    others.append(text)
    return True


def reason_of(names: Mapping[int, FeatureName], column: int, weight: float) -> Reason:
    """A column with its name, or with its number if the name is unknown, and its weight."""
    return Reason(str(names.get(column) or f"column {column}"), weight)
