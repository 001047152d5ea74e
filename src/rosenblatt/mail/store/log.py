"""The log of a filter: every message that it has learned, in order, in one SQLite file; the filter is the replay of the log.

A transaction is on disk before it is acknowledged (WAL, synchronous=FULL). Messages are numbered by `seq`, which only grows and
is never used twice; they are replayed in its order. Every removal or reordering is a row of `changes` with a number of its own,
the generation, and with the first message whose replay it alters: a state that reached message s after generation g is still
valid if no later change reaches back to s.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from ...reporting.text import count
from ..message.message import Message
from .connection import LOCK_TIMEOUT_S, LOG_NAME, REPAIR_HINT, Connection, FilterError
from .filter_state import Settings

APPLICATION = 0x526F736D  # "Rosm"
VERSION = 2
NO_FILTER = "no filter yet; create one: rosenblatt mail learn --spam JUNK --ham INBOX"
UNTAUGHT = "the filter has learned nothing; teach it: rosenblatt mail learn --spam JUNK --ham INBOX"

_SCHEMA = """
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE,
    spam INTEGER NOT NULL,
    batch INTEGER NOT NULL,             -- whether it came in a bulk command, whose order has no meaning
    seal INTEGER NOT NULL,              -- checksum of digest and label
    fields BLOB                         -- Message.pack(), NULL: folded into the base
);
CREATE TABLE changes (generation INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL);
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
# By version of a log, the statement that turns it into the next version. The first change of a log executes them; a log that
# is only read stays as it is, since readers use no column that was renamed.
_UPGRADES = {1: "ALTER TABLE messages RENAME COLUMN heap TO batch"}


class Base(NamedTuple):
    """The file with the state of the oldest messages, and the last of them."""

    name: str
    seq: int


class Known(NamedTuple):
    """A message in the log."""

    seq: int
    spam: bool
    folded: bool


