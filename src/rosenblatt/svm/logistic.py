"""The binary problem with the logistic loss: objective, gradient, Hessian, and the bounds that any weights give.

Problem    min over w, b:  1/2 |w|^2 + sum_i C_i log(1 + exp(-m_i)),  m_i = y_i (<w, x_i> + b).
           A penalized intercept is one more weight, b = x_0 v with v^2/2 added; a free one has no penalty.
Dual       max over a:  sum_i C_i H(a_i/C_i) - 1/2 |sum_i a_i y_i p_i|^2,  H(t) = -t log t - (1 - t) log(1 - t)
           s.t.  0 <= a_i <= C_i, and sum_i a_i y_i = 0 if the intercept is free.
Guarantee  For all w, b and every feasible a: dual(a) <= optimum <= primal(w, b). The multipliers of weights are
           a_i = C_i s(-m_i), which attain the entropy of each row's loss: the gap is then |gradient in w|^2/2. With a free
           intercept they are first moved to sum_i a_i y_i = 0, along their curvatures a_i (1 - a_i/C_i). Where rounding errors
           of huge values count, the gap is that of the multipliers as they are stored.
Reference  T. Jaakkola and D. Haussler, Probabilistic kernel regression models (1999); H.-F. Yu, F.-L. Huang and C.-J. Lin,
           Machine Learning 85 (2011).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.special import xlog1py, xlogy

from ..array_types import FloatArray, IntArray
from ..kernels.linear.margin_losses import Logistic, add_squares, curvature_product, loss_along, loss_gradient
from ..kernels.linear.rows import CSR, EPS
from ..parallel import in_order
from .limits import SolverLimits
from .problem import BinarySVM, Solution
from .row_blocks import Blocks, add_to_diagonal, cholesky_factor, draw_sample, penalty_diagonal, solve_factored, sum_rows
from .truncated_newton import Solve, minimize, search_line

MAX_SPANS = 16  # parts of the rows that threads work on; each has a gradient of its own
VALUES_PER_SPAN = 1 << 18  # fewer values are not worth a thread
# Up to this width the preconditioner is the Hessian, whose work for these columns, or nonzeros in a row, is that of a pass.
MAX_DENSE_COLUMNS, MAX_SPARSE_COLUMNS = 1000, 1000
DENSE_PASS_COLUMNS, SPARSE_PASS_COLUMNS = 30.0, 4.0
SAMPLE_TOL = 1e-3  # tolerance for the sample, relative to the objective
SMALL_WEIGHTS = 1e-9  # weights of this squared length, relative to the objective, may be zero up to rounding errors


@dataclass(frozen=True)
class BinaryLogistic(BinarySVM):
    """A binary problem with the logistic loss in place of the hinge; `squared` is False."""

    longest: float = np.inf  # no row is longer


def balance(multipliers: FloatArray, y: FloatArray, costs: FloatArray) -> FloatArray:
    """Multipliers moved to sum_i a_i y_i = 0 along their curvatures, which keeps them within their bounds."""
    excess = float(multipliers @ y)
    if excess == 0.0:
        return multipliers.copy()
    moves: FloatArray = multipliers / costs
    moves -= 1.0
    moves *= multipliers
    total = -float(moves.sum())
    if abs(excess) < total:
        moves *= y
        moves *= excess / total
        moves += multipliers
    else:
        moves = multipliers.copy()
    for _ in range(2):  # the class of the larger sum is scaled down; the second time by the rounding errors of the first
        excess = float(moves @ y)
        if excess == 0.0:
            break
        both = float(moves.sum())  # the sums of the classes are (both + excess)/2 and (both - excess)/2
        heavier = 0.5 * (both + abs(excess))
        moves *= np.where((y > 0) == (excess > 0.0), 1.0 - abs(excess) / heavier, 1.0)
    return moves


def entropy(multipliers: FloatArray, costs: FloatArray) -> float:
    """sum_i C_i H(a_i/C_i)"""
    share = multipliers / costs
    return -float(costs @ (xlogy(share, share) + xlog1py(1.0 - share, -share)))


class LogisticLoss:
    """The objective of some rows of a binary problem at v = (w, v_0), intercept b = x_0 v_0, for `truncated_newton`.

    Sums over rows are sums over spans, which are fixed by the data: the bits do not depend on the number of threads.
    """

    def __init__(self, svm: BinaryLogistic, wanted: IntArray, costs: FloatArray, n_jobs: int) -> None:
        self.svm, self.wanted, self.n_jobs = svm, wanted, n_jobs
        self.costs = np.ascontiguousarray(costs)
        self.signs = svm.signs[wanted].astype(np.float64)
        self.penalty = penalty_diagonal(svm)
        self.margins, self.pulls, self.bends = (np.empty(len(wanted)) for _ in range(3))
        stored = len(wanted) * (svm.rows.values.size / max(1, len(svm.signs)))
        parts = int(min(MAX_SPANS, stored // VALUES_PER_SPAN, stored // (4 * svm.width + 1))) or 1
        ends = np.linspace(0, len(wanted), parts + 1).astype(int)
        self.spans = list(pairwise(ends.tolist()))
        # The work of a matrix of products of columns, in passes over the rows.
        density = stored / max(1, len(wanted))
        self.matrix_passes = density / SPARSE_PASS_COLUMNS if isinstance(svm.rows, CSR) else svm.width / DENSE_PASS_COLUMNS
        self.has_matrix = svm.width <= (MAX_SPARSE_COLUMNS if isinstance(svm.rows, CSR) else MAX_DENSE_COLUMNS)

    def at(self, v: FloatArray) -> tuple[float, FloatArray]:
        """The objective and its gradient at v, which becomes the point of `product` and `precondition`."""
        svm, gradient = self.svm, self.penalty * v
        value = 0.5 * float(v @ gradient)

        def add(span: tuple[int, int]) -> tuple[float, FloatArray]:
            part, own = slice(*span), np.zeros(svm.width)
            loss = loss_gradient(
                Logistic(), svm.rows, self.wanted[part], self.signs[part], self.costs[part], v[:-1], svm.x0 * float(v[-1]),
                self.margins[part], self.pulls[part], self.bends[part], own,
            )  # fmt: skip
            return loss, own

        for loss, own in in_order(add, self.spans, self.n_jobs):
            value += loss
            gradient[:-1] += own
        gradient[-1] -= svm.x0 * float(self.pulls @ self.signs)
        return value, gradient

    def product(self, p: FloatArray) -> FloatArray:
        """The Hessian times p."""
        svm, along, out = self.svm, np.empty(len(self.wanted)), self.penalty * p

        def add(span: tuple[int, int]) -> FloatArray:
            part, own = slice(*span), np.zeros(svm.width)
            shift = svm.x0 * float(p[-1])
            curvature_product(svm.rows, self.wanted[part], self.bends[part], p[:-1], shift, along[part], own)
            return own

        for own in in_order(add, self.spans, self.n_jobs):
            out[:-1] += own
        out[-1] += svm.x0 * float(self.bends @ along)
        return out

    def precondition(self) -> Solve:
        """A function that multiplies by the inverse of the Hessian, or of its diagonal if there are many columns."""
        if self.has_matrix:
            return partial(solve_factored, cholesky_factor(self._curvature()))
        squares = np.zeros(self.svm.width)
        add_squares(self.svm.rows, self.wanted, self.bends, squares)
        last = self.svm.x0**2 * float(self.bends.sum())
        diagonal = self.penalty + np.append(squares, last)
        return lambda right: right / diagonal

    def _curvature(self) -> FloatArray:
        """The upper triangle of the Hessian."""
        H = self._blocks().gram(self.bends, self.n_jobs)
        add_to_diagonal(H, self.penalty)
        return H

    def line_search(self, v: FloatArray, direction: FloatArray) -> float:
        """The t > 0 where the objective on the line is least, by Newton's method inside a bracket."""
        along = self._blocks().product(direction)
        linear, square = float(direction @ (self.penalty * v)), float(direction @ (self.penalty * direction))
        return search_line(lambda t: loss_along(Logistic(), self.margins, along, self.costs, t)[1:], linear, square)

    def gap_at(self, gradient: FloatArray) -> float:
        """The gap that `solution` will find, if the intercept is at its best."""
        return 0.5 * float(gradient[:-1] @ gradient[:-1]) + (0.0 if self.svm.free else 0.5 * float(gradient[-1]) ** 2)

    def _blocks(self) -> Blocks:
        return Blocks(self.svm.rows, self.wanted, self.signs, self.svm.x0, self.svm.width)

    def solution(self, v: FloatArray, value: float) -> Solution:
        """The weights, their multipliers and the bounds; `at(v)` was called last."""
        svm, n = self.svm, len(self.svm.signs)
        v, value = self._without_rounding_errors(v, value)
        a = balance(self.pulls, self.signs, self.costs) if svm.free else self.pulls.copy()
        signed = a * self.signs
        w = sum_rows(svm.rows, self.wanted, signed, svm.width, svm.longest, value)
        own = 0.0 if svm.free else svm.x0 * float(signed.sum())
        gain, loss = entropy(a, self.costs), 0.5 * (float(w @ w) + own * own)
        if 2.0 * loss > gain:  # shorter multipliers have a better bound, above 0
            share = 0.5 * gain / loss
            a *= share
            gain, loss = entropy(a, self.costs), loss * share * share
        dual = gain - loss
        multipliers, margins = np.zeros(n), np.full(n, np.nan)
        multipliers[self.wanted], margins[self.wanted] = a, self.margins
        return Solution(v[:-1].copy(), svm.x0 * float(v[-1]), multipliers, value, dual, margins, svm.costs)

    def _without_rounding_errors(self, v: FloatArray, value: float) -> tuple[FloatArray, float]:
        """Weights that are zero up to rounding errors are set to zero: their directions would be those of the errors."""
        if 0.0 < float(v[:-1] @ v[:-1]) <= SMALL_WEIGHTS * value:
            flat = np.zeros_like(v)
            flat[-1] = v[-1]
            score = self.svm.x0 * float(v[-1]) * self.signs
            least = float(self.costs @ np.logaddexp(0.0, -score)) + 0.5 * float(flat @ (self.penalty * flat))
            if least <= value * (1.0 + 4.0 * EPS):
                value, _ = self.at(flat)
                return flat, value
        return v, value


def solve_logistic(svm: BinaryLogistic, limits: SolverLimits, start: Solution | None = None) -> tuple[Solution, int]:
    """The solution and the number of Newton steps; the gap is at most `limits.tol`, or as small as float64 allows."""
    v: FloatArray = np.zeros(svm.width + 1)
    precondition = None
    if start is not None:
        v[:-1], v[-1] = start.w, start.intercept / (svm.x0 or 1.0)
    elif (few := draw_sample(svm, limits.seed)) is not None and svm.width <= MAX_DENSE_COLUMNS:
        sample = LogisticLoss(svm, *few, limits.n_jobs)
        _, v, _, precondition = minimize(sample, v, replace(limits, tol=SAMPLE_TOL, progress=None))
    loss = LogisticLoss(svm, svm.visited, svm.costs[svm.seen], limits.n_jobs)
    found, _, steps, _ = minimize(loss, v, limits, precondition)
    return found, steps
