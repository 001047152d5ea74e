"""Ask the processor for memory before it is needed."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..compile import COMPILED


def _instruction(locality: int) -> Any:
    def fetch(typing: Any, array: Any, offset: Any) -> Any:
        """Fetch the cache line `offset` bytes after the start of `array`; never faults."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            start = context.make_array(signature.args[0])(context, builder, args[0]).data
            int32, int64 = ir.IntType(32), ir.IntType(64)
            address = builder.inttoptr(builder.add(builder.ptrtoint(start, int64), args[1]), cgutils.voidptr_t)
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, int32, int32, int32])
            insert: Any = cgutils.get_or_insert_function
            instruction = insert(builder.module, kind, "llvm.prefetch.p0i8")
            read, data = ir.Constant(int32, 0), ir.Constant(int32, 1)
            builder.call(instruction, [address, read, ir.Constant(int32, locality), data])
            return context.get_dummy_value()

        return types.void(array, types.int64), generate

    return intrinsic(fetch)


def _nothing(array: Any, offset: Any) -> None:
    """Plain Python has no cache lines to ask for."""


# What is used again soon goes into every cache; what passes by once, into the nearest only, and pushes nothing out elsewhere.
prefetch: Any = _instruction(3) if COMPILED else _nothing
prefetch_once: Any = _instruction(0) if COMPILED else _nothing
