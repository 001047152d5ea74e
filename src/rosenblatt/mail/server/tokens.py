"""The token of the HTTP side: from a file or the environment, never from the command line, which every user can read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ...serving.sockets import ServeError

VARIABLE = "ROSENBLATT_MAIL_TOKEN"
SHORTEST = 16


def checked_token(token: str, where: str = "the token") -> str:
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ServeError(f"{where} must be {SHORTEST} or more printable ASCII characters without blanks")
    return token


def token_from(path: str | os.PathLike[str] | None = None, environment: Mapping[str, str] = os.environ) -> str | None:
    """The token in a file, or else in the environment variable ROSENBLATT_MAIL_TOKEN; None where there is neither."""
    if path is None:
        told = environment.get(VARIABLE)
        return None if told is None else checked_token(told.strip(), f"the token in {VARIABLE}")
    try:
        text = Path(path).read_bytes()[:10_000].decode("ascii", "replace")
    except OSError as error:
        raise ServeError(f"cannot read the token in {os.fspath(path)}: {(error.strerror or str(error)).lower()}") from None
    return checked_token(text.strip(), f"the token in {os.fspath(path)}")
