"""The budget of digits of one file: how long its fractions may be in all.

Reducing a fraction costs the product of the lengths of numerator and denominator, so that a small file could keep a reader
busy for hours. The products are added up before any fraction is made. A certificate file has a budget of its own; all
certificates of a model file share one:

    with shared_budget():
        one, other = parse_certificate(raw), parse_certificate(other_raw)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .statements import Certificate

MAX_DIGIT_PRODUCTS = 150_000_000_000  # about 10 s


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
        self.left -= count_digit_products(content)
        if self.left < 0:
            raise CertificateTooLargeError("its fractions are too many and too long")


def count_digit_products(content: object) -> int:
    """The cost of all strings in the JSON of a certificate, before fractions are made of them."""
    parts, products = [content], 0
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            numerator_digits = max(0, part.find("/"))
            products += numerator_digits * (len(part) - numerator_digits)
        elif isinstance(part, list):
            parts.extend(part)
        elif isinstance(part, dict):
            parts.extend(part.values())
    return products


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
