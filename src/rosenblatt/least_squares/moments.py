"""Moments of the rows A = sqrt(c) (1, X, T): A'A itself, or the triangle R of a QR decomposition, R'R = A'A.

T has one column of targets for each head, +1 on the rows of its class and -1 on the others; c are the row weights. A'A takes
half the time, but squares the condition number of the columns; R does not. Both are summed in blocks in float64, without a
copy of X.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..array_types import FloatArray, Matrix
from ..data.problem import Problem, dense_array, some_rows
from ..kernels.linear.row_blocks import add_scaled_pairs
from ..kernels.linear.rows import CSR, Dense
from ..kernels.linear.schemes import Binary, Rest

# Numbers in a block of rows: half a megabyte fits into the cache of a core; twice as much does not on a busy machine.
BLOCK_VALUES = 1 << 16
# Below this share of nonzeros, products of pairs of nonzeros are faster than a dense product.
MAX_SPARSE_DENSITY = 0.1
# Columns whose mean is this many standard deviations from zero are shifted before they are squared, to keep their digits.
SHIFT_DEVIATIONS = 10.0


def targets(problem: Problem, start: int, stop: int) -> FloatArray:
    """The targets of some rows, rows x heads."""
    labels = problem.labels
    if isinstance(labels, Binary):
        found: FloatArray = labels.signs[start:stop, None].astype(np.float64)
        return found
    assert isinstance(labels, Rest)
    return np.where(labels.codes[start:stop, None] == labels.heads, 1.0, -1.0)


def roots(problem: Problem, start: int = 0, stop: int | None = None) -> FloatArray | float:
    """sqrt(c) as a column, or 1 if all rows have the same weight."""
    c = problem.labels.weights
    return np.sqrt(c[start:stop, None]) if c.size else 1.0


def fill(problem: Problem, start: int, stop: int, shift: FloatArray, buffer: FloatArray) -> FloatArray:
    """Write rows `start` to `stop` of A into the first rows of `buffer`."""
    block, d = buffer[: stop - start], problem.n_features
    X, root = problem.matrix(start, stop), roots(problem, start, stop)
    block[:, 0] = 1.0
    block[:, 1 : d + 1] = dense_array(X)
    block[:, d + 1 :] = targets(problem, start, stop)
    if shift.any():
        block[:, 1 : d + 1] -= shift
    if problem.labels.weights.size:
        block *= root
    return block


def n_heads(problem: Problem) -> int:
    """The number of columns of targets."""
    return len(problem.labels.heads) if isinstance(problem.labels, Rest) else 1


def row_blocks(problem: Problem) -> Iterator[tuple[slice, Matrix]]:
    """The rows in blocks of some megabytes, in float64: a product with all float32 rows would copy them."""
    size = max(64, int(8 * BLOCK_VALUES / (problem.density + 1)))
    for start in range(0, problem.n_rows or 1, size):  # no rows are one empty block
        stop = min(start + size, problem.n_rows)
        yield slice(start, stop), problem.matrix(start, stop).astype(np.float64, copy=False)
        problem.release_pages(start, stop)


def multiply(problem: Problem, V: FloatArray) -> FloatArray:
    """X V."""
    parts = [X @ V for _, X in row_blocks(problem)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def multiply_transposed(problem: Problem, U: FloatArray) -> FloatArray:
    """X' U."""
    parts = (X.T @ U[some] for some, X in row_blocks(problem))
    total: FloatArray = next(parts)
    for part in parts:
        total += part
    return total


def largest_value(problem: Problem) -> float:
    """The largest absolute value of the rows."""
    values = problem.rows.values
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def far_means(problem: Problem) -> FloatArray:
    """The shift of each column before it is squared: the mean of the first rows if it is far from zero, else 0."""
    d = problem.n_features
    if not isinstance(problem.rows, Dense):
        return np.zeros(d)
    some = problem.matrix(0, 256).astype(np.float64)
    with np.errstate(all="ignore"):
        mean, deviation = some.mean(axis=0), some.std(axis=0)
        return np.where((abs(mean) > SHIFT_DEVIATIONS * deviation) & (abs(mean) < np.inf), mean, 0.0)


def squared(problem: Problem, shift: FloatArray) -> FloatArray:
    """A'A with X - shift in place of X; entries may overflow."""
    m = 1 + problem.n_features + n_heads(problem)
    with np.errstate(all="ignore"):
        if isinstance(problem.rows, CSR) and problem.density < MAX_SPARSE_DENSITY * problem.n_features:
            return _squared_pairs(problem, m)
        total, rows = np.zeros((m, m)), max(64, BLOCK_VALUES // m)
        buffer = np.empty((min(rows, problem.n_rows), m))
        for start in range(0, problem.n_rows, rows):
            block = fill(problem, start, min(start + rows, problem.n_rows), shift, buffer)
            total += block.T @ block
            problem.release_pages(start, start + len(block))
        return total


def _squared_pairs(problem: Problem, m: int) -> FloatArray:
    d, c, n = problem.n_features, problem.labels.weights, problem.n_rows
    gram = np.zeros((d, d))
    size = n if problem.pages is None else problem.pages.consecutive
    for start in range(0, n, size or 1):
        stop = min(start + size, n)
        rows = some_rows(problem.rows, start, stop)
        assert isinstance(rows, CSR)
        add_scaled_pairs(rows, c[start:stop], np.zeros(0), gram)
        problem.release_pages(start, stop)
    few, wide = m - d, max(64, BLOCK_VALUES // (m - d))
    edge, corner = np.zeros((d, few)), np.zeros((few, few))
    for start in range(0, n, wide):
        stop = min(start + wide, n)
        plain = np.column_stack([np.ones(stop - start), targets(problem, start, stop)])
        weighted = plain * roots(problem, start, stop) ** 2
        edge += problem.matrix(start, stop).T @ weighted
        corner += plain.T @ weighted
        problem.release_pages(start, stop)
    total = np.empty((m, m))
    total[1 : d + 1, 1 : d + 1] = gram + np.triu(gram, 1).T
    side = np.r_[0, d + 1 : m]
    total[np.ix_(side, side)] = corner
    total[1 : d + 1, side] = edge
    total[side, 1 : d + 1] = edge.T
    return total


def upper(matrix: FloatArray) -> FloatArray:
    """R of a QR decomposition."""
    R: FloatArray = np.asarray(np.linalg.qr(matrix, mode="r"))
    return R


def triangle(problem: Problem, before: FloatArray | None = None) -> FloatArray:
    """R with R'R = A'A (+ before' before), min(rows, columns) x columns, by QR of the R so far and the next block."""
    m = 1 + problem.n_features + n_heads(problem)
    R = np.zeros((0, m)) if before is None else before
    rows = max(256, 4 * m)
    buffer, no_shift = np.empty((min(rows, problem.n_rows), m)), np.zeros(problem.n_features)
    for start in range(0, problem.n_rows, rows):
        block = fill(problem, start, min(start + rows, problem.n_rows), no_shift, buffer)
        R = upper(np.concatenate([R, block]))
        problem.release_pages(start, start + len(block))
    return R


def triangle_of(total: FloatArray, shift: FloatArray) -> FloatArray:
    """R with R'R = A'A from the squared moments of X - shift, scaled by column; as precise as the squares."""
    d = len(shift)
    scale = np.sqrt(np.diag(total))
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh(total / scale / scale[:, None])
    half = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scale
    half[:, 1 : d + 1] += half[:, :1] * shift
    found: FloatArray = upper(half)
    return found
