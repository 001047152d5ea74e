"""The filter behind an event loop: verdicts in a thread pool, learning in one thread that commits lessons in batches.

`points` maps scores to the scale of SpamAssassin, on which 5.0 or more is spam, by the line through (ham_to, 0) and
(spam_from, 5). Ham has 0.0 or less, unsure lies between, spam has 5.0 or more. Points have one decimal, since spamc prints one;
rounding never carries a mail over a threshold, and a higher score never gives fewer points.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from ..identity import digest
from ..store.changes import Learned, Unlearned
from ..store.connection import FilterError, FoldedError
from ..store.log import UNTAUGHT
from ..verdict import Label, Reason, Verdict
from .monitoring import Journal

T = TypeVar("T")
THRESHOLD = 5.0  # points from which on a mail is spam
MAX_POINTS = 99.9
MIN_GAP = 0.1  # least distance of the thresholds that is used for points
DEFAULT_REASONS = 8
TIMEOUT_MESSAGE = "the answer took too long"
LESSONS_PER_COMMIT = 64
REFRESH_S = 2.0  # time between two refreshes from other processes
# A plain and an HTML mail, so that all compiled code is loaded before the first client.
SAMPLES = (
    b"Subject: warm\nFrom: a@b.example\n\nplain text\n",
    b"Subject: warm\nContent-Type: text/html\n\n<html><body><p>text <a href='http://a.example/'>here</a></body></html>\n" * 2,
)


# --- points -----------------------------------------------------------------------------------------------------------------


class Boundaries(Protocol):
    """The thresholds of a `Calibration`."""

    @property
    def spam_from(self) -> float: ...
    @property
    def ham_to(self) -> float: ...


class Points(NamedTuple):
    """A score on the scale of SpamAssassin."""

    score: float
    spam: bool

    def __str__(self) -> str:
        return f"{self.score:.1f} / {THRESHOLD:.1f}"


def points(score: float, label: Label, boundaries: Boundaries) -> Points:
    """The points of a mail.

    >>> from rosenblatt.mail.verdict import Calibration
    >>> found = Calibration(spam_from=0.5, ham_to=-0.5)
    >>> [str(points(score, found.label(score), found)) for score in (-0.75, 0.0, 0.499, 0.5, 2.0)]
    ['-1.2 / 5.0', '2.5 / 5.0', '4.9 / 5.0', '5.0 / 5.0', '12.5 / 5.0']
    """
    width = max(boundaries.spam_from - boundaries.ham_to, MIN_GAP)
    raw = THRESHOLD + THRESHOLD * (score - boundaries.spam_from) / width
    low, high = {"spam": (THRESHOLD, MAX_POINTS), "ham": (-MAX_POINTS, 0.0)}.get(label, (0.1, THRESHOLD - 0.1))
    return Points(min(max(round(raw, 1), low), high) + 0.0, label == "spam")


# --- the engine -------------------------------------------------------------------------------------------------------------


class Filters(Protocol):
    """The methods of `Filter` that a server uses, from several threads at once."""

    @property
    def taught(self) -> bool: ...
    @property
    def calibration(self) -> Boundaries: ...
    def classify(self, raw: bytes) -> Verdict: ...
    def explain(self, raw: bytes, n: int, *, by: Literal["features", "words"]) -> list[Reason]: ...
    def label_of(self, raw: bytes) -> bool | None: ...
    def learn(self, mails: Sequence[tuple[bytes, bool]]) -> Learned: ...
    def relearn(self, raw: bytes, spam: bool) -> Learned: ...
    def unlearn(self, raw: bytes) -> Unlearned: ...
    def unlearn_many(self, raws: Sequence[bytes]) -> Sequence[Unlearned]: ...
    def refresh(self) -> bool: ...
    def stats(self) -> dict[str, Any]: ...


class Judgment(NamedTuple):
    """The verdict about a mail, with points and reasons."""

    verdict: Verdict
    points: Points
    reasons: list[Reason]


class _Lesson(NamedTuple):
    raw: bytes
    spam: bool | None  # None: unlearn it
    done: Future[bool]  # whether the filter changed


class Engine:
    """Threads for verdicts and lessons. They start on construction; `close` finishes the work in progress."""

    def __init__(self, spam_filter: Filters, workers: int | None = None, journal: Journal | None = None) -> None:
        self.filter, self._journal = spam_filter, journal or Journal()
        self.n_learned = 0
        self.learning_error: str | None = None  # why learning is not possible, as far as is known
        self._failed = False  # whether a lesson failed, as on a full disk, which `check_learning` does not detect
        self._pool = ThreadPoolExecutor(workers or min(4, os.cpu_count() or 1), "verdict")
        self._lessons: queue.SimpleQueue[_Lesson | None] = queue.SimpleQueue()
        self._learner = threading.Thread(target=self._learn_all, name="learner", daemon=True)
        self._learner.start()

    def warm(self) -> None:
        """Load compiled code: about a second at the start, after which verdicts take a fifth of the time."""
        import numba  # noqa: F401

        for mail in SAMPLES:
            self.filter.classify(mail)

    async def judge(self, raw: bytes, write: Callable[[bytes, Judgment], T], reasons: int = 0) -> tuple[Judgment, T]:
        """The judgment about a mail, and the text that `write` makes of it.

        Both are computed in a worker thread, since mails may be large and hostile.
        """

        def work() -> tuple[Judgment, T]:
            judgment = self._judge(raw, reasons)
            return judgment, write(raw, judgment)

        return await self.in_pool(work)

    async def teach(self, raw: bytes, spam: bool | None) -> bool:
        """Learn a mail, or unlearn it (None); returns whether the filter changed. The change is then on disk."""
        lesson = _Lesson(raw, spam, Future())
        self._lessons.put(lesson)
        return await asyncio.wrap_future(lesson.done)

    async def stats(self) -> dict[str, Any]:
        return await self.in_pool(self.filter.stats)

    def check_learning(self) -> None:
        """Check by an empty transaction whether lessons can be written."""
        try:
            self.filter.unlearn_many([])
        except Exception as error:
            self._set_learning_error(failure(error))
        else:
            if not self._failed:
                self._set_learning_error(None)

    def _set_learning_error(self, message: str | None) -> None:
        if message != self.learning_error:
            self.learning_error = message
            self._journal.warn(message or "learning is possible again")

    def in_pool(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run work in a worker thread."""
        return asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self, seconds: float | None = None) -> None:
        """Stop; a lesson that takes longer than `seconds` is abandoned, which is safe because it was not acknowledged."""
        self._pool.shutdown(cancel_futures=True)
        self._lessons.put(None)
        self._learner.join(seconds)

    def _judge(self, raw: bytes, n: int) -> Judgment:
        if not self.filter.taught:
            raise FilterError("", UNTAUGHT)
        verdict = self.filter.classify(raw)
        reasons = self.filter.explain(raw, n, by="words") if n else []
        return Judgment(verdict, points(verdict.score, verdict.label, self.filter.calibration), reasons)

    def _learn_all(self) -> None:
        """Process lessons in their order; runs of mails to learn, or to unlearn, share a transaction."""
        batch: list[_Lesson] = []
        due = monotonic() + REFRESH_S
        while True:
            if monotonic() >= due:  # also under a constant stream of lessons
                self._refresh()
                self.check_learning()
                due = monotonic() + REFRESH_S
            try:
                lesson = self._lessons.get(timeout=0 if batch else max(0.0, due - monotonic()))
            except queue.Empty:
                if batch:
                    self._learn(batch)
                    batch = []
                continue
            if batch and (
                lesson is None or len(batch) >= LESSONS_PER_COMMIT or (lesson.spam is None) != (batch[0].spam is None)
            ):
                self._learn(batch)
                batch = []
            if lesson is None:
                return
            batch.append(lesson)

    def _learn(self, batch: Sequence[_Lesson]) -> None:
        lessons = [lesson for lesson in batch if lesson.done.set_running_or_notify_cancel()]
        try:
            changed = self._changed(lessons)
            done = self._learn_together(lessons)
        except Exception as error:
            for lesson in lessons:
                self._set_failed(lesson, error)
            return
        for lesson, new, was_done in zip(lessons, changed, done, strict=True):
            try:
                if not was_done:
                    self._learn_one(lesson)
            except Exception as error:
                self._set_failed(lesson, error)
            else:
                self._set_learned(lesson, new)

    def _changed(self, lessons: Sequence[_Lesson]) -> list[bool]:
        """Whether each lesson will change the filter, if all are learned in their order."""
        labels: dict[bytes, bool | None] = {}
        changed = []
        for raw, spam, _ in lessons:
            name = digest(raw)
            before = labels[name] if name in labels else self.filter.label_of(raw)
            changed.append(before is not spam)
            labels[name] = spam
        return changed

    def _learn_together(self, lessons: Sequence[_Lesson]) -> list[bool]:
        """Learn in one transaction, with one replay at most; returns which lessons are done. The others are tried alone."""
        if len(lessons) < 2:
            return [False for _ in lessons]
        if lessons[0].spam is None:
            return [result.exact for result in self.filter.unlearn_many([lesson.raw for lesson in lessons])]
        kept = self.filter.learn([(raw, bool(spam)) for raw, spam, _ in lessons]).kept
        return [kept == 0 for _ in lessons]

    def _learn_one(self, lesson: _Lesson) -> None:
        if lesson.spam is None:
            self.filter.unlearn(lesson.raw)
        else:
            self.filter.relearn(lesson.raw, lesson.spam)

    def _set_learned(self, lesson: _Lesson, changed: bool) -> None:
        if changed:
            self.n_learned += 1
            self._failed = False
            self._set_learning_error(None)
        lesson.done.set_result(changed)

    def _set_failed(self, lesson: _Lesson, error: Exception) -> None:
        if not isinstance(error, FoldedError):  # that concerns this mail only
            self._failed = True
            self._set_learning_error(failure(error))
        lesson.done.set_exception(error)

    def _refresh(self) -> None:
        try:
            self.filter.refresh()
        except Exception:  # verdicts use the current state, and lessons report the error
            return


def failure(error: Exception) -> str:
    """The message of an error for clients and the log; of an unexpected one only its type, since it may quote the mail."""
    return str(getattr(error, "sentence", "")) or f"the filter failed ({type(error).__name__})"
