"""Caches that are deleted in the end, whatever happens; what a killed process left is deleted by the next one."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .cache_writer import locked, remove_cache

PREFIX = ".rosenblatt-stream."


@contextmanager
def temporary_caches(beside: str | Path | None = None, count: int = 1) -> Iterator[list[Path]]:
    """Places for some caches: in the folder of the file `beside`, where one may write there, as a system's temporary folder
    is often in memory; else in the temporary folder.
    """
    folder = None if beside is None else Path(beside).resolve().parent
    if folder is None or not os.access(folder, os.W_OK):
        folder = Path(tempfile.gettempdir())
    _remove_stale(folder)
    mine = folder / f"{PREFIX}{secrets.token_hex(6)}"
    mine.mkdir()
    lock = locked(mine)
    try:
        yield [mine / f"cache{number}" for number in range(count)]
    finally:
        _remove(mine)
        if lock is not None:
            os.close(lock)


def _remove_stale(folder: Path) -> None:
    for other in folder.glob(f"{PREFIX}{'[0-9a-f]' * 12}"):
        with contextlib.suppress(OSError):  # where another process is at work in it, or it is not ours
            lock = locked(other)
            if lock is not None:
                _remove(other)
                os.close(lock)


def _remove(folder: Path) -> None:
    for cache in folder.iterdir():
        remove_cache(cache)
    with contextlib.suppress(OSError):
        folder.rmdir()
