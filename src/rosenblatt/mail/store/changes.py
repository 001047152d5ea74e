"""Changes of a filter: learning, unlearning and relearning mails, and the results that are returned.

`learn_mails` reads mails, skips the known ones and commits the others in batches. `unlearn_digests` and `relearn_packed` remove
and move messages, all of them in one transaction or none. After those two the state no longer matches the log: the caller must
call `finish`, which replays once for any number of changed messages. A mail that is given several times, as in a mailbox with
copies, is changed once, and the result of each copy reports the change.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ...progress import Progress, current_callback
from ...reporting.text import plural
from ..identity import digest
from ..message.message import Message
from ..message.parse import parse
from .connection import FilterError
from .filter_state import Lesson
from .store import NUMBA_FROM_MESSAGES, Store, load_numba_for

MIN_BULK_MAILS = 10  # commands with fewer new mails keep their order
MESSAGES_PER_COMMIT, SECONDS_PER_COMMIT = 200, 0.5  # a transaction is committed when either limit is reached
CACHE_KB = 8 << 10  # page cache of SQLite for the temporary file of a spool


class Learned(NamedTuple):
    """The result of `Filter.learn`: the number of mails by outcome.

    Parameters
    ----------
    new : int, default=0
        Mails that were learned for the first time.
    known : int, default=0
        Mails that had been learned before with the same label; nothing changed.
    moved : int, default=0
        Mails that had been learned before with the other label, which was undone.
    kept : int, default=0
        Mails that had been learned before with the other label and stay so, because their texts were dropped.
    both : int, default=0
        Mails that were given twice with both labels; the last one counts.
    unmixed : str, default=""
        Why the mails were not mixed with those learned before, although they should have been.

    See Also
    --------
    Filter.learn : Learn mails.

    Examples
    --------
    >>> from rosenblatt.mail import Learned
    >>> Learned(new=2, known=1).new
    2
    """

    new: int = 0
    known: int = 0
    moved: int = 0
    kept: int = 0
    both: int = 0
    unmixed: str = ""


class Unlearned(NamedTuple):
    """The result of `Filter.unlearn`.

    Parameters
    ----------
    known : bool
        Whether the mail had been learned; if not, nothing changed.
    exact : bool, default=True
        Whether the filter is now the one that never saw the mail. False: its text was dropped, and nothing changed.

    See Also
    --------
    Filter.unlearn : Undo the learning of a mail.

    Examples
    --------
    >>> from rosenblatt.mail import Unlearned
    >>> Unlearned(known=True).exact
    True
    """

    known: bool
    exact: bool = True


class Relearned(NamedTuple):
    """The result of `Filter.relearn_many` for one mail.

    Parameters
    ----------
    was : bool or None
        The label before: spam (True), ham (False), or not learned (None).
    now : bool or None
        The label after.
    folded : bool, default=False
        Whether the mail should have been moved, but stays because its text was dropped.

    See Also
    --------
    Filter.relearn_many : Change the labels of mails.

    Examples
    --------
    >>> from rosenblatt.mail import Relearned
    >>> Relearned(was=True, now=False).now
    False
    """

    was: bool | None
    now: bool | None
    folded: bool = False


class Spool:
    """The mails of one command, sorted by their digests in a temporary file.

    An online learner that sees 500 spam and then 2,500 ham forgets the first. The mails of one command are therefore learned in
    the order of their digests, which is as good as random and does not depend on the order in which they are given. SQLite
    keeps them sorted in a temporary file, so memory does not grow with their number. With many new mails those of earlier such
    commands are mixed in as well (`Log.mix`), so that the number of commands does not matter either.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.db = sqlite3.connect("", isolation_level=None, check_same_thread=False)  # "": deleted with the connection
        for pragma in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{CACHE_KB}"):
            self.db.execute(f"PRAGMA {pragma}")
        self.db.execute("CREATE TABLE mails (digest BLOB PRIMARY KEY, spam INTEGER, packed BLOB)")
        self.db.execute("BEGIN")

    def add(self, name: bytes, spam: bool, packed: bytes | None) -> None:
        """Add a mail by its digest; its last label counts. Without a text only the label is recorded."""
        try:
            self.db.execute("INSERT OR REPLACE INTO mails VALUES (?, ?, ?)", (name, int(spam), packed))
        except sqlite3.Error as error:
            raise FilterError(self.home, f"nothing was learned: no space for temporary files ({error})") from error

    def find(self, name: bytes) -> bool | None:
        """The label of a mail, or None."""
        row = self.db.execute("SELECT spam FROM mails WHERE digest = ?", (name,)).fetchone()
        return None if row is None else bool(row[0])

    def __len__(self) -> int:
        return int(self.db.execute("SELECT count(*) FROM mails WHERE packed IS NOT NULL").fetchone()[0])

    def texts(self, mix: bool) -> Iterator[tuple[bytes, bool, bytes]]:
        """(digest, spam, packed) of the mails with texts, by their digests or, without `mix`, as they were added."""
        order = "digest" if mix else "rowid"
        rows = f"SELECT digest, spam, packed FROM mails WHERE packed IS NOT NULL ORDER BY {order}"
        for name, spam, packed in self.db.execute(rows):
            yield name, bool(spam), packed

    def labels(self) -> Iterator[tuple[bytes, bool]]:
        """(digest, spam) of the mails with texts."""
        for name, spam in self.db.execute("SELECT digest, spam FROM mails WHERE packed IS NOT NULL"):
            yield name, bool(spam)

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.db.close()


