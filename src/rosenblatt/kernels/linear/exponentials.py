"""exp(-t) and log(1 + q) without calls and branches, so that loops over rows or classes use vector lanes.

exp(-t) = 2^n exp(r), |r| <= log(2)/2, and a Taylor sum. log(1 + q) = 2 artanh(s) (+ log 2), |s| <= 0.172, and the sum of odd
powers. Both err by at most three units in the last place. Each operation is rounded as IEEE 754 says: lanes give the same bits
as single values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..compile import COMPILED, inlined

LOG2_E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first has trailing zeros: n times it is exact
MOST = 708.0  # beyond, exp(-t) is about the least normal number: it counts as 0
ROOT_OF_2_LESS_1 = 0.41421356237309503  # sqrt(2) - 1


def _power_of_two(n: float) -> float:
    """2^n, for plain Python."""
    return math.ldexp(1.0, int(n)) if n == n else n


def _compiled_power_of_two(typing: Any, n: Any) -> Any:
    """2^n for whole -1022 <= n <= 1023, by the bits of the exponent."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        int64 = ir.IntType(64)
        whole = builder.fptosi(args[0], int64)
        bits = builder.shl(builder.add(whole, ir.Constant(int64, 1023)), ir.Constant(int64, 52))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float64), generate


power_of_two: Any = intrinsic(_compiled_power_of_two) if COMPILED else _power_of_two


@inlined
def exp_minus(t: float) -> float:
    """exp(-t), t >= 0."""
    bounded = MOST if t > MOST else float(t)  # NaN stays what it is
    n = float(np.floor(0.5 - bounded * LOG2_E))
    r = (-bounded - n * LN2_HIGH) - n * LN2_LOW
    s = 1.0 / 6227020800.0
    s = s * r + 1.0 / 479001600.0
    s = s * r + 1.0 / 39916800.0
    s = s * r + 1.0 / 3628800.0
    s = s * r + 1.0 / 362880.0
    s = s * r + 1.0 / 40320.0
    s = s * r + 1.0 / 5040.0
    s = s * r + 1.0 / 720.0
    s = s * r + 1.0 / 120.0
    s = s * r + 1.0 / 24.0
    s = s * r + 1.0 / 6.0
    s = s * r + 0.5
    s = s * r + 1.0
    s = s * r + 1.0
    return 0.0 if t > MOST else s * power_of_two(n)


@inlined
def log_one_plus(q: float) -> float:
    """log(1 + q), 0 <= q <= 1."""
    large = q > ROOT_OF_2_LESS_1
    u = 0.5 * (float(q) - 1.0) if large else float(q)
    s = u / (2.0 + u)
    z = s * s
    p = 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 0.2
    p = p * z + 1.0 / 3.0
    p = p * z + 1.0
    return 2.0 * s * p + (LN2 if large else 0.0)
