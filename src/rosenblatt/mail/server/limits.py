"""What one client may cost, and all of them together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ...serving.sockets import ServeError
from ...validation import count, number

EXTRA_CONNECTIONS = 64  # connections over the limit that get a sentence; the next are cut off


class Limits(NamedTuple):
    """Whatever goes over a limit gets one sentence for an answer, and the server carries on."""

    message_bytes: int = 32 * 2**20  # of one mail, as it comes and unpacked
    bytes_at_once: int = 256 * 2**20  # of all mails that are held at one time; answers may take as much again, twice
    header_lines: int = 64  # of one request; not of the mail in it
    header_bytes: int = 16 * 1024
    connections: int = 256  # at once, on each of the two sides; a few more are told so
    idle_seconds: float = 10.0  # until a client has said something, and between its packets
    read_seconds: float = 60.0  # until a request is there as a whole
    handle_seconds: float = 60.0  # until it is answered
    write_seconds: float = 60.0  # until the client has taken the answer
    stop_seconds: float = 20.0  # from the signal on, for what was begun

    def checked(self) -> Limits:
        for name, value in self._asdict().items():
            check = number if name.endswith("seconds") else count
            check(f"limits.{name}", value)
        if self.bytes_at_once < self.message_bytes:
            raise ValueError(f"limits.bytes_at_once must be message_bytes or more, got {self.bytes_at_once}")
        return self


class BudgetError(Exception):
    """All mails that are held now would be over the limit together with this one."""


class Budget:
    """Bytes that are held at one time; used in one thread only, that of the event loop."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0

    def share(self) -> Share:
        return Share(self)


class Share:
    """What one request holds of a budget, given back as a whole."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._held = budget, 0

    def hold(self, size: int) -> None:
        """Hold `size` bytes in all; less than before is no change."""
        more = size - self._held
        if more <= 0:
            return
        if self._budget.held + more > self._budget.most:
            raise BudgetError
        self._budget.held += more
        self._held = size

    def keep(self, size: int) -> None:
        """Hold no more than `size` bytes from now on."""
        less = max(self._held - size, 0)
        self._budget.held -= less
        self._held -= less

    def __enter__(self) -> Share:
        return self

    def __exit__(self, *_: object) -> None:
        self.keep(0)


# --- The token of the HTTP side: from a file or the environment, never from the command line, which every user can read.

TOKEN_VARIABLE = "ROSENBLATT_MAIL_TOKEN"
MIN_TOKEN_LENGTH = 16


def checked_token(token: str, where: str = "the token") -> str:
    if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise ServeError(f"{where} must be {MIN_TOKEN_LENGTH} or more printable ASCII characters without blanks")
    return token


def token_from(path: str | os.PathLike[str] | None = None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The token in a file, or else in the environment variable ROSENBLATT_MAIL_TOKEN; None where there is neither."""
    if path is None:
        told = environment.get(TOKEN_VARIABLE)
        return None if told is None else checked_token(told.strip(), f"the token in {TOKEN_VARIABLE}")
    try:
        text = Path(path).read_bytes()[:10_000].decode("ascii", "replace")
    except OSError as error:
        raise ServeError(f"cannot read the token in {os.fspath(path)}: {(error.strerror or str(error)).lower()}") from None
    return checked_token(text.strip(), f"the token in {os.fspath(path)}")
