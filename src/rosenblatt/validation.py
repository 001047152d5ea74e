"""Checks of parameters: one sentence that names the parameter and the value."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any


def one_of(name: str, value: Any, options: Iterable[str], also: str = "") -> str:
    """One of some words; `also` says what other kinds of values the caller takes."""
    allowed = tuple(options)
    if not isinstance(value, str) or value not in allowed:
        words = f"{'' if len(allowed) == 1 else 'one of '}{', '.join(map(repr, allowed))}"
        raise ValueError(f"{name} must be {words}{also and f', {also}'}, got {value!r}")
    return value


def number(name: str, value: Any, *, over: float = 0.0, or_equal: bool = False, most: float = sys.float_info.max) -> float:
    """A real number greater than `over`, and `most` at most."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        real = float(value)
    except OverflowError:  # whole numbers may be of any size
        raise ValueError(f"{name} must be a number that a float can hold, got one beyond {sys.float_info.max:.3g}") from None
    inside = real >= over if or_equal else real > over
    if not (inside and real <= most):
        high = " and finite" if most == sys.float_info.max else ""
        raise ValueError(f"{name} must be {'at least' if or_equal else 'greater than'} {over:g}{high}, got {value!r}")
    return real


def count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least 1, or `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | int) and type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)
