"""The mail filter and its peers on SpamAssassin's corpus in TREC's protocol, also without the parts that reveal the source.

Order: sorted paths of spam-1, then easy-ham-1, then hard-ham-1, shuffled by `random.Random(seed)`; seed 0 for the race, several
seeds for comparisons, so that nothing is tuned to one order. `mail_choices.py` compares features, learners and protocols.
"""

from __future__ import annotations

import os
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numba  # noqa: F401  (a long-running filter uses compiled code)
import numpy as np
from scipy.sparse import csr_matrix

from rosenblatt.mail import evaluation, features
from rosenblatt.mail.evaluation import evaluate
from rosenblatt.mail.filter import Filter
from rosenblatt.mail.message.message import Message
from rosenblatt.mail.message.parse import parse
from rosenblatt.mail.store.filter_state import Lesson, Settings, State

from . import workloads
from .bogofilter import Bogofilter
from .mail_learners import BITS

FOLDERS = ("spam-1", "easy-ham-1", "hard-ham-1")
R = Settings().r
SHUFFLES = 10
GOAL, RATE = 0.15, 1000.0  # (1 - AUC) % at most, messages a second at least
EQUAL_LOSSES = (0.0, 0.001, 0.005, 0.01)  # shares of ham at which the spam that filters miss is compared
SETTLED_MESSAGES = 1000  # the later ones are also evaluated separately
_TOKEN = re.compile(rb"[A-Za-z0-9$'.@_\x80-\xff-]+")
# Hosts of the collector of the corpus: spam and ham have different names of the same machines, some of them invented later.
_COLLECTORS = re.compile(
    rb"\S*(?:taint\.org|netnoteinc\.com|slashnull\.org|jmason\.org|zzzzason\.org|webnote\.net)|127\.0\.0\.1|193\.120\.211\.219"
)

_RECEIVED = re.compile(rb"^received:[^\n]*(?:\n[ \t][^\n]*)*\n?", re.I | re.M)


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    """Rows of several tables, each with the name of its table."""
    from . import mail_choices

    corpus = load()
    if corpus is None:
        yield {"table": "mail", "skipped": workloads.missing("mail/spamassassin")}
        return
    raws, source = corpus
    if quick:
        raws, source = raws[::10], source[::10]
    spam = source == FOLDERS[0]
    yield from race(f"race (wanted: {GOAL:g} at most, at {RATE:,.0f} messages a second)", raws, spam)
    yield from race("race, without Received and the collector's hosts", [_without_source(raw) for raw in raws], spam)
    if (texts := short_messages()) is not None:
        yield from race("race, SMS", *(each[:: 10 if quick else 1] for each in texts))
    yield from rates(raws, spam)
    messages = [parse(raw) for raw in raws]
    shuffles = 2 if quick else SHUFFLES
    yield from without(messages, source, shuffles)
    yield from mail_choices.feature_sets(raws, messages, spam, min(shuffles, 5))
    yield from mail_choices.learners(messages, spam, min(shuffles, 5))
    yield from mail_choices.mistaken(messages, spam, min(shuffles, 5))
    yield from mail_choices.rehearsals(messages, spam, min(shuffles, 5))
    yield from mail_choices.protocols(messages, spam, min(shuffles, 5))


def load() -> tuple[list[bytes], Any] | None:
    folder = workloads.DATA / "mail" / "spamassassin"
    if not all((folder / name).is_dir() for name in FOLDERS):
        return None
    paths = [path for name in FOLDERS for path in sorted((folder / name).iterdir())]
    return [path.read_bytes() for path in paths], np.array([path.parent.name for path in paths])


