"""The mail filter on SpamAssassin's corpus: TREC's protocol, beside its peers, without what gives the source away, and how its
features and learner were chosen.

Order: sorted paths of spam-1, then easy-ham-1, then hard-ham-1, shuffled by `random.Random(seed)`; seed 0 for the race, several
where things are compared, so that nothing is tuned to one order.
"""

from __future__ import annotations

import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numba  # noqa: F401  (a filter that stays runs compiled; without Numba loaded it is one that looks at one mail and goes)
import numpy as np
from scipy.sparse import csr_matrix

from rosenblatt.mail import evaluation, features, learner
from rosenblatt.mail.evaluation import evaluate
from rosenblatt.mail.filter import Filter
from rosenblatt.mail.learner import Learner
from rosenblatt.mail.message.message import Message
from rosenblatt.mail.message.parse import parse
from rosenblatt.mail.store.state import Lesson, Settings, State
from rosenblatt.preprocessing.text.murmur import murmur3_of, murmur3_windows

from . import workloads
from .bogofilter import Bogofilter
from .mail_learners import BITS, LEARNERS

FOLDERS = ("spam-1", "easy-ham-1", "hard-ham-1")
R = Settings().r
SHUFFLES = 10
GOAL, RATE = 0.15, 1000.0  # (1 - AUC) % at most, messages a second at least
SETTLED = 1000  # messages after which a filter is no longer new
_TOKEN = re.compile(rb"[A-Za-z0-9$'.@_\x80-\xff-]+")
# Of the person who collected the corpus: spam and ham came to other names of the same machines, some made up afterwards.
_COLLECTORS = re.compile(
    rb"\S*(?:taint\.org|netnoteinc\.com|slashnull\.org|jmason\.org|zzzzason\.org|webnote\.net)|127\.0\.0\.1|193\.120\.211\.219"
)

_RECEIVED = re.compile(rb"^received:[^\n]*(?:\n[ \t][^\n]*)*\n?", re.I | re.M)


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows of several tables, each with the name of its table."""
    corpus = load()
    if corpus is None:
        yield {
            "table": "mail",
            "skipped": f"no mail/spamassassin in {workloads.DATA}: set ROSENBLATT_DATA to the folder that has it",
        }
        return
    raws, source = corpus
    if quick:
        raws, source = raws[::10], source[::10]
    spam = source == FOLDERS[0]
    yield from race(f"race (wanted: {GOAL:g} at most, at {RATE:,.0f} messages a second)", raws, spam)
    yield from race("race, without Received and the collector's hosts", [_without_source(raw) for raw in raws], spam)
    yield from rates(raws, spam)
    messages = [parse(raw) for raw in raws]
    shuffles = 2 if quick else SHUFFLES
    yield from without(messages, source, shuffles)
    yield from feature_sets(raws, messages, spam, min(shuffles, 5))
    yield from learners(messages, spam, min(shuffles, 5))
    yield from mistaken(messages, spam, min(shuffles, 5))
    yield from rehearsals(messages, spam, min(shuffles, 5))
    yield from protocols(messages, spam, min(shuffles, 5))


def load() -> tuple[list[bytes], Any] | None:
    folder = workloads.DATA / "mail" / "spamassassin"
    if not all((folder / name).is_dir() for name in FOLDERS):
        return None
    paths = [path for name in FOLDERS for path in sorted((folder / name).iterdir())]
    return [path.read_bytes() for path in paths], np.array([path.parent.name for path in paths])


def order(n: int, seed: int) -> Any:
    places = list(range(n))
    random.Random(seed).shuffle(places)
    return np.array(places)


# --- beside its peers, every message from its raw bytes -------------------------------------------------------------------


class Taught:
    """The filter on columns: its state, rehearsal and all, without a disk."""

    def __init__(self) -> None:
        self.state = State(Settings())

    def score(self, columns: Any) -> float:
        return self.state.learner.score(columns)

    def learn(self, columns: Any, spam: bool) -> None:
        self.state.learn_columns([Lesson(self.state.seq + 1, b"", spam, Message())], np.array([0, len(columns)]), columns)


class Ours(Taught):
    """The filter's path for one message from its raw bytes: parse, columns, score, verdict; learn. Without a disk."""

    def score(self, raw: bytes) -> float:
        self.columns = features.columns_of(parse(raw))
        score = super().score(self.columns)
        self.state.calibration().label(score)
        return score

    def learn(self, raw: bytes, spam: bool) -> None:
        super().learn(self.columns, spam)


