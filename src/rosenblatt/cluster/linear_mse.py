"""`LinearMSE` on blocks: squared moments, triangles and products are sums over blocks.

Problem    as in `least_squares/linear.py`.
Solved     with at most MAX_SPARSE_GRAM columns: from the squared moments, which are added up the tree, if their condition
           allows, else from the triangle of a QR decomposition, whose parts are combined up the tree. With more columns, or
           with many sparse ones whose squares have a bad condition: by conjugate gradients.
Update     of conjugate gradients: as in `least_squares/conjugate_gradients.py`, but with the gradient A'(T - A W) computed from
           W, not from the residual before. No task then depends on tasks of earlier iterations.
Guarantee  the same as on one machine.
Reference  J. Demmel, L. Grigori, M. Hoemmen, J. Langou, SIAM J. Sci. Comput. 34 (2012), for the tree of triangles.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.problem import Problem
from ..estimators.base import StopWarning
from ..estimators.linear_mse import LinearMSE
from ..least_squares.augmented_rows import excess, inner, scaled_products, squared_errors, squared_norm, unit_of
from ..least_squares.conjugate_gradients import ConjugateGradients
from ..least_squares.linear import (
    MAX_SPARSE_GRAM,
    MAX_SPARSE_SVD,
    LeastSquaresSolution,
    all_zero,
    checked,
    from_squares,
    from_triangle,
    run_to_end,
)
from ..least_squares.moments import (
    far_means,
    largest_value,
    multiply_transposed,
    roots,
    squared,
    targets,
    triangle,
    upper,
)
from ..progress import ProgressCallback, current_callback
from .block_set import BlockSet, run_on_block
from .blocks import Block
from .learner import count_visited
from .options import RunOptions


def fit_linear_mse(estimator: LinearMSE, blocks: BlockSet, options: RunOptions) -> None:
    """Solve the least squares problem, and set the attributes."""
    callback = current_callback(bool(estimator.verbose))
    alpha, tol, max_iter = float(estimator.alpha), float(estimator.tol), int(estimator.max_iter)
    n = int(blocks.sum(count_visited)) if blocks.facts.weighted or estimator.class_weight is not None else blocks.n_rows
    found = checked(solve(blocks, n, estimator._x0, alpha, tol, max_iter, callback))
    if found.stop.reason != "solved":
        warnings.warn(StopWarning("the minimum was not reached", found.stop), stacklevel=3)
    estimator._set(found, blocks.classes)
    estimator._stream, estimator._moments = None, (found.total, found.shift, found.R, n)


def solve(
    blocks: BlockSet, n: int, x0: float, ridge: float, tol: float, max_iter: int, progress: ProgressCallback | None
) -> LeastSquaresSolution:
    """Solve by the method for the shape of the rows, of which n have a weight."""
    d = blocks.n_features
    if d <= MAX_SPARSE_GRAM:
        found = _from_squares(blocks, x0, ridge) if n > d else None
        if found is not None:
            return found
        if not blocks.facts.sparse or d <= MAX_SPARSE_SVD:
            R = blocks.sum(triangle_of_block, x0, size=_matrix_bytes(blocks), combine=stack_triangles)
            return from_triangle(R, d, x0, ridge, n)
    A = System(blocks, x0, ridge)
    return run_to_end(A, ConjugateGradients(A, tol), tol, max_iter, progress)


def _from_squares(blocks: BlockSet, x0: float, ridge: float) -> LeastSquaresSolution | None:
    shift = np.zeros(blocks.n_features)
    if x0 and not blocks.facts.sparse:
        ends = [*blocks.facts.starts[1:], blocks.n_rows]
        first = next(number for number, end in enumerate(ends) if end)  # the first block with rows
        shift = blocks.engine.gather([blocks.engine.submit(run_on_block, shift_of_block, blocks.blocks[first], x0)])[0]
    total = blocks.sum(squares_of_block, x0, shift, size=_matrix_bytes(blocks))

    def columns_are_zero(columns: IntArray) -> bool:
        return bool(blocks.sum(zero_in_block, x0, columns, combine=both))

    return from_squares(total, shift, bool(x0), ridge, columns_are_zero)


def _matrix_bytes(blocks: BlockSet) -> int:
    return 8 * (1 + blocks.n_features + n_heads(blocks)) ** 2


def n_heads(blocks: BlockSet) -> int:
    """The number of columns of targets."""
    return len(blocks.classes) if len(blocks.classes) > 2 else 1


# --- tasks of direct solvers ---------------------------------------------------------------------------------------------


def _problem(block: Block, x0: float) -> Problem:
    return block.problem("ovr", x0)


def shift_of_block(block: Block, x0: float) -> FloatArray:
    """The shift of each column before it is squared."""
    return far_means(_problem(block, x0))


def squares_of_block(block: Block, x0: float, shift: FloatArray) -> FloatArray:
    """The squared moments of a block."""
    return squared(_problem(block, x0), shift)


def zero_in_block(block: Block, x0: float, columns: IntArray) -> bool:
    """Whether some columns of a block hold only zeros."""
    return all_zero(_problem(block, x0), columns)


def both(a: bool, b: bool) -> bool:
    """Whether both are true."""
    return a and b


def triangle_of_block(block: Block, x0: float) -> FloatArray:
    """R of a QR decomposition of a block with its targets."""
    return triangle(_problem(block, x0))


def stack_triangles(a: FloatArray, b: FloatArray) -> FloatArray:
    """R of two triangles, one upon the other."""
    return upper(np.concatenate([a, b]))


# --- conjugate gradients -------------------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """A = sqrt(c) (x_0, X / unit - means); what tasks need to know of it. The targets are T - middle."""

    x0: float  # of the problem
    unit: float
    constant: float  # the first column of A: x_0 / unit, or 0 if the columns are centered
    means: FloatArray  # empty if the columns are not centered
    middle: FloatArray


def largest_in_block(block: Block, x0: float) -> float:
    """The largest absolute value of a block."""
    return largest_value(_problem(block, x0))


class Totals(NamedTuple):
    """Sums over rows, by their weights."""

    weight: float
    targets: FloatArray
    columns: FloatArray  # of X / unit
    squares: float  # of (x_0, X) / unit


def totals_of_block(block: Block, x0: float, unit: float, constant: float, centered: bool) -> Totals:
    """The sums over the rows of a block; those of columns only if they are centered."""
    problem = _problem(block, x0)
    T, c = targets(problem, 0, problem.n_rows), np.square(_root(problem))
    columns = multiply_transposed(problem, c / unit)[:, 0] if centered else np.zeros(0)
    return Totals(float(c.sum()), (c * T).sum(axis=0), columns, squared_norm(problem, c, constant, unit))


def _root(problem: Problem) -> FloatArray:
    return np.broadcast_to(roots(problem), (problem.n_rows, 1))


def _times(problem: Problem, V: FloatArray, layout: Layout) -> FloatArray:
    """A V"""
    offset = -(layout.means @ V[1:]) if layout.means.size else layout.constant * V[0]
    return scaled_products(problem, V[1:], layout.unit, offset, _root(problem))


def squares_along(block: Block, P: FloatArray, layout: Layout) -> FloatArray:
    """|A P|^2 of each column of P."""
    products = _times(_problem(block, layout.x0), P, layout)
    return inner(products, products)


def gradient_of_block(block: Block, W: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray, FloatArray]:
    """X' r / unit, sum r and |T - A W|^2, with r = sqrt(c) (T - A W), for each head."""
    problem = _problem(block, layout.x0)
    root = _root(problem)
    left = root * (targets(problem, 0, problem.n_rows) - layout.middle)
    left -= _times(problem, W, layout)
    signed = root * left
    return multiply_transposed(problem, signed / layout.unit), signed.sum(axis=0), inner(left, left)


