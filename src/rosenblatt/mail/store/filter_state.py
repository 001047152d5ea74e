"""The settings and the state of a filter: its learner, its rehearsal, and the score of each message before it was learned.

The state is a function of the settings and of the messages in their order, and of nothing else: batches, verdicts in between
and snapshots leave no trace. Two filters with the same log are therefore equal bit for bit, and so are their verdicts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from copy import copy
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ...array_types import BoolArray, FloatArray, IntArray
from ..features import FeatureName, columns_of_many
from ..learner import Learner, Rehearsal
from ..message.message import Message
from ..verdict import Calibration, calibrate

# The settings that change the weights.
REPLAY_SETTINGS = ("bits", "r", "ham_weight", "features")
# The last scores are kept. The calibration uses a window of them that moves in steps, so that it is not computed for every
# message: after 5,000 messages every 64, later every 1,024 at most.
SCORES_KEPT, LARGEST_STEP = 20_000, 1024
WINDOW = SCORES_KEPT - LARGEST_STEP
MIN_MESSAGES_PER_CLASS = 3  # learned before scores are used for the calibration


@dataclass(frozen=True)
class Settings:
    """The settings of a filter; they are stored in its log and apply to every process that opens it.

    Parameters
    ----------
    bits : int, default=22
        Features are hashed into 2**bits columns; from 8 to 26.
    r : float, default=0.1
        The parameter of AROW.
    ham_weight : float, default=1.0
        The cost of a lost ham, relative to that of a passed spam.
    ham_loss : float, default=0.001
        The share of ham that may be called spam; sets the threshold.
    max_messages : int, default=100_000
        The number of texts in the log above which those of the older half are dropped.
    max_bytes : int, default=2**30
        The size of the log above which the texts of the older half are dropped.
    features : int, default=1
        The version of the features; set by the filter.

    See Also
    --------
    Filter.open : Open a filter with settings.
    Filter.change : Change settings.

    Examples
    --------
    >>> from rosenblatt.mail import Settings
    >>> Settings(ham_loss=0.0005).ham_loss
    0.0005
    """

    bits: int = 22
    r: float = 0.1
    ham_weight: float = 1.0
    ham_loss: float = 0.001
    max_messages: int = 100_000
    max_bytes: int = 1 << 30
    features: int = 1

    def __post_init__(self) -> None:
        for name, kind in _TYPES.items():
            value = getattr(self, name)
            if type(value) is int and kind is float:
                object.__setattr__(self, name, float(value))
            elif type(value) is not kind:
                raise ValueError(f"{name} must be a number of type {kind.__name__}, got {value!r:.80}")
        if not 8 <= self.bits <= 26:
            raise ValueError(f"bits must be from 8 to 26, got {self.bits}")
        for name in ("r", "ham_weight"):
            value = getattr(self, name)
            if not (isfinite(value) and 1e-6 <= value <= 1e6):
                raise ValueError(f"{name} must be from 1e-6 to 1e6, got {value}")
        if not 0.0 <= self.ham_loss < 1.0:
            raise ValueError(f"ham_loss must be a share from 0 to below 1, got {self.ham_loss}")
        for name in ("max_messages", "max_bytes"):
            if getattr(self, name) < 2:
                raise ValueError(f"{name} must be 2 or more, got {getattr(self, name)}")

    def changed(self, values: Mapping[str, float]) -> Settings:
        """These settings with other values.

        Parameters
        ----------
        values : mapping
            New values by name.

        Returns
        -------
        Settings
            The changed settings.
        """
        unknown = [name for name in values if name not in _TYPES or name == "features"]
        if unknown:
            known = ", ".join(name for name in _TYPES if name != "features")
            raise ValueError(f"a filter has no setting {unknown[0]!r}; the settings are {known}")
        return Settings(**asdict(self) | dict(values))

    def replayed(self) -> dict[str, float]:
        """The settings that the weights depend on.

        Returns
        -------
        dict
            Values by name.
        """
        return {name: getattr(self, name) for name in REPLAY_SETTINGS}


_TYPES: dict[str, type] = {field.name: {"int": int, "float": float}[str(field.type)] for field in fields(Settings)}


def calibrated_at(count: int) -> int:
    """The number of messages after which the calibration that is valid after `count` messages was computed."""
    return count - count % min(LARGEST_STEP, 1 << max(0, count.bit_length() - 7))


class Lesson(NamedTuple):
    """A message of the log, with its label."""

    seq: int
    digest: bytes
    spam: bool
    message: Message


class State:
    """The state of a filter after the messages of its log up to `seq`."""

    def __init__(self, settings: Settings, learner: Learner | None = None) -> None:
        self.settings = settings
        self.learner = Learner(settings.bits, settings.r, settings.ham_weight) if learner is None else learner
        self.rehearsal = Rehearsal()
        self.seq, self.last, self.generation = 0, b"", 0  # the newest message, its digest, the last change of the log
        self.count, self.spam, self.consistent = 0, 0, True
        self.scores: FloatArray = np.zeros(64, np.float32)
        self.labels: BoolArray = np.zeros(64, np.bool_)
        self.n_held = 0  # scores in the arrays
        self.n_warmup = 0  # messages at the beginning whose scores are not used
        self.names: dict[int, FeatureName] = {}  # names of columns, from the file that it was loaded from
        self._calibration: tuple[int, Calibration] | None = None

    def learn(self, lessons: list[Lesson], lock: contextlib.AbstractContextManager[Any] | None = None) -> None:
        """Learn messages in their order; `lock` is held during the update."""
        if lessons:
            columns = columns_of_many([lesson.message for lesson in lessons], self.settings.bits)
            with lock or contextlib.nullcontext():
                self.learn_columns(lessons, *columns)

    def learn_columns(self, lessons: list[Lesson], indptr: IntArray, columns: IntArray) -> None:
        """Learn messages whose columns are known, in the form of `columns_of_many`."""
        self.consistent = False  # until all of it is done, for the case of Ctrl-C
        spam = np.array([lesson.spam for lesson in lessons])
        interleaved = self.rehearsal.interleave(indptr, columns, spam)
        scores = self.learner.learn_many(interleaved.indptr, interleaved.columns, interleaved.spam)[interleaved.new]
        if self.n_held + len(lessons) > len(self.scores):
            self._make_room(len(lessons))
        self.n_warmup += self._count_warmup(spam)
        here = slice(self.n_held, self.n_held + len(lessons))
        self.scores[here], self.labels[here] = scores, spam
        self.n_held, self.count, self.spam = here.stop, self.count + len(lessons), self.spam + int(spam.sum())
        self.seq, self.last = lessons[-1].seq, lessons[-1].digest
        self.consistent = True

    def _count_warmup(self, spam: BoolArray) -> int:
        """The number of new messages that were scored before both classes were known; such scores are meaningless."""
        spams = self.spam + np.cumsum(spam) - spam  # learned before each
        hams = self.count + np.arange(len(spam)) - spams
        return int((np.minimum(spams, hams) < MIN_MESSAGES_PER_CLASS).sum())

    def _make_room(self, more: int) -> None:
        """Enlarge the arrays of scores and labels, and drop old entries."""
        kept = min(self.n_held, SCORES_KEPT)
        room = more + 2 * kept
        for name in ("scores", "labels"):
            old = getattr(self, name)
            new = np.zeros(room, old.dtype)
            new[:kept] = old[self.n_held - kept : self.n_held]
            setattr(self, name, new)
        self.n_held = kept

    def copy(self) -> State:
        learner = copy(self.learner)
        learner.weights, learner.variances = learner.weights.copy(), learner.variances.copy()
        other = copy(self)
        other.learner, other.scores, other.labels = learner, self.scores.copy(), self.labels.copy()
        other.rehearsal = self.rehearsal.copy()
        return other

    def recent_scores(self) -> tuple[FloatArray, BoolArray]:
        """The scores and labels that a snapshot stores."""
        here = slice(max(0, self.n_held - SCORES_KEPT), self.n_held)
        return self.scores[here], self.labels[here]

    def calibration(self) -> Calibration:
        """The calibration on the scores up to now, computed at most once per step.

        Until MIN_MESSAGES_PER_CLASS of both classes are known it is the one of a new filter, with which nearly everything is
        unsure: a filter that knows one class only gives all messages its sign.
        """
        if min(self.spam, self.count - self.spam) < MIN_MESSAGES_PER_CLASS:
            return Calibration()
        at, known = calibrated_at(self.count), self._calibration
        if known is None or known[0] != at:
            stop = self.n_held - (self.count - at)
            here = slice(max(0, stop - WINDOW, self.n_warmup - (self.count - self.n_held)), stop)
            scores, labels, settings = self.scores[here].astype(np.float64), self.labels[here], self.settings
            known = self._calibration = (at, calibrate(scores, labels, settings.ham_loss, settings.ham_weight))
        return known[1]

    def recalibrate(self, settings: Settings) -> None:
        """Replace the settings by others that do not change the weights."""
        self.settings, self._calibration = settings, None
