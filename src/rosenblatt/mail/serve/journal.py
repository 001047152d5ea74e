"""What whoever runs the server reads of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

Log = Callable[[str], None]


class Journal:
    """Never raises: a full disk, or a reader who has gone, is no reason to refuse a mail or to stop otherwise.

    log: gets a line for each request.
    """

    def __init__(self, log: Log | None = None) -> None:
        self._log = log

    def request(self, line: str) -> None:
        _write(self._log, line)


def _write(log: Log | None, line: str) -> None:
    if log is not None:
        with contextlib.suppress(Exception):
            log(line)
