"""Why: what each feature of a mail added to its score, and the features that say most."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from .features import WIDTH, WORD, Kind, columns_of, kinds_of, named_columns
from .message.message import Message
from .verdict import Reason

# --- Which words of a mail its features touch, so that what they add to a score can be told word by word.
#
# A word's own feature touches the word; a pair of words both; a stretch of letters the words that it overlaps; a line of a
# header the words in it. What touches no word stands for itself. A feature's weight is shared evenly by its places in the
# mail, and at each of them by the words that it touches: so all words together have all of it.


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


# ---

LOOKED = 8  # times as many reasons as are wanted are looked at, for those that say something of their own
WORDS_FIRST = 1.25
PATIENCE = 3.0  # seconds to look for names in the log


def reasons_of(message: Message, columns: Any, weights: Any, bits: int, n: int | None) -> list[Reason]:
    """Every feature of a mail and what it added, the largest first; all of them add up to the score."""
    order = np.argsort(-abs(weights), kind="stable")[: len(columns) if n is None else n]
    names, share = named_columns(message, bits, np.sort(columns[order])), 1.0 / sqrt(max(1, len(columns)))
    return [Reason(_name(names, int(columns[at])), float(weights[at]) * share) for at in order.tolist()]


def words_of(message: Message, columns: Any, weights: Any, bits: int, n: int | None) -> list[Reason]:
    """Every word of a mail and what the features that touch it added, the largest first; all of them add up to the score."""
    found = traces_of(message)
    at = np.searchsorted(columns, found.hashes & np.uint32((1 << bits) - 1))
    # A feature may stand in several places, and several features in one column: each has its part of the column's weight.
    parts = found.shares / np.maximum(np.bincount(at, found.shares, len(columns)), 1e-300)[at]
    added = np.bincount(found.owners, weights[at].astype(np.float64) * parts, len(found.names)) / sqrt(max(1, len(columns)))
    order = np.argsort(-abs(added), kind="stable")[:n]
    return [Reason(found.names[owner](), float(added[owner])) for owner in order.tolist()]


def extremes(weights: Any, n: int) -> tuple[Any, Any]:
    """The columns of the n largest weights over 0 and of the n smallest under 0, the largest first."""
    found = []
    for side in (-weights, weights):
        some = np.argpartition(side, min(n, len(side) - 1))[:n]
        some = some[side[some] < 0]
        found.append(some[np.lexsort((some, side[some]))])
    return found[0], found[1]


def names_in(messages: Iterable[Message], wanted: Any, bits: int, patience: float = PATIENCE) -> dict[int, str]:
    """What columns stand for, from messages that have them; nothing for those that no message has."""
    names: dict[int, str] = {}
    missing, until = np.sort(np.asarray(wanted)), time.monotonic() + patience
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


def telling(reasons: list[Reason], n: int) -> list[Reason]:
    """The n weightiest that say something of their own: no pieces with three letters of one that is there, no pairs with it.
    Words come before pieces that weigh as much or little more.

    >>> some = [Reason('body: ~"lick "', 0.45), Reason('body: "click"', 0.4), Reason('body: "click here"', 0.3)]
    >>> telling(some + [Reason('subject: ~"lick "', 0.2)], 3)
    [Reason(name='body: "click"', weight=0.4), Reason(name='subject: ~"lick "', weight=0.2)]
    """
    kept: list[Reason] = []
    texts: dict[str, list[str]] = {}
    for reason in sorted(reasons, key=lambda reason: -abs(reason.weight) * (1.0 if ': ~"' in reason.name else WORDS_FIRST)):
        if len(kept) == n:
            break
        field, _, quoted = reason.name.partition(": ")
        text, said = quoted.lstrip("~").strip('"').strip(), texts.setdefault(field, [])
        pieces = [text[k : k + 3] for k in range(max(1, len(text) - 2))] if quoted.startswith("~") else [text]
        if not any(piece in f" {other} " for piece in pieces for other in said) and not any(
            f" {other} " in f" {text} " for other in said
        ):
            said.append(text)
            kept.append(reason)
    return sorted(kept, key=lambda reason: -abs(reason.weight))


def listed(columns: Any, weights: Any, names: dict[int, str]) -> list[Reason]:
    return [Reason(_name(names, column), float(weights[column])) for column in columns.tolist()]


def _name(names: dict[int, str], column: int) -> str:
    return names.get(column) or f"column {column}"
