"""Comparisons of features, learners and protocols of the mail filter on SpamAssassin's corpus, over several shuffles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from rosenblatt.mail import evaluation, features, learner
from rosenblatt.mail.learner import Learner
from rosenblatt.mail.message.message import Message
from rosenblatt.preprocessing.text.murmur import murmur3_of, murmur3_windows

from .mail import ABLATIONS, NO_HEADERS, ColumnFilter, R, compare, order
from .mail_learners import BITS, LEARNERS

_TOKEN = re.compile(rb"[A-Za-z0-9$'.@_\x80-\xff-]+")

Hashes = Callable[[bytes, Message], list[Any]]


def _raw_grams(width: int) -> Hashes:
    return lambda raw, _: [murmur3_windows(np.frombuffer(raw[:3000], np.uint8), width)]


def _kinds(wanted: Callable[[Any], bool]) -> Hashes:
    return lambda _, message: [kind.hashes for kind in features.kinds_of(message) if wanted(kind)]


def _is_gram(kind: Any) -> bool:
    return isinstance(kind.tokens, bytes)


def _other_grams(message: Message) -> Any:
    """All grams of the body; the filter uses half of them."""
    room = features.FIELD_BYTES["body"]
    plain = b" " + b" ".join(features.folded(message.body[: features.MAX_SPACE_FACTOR * room]).split())[:room] + b" "
    return murmur3_windows(np.frombuffer(plain, np.uint8), features.GRAM_BYTES, features.BODY_FIELD)


SETS: dict[str, Hashes] = {
    "4 bytes of the first 3,000, raw": _raw_grams(4),
    "5 bytes of the first 3,000, raw": _raw_grams(5),
    "words of the first 3,000 bytes, raw": lambda raw, _: [murmur3_of(_TOKEN.findall(raw[:3000]))],
    "fields: words": _kinds(lambda kind: not _is_gram(kind) and not kind.firsts),
    "fields: words, pairs, headers": _kinds(lambda kind: not _is_gram(kind)),
    "fields: 5 bytes (of the body every second)": _kinds(_is_gram),
    "the same, and words": _kinds(lambda kind: not kind.firsts),
    "fields: 5 bytes, words, pairs, headers": lambda _, message: [
        *_kinds(lambda kind: True)(b"", message),
        _other_grams(message),
    ],
    "the same, of the body every second (chosen)": _kinds(lambda kind: True),
}


def feature_sets(raws: list[bytes], messages: list[Message], spam: Any, shuffles: int) -> Iterator[dict[str, Any]]:
    cut, bodies = ABLATIONS[NO_HEADERS], [raw.partition(b"\n\n")[2] for raw in raws]
    bare = [cut(message) for message in messages]
    for name, hashes in SETS.items():
        yield _both(
            "features, with AROW r = 0.1", {"features": name}, _rows(hashes, raws, messages), _rows(hashes, bodies, bare), spam,
            shuffles, lambda: Learner(BITS, R),
        )  # fmt: skip


def _rows(hashes: Hashes, raws: list[bytes], messages: list[Message]) -> tuple[Any, Any]:
    mask, nothing = np.uint32((1 << BITS) - 1), np.zeros(0, np.uint32)
    rows = [np.unique(np.concatenate([nothing, *hashes(*both)]) & mask) for both in zip(raws, messages, strict=True)]
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])]), np.concatenate(rows)


def learners(messages: list[Message], spam: Any, shuffles: int) -> Iterator[dict[str, Any]]:
    cut = ABLATIONS[NO_HEADERS]
    whole, bare = features.columns_of_many(messages, BITS), features.columns_of_many([cut(m) for m in messages], BITS)
    for name, make in LEARNERS.items():
        yield _both("learners, on the chosen features", {"learner": name}, whole, bare, spam, shuffles, make)


def mistaken(messages: list[Message], spam: Any, shuffles: int) -> Iterator[dict[str, Any]]:
    """Robustness to wrong labels: some labels are flipped for the learner, and its scores are evaluated on the right ones."""
    indptr, columns = features.columns_of_many(messages, BITS)
    for r in (0.01, 0.03, 0.1, 0.3, 1.0):
        row = {"table": "wrong labels", "AROW": f"r = {r:g}"}
        for share in (0.0, 0.01, 0.03):
            found = []
            for seed in range(shuffles):
                places, learner = order(len(spam), seed), Learner(BITS, r)
                labels = spam ^ (np.random.default_rng(seed).random(len(spam)) < share)
                scores = [learner.learn(columns[indptr[i] : indptr[i + 1]], bool(labels[i])) for i in places]
                found.append(evaluation.figures(scores, spam[places], resamples=0).auc.value)
            row[f"{share:.0%} wrong"] = f"{np.mean(found):.3f}"
        yield row


def rehearsals(messages: list[Message], spam: Any, shuffles: int) -> Iterator[dict[str, Any]]:
    """The run length before rehearsal: on mixed mail, with wrong labels, and with one class after the other."""
    indptr, columns = features.columns_of_many(messages, BITS)
    rows = [columns[start:stop] for start, stop in pairwise(indptr.tolist())]
    chosen = learner.RUN_LENGTH
    for run in (1, 5, chosen, 20, 1 << 30):
        learner.RUN_LENGTH = run
        row = {"table": "rehearsal", "after": f"{run} of one class" if run < 1 << 30 else "never"}
        for share in (0.0, 0.02):
            found = []
            for seed in range(shuffles):
                places, filter_ = order(len(spam), seed), ColumnFilter()
                wrong = np.random.default_rng(seed).random(len(spam)) < share
                scores = []
                for i in places:
                    scores.append(filter_.score(rows[i]))
                    filter_.learn(rows[i], bool(spam[i] ^ wrong[i]))
                found.append(evaluation.figures(scores, spam[places], resamples=0).auc.value)
            row[f"(1-AUC) %, {share:.0%} wrong"] = f"{np.mean(found):.3f}"
        for first in (False, True):
            wrongly: list[list[bool]] = []
            for seed in range(shuffles):
                places, filter_ = order(len(spam), seed), ColumnFilter()
                learned, new = places[: 4 * len(places) // 5], places[4 * len(places) // 5 :]
                for i in learned[np.argsort(spam[learned] != first, kind="stable")]:
                    filter_.learn(rows[i], bool(spam[i]))
                wrongly.append([(filter_.score(rows[i]) > 0.0) != spam[i] for i in new if spam[i] == first])
            row[f"{'spam' if first else 'ham'} first, then the rest: % of new {'spam' if first else 'ham'} wrong"] = (
                f"{100 * np.mean(np.concatenate(wrongly)):.1f}"
            )
        yield row
    learner.RUN_LENGTH = chosen


def protocols(messages: list[Message], spam: Any, shuffles: int) -> Iterator[dict[str, Any]]:
    """When the filter gets labels, and of which messages."""
    indptr, columns = features.columns_of_many(messages, BITS)
    options: dict[str, dict[str, Any]] = {
        "everything at once": {}, "everything, 100 messages later": {"delay": 100},
        "everything, 500 messages later": {"delay": 500}, "errors": {"train": "error"},
        "errors and within 0.5": {"train": "near", "band": 0.5},
    }  # fmt: skip
    for name, given in options.items():
        found = []
        for seed in range(shuffles):
            stream = ((columns[indptr[i] : indptr[i + 1]], bool(spam[i])) for i in order(len(spam), seed))
            found.append(evaluation.figures(*evaluation.run(stream, ColumnFilter(), **given), resamples=0))
        means = {key: f"{np.mean([getattr(each, key).value for each in found]):.3f}" for key in ("auc", "hm", "sm")}
        yield {"table": "protocols", "learned": name, "(1-AUC) %": means["auc"], "hm %": means["hm"], "sm %": means["sm"]}


def _both(
    table: str, name: dict[str, Any], whole: Any, bare: Any, spam: Any, shuffles: int, make: Any = None
) -> dict[str, Any]:
    """Compare on whole mails and on mails without headers, since the choice should be good at both."""
    (indptr, columns), (bare_indptr, bare_columns) = whole, bare
    row = compare(table, name, indptr, columns, spam, shuffles, make)
    return row | {"no headers: mean": compare(table, name, bare_indptr, bare_columns, spam, shuffles, make)["mean"]}
