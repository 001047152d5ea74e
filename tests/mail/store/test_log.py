"""The log of a filter: logs that earlier versions wrote are read, and the first change brings them to this version."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest
from small_filters import assert_equal, fresh, mail, mails

from rosenblatt.mail.filter import Filter
from rosenblatt.mail.store import log

VERSION_1 = """
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE,
    spam INTEGER NOT NULL,
    heap INTEGER NOT NULL,              -- whether it came in a bulk command, whose order has no meaning
    seal INTEGER NOT NULL,              -- checksum of digest and label
    fields BLOB                         -- Message.pack(), NULL: folded into the base
);
CREATE TABLE changes (generation INTEGER PRIMARY KEY AUTOINCREMENT, seq INTEGER NOT NULL);
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


def write_version_1(home: Path) -> None:
    """Replace the log in a directory by one of the first version with the same rows."""
    path, new = home / "log.sqlite", home / "new.sqlite"
    with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as db:
        db.execute("PRAGMA auto_vacuum=INCREMENTAL")
        db.execute("PRAGMA journal_mode=WAL")
        db.executescript(VERSION_1)
        db.execute("ATTACH ? AS current", (str(path),))
        for table in ("messages", "changes", "settings", "sqlite_sequence"):
            db.execute(f"DELETE FROM main.{table}")
            db.execute(f"INSERT INTO main.{table} SELECT * FROM current.{table}")
        db.execute(f"PRAGMA application_id={log.APPLICATION}")
        db.execute("PRAGMA user_version=1")
    new.replace(path)


def version(home: Path) -> int:
    with contextlib.closing(sqlite3.connect(home / "log.sqlite")) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    """Two filters with the same messages, some of them of a bulk command: one of the first version, and one of this version."""
    old, new = tmp_path / "old", tmp_path / "new"
    for home in (old, new):
        with fresh(home, mails(range(30))) as made:
            made.learn(mails(range(30, 60)), mix=True)
    write_version_1(old)
    return old, new


def test_a_log_of_version_1_is_read_as_it_is(homes: tuple[Path, Path]) -> None:
    old, new = homes
    for path in old.glob("*.safetensors"):
        path.unlink()  # so that all is replayed
    with Filter.open(old) as one, Filter.open(new) as other:
        assert_equal(one, other)
    assert version(old) == 1


def test_a_change_upgrades_a_log_of_version_1(homes: tuple[Path, Path]) -> None:
    old, new = homes
    with Filter.open(old) as reader:
        for home in homes:
            with Filter.open(home) as found:
                found.learn(mails(range(60, 80)), mix=True)
                found.unlearn(mail(4))
                found.relearn(mail(7), spam=True)
                found.compact(keep=40)
        assert reader.refresh()
        with Filter.open(new) as other:
            assert_equal(reader, other)
        assert reader.learn(mails(range(80, 83))).new == 3  # on a connection that was opened before the upgrade
    assert version(old) == version(new) == log.VERSION