class NaiveBayes:
    """scikit-learn's MultinomialNB, one partial_fit a message.

    Which columns there are is known from the start: a hashed table would cost it more than it takes. Making rows is not timed.
    """

    def __init__(self, raws: list[bytes], rows: Any, alpha: float = 1.0, by_length: bool = False) -> None:
        from sklearn.naive_bayes import MultinomialNB

        self.rows, self.by_length = rows, by_length
        self.at = {id(raw): i for i, raw in enumerate(raws)}
        self.model: Any = MultinomialNB(fit_prior=False, alpha=alpha)
        self.fitted = False

    def score(self, raw: bytes) -> float:
        if not self.fitted:
            return 0.0
        row = self.rows[self.at[id(raw)]]
        ham, spam = self.model.predict_joint_log_proba(row)[0]
        return float(spam - ham) / (max(float(row.sum()), 1.0) if self.by_length else 1.0)

    def learn(self, raw: bytes, spam: bool) -> None:
        self.model.partial_fit(self.rows[self.at[id(raw)]], [int(spam)], classes=[0, 1])
        self.fitted = True


def _words(raws: list[bytes]) -> Any:
    """Counts of words of the same fields."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(min_df=2).fit_transform([b"\n".join(parse(raw)).decode("utf-8", "replace") for raw in raws])


def _own_features(raws: list[bytes]) -> Any:
    """Those of the filter, in the columns that there are."""
    indptr, columns = features.columns_of_many([parse(raw) for raw in raws])
    _, columns = np.unique(columns, return_inverse=True)
    return csr_matrix((np.ones(len(columns)), columns, indptr))


def race(table: str, raws: list[bytes], spam: Any) -> Iterator[dict[str, Any]]:
    """Naive Bayes as it comes, and at the best of sixteen settings that were tried on these very mails."""
    places = order(len(raws), 0)
    stream = [(raws[i], bool(spam[i])) for i in places]
    evaluation.run(stream, Ours())  # compiles
    yield _row(table, "Rosenblatt", *_timed(stream, Ours()))
    words = _words(raws)
    yield _row(table, "MultinomialNB, words", *_timed(stream, NaiveBayes(raws, words)))
    tuned: dict[str, Any] = {"alpha": 0.01, "by_length": True}
    yield _row(table, "MultinomialNB, tuned, words once", *_timed(stream, NaiveBayes(raws, words.minimum(1), **tuned)))
    yield _row(table, "MultinomialNB, tuned, our features", *_timed(stream, NaiveBayes(raws, _own_features(raws), **tuned)))
    if Bogofilter.there():
        with Bogofilter() as peer:
            yield _row(table, "bogofilter", *_timed(stream, peer))
    else:
        yield {"table": table, "skipped": "no bogofilter: install Debian's package"}
    yield _verdicts(stream)


def rates(raws: list[bytes], spam: Any) -> Iterator[dict[str, Any]]:
    """The same mails by every way to call the filters."""
    stream = [(raws[i], bool(spam[i])) for i in order(len(raws), 0)]
    with tempfile.TemporaryDirectory() as home, Filter.open(home, create=True) as ours:

        def one_by_one() -> None:
            for raw, label in stream:
                ours.classify(raw)
                ours.learn([(raw, label)])

        yield _rate("Rosenblatt, each classified, learnt and on disk", len(stream), one_by_one)
        yield _rate("Rosenblatt, classify", len(stream), lambda: [ours.classify(raw) for raw, _ in stream])
    with tempfile.TemporaryDirectory() as home, Filter.open(home, create=True) as ours:
        yield _rate("Rosenblatt, learn in one go, to disk", len(stream), lambda: ours.learn(stream))
    if Bogofilter.there():
        with Bogofilter() as peer:

            def learn() -> None:
                for label in (True, False):
                    peer.learn_all([raw for raw, is_spam in stream if is_spam is label], label)

            yield _rate("bogofilter -M, learn in one go", len(stream), learn)
            yield _rate("bogofilter -M, classify in one go", len(stream), lambda: peer.score_all([raw for raw, _ in stream]))


def _rate(name: str, count: int, work: Callable[[], Any]) -> dict[str, Any]:
    start, began = sum(os.times()[:4]), time.perf_counter()
    work()
    ended, clock = sum(os.times()[:4]), time.perf_counter()
    a_second = (count / (ended - start), count / (clock - began))
    return {
        "table": "messages a second", "work": name, "processor": f"{a_second[0]:,.0f}", "clock": f"{a_second[1]:,.0f}",
        "rates": a_second,
    }  # fmt: skip


def _timed(stream: Any, learner: Any) -> tuple[Any, Any, float]:
    """Seconds are of processors, those of child processes too: bogofilter is one, and others may run on the machine."""
    start = sum(os.times()[:4])
    scores, truth = evaluation.run(stream, learner)
    return scores, truth, sum(os.times()[:4]) - start


def _row(table: str, name: str, scores: Any, truth: Any, seconds: float) -> dict[str, Any]:
    found = evaluation.figures(scores, truth)
    told = {key: _interval(getattr(found, key)) for key in ("auc", "hm", "sm", "lam")}
    return {
        "table": table, "filter": name, "(1-AUC) %": told["auc"], "hm %": told["hm"], "sm %": told["sm"], "lam %": told["lam"],
        "messages/s": f"{len(scores) / seconds:,.0f}", "figures": found, "rate": len(scores) / seconds,
        "curve": evaluation.curve(scores, truth),
    }  # fmt: skip


def _interval(found: evaluation.Interval) -> str:
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _verdicts(stream: list[tuple[bytes, bool]]) -> dict[str, Any]:
    """What a person would have seen, with the thresholds that the filter had set itself by then."""
    found = evaluate((parse(raw), spam) for raw, spam in stream).table()
    told = {f"{side} called {label}": f"{count:,}" for side, row in found.items() for label, count in row.items()}
    return {"table": "verdicts at a ham loss of 0.1 %", **told}


# --- without what gives the source away -----------------------------------------------------------------------------------


def _only(*kept: str) -> Callable[[Message], Message]:
    return lambda message: Message(**{name: getattr(message, name) for name in kept})


def _without_source(raw: bytes) -> bytes:
    head, blank, body = raw.partition(b"\n\n")
    return _COLLECTORS.sub(b"", _RECEIVED.sub(b"", head) + blank + body)


NO_HEADERS = "no headers (subject, body, links, ...)"
ABLATIONS: dict[str, Callable[[Message], Message]] = {
    "all": lambda m: m,
    "all but the collector's hosts": lambda m: Message(*(_COLLECTORS.sub(b"", field) for field in m)),
    "all but Received": lambda m: m._replace(received=b""),
    "all but Received and other headers": lambda m: m._replace(received=b"", headers=b""),
    NO_HEADERS: _only("subject", "body", "links", "attachments"),
    "body only": _only("body"),
    "headers only": lambda m: m._replace(body=b"", links=b"", attachments=b""),
}


def without(messages: list[Message], source: Any, shuffles: int) -> Iterator[dict[str, Any]]:
    spam, easy = source == FOLDERS[0], source != FOLDERS[2]
    for name, cut in ABLATIONS.items():
        yield _compared("ablation", {"read": name}, *features.columns_of_many([cut(m) for m in messages], BITS), spam, shuffles)
    some = [m for m, kept in zip(messages, easy, strict=True) if kept]
    columns = features.columns_of_many(some, BITS)
    yield _compared("ablation", {"read": "all, corpus without hard ham"}, *columns, spam[easy], shuffles)


def _compared(
    table: str, name: dict[str, Any], indptr: Any, columns: Any, spam: Any, shuffles: int, make: Any = None
) -> dict[str, Any]:
    """Mean and range over shuffles; the filter itself learns unless told."""
    found, settled, start = [], [], time.thread_time()
    for seed in range(shuffles):
        places = order(len(spam), seed)
        learner = Taught() if make is None else make()
        stream = ((columns[indptr[i] : indptr[i + 1]], bool(spam[i])) for i in places)
        scores, truth = evaluation.run(stream, learner)
        found.append(evaluation.figures(scores, truth, resamples=0))
        settled.append(evaluation.figures(scores[SETTLED:], truth[SETTLED:], resamples=0).auc.value)
    seconds = (time.thread_time() - start) / shuffles
    aucs = [each.auc.value for each in found]
    return {
        "table": table, **name, "seed 0": f"{aucs[0]:.3f}", "mean": f"{np.mean(aucs):.3f}",
        "range": f"{min(aucs):.3f} - {max(aucs):.3f}",
        f"from message {SETTLED:,}": f"{np.mean(settled):.3f}", "hm %": f"{np.mean([each.hm.value for each in found]):.2f}",
        "sm %": f"{np.mean([each.sm.value for each in found]):.2f}", "columns": f"{len(columns) / len(spam):,.0f}",
        "learnt/s": f"{len(spam) / seconds:,.0f}",
    }  # fmt: skip


# --- how features and learner were chosen ---------------------------------------------------------------------------------

Hashes = Callable[[bytes, Message], list[Any]]


def _raw_grams(width: int) -> Hashes:
    return lambda raw, _: [murmur3_windows(np.frombuffer(raw[:3000], np.uint8), width)]


def _kinds(wanted: Callable[[Any], bool]) -> Hashes:
    return lambda _, message: [kind.hashes for kind in features.kinds_of(message) if wanted(kind)]


def _is_gram(kind: Any) -> bool:
    return isinstance(kind.tokens, bytes)


def _other_grams(message: Message) -> Any:
    """Those of the body that the filter leaves out."""
    room = features.FIELD_BYTES["body"]
    plain = b" " + b" ".join(features.folded(message.body[: features.MAX_SPACE_FACTOR * room]).split())[:room] + b" "
    return murmur3_windows(np.frombuffer(plain, np.uint8), features.WIDTH, features.BODY)


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
    """People put mail on the wrong side: some labels are turned for the learner, and it is judged by the right ones."""
    indptr, columns = features.columns_of_many(messages, BITS)
    for r in (0.01, 0.03, 0.1, 0.3, 1.0):
        row = {"table": "labels that are wrong", "AROW": f"r = {r:g}"}
        for share in (0.0, 0.01, 0.03):
            found = []
            for seed in range(shuffles):
                places, learner = order(len(spam), seed), Learner(BITS, r)
                told = spam ^ (np.random.default_rng(seed).random(len(spam)) < share)
                scores = [learner.learn(columns[indptr[i] : indptr[i + 1]], bool(told[i])) for i in places]
                found.append(evaluation.figures(scores, spam[places], resamples=0).auc.value)
            row[f"{share:.0%} wrong"] = f"{np.mean(found):.3f}"
        yield row


def rehearsals(messages: list[Message], spam: Any, shuffles: int) -> Iterator[dict[str, Any]]:
    """After how many messages of one side the other is rehearsed: mixed mail, some labels wrong, one side after the other."""
    indptr, columns = features.columns_of_many(messages, BITS)
    rows = [columns[start:stop] for start, stop in pairwise(indptr.tolist())]
    chosen = learner.RUN_LENGTH
    for run in (1, 5, chosen, 20, 1 << 30):
        learner.RUN_LENGTH = run
        told = {"table": "rehearsal", "after": f"{run} of one side" if run < 1 << 30 else "never"}
        for share in (0.0, 0.02):
            found = []
            for seed in range(shuffles):
                places, filter_ = order(len(spam), seed), Taught()
                wrong = np.random.default_rng(seed).random(len(spam)) < share
                scores = []
                for i in places:
                    scores.append(filter_.score(rows[i]))
                    filter_.learn(rows[i], bool(spam[i] ^ wrong[i]))
                found.append(evaluation.figures(scores, spam[places], resamples=0).auc.value)
            told[f"(1-AUC) %, {share:.0%} wrong"] = f"{np.mean(found):.3f}"
        for first in (False, True):
            found = []
            for seed in range(shuffles):
                places, filter_ = order(len(spam), seed), Taught()
                taught, new = places[: 4 * len(places) // 5], places[4 * len(places) // 5 :]
                for i in taught[np.argsort(spam[taught] != first, kind="stable")]:
                    filter_.learn(rows[i], bool(spam[i]))
                found.append([(filter_.score(rows[i]) > 0.0) != spam[i] for i in new if spam[i] == first])
            told[f"{'spam' if first else 'ham'} first, then the rest: % of new {'spam' if first else 'ham'} wrong"] = (
                f"{100 * np.mean(np.concatenate(found)):.1f}"
            )
        yield told
    learner.RUN_LENGTH = chosen


def protocols(messages: list[Message], spam: Any, shuffles: int) -> Iterator[dict[str, Any]]:
    """When the filter is told, and of which messages."""
    indptr, columns = features.columns_of_many(messages, BITS)
    ways: dict[str, dict[str, Any]] = {
        "everything at once": {}, "everything, 100 messages later": {"delay": 100},
        "everything, 500 messages later": {"delay": 500}, "errors": {"train": "error"},
        "errors and within 0.5": {"train": "near", "band": 0.5},
    }  # fmt: skip
    for name, way in ways.items():
        found = []
        for seed in range(shuffles):
            stream = ((columns[indptr[i] : indptr[i + 1]], bool(spam[i])) for i in order(len(spam), seed))
            found.append(evaluation.figures(*evaluation.run(stream, Taught(), **way), resamples=0))
        means = {key: f"{np.mean([getattr(each, key).value for each in found]):.3f}" for key in ("auc", "hm", "sm")}
        yield {"table": "protocols", "learnt": name, "(1-AUC) %": means["auc"], "hm %": means["hm"], "sm %": means["sm"]}


def _both(
    table: str, name: dict[str, Any], whole: Any, bare: Any, spam: Any, shuffles: int, make: Any = None
) -> dict[str, Any]:
    """On whole mails and on those without headers: what is chosen should be good at both."""
    row = _compared(table, name, *whole, spam, shuffles, make)
    return row | {"no headers: mean": _compared(table, name, *bare, spam, shuffles, make)["mean"]}
