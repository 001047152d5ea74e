"""How much of a mail is looked at; every limit is applied before the work that it bounds."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    mail: int = 1 << 21  # bytes of a mail; what follows is not looked at
    head: int = 1 << 16  # bytes of a mail's headers; behind them only those that the subject and the body need are read
    headers: int = 1000  # of a mail; the same
    value: int = 1 << 12  # bytes of one header
    depth: int = 20  # parts within parts; deeper ones are read as text, headers and all
    parts: int = 500  # parts in all; what follows them is read as text
    source: int = 1 << 21  # bytes of the text of all parts before tags are taken off: no comment or style hides what follows
    text: int = 1 << 16  # bytes of the body kept
    field: int = 1 << 13  # bytes of every other field kept
    links: int = 500
    attachments: int = 100


LIMITS = Limits()
