"""The objective of a binary problem as sums over blocks, for Newton's method in `svm/truncated_newton.py`.

Problem    min over v = (w, v_0):  1/2 <v, P v> + sum_i C_i l(m_i),  m_i = y_i (<w, x_i> + x_0 v_0); l is the logistic loss, the
           squared hinge, or a smoothed hinge; P = diag(1, ..., 1, p), p = 0 for a free intercept, else 1.
Update     the value, the gradient, products with the Hessian and the Hessian itself are sums over the rows, which tasks make
           block by block. Curvatures of the rows stay where they were computed, for the products of a step.
Guarantee  dual(a) <= optimum <= primal(v), see `svm/problem.py` and `svm/logistic.py`: the multipliers of v are scaled until
           they are feasible, and both sides are evaluated on all rows in float64.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy

from ..array_types import FloatArray, IntArray
from ..kernels.linear.margin_losses import (
    Logistic,
    Slack,
    add_squares,
    curvature_product,
    loss_along,
    loss_gradient,
    sum_losses,
)
from ..kernels.linear.row_blocks import combine, score
from ..svm.problem import Solution
from ..svm.row_blocks import Blocks, add_to_diagonal, cholesky_factor, solve_factored
from ..svm.truncated_newton import Solve, search_line
from .block_set import BlockSet
from .blocks import Block
from .engine import Handle

Loss = Logistic | Slack
MAX_DENSE_COLUMNS, MAX_SPARSE_COLUMNS = 1000, 1000  # up to this width the preconditioner is the Hessian
DENSE_PASS_COLUMNS, SPARSE_PASS_COLUMNS = 30.0, 4.0  # columns, or nonzeros in a row, whose products take the time of a pass


class Head(NamedTuple):
    """A binary problem: the class of +1, that of -1 (None: all others), the cost of a row of weight 1, and x_0."""

    positive: int
    negative: int | None
    C: float
    x0: float  # 0: no intercept
    free: bool  # the intercept has no penalty


class HeadRows(NamedTuple):
    """The rows of a block that count in a binary problem."""

    wanted: IntArray
    signs: FloatArray
    costs: FloatArray


def head_rows(block: Block, head: Head) -> HeadRows:
    """The rows of a binary problem, with their signs and costs."""

    def make() -> HeadRows:
        codes, weights = block.codes, block.weights
        counted = np.ones(len(codes), bool) if head.negative is None else (codes == head.positive) | (codes == head.negative)
        if weights.size:
            counted &= weights > 0.0
        wanted = np.flatnonzero(counted)
        signs = np.where(codes[wanted] == head.positive, 1.0, -1.0)
        costs = head.C * weights[wanted] if weights.size else np.full(len(wanted), head.C)
        return HeadRows(wanted, signs, costs)

    found: HeadRows = block.derived(head, make)
    return found


# --- tasks ---------------------------------------------------------------------------------------------------------------


class RowTerms(NamedTuple):
    """The margin of each row, its multiplier, and the second derivative of its loss."""

    margins: FloatArray
    pulls: FloatArray
    bends: FloatArray


def row_terms(block: Block, head: Head, loss: Loss, v: FloatArray) -> RowTerms:
    """The terms of the rows at v."""
    wanted, signs, costs = head_rows(block, head)
    margins, pulls, bends = np.empty((3, len(wanted)))
    score(block.rows, wanted, v[:-1], head.x0 * float(v[-1]), margins)
    margins *= signs
    sum_losses(loss, margins, costs, pulls, bends)
    return RowTerms(margins, pulls, bends)


def value_and_gradient(block: Block, head: Head, loss: Loss, v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """The loss of the rows, its gradient, and the sums of the multipliers of both classes, +1 first."""
    wanted, signs, costs = head_rows(block, head)
    margins, pulls, bends = np.empty((3, len(wanted)))
    gradient = np.zeros(len(v))
    shift = head.x0 * float(v[-1])
    total = loss_gradient(loss, block.rows, wanted, signs, costs, v[:-1], shift, margins, pulls, bends, gradient[:-1])
    both, difference = float(pulls.sum()), float(pulls @ signs)
    gradient[-1] = -head.x0 * difference
    return float(total), gradient, np.array([both + difference, both - difference]) / 2.0


def curvatures(block: Block, head: Head, loss: Loss, v: FloatArray) -> FloatArray:
    """The second derivatives of the losses at v."""
    return row_terms(block, head, loss, v).bends


def hessian_product(block: Block, bends: FloatArray, head: Head, p: FloatArray) -> FloatArray:
    """The Hessian of the loss times p."""
    wanted = head_rows(block, head).wanted
    out, along = np.zeros(len(p)), np.empty(len(wanted))
    curvature_product(block.rows, wanted, bends, p[:-1], head.x0 * float(p[-1]), along, out[:-1])
    out[-1] = head.x0 * float(bends @ along)
    return out


def hessian(block: Block, head: Head, loss: Loss, v: FloatArray, before: FloatArray | None) -> FloatArray:
    """The upper triangle of the Hessian of the loss at v, minus that at `before`: only the rows that changed are multiplied."""
    wanted = head_rows(block, head).wanted
    bends = row_terms(block, head, loss, v).bends
    change = bends if before is None else bends - row_terms(block, head, loss, before).bends
    H = np.zeros((block.width + 1, block.width + 1), order="F")
    for sign in (1.0, -1.0):
        some = sign * change > 0.0
        if some.any():
            ones = np.ones(int(some.sum()))
            H += sign * Blocks(block.rows, wanted[some], ones, head.x0, block.width).gram(sign * change[some])
    return H


def squared_columns(block: Block, bends: FloatArray, head: Head) -> FloatArray:
    """The diagonal of the Hessian of the loss."""
    squares = np.zeros(block.width + 1)
    add_squares(block.rows, head_rows(block, head).wanted, bends, squares[:-1])
    squares[-1] = head.x0**2 * float(bends.sum())
    return squares


def margins_along(block: Block, head: Head, loss: Loss, v: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The margins at v, and their change along a direction."""
    return row_terms(block, head, loss, v).margins, row_terms(block, head, loss, direction).margins


