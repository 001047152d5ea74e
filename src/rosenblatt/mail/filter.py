"""The filter: taught with mails and whether they are spam, asked about others.

Problem    say of a mail whether it is spam, and take back what was learnt from a mail as if it had never been seen
Update     a mail's fields go to the log, on disk before `learn` returns, and its columns to the learner
Guarantee  the state is the replay of the log: that of a fresh filter that learns the remaining mails in order, bit for bit
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .explanation import LOOKED, PATIENCE, extremes, listed, reasons_of, telling, words_of
from .features import columns_of
from .identity import digest
from .message.message import Message
from .message.parse import parse
from .store.connection import FilterError, FoldedError
from .store.log import Log
from .store.state import Lesson, Settings
from .store.store import MANY, Store, expect
from .store.unlearning import Learned, Relearned, Spool, Unlearned, move, take_back
from .verdict import Calibration, Reason, Verdict

__all__ = ["Filter", "FilterError", "FoldedError", "Learned", "Relearned", "Settings", "Unlearned"]

SEVERAL = MANY // 10  # mails to classify after which there are probably many more
HEAP = 10  # mails of one command that are mixed with those of other commands; fewer come one by one
BATCH, SECONDS = 200, 0.5  # a transaction has as many messages as come in so long, and at most so many


class _Mail(NamedTuple):
    digest: bytes
    spam: bool
    packed: bytes
    message: Message


class Filter:
    """A spam filter that lives in a directory.

    Any number of processes may have it open, and threads share one. `classify` never waits for a disk or a replay; what others
    have learnt it knows after `refresh`.

    Examples
    --------
    >>> import tempfile
    >>> with Filter.open(tempfile.mkdtemp(), create=True, settings={"bits": 18}) as taught:
    ...     taught.learn([(b"Subject: cheap pills\\n\\nBuy now", True), (b"Subject: lunch\\n\\nAt noon?", False)])
    ...     taught.learn([(b"Subject: lunch\\n\\nAt noon?", False)])
    ...     taught.unlearn(b"Subject: lunch\\n\\nAt noon?")
    ...     taught.classify(b"Subject: pills\\n\\nBuy cheap").score > 0
    Learned(new=2, known=0, moved=0, kept=0, both=0, unmixed='')
    Learned(new=0, known=1, moved=0, kept=0, both=0, unmixed='')
    Unlearned(known=True, exact=True)
    True
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    @classmethod
    def open(cls, home: str | os.PathLike[str], create: bool = False, settings: Mapping[str, Any] | None = None) -> Filter:
        """The filter in a directory.

        create : make one where there is none.
        settings : of `Settings`, by name. Where the filter has others it is changed to these, and replays its log where that
            changes its weights: exactly as if it had had them from the beginning.
        """
        return cls(Store(home, create, dict(settings or {})))

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Filter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def settings(self) -> Settings:
        return self.store.state.settings

    @property
    def created(self) -> bool:
        """Whether opening it has made it: there was none before."""
        return self.store.created

    def change(self, **settings: Any) -> None:
        """Other settings, as if they had been there from the beginning."""
        self.store.change(settings)

    def refresh(self) -> bool:
        """Take in what other processes have taught this filter; whether there was something. Cheap where there was not."""
        return self.store.refresh()

    def save(self) -> None:
        """Write the snapshot now; otherwise that happens now and then, and at the end."""
        self.store.log.check_writable()
        try:
            self.store.save()
        except OSError as error:
            raise FilterError(self.store.home, f"was not saved: {error}") from error

    # --- learning ------------------------------------------------------------------------------------------------------------

    def learn(
        self, mails: Iterable[tuple[bytes, bool]], mix: bool = False, progress: Callable[[int], object] | None = None
    ) -> Learned:
        """Learn raw mails, each with whether it is spam.

        What was known with the same label changes nothing; what was known with the other label is moved to this one, as
        `relearn` does. They are learnt as they come, a batch in each transaction; when this returns they are on disk.

        mix : learn them in the order of their digests instead, after all of them were read: for mailboxes of spam, then of ham.
            Where HEAP of them or more are new, those that came so before are mixed with them, and all is learnt anew: the
            filter is the one that would have learnt all of them at once.
        progress : called with the number of mails that have been read.
        """
        self.store.log.check_writable()
        told: dict[str, Any] = dict.fromkeys(Learned._field_defaults, 0) | {"unmixed": ""}
        heap, waiting = False, dict[bytes, bool]()
        spool = Spool(self.store.home) if mix else None
        try:
            fresh = self._unknown(mails, told, spool, waiting, progress)
            if spool is not None:
                for mail in fresh:
                    spool.add(mail.digest, mail.spam, mail.packed)
                heap = len(spool) >= HEAP
                fresh = (_Mail(*row, Message.unpack(row[2])) for row in spool.mixed())
            self._learn_batches(fresh, told, heap, waiting)
            if heap:
                self._mix(told)
        except Exception:  # a mailbox that cannot be read; whoever pressed Ctrl-C does not want to wait
            self._settle()
            raise
        finally:
            if spool is not None:
                spool.close()
        self._settle()
        return Learned(**told)

    def relearn(self, raw: bytes, spam: bool) -> Learned:
        """Move a mail to the other side, or learn it: unlearn and learn in one transaction. Refuses where the text is gone."""
        learned = self.learn([(raw, spam)])
        if learned.kept:
            raise self._folded()
        return learned

    def unlearn(self, raw: bytes) -> Unlearned:
        """Take a mail back: the filter is then the one that never saw it. Where its text has been folded away that cannot be: a
        `FoldedError` says so, and nothing has changed."""
        (told,) = self.unlearn_many([raw])
        if not told.exact:
            raise self._folded()
        return told

    def unlearn_many(self, raws: Iterable[bytes]) -> list[Unlearned]:
        """Take mails back, all in one transaction, with one replay for all of them. Those whose texts have been folded away
        stay: `exact` is False."""
        told = take_back(self.store, [digest(raw) for raw in raws])
        self._replay_in_peace()
        return told

    def relearn_many(self, raws: Iterable[bytes], spam: bool | None = None) -> list[Relearned]:
        """Move mails to one side, or each to the side where it is not, all in one transaction, with one replay for all of them.
        Those whose texts have been folded away stay: `folded` says so."""
        told = move(self.store, [(digest(raw), parse(raw).pack()) for raw in raws], spam)
        self._replay_in_peace()
        return told

    def _replay_in_peace(self) -> None:
        """Ctrl-C does not undo what is in the log: it is told as done, and whoever opens the filter next replays it."""
        with contextlib.suppress(KeyboardInterrupt):
            self._settle()

    def compact(self, keep: int = 0) -> int:
        """Fold the texts of all but the newest `keep` messages into the base: they stay known, but can no longer be unlearnt.
        Happens by itself above `max_messages` and `max_bytes`. Returns how many were folded."""
        if keep < 0:
            raise ValueError(f"keep must be 0 or more messages, got {keep}")
        self.store.log.check_writable()
        try:
            return self.store.fold(keep)
        except OSError as error:
            raise FilterError(self.store.home, f"was not compacted: {error}") from error

    def _folded(self) -> FoldedError:
        return FoldedError(
            self.store.home,
            "this message cannot be taken back: its text was dropped (mail compact), and nothing has changed",
        )

    def _mix(self, told: dict[str, Any]) -> None:
        """All is learnt and on disk: where there is no room to put it in order, that is told, and the next heap tries again."""
        try:
            self.store.mix()
        except FilterError as error:
            told["unmixed"] = error.sentence

    def _unknown(
        self,
        mails: Iterable[tuple[bytes, bool]],
        told: dict[str, Any],
        spool: Spool | None,
        waiting: dict[bytes, bool],
        progress: Callable[[int], object] | None,
    ) -> Iterator[_Mail]:
        """Those that may have to be learnt, read and packed; others are not even parsed. What is waiting to be learnt counts as
        learnt: the labels of those that are not in the spool are in `waiting`."""
        log = self.store.log
        for number, (raw, spam) in enumerate(mails, 1):
            if number == MANY // 4:  # there are probably many more
                expect(MANY)
            name, spam = digest(raw), bool(spam)
            with self.store.writing, log.told("cannot be read"):
                known = log.find(name)
            given = waiting.get(name) if spool is None else spool.find(name)
            if (known is not None and known.spam == spam and given is None) or given == spam:
                told["known"] += 1
                if spool is not None and given is None:
                    spool.add(name, spam, None)
            else:
                if spool is None:
                    waiting[name] = spam
                elif given is not None:
                    told["both"] += 1
                message = parse(raw)
                yield _Mail(name, spam, message.pack(), message)
            if progress is not None:
                progress(number)

    def _learn_batches(self, mails: Iterable[_Mail], told: dict[str, Any], heap: bool, waiting: dict[bytes, bool]) -> None:
        batch: list[_Mail] = []
        until = time.monotonic() + SECONDS
        for mail in mails:
            batch.append(mail)
            if len(batch) >= BATCH or time.monotonic() > until:
                self._learn_batch(batch, told, heap)
                waiting.clear()  # all that was waiting was in the batch
                batch, until = [], time.monotonic() + SECONDS
        if batch:
            self._learn_batch(batch, told, heap)

    def _learn_batch(self, batch: list[_Mail], told: dict[str, Any], heap: bool) -> None:
        store, log, counts, added = self.store, self.store.log, dict.fromkeys(("new", "known", "moved", "kept"), 0), []
        with store.writing:
            state, stale, store.stale = store.state, store.stale, True  # until the state has what the log has
            with log.writing():
                alone = (log.generation(), log.last()) == (state.generation, state.seq)
                for mail in batch:
                    known = log.find(mail.digest)
                    if known is not None and known.spam == mail.spam:
                        counts["known"] += 1
                    elif known is not None and known.folded:
                        counts["kept"] += 1
                    else:
                        if known is not None:
                            log.remove(known.seq)
                            alone = False
                        counts["new" if known is None else "moved"] += 1
                        seq = log.add(mail.digest, mail.spam, mail.packed, heap)
                        added.append(Lesson(seq, mail.digest, mail.spam, mail.message))
            if alone and not stale:
                state.learn(added, store.lock)
                store.stale = False
        for name, count in counts.items():
            told[name] += count

    def _settle(self) -> None:
        """After learning: the state is the log's, files are not far behind, and the log is not too long."""
        store = self.store
        with store.writing:
            if store.stale:
                store.catch_up()
            store.fold_if_due()
            store.save_if_due()
            store.remember()

    # --- asking --------------------------------------------------------------------------------------------------------------

    def classify(self, raw: bytes) -> Verdict:
        state = self.store.state  # once: another thread may put one of other columns in its place
        columns = columns_of(parse(raw), state.settings.bits)
        with self.store.lock:
            score, calibration = state.learner.score(columns), state.calibration()
        return Verdict(calibration.label(score), score, calibration.probability(score))

    def classify_many(self, raws: Iterable[bytes]) -> Iterator[Verdict]:
        """One verdict after the other, as the mails come; with compiled code as soon as there are many."""
        for number, raw in enumerate(raws, 1):
            if number == SEVERAL:
                expect(MANY)
            yield self.classify(raw)

    def explain(self, raw: bytes, n: int | None = None) -> list[Reason]:
        """What each feature of a mail added to its score, the weightiest first; all of them add up to it."""
        state = self.store.state
        message, bits = parse(raw), state.settings.bits
        columns = columns_of(message, bits)
        with self.store.lock:
            weights = state.learner.weights[columns]
        return reasons_of(message, columns, weights, bits, n)

    def telling(self, raw: bytes, n: int | None = None) -> list[Reason]:
        """What each word of a mail added to its score, with the features that touch it, the weightiest first; all of them add
        up to it."""
        state = self.store.state
        message, bits = parse(raw), state.settings.bits
        columns = columns_of(message, bits)
        with self.store.lock:
            weights = state.learner.weights[columns]
        return words_of(message, columns, weights, bits, n)

    @property
    def calibration(self) -> Calibration:
        """From which score on it is spam, and up to which it is ham."""
        with self.store.lock:
            return self.store.state.calibration()

    def label_of(self, raw: bytes) -> bool | None:
        """As which a mail has been learnt: spam (True), ham (False), or not at all."""
        with self.store.writing, self.store.log.reading():
            known = self.store.log.find(digest(raw))
        return None if known is None else known.spam

    def messages(self) -> Iterator[tuple[Message, bool]]:
        """What is left of the log, in the order in which it was learnt: every message whose text is there, and whether it was
        spam."""
        log = Log(self.store.home)
        try:
            with log.reading():
                base = log.base()
                for _, _, spam, message in log.replay(0 if base is None else base.seq):
                    yield message, spam
        finally:
            log.close()

    def top(self, n: int = 20) -> tuple[list[Reason], list[Reason]]:
        """The most spammy and the most hammy features, with names from the texts in the log, the newest first."""
        with self.store.lock:
            weights = self.store.state.learner.weights
            spammy, hammy = extremes(weights, n)
            weights = {column: float(weights[column]) for column in (*spammy.tolist(), *hammy.tolist())}
        log = Log(self.store.home)
        try:
            with log.reading():
                names = self.store.names_of(np.concatenate([spammy, hammy]), log, PATIENCE)
        finally:
            log.close()
        return listed(spammy, weights, names), listed(hammy, weights, names)

    def telling_top(self, n: int = 20) -> tuple[list[Reason], list[Reason]]:
        """The same, without those that repeat another: n of either side, if there are so many among the heaviest."""
        for looked in (LOOKED * n, LOOKED**2 * n):
            spammy, hammy = (telling(side, n) for side in self.top(looked))
            if len(spammy) == len(hammy) == n:
                break
        return spammy, hammy

    def stats(self) -> dict[str, Any]:
        """What the filter has learnt, and what it takes on disk."""
        store, state = self.store, self.store.state
        with store.lock:
            calibration = state.calibration()
        return {
            "home": str(store.home),
            "messages": state.count,
            "spam": state.spam,
            "ham": state.count - state.spam,
            "folded": store.folded,
            "bytes": store.size(),
            "settings": state.settings,
            "calibration": calibration,
        }
