"""Least squares with fewer rows than columns: from the Gram matrix of the rows, or by iteration (see `linear.py`)."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from ..array_types import FloatArray
from ..data.problem import Problem
from ..kernels.linear.rows import CSR
from ..online.stopping import Stop
from ..reporting.text import plural
from .moments import BLOCK_VALUES, largest_value, multiply, multiply_transposed, n_heads, roots, row_blocks, targets, upper
from .solution import EPS, LeastSquaresSolution, cholesky_solve

MAX_ITERATIONS = 1000  # iterations of LSMR for each head
MAX_COPIED_VALUES = 1 << 24  # the largest X that may be copied


class _Rows:
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
                    K[some, others] = ((rows / self.unit) @ (more.T / self.unit)).toarray()
        else:
            wide = max(64, BLOCK_VALUES // n)
            for start in range(0, X.shape[1], wide):
                block = X[:, start : start + wide].astype(np.float64) / self.unit
                K += block @ block.T
        K = (K + self.x0 * self.x0) * self.root * self.root.T
        return self.center(self.center(K).T) + self.ridge * np.eye(n)

    def matrix(self) -> FloatArray:
        """A as an array, for small problems."""
        X = self.problem.matrix()
        dense = X.toarray() if isinstance(self.problem.rows, CSR) else X
        return np.column_stack([self.x0 * self.root, self.center(dense.astype(np.float64) / self.unit * self.root)])

    def triangle(self) -> FloatArray:
        """R with R'R = AA' + ridge, from blocks of columns."""
        X, n = self.problem.matrix(), self.problem.n_rows
        R = np.concatenate([self.x0 * self.root.T, np.sqrt(self.ridge) * np.eye(n)[: n if self.ridge else 0]])
        wide = max(256, 4 * n)
        for start in range(0, X.shape[1], wide):
            some = X[:, start : start + wide]
            dense = some.toarray() if isinstance(self.problem.rows, CSR) else some
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

    def solution(self, U: FloatArray, rank: int, solver: str, how: str) -> LeastSquaresSolution:
        """The solution W = A'U; `how` completes the sentence of the stop."""
        heads, bias = self.weights(U)
        stop = Stop("solved", f"solved from the Gram matrix of the rows by {how}")
        return LeastSquaresSolution(heads, bias, self.mse(heads, bias), rank, solver, stop)

    def mse(self, heads: FloatArray, bias: FloatArray) -> float:
        """The mean squared error over rows and heads."""
        errors = self.T - (multiply(self.problem, heads.T) + bias)
        return float((self.c * np.square(errors)).sum() / self.c.sum() / len(heads))


def from_products(problem: Problem, ridge: float) -> LeastSquaresSolution | None:
    """Solve from the Gram matrix of the rows by Cholesky; None if its condition is too bad."""
    with np.errstate(all="ignore"):
        A = _Rows(problem, ridge)
        K = A.products()
        scale = 1.0 / np.sqrt(np.diag(K))
        if not np.isfinite(scale).all():
            return None
        U = cholesky_solve(K * scale * scale[:, None], A.right * scale[:, None])
        return None if U is None else A.solution(U * scale[:, None], problem.n_rows, "rows", "Cholesky decomposition")


def from_columns(problem: Problem, ridge: float) -> LeastSquaresSolution:
    """Solve by singular values: of the rows if they may be copied, else of a QR decomposition of the transposed rows, which
    squares the condition number when the weights are computed."""
    with np.errstate(all="ignore"):
        A = _Rows(problem, ridge)
        if problem.n_rows * (problem.n_features + 1) <= MAX_COPIED_VALUES:
            return _from_rows(A)
        R, U, rank = A.triangle(), np.full_like(A.right, np.nan), 0
        if np.isfinite(R).all():
            _, s, Vt = np.linalg.svd(R, full_matrices=False)
            rank = int((s > EPS * max(problem.n_features, len(s)) * s[0]).sum())
            V = Vt[:rank].T / s[:rank]
            U = V @ (V.T @ A.right)
        return A.solution(U, rank, "rows-svd", f"singular value decomposition (rank {rank})")


def _from_rows(A: _Rows) -> LeastSquaresSolution:
    values = A.matrix()
    if not np.isfinite(values).all():
        return A.solution(np.full_like(A.right, np.nan), 0, "rows-svd", "singular value decomposition, which overflowed")
    left, s, right = np.linalg.svd(values, full_matrices=False)
    kept = s > EPS * max(values.shape) * s[0]
    filtered = np.where(kept, s / np.where(kept, np.square(s) + A.ridge, 1.0), 0.0)
    W = right.T @ (filtered[:, None] * (left.T @ A.right)) / A.unit
    heads, bias = A.finished(W[1:].T, W[0])
    rank = int(kept.sum())
    stop = Stop("solved", f"solved by singular value decomposition of the rows (rank {rank})")
    return LeastSquaresSolution(heads, bias, A.mse(heads, bias), rank, "rows-svd", stop)


def by_lsmr(problem: Problem, ridge: float, tol: float) -> LeastSquaresSolution:
    """Solve by LSMR, each head separately."""
    with np.errstate(all="ignore"):
        A, n, d = _Rows(problem, ridge), problem.n_rows, problem.n_features
        root = A.root[:, 0]

        def times(v: FloatArray) -> FloatArray:
            return A.center(root * (multiply(problem, v[1:] / A.unit) + A.x0 * v[0]))

        def transposed(u: FloatArray) -> FloatArray:
            scaled = root * A.center(u)
            return np.concatenate([[A.x0 * scaled.sum()], multiply_transposed(problem, scaled / A.unit)])

        operator = LinearOperator((n, d + 1), matvec=times, rmatvec=transposed, dtype=np.float64)
        W, most, done = np.zeros((n_heads(problem), d + 1)), 0, True
        for h in range(len(W)):
            W[h], why, steps = lsmr(
                operator, A.right[:, h], damp=np.sqrt(A.ridge), atol=tol, btol=tol, conlim=0.0, maxiter=MAX_ITERATIONS
            )[:3]
            most, done = max(most, int(steps)), done and why != 7
        heads, bias = A.finished(W[:, 1:] / A.unit, W[:, 0] / A.unit)
        if done:
            stop = Stop("solved", f"solved by LSMR after {plural(most, 'iteration')}, with tol={tol:g}")
        else:
            sentence = f"stopped LSMR after {plural(MAX_ITERATIONS, 'iteration')} (the limit), before tol={tol:g}"
            stop = Stop("passes", sentence, limit=MAX_ITERATIONS)
        return LeastSquaresSolution(heads, bias, A.mse(heads, bias), None, "lsmr", stop, iterations=most)
