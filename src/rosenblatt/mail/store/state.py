"""The state of a filter: its learner, what it rehearses, and what it had thought of each message before it learnt it.

All are functions of the messages in their order and of nothing else: whether they came one by one or many at once, when
somebody asked for a verdict, and what was loaded from a file in between leave no trace. So two filters with the same log are
equal bit for bit, and so are their verdicts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, fields
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ...data.csr import CSRMatrix
from ...data.table import Data, DataError
from ...models.container import require
from ..features import VERSION, columns_of, columns_of_many
from ..learner import Learner, Rehearsal
from ..message.message import Message
from ..message.parse import parse
from ..verdict import Calibration, calibrate

# --- What a filter's replay is defined by: kept in its log, the same for everybody who opens it.

# What changes the weights; ham_loss moves thresholds only, and the two limits say how long texts are kept.
REPLAYED = ("bits", "r", "ham_weight", "features")


@dataclass(frozen=True)
class Settings:
    bits: int = 22  # 2^bits columns
    r: float = 0.1  # AROW's only parameter
    ham_weight: float = 1.0  # how many times as bad as a spam passed a ham lost is
    ham_loss: float = 0.001  # the share of ham that may be called spam
    max_messages: int = 100_000  # texts that the log keeps; above it the older half is folded into the base,
    max_bytes: int = 1 << 30  # or above so many bytes of packed texts
    features: int = 1  # the version of features.py that the columns come from

    def __post_init__(self) -> None:
        for name, kind in _KINDS.items():
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

    def changed(self, asked: Mapping[str, Any]) -> Settings:
        unknown = [name for name in asked if name not in _KINDS or name == "features"]
        if unknown:
            there = ", ".join(name for name in _KINDS if name != "features")
            raise ValueError(f"a filter has no setting {unknown[0]!r}; there are {there}")
        return Settings(**asdict(self) | dict(asked))

    def replayed(self) -> dict[str, Any]:
        """Those that the weights depend on."""
        return {name: getattr(self, name) for name in REPLAYED}


_KINDS: dict[str, type] = {field.name: {"int": int, "float": float}[str(field.type)] for field in fields(Settings)}


# ---

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


# --- Raw mails as rows of features, for a filter that is used as one of the library's models.

KIND = "mail"


class ColumnNames(Sequence[str]):
    """Names of the strongest columns, where somebody looked them up; the others go by number."""

    def __init__(self, width: int, known: dict[int, str]) -> None:
        self.width, self.known = width, known

    def __len__(self) -> int:
        return self.width

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [self[k] for k in range(*j.indices(self.width))]
        if not -self.width <= j < self.width:
            raise IndexError(f"there are {self.width} columns, and none is {j}")
        return self.known.get(int(j) % self.width) or f"column {int(j) % self.width}"


@dataclass(frozen=True)
class MailRecipe:
    """Every column that a mail has is 1 over the root of their number.

    >>> MailRecipe(bits=10).rows([b"Subject: hello\\n\\nHow are you?"]).shape
    (1, 1024)
    """

    bits: int
    features: int = VERSION  # the version of features.py
    names: tuple[tuple[int, str], ...] = ()  # of a few columns

    kind = KIND
    required = None
    number_names: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return 1 << self.bits

    @property
    def feature_names(self) -> ColumnNames:
        return ColumnNames(self.width, dict(self.names))

    @property
    def notes(self) -> tuple[str, ...]:
        return (f"raw mails, whose words and n-grams are hashed into 2^{self.bits} columns",)

    def rows(self, X: Any) -> CSRMatrix:
        """Of raw mails: bytes, or text that stands for UTF-8."""
        if isinstance(X, Data):
            raise DataError(X.source, "this model is a mail filter and reads raw mails: use `rosenblatt mail classify`")
        mails = [X] if isinstance(X, bytes | str) else list(X)
        strange = [mail for mail in mails if not isinstance(mail, bytes | str)]
        if strange:
            raise ValueError(f"X must be raw mails, as bytes or text, got {type(strange[0]).__name__}")
        raws = [mail.encode("utf-8", "surrogateescape") if isinstance(mail, str) else mail for mail in mails]
        columns = [columns_of(parse(raw), self.bits) for raw in raws]
        lengths = np.array([len(each) for each in columns], np.int64)
        values = np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
        indices = np.concatenate([*columns, np.zeros(0, np.uint32)]).astype(np.int32)
        return CSRMatrix(values, indices, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), self.width)

    def count_unknown_columns(self, X: Any) -> int:
        return 0

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"kind": KIND, "bits": self.bits, "features": self.features, "names": [list(pair) for pair in self.names]}, {}

    @classmethod
    def from_parts(cls, told: dict[str, Any], arrays: dict[str, Any]) -> MailRecipe:
        bits, version, names = told["bits"], told["features"], told["names"]
        if set(told) != {"kind", "bits", "features", "names"} or arrays:
            raise ValueError("a mail filter's recipe has other parts")
        if type(bits) is not int or not 1 <= bits <= 30 or type(version) is not int:
            raise ValueError("a mail filter's recipe has no right number of columns")
        require(version == VERSION, f"cannot be used: its features are of version {version}, and this Rosenblatt has {VERSION}")
        if not all(type(column) is int and 0 <= column < 1 << bits and type(name) is str for column, name in names):
            raise ValueError("a mail filter's recipe has names of no columns")
        return cls(bits, version, tuple((column, name) for column, name in names))