def errors_of_block(block: Block, x0: float, heads: FloatArray, bias: FloatArray) -> float:
    """The sum of the squared errors of a block."""
    problem = _problem(block, x0)
    return float(squared_errors(problem, targets(problem, 0, problem.n_rows), np.square(_root(problem)), heads, bias))


class System:
    """The rows of all blocks as the matrix A of `AugmentedRows`, and the residual that belongs to the last gradient."""

    def __init__(self, blocks: BlockSet, x0: float, ridge: float) -> None:
        self.blocks, self._centered = blocks, bool(ridge and x0)
        self.shape = blocks.n_features + 1, n_heads(blocks)
        self.unit = unit_of(max(blocks.sum(largest_in_block, x0, combine=max), x0))
        self.ridge = ridge / self.unit / self.unit
        constant = 0.0 if self._centered else x0 / self.unit
        totals: Totals = blocks.sum(totals_of_block, x0, self.unit, constant, self._centered, size=8 * blocks.n_features)
        self._weight = weight = totals.weight
        middle: FloatArray = np.zeros(self.shape[1])
        means: FloatArray = np.zeros(0)
        right, squares = np.full(self.shape[1], weight), totals.squares
        if self._centered:
            middle, means = totals.targets / weight, totals.columns / weight
            right = weight * (1.0 - np.square(middle))
            squares -= weight * float(means @ means)
        self._norm = float(np.sqrt(max(0.0, squares)))
        self._layout = Layout(x0, self.unit, constant, means, middle)
        self._shared = blocks.share(self._layout)[0]  # sent once
        self._right = self._left = right  # |T|^2 of each head, and |T - A W|^2 for the W of the last gradient

    def start(self) -> System:
        """The residual of W = 0."""
        return self

    def curvature(self, P: FloatArray) -> FloatArray:
        """|A P|^2 of each column of a direction P."""
        found: FloatArray = self.blocks.sum(squares_along, P, self._shared)
        return found

    def advance(self, step: FloatArray) -> None:
        """Nothing to do: the residual is computed from W."""

    def gradient(self, W: FloatArray, out: FloatArray) -> None:
        """Write A'(T - A W) to `out`."""
        columns, sums, self._left = self.blocks.sum(gradient_of_block, W, self._shared, size=W.nbytes)
        out[0] = self._layout.constant * sums
        out[1:] = columns
        if self._centered:
            out[1:] -= np.multiply.outer(self._layout.means, sums)

    def excess(self, gradient: FloatArray, W: FloatArray, tol: float) -> FloatArray:
        """For each head, how far W is from the tolerance: at most 1 where it is reached."""
        return excess(self._left, gradient, W, tol, self._right, self._norm, self.ridge)

    def finished(self, heads: FloatArray, w0: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(heads, intercepts)."""
        if not self._centered:
            return heads, w0 * self._layout.x0
        return heads, self._layout.middle - heads @ (self._layout.means * self.unit)

    def mse(self, heads: FloatArray, bias: FloatArray) -> float:
        """The mean squared error over rows and heads."""
        return float(self.blocks.sum(errors_of_block, self._layout.x0, heads, bias)) / self._weight / len(heads)
