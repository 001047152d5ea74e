"""The rows of least squares as a matrix that is never built, and its products."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from ..array_types import FloatArray
from ..data.problem import Problem, dense_array
from ..kernels.linear.row_blocks import add_scaled_pairs
from ..kernels.linear.rows import CSR
from .moments import (
    BLOCK_VALUES,
    largest_value,
    multiply,
    multiply_transposed,
    roots,
    row_blocks,
    targets,
    upper,
)

MAX_PLAIN_UNIT = 1e90  # up to here, products with X do not overflow, and the copy of a divided matrix is avoided
ROWS_PER_BLOCK = 256  # of a Gram matrix that is centered in place


def inner(A: FloatArray, B: FloatArray) -> FloatArray:
    """The inner product of each column of A with that of B, without a copy."""
    found: FloatArray = np.einsum("ij,ij->j", A, B)
    return found


def unit_of(largest: float) -> float:
    """The unit of rows with this largest absolute value, a power of two."""
    return float(np.exp2(np.frexp(largest)[1] - 1)) if 0.0 < largest < np.inf else 1.0


def scaled_products(problem: Problem, V: FloatArray, unit: float, offset: FloatArray, root: FloatArray) -> FloatArray:
    """root (X V / unit + offset)."""
    if 1.0 / MAX_PLAIN_UNIT <= unit <= MAX_PLAIN_UNIT:
        products = multiply(problem, V)
        products /= unit
    else:
        products = multiply(problem, V / unit)
    products += offset
    products *= root
    return products


def squared_norm(problem: Problem, c: FloatArray, x0: float, unit: float) -> float:
    """sum_n c_n (x_0^2 + |x_n / unit|^2)."""
    total = x0 * x0 * float(c.sum())
    for some, rows in row_blocks(problem):
        scaled = rows / unit
        squares = (csr_array(scaled) if isinstance(problem.rows, CSR) else scaled) ** 2
        total += float(c[some, 0] @ squares.sum(axis=1))
    return total


def squared_errors(problem: Problem, T: FloatArray, c: FloatArray, heads: FloatArray, bias: FloatArray) -> FloatArray:
    """The sum of the squared errors over rows, by their weight, and heads."""
    errors = T - (multiply(problem, heads.T) + bias)
    total: FloatArray = (c * np.square(errors)).sum()
    return total


def excess(
    left: FloatArray, gradient: FloatArray, W: FloatArray, tol: float, right: FloatArray, norm: float, ridge: float
) -> FloatArray:
    """For each head, how far W is from the tolerance: at most 1 where it is reached.

    Either the residual or its gradient is small, relative to its size, as LSMR measures it; the residual is that of the
    system extended by the ridge.

    left, right : the squared lengths of T - A W and of T
    gradient : A'(T - A W) - ridge W
    norm : the Frobenius norm of A
    """
    squared_length = inner(W, W)
    residual = np.sqrt(left + ridge * squared_length)
    slope = np.sqrt(inner(gradient, gradient))
    size = np.sqrt(right) + norm * np.sqrt(squared_length)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_residual = residual / (tol * size)
        of_gradient = slope / (tol * (norm + np.sqrt(ridge)) * residual)
    return np.where(residual > 0.0, np.fmin(of_residual, of_gradient), 0.0)


class AugmentedRows:
    """A = sqrt(c) (x_0, X) / unit, or with a ridge sqrt(c) (X - mean) / unit: the rows as a matrix that is never built."""

    def __init__(self, problem: Problem, ridge: float) -> None:
        self.problem, self.root = problem, np.broadcast_to(roots(problem), (problem.n_rows, 1))
        self.unit = unit_of(max(largest_value(problem), problem.x0))
        c = np.square(self.root)
        T, self.centered = targets(problem, 0, problem.n_rows), bool(ridge and problem.x0)
        self.x0 = 0.0 if self.centered else problem.x0 / self.unit
        self.direction = self.root[:, 0] / np.sqrt(c.sum())  # the unit vector of the row weights, which centering projects out
        self.middle = (c * T).sum(axis=0) / c.sum() if self.centered else np.zeros(T.shape[1])
        self.right = self.root * (T - self.middle)
        self.T, self.c, self.ridge = T, c, ridge / self.unit / self.unit
        self.shape = problem.n_features + 1, T.shape[1]

    def center(self, vectors: FloatArray) -> FloatArray:
        """Subtract the weighted mean."""
        return vectors - np.multiply.outer(self.direction, self.direction @ vectors) if self.centered else vectors

    def products(self) -> FloatArray:
        """AA' + ridge."""
        X, n = self.problem.matrix(), self.problem.n_rows
        K = np.zeros((n, n))
        if isinstance(self.problem.rows, CSR):
            self._add_sparse_products(K)
        else:
            wide = max(64, BLOCK_VALUES // n)
            for start in range(0, X.shape[1], wide):
                block = X[:, start : start + wide].astype(np.float64) / self.unit
                K += block @ block.T
        if self.x0:
            K += self.x0 * self.x0
        if self.problem.labels.weights.size:
            K *= self.root
            K *= self.root.T
        if self.centered:
            self._center_in_place(K)
        np.einsum("ii->i", K)[:] += self.ridge
        return K

    def _add_sparse_products(self, K: FloatArray) -> None:
        """K += XX' / unit^2, from the pairs of nonzeros in each column."""
        X, (n, d) = self.problem.matrix(), (self.problem.n_rows, self.problem.n_features)
        wide = max(1, int(d * min(1.0, n / max(1.0, self.problem.density))))  # a transposed part has at most n^2 values
        for start in range(0, d, wide):
            part = X if wide >= d else X[:, start : start + wide]
            columns = csr_array(part.T, dtype=np.float64, copy=True)
            columns.sum_duplicates()
            columns.data /= self.unit
            add_scaled_pairs(CSR(columns.data, columns.indices, columns.indptr, n), np.zeros(0), np.zeros(0), K)
        for start in range(0, n, ROWS_PER_BLOCK):
            stop = min(start + ROWS_PER_BLOCK, n)
            K[start:stop, start:stop] += np.triu(K[start:stop, start:stop], 1).T
            K[stop:, start:stop] = K[start:stop, stop:].T

    def _center_in_place(self, K: FloatArray) -> None:
        """K = (1 - uu') K (1 - uu'), u the direction of the row weights."""
        u = self.direction
        means = u @ K
        means -= 0.5 * (u @ means) * u
        for start in range(0, len(K), ROWS_PER_BLOCK):
            some = slice(start, start + ROWS_PER_BLOCK)
            K[some] -= np.multiply.outer(u[some], means)
            K[some] -= np.multiply.outer(means[some], u)

    def squares(self) -> FloatArray:
        """A'A + ridge, for sparse rows."""
        d = self.problem.n_features
        S = np.zeros((d + 1, d + 1))
        for some, rows in row_blocks(self.problem):
            scaled = csr_array(rows).multiply(self.root[some]).tocsr() / self.unit
            S[1:, 1:] += dense_array(scaled.T @ scaled)
            S[0, 1:] += self.x0 * (self.root[some, 0] @ scaled)
        if self.centered:
            means = multiply_transposed(self.problem, self.root * self.direction[:, None])[:, 0] / self.unit
            for start in range(0, d, ROWS_PER_BLOCK):
                some = slice(start, min(start + ROWS_PER_BLOCK, d))
                S[1:, 1:][some] -= np.multiply.outer(means[some], means)
        S[0, 0] = self.x0 * self.x0 * float(self.c.sum())
        S[1:, 0] = S[0, 1:]
        np.einsum("ii->i", S)[:] += self.ridge
        return S

    def times(self, V: FloatArray) -> FloatArray:
        """A V."""
        return self.center(scaled_products(self.problem, V[1:], self.unit, self.x0 * V[0], self.root))

    def start(self) -> HeldResidual:
        """The residual of W = 0, for conjugate gradients."""
        return HeldResidual(self)

    def transposed(self, U: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """A' U, written to `out` if it is given."""
        scaled = self.root * self.center(U)
        W = np.empty((self.problem.n_features + 1, U.shape[1])) if out is None else out
        W[0] = self.x0 * scaled.sum(axis=0)
        W[1:] = multiply_transposed(self.problem, scaled / self.unit)
        return W

    def matrix(self) -> FloatArray:
        """A as an array, for small problems."""
        dense = dense_array(self.problem.matrix())
        return np.column_stack([self.x0 * self.root, self.center(dense.astype(np.float64) / self.unit * self.root)])

    def triangle(self) -> FloatArray:
        """R with R'R = AA' + ridge, from blocks of columns."""
        X, n = self.problem.matrix(), self.problem.n_rows
        R = np.concatenate([self.x0 * self.root.T, np.sqrt(self.ridge) * np.eye(n)[: n if self.ridge else 0]])
        wide = max(256, 4 * n)
        for start in range(0, X.shape[1], wide):
            dense = dense_array(X[:, start : start + wide])
            block = self.center(dense.astype(np.float64) / self.unit * self.root)
            R = upper(np.concatenate([R, block.T]))
        return R

    @cached_property
    def norm(self) -> float:
        """The Frobenius norm of A."""
        total = squared_norm(self.problem, self.c, self.x0, self.unit)
        if self.centered:
            means = multiply_transposed(self.problem, self.root * self.direction[:, None]) / self.unit
            total -= float(np.square(means).sum())
        return float(np.sqrt(max(0.0, total)))

    def excess(self, left: FloatArray, gradient: FloatArray, W: FloatArray, tol: float) -> FloatArray:
        """For each head, how far W is from the tolerance: at most 1 where it is reached.

        left : T - A W
        gradient : A'(T - A W) - ridge W
        """
        return excess(inner(left, left), gradient, W, tol, inner(self.right, self.right), self.norm, self.ridge)

    def weights(self, U: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(heads, bias) of W = A'U."""
        signed = self.root * self.center(U)
        W = multiply_transposed(self.problem, signed) / self.unit / self.unit
        return self.finished(W.T, self.x0 * signed.sum(axis=0) / self.unit)

    def finished(self, heads: FloatArray, w0: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(heads, intercepts)."""
        if not self.centered:
            return heads, w0 * self.problem.x0
        scores = (self.c * multiply(self.problem, heads.T)).sum(axis=0) / self.c.sum()
        return heads, self.middle - scores

    def mse(self, heads: FloatArray, bias: FloatArray) -> float:
        """The mean squared error over rows and heads."""
        return float(squared_errors(self.problem, self.T, self.c, heads, bias) / self.c.sum() / len(heads))


class HeldResidual:
    """T - A W as an array in memory, moved with W."""

    def __init__(self, A: AugmentedRows) -> None:
        self._A = A
        self._left: FloatArray = A.right.copy()
        self._products: FloatArray = np.zeros(0)

    def curvature(self, P: FloatArray) -> FloatArray:
        """|A P|^2 of each column of a direction P."""
        self._products = self._A.times(P)
        return inner(self._products, self._products)

    def advance(self, step: FloatArray) -> None:
        """Move W by a step for each head along the last direction."""
        self._left -= np.multiply(step, self._products, out=self._products)

    def gradient(self, W: FloatArray, out: FloatArray) -> None:
        """Write A'(T - A W) to `out`."""
        self._A.transposed(self._left, out=out)

    def excess(self, gradient: FloatArray, W: FloatArray, tol: float) -> FloatArray:
        """For each head, how far W is from the tolerance: at most 1 where it is reached."""
        return self._A.excess(self._left, gradient, W, tol)
