"""Evaluation of a new filter in the protocol of TREC's spam tracks: every message is classified, then learned.

Protocol   messages come in order; the filter scores each, and gets its label at once or `delay` messages later
Figures    hm: share of ham called spam;  sm: share of spam called ham;
           lam = logistic((logit hm + logit sm) / 2), which a shift of the threshold hardly changes;
           1 - AUC: the probability that a ham scores above a spam, ties counting half, which does not depend on a threshold
Reference  G. Cormack and T. Lynam, TREC 2005 spam track overview, NIST SP 500-266, 2005; "near error" is the thick threshold
           of D. Sculley and G. Wachman, Relaxed online SVMs for spam filtering, SIGIR 2007.

The order of messages comes from TREC's index files (`read_index`) or from the dates in their headers (`chronological`).
"""

from __future__ import annotations

import calendar
import math
import os
import re
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ..array_types import BoolArray, FloatArray, IntArray
from .features import columns_of
from .message.message import Message
from .store.filter_state import Lesson, Settings, State

AnyMessage = TypeVar("AnyMessage")
MessageIn = TypeVar("MessageIn", contravariant=True)
TRAIN = ("all", "error", "near")
BAND = 0.5  # scores within this distance of the threshold are near errors; the learner ignores messages beyond 1
CELLS_PER_BLOCK = 4_000_000  # size of a block of resamples
LABELS = ("spam", "unsure", "ham")
MAX_HEADER_BYTES = 65_536  # bytes in which date headers are searched
_RECEIVED = re.compile(rb"^received:((?:[^\n]*\n[ \t])*[^\n]*)", re.I | re.M)
_DATE = re.compile(rb"^date:([^\n]*)", re.I | re.M)
_BLANK = re.compile(rb"\r?\n\r?\n")


class Learns(Protocol[MessageIn]):
    """A learner that can be evaluated: a score above `threshold` means spam."""

    def score(self, message: MessageIn, /) -> float: ...

    def learn(self, message: MessageIn, spam: bool, /) -> object: ...


def run(
    stream: Iterable[tuple[AnyMessage, bool]],
    learner: Learns[AnyMessage],
    *,
    delay: int = 0,
    train: str = "all",
    band: float = BAND,
    threshold: float = 0.0,
) -> tuple[FloatArray, BoolArray]:
    """(scores, spam): the score of each message before it was learned, and whether it was spam.

    `train` selects the messages that are learned, by their scores: "all"; "error", those on the wrong side of `threshold`;
    or "near", also those within `band` on the right side.
    """
    if train not in TRAIN:
        raise ValueError(f"train must be one of {', '.join(TRAIN)}, got {train!r}")
    if delay < 0:
        raise ValueError(f"delay must be 0 or more messages, got {delay}")
    scores: list[float] = []
    truth: list[bool] = []
    waiting: deque[tuple[AnyMessage, bool, bool]] = deque()
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
    while waiting:  # so that all messages are learned in the end, with any delay
        _learn(learner, *waiting.popleft())
    return np.array(scores), np.array(truth, bool)


def _learn(learner: Learns[AnyMessage], message: AnyMessage, spam: bool, wanted: bool) -> None:
    if wanted:
        learner.learn(message, spam)


