"""Several classes with one multinomial logistic loss.

Problem    min over W, b:  1/2 sum_m |w_m|^2 + sum_i C_i (log sum_m exp(s_im) - s_il),
           s_im = <w_m, x_i> + b_m, l the class of row i.
           A penalized intercept is one more weight of its class; a free one has no penalty, and the intercepts sum to 0.
Dual       max over p:  sum_i C_i H(p_i) - 1/2 sum_m |sum_i C_i ([m = l] - p_im) x_i|^2,  H(p) = -sum_m p_m log p_m,
           s.t.  p_i >= 0, sum_m p_im = 1, and sum_i C_i ([m = l] - p_im) = 0 for every class if the intercept is free.
Guarantee  For all W, b and every feasible p: dual(p) <= optimum <= primal(W, b). The probabilities of weights are feasible but
           for the sums of a free intercept, to which they are moved along their curvatures; the gap is |gradient in W|^2/2.
Reference  M. Collins, A. Globerson, T. Koo, X. Carreras and P. Bartlett, JMLR 9 (2008).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.special import xlogy

from ..array_types import FloatArray, IntArray
from ..data.problem import rows_as_matrix, rows_width
from ..kernels.linear.margin_losses import add_squares
from ..kernels.linear.multinomial import bend_rows, multinomial_gradient, multinomial_product, softmax_rows
from ..kernels.linear.rows import CSR, EPS, Rows
from ..parallel import in_order
from .balanced_shares import balancing_mixture, balancing_shift, least_factor, mixed, normalized, sums_curvature
from .limits import SolverLimits
from .logistic import MAX_DENSE_COLUMNS, MAX_SPANS, MAX_SPARSE_COLUMNS, VALUES_PER_SPAN
from .row_blocks import (
    MAX_LOST_SHARE,
    Blocks,
    add_to_diagonal,
    cholesky_factor,
    sample_of_classes,
    solve_factored,
    sum_rows,
)
from .truncated_newton import Solve, minimize

BLOCK_VALUES = 1 << 15  # values of dense rows in a product: they stay in the cache of a core
JOINT_SAMPLE_TOL = 0.1  # tolerance for the sample: it tells less than that, with as many weights
MIN_MATRIX_ROWS, MATRIX_ROWS_PER_COLUMN = 2000, 4  # rows that the preconditioner is made of
MAX_BISECTIONS, FLAT_SHARE = 30, 0.1  # of a line search; the slope at its end, relative to the first


@dataclass(frozen=True)
class Multinomial:
    """The solution of a multinomial problem."""

    W: FloatArray  # k x d
    bias: FloatArray  # k
    multipliers: FloatArray  # n x k, C_i ([m = l] - p_im): rows sum to 0, w_m = sum_i a_im x_i up to the gap
    primal: float
    dual: float
    n_iter: int  # Newton steps

    @property
    def n_rows(self) -> int:
        return len(self.multipliers)

    @property
    def gap(self) -> float:
        """(primal - dual)/primal"""
        if not np.isfinite(self.primal):
            return np.inf
        return max(0.0, self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0


def shannon_entropy(shares: FloatArray, costs: FloatArray) -> float:
    """sum_i C_i H(p_i)"""
    return -float(costs @ xlogy(shares, shares).sum(axis=1))


class JointObjective(ABC):
    """The objective at v, the weights and intercepts of all classes, for `truncated_newton`, wherever the rows are.

    v is classes x (features, 1) for dense rows, (features, 1) x classes for sparse ones, flattened.
    """

    def __init__(self, width: int, k: int, sparse: bool, x0: float, free: bool, n: int, stored: float) -> None:
        """The rows that count are n, with so many values stored."""
        self.width, self.k, self.sparse, self.x0, self.free = width, k, sparse, x0, free
        self.shape = (width + 1, k) if sparse else (k, width + 1)
        self.penalty = np.ones(self.shape)
        self.of_classes(self.penalty)[:, -1] = 0.0 if free and x0 != 0.0 else 1.0
        self.blocked = width <= (MAX_SPARSE_COLUMNS if sparse else MAX_DENSE_COLUMNS)
        self.has_matrix = False  # the blocks on the diagonal are not all of the Hessian
        sampled = max(MIN_MATRIX_ROWS, MATRIX_ROWS_PER_COLUMN * width)
        self.matrix_step = max(1, n // sampled)  # one row in so many shows the products of columns
        work = min(sampled, n) * width**2 + width**3 / 3.0
        self.matrix_passes = 1.0 + work / (4.0 * k * max(1.0, stored)) if self.blocked else 5.0

    @abstractmethod
    def at(self, v: FloatArray) -> tuple[float, FloatArray]:
        """The objective and its gradient at v."""

    def of_classes(self, V: FloatArray) -> FloatArray:
        """Weights in the layout of the rows as classes x (features, 1)."""
        return V.T if self.sparse else V

    def _split(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """W in the layout of the rows, and b = x_0 v_0."""
        V = v.reshape(self.shape)
        if self.sparse:
            return V[:-1], self.x0 * V[-1]
        return V[:, :-1], self.x0 * V[:, -1]

    def _solve(self, factor: FloatArray, right: FloatArray) -> FloatArray:
        out = np.empty(self.shape)
        columns = np.asfortranarray(self.of_classes(right.reshape(self.shape)).T)
        self.of_classes(out)[:] = solve_factored(factor, columns).T
        return out.ravel()

    def line_search(self, v: FloatArray, direction: FloatArray) -> float:
        """A t in (0, 1) with a small slope on the line, by bisection; the slope is negative at 0 and positive at 1."""
        first, low, high = float(self.at(v)[1] @ direction), 0.0, 1.0
        for _ in range(MAX_BISECTIONS):
            middle = 0.5 * (low + high)
            slope = float(self.at(v + middle * direction)[1] @ direction)
            if abs(slope) <= FLAT_SHARE * abs(first):
                return middle
            low, high = (middle, high) if slope < 0.0 else (low, middle)
        return high

    def gap_at(self, gradient: FloatArray) -> float:
        """The gap that `solution` will find, if the intercepts are at their best."""
        columns = self.of_classes(gradient.reshape(self.shape))
        counted = columns[:, :-1] if self.free else columns
        return 0.5 * float(np.square(counted).sum())

    def found(self, v: FloatArray, multipliers: FloatArray, value: float, dual: float) -> Multinomial:
        """The weights, and intercepts that sum to 0 if they are free."""
        W, b = self._split(v)
        W, b = np.array(W.T if self.sparse else W, order="C"), b - b.mean() if self.free else b.copy()
        return Multinomial(W, b, multipliers, value, dual, 0)


class MultinomialLoss(JointObjective):
    """The objective on rows in memory."""

    def __init__(
        self,
        rows: Rows,
        codes: IntArray,
        k: int,
        costs: FloatArray,
        x0: float,
        free: bool,
        n_jobs: int,
        longest: float = np.inf,
        penalized: bool = True,
    ) -> None:
        """Without `penalized`, it is the sum of the losses alone."""
        self.rows, self.n_jobs, self.longest, self.n = rows, n_jobs, longest, len(codes)
        self.wanted = np.flatnonzero(costs > 0.0)
        self.codes, self.costs = codes[self.wanted].astype(np.int64), np.ascontiguousarray(costs[self.wanted])
        width, stored = rows_width(rows), len(self.wanted) * rows.values.size / max(1, self.n)
        super().__init__(width, k, isinstance(rows, CSR), x0, free, len(self.wanted), stored)
        if not penalized:
            self.penalty = np.broadcast_to(0.0, self.shape)
        self.shares: FloatArray = np.empty((len(self.wanted), k))
        self.totals: FloatArray = np.bincount(self.codes, self.costs, k).astype(np.float64)
        parts = int(min(MAX_SPANS, stored * k // VALUES_PER_SPAN, stored // (4 * width + 1))) or 1
        self.spans = list(pairwise(np.linspace(0, len(self.wanted), parts + 1).astype(int).tolist()))

    def _dense_blocks(self, start: int, stop: int) -> Iterator[tuple[slice, FloatArray]]:
        """Dense rows in blocks, as float64."""
        step = max(16, BLOCK_VALUES // max(1, self.width))
        for first in range(start, stop, step):
            part = slice(first, min(first + step, stop))
            values = self.rows.values[part] if len(self.wanted) == self.n else self.rows.values[self.wanted[part]]
            yield part, values.astype(np.float64, copy=False)

    def at(self, v: FloatArray) -> tuple[float, FloatArray]:
        """The objective and its gradient at v."""
        (W, b), gradient = self._split(v), self.penalty * v.reshape(self.shape)
        value = 0.5 * float(v @ gradient.ravel())
        part_of_W = gradient[:-1] if self.sparse else gradient[:, :-1]

        def add(span: tuple[int, int]) -> tuple[float, FloatArray]:
            return self._sparse_span(span, W, b) if self.sparse else self._dense_span(span, W, b)

        for loss, own in in_order(add, self.spans, self.n_jobs):
            value += loss
            part_of_W += own
        self.of_classes(gradient)[:, -1] += self.x0 * (self.costs @ self.shares - self.totals)
        return value, gradient.ravel()

    def _sparse_span(self, span: tuple[int, int], W: FloatArray, b: FloatArray) -> tuple[float, FloatArray]:
        part, own = slice(*span), np.zeros(W.shape)
        moves = np.empty(self.k)
        assert isinstance(self.rows, CSR)
        wanted, codes, costs = self.wanted[part], self.codes[part], self.costs[part]
        return multinomial_gradient(self.rows, wanted, codes, costs, W, b, self.shares[part], moves, own), own

    def _dense_span(self, span: tuple[int, int], W: FloatArray, b: FloatArray) -> tuple[float, FloatArray]:
        loss, own, transposed = 0.0, np.zeros(W.shape), np.ascontiguousarray(W.T)
        for part, X in self._dense_blocks(*span):
            moves = X @ transposed
            loss += softmax_rows(moves, b, self.codes[part], self.costs[part], self.shares[part])
            own += moves.T @ X
        return loss, own

    def _scores(self, W: FloatArray, b: FloatArray) -> FloatArray:
        """The scores of the wanted rows."""
        X = rows_as_matrix(self.rows, 0, self.n)
        found: FloatArray = np.asarray(X @ (W if self.sparse else W.T), np.float64) + b
        return found[self.wanted]

    def product(self, p: FloatArray) -> FloatArray:
        """The Hessian times p."""
        (W, b), out = self._split(p), self.penalty * p.reshape(self.shape)
        part_of_W, columns = (out[:-1] if self.sparse else out[:, :-1]), self.of_classes(out)

        def add(span: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
            return self._sparse_product(span, W, b) if self.sparse else self._dense_product(span, W, b)

        for own, own_b in in_order(add, self.spans, self.n_jobs):
            part_of_W += own
            columns[:, -1] += self.x0 * own_b
        return out.ravel()

    def _sparse_product(self, span: tuple[int, int], W: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        part, own, own_b = slice(*span), np.zeros(W.shape), np.zeros(self.k)
        assert isinstance(self.rows, CSR)
        wanted, costs, shares = self.wanted[part], self.costs[part], self.shares[part]
        multinomial_product(self.rows, wanted, costs, shares, W, b, np.empty(self.k), own, own_b)
        return own, own_b

    def _dense_product(self, span: tuple[int, int], W: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        own, own_b, transposed = np.zeros(W.shape), np.zeros(self.k), np.ascontiguousarray(W.T)
        for part, X in self._dense_blocks(*span):
            moves = X @ transposed
            bend_rows(moves, b, self.costs[part], self.shares[part], own_b)
            own += moves.T @ X
        return own, own_b

    def precondition(self) -> Solve:
        """A function that multiplies by the inverse of a matrix near the Hessian, or of its diagonal if there are many columns.

        The matrix has one block for all classes. With equal probabilities it is the Hessian, where weights sum to zero; later
        each class has its own mean curvature. Some of the rows show the products of columns well enough.
        """
        if not self.blocked:
            inverse = 1.0 / self.of_classes(self.diagonal()).ravel()
            return lambda right: right * inverse
        some = np.arange(0, len(self.wanted), self.matrix_step)
        H = self.mean_curvature(some, float(self.costs.sum()) / float(self.costs[some].sum()))
        return partial(self._solve, cholesky_factor(H))

    def diagonal(self) -> FloatArray:
        """The diagonal of the Hessian, classes x (features, 1)."""
        squares = self.of_classes(self.penalty).copy()
        for own, share in zip(squares, self.shares.T, strict=True):
            bends = self.costs * share * (1.0 - share)
            add_squares(self.rows, self.wanted, bends, own[:-1])
            own[-1] += self.x0**2 * float(bends.sum())
        return squares

    def mean_curvature(self, some: IntArray, factor: float) -> FloatArray:
        """The upper triangle of the mean block of the Hessian on its diagonal, if some rows cost `factor` times as much."""
        p, costs = self.shares[some], self.costs[some] * factor
        curvatures = p * (1.0 - p)
        blocks = Blocks(self.rows, self.wanted[some], np.ones(len(p)), self.x0, self.width)
        return self._curvature(blocks, costs * curvatures.sum(axis=1) / (self.k - 1), self.of_classes(self.penalty)[0])

    def _curvature(self, blocks: Blocks, bends: FloatArray, penalty: FloatArray) -> FloatArray:
        """The upper triangle of a block of the Hessian on the diagonal."""
        H = blocks.gram(bends, self.n_jobs)
        add_to_diagonal(H, penalty)
        return H

    def solution(self, v: FloatArray, value: float) -> Multinomial:
        """The weights, their multipliers and the bounds; `at(v)` was called last."""
        shares = self._balanced() if self.free else self.shares.copy()
        signed = self._signed(shares)
        gain, loss = shannon_entropy(shares, self.costs), 0.5 * self._length(signed, value)
        if 2.0 * loss > gain:  # shorter multipliers have a better bound, above 0
            share = 0.5 * gain / loss
            self.shorten(shares, share)
            signed *= share
            gain, loss = shannon_entropy(shares, self.costs), loss * share * share
        dual = gain - loss
        multipliers = np.zeros((self.n, self.k))
        multipliers[self.wanted] = signed
        return self.found(v, multipliers, value, dual)

    def shorten(self, shares: FloatArray, share: float) -> None:
        """Make the multipliers of these probabilities shorter by a factor, in place."""
        shares *= share
        shares[np.arange(len(shares)), self.codes] += 1.0 - share

    def _signed(self, shares: FloatArray) -> FloatArray:
        """The multipliers C_i ([m = l] - p_im) of the wanted rows."""
        signed: FloatArray = -self.costs[:, None] * shares
        signed[np.arange(len(signed)), self.codes] += self.costs
        return signed

    def _length(self, signed: FloatArray, value: float) -> float:
        """sum_m |sum_i a_im p_i|^2"""
        total = 0.0 if self.free else self.x0**2 * float(np.square(signed.sum(axis=0)).sum())
        lost = np.sqrt(len(signed)) * EPS * self.longest * float(abs(signed).sum())
        length = np.sqrt(value)  # of the weights, at most, up to a factor
        if lost * (length + lost) > MAX_LOST_SHARE * value:
            for own in np.ascontiguousarray(signed.T):
                w = sum_rows(self.rows, self.wanted, own, self.width, self.longest, 0.0)
                total += float(w @ w)
            return total
        return total + float(np.square(self.sums(signed)).sum())

    def sums(self, signed: FloatArray) -> FloatArray:
        """sum_i a_im x_i of every class, in the layout of the rows."""
        if self.sparse:
            X = rows_as_matrix(self.rows, 0, self.n)
            found: FloatArray = (X if len(self.wanted) == self.n else X[self.wanted]).T @ signed
            return found
        total = np.zeros((self.k, self.width))
        for part, block in self._dense_blocks(0, len(self.wanted)):
            np.add(total, signed[part].T @ block, out=total)
        return total

    def _balanced(self) -> FloatArray:
        """The probabilities, moved to the sums that a free intercept requires: those of the classes."""
        p, C = self.shares, self.costs
        shift = balancing_shift(C @ p, sums_curvature(p, C), self.totals)
        p = normalized(p, shift if least_factor(p, shift) > 0.0 else None)
        return mixed(p, *balancing_mixture(C @ p, self.totals))


def solve_multinomial(
    rows: Rows,
    codes: IntArray,
    k: int,
    costs: FloatArray,
    *,
    x0: float,
    free: bool,
    longest: float,
    limits: SolverLimits,
    start: Multinomial | None = None,
) -> Multinomial:
    """The solution; the gap is at most `limits.tol`, or as small as float64 allows."""
    loss = MultinomialLoss(rows, codes, k, costs, x0, free, limits.n_jobs, longest)
    v: FloatArray = np.zeros(loss.shape)
    if start is not None:
        loss.of_classes(v)[:] = np.column_stack([start.W, start.bias / (x0 or 1.0)])
    elif loss.blocked and (few := sample_of_classes(loss.wanted, loss.codes, loss.costs, loss.width, limits.seed)) is not None:
        places, shares = few
        sampled = np.zeros(len(codes))
        sampled[places] = shares
        sample = MultinomialLoss(rows, codes, k, sampled, x0, free, limits.n_jobs, longest)
        v = minimize(sample, v.ravel(), replace(limits, tol=JOINT_SAMPLE_TOL, progress=None))[1].reshape(loss.shape)
    found, _, steps, _ = minimize(loss, v.ravel(), limits)
    return replace(found, n_iter=steps)
