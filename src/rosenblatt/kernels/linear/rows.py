"""The two containers of rows, dense and CSR, and the operations that all algorithms use.

`w` is one weight vector; `W` holds one weight vector per head: heads x features for dense rows, so that the dot product of a
head reads contiguous memory; features x heads for CSR rows, so that all heads of a nonzero are in one cache line. Products are
summed in float64. The sums of dense rows may be reordered (vector lanes); moves of the weights never are, so that a replay
gives the same bits. A move is computed in float64 and rounded once; with a = 1 or -1, float32 lanes give the same bits faster.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ...array_types import FloatArray, IntArray
from ..compile import COMPILED, REORDER, operation

# --- prefetching: request memory before it is needed -----------------------------------------------------------------------


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
    """Plain Python cannot prefetch."""


# `prefetch` fills all caches, for memory that is used again; `prefetch_outer` all but that of the core's first level, for rows
# that would push out others there; `prefetch_once` only the nearest, for memory that is used once.
prefetch: Any = _instruction(3) if COMPILED else _nothing
prefetch_outer: Any = _instruction(2) if COMPILED else _nothing
prefetch_once: Any = _instruction(0) if COMPILED else _nothing


# --- containers and operations ---------------------------------------------------------------------------------------------

EPS = float(np.finfo(np.float64).eps)  # the distance from 1 to the next float64
CACHE_LINE = 64
SHORT_ROW_BYTES = 256  # dense rows up to this length are prefetched into the first level of the cache
PREFETCH_BYTES = 1024  # bytes of a row that are prefetched; the hardware prefetches the rest of a long row
CACHED_WEIGHTS_BYTES = 1 << 20  # larger weights exceed the cache of a core: those of later nonzeros are prefetched
NONZEROS_AHEAD = 32  # nonzeros between a prefetch and its use
HEADS_AHEAD = 16  # the same, where a nonzero uses the weights of all heads


class Dense(NamedTuple):
    """Dense rows."""

    values: FloatArray  # n x d, C order, float32 or float64


NO_SQNORMS: FloatArray = np.zeros(0)
NO_SQNORMS.flags.writeable = False


class CSR(NamedTuple):
    """Sparse rows; the columns of a row in any order."""

    values: FloatArray
    indices: IntArray  # int32 or int64
    indptr: IntArray
    width: int
    # The squared length of each row, if a row has several values in one column, which count as their sum; else empty.
    sqnorms: FloatArray = NO_SQNORMS


Rows = Dense | CSR


@operation
def dot(rows: Any, i: int, w: FloatArray) -> Any:
    """<x_i, w>"""


@operation
def sqnorm(rows: Any, i: int) -> Any:
    """<x_i, x_i>"""


@operation
def axpy(rows: Any, i: int, a: float, w: FloatArray) -> Any:
    """w += a x_i"""


@operation
def dots(rows: Any, i: int, W: FloatArray, out: FloatArray) -> Any:
    """out[h] = <x_i, w_h> for every head h that `out` has room for; of CSR rows, W may have more heads"""


@operation
def axpy_head(rows: Any, i: int, a: float, W: FloatArray, h: int) -> Any:
    """w_h += a x_i"""


@operation
def prefetch_row(rows: Any, i: int) -> Any:
    """Prefetch row i."""


@dot.of(Dense, fastmath=REORDER)
def _(rows: Dense, i: int, w: FloatArray) -> Any:
    total = 0.0
    for j in range(w.shape[0]):
        total += np.float64(rows.values[i, j]) * w[j]
    return total


@sqnorm.of(Dense, fastmath=REORDER)
def _(rows: Dense, i: int) -> Any:
    total = 0.0
    for j in range(rows.values.shape[1]):
        total += np.float64(rows.values[i, j]) * rows.values[i, j]
    return total


@axpy.of(Dense)
def _(rows: Dense, i: int, a: float, w: FloatArray) -> Any:
    values, a, one = rows.values, np.float64(a), w.dtype.type(a)
    if abs(a) == 1.0:
        for j in range(w.shape[0]):
            w[j] += one * values[i, j]
    else:
        for j in range(w.shape[0]):
            w[j] += a * values[i, j]


@dots.of(Dense, fastmath=REORDER)
def _(rows: Dense, i: int, W: FloatArray, out: FloatArray) -> Any:
    k, d = W.shape
    for h in range(
        0, k, 2
    ):  # two heads share each load of x; an odd last head is computed twice, so that its sum has the same bits
        other = min(h + 1, k - 1)
        s0 = s1 = 0.0
        for j in range(d):
            x = np.float64(rows.values[i, j])
            s0 += x * W[h, j]
            s1 += x * W[other, j]
        out[h] = s0
        out[other] = s1


@axpy_head.of(Dense)
def _(rows: Dense, i: int, a: float, W: FloatArray, h: int) -> Any:
    axpy(rows, i, a, W[h])


@prefetch_row.of(Dense)
def _(rows: Dense, i: int) -> Any:
    width = rows.values.shape[1] * rows.values.itemsize
    if width <= SHORT_ROW_BYTES:
        for offset in range(0, width, CACHE_LINE):
            prefetch(rows.values, np.int64(i) * width + offset)
        return
    for offset in range(0, min(width, PREFETCH_BYTES), CACHE_LINE):
        prefetch_outer(rows.values, np.int64(i) * width + offset)


@operation
def span(rows: Any, i: int) -> Any:
    """Start and stop of the nonzeros of row i, unsigned, so that Numba does not check for negative indices."""


@span.of(CSR)
def _(rows: CSR, i: int) -> Any:
    return np.uintp(rows.indptr[i]), np.uintp(rows.indptr[i + 1])


@dot.of(CSR)
def _(rows: CSR, i: int, w: FloatArray) -> Any:
    values, indices = rows.values, rows.indices
    start, stop = span(rows, i)
    quads = stop - ((stop - start) & np.uintp(3))
    far, last = w.shape[0] * w.strides[0] > CACHED_WEIGHTS_BYTES, np.int64(indices.shape[0]) - 4
    s0 = s1 = s2 = s3 = 0.0
    for j in range(start, quads, np.uintp(4)):  # four sums, so that no product waits for the previous one
        if far:
            soon = np.uintp(min(np.int64(j) + NONZEROS_AHEAD, last))
            for ahead in range(soon, soon + np.uintp(4)):
                prefetch(w, np.int64(indices[ahead]) * w.strides[0])
        j1, j2, j3 = j + np.uintp(1), j + np.uintp(2), j + np.uintp(3)
        s0 += np.float64(values[j]) * w[np.uintp(indices[j])]
        s1 += np.float64(values[j1]) * w[np.uintp(indices[j1])]
        s2 += np.float64(values[j2]) * w[np.uintp(indices[j2])]
        s3 += np.float64(values[j3]) * w[np.uintp(indices[j3])]
    for j in range(quads, stop):
        s0 += np.float64(values[j]) * w[np.uintp(indices[j])]
    return (s0 + s1) + (s2 + s3)


@sqnorm.of(CSR)
def _(rows: CSR, i: int) -> Any:
    if rows.sqnorms.shape[0] > 0:
        return rows.sqnorms[i]
    start, stop = span(rows, i)
    total = 0.0
    for j in range(start, stop):
        total += np.float64(rows.values[j]) * rows.values[j]
    return total


@axpy.of(CSR)
def _(rows: CSR, i: int, a: float, w: FloatArray) -> Any:
    start, stop = span(rows, i)
    a = np.float64(a)
    for j in range(start, stop):
        w[np.uintp(rows.indices[j])] += a * rows.values[j]


@dots.of(CSR)
def _(rows: CSR, i: int, W: FloatArray, out: FloatArray) -> Any:
    start, stop = span(rows, i)
    stored, stride, width = rows.indices.shape[0], W.strides[0], out.shape[0] * W.itemsize
    out[:] = 0.0
    for j in range(start, stop):
        soon = np.int64(rows.indices[min(np.int64(j) + HEADS_AHEAD, stored - 1)]) * stride
        for offset in range(0, width, CACHE_LINE):
            prefetch(W, soon + offset)
        x, column = np.float64(rows.values[j]), W[np.uintp(rows.indices[j])]
        for h in range(out.shape[0]):
            out[h] += x * column[h]


@axpy_head.of(CSR)
def _(rows: CSR, i: int, a: float, W: FloatArray, h: int) -> Any:
    start, stop = span(rows, i)
    a = np.float64(a)
    for j in range(start, stop):
        W[np.uintp(rows.indices[j]), h] += a * rows.values[j]


@prefetch_row.of(CSR)
def _(rows: CSR, i: int) -> Any:
    start, stop = np.int64(rows.indptr[i]), np.int64(rows.indptr[i + 1])
    for offset in range(start * rows.values.itemsize, stop * rows.values.itemsize, CACHE_LINE):
        prefetch_once(rows.values, offset)
    for offset in range(start * rows.indices.itemsize, stop * rows.indices.itemsize, CACHE_LINE):
        prefetch_once(rows.indices, offset)
