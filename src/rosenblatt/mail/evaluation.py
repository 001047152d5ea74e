"""A fresh filter, measured on mail as it comes: what it says of each message, before it learns it."""

from __future__ import annotations

import calendar
import math
import re
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from .features import columns_of
from .message.message import Message
from .store.state import Lesson, Settings, State

# --- How a filter is judged: as TREC's spam tracks did, every message is classified before it is learnt.
#
# Protocol   messages come in order; the filter gives each a score, and is told the truth at once or `delay` messages later
# Figures    hm: share of ham called spam;  sm: share of spam called ham;
#            lam = logistic((logit hm + logit sm) / 2), which no shift of the threshold helps much;
#            1 - AUC: the chance that a ham scores above a spam, ties counting half, which knows of no threshold
# Reference  G. Cormack and T. Lynam, TREC 2005 spam track overview, NIST SP 500-266, 2005; "near error" is the thick threshold
#            of D. Sculley and G. Wachman, Relaxed online SVMs for spam filtering, SIGIR 2007.

TRAIN = ("all", "error", "near")
BAND = 0.5  # of scores about the boundary that are near errors; the learner itself leaves alone what is beyond 1
CELLS_PER_BLOCK = 4_000_000  # of a block of resamples


class Learns(Protocol):
    """What can be judged: a score over `threshold` leans to spam; `learn` gives the score from before."""

    def score(self, message: Any, /) -> float: ...

    def learn(self, message: Any, spam: bool, /) -> Any: ...


def run(
    stream: Iterable[tuple[Any, bool]],
    learner: Learns,
    *,
    delay: int = 0,
    train: str = "all",
    band: float = BAND,
    threshold: float = 0.0,
) -> tuple[Any, Any]:
    """The scores of the messages in order, each from before the message was learnt, and whether they were spam.

    Which messages are learnt is decided by the score at that time: `train` is "all", "error" (those on the wrong side of
    `threshold`) or "near" (those too that are on the right side by less than `band`).
    """
    if train not in TRAIN:
        raise ValueError(f"train must be one of {', '.join(TRAIN)}, got {train!r}")
    if delay < 0:
        raise ValueError(f"delay must be 0 or more messages, got {delay}")
    scores: list[float] = []
    truth: list[bool] = []
    waiting: deque[tuple[Any, bool, bool]] = deque()
    near = {"all": math.inf, "error": 0.0, "near": band}[train]
    for message, spam in stream:
        score = float(learner.score(message))
        scores.append(score)
        truth.append(bool(spam))
        beyond = score - threshold
        right = beyond > 0 if spam else beyond <= 0
        waiting.append((message, bool(spam), not right or abs(beyond) < near))
        if len(waiting) > delay:
            _learn(learner, *waiting.popleft())
    while waiting:  # so that the filter has learnt the same messages in the end, whatever the delay
        _learn(learner, *waiting.popleft())
    return np.array(scores), np.array(truth, bool)


def _learn(learner: Learns, message: Any, spam: bool, wanted: bool) -> None:
    if wanted:
        learner.learn(message, spam)


class Interval(NamedTuple):
    value: float
    low: float
    high: float


class Figures(NamedTuple):
    """All in percent, with the interval that 95 % of resamples lie in."""

    ham: int
    spam: int
    hm: Interval
    sm: Interval
    lam: Interval
    auc: Interval  # 100 (1 - AUC)