class Log(Connection):
    """One connection to the log; threads that share it must take turns."""

    def __init__(self, home: Path, create: bool = False, settings: Settings | None = None) -> None:
        super().__init__(home)
        self.created = False  # whether this connection created the log
        self._wanted = settings if create else None
        with self.reporting_errors("cannot be opened"):
            self._check_there(create)
            self._open()

    def _check_there(self, create: bool) -> None:
        """Check that the log exists or may be created; it is never created next to the weights of another one."""
        weights = next((path for path in self.home.glob("*.safetensors") if path.name.startswith(("filter.", "base-"))), None)
        # Weights first, then the log: a process that creates a filter writes them in the opposite order.
        if weights is not None and not (self.path.is_file() and self.path.stat().st_size):
            restore = f"restore it, or move {weights.name} away to start again"
            raise FilterError(self.home, f"{LOG_NAME} is missing, which {weights.name} belongs to; {restore}")
        if create:
            _create_private(self.path)
        elif not self.path.is_file():
            raise FilterError(self.home, NO_FILTER)

    def _set_up(self) -> None:
        db = self.db
        with self.reading():  # one view: another process may be creating this log
            application, version = self._pragma("application_id"), self._pragma("user_version")
            tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if application == 0 and version == 0 and tables == 0:
            if self._wanted is None:
                raise FilterError(self.home, NO_FILTER)
            self.check_writable()
            self._create(self._wanted)
            application, version = self._pragma("application_id"), self._pragma("user_version")
        if application != APPLICATION:
            raise FilterError(self.home, f"{LOG_NAME} is not the log of a mail filter, or damaged{REPAIR_HINT}")
        if version != VERSION and version not in _UPGRADES:
            raise FilterError(
                self.home, f"{LOG_NAME} has format version {version}, and this version of Rosenblatt reads {VERSION}"
            )
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA secure_delete=ON")  # unlearned texts are not left in free pages
        self.uuid = str(self._read_value("uuid"))

    def _create(self, settings: Settings) -> None:
        import uuid

        self.db.execute("PRAGMA auto_vacuum=INCREMENTAL")
        self._write_ahead()
        with self.writing():
            if self._pragma("application_id") == 0:  # else another process was faster
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    self.db.execute(statement)
                self._write_value("uuid", str(uuid.uuid4()))
                self._write_value("settings", asdict(settings))
                self._write_value("base", None)
                self.created = True
                self.db.execute(f"PRAGMA application_id={APPLICATION}")
                self.db.execute(f"PRAGMA user_version={VERSION}")

    def remove_if_empty(self) -> bool:
        """Remove a log without messages; returns whether it was removed. Processes that have it open can no longer write."""
        with self.writing():
            if self.last() or self.generation():
                return False
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(f"{LOG_NAME}{suffix}").unlink(missing_ok=True)
        self.close()
        return True

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        with super().writing():
            while (version := self._pragma("user_version")) in _UPGRADES:
                self.db.execute(_UPGRADES[version])
                self.db.execute(f"PRAGMA user_version={version + 1}")
            yield

    def _write_ahead(self) -> None:
        """Switch to WAL. The method waits itself, because SQLite does not if two processes create the same log."""
        until = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                self.db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)

    # --- reading --------------------------------------------------------------------------------------------------------------

    def _read_value(self, key: str) -> Any:
        row = self.db.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
        try:
            return json.loads(row[0])
        except (TypeError, ValueError):
            raise FilterError(self.home, f"{LOG_NAME} is damaged: the value {key!r} is missing{REPAIR_HINT}") from None

    def _write_value(self, key: str, value: object) -> None:
        self.db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, json.dumps(value)))

    def settings(self) -> Settings:
        values = self._read_value("settings")
        try:
            return Settings(**values)
        except (TypeError, ValueError) as error:
            raise FilterError(
                self.home, f"{LOG_NAME} is damaged, or of a newer version of Rosenblatt: its settings cannot be used ({error})"
            ) from None

    def base(self) -> Base | None:
        value = self._read_value("base")
        try:
            return None if value is None else Base(str(value["name"]), int(value["seq"]))
        except (TypeError, ValueError, LookupError):
            raise FilterError(self.home, f"{LOG_NAME} is damaged: the value 'base' is invalid{REPAIR_HINT}") from None

    def generation(self) -> int:
        return int(self.db.execute("SELECT coalesce(max(generation), 0) FROM changes").fetchone()[0])

    def last(self) -> int:
        return int(self.db.execute("SELECT coalesce(max(seq), 0) FROM messages").fetchone()[0])

    def reaches(self, generation: int, seq: int) -> bool:
        """Whether a state that reached `seq` after that change is still valid."""
        return (
            0 <= generation <= self.generation()
            and self.db.execute("SELECT 1 FROM changes WHERE generation > ? AND seq <= ?", (generation, seq)).fetchone() is None
        )

    def digest_at(self, seq: int) -> bytes | None:
        row = self.db.execute("SELECT digest FROM messages WHERE seq = ?", (seq,)).fetchone()
        return None if row is None else bytes(row[0])

    def find(self, digest: bytes) -> Known | None:
        row = self.db.execute("SELECT seq, spam, seal, fields IS NULL FROM messages WHERE digest = ?", (digest,)).fetchone()
        if row is None:
            return None
        seq, spam, seal, folded = row
        return Known(int(seq), self._label(seq, digest, spam, seal), bool(folded))

    def replay(self, after: int, upto: int | None = None) -> Iterator[tuple[int, bytes, bool, Message]]:
        """(seq, digest, spam, message) after `after` and up to `upto`, in order."""
        upto = self.last() if upto is None else upto
        for seq, digest, spam, seal, packed in self.db.execute(
            "SELECT seq, digest, spam, seal, fields FROM messages WHERE seq > ? AND seq <= ? ORDER BY seq", (after, upto)
        ):
            yield seq, digest, self._label(seq, digest, spam, seal), self._unpacked(seq, packed)

    def newest_first(self) -> Iterator[Message]:
        for seq, packed in self.db.execute("SELECT seq, fields FROM messages WHERE fields IS NOT NULL ORDER BY seq DESC"):
            yield self._unpacked(seq, packed)

    def _label(self, seq: int, digest: bytes, spam: int, seal: int) -> bool:
        if spam not in (0, 1) or seal != _seal(digest, spam):
            raise FilterError(
                self.home, f"{LOG_NAME} is damaged: the label or the digest of message {count(seq)} has changed{REPAIR_HINT}"
            )
        return bool(spam)

    def _unpacked(self, seq: int, packed: bytes) -> Message:
        if not isinstance(packed, bytes):
            raise FilterError(self.home, f"{LOG_NAME} is damaged: message {count(seq)} has no text{REPAIR_HINT}")
        return Message.unpack(packed)

    def foldable(self, keep: int) -> tuple[int, int]:
        """The last message with a text that is not among the newest `keep`, and the number of texts up to it."""
        texts = "FROM messages WHERE fields IS NOT NULL"
        row = self.db.execute(f"SELECT seq {texts} ORDER BY seq DESC LIMIT 1 OFFSET ?", (keep,)).fetchone()
        if row is None:
            return 0, 0
        return int(row[0]), int(self.db.execute(f"SELECT count(*) {texts} AND seq <= ?", row).fetchone()[0])

    def folded(self) -> int:
        """The number of messages whose texts were dropped."""
        base = self.base()
        return (
            0
            if base is None
            else int(self.db.execute("SELECT count(*) FROM messages WHERE seq <= ?", (base.seq,)).fetchone()[0])
        )

    def size(self) -> int:
        """Bytes in use."""
        return (self._pragma("page_count") - self._pragma("freelist_count")) * self._pragma("page_size")

    # --- changes, each within `writing` --------------------------------------------------------------------------------------

    def add(self, digest: bytes, spam: bool, packed: bytes, bulk: bool = False) -> int:
        row = (digest, int(spam), int(bulk), _seal(digest, spam), packed)
        columns = "digest, spam, batch, seal, fields"
        return int(self.db.execute(f"INSERT INTO messages({columns}) VALUES (?, ?, ?, ?, ?)", row).lastrowid or 0)

    def remove(self, seq: int) -> None:
        self.db.execute("DELETE FROM messages WHERE seq = ?", (seq,))
        self._changed(seq)

    def mix(self) -> bool:
        """Put the messages of bulk commands first, in the order of their digests, and the others after them, in their own.

        So the order of the others does not depend on any message. Messages without texts stay at the beginning of the replay.
        Returns whether the order changed.
        """
        rows = self.db.execute("SELECT batch, digest, seq FROM messages WHERE fields IS NOT NULL ORDER BY seq")
        there = [(bool(bulk), bytes(digest), seq) for bulk, digest, seq in rows]
        wanted = sorted(there, key=lambda row: (not row[0], row[1] if row[0] else b"", row[2]))
        first = next((k for k, (one, other) in enumerate(zip(there, wanted, strict=True)) if one != other), None)
        if first is None:
            return False
        moved = [seq for _, _, seq in wanted[first:]]
        last = int(self.db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").fetchone()[0])
        new = range(last + 1, last + 1 + len(moved))
        self.db.executemany("UPDATE messages SET seq = ? WHERE seq = ?", zip(new, moved, strict=True))
        self.db.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'messages'", (new[-1],))
        self._changed(min(moved))
        return True

    def change(self, settings: Settings, replayed: bool) -> None:
        self._write_value("settings", asdict(settings))
        self._changed(0 if replayed else self.last() + 1)  # a change that alters no replay still has a generation

    def fold(self, base: Base) -> None:
        """Drop the texts up to the last message of the base.

        Their rows are rewritten: rows that only lost their texts would stay one or two on a page.
        """
        folded = "FROM messages WHERE seq <= ? AND fields IS NOT NULL"
        self.db.execute("CREATE TEMP TABLE kept (seq INTEGER PRIMARY KEY, digest, spam, batch, seal)")
        self.db.execute(f"INSERT INTO temp.kept SELECT seq, digest, spam, batch, seal {folded}", (base.seq,))
        self.db.execute(f"DELETE {folded}", (base.seq,))
        self.db.execute("INSERT INTO messages SELECT seq, digest, spam, batch, seal, NULL FROM temp.kept ORDER BY seq")
        self.db.execute("DROP TABLE temp.kept")
        self._write_value("base", base._asdict())

    def shrink(self) -> bool:
        """Return unused pages to the disk, without waiting; returns False if another connection is reading.

        This needs a script, since `execute` would return one page only.
        """
        busy = 1
        with contextlib.suppress(sqlite3.Error):
            self.db.executescript("PRAGMA busy_timeout=0; PRAGMA incremental_vacuum")
            busy = self._pragma("wal_checkpoint(TRUNCATE)")
        self.db.execute(f"PRAGMA busy_timeout={1000 * LOCK_TIMEOUT_S:.0f}")
        return not busy

    def _changed(self, seq: int) -> None:
        self.db.execute("INSERT INTO changes(seq) VALUES (?)", (seq,))


def _seal(digest: bytes, spam: int) -> int:
    return zlib.crc32(b"%b%d" % (digest, spam))


def _create_private(path: Path) -> None:
    """Create an empty file that only its owner can read; SQLite gives its other files the same permissions."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
