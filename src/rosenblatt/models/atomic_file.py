"""Files that are written whole or not at all: beside the target, synced to disk, then renamed onto it.

Whoever reads the target sees the old file or the new one at every moment, also after a crash or a power cut. A temporary file
is called `.NAME.PID-RANDOM.rosenblatt-tmp`; those that a killed process left are removed by the next write to the same target.
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
from typing import Any, BinaryIO

SUFFIX = ".rosenblatt-tmp"
# A temporary file of a process that is gone is removed after so many seconds; the process may be on another machine that shares
# the folder, so also that of a process whose number is alive here, after a day.
STALE, ABANDONED = 600, 86_400

Writing = bytes | bytearray | memoryview | list[Any] | Callable[[BinaryIO], object]


class WriteError(OSError):
    """A file that could not be written, in one sentence that names it; the file before is as it was."""

    def __init__(self, sentence: str, number: int | None = None) -> None:
        super().__init__(sentence)
        self.errno = number


def write_atomically(path: str | os.PathLike[str], what: Writing) -> None:
    """Write bytes, a list of them, or whatever a function writes into the binary file it is given.

    A link is followed, an existing file's permissions are kept, and what is not a file but a device or a pipe is written to
    directly. What goes wrong is a `WriteError`; what the function raises otherwise is passed on.
    """
    name = os.fspath(path)
    try:
        target = Path(os.path.realpath(name))
        before = _status(target)
    except (OSError, ValueError) as error:
        raise _refused(name, error, None) from None
    if before is not None and stat.S_ISDIR(before.st_mode):
        raise WriteError(f"{name}: is a directory, not a file that can be written", errno.EISDIR)
    if not target.parent.is_dir():
        raise WriteError(f"{name}: cannot be written, there is no folder {target.parent}", errno.ENOENT)
    if before is not None and not os.access(target, os.W_OK):
        raise WriteError(f"{name}: is read-only, and was not replaced", errno.EACCES)
    try:
        if before is not None and not stat.S_ISREG(before.st_mode):
            with target.open("wb") as file:
                _fill(file, what)
            return
        _remove_stale(target)
        _replace(target, before, what)
    except OSError as error:
        raise _refused(name, error, before) from error
    try:
        sync_folder(target.parent)
    except OSError as error:
        raise WriteError(f"{name}: was written, but may not outlive a power cut: {_reason(error)}", error.errno) from error


def check_folder(path: str | os.PathLike[str]) -> None:
    """Raise the `WriteError` of a folder that takes no new file, before there is anything to write; permissions do not tell
    that for sure."""
    try:
        target = Path(os.path.realpath(path))
        before = _status(target)
        if before is None or stat.S_ISREG(before.st_mode):
            temporary, handle = _temporary(target, 0o600)
            os.close(handle)
            temporary.unlink()
    except (OSError, ValueError) as error:
        raise _refused(os.fspath(path), error, None) from None


def _temporary(target: Path, mode: int) -> tuple[Path, int]:
    """A new file beside the target, and its handle."""
    temporary = target.with_name(f"{_prefix(target)}{os.getpid()}-{os.urandom(4).hex()}{SUFFIX}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    return temporary, os.open(temporary, flags, mode)


def _status(target: Path) -> os.stat_result | None:
    try:
        return target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _replace(target: Path, before: os.stat_result | None, what: Writing) -> None:
    temporary, handle = _temporary(target, 0o666 if before is None else 0o600)  # a new file's are the umask's business
    try:
        file = os.fdopen(handle, "wb")
        try:
            _fill(file, what)
            file.flush()
            if before is not None:
                _like(before, file.fileno())
            os.fsync(file.fileno())
        finally:
            with contextlib.suppress(OSError):  # what was not written was said by flush
                file.close()
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _fill(file: Any, what: Writing) -> None:
    if callable(what):
        what(file)
        return
    for part in what if isinstance(what, list) else [what]:
        view = memoryview(part).cast("B")
        while len(view):
            view = view[file.write(view) :]


def _like(before: os.stat_result, handle: int) -> None:
    """Owner and permissions of the file that is replaced, as far as we may set them."""
    if hasattr(os, "fchown") and (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):
            os.fchown(handle, before.st_uid, before.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(before.st_mode))


def sync_folder(folder: Path) -> None:
    """The new name is on disk, too; some file systems cannot sync folders, and need not."""
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
    """A name may have 255 bytes; of a long one the temporary has the beginning."""
    return f".{os.fsencode(target.name)[:180].decode('utf-8', 'ignore')}."


def _remove_stale(target: Path) -> None:
    pattern = re.compile(re.escape(_prefix(target)) + r"([0-9]{1,10})-[0-9a-f]{8}" + re.escape(SUFFIX))
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            found = pattern.fullmatch(entry.name)
            if found is not None:
                with contextlib.suppress(OSError):
                    age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                    if age > ABANDONED or (age > STALE and not _alive(int(found[1]))):
                        os.unlink(entry.path)


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
    errno.EDQUOT: "the quota of the disk is used up",
    errno.EFBIG: "it would be larger than files may be here",
    errno.EACCES: "permission is denied",
    errno.EPERM: "permission is denied",
    errno.EROFS: "the disk is read-only",
    errno.EIO: "the disk failed",
    errno.ELOOP: "its links go round in a circle",
    errno.ENAMETOOLONG: "its name is too long",
}


def _refused(name: str, error: OSError | ValueError, before: os.stat_result | None) -> WriteError:
    kept = "" if before is None else "; the file that was there is kept as it was"
    return WriteError(f"{name}: cannot be written, {_reason(error)}{kept}", getattr(error, "errno", None))


def _reason(error: OSError | ValueError) -> str:
    known = _REASONS.get(getattr(error, "errno", None) or 0)
    return known or (getattr(error, "strerror", None) or str(error)).lower()
