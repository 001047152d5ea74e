"""Permissions of the files that a filter trusts: its home, which decides what is spam, and the token of its server.

Files of this user that others may write, or a token that others may read, are repaired; those of another user are refused,
since only their owner can repair them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .connection import LOG_NAME, FilterError


def repair_home(home: str | os.PathLike[str]) -> str | None:
    """Take away write permission of other users from a home and its files; the group keeps its own.

    Returns
    -------
    sentence : str or None
        What was repaired, or None if nothing had to be.

    Raises
    ------
    FilterError
        If other users may write, and this user cannot change that; or if a file is of a user who could not have written it
        but for permissions that the home had before.
    """
    repaired, owners = [], set[int]()
    for path in _trusted(Path(home)):
        try:
            found = path.stat()
        except OSError:
            continue  # not there yet, or reported when it is opened
        if stat.S_ISDIR(found.st_mode):
            owners = set() if found.st_mode & stat.S_IWGRP else {found.st_uid, os.geteuid(), 0}
        elif owners and found.st_uid not in owners:
            raise FilterError(home, f"{path.name} belongs to another user, who can change it: move it away, or chown it")
        if found.st_mode & stat.S_IWOTH:
            if not take_away(path, found, stat.S_IWOTH):
                raise FilterError(
                    home, f"all users can write to {path}, and it is not yours: let its owner run chmod o-w {path}"
                )
            repaired.append(str(path))
    if not repaired:
        return None
    return f"{' and '.join(repaired)} could be written by all users; took that permission away (chmod o-w)"


def _trusted(home: Path) -> list[Path]:
    """The home, and the files in it that a filter reads."""
    try:
        names = sorted(os.listdir(home))
    except OSError:
        names = []
    return [home, *(home / name for name in names if name.startswith(LOG_NAME) or name.endswith(".safetensors"))]


def repair_secret(path: str | os.PathLike[str], found: os.stat_result) -> str | None:
    """Take away permissions of other users from a file with a secret; the group may read it.

    Returns
    -------
    sentence : str or None
        What was repaired, or None if nothing had to be.

    Raises
    ------
    PermissionError
        If other users may read or write it, and this user cannot change that.
    """
    unsafe = found.st_mode & (stat.S_IRWXO | stat.S_IWGRP)
    if not unsafe or not stat.S_ISREG(found.st_mode):
        return None
    if not take_away(Path(path), found, stat.S_IRWXO | stat.S_IWGRP):
        raise PermissionError("other users can read or write it, and it is not yours: let its owner run chmod g-w,o-rwx")
    return f"{os.fspath(path)} could be read or written by other users; took that permission away (chmod g-w,o-rwx)"


def take_away(path: Path, found: os.stat_result, permissions: int) -> bool:
    """Take permissions away from a file of this user; return whether that was possible."""
    if found.st_uid != os.geteuid():
        return False
    try:
        path.chmod(stat.S_IMODE(found.st_mode) & ~permissions)
    except OSError:
        return False
    return True
