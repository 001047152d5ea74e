"""The rows of least squares as a matrix that is never built, and its products."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ..array_types import FloatArray
from ..data.problem import Problem, dense_array
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

ROWS_PER_BLOCK = 256  # of a Gram matrix that is centered in place


class AugmentedRows:
    """A = sqrt(c) (x_0, X) / unit, or with a ridge sqrt(c) (X - mean) / unit: the rows as a matrix that is never built."""

    def __init__(self, problem: Problem, ridge: float) -> None:
        self.problem, self.root = problem, np.broadcast_to(roots(problem), (problem.n_rows, 1))
        largest = max(largest_value(problem), problem.x0)
        self.unit = float(np.exp2(np.frexp(largest)[1] - 1)) if 0.0 < largest < np.inf else 1.0
        c = np.square(self.root)
        T, self.centered = targets(problem, 0, problem.n_rows), bool(ridge and problem.x0)
        self.x0 = 0.0 if self.centered else problem.x0 / self.unit
        self.direction = self.root[:, 0] / np.sqrt(c.sum())  # the unit vector of the row weights, which centering projects out
        self.middle = (c * T).sum(axis=0) / c.sum() if self.centered else np.zeros(T.shape[1])
        self.right = self.root * (T - self.middle)
        self.T, self.c, self.ridge = T, c, ridge / self.unit / self.unit

    def center(self, vectors: FloatArray) -> FloatArray:
        """Subtract the weighted mean."""
        return vectors - np.multiply.outer(self.direction, self.direction @ vectors) if self.centered else vectors

    def products(self) -> FloatArray:
        """AA' + ridge."""
        X, n = self.problem.matrix(), self.problem.n_rows
        K = np.zeros((n, n))
        if isinstance(self.problem.rows, CSR):
            for some, rows in row_blocks(self.problem):
                for others, more in row_blocks(self.problem):
                    K[some, others] = dense_array((rows / self.unit) @ (more.T / self.unit))
        else:
            wide = max(64, BLOCK_VALUES // n)
            for start in range(0, X.shape[1], wide):
                block = X[:, start : start + wide].astype(np.float64) / self.unit
                K += block @ block.T
        K += self.x0 * self.x0
        K *= self.root
        K *= self.root.T
        if self.centered:
            for matrix in (K, K.T):
                self._center_in_place(matrix)
        K = K.T
        np.einsum("ii->i", K)[:] += self.ridge
        return K

    def _center_in_place(self, matrix: FloatArray) -> None:
        means = self.direction @ matrix
        for start in range(0, len(matrix), ROWS_PER_BLOCK):
            some = slice(start, start + ROWS_PER_BLOCK)
            matrix[some] -= np.multiply.outer(self.direction[some], means)

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
        return self.center(self.root * (multiply(self.problem, V[1:] / self.unit) + self.x0 * V[0]))

    def transposed(self, U: FloatArray) -> FloatArray:
        """A' U."""
        scaled = self.root * self.center(U)
        return np.concatenate([self.x0 * scaled.sum(axis=0)[None], multiply_transposed(self.problem, scaled / self.unit)])

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
        errors = self.T - (multiply(self.problem, heads.T) + bias)
        return float((self.c * np.square(errors)).sum() / self.c.sum() / len(heads))
