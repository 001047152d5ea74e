"""Whole numbers of 64 bits as the processor sees them: what NumPy and Numba have no words for."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..compile import COMPILED


def _high_product(typing: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of the product of two unsigned numbers of 64 bits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(arg, wide) for arg in args))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


def _leading_zeros(typing: Any, a: Any) -> Any:
    """How many bits stand before the first 1 of an unsigned number of 64 bits that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


def _plain_high_product(a: Any, b: Any) -> Any:
    return np.uint64(int(a) * int(b) >> 64)


def _plain_leading_zeros(a: Any) -> Any:
    return np.uint64(64 - int(a).bit_length())


high_product: Any = intrinsic(_high_product) if COMPILED else _plain_high_product
leading_zeros: Any = intrinsic(_leading_zeros) if COMPILED else _plain_leading_zeros
