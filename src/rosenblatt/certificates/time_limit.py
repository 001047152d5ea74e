"""A deadline for exact arithmetic: long loops call `check_time`, which raises once the deadline has passed.

    with run_until(time.monotonic() + 0.5):
        prove()  # raises OutOfTimeError after about half a second

Without an enclosing `run_until`, there is no deadline.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DEADLINE: ContextVar[float] = ContextVar("_DEADLINE", default=math.inf)


class OutOfTimeError(Exception):
    """The deadline of the enclosing `run_until` has passed."""


@contextmanager
def run_until(deadline: float) -> Iterator[None]:
    """Set the deadline (of `time.monotonic`) for the code inside; an earlier one outside stays in force."""
    token = _DEADLINE.set(min(deadline, _DEADLINE.get()))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def check_time(seconds: float = 0.0) -> None:
    """Raise `OutOfTimeError` if the deadline has passed, or would pass during a computation of this duration."""
    if time.monotonic() + seconds >= _DEADLINE.get():
        raise OutOfTimeError
