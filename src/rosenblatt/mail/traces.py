"""Which words of a mail its features touch, so that what they add to a score can be told word by word.

A word's own feature touches the word; a pair of words both; a stretch of letters the words that it overlaps; a line of a header
the words in it. What touches no word stands for itself. A feature's weight is shared evenly by its places in the mail, and at
each of them by the words that it touches: so all words together have all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .features import WIDTH, WORD, Kind, kinds_of
from .message.message import Message


class Traces(NamedTuple):
    hashes: Any  # of a feature, once for each word that it touches,
    owners: Any  # which word that is: a place in names,
    shares: Any  # and what part of it the word has
    names: list[Callable[[], str]]


def traces_of(message: Message) -> Traces:
    found = _Found()
    kinds = kinds_of(message)
    for kind in kinds:
        if kind.field == "headers":
            found.add_headers(kind, next(kinds))
        else:
            found.add_field(kind, kinds)
    return found.traces()


class _Found:
    def __init__(self) -> None:
        self.names: list[Callable[[], str]] = []
        self.parts: list[tuple[Any, Any, Any]] = [(np.zeros(0, np.uint32), np.zeros(0, np.int64), np.zeros(0))]

    def traces(self) -> Traces:
        hashes, owners, shares = (np.concatenate(each) for each in zip(*self.parts, strict=True))
        return Traces(hashes, owners, shares, self.names)

    def add_field(self, words: Kind, kinds: Iterator[Kind]) -> None:
        """The words of a field, the pairs, if it has some, and the stretches of letters."""
        owners = self._owners(words, words.tokens)
        self._add(words.hashes, owners)
        grams = next(kinds)
        if not isinstance(grams.tokens, bytes):
            pairs, grams = grams, next(kinds)
            self._add(np.repeat(pairs.hashes, 2), np.stack([owners[:-1], owners[1:]], axis=1).ravel(), 0.5)
        self._add_grams(grams, owners)

    def _add_grams(self, grams: Kind, owners: Any) -> None:
        assert isinstance(grams.tokens, bytes)
        spans = np.array([word.span() for word in WORD.finditer(grams.tokens)], np.int64).reshape(-1, 2)
        first = np.searchsorted(spans[:, 1], grams.places, side="right")
        touched = np.searchsorted(spans[:, 0], np.asarray(grams.places) + WIDTH, side="left") - first
        which = np.repeat(first - np.cumsum(touched) + touched, touched) + np.arange(int(touched.sum()))
        self._add(np.repeat(grams.hashes, touched), owners[which], np.repeat(1.0 / np.maximum(touched, 1), touched))
        alone = np.flatnonzero(touched == 0)
        self._add(grams.hashes[alone], self._owners(grams, [grams.hashes[at] for at in alone], alone))

    def add_headers(self, lines: Kind, words: Kind) -> None:
        owners = self._owners(words, list(zip(words.firsts, words.tokens, strict=True)))
        self._add(words.hashes, owners)
        at = 0
        for number, line in enumerate(lines.tokens):
            held = len(WORD.findall(line.partition(b": ")[2])) if isinstance(line, bytes) else 0
            own = owners[at : at + held] if held else self._owners(lines, [line], [number])
            self._add(np.repeat(lines.hashes[number], len(own)), own, 1.0 / len(own))
            at += held

    def _owners(self, kind: Kind, tokens: Any, places: Any = None) -> Any:
        """Places in `names` of what features stand for; the same token has the same one."""
        known: dict[Any, int] = {}
        for at, token in zip(range(len(tokens)) if places is None else places, tokens, strict=True):
            if token not in known:
                known[token] = len(self.names)
                self.names.append(lambda kind=kind, at=int(at): kind.name(at))  # type: ignore[misc]
        return np.array([known[token] for token in tokens], np.int64)

    def _add(self, hashes: Any, owners: Any, share: Any = 1.0) -> None:
        self.parts.append((hashes, owners, np.broadcast_to(share, len(owners))))
