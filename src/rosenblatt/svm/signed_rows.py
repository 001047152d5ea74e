"""The rows of a binary problem for the nearest-points solver: signed, centered and scaled in blocks, without a copy of X."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import numpy as np
import scipy.sparse as sp

from ..array_types import Array, FloatArray, IntArray, Matrix
from ..certificates.time_limit import check_time
from ..data.problem import Problem, rows_as_matrix, take_rows
from ..kernels.linear.rows import Dense

BLOCK_BYTES = 1 << 21
MAX_DENSE_COLUMNS = 1024  # up to this width, sparse working rows are converted to an array, which is faster
# Largest distance of the center from the origin, relative to the extent of the rows, at which `SignedRows.near` is set.
MAX_DISTANCE = 8.0


class SignedRows:
    """The vectors z_i = y_i (x_i - center) 2^exponent of the rows with positive weight.

    Subtracting the center from all rows does not change the distance of the hulls, and scaling by a power of two is exact. The
    center is zero for sparse rows and for problems without a bias.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_rows, self.n_features, self.density = problem.n_rows, problem.n_features, problem.density
        self.nbytes, self.weights = problem.rows.values.nbytes, np.asarray(problem.labels.weights)
        self.index = np.arange(problem.n_rows) if problem.visited is None else np.asarray(problem.visited)
        self.signs = np.asarray(problem.signs)[self.index].astype(np.float64)
        self.free = problem.x0 != 0  # whether there is a bias, which is not penalized
        self.n_sides = 2 if self.free else 1
        self.side = (self.signs < 0).astype(np.intp) if self.free else np.zeros(len(self.signs), np.intp)
        self.dense = isinstance(problem.rows, Dense)
        self.center = np.zeros(problem.n_features)
        self.extent, distance = self._extent()
        self.exponent = -int(np.frexp(self.extent)[1])
        # If the rows are `near` the origin, products are computed with the original rows: the vector is scaled, and its product
        # with the center is subtracted. Otherwise that would lose digits or overflow, so the rows are scaled and centered.
        self.near = abs(self.exponent) <= 400 and distance <= MAX_DISTANCE * self.extent

    def __len__(self) -> int:
        return len(self.index)

    def _extent(self) -> tuple[float, float]:
        """The largest absolute coordinate of the centered rows, and that of the center."""
        if not self.dense:
            return float(abs(self.problem.rows.values).max(initial=0.0)), 0.0
        low, high = np.full(len(self.center), np.inf), np.full(len(self.center), -np.inf)
        for _, block in self.blocks():
            np.minimum(low, block.min(axis=0), out=low)
            np.maximum(high, block.max(axis=0), out=high)
        if self.free:
            self.center = low / 2 + high / 2
        extent = np.maximum(high - self.center, self.center - low)
        return float(extent.max(initial=0.0)), float(abs(self.center).max(initial=0.0))

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """The original rows with positive weight, in blocks of about 2 MB, each with its slice of positions."""
        width = max(1.0, self.problem.density) * self.problem.rows.values.itemsize
        step = max(1, int(BLOCK_BYTES / width))
        for start in range(0, len(self), step):
            span = slice(start, min(start + step, len(self)))
            if self.problem.visited is None:
                yield span, self.problem.matrix(span.start, span.stop)
            else:
                yield span, self._rows_at(self.index[span])

    def _rows_at(self, index: IntArray) -> Matrix:
        rows = take_rows(self.problem.rows, index)
        return rows_as_matrix(rows, 0, len(index))

    def _scaled(self, block: Matrix) -> Matrix:
        """The block in float64, centered if it is dense, times 2^exponent."""
        if isinstance(block, np.ndarray):
            return np.ldexp(block - self.center, self.exponent)
        return sp.csr_array((np.ldexp(block.data.astype(np.float64), self.exponent), block.indices, block.indptr), block.shape)

    def _ready(self, block: Matrix) -> Matrix:
        return block.astype(np.float64, copy=False) if self.near else self._scaled(block)

    def products(self, v: FloatArray) -> FloatArray:
        """The products z_i . v of all rows, in one pass."""
        out = np.empty(len(self))
        u = np.ldexp(v, self.exponent) if self.near else v
        for span, block in self.blocks():
            out[span] = self._ready(block) @ u
        if self.near and self.dense:
            out -= self.center @ u
        return out * self.signs

    def canonical(self, coef: FloatArray, bias: float) -> FloatArray:
        """The margins y_i (w.x_i + b) of the original rows."""
        out = np.empty(len(self))
        for span, block in self.blocks():
            out[span] = block.astype(np.float64, copy=False) @ coef
        return (out + bias) * self.signs

    def take(self, places: IntArray) -> Matrix:
        """The vectors z_i of some rows in float64: an array, or a CSR matrix for wide sparse rows."""
        rows, signs = self._scaled(self._rows_at(self.index[places])), self.signs[places]
        if self.dense or self.n_features <= MAX_DENSE_COLUMNS:
            return (rows if isinstance(rows, np.ndarray) else rows.toarray()) * signs[:, None]
        return sp.csr_array(sp.diags_array(signs) @ rows)

    def combine(self, places: IntArray, a: FloatArray) -> FloatArray:
        """The sum of a_i z_i over some rows."""
        step = max(1, int(BLOCK_BYTES / (8 * max(1.0, self.density))))
        total = np.zeros(len(self.center))
        for start in range(0, len(places), step):
            total += a[start : start + step] @ self.take(places[start : start + step])
        return total

    def gram(self) -> FloatArray:
        """The Gram matrix z_i . z_j of dense rows, summed over blocks of columns."""
        total = np.zeros((len(self), len(self)))
        step = max(1, BLOCK_BYTES // (8 * len(self)))
        for start in range(0, len(self.center), step):
            span = slice(start, start + step)
            block = self.problem.rows.values[:, span]
            block = block if self.problem.visited is None else block[self.index]
            block = np.ldexp(block - self.center[span], self.exponent)
            total += block @ block.T
        return total * np.outer(self.signs, self.signs)

    def raw(self, places: IntArray) -> tuple[IntArray, FloatArray]:
        """The columns in which some rows are nonzero, and y_i x_i in these columns, in float64."""
        rows = self._rows_at(self.index[places])
        if isinstance(rows, np.ndarray):
            columns = np.flatnonzero(rows.any(axis=0))
            values = rows[:, columns]
        else:
            columns = np.unique(rows.indices[rows.data != 0])
            values = rows[:, columns].toarray()
        return columns, values.astype(np.float64) * self.signs[places][:, None]

    def find_equal_rows(self) -> list[int] | None:
        """Two equal rows with opposite labels or, without a bias, a row of zeros; None if there are none."""
        return same_points((block for _, block in self.blocks()), self.signs > 0, not self.free)

    def mean(self) -> FloatArray:
        """The mean of z_i on each side, summed over the sides: the direction that the solver starts with."""
        share = self.signs / np.bincount(self.side, minlength=self.n_sides)[self.side]
        total = np.zeros(len(self.center))
        for span, block in self.blocks():
            total += share[span] @ self._ready(block)  # the center cancels: the shares of each class sum to +1 and -1
        return np.ldexp(total, self.exponent) if self.near else total

    def unscaled(self, w: FloatArray, threshold: float) -> tuple[FloatArray, float]:
        """Weights and bias, for the original rows, of the plane w . z = threshold of the scaled rows."""
        coef = np.ldexp(w, self.exponent)
        return coef, -(threshold + float(w @ np.ldexp(self.center, self.exponent)))


def same_points(blocks: Iterable[Matrix], codes: Array, zeros: bool) -> list[int] | None:
    """Two equal rows with different codes, as positions; None if there are none.

    zeros : a row of zeros ends the search, too, and is returned alone.
    """
    first: dict[bytes, int] = {}
    for place, key in enumerate(key for block in blocks for key in keys(block)):
        check_time()
        if zeros and key == b"":
            return [place]
        # One row per point is enough: all earlier rows at this point have the same code.
        earlier = first.setdefault(key, place)
        if codes[earlier] != codes[place]:
            return [earlier, place]
    return None


def keys(block: Matrix) -> Iterator[bytes]:
    """A digest of the nonzero columns and values of each row; empty for a row of zeros."""
    for i in range(block.shape[0]):
        columns, values = entries(block, i)
        yield blake2b(columns.astype(np.int64).tobytes() + values.tobytes(), digest_size=16).digest() if len(columns) else b""


def entries(block: Matrix, i: int) -> tuple[IntArray, FloatArray]:
    """The nonzero columns of a row, and their values."""
    if isinstance(block, np.ndarray):
        columns = np.flatnonzero(block[i])
        return columns, block[i, columns]
    span = slice(block.indptr[i], block.indptr[i + 1])
    stored = block.data[span] != 0
    return block.indices[span][stored], block.data[span][stored]
