"""A connection to the log of a filter: transactions, read-only access, and the errors that are raised.

SQLite coordinates connections by two files next to the log. If it may not create them, the log is opened as one that does
not change. Another process may still write to it: a read therefore reopens the log if it has changed since, and raises an
error if it was written in the meantime.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ...reporting.text import plural

LOG_NAME = "log.sqlite"
LOCK_TIMEOUT_S = 30.0  # time to wait for another process that writes
REPAIR_HINT = "; restore a copy of it, or move the directory of the filter away and learn again"


class FilterError(ValueError):
    """A filter that cannot be used, or an operation that it cannot do; what it has learned is unchanged.

    Parameters
    ----------
    home : str or path
        The directory of the filter.
    sentence : str
        What is wrong.

    Attributes
    ----------
    home : str
        The directory of the filter.
    sentence : str
        What is wrong, without the directory.

    See Also
    --------
    FoldedError : An operation on a message whose text was dropped.

    Examples
    --------
    >>> from rosenblatt.mail import Filter, FilterError
    >>> try:
    ...     Filter.open("no/such/folder")
    ... except FilterError as error:
    ...     error.sentence
    'no filter yet; create one: rosenblatt mail learn --spam JUNK --ham INBOX'
    """

    def __init__(self, home: str | os.PathLike[str], sentence: str) -> None:
        super().__init__(f"{os.fspath(home)}: {sentence}")
        self.home, self.sentence = os.fspath(home), sentence


class FoldedError(FilterError):
    """An operation on a message whose text was dropped, so that the log cannot be replayed without it.

    Parameters
    ----------
    home : str or path
        The directory of the filter.
    sentence : str
        What is wrong.

    See Also
    --------
    Filter.compact : Drop the texts of old messages.

    Examples
    --------
    >>> from rosenblatt.mail import FilterError, FoldedError
    >>> issubclass(FoldedError, FilterError)
    True
    """


class BaseGoneError(FilterError):
    """The file with the state of the oldest messages is missing, or another process has just replaced it."""

    def __init__(self, home: str | os.PathLike[str], sentence: str, name: str) -> None:
        super().__init__(home, sentence)
        self.name = name


class _File(NamedTuple):
    inode: int = 0
    size: int = 0
    written: int = 0


class Connection:
    """A connection to the log; its subclass sets up the database."""

    def __init__(self, home: Path) -> None:
        self.home, self.path, self.is_open = home, home / LOG_NAME, True
        self.n_opened, self._inode = 0, 0  # how often it was opened, and which file
        self._unlocked: tuple[_File, _File] | None = None  # log and WAL file, if the log is read without locks

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
        self.n_opened += 1

    def _connect(self, mode: str) -> None:
        address = f"{self.path.absolute().as_uri()}?{mode}"
        self.db = sqlite3.connect(address, LOCK_TIMEOUT_S, isolation_level=None, check_same_thread=False, uri=True)
        try:
            self._pragma("schema_version")  # SQLite opens its files only now
            self._set_up()
        except BaseException:
            self.db.close()
            raise

    def _set_up(self) -> None:
        raise NotImplementedError

    def _files(self) -> tuple[_File, _File]:
        return _file(self.path), _file(self.path.with_name(f"{LOG_NAME}-wal"))

    def close(self) -> None:
        self.is_open = False
        with contextlib.suppress(sqlite3.Error):
            self.db.close()

    def data_version(self) -> tuple[int, int]:
        """A value that changes when another connection has written; call it within `reading`."""
        return self.n_opened, self._pragma("data_version")

    def _pragma(self, name: str) -> int:
        return int(self.db.execute(f"PRAGMA {name}").fetchone()[0])

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: afterwards all of it is on disk, or nothing."""
        self.check_writable()
        yield from self._transaction("BEGIN IMMEDIATE", "cannot be written", self.check_in_place)

    def check_writable(self) -> None:
        if self.read_only:
            raise FilterError(self.home, "cannot be changed: permission is denied, or the disk is read-only")

    @property
    def in_place(self) -> bool:
        """Whether the log is still the file that was opened; if not, nothing may be written."""
        return _file(self.path).inode == self._inode

    def check_in_place(self) -> None:
        if not self.in_place:
            raise FilterError(self.home, f"{LOG_NAME} was moved or removed while it was open; nothing was changed")

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """One consistent view of the log while other processes write."""
        if self._unlocked is not None and self._unlocked != self._files():
            self._open_again()
        yield from self._transaction("BEGIN", "cannot be read")
        if self._unlocked is not None and self._unlocked[0] != _file(self.path):
            raise FilterError(self.home, f"{LOG_NAME} was written while it was read; try again")

    def _open_again(self) -> None:
        was = self._unlocked
        with self.reporting_errors("cannot be opened"):
            self.db.close()
            try:
                self._open()
            except BaseException:
                self._unlocked = was  # the next read tries again
                raise

    def _transaction(self, begin: str, failure: str, check: Callable[[], object] | None = None) -> Iterator[None]:
        with self.reporting_errors(failure):
            self.db.execute(begin)
            try:
                if check is not None:
                    check()  # within the transaction: `remove_if_empty` removes the log within one
                yield
                self.db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    if self.db.in_transaction:
                        self.db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def reporting_errors(self, failure: str) -> Iterator[None]:
        """Raise errors of SQLite and of damaged rows as `FilterError`; `failure` is a phrase such as "cannot be read"."""
        try:
            yield
        except FilterError:
            raise
        except sqlite3.Error as error:
            raise FilterError(self.home, f"{LOG_NAME} {_reason(error, failure)}") from error
        except OSError as error:
            raise FilterError(self.home, f"{LOG_NAME} {failure}: {(error.strerror or str(error)).lower()}") from error
        except (zlib.error, struct.error, TypeError, ValueError, OverflowError) as error:
            raise FilterError(
                self.home, f"{LOG_NAME} is damaged: it has invalid contents ({type(error).__name__}){REPAIR_HINT}"
            ) from error


def _file(path: Path) -> _File:
    try:
        found = path.stat()
    except OSError:
        return _File()
    return _File(found.st_ino, found.st_size, found.st_mtime_ns)


def _is_forbidden(error: sqlite3.Error) -> bool:
    return str(getattr(error, "sqlite_errorname", "")).startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"))


def _reason(error: sqlite3.Error, failure: str) -> str:
    name, message = getattr(error, "sqlite_errorname", "") or "", " ".join(str(error).split())
    if name.startswith("SQLITE_FULL"):
        return f"{failure}: the disk is full; what was learned before is kept"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"{failure}: another process has locked it for {plural(LOCK_TIMEOUT_S, 'second')}"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return f"is damaged ({message}){REPAIR_HINT}"
    if _is_forbidden(error):
        return f"{failure}: permission is denied, or the disk is read-only"
    return f"{failure}: {message}"