def short_messages() -> tuple[list[bytes], Any] | None:
    """The SMS Spam Collection, each message as a mail with the same subject."""
    path = workloads.DATA / "text" / "sms_spam.tsv"
    if not path.is_file():
        return None
    rows = [line.partition("\t") for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [b"Subject: sms\n\n" + text.encode() + b"\n" for _, _, text in rows], np.array([row[0] == "spam" for row in rows])


def order(n: int, seed: int) -> Any:
    places = list(range(n))
    random.Random(seed).shuffle(places)
    return np.array(places)


# --- comparison with peers, from raw bytes --------------------------------------------------------------------------------


class ColumnFilter:
    """The filter on columns, with rehearsal, in memory."""

    def __init__(self) -> None:
        self.state = State(Settings())

    def score(self, columns: Any) -> float:
        return self.state.learner.score(columns)

    def learn(self, columns: Any, spam: bool) -> None:
        self.state.learn_columns([Lesson(self.state.seq + 1, b"", spam, Message())], np.array([0, len(columns)]), columns)


class RawFilter(ColumnFilter):
    """The filter on raw mails, in memory: parse, columns, score, verdict; learn."""

    def score(self, raw: bytes) -> float:
        self.columns = features.columns_of(parse(raw))
        score = super().score(self.columns)
        self.state.calibration().label(score)
        return score

    def learn(self, raw: bytes, spam: bool) -> None:
        super().learn(self.columns, spam)


class NaiveBayes:
    """scikit-learn's MultinomialNB, with one partial_fit per message.

    The vocabulary is known from the start, since hashed columns would be slower. The extraction of features is not timed.
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
    """Word counts of the same fields."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(min_df=2).fit_transform([b"\n".join(parse(raw)).decode("utf-8", "replace") for raw in raws])


def _own_features(raws: list[bytes]) -> Any:
    """The features of the filter, without unused columns."""
    indptr, columns = features.columns_of_many([parse(raw) for raw in raws])
    _, columns = np.unique(columns, return_inverse=True)
    return csr_matrix((np.ones(len(columns)), columns, indptr))


def race(table: str, raws: list[bytes], spam: Any) -> Iterator[dict[str, Any]]:
    """The filter, naive Bayes with defaults and with the best of sixteen settings on these mails, and bogofilter."""
    places = order(len(raws), 0)
    stream = [(raws[i], bool(spam[i])) for i in places]
    evaluation.run(stream, RawFilter())  # compiles
    yield _row(table, "Rosenblatt", *_timed(stream, RawFilter()))
    words = _words(raws)
    yield _row(table, "MultinomialNB, words", *_timed(stream, NaiveBayes(raws, words)))
    tuned: dict[str, Any] = {"alpha": 0.01, "by_length": True}
    yield _row(table, "MultinomialNB, tuned, words once", *_timed(stream, NaiveBayes(raws, words.minimum(1), **tuned)))
    yield _row(table, "MultinomialNB, tuned, our features", *_timed(stream, NaiveBayes(raws, _own_features(raws), **tuned)))
    if Bogofilter.installed():
        with Bogofilter() as peer:
            yield _row(table, "bogofilter", *_timed(stream, peer))
    else:
        yield {"table": table, "skipped": "no bogofilter: install Debian's package"}
    yield _verdicts(stream)


def rates(raws: list[bytes], spam: Any) -> Iterator[dict[str, Any]]:
    """Messages per second for every way to call the filters."""
    stream = [(raws[i], bool(spam[i])) for i in order(len(raws), 0)]
    with tempfile.TemporaryDirectory() as home, Filter.open(home, create=True) as ours:

        def one_by_one() -> None:
            for raw, label in stream:
                ours.classify(raw)
                ours.learn([(raw, label)])

        yield _rate("Rosenblatt, each classified, learned and on disk", len(stream), one_by_one)
        yield _rate("Rosenblatt, classify", len(stream), lambda: [ours.classify(raw) for raw, _ in stream])
    with tempfile.TemporaryDirectory() as home, Filter.open(home, create=True) as ours:
        yield _rate("Rosenblatt, learn in one go, to disk", len(stream), lambda: ours.learn(stream))
    if Bogofilter.installed():
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
    """Scores, labels and CPU seconds, including those of child processes such as bogofilter."""
    start = sum(os.times()[:4])
    scores, truth = evaluation.run(stream, learner)
    return scores, truth, sum(os.times()[:4]) - start


def _row(table: str, name: str, scores: Any, truth: Any, seconds: float) -> dict[str, Any]:
    found = evaluation.figures(scores, truth)
    shown = {key: _interval(getattr(found, key)) for key in ("auc", "hm", "sm", "lam")}
    return {
        "table": table, "filter": name,
        "(1-AUC) %": shown["auc"], "hm %": shown["hm"], "sm %": shown["sm"], "lam %": shown["lam"],
        **{f"sm % at hm {100 * loss:g} %": f"{100 * missed_at(scores, truth, loss):.1f}" for loss in EQUAL_LOSSES},
        "messages/s": f"{len(scores) / seconds:,.0f}", "figures": found, "rate": len(scores) / seconds,
        "curve": evaluation.curve(scores, truth),
    }  # fmt: skip


def missed_at(scores: Any, truth: Any, ham_loss: float) -> float:
    """The share of spam that is not above the lowest threshold that at most this share of ham is above.

    Thresholds of different filters lose different shares of ham; at the same loss their misses can be compared.
    """
    ham, spam = np.sort(scores[~truth])[::-1], scores[truth]
    return float(np.mean(spam <= ham[int(ham_loss * len(ham))]))


def _interval(found: evaluation.Interval) -> str:
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _verdicts(stream: list[tuple[bytes, bool]]) -> dict[str, Any]:
    """The verdicts with the thresholds of the filter at the time."""
    found = evaluate((parse(raw), spam) for raw, spam in stream).table()
    counts = {f"{side} called {label}": f"{count:,}" for side, row in found.items() for label, count in row.items()}
    return {"table": "verdicts at a ham loss of 0.1 %", **counts}


# --- without the parts that reveal the source -------------------------------------------------------------------------------


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
        yield compare("ablation", {"read": name}, *features.columns_of_many([cut(m) for m in messages], BITS), spam, shuffles)
    some = [m for m, kept in zip(messages, easy, strict=True) if kept]
    columns = features.columns_of_many(some, BITS)
    yield compare("ablation", {"read": "all, corpus without hard ham"}, *columns, spam[easy], shuffles)


def compare(
    table: str, name: dict[str, Any], indptr: Any, columns: Any, spam: Any, shuffles: int, make: Any = None
) -> dict[str, Any]:
    """Mean and range over shuffles; without `make`, for the filter itself."""
    found, settled, start = [], [], time.thread_time()
    for seed in range(shuffles):
        places = order(len(spam), seed)
        learner = ColumnFilter() if make is None else make()
        stream = ((columns[indptr[i] : indptr[i + 1]], bool(spam[i])) for i in places)
        scores, truth = evaluation.run(stream, learner)
        found.append(evaluation.figures(scores, truth, resamples=0))
        settled.append(evaluation.figures(scores[SETTLED_MESSAGES:], truth[SETTLED_MESSAGES:], resamples=0).auc.value)
    seconds = (time.thread_time() - start) / shuffles
    aucs = [each.auc.value for each in found]
    return {
        "table": table, **name, "seed 0": f"{aucs[0]:.3f}", "mean": f"{np.mean(aucs):.3f}",
        "range": f"{min(aucs):.3f} - {max(aucs):.3f}",
        f"from message {SETTLED_MESSAGES:,}": f"{np.mean(settled):.3f}",
        "hm %": f"{np.mean([each.hm.value for each in found]):.2f}",
        "sm %": f"{np.mean([each.sm.value for each in found]):.2f}", "columns": f"{len(columns) / len(spam):,.0f}",
        "learned/s": f"{len(spam) / seconds:,.0f}",
    }  # fmt: skip
