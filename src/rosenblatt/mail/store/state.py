"""The state of a filter: its learner, what it rehearses, and what it had thought of each message before it learnt it.

All are functions of the messages in their order and of nothing else: whether they came one by one or many at once, when
somebody asked for a verdict, and what was loaded from a file in between leave no trace. So two filters with the same log are
equal bit for bit, and so are their verdicts.
"""

from __future__ import annotations

import contextlib
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from ..calibration import Calibration, calibrate
from ..features import columns_of_many
from ..learner import Learner
from ..message.message import Message
from ..rehearsal import Rehearsal
from .settings import Settings

# Scores are kept of the last messages; the calibration looks at a window of them that moves in steps, so that it is not done
# again for every message: after 5,000 messages every 64, at most every 1,024.
KEPT, LARGEST_STEP = 20_000, 1024
WINDOW = KEPT - LARGEST_STEP
ACQUAINTED = 3  # messages of either side that a filter has learnt before its scores say something about it


def calibrated_at(count: int) -> int:
    """After how many messages the calibration was done that holds after `count`."""
    return count - count % min(LARGEST_STEP, 1 << max(0, count.bit_length() - 7))


class Lesson(NamedTuple):
    seq: int
    digest: bytes
    spam: bool
    message: Message


class State:
    def __init__(self, settings: Settings, learner: Learner | None = None) -> None:
        self.settings = settings
        self.learner = Learner(settings.bits, settings.r, settings.ham_weight) if learner is None else learner
        self.rehearsal = Rehearsal()
        self.seq, self.last, self.generation = 0, b"", 0  # the newest message, its digest, the log's last change
        self.count, self.spam, self.whole = 0, 0, True
        self.scores: Any = np.zeros(64, np.float32)
        self.labels: Any = np.zeros(64, np.bool_)
        self.held = 0  # scores that are kept
        self.strange = 0  # messages at the beginning whose scores say nothing
        self.names: dict[int, str] = {}  # of columns, from the file that it was loaded from
        self._calibration: tuple[int, Calibration] | None = None

    def learn(self, lessons: list[Lesson], lock: contextlib.AbstractContextManager[Any] | None = None) -> None:
        """Some messages, one after the other; whoever asks meanwhile is kept from it by a lock."""
        if lessons:
            columns = columns_of_many([lesson.message for lesson in lessons], self.settings.bits)
            with lock or contextlib.nullcontext():
                self.learn_columns(lessons, *columns)

    def learn_columns(self, lessons: list[Lesson], indptr: Any, columns: Any) -> None:
        """The same where their columns are at hand, as `columns_of_many` gives them."""
        self.whole = False  # until all of it is done: somebody may press Ctrl-C
        spam = np.array([lesson.spam for lesson in lessons])
        woven = self.rehearsal.woven(indptr, columns, spam)
        scores = self.learner.learn_many(woven.indptr, woven.columns, woven.spam)[woven.lessons]
        if self.held + len(lessons) > len(self.scores):
            self._make_room(len(lessons))
        self.strange += self._strange(spam)
        here = slice(self.held, self.held + len(lessons))
        self.scores[here], self.labels[here] = scores, spam
        self.held, self.count, self.spam = here.stop, self.count + len(lessons), self.spam + int(spam.sum())
        self.seq, self.last = lessons[-1].seq, lessons[-1].digest
        self.whole = True

    def _strange(self, spam: Any) -> int:
        """How many of the next messages are scored by a filter that hardly knows one of the sides: to it a folder of ham before
        any spam is all ham, whatever the filter is that comes out."""
        spams = self.spam + np.cumsum(spam) - spam  # before each
        hams = self.count + np.arange(len(spam)) - spams
        return int((np.minimum(spams, hams) < ACQUAINTED).sum())

    def _make_room(self, more: int) -> None:
        kept = min(self.held, KEPT)
        room = more + 2 * kept
        for name in ("scores", "labels"):
            old = getattr(self, name)
            new = np.zeros(room, old.dtype)
            new[:kept] = old[self.held - kept : self.held]
            setattr(self, name, new)
        self.held = kept

    def copy(self) -> State:
        learner = copy(self.learner)
        learner.weights, learner.variances = learner.weights.copy(), learner.variances.copy()
        other = copy(self)
        other.learner, other.scores, other.labels = learner, self.scores.copy(), self.labels.copy()
        other.rehearsal = self.rehearsal.copy()
        return other

    def kept(self) -> tuple[Any, Any]:
        """The scores and labels that a snapshot keeps."""
        here = slice(max(0, self.held - KEPT), self.held)
        return self.scores[here], self.labels[here]

    def calibration(self) -> Calibration:
        at, known = calibrated_at(self.count), self._calibration
        if known is None or known[0] != at:
            stop = self.held - (self.count - at)
            here = slice(max(0, stop - WINDOW, self.strange - (self.count - self.held)), stop)
            scores, labels, asked = self.scores[here].astype(np.float64), self.labels[here], self.settings
            known = self._calibration = (at, calibrate(scores, labels, asked.ham_loss, asked.ham_weight))
        return known[1]

    def recalibrate(self, settings: Settings) -> None:
        """Other settings that leave the weights alone."""
        self.settings, self._calibration = settings, None
