"""The solution of a least-squares problem, and the Cholesky solve that all methods try first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from ..array_types import FloatArray
from ..online.stopping import Stop

EPS = float(np.finfo(np.float64).eps)
# The smallest reciprocal condition of a Gram matrix that is solved by Cholesky.
MIN_GRAM_RCOND = 1e-6


@dataclass(frozen=True)
class LeastSquaresSolution:
    """The weights of least squares, and the moments they were computed from."""

    heads: FloatArray  # heads x features
    bias: FloatArray  # the intercept of each head
    mse: float  # mean over rows (by their weight) and heads
    rank: int | None  # None: not computed
    solver: str
    stop: Stop
    total: FloatArray | None = None  # the squared moments of X - shift, if computed
    shift: FloatArray | None = None
    R: FloatArray | None = None  # the triangle of the moments, if computed
    iterations: int = 1  # of the iterative solver; direct solvers have one


def cholesky_solve(gram: FloatArray, right: FloatArray) -> FloatArray | None:
    """gram^-1 right, for a gram of diagonal 1; None if its estimated reciprocal condition is below MIN_GRAM_RCOND."""
    if not (np.isfinite(gram).all() and np.isfinite(right).all()):
        return None
    factor, info = lapack.dpotrf(gram, lower=1)
    if info != 0:
        return None
    rcond, info = lapack.dpocon(factor, float(abs(gram).sum(axis=0).max()), uplo="L")
    if not rcond >= MIN_GRAM_RCOND:
        return None
    found: FloatArray = lapack.dpotrs(factor, right, lower=1)[0]
    return found