def figures(scores: Any, spam: Any, *, threshold: float = 0.0, resamples: int = 1000, seed: int = 0) -> Figures:
    """The four figures of scores; the bootstrap draws as many ham among ham and spam among spam.

    What all messages of a side share, all resamples do, and they show no spread. There the ends are exact binomial bounds, the
    "rule of three":
    hm, sm   where none of n is wrong, from 0 to 1 - 0.05^(1/n); where all are, from 0.05^(1/n) to 1
    lam      where that is so of hm or sm, the logistic averages of the lower and of the upper ends of both
    1 - AUC  where no pair is in wrong order, from 0 to 1 - 0.05^(1/n) of the smaller side's n, of which one wrong message puts
             1/n of the pairs in wrong order at most; where all are, from 0.05^(1/n) to 1
    NaN where there is no ham or no spam.
    """
    scores, spam = np.asarray(scores, float), np.asarray(spam, bool)
    steps = np.unique(scores, return_inverse=True)[1]
    called = np.zeros(int(steps.max(initial=-1)) + 1, bool)
    called[steps] = scores > threshold
    ham_at, spam_at = (np.bincount(steps[side], minlength=len(called)) for side in (~spam, spam))
    n_ham, n_spam = int(ham_at.sum()), int(spam_at.sum())
    if not n_ham or not n_spam:
        nothing = Interval(math.nan, math.nan, math.nan)
        hm, sm = (
            _share(int(at[wrong].sum()), int(at.sum()), np.zeros(0)) if at.sum() else nothing
            for at, wrong in ((ham_at, called), (spam_at, ~called))
        )
        return Figures(n_ham, n_spam, hm, sm, nothing, nothing)
    random, drawn = np.random.default_rng(seed), []
    block = max(1, CELLS_PER_BLOCK // len(called))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        of_ham, of_spam = (_drawn(random, steps[side], size, len(called)) for side in (~spam, spam))
        drawn.append(_counted(of_ham, of_spam, called))
    seen, many = _counted(ham_at[None], spam_at[None], called), np.concatenate([np.zeros((0, 4)), *drawn])
    lost, passed = int(ham_at[called].sum()), int(spam_at[~called].sum())
    hm, sm = _share(lost, n_ham, many[:, 0]), _share(passed, n_spam, many[:, 1])
    lam, auc = (Interval(float(seen[0, k]), *_middle(many[:, k])) for k in (2, 3))
    if lost in (0, n_ham) or passed in (0, n_spam):
        lam = lam._replace(low=_averaged(hm.low, n_ham, sm.low, n_spam), high=_averaged(hm.high, n_ham, sm.high, n_spam))
    return Figures(n_ham, n_spam, hm, sm, lam, _at_ends(auc, min(n_ham, n_spam)))


def _drawn(random: Any, steps: Any, size: int, width: int) -> Any:
    """For each of `size` resamples of as many messages, how many are at each score."""
    places = steps[random.integers(0, len(steps), (size, len(steps)))] + width * np.arange(size)[:, None]
    return np.bincount(places.ravel(), minlength=size * width).reshape(size, width)


def _counted(ham_at: Any, spam_at: Any, called: Any) -> Any:
    """hm, sm, lam and 1 - AUC in percent, for every row of counts of ham and spam at ascending scores."""
    n_ham, n_spam = ham_at.sum(axis=1), spam_at.sum(axis=1)
    lost, passed = ham_at[:, called].sum(axis=1), spam_at[:, ~called].sum(axis=1)
    above = ham_at.cumsum(axis=1)
    wrong = (spam_at * (n_ham[:, None] - above + 0.5 * ham_at)).sum(axis=1) / (n_ham * n_spam)
    lam = _logistic_average(lost, n_ham, passed, n_spam)
    return 100.0 * np.stack([lost / n_ham, passed / n_spam, lam, wrong], axis=1)


def _logit(wrong: Any, of: Any) -> Any:
    """Of a share; none and all are taken as half a message from there, as their logits are infinite."""
    wrong = np.clip(wrong, 0.5, of - 0.5)
    return np.log(wrong / (of - wrong))


def _logistic_average(lost: Any, n_ham: Any, passed: Any, n_spam: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-0.5 * (_logit(lost, n_ham) + _logit(passed, n_spam))))


def _averaged(hm: float, n_ham: int, sm: float, n_spam: int) -> float:
    return float(100.0 * _logistic_average(hm * n_ham / 100.0, n_ham, sm * n_spam / 100.0, n_spam))


def _share(wrong: int, of: int, drawn: Any) -> Interval:
    return _at_ends(Interval(100.0 * wrong / of, *_middle(drawn)), of)


def _at_ends(share: Interval, of: int) -> Interval:
    """Nothing wrong among `of` messages is not that nothing can be, and all wrong is not that all must be."""
    if share.value == 0.0:
        return share._replace(low=0.0, high=100.0 * (1.0 - 0.05 ** (1.0 / of)))
    return share if share.value < 100.0 else share._replace(low=100.0 * 0.05 ** (1.0 / of), high=100.0)


def _middle(drawn: Any) -> tuple[float, float]:
    if not len(drawn):
        return math.nan, math.nan
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


class Point(NamedTuple):
    """Percent over the first `messages` messages; NaN where they have no ham or no spam."""

    messages: int
    hm: float
    sm: float
    auc: float


