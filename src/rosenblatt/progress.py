"""Whoever waits for a fit hears how far it is: `with watching(tell): estimator.fit(X, y)`.

No estimator has a parameter for it: a progress bar is a matter of whoever waits, not of what is learnt. Online runs tell after
every pass and, in passes that take long, after every stretch of rows; iterative solvers after every step they report on.
Threads that work for a fit tell through the same callback, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class Progress:
    """Where a fit is."""

    passes: int  # that are over; of a solver, its steps or passes
    updates: int = 0  # in all
    last: int = 0  # updates of the last pass, or of this one so far
    heads: tuple[int, ...] = ()  # which one-vs-rest heads, where they do not all run together
    visited: int = 0  # rows of the pass underway; 0 where a pass has just ended
    rows: int = 0  # in a pass; 0 where nobody counts them
    max_iter: int | None = None  # where there is such a limit
    gap: float | None = None  # of a solver that works towards one: what is left of it
    text: str = ""  # what else there is to say, in a few words

    @property
    def ended_pass(self) -> bool:
        return self.visited == 0


Watch = Callable[[Progress], None]
_watch: ContextVar[Watch | None] = ContextVar("rosenblatt_watch", default=None)


@contextmanager
def watching(callback: Watch) -> Iterator[None]:
    """Inside, `callback` is called with a `Progress` whenever a fit has something to tell; what it raises ends the fit."""
    lock = Lock()

    def tell(progress: Progress) -> None:
        with lock:
            callback(progress)

    token = _watch.set(tell)
    try:
        yield
    finally:
        _watch.reset(token)


def watcher() -> Watch | None:
    """Who watches here."""
    return _watch.get()


def told(steps: int, gap: float | None = None, text: str = "") -> None:
    """A solver made so many passes or steps, and so much is left."""
    tell = _watch.get()
    if tell is not None:
        tell(Progress(steps, gap=gap, text=text))


def together(first: Watch | None, second: Watch | None) -> Watch | None:
    """One callback for two, each of which may be nobody."""
    if first is None or second is None:
        return first or second

    def both(progress: Progress) -> None:
        first(progress)
        second(progress)

    return both
