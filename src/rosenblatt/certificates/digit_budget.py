"""The budget of digits of one file: how many numbers it may have, and how long they may be in all.

Reducing a fraction costs the product of the lengths of numerator and denominator, so that a small file could keep a reader
busy for hours. Reading takes time, too: each part of the content and each character is charged a fixed number of products. The
costs are added up before any fraction is made. A certificate file has a budget of its own; all certificates of a model file
share one:

    with shared_budget():
        one, other = parse_certificate(raw), parse_certificate(other_raw)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .statements import Certificate

MAX_DIGIT_PRODUCTS = 150_000_000_000  # at most about 10 s
PRODUCTS_PER_PART, PRODUCTS_PER_CHAR = 40_000, 300  # a pair of rows has four parts and takes 6 microseconds


class CertificateTooLargeError(ValueError):
    """A certificate exceeds a limit of its file or of its check: bytes, parts, or digits of its fractions."""


class DigitBudget:
    """The products of lengths that the fractions of a file may still cost. A model file may have the same certificate twice,
    which is read and counted once."""

    def __init__(self) -> None:
        self.left = MAX_DIGIT_PRODUCTS
        self.read: dict[str, Certificate] = {}  # by seal
        self.written: dict[int, tuple[Certificate, dict[str, Any]]] = {}  # the certificate by its id, and its content

    def spend(self, content: object) -> None:
        """Subtract the cost of the JSON of a certificate. Raises `CertificateTooLargeError` if the budget does not cover it."""
        self.left -= measure(content).cost
        if self.left < 0:
            raise CertificateTooLargeError("its fractions are too many and too long")


class Size(NamedTuple):
    """What the JSON of a certificate costs to read: list items, fields and their names, characters, and products of lengths."""

    parts: int
    chars: int
    digit_products: int

    @property
    def cost(self) -> int:
        """All of it, in products of lengths."""
        return self.digit_products + PRODUCTS_PER_PART * self.parts + PRODUCTS_PER_CHAR * self.chars


def measure(content: object) -> Size:
    """The size of the JSON of a certificate, before fractions are made of its strings."""
    left, parts, chars, products = [content], 0, 0, 0
    while left:
        part = left.pop()
        parts += 1
        if isinstance(part, str):
            numerator_digits = max(0, part.find("/"))
            products += numerator_digits * (len(part) - numerator_digits)
            chars += len(part)
        elif isinstance(part, list):
            left.extend(part)
        elif isinstance(part, dict):
            left.extend(part)
            left.extend(part.values())
    return Size(parts, chars, products)


_CURRENT: ContextVar[DigitBudget | None] = ContextVar("_CURRENT", default=None)


@contextmanager
def shared_budget() -> Iterator[DigitBudget]:
    """One budget for all certificates that are read or written inside: that of an outer `shared_budget`, or a new one."""
    outer = _CURRENT.get()
    if outer is not None:
        yield outer
        return
    budget = DigitBudget()
    token = _CURRENT.set(budget)
    try:
        yield budget
    finally:
        _CURRENT.reset(token)