# --- learning ---------------------------------------------------------------------------------------------------------------


class _Mail(NamedTuple):
    digest: bytes
    spam: bool
    packed: bytes
    message: Message


def learn_mails(
    store: Store, mails: Iterable[tuple[bytes, bool]], mix: bool, check: Callable[[int, int], object] | None = None
) -> Learned:
    """Learn raw mails; see `Filter.learn`."""
    store.log.check_writable()
    counts: Counter[str] = Counter()
    bulk, unmixed, waiting = False, "", dict[bytes, bool]()
    spool = Spool(store.home) if mix or check is not None else None
    try:
        new = _new_mails(store, mails, counts, spool, waiting)
        if spool is not None:
            for mail in new:
                spool.add(mail.digest, mail.spam, mail.packed)
            if check is not None:
                check(_count_moves(store, spool), counts["both"])
            bulk = mix and len(spool) >= MIN_BULK_MAILS
            new = (_Mail(*row, Message.unpack(row[2])) for row in spool.texts(mix))
        _learn_batches(store, new, counts, bulk, waiting)
        if bulk:
            unmixed = _mix(store)
    except Exception:  # a mailbox that cannot be read; after Ctrl-C the user does not want to wait
        finish(store)
        raise
    finally:
        if spool is not None:
            spool.close()
    finish(store)
    return Learned(**{name: counts[name] for name in Learned._fields if name != "unmixed"}, unmixed=unmixed)


def remove_if_new(store: Store) -> None:
    """Remove a filter that this process created and that learned nothing, with the folders that were created for it."""
    with store.writing:
        if store.created and store.log.remove_if_empty():
            with contextlib.suppress(OSError):  # a folder has something else by now
                for folder in store.made:
                    folder.rmdir()


def _count_moves(store: Store, spool: Spool) -> int:
    """The number of mails in the spool that the log has with the other label and with their texts."""
    with store.writing, store.log.reporting_errors("cannot be read"):
        found = ((store.log.find(name), spam) for name, spam in spool.labels())
        return sum(known is not None and known.spam != spam and not known.folded for known, spam in found)


def _new_mails(
    store: Store,
    mails: Iterable[tuple[bytes, bool]],
    counts: Counter[str],
    spool: Spool | None,
    waiting: dict[bytes, bool],
) -> Iterator[_Mail]:
    """The mails that may have to be learned, parsed and packed; known ones are not parsed.

    A mail that waits to be learned counts as learned. `waiting` has the labels of those that are not in the spool.
    """
    log, callback = store.log, current_callback()
    for number, (raw, spam) in enumerate(mails, 1):
        if number == NUMBA_FROM_MESSAGES // 4:  # probably there are many more
            load_numba_for(NUMBA_FROM_MESSAGES)
        name, spam = digest(raw), bool(spam)
        with store.writing, log.reporting_errors("cannot be read"):
            known = log.find(name)
        given = waiting.get(name) if spool is None else spool.find(name)
        if (known is not None and known.spam == spam and given is None) or given == spam:
            counts["known"] += 1
            if spool is not None and given is None:
                spool.add(name, spam, None)
        else:
            if spool is None:
                waiting[name] = spam
            elif given is not None:
                counts["both"] += 1
            message = parse(raw)
            yield _Mail(name, spam, message.pack(), message)
        if callback is not None:
            callback(Progress(0, visited=number, text=plural(number, "mail")))


