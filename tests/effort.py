"""How much the suite does, a little by default and all of it with `pytest --thorough`; and how it waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Amount = TypeVar("Amount")
THOROUGH = False  # set by conftest.py before any test module is imported


def amount(few: Amount, many: Amount) -> Amount:
    """`many` with `--thorough`, else `few`: examples, kills, bytes, cases."""
    return many if THOROUGH else few


def examples(number: int) -> int:
    """Examples that Hypothesis draws: a sixth of them, but at least eight, without `--thorough`."""
    return amount(min(number, max(8, number // 6)), number)


def in_time(seconds: float, limit: float) -> bool:
    """Whether something took less than `limit` seconds: a question for a quiet machine, and so only with `--thorough`."""
    return not THOROUGH or seconds < limit


def soon(condition: Callable[[], object], guard_seconds: float = 30.0) -> None:
    """Return as soon as `condition` holds; the limit guards against hanging only."""
    until = time.monotonic() + guard_seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.002)
