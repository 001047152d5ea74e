"""Exact numbers as floats and as text: nearest floats, square roots rounded up or down, intervals, decimal digits.

The sentences of certificates format all their numbers here.
"""

from __future__ import annotations

import math
import sys
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from typing import Literal, NamedTuple

# Numbers of more than `LONG_BITS` are written from the first `KEPT_BITS` of numerator over denominator, about 120 digits.
LONG_BITS, KEPT_BITS = 20_000, 400

Rounded = Literal["nearest", "up", "down"]


class Interval(NamedTuple):
    """Two floats, rounded outwards; the number lies between them, by proof.

    Parameters
    ----------
    lower : float
        At most the number.
    upper : float
        At least the number.

    See Also
    --------
    rosenblatt.mistake_bound : Returns such an interval.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> bound = rb.mistake_bound([[0, 0], [1, 0], [3, 4], [4, 4]], [0, 0, 1, 1])
    >>> bound.lower <= 41.25 <= bound.upper
    True
    """

    lower: float
    upper: float


def as_float(number: Fraction) -> float:
    """The nearest float; infinite if the number is beyond the range of floats."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def quotient_as_float(dividend: Fraction, divisor: Fraction) -> float:
    """The nearest float of dividend/divisor > 0. The quotient is not reduced, which takes seconds for 100,000 digits."""
    try:
        return (dividend.numerator * divisor.denominator) / (dividend.denominator * divisor.numerator)
    except OverflowError:
        return math.inf


def root_below(square: Fraction) -> float:
    """The largest float, or nearly so, whose square is at most `square`."""
    root = min(_approximate_root(square), sys.float_info.max)
    while Fraction(root) ** 2 > square:
        root = math.nextafter(root, 0.0)
    return root


def root_above(square: Fraction) -> float:
    """The smallest float, or nearly so, whose square is at least `square`."""
    root = _approximate_root(square)
    while root < math.inf and Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def _approximate_root(square: Fraction) -> float:
    """The square root in floats, even of squares beyond their range: the root of a 128-bit number times a power of two."""
    if square < 0:
        raise ValueError(f"a bound of a certificate is negative: its square is {decimal_text(square, 6)}")
    if square == 0:
        return 0.0
    shift = (square.numerator.bit_length() - square.denominator.bit_length() - 128) // 2 * 2
    scaled = square * Fraction(2) ** -shift
    try:
        return math.ldexp(math.sqrt(float(scaled)), shift // 2)
    except OverflowError:
        return math.inf


def count_text(number: int) -> str:
    """A whole number with thousands separators.

    >>> count_text(1234567)
    '1,234,567'
    """
    return f"{number:,}"


def decimal_text(number: Fraction, digits: int, root: bool = False, rounded: Rounded = "nearest") -> str:
    """A number, or its square root, with `digits` significant digits; numbers beyond the range of floats are allowed.

    A bound is `rounded` to the side on which the sentence about it stays true.

    >>> decimal_text(Fraction(1, 3), 4), decimal_text(Fraction(2), 6, root=True), decimal_text(Fraction(10) ** 400, 3)
    ('0.3333', '1.41421', '1e+400')
    >>> decimal_text(Fraction(1, 2), 3, root=True, rounded="up"), decimal_text(Fraction(2, 3), 3, rounded="down")
    ('0.708', '0.666')
    """
    numerator, denominator = number.numerator, number.denominator
    shift = numerator.bit_length() - denominator.bit_length() - KEPT_BITS
    long = numerator.bit_length() + denominator.bit_length() > LONG_BITS  # decimals of both would take seconds
    with localcontext(prec=40, Emax=MAX_EMAX, Emin=MIN_EMIN) as context:
        if long:
            quotient = (numerator << max(0, -shift)) // (denominator << max(0, shift))
            value = Decimal(quotient) * Decimal(2) ** shift
        else:
            value = Decimal(numerator) / Decimal(denominator)
        value = value.sqrt() if root else value
        context.prec = digits
        value = +value
        if rounded != "nearest":
            exact = Fraction(value) ** (2 if root else 1)
            if rounded == "up" and exact < number:
                value = value.next_plus()
            elif rounded == "down" and exact > number:
                value = value.next_minus()
        value = value.normalize()
        return f"{value:f}" if -5 <= value.adjusted() < digits else f"{value:e}"
