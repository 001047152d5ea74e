"""Limits on the resources of one client and of all of them, and the token of the HTTP API.

The token comes from a file or the environment, never from the command line, which every user of the machine can read.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ...serving.sockets import ServeError
from ...validation import ParameterError, check_integer, check_number
from ..boxes import KINDS
from ..store.permissions import repair_secret

# Connections over the limit. Those of other spamd clients are served; of the client at the limit, or of HTTP, as many get an
# error, and further ones are closed.
EXTRA_CONNECTIONS = 64
TOKEN_VARIABLE = "ROSENBLATT_MAIL_TOKEN"
MIN_TOKEN_LENGTH = 16
MAX_TOKEN_BYTES = 10_000
DESCRIPTORS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")  # paths of open files


class Limits(NamedTuple):
    """Limits of the server. A request that exceeds one is answered by an error of one sentence."""

    message_bytes: int = 32 * 2**20  # size of one mail, both as received and decompressed
    bytes_at_once: int = 256 * 2**20  # size of all mails in memory; answers may take twice as much again
    header_lines: int = 64  # header lines of one request, without the mail
    header_bytes: int = 16 * 1024
    # Open connections: of each spamd client, and of all HTTP clients. One more displaces one that is still sending; if there
    # is none, a spamd client waits for a second before it gets an error.
    connections: int = 256
    idle_seconds: float = 10.0  # time for the head of a request, and between the packets of its mail
    read_seconds: float = 60.0  # time to receive a request
    handle_seconds: float = 60.0  # time to compute the answer
    write_seconds: float = 60.0  # time for the client to receive the answer
    stop_seconds: float = 20.0  # time to finish requests in progress at shutdown

    def checked(self) -> Limits:
        """These limits, validated."""
        for name, value in self._asdict().items():
            check = check_number if name.endswith("seconds") else check_integer
            check(f"limits.{name}", value)
        if self.bytes_at_once < self.message_bytes:
            raise ParameterError("limits.bytes_at_once", "message_bytes or more", self.bytes_at_once)
        return self


class BudgetError(Exception):
    """This mail and those in memory would exceed the limit together."""


class Budget:
    """Bytes of mail in memory; used in the thread of the event loop only."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.held = max_bytes, 0

    def share(self) -> Share:
        return Share(self)


class Share:
    """The share of one request in a budget, returned as a whole."""

    def __init__(self, budget: Budget) -> None:
        self._budget, self._held = budget, 0

    def hold(self, size: int) -> None:
        """Hold `size` bytes in total; a smaller size changes nothing."""
        more = size - self._held
        if more <= 0:
            return
        if self._budget.held + more > self._budget.max_bytes:
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


def checked_token(token: str, where: str = "the token") -> str:
    """The token, validated."""
    if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise ServeError(f"{where} must be {MIN_TOKEN_LENGTH} or more printable ASCII characters without spaces")
    return token


def token_from(
    path: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] = os.environ,
    warn: Callable[[str], object] = warnings.warn,
) -> str | None:
    """The token in a file, or in the environment variable ROSENBLATT_MAIL_TOKEN; None if there is neither.

    A file that other users can read or write is repaired, and `warn` is called with a sentence about it; one of another user
    is refused. A pipe is read only as an open descriptor, as in `--token-file <(command)`: a named one may have no writer.
    """
    if path is None:
        token = environment.get(TOKEN_VARIABLE)
        return None if token is None else checked_token(token.strip(), f"the token in {TOKEN_VARIABLE}")
    try:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and os.fspath(path).startswith(DESCRIPTORS))):
            kind = KINDS.get(stat.S_IFMT(mode), "a directory" if stat.S_ISDIR(mode) else "something else")
            raise ServeError(f"cannot read the token in {os.fspath(path)}: it is {kind}, not a regular file")
        with open(path, "rb") as file:
            text = file.read(MAX_TOKEN_BYTES).decode("ascii", "replace")
            repaired = repair_secret(path, os.fstat(file.fileno()))
    except PermissionError as error:
        raise ServeError(f"cannot use the token in {os.fspath(path)}: {error.strerror or error}") from None
    except OSError as error:
        raise ServeError(f"cannot read the token in {os.fspath(path)}: {(error.strerror or str(error)).lower()}") from None
    if repaired is not None:
        warn(f"{repaired}; others may have read the token: replace it")
    return checked_token(text.strip(), f"the token in {os.fspath(path)}")
