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
from .features import GRAM_BYTES, WORD, Kind, columns_of, kinds_of, named_columns
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
    names: list[Callable[[], str]]


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
        self.names: list[Callable[[], str]] = []
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
    return [Reason(_name(names, int(columns[at])), float(weights[at]) * share) for at in order.tolist()]


def words_of(message: Message, columns: IntArray, weights: FloatArray, bits: int, n: int | None) -> list[Reason]:
    """The n heaviest words of a mail with their contributions; with n=None they add up to the score."""
    found = traces_of(message)
    at = np.searchsorted(columns, found.hashes & np.uint32((1 << bits) - 1))
    # A feature may occur several times, and several features may share a column: each gets its share of the column's weight.
    parts = found.shares / np.maximum(np.bincount(at, found.shares, len(columns)), 1e-300)[at]
    added = np.bincount(found.owners, weights[at].astype(np.float64) * parts, len(found.names)) / sqrt(max(1, len(columns)))
    order = np.argsort(-abs(added), kind="stable")[:n]
    return [Reason(found.names[owner](), float(added[owner])) for owner in order.tolist()]


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
) -> dict[int, str]:
    """The names of columns, from messages that have them, as far as they are found within `seconds`."""
    names: dict[int, str] = {}
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


def distinct(reasons: list[Reason], n: int) -> list[Reason]:
    """The n heaviest reasons without repetitions: no gram that shares three letters with a listed word, no pair that has one.
    A word is preferred to a gram of similar weight.

    >>> some = [Reason('body: ~"lick "', 0.45), Reason('body: "click"', 0.4), Reason('body: "click here"', 0.3)]
    >>> distinct(some + [Reason('subject: ~"lick "', 0.2)], 3)
    [Reason(name='body: "click"', weight=0.4), Reason(name='subject: ~"lick "', weight=0.2)]
    """
    kept: list[Reason] = []
    texts: dict[str, list[str]] = {}
    for reason in sorted(reasons, key=lambda reason: -abs(reason.weight) * (1.0 if ': ~"' in reason.name else WORD_PREFERENCE)):
        if len(kept) == n:
            break
        field, _, quoted = reason.name.partition(": ")
        text, others = quoted.lstrip("~").strip('"').strip(), texts.setdefault(field, [])
        pieces = [text[k : k + 3] for k in range(max(1, len(text) - 2))] if quoted.startswith("~") else [text]
        if not any(piece in f" {other} " for piece in pieces for other in others) and not any(
            f" {other} " in f" {text} " for other in others
        ):
            others.append(text)
            kept.append(reason)
    return sorted(kept, key=lambda reason: -abs(reason.weight))


def listed(columns: IntArray, weights: Mapping[int, float], names: dict[int, str]) -> list[Reason]:
    """Columns with their names and weights."""
    return [Reason(_name(names, column), float(weights[column])) for column in columns.tolist()]


def _name(names: dict[int, str], column: int) -> str:
    return names.get(column) or f"column {column}"
