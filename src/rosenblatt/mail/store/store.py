"""A filter's home on disk: the log, the state that is its replay, and the files that spare replaying all of it.

    log.sqlite            the truth
    filter.safetensors    the state after some message, not many ago
    base-SEQ.safetensors  the state after the messages whose texts were folded away; part of the truth, where there is one

Every number in the state follows from the log: whoever finds that the log went on, or that a message was taken back, replays
what is new, or from the last file on that the change does not reach.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...models.atomic_file import sync_folder
from .. import features
from ..explanation import extremes, names_in
from . import snapshot
from .connection import NAME as LOG
from .connection import BaseGoneError, FilterError
from .log import Base, Log
from .state import Lesson, Settings, State

# Messages that are replayed at every start, at most; and the share of time that saving may take of one who learns on and on.
BACKLOG = 32
SAVING = 0.05
TOGETHER = 100  # messages that are replayed in one go, while verdicts wait
SPACING = 1000  # messages between two states that are kept in memory by one who learns for long
MANY = 2000  # messages for which it pays to load Numba
NAMED, PATIENCE = 200, 0.2  # features of either side whose names are saved, and seconds to look for them
FEWEST = 1000  # texts that are never folded because of their bytes
FEATURES = features.VERSION
T = TypeVar("T")


def expect(messages: int) -> None:
    """So many messages are coming: all that has compiled code uses it where Numba is loaded, which takes half a second."""
    if messages >= MANY:
        import numba  # noqa: F401


def _however_the_base_changes(method: Callable[..., T]) -> Callable[..., T]:
    """Again where another process has replaced the base after we had looked which one it is."""

    @wraps(method)
    def again(store: Store, *given: Any) -> T:
        while True:
            try:
                return method(store, *given)
            except BaseGoneError as error:
                with store.log.reading():
                    base = store.log.base()
                if base is None or base.name == error.name:
                    raise

    return again


class Store:
    """Two locks: `writing` for whoever changes the log or makes a new state, for as long as it takes; `lock` for the moment
    that it takes to score or learn one message, so that a verdict never waits for a disk or a replay."""

    def __init__(self, home: str | os.PathLike[str], create: bool, settings: dict[str, Any]) -> None:
        self.home = Path(home).absolute()  # also when its user goes elsewhere
        asked = Settings(features=FEATURES).changed(settings)
        if create:
            self._make_home()
        self.log = Log(self.home, create, asked)
        self.created = self.log.created  # there was no filter before
        self.writing, self.lock = threading.RLock(), threading.Lock()
        self.saved = 0  # messages in the newest file that is right
        self.earlier: list[State] = []  # two that are a while old
        self.folded = 0  # messages whose texts are gone
        self.names: dict[int, dict[int, str]] = {}  # for each number of bits what some columns stand for
        self.shrunk = True  # their room is free, and so they are gone from the disk, too
        self._base: Base | None = None
        self._next_save, self.stale = 0.0, False
        self._seen = self.log.opened, -1
        try:
            with self.log.reading():
                kept = self.log.settings()
                wanted = self._wanted(kept, settings)
            if wanted != kept:
                self._change(settings)
            self._begin()
            self.catch_up()
            self.save_if_due()
            self._remembered = self.state.count
        except BaseException:
            self.log.close()
            raise

    @_however_the_base_changes
    def _begin(self) -> None:
        with self.log.reading():
            self.state = self._best(None)

    def _make_home(self) -> None:
        try:
            home = self.home.absolute()
            new = [folder for folder in (home, *home.parents) if not folder.exists()]
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in new:
                sync_folder(folder.parent)  # or it may be gone after a power cut, with all that is in it
        except OSError as error:
            raise FilterError(self.home, f"cannot be made a filter's home: {(error.strerror or str(error)).lower()}") from error

    def close(self) -> None:
        with self.writing:
            if self.log.is_open:
                if not self.stale and self.state.whole:
                    self.save_if_due(at_end=True)
                self.log.close()

    # --- from the log to the state -------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Catch up with what other processes have learnt; whether there was something. Does not wait for who is writing here:
        that one will have caught up."""
        if not self.writing.acquire(blocking=False):
            return False
        try:
            with self.log.reading():
                seen = self.log.others_wrote()
            if seen == self._seen and not self.stale:
                return False
            before = self.state, self.state.seq, self.state.generation
            self.catch_up()
            return before != (self.state, self.state.seq, self.state.generation)
        finally:
            self.writing.release()

    @_however_the_base_changes
    def catch_up(self) -> None:
        with self.writing:
            with self.log.reading():
                seen = self.log.others_wrote()
                settings, generation, base = self.log.settings(), self.log.generation(), self.log.base()
                if base != self._base:
                    self._base, self.folded = base, self.log.folded()
                self._check_features(settings)
                state = self.state
                same = state.whole and settings.replayed() == state.settings.replayed()
                texts = base is None or base.seq <= state.seq  # those that come next are there
                reopened = seen[0] != self._seen[0]  # whoever reads without locks believes nothing before all is read
                if reopened or not (same and texts and self.log.reaches(state.generation, state.seq)):
                    state = self._best(None)
                self._replay(state, None, live=state is self.state)
            with self.lock:
                if settings != state.settings:
                    state.recalibrate(settings)
                state.generation, self.state = generation, state
            self._seen, self.stale = seen, False

    def _replay(self, state: State, upto: int | None, live: bool) -> None:
        lock = self.lock if live else None
        expect(self.log.last() - state.seq)
        lessons: list[Lesson] = []
        for seq, digest, spam, message in self.log.replay(state.seq, upto):
            lessons.append(Lesson(seq, digest, spam, message))
            if len(lessons) == TOGETHER:
                state.learn(lessons, lock)
                lessons = []
        state.learn(lessons, lock)

    def _best(self, upto: int | None) -> State:
        """The newest state at hand that is a replay of this log, not beyond `upto`; or the state before all messages."""
        settings, base = self.log.settings(), self.log.base()
        first = 0 if base is None else base.seq
        best, saved = None, 0
        for state, on_disk in self._states(settings, base):
            if first <= state.seq and (upto is None or state.seq <= upto) and self._right(state):
                best = best or (state if on_disk else state.copy())
                if on_disk:
                    saved = state.count
                    break
        if upto is None:
            self.saved = saved
        if best is not None:
            return best
        if base is not None:
            self._check_features(settings)
            told = f"{base.name} is damaged or gone, which holds what was learnt before the oldest text in {LOG}"
            raise BaseGoneError(self.home, told, base.name)
        return State(settings)

    def _states(self, settings: Settings, base: Base | None) -> Iterator[tuple[State, bool]]:
        """Those that there are, the newest first, and whether they are on disk."""
        latest = self._loaded(snapshot.NAME, settings)
        states = [(state, False) for state in self.earlier if state.settings.replayed() == settings.replayed()]
        states += [] if latest is None else [(latest, True)]
        yield from sorted(states, key=lambda pair: (pair[0].seq, pair[1]), reverse=True)
        oldest = None if base is None else self._loaded(base.name, settings)
        if oldest is not None:
            yield oldest, True

    def _loaded(self, name: str, settings: Settings) -> State | None:
        state = snapshot.load(self.home / name, self.log.uuid, settings)
        if state is not None:
            self.names.setdefault(settings.bits, {}).update(state.names)
        return state

    def remember(self) -> None:
        """Keep the state as it is now, so that what is learnt next can soon be taken back without replaying everything."""
        if self.state.count - self._remembered >= SPACING:
            self.earlier = [*self.earlier[-1:], self.state.copy()]
            self._remembered = self.state.count

    def _right(self, state: State) -> bool:
        """That the log is the one that the state comes from, and not an old copy of it that went another way."""
        return self.log.reaches(state.generation, state.seq) and (state.seq == 0 or self.log.digest_at(state.seq) == state.last)

    def _wanted(self, kept: Settings, asked: dict[str, Any]) -> Settings:
        """Where features are made otherwise now, all messages are replayed with the new ones, once."""
        if not (kept.features < FEATURES and self.log.base() is None):
            self._check_features(kept)
        return replace(kept.changed(asked), features=FEATURES)

    def _check_features(self, settings: Settings) -> None:
        told = f"its features are of version {settings.features}, and this Rosenblatt has {FEATURES}"
        if settings.features > FEATURES:
            raise FilterError(self.home, f"was used by a newer Rosenblatt: {told}")
        if settings.features < FEATURES:
            raise FilterError(self.home, f"{told}; the texts of {self.log.folded():,} messages were dropped: learn anew")

    def _change(self, asked: dict[str, Any]) -> None:
        """Other settings, for all messages from the first on; those that another process has changed meanwhile stay so."""
        with self.log.writing():
            kept = self.log.settings()
            wanted = self._wanted(kept, asked)
            if wanted == kept:
                return
            replayed = kept.replayed() != wanted.replayed()
            base = self.log.base()
            if replayed and base is not None:
                different = next(name for name, value in wanted.replayed().items() if kept.replayed()[name] != value)
                folded = self.log.folded()
                raise FilterError(
                    self.home,
                    f"{different} cannot be changed: the texts of {folded:,} messages were dropped and cannot be replayed",
                )
            self.log.change(wanted, replayed)

    def change(self, asked: dict[str, Any]) -> None:
        Settings().changed(asked)  # what is wrong here is not the log's fault
        with self.writing:
            with self.log.reading():
                kept = self.log.settings()
                wanted = self._wanted(kept, asked)
            if wanted != kept:
                self._change(asked)
                self.catch_up()
                self.save_if_due()

    # --- from the state to files ---------------------------------------------------------------------------------------------

    def save_if_due(self, at_end: bool = False) -> None:
        """A start must not replay much; one who learns all the time must not save all the time."""
        started = time.monotonic()
        if (
            self.log.read_only
            or not self.log.in_place
            or self.state.count - self.saved <= (BACKLOG if self.saved or not at_end else self._least())
            or (started < self._next_save and not at_end)
        ):
            return
        with contextlib.suppress(OSError):  # nothing is lost but time at the next start
            self.save()
        ended = time.monotonic()
        self._next_save = ended + (ended - started) / SAVING

    def _least(self) -> int:
        """Of messages that are not in a file yet, at the end: a model is there from the first message on; and one that is wrong
        does not stay, which would have what was taken back, not even if there is nothing else."""
        return -1 if (self.home / snapshot.NAME).is_file() else 0

    def save(self) -> None:
        with self.writing:
            if self.stale or not self.state.whole:
                self.catch_up()
            names = self._names()
            self.log.check_in_place()
            snapshot.save(self.state, self.log.uuid, self.home / snapshot.NAME, names)
            self.saved = self.state.count

    def size(self) -> int:
        """Bytes of all files; some of them come and go."""
        sizes = {}
        for path in self.home.iterdir():
            with contextlib.suppress(OSError):
                found = path.stat()
                sizes[found.st_dev, found.st_ino] = found.st_size  # the base may be the snapshot, too
        return sum(sizes.values())

    def _names(self) -> tuple[tuple[int, str], ...]:
        """What the weightiest columns stand for, so that whoever shows the model sees words; as many as are soon found."""
        wanted = np.concatenate(extremes(self.state.learner.weights, NAMED))
        with self.log.reading():
            return tuple(sorted(self.names_of(wanted, self.log, PATIENCE).items()))

    def names_of(self, columns: Any, log: Log, patience: float) -> dict[int, str]:
        """What columns stand for: from the newest texts; where some are gone, as files have told. Only there, since a file may
        tell of what was taken back. Within `reading`."""
        bits = self.state.settings.bits
        names = {} if log.base() is None else self.names.setdefault(bits, {})
        names.update(
            names_in(log.newest_first(), [column for column in columns.tolist() if column not in names], bits, patience)
        )
        return {column: names[column] for column in columns.tolist() if column in names}

    @_however_the_base_changes
    def fold(self, keep: int) -> int:
        """Fold all but the newest messages into the base; how many texts were dropped."""
        with self.writing:
            self.catch_up()
            with self.log.reading():
                old, generation = self.log.base(), self.log.generation()
                last, count = self.log.foldable(keep)
                if count:
                    state = self._best(last)
                    self._replay(state, last, live=False)
            if not count:
                self._tidy()
                return 0
            state.generation = generation
            base = Base(f"base-{last}.safetensors", last)
            names = self._names() if last == self.state.seq else ()
            self.log.check_in_place()
            snapshot.save(state, self.log.uuid, self.home / base.name, names)
            with self.log.writing():
                there = (self.home / base.name).is_file()
                # Another process may have been quicker, or have taken back what was to be folded.
                ours = there and self.log.base() == old and self.log.reaches(generation, last)
                if ours:
                    self.log.fold(base)
            if not ours:
                self._tidy()
                return 0
            self.catch_up()
            if self.state.seq == last and snapshot.also(self.home / snapshot.NAME, self.home / base.name):
                self.saved = self.state.count
            self._tidy()
            return count

    def _tidy(self) -> None:
        """Room that nobody needs any more is given back: after the commit, so that whoever is killed here has lost nothing.
        Bases are removed in a transaction, so that none is on its way to be used; who was reading one looks again."""
        with self.log.writing():
            base = self.log.base()
            for path in self.home.glob("base-*.safetensors"):
                if base is None or path.name != base.name:
                    snapshot.remove(path)
            snapshot.remove_abandoned(self.home)
        self.shrunk = self.log.shrink()

    def mix(self) -> None:
        """Put what came in heaps in its order, and learn it anew where it was in another."""
        with self.writing, self.log.writing():
            if self.log.mix():
                self.stale = True

    def fold_if_due(self) -> None:
        """Above one of the limits, the older half is folded."""
        if self.log.read_only:
            return
        with self.log.reading():
            settings, size = self.log.settings(), self.log.size()
        texts = self.state.count - self.folded  # numbers say too little: each mail that was moved has left one
        if texts > settings.max_messages or (size > settings.max_bytes and texts > FEWEST):
            with contextlib.suppress(OSError):  # the log is longer than it should be, and nothing is lost
                self.fold(texts // 2)