def _learn_batches(store: Store, mails: Iterable[_Mail], counts: Counter[str], bulk: bool, waiting: dict[bytes, bool]) -> None:
    batch: list[_Mail] = []
    until = time.monotonic() + SECONDS_PER_COMMIT
    for mail in mails:
        batch.append(mail)
        if len(batch) >= MESSAGES_PER_COMMIT or time.monotonic() > until:
            counts.update(_learn_batch(store, batch, bulk))
            waiting.clear()  # all waiting mails were in the batch
            batch, until = [], time.monotonic() + SECONDS_PER_COMMIT
    if batch:
        counts.update(_learn_batch(store, batch, bulk))


def _learn_batch(store: Store, batch: list[_Mail], bulk: bool) -> Counter[str]:
    """Learn mails in one transaction; returns their number by outcome."""
    log, counts, added = store.log, Counter[str](), []
    with store.writing:
        state, stale, store.stale = store.state, store.stale, True  # stale until the state has learned what the log has
        with log.writing():
            current = (log.generation(), log.last()) == (state.generation, state.seq)
            for mail in batch:
                known = log.find(mail.digest)
                if known is not None and known.spam == mail.spam:
                    counts["known"] += 1
                elif known is not None and known.folded:
                    counts["kept"] += 1
                else:
                    if known is not None:
                        log.remove(known.seq)
                        current = False
                    counts["new" if known is None else "moved"] += 1
                    seq = log.add(mail.digest, mail.spam, mail.packed, bulk)
                    added.append(Lesson(seq, mail.digest, mail.spam, mail.message))
        if current and not stale:
            state.learn(added, store.lock)
            store.stale = False
    return counts


def _mix(store: Store) -> str:
    """Put the messages of bulk commands in order; returns the reason if that failed; the next bulk command tries again."""
    try:
        store.mix()
    except FilterError as error:
        return error.sentence
    return ""


def finish(store: Store) -> None:
    """After a change: bring the state up to date, fold the log if it is too long, and save from time to time."""
    with store.writing:
        if store.stale:
            store.catch_up()
        store.fold_if_due()
        store.save_if_due()
        store.add_checkpoint()


# --- unlearning and relearning ----------------------------------------------------------------------------------------------


def unlearn_digests(store: Store, names: list[bytes]) -> list[Unlearned]:
    """Remove messages, by their digests, in one transaction."""
    results, log = dict[bytes, Unlearned](), store.log
    with store.writing, log.writing():
        for name in dict.fromkeys(names):
            known = log.find(name)
            if known is not None and not known.folded:
                store.stale = True
                log.remove(known.seq)
            results[name] = Unlearned(known is not None, known is None or not known.folded)
    return [results[name] for name in names]


def relearn_packed(
    store: Store, mails: list[tuple[bytes, bytes]], spam: bool | None, check: Callable[[int], object] | None = None
) -> list[Relearned]:
    """Give messages, by digest and packed text, one label, or each the other one (None), in one transaction."""
    results, log, labels = [], store.log, dict[bytes, bool | None]()
    if check is not None:  # before the transaction, since it may wait for an answer
        with store.writing, log.reading():
            found = (log.find(name) for name in {name for name, _ in mails})
            moves = sum(known is not None and known.spam != spam and not known.folded for known in found)
        check(moves)
    with store.writing, log.writing():
        for name, packed in mails:
            known = log.find(name)
            was = None if known is None else known.spam
            to = labels.setdefault(name, spam if spam is not None else None if was is None else not was)
            if to is None or to == was:
                results.append(Relearned(was, was))
            elif known is not None and known.folded:
                results.append(Relearned(was, was, folded=True))
            else:
                store.stale = True
                if known is not None:
                    log.remove(known.seq)
                log.add(name, to, packed)
                results.append(Relearned(was, to))
    return results