class Interval(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


class Figures(NamedTuple):
    """The figures in percent, each with the interval of 95 % of the resamples."""

    ham: int
    spam: int
    hm: Interval
    sm: Interval
    lam: Interval
    auc: Interval  # 100 (1 - AUC)


def figures(
    scores: npt.ArrayLike, spam: npt.ArrayLike, *, threshold: float = 0.0, resamples: int = 1000, seed: int = 0
) -> Figures:
    """The four figures; the bootstrap resamples ham among ham and spam among spam.

    If all messages of a class are right, or all wrong, they are so in every resample, which shows no spread. The ends are then
    exact binomial bounds, the "rule of three":
    hm, sm   if none of n is wrong, from 0 to 1 - 0.05^(1/n); if all are, from 0.05^(1/n) to 1
    lam      if that is so of hm or sm, the logistic averages of the lower and of the upper ends of both
    1 - AUC  if no pair is in wrong order, from 0 to 1 - 0.05^(1/n) with n of the smaller class, of which one wrong message puts
             at most 1/n of the pairs in wrong order; if all are, from 0.05^(1/n) to 1
    NaN if there is no ham or no spam.
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
    lam, auc = (Interval(float(seen[0, k]), *_quantiles(many[:, k])) for k in (2, 3))
    if lost in (0, n_ham) or passed in (0, n_spam):
        lam = lam._replace(low=_averaged(hm.low, n_ham, sm.low, n_spam), high=_averaged(hm.high, n_ham, sm.high, n_spam))
    return Figures(n_ham, n_spam, hm, sm, lam, _at_ends(auc, min(n_ham, n_spam)))


def _drawn(random: np.random.Generator, steps: IntArray, size: int, width: int) -> IntArray:
    """The number of messages at each score, for each of `size` resamples."""
    places = steps[random.integers(0, len(steps), (size, len(steps)))] + width * np.arange(size)[:, None]
    return np.bincount(places.ravel(), minlength=size * width).reshape(size, width)


def _counted(ham_at: IntArray, spam_at: IntArray, called: BoolArray) -> FloatArray:
    """hm, sm, lam and 1 - AUC in percent, for every row of counts of ham and spam at ascending scores."""
    n_ham, n_spam = ham_at.sum(axis=1), spam_at.sum(axis=1)
    lost, passed = ham_at[:, called].sum(axis=1), spam_at[:, ~called].sum(axis=1)
    above = ham_at.cumsum(axis=1)
    wrong = (spam_at * (n_ham[:, None] - above + 0.5 * ham_at)).sum(axis=1) / (n_ham * n_spam)
    lam = _logistic_average(lost, n_ham, passed, n_spam)
    return 100.0 * np.stack([lost / n_ham, passed / n_spam, lam, wrong], axis=1)


def _logit(wrong: FloatArray | float, of: IntArray | int) -> FloatArray:
    """The logit of a share; 0 and 1 are moved by half a message, since their logits are infinite."""
    wrong = np.clip(wrong, 0.5, of - 0.5)
    logit: FloatArray = np.log(wrong / (of - wrong))
    return logit


def _logistic_average(
    lost: FloatArray | float, n_ham: IntArray | int, passed: FloatArray | float, n_spam: IntArray | int
) -> FloatArray:
    average: FloatArray = 1.0 / (1.0 + np.exp(-0.5 * (_logit(lost, n_ham) + _logit(passed, n_spam))))
    return average


def _averaged(hm: float, n_ham: int, sm: float, n_spam: int) -> float:
    return float(100.0 * _logistic_average(hm * n_ham / 100.0, n_ham, sm * n_spam / 100.0, n_spam))


def _share(wrong: int, of: int, drawn: FloatArray) -> Interval:
    return _at_ends(Interval(100.0 * wrong / of, *_quantiles(drawn)), of)


def _at_ends(share: Interval, of: int) -> Interval:
    """Exact binomial bounds if none or all of the messages are wrong."""
    if share.value == 0.0:
        return share._replace(low=0.0, high=100.0 * (1.0 - 0.05 ** (1.0 / of)))
    return share if share.value < 100.0 else share._replace(low=100.0 * 0.05 ** (1.0 / of), high=100.0)


def _quantiles(drawn: FloatArray) -> tuple[float, float]:
    """The 2.5 % and 97.5 % quantiles."""
    if not len(drawn):
        return math.nan, math.nan
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(low), float(high)


class Point(NamedTuple):
    """Figures in percent over the first `messages` messages; NaN if they have no ham or no spam."""

    messages: int
    hm: float
    sm: float
    auc: float


def curve(scores: FloatArray, spam: BoolArray, *, threshold: float = 0.0, points: int = 60) -> list[Point]:
    """The learning curve: figures over prefixes of the run, whose lengths grow geometrically."""
    n = len(scores)
    if not n:
        return []
    lengths = np.unique(np.geomspace(min(10, n), n, points).round().astype(int))
    found = (figures(scores[:m], spam[:m], threshold=threshold, resamples=0) for m in lengths)
    return [Point(int(m), f.hm.value, f.sm.value, f.auc.value) for m, f in zip(lengths, found, strict=True)]


# --- evaluation of a filter ---------------------------------------------------------------------------------------------------


class Evaluation(NamedTuple):
    """The result of `evaluate`."""

    scores: FloatArray
    spam: BoolArray
    verdicts: IntArray  # positions in LABELS
    figures: Figures  # figures for the threshold 0

    def table(self) -> dict[str, dict[str, int]]:
        """The number of ham and spam by verdict, with the thresholds of the filter at the time."""
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
    """Classify and then learn each message; see `run` for `delay`, `train` and `band`."""
    recorded = _RecordedState(State(settings or Settings()))
    stream = (((message, columns_of(message, recorded.state.settings.bits)), spam) for message, spam in messages)
    scores, spam = run(stream, recorded, delay=delay, train=train, band=band)
    return Evaluation(scores, spam, np.array(recorded.verdicts, np.int8), figures(scores, spam, seed=seed))


class _RecordedState:
    """The state of a filter as `run` needs it; records the verdicts."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.verdicts: list[int] = []

    def score(self, message: tuple[Message, IntArray]) -> float:
        score = self.state.learner.score(message[1])
        self.verdicts.append(LABELS.index(self.state.calibration().label(score)))
        return score

    def learn(self, message: tuple[Message, IntArray], spam: bool) -> None:
        lesson = Lesson(self.state.seq + 1, b"", spam, message[0])
        self.state.learn_columns([lesson], np.array([0, len(message[1])]), message[1])


# --- order of messages --------------------------------------------------------------------------------------------------------


def read_index(path: str | os.PathLike[str]) -> list[tuple[Path, bool]]:
    """The messages of a TREC index, lines `spam ../data/inmail.1`, in order; paths are relative to the folder of the index."""
    path = Path(path)
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), 1):
        if not line.strip():
            continue
        label, _, name = line.strip().partition(" ")
        if label.lower() not in ("spam", "ham") or not name.strip():
            raise ValueError(f"{path}: line {number} must be `spam PATH` or `ham PATH`, got {line[:60]!r}")
        found.append((path.parent / name.strip(), label.lower() == "spam"))
    return found


def sent(raw: bytes) -> float:
    """The time of a mail in Unix seconds, or infinity if it has none.

    It comes from the topmost `Received` header, which the receiving server wrote, else from `Date`, which the sender chose.

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
    """Messages (name, raw, spam) by time, then by name; those without a date come last."""
    return sorted(messages, key=lambda message: (sent(message[1]), message[0]))