def curve(scores: Any, spam: Any, *, threshold: float = 0.0, points: int = 60) -> list[Point]:
    """How the figures came about: over ever longer beginnings of the run, their lengths in steps of one ratio."""
    n = len(scores)
    if not n:
        return []
    lengths = np.unique(np.geomspace(min(10, n), n, points).round().astype(int))
    found = (figures(scores[:m], spam[:m], threshold=threshold, resamples=0) for m in lengths)
    return [Point(int(m), f.hm.value, f.sm.value, f.auc.value) for m, f in zip(lengths, found, strict=True)]


# ---

LABELS = ("spam", "unsure", "ham")


class Evaluation(NamedTuple):
    scores: Any
    spam: Any
    verdicts: Any  # positions in LABELS
    figures: Figures  # where a score over 0 is spam

    def table(self) -> dict[str, dict[str, int]]:
        """How many ham and spam got which verdict, with the thresholds that the filter had set itself by then."""
        sides = (("ham", ~self.spam), ("spam", self.spam))
        return {side: {label: int((self.verdicts[of] == k).sum()) for k, label in enumerate(LABELS)} for side, of in sides}


def evaluate(
    messages: Iterable[tuple[Message, bool]],
    *,
    settings: Settings | None = None,
    delay: int = 0,
    train: str = "all",
    band: float = BAND,
    seed: int = 0,
) -> Evaluation:
    """Classify, then learn; see `trec.run` for `delay`, `train` and `band`."""
    judged = _Judged(State(settings or Settings()))
    stream = (((message, columns_of(message, judged.state.settings.bits)), spam) for message, spam in messages)
    scores, spam = run(stream, judged, delay=delay, train=train, band=band)
    return Evaluation(scores, spam, np.array(judged.verdicts, np.int8), figures(scores, spam, seed=seed))


class _Judged:
    """A filter's state as `trec.run` wants it; remembers its verdicts."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.verdicts: list[int] = []

    def score(self, message: Any) -> float:
        score = self.state.learner.score(message[1])
        self.verdicts.append(LABELS.index(self.state.calibration().label(score)))
        return score

    def learn(self, message: Any, spam: bool) -> None:
        lesson = Lesson(self.state.seq + 1, b"", spam, message[0])
        self.state.learn_columns([lesson], np.array([0, len(message[1])]), message[1])


# --- Which messages there are and in which order they came: TREC's index files, and the dates of headers.

MAX_HEADER_BYTES = 65_536  # bytes in which headers are looked for
_RECEIVED = re.compile(rb"^received:((?:[^\n]*\n[ \t])*[^\n]*)", re.I | re.M)
_DATE = re.compile(rb"^date:([^\n]*)", re.I | re.M)
_BLANK = re.compile(rb"\r?\n\r?\n")


def read_index(path: Any) -> list[tuple[Path, bool]]:
    """The messages of an index of TREC's, lines `spam ../data/inmail.1`, in its order; paths start at the index's folder."""
    path = Path(path)
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), 1):
        if not line.strip():
            continue
        label, _, name = line.strip().partition(" ")
        if label.lower() not in ("spam", "ham") or not name.strip():
            raise ValueError(f"line {number} of {path} must be `spam PATH` or `ham PATH`, got {line[:60]!r}")
        found.append((path.parent / name.strip(), label.lower() == "spam"))
    return found


def sent(raw: bytes) -> float:
    """When a mail came, in seconds of Unix; infinity where it does not say.

    By the uppermost `Received`, which the reader's own server wrote, else by `Date`, which the sender chose.

    >>> sent(b"Date: Thu, 1 Jan 1970 01:00:00 +0100\\n\\nHello")
    0.0
    """
    head = _BLANK.split(raw[:MAX_HEADER_BYTES], maxsplit=1)[0]
    received, date = _RECEIVED.search(head), _DATE.search(head)
    for text in (received[1].rpartition(b";")[2] if received else b"", date[1] if date else b""):
        when = _seconds(text.decode("latin-1"))
        if when is not None:
            return when
    return math.inf


def _seconds(text: str) -> float | None:
    from email.utils import parsedate_tz

    try:
        parts = parsedate_tz(" ".join(text[:200].split()))
        return None if parts is None else float(calendar.timegm(parts[:9]) - (parts[9] or 0))
    except (ValueError, OverflowError, TypeError, IndexError):  # a date such as the 40th of month 13
        return None


def chronological(messages: Iterable[tuple[str, bytes, bool]]) -> list[tuple[str, bytes, bool]]:
    """Messages (name, raw, spam) in the order in which they came; at the same second by name, and without a date at the end."""
    return sorted(messages, key=lambda message: (sent(message[1]), message[0]))
