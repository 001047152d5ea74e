"""Checks of parameters. Error messages name the parameter and the value."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from numbers import Integral, Real

from .reporting.text import short


def one_of(name: str, value: object, options: Iterable[str], also: str = "") -> str:
    """Check that `value` is one of the options; `also` names other values that the caller accepts, for the message."""
    allowed = tuple(options)
    if not isinstance(value, str) or value not in allowed:
        words = f"{'' if len(allowed) == 1 else 'one of '}{', '.join(map(repr, allowed))}"
        raise ValueError(f"{name} must be {words}{also and f', {also}'}, got {value!r}")
    return value


def number(
    name: str, value: object, *, over: float = 0.0, or_equal: bool = False, maximum: float = sys.float_info.max
) -> float:
    """Check for a real number greater than `over` (or equal, with `or_equal`) and at most `maximum`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        real = float(value)
    except OverflowError:  # from an int
        raise ValueError(f"{name} must be at most {short(sys.float_info.max)}, got a larger number") from None
    inside = real >= over if or_equal else real > over
    if not (inside and real <= maximum):
        high = "" if maximum == float("inf") else f" and at most {short(maximum, 6)}"
        high = " and finite" if maximum == sys.float_info.max else high
        raise ValueError(f"{name} must be {'at least' if or_equal else 'greater than'} {short(over, 6)}{high}, got {value!r}")
    return real


def count(name: str, value: object, minimum: int = 1) -> int:
    """Check for an integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}")
    return int(value)


def flag(name: str, value: object) -> bool:
    """Check for True or False."""
    if not isinstance(value, bool | int) and type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)
