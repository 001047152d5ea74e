"""What whoever runs the server reads of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from time import monotonic

Log = Callable[[str], None]
AGAIN = 60.0  # seconds until the same warning is given again


class Journal:
    """Never raises: a full disk, or a reader who has gone, is no reason to refuse a mail or to stop otherwise.

    log: gets a line for each request.
    warn: gets what the server or its filter cannot do, each sentence once a minute at most.
    """

    def __init__(self, log: Log | None = None, warn: Log | None = None) -> None:
        self._log, self._warn = log, warn
        self._given: dict[str, float] = {}

    def request(self, line: str) -> None:
        _write(self._log, line)

    def warn(self, sentence: str) -> None:
        now = monotonic()
        if now - self._given.get(sentence, -AGAIN) >= AGAIN:
            self._given = {told: when for told, when in self._given.items() if now - when < AGAIN} | {sentence: now}
            _write(self._warn, sentence)


def _write(log: Log | None, line: str) -> None:
    if log is not None:
        with contextlib.suppress(Exception):
            log(line)
