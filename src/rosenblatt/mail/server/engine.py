"""The filter behind an event loop: verdicts in a few threads, learning in one, which commits together what came together."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any, NamedTuple, Protocol, TypeVar

from ..identity import digest
from ..store.connection import FoldedError
from ..verdict import Reason, Verdict
from .metrics import Journal

# --- Our scores on the scale that users of SpamAssassin know: from 5.0 on it is spam.
#
# The line through (ham_to, 0) and (spam_from, 5): ham is 0.0 or less, unsure lies between, spam is 5.0 or more. One decimal,
# since spamc prints one; rounding never carries a mail over a boundary, and the scale never falls where our score rises.

THRESHOLD = 5.0
MAX_POINTS = 99.9
MIN_GAP = 0.1  # a gap of nothing between ham and spam would make every score endless


class Boundaries(Protocol):
    """The part of a `Calibration` that the scale needs."""

    @property
    def spam_from(self) -> float: ...
    @property
    def ham_to(self) -> float: ...


class Points(NamedTuple):
    score: float
    spam: bool

    def __str__(self) -> str:
        return f"{self.score:.1f} / {THRESHOLD:.1f}"


def points(score: float, label: str, boundaries: Boundaries) -> Points:
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


# ---

T = TypeVar("T")
DEFAULT_REASONS = 8
TIMEOUT_MESSAGE = "the answer took too long"
LESSONS_PER_COMMIT = 64  # lessons that are committed together at most
# Of both kinds that parsers tell apart, so that whatever is compiled is there before the first client.
SAMPLES = (
    b"Subject: warm\nFrom: a@b.example\n\nplain text\n",
    b"Subject: warm\nContent-Type: text/html\n\n<html><body><p>text <a href='http://a.example/'>here</a></body></html>\n" * 2,
)
REFRESH_S = 2.0  # seconds after which what other processes have learnt is taken in


class Filters(Protocol):
    """What a server needs of a `Filter`, which several threads may use at once."""

    @property
    def calibration(self) -> Boundaries: ...
    def classify(self, raw: bytes) -> Verdict: ...
    def explain_words(self, raw: bytes, n: int) -> list[Reason]: ...
    def label_of(self, raw: bytes) -> bool | None: ...  # as which it was learnt: spam, ham, not at all
    def learn(self, mails: Sequence[tuple[bytes, bool]]) -> Any: ...  # has kept: mails that could not be moved
    def relearn(self, raw: bytes, spam: bool) -> Any: ...
    def unlearn(self, raw: bytes) -> Any: ...
    def unlearn_many(self, raws: Sequence[bytes]) -> Sequence[Any]: ...  # exact: False where it could not be
    def refresh(self) -> bool: ...
    def stats(self) -> dict[str, Any]: ...


class Judgment(NamedTuple):
    verdict: Verdict
    points: Points
    reasons: list[Reason]


class _Lesson(NamedTuple):
    raw: bytes
    spam: bool | None  # None: forget it
    done: Future[bool]  # whether the filter is another one now


class Engine:
    """Started on construction; `close` finishes what was begun."""

    def __init__(self, spam_filter: Filters, workers: int | None = None, journal: Journal | None = None) -> None:
        self.filter, self._journal = spam_filter, journal or Journal()
        self.n_learned = 0
        self.learning_error: str | None = None  # why nothing can be learnt, as far as is known
        self._failed = False  # whether that was found by a lesson, which shows more than `look` does: a disk that is full
        self._pool = ThreadPoolExecutor(workers or min(4, os.cpu_count() or 1), "verdict")
        self._lessons: queue.SimpleQueue[_Lesson | None] = queue.SimpleQueue()
        self._learner = threading.Thread(target=self._learn_all, name="learner", daemon=True)
        self._learner.start()

    def warm(self) -> None:
        """Whatever of the filter has compiled code uses it once Numba is loaded: a second at the start, then verdicts in a
        fifth of the time."""
        import numba  # noqa: F401

        for mail in SAMPLES:
            self.filter.classify(mail)

    async def judge(self, raw: bytes, write: Callable[[bytes, Judgment], T], reasons: int = 0) -> tuple[Judgment, T]:
        """What the filter says of a mail, and what `write` makes of that. Mails may be large and hostile: they are read and
        written about in the thread of a worker only."""

        def work() -> tuple[Judgment, T]:
            judged = self._judge(raw, reasons)
            return judged, write(raw, judged)

        return await self.in_pool(work)

    async def teach(self, raw: bytes, spam: bool | None) -> bool:
        """Learn a mail, or forget it (None); True where the filter changed. It is on disk when this returns."""
        lesson = _Lesson(raw, spam, Future())
        self._lessons.put(lesson)
        return await asyncio.wrap_future(lesson.done)

    async def stats(self) -> dict[str, Any]:
        return await self.in_pool(self.filter.stats)

    def check_learning(self) -> None:
        """See whether a lesson could be written, by a transaction with nothing in it."""
        try:
            self.filter.unlearn_many([])
        except Exception as error:
            self._set_learning_error(failure(error))
        else:
            if not self._failed:
                self._set_learning_error(None)

    def _set_learning_error(self, trouble: str | None) -> None:
        if trouble != self.learning_error:
            self.learning_error = trouble
            self._journal.warn(trouble or "learning is possible again")

    def in_pool(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """What may take a while, done in the thread of a worker."""
        return asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self, seconds: float | None = None) -> None:
        """A lesson that takes longer than so many seconds is given up: what is not on disk then was not acknowledged."""
        self._pool.shutdown(cancel_futures=True)
        self._lessons.put(None)
        self._learner.join(seconds)

    def _judge(self, raw: bytes, n: int) -> Judgment:
        verdict = self.filter.classify(raw)
        reasons = self.filter.explain_words(raw, n) if n else []
        return Judgment(verdict, points(verdict.score, verdict.label, self.filter.calibration), reasons)

    def _learn_all(self) -> None:
        """In the order in which they came; runs of mails to learn in one transaction, and runs of mails to forget."""
        batch: list[_Lesson] = []
        due = monotonic() + REFRESH_S
        while True:
            if monotonic() >= due:  # also where lessons never cease: of a known mail the filter looks at nothing else
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
        """Whether each will change the filter, if all are learnt in their order."""
        told: dict[bytes, bool | None] = {}
        changed = []
        for raw, spam, _ in lessons:
            name = digest(raw)
            before = told[name] if name in told else self.filter.label_of(raw)
            changed.append(before is not spam)
            told[name] = spam
        return changed

    def _learn_together(self, lessons: Sequence[_Lesson]) -> list[bool]:
        """In one transaction, with one replay at most; which of them are done. What is wrong with the others is told to each
        when it is tried alone."""
        if len(lessons) < 2:
            return [False for _ in lessons]
        if lessons[0].spam is None:
            return [bool(told.exact) for told in self.filter.unlearn_many([lesson.raw for lesson in lessons])]
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
        if not isinstance(error, FoldedError):  # that one is the mail's
            self._failed = True
            self._set_learning_error(failure(error))
        lesson.done.set_exception(error)

    def _refresh(self) -> None:
        try:
            self.filter.refresh()
        except Exception:  # whoever asks for a verdict gets the one that there is; whoever teaches hears what is wrong
            return


def failure(error: Exception) -> str:
    """What a client and the log may read of an error; of an unforeseen one its type, since it may quote the mail."""
    return str(getattr(error, "sentence", "")) or f"the filter failed ({type(error).__name__})"
