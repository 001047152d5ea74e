"""A connection to a filter's log, also where nobody may write; transactions, and in a sentence what is wrong with them.

SQLite tells connections of each other by two files beside the log. Where it may not make them the log is read as one that
nobody writes. Somebody may all the same: so whoever begins to read opens it again if it has changed, and what was written while
it was read is not believed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# --- What is wrong with a filter, in one sentence that names its home.


class FilterError(ValueError):
    """A filter that cannot be used, or cannot do what was asked; what it had learnt is as it was."""

    def __init__(self, home: str | os.PathLike[str], sentence: str) -> None:
        super().__init__(f"{os.fspath(home)}: {sentence}")
        self.home, self.sentence = os.fspath(home), sentence


class FoldedError(FilterError):
    """The text of a message is no longer in the log, so that nothing can be replayed without it."""


class BaseGoneError(FilterError):
    """The file that holds the oldest messages is not there, or another process has just replaced it."""

    def __init__(self, home: str | os.PathLike[str], sentence: str, name: str) -> None:
        super().__init__(home, sentence)
        self.name = name


# ---

NAME = "log.sqlite"
PATIENCE = 30.0  # seconds to wait for another process that writes
MEND = "; restore a copy of it, or move the filter's home away and learn again"


class _File(NamedTuple):
    inode: int = 0
    size: int = 0
    written: int = 0


class Connection:
    def __init__(self, home: Path) -> None:
        self.home, self.path, self.is_open = home, home / NAME, True
        self.opened, self._inode = 0, 0  # how many times, and which file
        self._unlocked: tuple[_File, _File] | None = None  # the log and what is not in it yet, where it is read without locks

    def _open(self) -> None:
        self.read_only = not (os.access(self.home, os.W_OK) and os.access(self.path, os.W_OK))
        self._unlocked, self._inode = None, _file(self.path).inode
        try:
            self._connect("mode=ro" if self.read_only else "mode=rw")
        except sqlite3.OperationalError as error:
            files = self._files()
            if not (self.read_only and _is_forbidden(error)) or files[1].size:
                raise
            self._connect("mode=ro&immutable=1")
            self._unlocked = files
        self.opened += 1

    def _connect(self, way: str) -> None:
        address = f"{self.path.absolute().as_uri()}?{way}"
        self.db = sqlite3.connect(address, PATIENCE, isolation_level=None, check_same_thread=False, uri=True)
        try:
            self._pragma("schema_version")  # only now SQLite looks at its files
            self._set_up()
        except BaseException:
            self.db.close()
            raise

    def _set_up(self) -> None:
        raise NotImplementedError

    def _files(self) -> tuple[_File, _File]:
        return _file(self.path), _file(self.path.with_name(f"{NAME}-wal"))

    def close(self) -> None:
        self.is_open = False
        with contextlib.suppress(sqlite3.Error):
            self.db.close()

    def others_wrote(self) -> tuple[int, int]:
        """What is another one as soon as another connection has written; within `reading`."""
        return self.opened, self._pragma("data_version")

    def _pragma(self, name: str) -> int:
        return int(self.db.execute(f"PRAGMA {name}").fetchone()[0])

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all of it is on disk afterwards, or nothing."""
        self.check_writable()
        self.check_in_place()
        yield from self._transaction("BEGIN IMMEDIATE", "cannot be written")

    def check_writable(self) -> None:
        if self.read_only:
            raise FilterError(
                self.home, "nothing can be learnt or changed here: permission is denied, or the disk is read-only"
            )

    @property
    def in_place(self) -> bool:
        """Whether the log is still where it was opened; else nothing may be written there, to whatever is there now."""
        return _file(self.path).inode == self._inode

    def check_in_place(self) -> None:
        if not self.in_place:
            raise FilterError(self.home, f"{NAME} was moved away or removed while it was open, and nothing was changed")

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """One look at the log, whatever others write meanwhile."""
        if self._unlocked is not None and self._unlocked != self._files():
            self._open_again()
        yield from self._transaction("BEGIN", "cannot be read")
        if self._unlocked is not None and self._unlocked[0] != _file(self.path):
            raise FilterError(self.home, f"{NAME} was written while it was read: try again")

    def _open_again(self) -> None:
        was = self._unlocked
        with self.told("cannot be opened"):
            self.db.close()
            try:
                self._open()
            except BaseException:
                self._unlocked = was  # who reads next tries again
                raise

    def _transaction(self, begin: str, doing: str) -> Iterator[None]:
        with self.told(doing):
            self.db.execute(begin)
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    if self.db.in_transaction:
                        self.db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def told(self, doing: str) -> Iterator[None]:
        """Whatever SQLite or a damaged row raises, in a sentence."""
        try:
            yield
        except FilterError:
            raise
        except sqlite3.Error as error:
            raise FilterError(self.home, f"{NAME} {_reason(error, doing)}") from error
        except OSError as error:
            raise FilterError(self.home, f"{NAME} {doing}: {(error.strerror or str(error)).lower()}") from error
        except (zlib.error, struct.error, TypeError, ValueError, OverflowError) as error:
            raise FilterError(
                self.home, f"{NAME} is damaged: it holds what nobody has written ({type(error).__name__}){MEND}"
            ) from error


def _file(path: Path) -> _File:
    try:
        found = path.stat()
    except OSError:
        return _File()
    return _File(found.st_ino, found.st_size, found.st_mtime_ns)


def _is_forbidden(error: sqlite3.Error) -> bool:
    return str(getattr(error, "sqlite_errorname", "")).startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"))


def _reason(error: sqlite3.Error, doing: str) -> str:
    name, told = getattr(error, "sqlite_errorname", "") or "", " ".join(str(error).split())
    if name.startswith("SQLITE_FULL"):
        return f"{doing}: the disk is full; what was learnt before is there"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{doing}: another process has kept it for {PATIENCE:.0f} seconds"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return f"is damaged ({told}){MEND}"
    if _is_forbidden(error):
        return f"{doing}: permission is denied, or the disk is read-only"
    return f"{doing}: {told}"