def loss_on_line(block: Block, line: tuple[FloatArray, FloatArray], head: Head, loss: Loss, t: float) -> FloatArray:
    """The loss at margins + t along, and its first two derivatives in t."""
    return np.array(loss_along(loss, line[0], line[1], head_rows(block, head).costs, t))


def dual_terms(
    block: Block, head: Head, loss: Loss, v: FloatArray, factors: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Of the multipliers of v times a factor for each class: (sums, sum_i a_i y_i (x_i, x_0)).

    The sums are those of a_i, of their conjugate losses, and of the loss of the hinge at v.
    """
    wanted, signs, costs = head_rows(block, head)
    terms = row_terms(block, head, loss, v)
    a = terms.pulls * np.where(signs > 0.0, factors[0], factors[1])
    total = np.zeros(len(v))
    signed = a * signs
    combine(block.rows, wanted, signed, total[:-1])
    total[-1] = head.x0 * float(signed.sum())
    hinge = float(costs @ np.maximum(0.0, 1.0 - terms.margins))
    return np.array([float(a.sum()), _conjugate(loss, a, costs), hinge]), total


def _conjugate(loss: Loss, a: FloatArray, costs: FloatArray) -> float:
    """What the dual objective has for the losses: the entropy, or sum_i a_i minus the price of smoothness."""
    if isinstance(loss, Logistic):
        share = a / costs
        return -float(costs @ (xlogy(share, share) + xlog1py(1.0 - share, -share)))
    return float(a.sum()) - 0.5 * loss.width * float((a * a / costs).sum())


def support(block: Block, head: Head, loss: Loss, v: FloatArray, factors: tuple[float, float]) -> tuple[IntArray, FloatArray]:
    """The rows with a multiplier other than zero, counted over all blocks, and their multipliers."""
    wanted, signs, _ = head_rows(block, head)
    a = row_terms(block, head, loss, v).pulls * np.where(signs > 0.0, factors[0], factors[1])
    found = np.flatnonzero(a)
    return block.start + wanted[found], a[found]


# --- the objective -------------------------------------------------------------------------------------------------------


class BlockObjective:
    """The objective of a binary problem, for `truncated_newton.minimize`."""

    def __init__(self, blocks: BlockSet, head: Head, loss: Loss) -> None:
        self.blocks, self.head, self.loss = blocks, head, loss
        width, sparse, density = blocks.n_features, blocks.facts.sparse, blocks.facts.density
        self.penalty = np.ones(width + 1)
        self.penalty[-1] = 0.0 if head.free and head.x0 != 0.0 else 1.0
        self.matrix_passes = density / SPARSE_PASS_COLUMNS if sparse else width / DENSE_PASS_COLUMNS
        self.has_matrix = width <= (MAX_SPARSE_COLUMNS if sparse else MAX_DENSE_COLUMNS)
        self.vector_bytes, self.matrix_bytes = 8 * (width + 1), 8 * (width + 1) ** 2
        self.v: FloatArray = np.zeros(width + 1)
        self.sums = np.zeros(2)  # of the multipliers of both classes, at v
        self._bends: list[Handle] | None = None
        self._matrix: tuple[FloatArray, FloatArray] | None = None  # the last Hessian of the loss, and its point

    def at(self, v: FloatArray) -> tuple[float, FloatArray]:
        """The objective and its gradient at v, which becomes the point of the other methods."""
        self.v, self._bends = v, None
        loss, gradient, self.sums = self.blocks.sum(value_and_gradient, self.head, self.loss, v, size=self.vector_bytes)
        penalty = self.penalty * v
        return loss + 0.5 * float(v @ penalty), gradient + penalty

    def product(self, p: FloatArray) -> FloatArray:
        """The Hessian times p."""
        found: FloatArray = self.blocks.sum(hessian_product, self.head, p, of_each=[self._curvatures()], size=self.vector_bytes)
        return found + self.penalty * p

    def _curvatures(self) -> list[Handle]:
        if self._bends is None:
            self._bends = self.blocks.start(curvatures, self.head, self.loss, self.v)
        return self._bends

    def precondition(self) -> Solve:
        """A function that multiplies by the inverse of the Hessian, or of its diagonal if there are many columns."""
        if not self.has_matrix:
            diagonal = self.penalty + self.blocks.sum(
                squared_columns, self.head, of_each=[self._curvatures()], size=self.vector_bytes
            )
            return lambda right: right / diagonal
        before = None if self._matrix is None or isinstance(self.loss, Logistic) else self._matrix[1]
        H = self.blocks.sum(hessian, self.head, self.loss, self.v, before, size=self.matrix_bytes)
        if before is not None and self._matrix is not None:
            H = H + self._matrix[0]
        self._matrix = (H, self.v)
        H = H.copy(order="F")
        add_to_diagonal(H, self.penalty)
        return partial(solve_factored, cholesky_factor(H))

    def line_search(self, v: FloatArray, direction: FloatArray) -> float:
        """The t > 0 where the objective on the line is least, by Newton's method inside a bracket."""
        lines = self.blocks.start(margins_along, self.head, self.loss, v, direction)
        linear, square = float(direction @ (self.penalty * v)), float(direction @ (self.penalty * direction))

        def derivatives(t: float) -> tuple[float, float]:
            _, slope, curvature = self.blocks.sum(loss_on_line, self.head, self.loss, t, of_each=[lines])
            return slope, curvature

        return search_line(derivatives, linear, square)

    def gap_at(self, gradient: FloatArray) -> float:
        """The gap that `solution` will find, if the intercept is at its best."""
        return 0.5 * float(gradient[:-1] @ gradient[:-1]) + (0.0 if self.head.free else 0.5 * float(gradient[-1]) ** 2)

    def solution(self, v: FloatArray, value: float) -> Solution:
        """The weights and the bounds; `at(v)` was called last."""
        sums, total = self.blocks.sum(dual_terms, self.head, self.loss, v, self.factors(), size=self.vector_bytes)
        return self.bounded(v, value, float(sums[1]), total)

    def factors(self) -> tuple[float, float]:
        """The factors of the multipliers of both classes that make them feasible: equal sums, if the intercept is free."""
        if not (self.head.free and self.head.x0) or not self.sums.min() > 0.0:
            return (1.0, 1.0) if not self.head.free or not self.head.x0 else (0.0, 0.0)
        smaller = float(self.sums.min())
        return smaller / float(self.sums[0]), smaller / float(self.sums[1])

    def bounded(self, v: FloatArray, value: float, gain: float, total: FloatArray) -> Solution:
        """A solution with the dual objective of these sums over the multipliers."""
        counted, nothing = total[:-1] if self.head.free else total, np.zeros(0)
        dual = gain - 0.5 * float(counted @ counted)
        return Solution(v[:-1].copy(), self.head.x0 * float(v[-1]), nothing, value, dual, nothing, nothing)


def gather_support(objective: BlockObjective, blocks: BlockSet) -> tuple[IntArray, FloatArray]:
    """The support vectors of the point of an objective, and their multipliers."""
    found = blocks.each(support, objective.head, objective.loss, objective.v, objective.factors())
    return np.concatenate([rows for rows, _ in found]), np.concatenate([a for _, a in found])
