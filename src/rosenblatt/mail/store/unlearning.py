"""Taking messages out of the log, and moving them to the other side of it: all of them in one transaction, or none.

The state is not the log's afterwards; whoever has done it replays once, however many messages there were. A mail may be there
several times, as in a box with copies: that is one thing to do, and of each copy it is told that it was done.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .connection import FilterError
from .store import Store

# --- Many mails in an order that has nothing to do with where they lay.
#
# An online learner that sees 500 spam and then 2,500 ham forgets the first. So the mails of one command are mixed: in the order
# of their digests, which is as good as random, and the same in whatever order they are given. They wait in a temporary file
# that SQLite keeps sorted, packed as in the log; memory does not grow with their number. Where there are many they are mixed
# with those that came in such commands before (`Log.mix`), too: in how many commands they came does not matter then.

CACHE = 8 << 10  # KB of the temporary file that stay in memory


class Spool:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.db = sqlite3.connect(
            "", isolation_level=None, check_same_thread=False
        )  # no name: a file that goes with the connection
        for pragma in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{CACHE}"):
            self.db.execute(f"PRAGMA {pragma}")
        self.db.execute("CREATE TABLE mails (digest BLOB PRIMARY KEY, spam INTEGER, packed BLOB)")
        self.db.execute("BEGIN")

    def add(self, digest: bytes, spam: bool, packed: bytes | None) -> None:
        """The last label that a mail is given is its label; one without text only says that it was given so."""
        try:
            self.db.execute("INSERT OR REPLACE INTO mails VALUES (?, ?, ?)", (digest, int(spam), packed))
        except sqlite3.Error as error:
            raise FilterError(
                self.home, f"nothing was learnt, there is no room for mails in temporary files ({error})"
            ) from error

    def find(self, digest: bytes) -> bool | None:
        row = self.db.execute("SELECT spam FROM mails WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else bool(row[0])

    def __len__(self) -> int:
        return int(self.db.execute("SELECT count(*) FROM mails WHERE packed IS NOT NULL").fetchone()[0])

    def mixed(self) -> Iterator[tuple[bytes, bool, bytes]]:
        texts = "FROM mails WHERE packed IS NOT NULL"
        for digest, spam, packed in self.db.execute(f"SELECT digest, spam, packed {texts} ORDER BY digest"):
            yield digest, bool(spam), packed

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.db.close()


# --- What a filter says that it has done.


class Learned(NamedTuple):
    new: int = 0
    known: int = 0  # learnt before, with the same label: nothing changed
    moved: int = 0  # learnt before with the other label, which was taken back
    kept: int = 0  # learnt before with the other label, and left as they are: their texts were folded away
    both: int = 0  # given twice in one command, with both labels: the last one counts
    unmixed: str = ""  # why they are not mixed with what was learnt before, where they should be: see Filter.learn


class Unlearned(NamedTuple):
    known: bool  # it had been learnt; else nothing changed
    exact: bool = True  # the filter is now that of the other messages alone; False: its text was folded away, nothing changed


class Relearned(NamedTuple):
    was: bool | None  # spam, ham, not learnt
    now: bool | None
    folded: bool = False  # it should have been moved, but its text was folded away: nothing changed


# ---


def take_back(store: Store, names: list[bytes]) -> list[Unlearned]:
    """Messages by their digests."""
    told, log = dict[bytes, Unlearned](), store.log
    with store.writing, log.writing():
        for name in dict.fromkeys(names):
            known = log.find(name)
            if known is not None and not known.folded:
                store.stale = True
                log.remove(known.seq)
            told[name] = Unlearned(known is not None, known is None or not known.folded)
    return [told[name] for name in names]


def move(store: Store, mails: list[tuple[bytes, bytes]], spam: bool | None) -> list[Relearned]:
    """Messages, by digest and packed, to one side, or each to the side where it is not."""
    told, log, sides = [], store.log, dict[bytes, bool | None]()
    with store.writing, log.writing():
        for name, packed in mails:
            known = log.find(name)
            was = None if known is None else known.spam
            to = sides.setdefault(name, spam if spam is not None else None if was is None else not was)
            if to is None or to == was:
                told.append(Relearned(was, was))
            elif known is not None and known.folded:
                told.append(Relearned(was, was, folded=True))
            else:
                store.stale = True
                if known is not None:
                    log.remove(known.seq)
                log.add(name, to, packed)
                told.append(Relearned(was, to))
    return told
