"""Atomic file writes: a temporary file beside the target is synced to disk, then renamed onto the target.

A reader sees either the old file or the new one, even after a crash or a power failure. Temporary files are named
`.NAME.PID-RANDOM.rosenblatt-tmp`, and their writers hold a lock on them, which ends with the process. The next write to the
same target removes those that are not locked: their writers were killed.

`open_regular` opens such files for reading, and nothing that would make a reader wait.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from .safe_text import printable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

TEMPORARY_SUFFIX = ".rosenblatt-tmp"
# Where files cannot be locked, and for temporary files of earlier versions, which were not locked and have shorter names: age
# from which on the temporary file of a dead process is removed.
STALE_AFTER_S = 600
# Age from which on a temporary file is removed even if its process id is alive: the id may have been reused, or may belong to
# another machine that shares the folder.
ABANDONED_AFTER_S = 86_400
# Bytes of the target's name that the temporary name keeps; file names are limited to 255 bytes.
MAX_NAME_BYTES = 180

_TEMPORARY = re.compile(r"(?P<pid>[0-9]{1,10})-(?P<random>[0-9a-f]{16}|[0-9a-f]{8})" + re.escape(TEMPORARY_SUFFIX))

Buffer = bytes | bytearray | memoryview
Content = Buffer | list[Buffer] | Callable[[BinaryIO], object]


class WriteError(OSError):
    """A file could not be written; the message names it, escaped, and the cause. An existing file is unchanged."""

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(printable(message))
        self.errno = number


class NotRegularFileError(OSError):
    """A file to read is a pipe, a socket or a device."""

    def __init__(self) -> None:
        super().__init__("not a regular file but a directory, a pipe, a socket or a device")


def open_regular(path: str, flags: int) -> int:
    """Open a regular file; an `opener` of `open`. Opening a pipe without a writer would wait, and opening a device may act."""
    if not _is_regular(os.stat(path), path):
        raise NotRegularFileError
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # it may have been replaced by a pipe since
    if not _is_regular(os.fstat(handle), path):
        os.close(handle)
        raise NotRegularFileError
    return handle


def _is_regular(status: os.stat_result, path: str) -> bool:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    return stat.S_ISREG(status.st_mode)


def write_atomically(path: str | os.PathLike[str], content: Content) -> None:
    """Write a file completely or not at all.

    Links are followed and the permissions of an existing file are kept. Devices and pipes are written to directly.

    Parameters
    ----------
    path : path-like
        The file to write.
    content : bytes-like, list of bytes-like or callable
        The contents, or a function that writes them into the binary file it is given.

    Raises
    ------
    WriteError
        If the file cannot be written. Other exceptions of the callable are passed on.
    """
    name = os.fspath(path)
    try:
        target = Path(os.path.realpath(name))
        before = _status(target)
    except (OSError, ValueError) as error:
        raise _write_error(name, error, None) from None
    if before is not None and stat.S_ISDIR(before.st_mode):
        raise WriteError(f"{name}: is a directory", errno.EISDIR)
    if not target.parent.is_dir():
        raise WriteError(f"{name}: cannot be written: there is no folder {target.parent}", errno.ENOENT)
    if before is not None and not os.access(target, os.W_OK):
        raise WriteError(f"{name}: cannot be written: the file is read-only", errno.EACCES)
    try:
        if before is not None and not stat.S_ISREG(before.st_mode):
            with target.open("wb") as file:
                _write_content(file, content)
            return
        _remove_stale(target)
        _replace(target, before, content)
    except OSError as error:
        raise _write_error(name, error, before) from error
    try:
        sync_folder(target.parent)
    except OSError as error:
        raise WriteError(f"{name}: written, but a power failure may lose it: {_reason(error)}", error.errno) from error


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise a `WriteError` if no file can be created in the folder of `path`.

    A temporary file is created and removed, because the permission bits of a folder are not conclusive.
    """
    try:
        target = Path(os.path.realpath(path))
        before = _status(target)
        if before is None or stat.S_ISREG(before.st_mode):
            temporary, handle = _temporary(target, 0o600)
            temporary.unlink()
            os.close(handle)
    except (OSError, ValueError) as error:
        raise _write_error(os.fspath(path), error, None) from None


