"""The files of a filter: the log, and snapshots of the state that is its replay.

    log.sqlite            the messages, which define the state
    filter.safetensors    the state after a recent message; it can be recomputed
    base-SEQ.safetensors  the state after the messages whose texts were dropped; it cannot be recomputed

Every number in the state follows from the log and the base. After other processes have learned, the new messages are replayed;
after a removal, the messages from the last state on that the removal does not affect.
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
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from ...array_types import IntArray
from ...atomic_file import sync_folder
from ...reporting.text import plural
from .. import features
from ..explanation import extremes, names_in
from ..features import FeatureName
from . import snapshot
from .connection import LOG_NAME, BaseGoneError, FilterError
from .filter_state import Lesson, Settings, State
from .log import Base, Log

MAX_UNSAVED_MESSAGES = 32  # messages that opening a filter may have to replay
SAVE_TIME_SHARE = 0.05  # share of the time that a process which learns continuously spends on saving
MESSAGES_PER_STEP = 100  # messages that are replayed while verdicts wait
MESSAGES_PER_CHECKPOINT = 1000  # messages between two states that are kept in memory
NUMBA_FROM_MESSAGES = 2000  # below this number the import of Numba takes longer than it saves
NAMES_PER_SIDE = 200  # features of spam and of ham whose names are saved
NAME_SEARCH_S = 0.2  # time to search for them
MIN_TEXTS = 1000  # texts that are kept regardless of their size
FEATURES_VERSION = features.VERSION
T = TypeVar("T")
P = ParamSpec("P")


def load_numba_for(messages: int) -> None:
    """Import Numba, which takes half a second, if this many messages make up for it; all code with kernels then uses them."""
    if messages >= NUMBA_FROM_MESSAGES:
        import numba  # noqa: F401


def _retry_if_base_replaced(method: Callable[Concatenate[Store, P], T]) -> Callable[Concatenate[Store, P], T]:
    """Repeat a method if another process has replaced the base in the meantime."""

    @wraps(method)
    def again(store: Store, /, *given: P.args, **named: P.kwargs) -> T:
        while True:
            try:
                return method(store, *given, **named)
            except BaseGoneError as error:
                with store.log.reading():
                    base = store.log.base()
                if base is None or base.name == error.name:
                    raise

    return again


class Store:
    """The log, the current state and the snapshots of a filter.

    There are two locks. `writing` is held while the log is changed or a new state is computed. `lock` is held only while
    messages are scored or learned, so that a verdict never waits for a disk or a replay.
    """

    def __init__(self, home: str | os.PathLike[str], create: bool, settings: dict[str, float]) -> None:
        self.home = Path(home).absolute()  # the working directory may change
        initial = Settings(features=FEATURES_VERSION).changed(settings)
        self.made: list[Path] = []  # folders that were created, the home first
        if create:
            self._make_home()
        self.log = Log(self.home, create, initial)
        self.created = self.log.created
        self.writing, self.lock = threading.RLock(), threading.Lock()
        self.saved = 0  # messages in the newest valid file
        self.earlier: list[State] = []  # up to two older states
        self.folded = 0  # messages whose texts were dropped
        self.names: dict[int, dict[int, FeatureName]] = {}  # names of columns by number of bits
        self.shrunk = True  # whether dropped texts have left the disk
        self._base: Base | None = None
        self._next_save, self.stale = 0.0, False
        self._seen = self.log.n_opened, -1
        try:
            with self.log.reading():
                kept = self.log.settings()
                wanted = self._merged_settings(kept, settings)
            if wanted != kept:
                self._change(settings)
            self._begin()
            self.catch_up()
            self.save_if_due()
            self._remembered = self.state.count
        except BaseException:
            self.log.close()
            raise

    @_retry_if_base_replaced
    def _begin(self) -> None:
        with self.log.reading():
            self.state = self._newest_state(None)

    def _make_home(self) -> None:
        try:
            self.made = [folder for folder in (self.home, *self.home.parents) if not folder.exists()]
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in self.made:
                sync_folder(folder.parent)  # else the directory may be lost after a power cut
        except OSError as error:
            raise FilterError(self.home, f"cannot be created: {(error.strerror or str(error)).lower()}") from error

    def close(self) -> None:
        with self.writing:
            if self.log.is_open:
                if not self.stale and self.state.consistent:
                    self.save_if_due(at_end=True)
                self.log.close()

    # --- the state -----------------------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Take in what other processes have learned; returns whether the state changed.

        Does not wait for a thread that is writing: that thread catches up itself.
        """
        if not self.writing.acquire(blocking=False):
            return False
        try:
            with self.log.reading():
                seen = self.log.data_version()
            if seen == self._seen and not self.stale:
                return False
            before = self.state, self.state.seq, self.state.generation
            self.catch_up()
            return before != (self.state, self.state.seq, self.state.generation)
        finally:
            self.writing.release()

    @_retry_if_base_replaced
    def catch_up(self) -> None:
        """Bring the state up to date with the log."""
        with self.writing:
            with self.log.reading():
                seen = self.log.data_version()
                settings, generation, base = self.log.settings(), self.log.generation(), self.log.base()
                if base != self._base:
                    self._base, self.folded = base, self.log.folded()
                self._check_features(settings)
                state = self.state
                same = state.consistent and settings.replayed() == state.settings.replayed()
                texts = base is None or base.seq <= state.seq  # the texts of the next messages are in the log
                reopened = seen[0] != self._seen[0]  # without locks, no earlier state can be trusted
                if reopened or not (same and texts and self.log.reaches(state.generation, state.seq)):
                    state = self._newest_state(None)
                self._replay(state, None, live=state is self.state)
            with self.lock:
                if settings != state.settings:
                    state.recalibrate(settings)
                state.generation, self.state = generation, state
            self._seen, self.stale = seen, False

    def _replay(self, state: State, upto: int | None, live: bool) -> None:
        """Let a state learn the messages after it; `live` if verdicts use it at the same time."""
        lock = self.lock if live else None
        load_numba_for(self.log.last() - state.seq)
        lessons: list[Lesson] = []
        for seq, digest, spam, message in self.log.replay(state.seq, upto):
            lessons.append(Lesson(seq, digest, spam, message))
            if len(lessons) == MESSAGES_PER_STEP:
                state.learn(lessons, lock)
                lessons = []
        state.learn(lessons, lock)

    def _newest_state(self, upto: int | None) -> State:
        """The newest known state that is a replay of this log, up to `upto` at most, or the initial state."""
        settings, base = self.log.settings(), self.log.base()
        first = 0 if base is None else base.seq
        best, saved = None, 0
        for state, on_disk in self._states(settings, base):
            if first <= state.seq and (upto is None or state.seq <= upto) and self._matches_log(state):
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
            message = f"{base.name} is damaged or missing; it has the state before the oldest text in {LOG_NAME}"
            raise BaseGoneError(self.home, message, base.name)
        return State(settings)

    def _states(self, settings: Settings, base: Base | None) -> Iterator[tuple[State, bool]]:
        """Known states, the newest first, each with whether it is on disk."""
        latest = self._loaded(snapshot.SNAPSHOT_NAME, settings)
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

    def add_checkpoint(self) -> None:
        """Keep a copy of the state at checkpoints, so that recent messages can be unlearned without a replay of all."""
        if self.state.count - self._remembered >= MESSAGES_PER_CHECKPOINT:
            self.earlier = [*self.earlier[-1:], self.state.copy()]
            self._remembered = self.state.count

    def _matches_log(self, state: State) -> bool:
        """Whether a state is a replay of this log, and not of a copy with other messages."""
        return self.log.reaches(state.generation, state.seq) and (state.seq == 0 or self.log.digest_at(state.seq) == state.last)

    def _merged_settings(self, kept: Settings, values: dict[str, float]) -> Settings:
        """The stored settings with new values; after a change of the features all messages are replayed once."""
        if not (kept.features < FEATURES_VERSION and self.log.base() is None):
            self._check_features(kept)
        return replace(kept.changed(values), features=FEATURES_VERSION)

    def _check_features(self, settings: Settings) -> None:
        versions = f"its features have version {settings.features}, and this version of Rosenblatt has {FEATURES_VERSION}"
        if settings.features > FEATURES_VERSION:
            raise FilterError(self.home, f"was used by a newer version of Rosenblatt: {versions}")
        if settings.features < FEATURES_VERSION:
            dropped = f"the texts of {plural(self.log.folded(), 'message')} were dropped"
            raise FilterError(self.home, f"{versions}; {dropped}, so that a new filter must be trained")

    def _change(self, values: dict[str, float]) -> None:
        """Store new values; other settings that another process has changed in the meantime stay."""
        with self.log.writing():
            kept = self.log.settings()
            wanted = self._merged_settings(kept, values)
            if wanted == kept:
                return
            replayed = kept.replayed() != wanted.replayed()
            base = self.log.base()
            if replayed and base is not None:
                different = next(name for name, value in wanted.replayed().items() if kept.replayed()[name] != value)
                folded = f"the texts of {plural(self.log.folded(), 'message')}"
                raise FilterError(self.home, f"{different} cannot be changed: {folded} were dropped and cannot be replayed")
            self.log.change(wanted, replayed)

    def change(self, values: dict[str, float]) -> None:
        """Change settings, and replay the log if they change the weights."""
        Settings().changed(values)  # errors in the values are not errors of the log
        with self.writing:
            with self.log.reading():
                kept = self.log.settings()
                wanted = self._merged_settings(kept, values)
            if wanted != kept:
                self._change(values)
                self.catch_up()
                self.save_if_due()

    # --- the snapshots -------------------------------------------------------------------------------------------------------

    def save_if_due(self, at_end: bool = False) -> None:
        """Save if the next start would replay many messages, but not so often that saving takes much of the time."""
        started = time.monotonic()
        if (
            self.log.read_only
            or not self.log.in_place
            or self.state.count - self.saved
            <= (MAX_UNSAVED_MESSAGES if self.saved or not at_end else self._min_unsaved_at_end())
            or (started < self._next_save and not at_end)
        ):
            return
        with contextlib.suppress(OSError):  # the next start takes longer
            self.save()
        ended = time.monotonic()
        self._next_save = ended + (ended - started) / SAVE_TIME_SHARE

    def _min_unsaved_at_end(self) -> int:
        """The number of unsaved messages above which `close` saves a snapshot.

        A snapshot exists from the first message on, and an outdated one, which has unlearned messages, is always replaced.
        """
        return -1 if (self.home / snapshot.SNAPSHOT_NAME).is_file() else 0

    def save(self) -> None:
        """Write a snapshot of the current state."""
        with self.writing:
            if self.stale or not self.state.consistent:
                self.catch_up()
            names = self._names()
            self.log.check_in_place()
            snapshot.save(self.state, self.log.uuid, self.home / snapshot.SNAPSHOT_NAME, names)
            self.saved = self.state.count

    def size(self) -> int:
        """Bytes of all files; some of them may disappear meanwhile."""
        sizes = {}
        for path in self.home.iterdir():
            with contextlib.suppress(OSError):
                found = path.stat()
                sizes[found.st_dev, found.st_ino] = found.st_size  # the base may be a link to the snapshot
        return sum(sizes.values())

    def _names(self) -> tuple[tuple[int, str], ...]:
        """Names of the heaviest columns for the snapshot, as far as they are found quickly."""
        wanted = np.concatenate(extremes(self.state.learner.weights, NAMES_PER_SIDE))
        with self.log.reading():
            names = self.names_of(wanted, self.log, NAME_SEARCH_S)
        return tuple((column, str(names[column])) for column in sorted(names))

    def names_of(self, columns: IntArray, log: Log, seconds: float) -> dict[int, FeatureName]:
        """Names of columns, from the newest texts; call it within `reading`.

        Names from snapshots are used only if texts were dropped, because they may stem from unlearned messages.
        """
        bits = self.state.settings.bits
        names = {} if log.base() is None else self.names.setdefault(bits, {})
        names.update(
            names_in(log.newest_first(), [column for column in columns.tolist() if column not in names], bits, seconds)
        )
        return {column: names[column] for column in columns.tolist() if column in names}

    @_retry_if_base_replaced
    def fold(self, keep: int) -> int:
        """Drop all texts but those of the newest messages, and save the state after them as base; returns their number."""
        with self.writing:
            self.catch_up()
            with self.log.reading():
                old, generation = self.log.base(), self.log.generation()
                last, count = self.log.foldable(keep)
                if count:
                    state = self._newest_state(last)
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
                # Another process may have been faster, or have removed a message before the new base.
                valid = there and self.log.base() == old and self.log.reaches(generation, last)
                if valid:
                    self.log.fold(base)
            if not valid:
                self._tidy()
                return 0
            self.catch_up()
            if self.state.seq == last and snapshot.replace_by_link(self.home / snapshot.SNAPSHOT_NAME, self.home / base.name):
                self.saved = self.state.count
            self._tidy()
            return count

    def _tidy(self) -> None:
        """Free the disk space of dropped texts and old bases.

        This follows the commit, so that a killed process loses nothing. Bases are removed in a transaction, so that none is
        about to be used; a process that was reading one retries.
        """
        with self.log.writing():
            base = self.log.base()
            for path in self.home.glob("base-*.safetensors"):
                if base is None or path.name != base.name:
                    snapshot.remove(path)
            snapshot.remove_abandoned(self.home)
        self.shrunk = self.log.shrink()

    def mix(self) -> None:
        """Put the messages of bulk commands in the order of their digests; the state is stale if that order is new."""
        with self.writing, self.log.writing():
            if self.log.mix():
                self.stale = True

    def fold_if_due(self) -> None:
        """Drop the texts of the older half of the messages if there are more than the settings allow."""
        if self.log.read_only:
            return
        with self.log.reading():
            settings, size = self.log.settings(), self.log.size()
        texts = self.state.count - self.folded  # numbers of messages have gaps, and cannot be counted
        if texts > settings.max_messages or (size > settings.max_bytes and texts > MIN_TEXTS):
            with contextlib.suppress(OSError):  # the log stays longer than it should be; nothing is lost
                self.fold(texts // 2)
