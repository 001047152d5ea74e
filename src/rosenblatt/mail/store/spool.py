"""Many mails in an order that has nothing to do with where they lay.

An online learner that sees 500 spam and then 2,500 ham forgets the first. So the mails of one command are mixed: in the order
of their digests, which is as good as random, and the same in whatever order they are given. They wait in a temporary file that
SQLite keeps sorted, packed as in the log; memory does not grow with their number. Where there are many they are mixed with
those that came in such commands before (`Log.mix`), too: in how many commands they came does not matter then.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from .errors import FilterError

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