def _temporary(target: Path, mode: int) -> tuple[Path, int]:
    """Create a temporary file beside the target and lock it; returns its path and handle."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    while True:
        temporary = target.with_name(f"{_prefix(target)}{os.getpid()}-{os.urandom(8).hex()}{TEMPORARY_SUFFIX}")
        handle = os.open(temporary, flags, mode)
        if _lock(handle) in (True, None) and os.fstat(handle).st_nlink:
            return temporary, handle
        os.close(handle)  # another write found it before it was locked, and removes it


def _lock(handle: int) -> bool | None:
    """Lock an open file. False: another process holds the lock. None: files cannot be locked here."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _replace(target: Path, before: os.stat_result | None, content: Content) -> None:
    temporary, handle = _temporary(target, 0o666 if before is None else 0o600)  # the umask applies to new files
    try:
        file = os.fdopen(handle, "wb")
        try:
            _write_content(file, content)
            file.flush()
            if before is not None:
                _copy_owner_and_mode(before, file.fileno())
            os.fsync(file.fileno())
            if fcntl is not None:  # still locked, so that no other write removes it; Windows does not rename open files
                temporary.replace(target)
        finally:
            with contextlib.suppress(OSError):  # flush has already reported any write error
                file.close()
        if fcntl is None:
            temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _write_content(file: BinaryIO, content: Content) -> None:
    if callable(content):
        content(file)
        return
    for part in content if isinstance(content, list) else [content]:
        view = memoryview(part).cast("B")
        while len(view):
            view = view[file.write(view) :]


def _copy_owner_and_mode(before: os.stat_result, handle: int) -> None:
    """Copy owner and permissions of the replaced file, as far as the system permits."""
    if hasattr(os, "fchown") and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):
            os.fchown(handle, before.st_uid, before.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(before.st_mode))


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that a renamed file survives a power failure. File systems without this operation are skipped."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM):
            raise


def _prefix(target: Path) -> str:
    return f".{os.fsencode(target.name)[:MAX_NAME_BYTES].decode('utf-8', 'ignore')}."


def _remove_stale(target: Path) -> None:
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if entry.name.startswith(_prefix(target)) and _TEMPORARY.fullmatch(entry.name, len(_prefix(target))):
                remove_abandoned(entry.path)


def remove_abandoned(path: str | os.PathLike[str]) -> None:
    """Remove a temporary file if its writer was killed."""
    found = _TEMPORARY.search(os.path.basename(path))
    if found is None:
        return
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with contextlib.suppress(OSError):
        handle = os.open(path, flags)
        try:
            abandoned = _lock(handle) if len(found["random"]) == 16 else None
            if abandoned is None:
                age = time.time() - os.fstat(handle).st_mtime
                abandoned = age > ABANDONED_AFTER_S or (age > STALE_AFTER_S and not _alive(int(found["pid"])))
            if abandoned:
                os.unlink(path)
        finally:
            os.close(handle)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is exceeded",
    errno.EFBIG: "the file would exceed the size limit",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the disk is read-only",
    errno.EIO: "the disk failed",
    errno.ELOOP: "the link refers to itself",
    errno.ENAMETOOLONG: "the name is too long",
}


def _write_error(name: str, error: OSError | ValueError, before: os.stat_result | None) -> WriteError:
    kept = "" if before is None else "; the existing file is unchanged"
    return WriteError(f"{name}: cannot be written: {_reason(error)}{kept}", getattr(error, "errno", None))


def _reason(error: OSError | ValueError) -> str:
    known = _REASONS.get(getattr(error, "errno", None) or 0)
    return known or (getattr(error, "strerror", None) or str(error)).lower()
