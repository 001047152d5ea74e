"""Decimal numbers, exactly: the float nearest to what the digits say, the same that Python's `float` gives.

A mantissa up to 2^53 and a power of ten up to 10^22 are floats without error, so one multiplication or division rounds
correctly. Whatever is longer is left to Python's `float`.

Reference  W. D. Clinger, How to read floating point numbers accurately, PLDI (1990).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compile import kernel

EXACT, LONG, WRONG = 0, 1, 2  # what `decimal` found: a float, a number for Python's `float`, or no number
TENS = np.array([10.0**k for k in range(23)])
DIGITS = 19  # so many fit into 64 bits
EXACT_MANTISSA = np.uint64(1 << 53)
ZERO, TEN = np.uint8(ord("0")), np.uint64(10)
MINUS, PLUS, POINT, SMALL_E, LARGE_E = (np.uint8(ord(c)) for c in "-+.eE")
NINE = np.uint8(9)
ONE = np.uintp(1)
FAR = 100_000  # no exponent need be larger


@kernel
def decimal(text: Any, i: Any) -> Any:
    """The number that starts at text[i], where it ends, and what it is. Something that is not of a number must follow it."""
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += ONE
    mantissa, first = np.uint64(0), i
    digit = np.uint8(text[i] - ZERO)
    while digit <= NINE:
        mantissa = mantissa * TEN + np.uint64(digit)
        i += ONE
        digit = np.uint8(text[i] - ZERO)
    digits, exponent = np.int64(i - first), np.int64(0)
    if text[i] == POINT:
        i += ONE
        first = i
        digit = np.uint8(text[i] - ZERO)
        while digit <= NINE:
            mantissa = mantissa * TEN + np.uint64(digit)
            i += ONE
            digit = np.uint8(text[i] - ZERO)
        exponent = -np.int64(i - first)
        digits -= exponent
    if digits == 0:
        return 0.0, i, WRONG
    if text[i] == SMALL_E or text[i] == LARGE_E:
        i += ONE
        down = text[i] == MINUS
        if down or text[i] == PLUS:
            i += ONE
        power, first = np.int64(0), i
        digit = np.uint8(text[i] - ZERO)
        while digit <= NINE:
            power = min(power * 10 + np.int64(digit), FAR)
            i += ONE
            digit = np.uint8(text[i] - ZERO)
        if i == first:
            return 0.0, i, WRONG
        exponent += -power if down else power
    if digits > DIGITS or mantissa > EXACT_MANTISSA or exponent > 22 or exponent < -22:
        return 0.0, i, LONG
    value = np.float64(mantissa)
    if exponent < 0:
        value /= TENS[-exponent]
    else:
        value *= TENS[exponent]
    return -value if negative else value, i, EXACT
