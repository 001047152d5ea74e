"""What counts as a number in a file, and how messages show what does not."""

from __future__ import annotations

import re

OF_NUMBERS = b"0123456789+-.eE"  # without these, Python's float would take nan, inf, 1_000 and digits of other scripts
NOT_FINITE = re.compile(rb"[+-]?(nan|inf|infinity)", re.IGNORECASE)
SHOWN = 40


def number(token: bytes) -> float | None:
    """The nearest float, infinite where there is none; None where the token is no decimal number.

    >>> number(b"1E-02"), number(b".5"), number(b"nan"), number(b"1_0"), number(b"1e400")
    (0.01, 0.5, None, None, inf)
    """
    if token.translate(None, OF_NUMBERS):
        return None
    try:
        return float(token)
    except ValueError:
        return None


def shown(token: bytes) -> str:
    """A token as messages show it: short, and in plain characters."""
    text = repr(token[: 4 * SHOWN].decode("utf-8", "backslashreplace"))
    return text if len(text) <= SHOWN + 2 else f"{text[: SHOWN - 2]}...{text[0]}"
