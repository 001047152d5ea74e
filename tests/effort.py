"""How much the suite does: a short version of every long test by default, the long ones with `pytest --thorough`."""

from __future__ import annotations

from typing import TypeVar

Amount = TypeVar("Amount")
THOROUGH = False  # set by conftest.py before any test module is imported


def amount(few: Amount, many: Amount) -> Amount:
    """`many` with `--thorough`, else `few`: examples, kills, bytes, cases."""
    return many if THOROUGH else few


def examples(number: int) -> int:
    """Examples that Hypothesis draws: a quarter of them, but at least ten, without `--thorough`."""
    return amount(min(number, max(10, number // 4)), number)


def in_time(seconds: float, limit: float) -> bool:
    """Whether something took less than `limit` seconds: a question for a quiet machine, and so only with `--thorough`."""
    return not THOROUGH or seconds < limit
