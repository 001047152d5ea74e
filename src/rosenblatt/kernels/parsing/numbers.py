"""Exact parsing of decimal numbers: the nearest float, the same as Python's `float`.

Problem    the float nearest to w * 10^q, w of at most 19 digits.
Update     if w <= 2^53 and |q| <= 22, both are floats without error, and one multiplication or division rounds correctly.
           Else w, shifted until its first bit is 1, times the first 128 bits of 5^q gives more bits than a float has.
Guarantee  The result is exact. If those bits cannot decide how to round (rare), if the float would be subnormal or infinite, or
           if there are more digits, the number is left to Python's `float`.
Reference  W. D. Clinger, How to read floating point numbers accurately, PLDI (1990).
           D. Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience 51 (2021).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ...array_types import IntArray
from ..compile import COMPILED, inlined, kernel

# --- 64-bit operations that NumPy and Numba lack


def _high_product(typing: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of the product of two unsigned 64-bit numbers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(arg, wide) for arg in args))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


def _leading_zeros(typing: Any, a: Any) -> Any:
    """The number of leading zero bits of a positive unsigned 64-bit number."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


def _plain_high_product(a: Any, b: Any) -> Any:
    return np.uint64(int(a) * int(b) >> 64)


def _plain_leading_zeros(a: Any) -> Any:
    return np.uint64(64 - int(a).bit_length())


high_product: Any = intrinsic(_high_product) if COMPILED else _plain_high_product
leading_zeros: Any = intrinsic(_leading_zeros) if COMPILED else _plain_leading_zeros


# --- Decimal numbers

EXACT, LONG, WRONG = 0, 1, 2  # results of `decimal`: a float, a number for Python's `float`, or not a number
MAX_DIGITS = 19  # that always fit into 64 bits
INEXACT_VALUE, INEXACT_BYTES = (
    2.0**53,
    np.uintp(16),
)  # an integer from this value on, of at least 16 digits, may not fit a float
MAX_EXPONENT = np.int64(100_000)  # larger powers of ten need not be distinguished
TENS = np.array([10.0**k for k in range(23)])
EXACT_MANTISSA = np.uint64(1 << 53)
LOWEST, HIGHEST = -342, 308  # the powers of ten in the table
SAFE_LOWEST, SAFE_HIGHEST = -27, 55  # 5^q fits into 128 bits, or its inverse is accurate enough
TIE_LOWEST, TIE_HIGHEST = -4, 23  # only here can a number be halfway between two floats
MINUS, PLUS, POINT, SMALL_E, LARGE_E, ZERO = (np.uint8(ord(c)) for c in "-+.eE0")
NINE, TEN, ONE = np.uint8(9), np.uint64(10), np.uintp(1)
U0, U1, U3, U9, U52, U63 = (np.uint64(k) for k in (0, 1, 3, 9, 52, 63))
ALL_ONES, LOW_NINE, HIDDEN = np.uint64((1 << 64) - 1), np.uint64((1 << 9) - 1), np.uint64(1 << 52)


def _powers_of_five() -> Any:
    """The first 128 bits of 5^q as two halves: rounded up if 5^-q fits into 128 bits, else truncated."""
    table = []
    for q in range(LOWEST, HIGHEST + 1):
        power = 5 ** abs(q)
        bits = power.bit_length()
        if q < 0:
            power = (1 << (bits + (127 if q >= SAFE_LOWEST else bits + 128))) // power + 1
            bits = power.bit_length()
        power = power << (128 - bits) if bits < 128 else power >> (bits - 128)
        table.append((power >> 64, power & ((1 << 64) - 1)))
    return np.array(table, np.uint64)


FIVES = _powers_of_five()


@kernel
def scaled(w: Any, q: Any) -> Any:
    """The float nearest to w * 10^q, w > 0, and whether it is certain."""
    if q < LOWEST or q > HIGHEST:
        return 0.0, False
    zeros = leading_zeros(w)
    w <<= zeros
    k = np.uintp(q - LOWEST)
    high, low = high_product(w, FIVES[k, 0]), w * FIVES[k, 0]
    if high & LOW_NINE == LOW_NINE:  # the next bits may carry
        more = high_product(w, FIVES[k, 1])
        low += more
        if more > low:
            high += U1
        if low == ALL_ONES and (q < SAFE_LOWEST or q > SAFE_HIGHEST):
            return 0.0, False
    upper = high >> U63
    shift = upper + U9
    mantissa = high >> shift  # 53 bits and one for rounding
    exponent = ((217706 * np.int64(q)) >> 16) + 63 + np.int64(upper) - np.int64(zeros) + 1023  # log2(10) = 217706 / 2^16
    if exponent <= 0:
        return 0.0, False
    if low <= U1 and q >= TIE_LOWEST and q <= TIE_HIGHEST and mantissa & U3 == U1 and mantissa << shift == high:
        mantissa -= U1  # halfway: round to even
    mantissa = (mantissa + (mantissa & U1)) >> U1
    if mantissa == EXACT_MANTISSA:
        mantissa = HIDDEN
        exponent += 1
    if exponent >= 2047:
        return 0.0, False
    bits = np.uint64((mantissa - HIDDEN) | (np.uint64(exponent) << U52))
    return bits.view(np.float64), True


@kernel
def significant(text: IntArray, first: Any, digits: Any) -> Any:
    """The number of digits from text[first] on without leading zeros."""
    while digits > 0 and (text[first] == ZERO or text[first] == POINT):
        digits -= np.int64(text[first] == ZERO)
        first += ONE
    return digits


@inlined
def decimal(text: IntArray, i: Any) -> Any:
    """The number at text[i], its end, and EXACT, LONG or WRONG. A byte that is not part of a number must follow it."""
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
        point = i
        digit = np.uint8(text[i] - ZERO)
        while digit <= NINE:
            mantissa = mantissa * TEN + np.uint64(digit)
            i += ONE
            digit = np.uint8(text[i] - ZERO)
        exponent = -np.int64(i - point)
        digits -= exponent
    if digits == 0:
        return 0.0, i, WRONG
    if text[i] == SMALL_E or text[i] == LARGE_E:
        i += ONE
        down = text[i] == MINUS
        if down or text[i] == PLUS:
            i += ONE
        power, begin = np.int64(0), i
        digit = np.uint8(text[i] - ZERO)
        while digit <= NINE:
            power = min(power * np.int64(10) + np.int64(digit), MAX_EXPONENT)
            i += ONE
            digit = np.uint8(text[i] - ZERO)
        if i == begin:
            return 0.0, i, WRONG
        exponent += -power if down else power
    if digits > MAX_DIGITS and significant(text, first, digits) > MAX_DIGITS:
        return 0.0, i, LONG
    if mantissa <= EXACT_MANTISSA and exponent >= -22 and exponent <= 22:
        value = np.float64(mantissa)
        if exponent < 0:
            value /= TENS[-exponent]
        else:
            value *= TENS[exponent]
    elif mantissa == U0:
        value = np.float64(0.0)
    else:
        value, certain = scaled(mantissa, exponent)
        if not certain:
            return 0.0, i, LONG
    return -value if negative else value, i, EXACT
