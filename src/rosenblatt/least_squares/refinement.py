"""Least squares of sparse rows from a Gram matrix whose condition is bad: Cholesky decomposition and refinement.

Problem    min over W  |T - A W|^2 + ridge |W|^2; the W of least norm if there are several (A: `augmented_rows.py`).
Update     with fewer columns than rows: W += (A'A + ridge + delta)^-1 g, g = A'(T - A W) - ridge W. With fewer rows:
           W += A' (AA' + ridge + delta)^-1 (T - A W - ridge U), W = A'U; without a ridge W += A' (AA' + delta)^-2 A g, because
           the part of T that no W reaches would be divided by delta. delta is a small shift that makes the factor exist.
Guarantee  the errors of directions with a singular value s shrink by about delta/(s^2 + ridge + delta) in each round, and
           directions outside the rows of A stay at zero, so that the limit is the minimum of least norm. Rounds end when the
           residual or its gradient is small enough, by the tests of LSMR; both are computed from the rows.
Reference  J. Riley, Mathematical Tables and Other Aids to Computation 9 (1955); iterated Tikhonov regularization: H. Engl,
           M. Hanke, A. Neubauer, Regularization of Inverse Problems (1996), ch. 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from ..array_types import FloatArray
from ..kernels.linear.rows import EPS
from .augmented_rows import AugmentedRows

MAX_ROUNDS = 60
# delta, in units of eps times the trace of the Gram matrix, in the order in which they are tried. Without a ridge, a larger
# delta leaves smaller errors outside the rows of A, and takes more rounds.
SHIFTS, SHIFTS_WITHOUT_RIDGE = (0.0, 16.0, 1024.0), (2.0**17, 2.0**10)


@dataclass(frozen=True)
class Refined:
    """The weights, one column for each head, and the number of rounds."""

    W: FloatArray
    rounds: int


def refine(A: AugmentedRows, tol: float) -> Refined | None:
    """Solve at least to the tolerance; None if the rounds do not reach it."""
    by_rows = A.problem.n_rows <= A.problem.n_features
    for shift in SHIFTS if A.ridge else SHIFTS_WITHOUT_RIDGE:
        gram = A.products() if by_rows else A.squares()
        if not np.isfinite(gram).all():
            return None
        diagonal = np.einsum("ii->i", gram)
        trace = float(diagonal.sum())
        size = np.sqrt(max(0.0, trace - A.ridge * len(diagonal)))  # the Frobenius norm of A
        diagonal += shift * EPS * trace
        # Passed as its transpose, in Fortran's order, the matrix is overwritten by the factor.
        factor, failed = lapack.dpotrf(gram if gram.flags.f_contiguous else gram.T, lower=1, overwrite_a=1, clean=0)
        del gram, diagonal
        if not failed:
            found = _rounds(A, factor, tol, size, by_rows)
            if found is not None:
                return found
    return None


def _rounds(A: AugmentedRows, factor: FloatArray, tol: float, size: float, by_rows: bool) -> Refined | None:
    T = A.right
    W, U = np.zeros((A.problem.n_features + 1, T.shape[1])), np.zeros_like(T)
    rounds, last, reached = 0, np.inf, None
    while True:
        left = T - A.times(W)
        gradient = A.transposed(left) - A.ridge * W
        # As LSMR: the residual of the system extended by the ridge.
        residual = np.sqrt(np.square(left).sum(axis=0) + A.ridge * np.square(W).sum(axis=0))
        slope = np.sqrt(np.square(gradient).sum(axis=0))
        small = residual <= tol * (np.linalg.norm(T, axis=0) + size * np.linalg.norm(W, axis=0))
        worst = float(slope.max())
        # Rounds go on while they gain a digit: they take little time, and small singular values need them.
        if rounds >= MAX_ROUNDS or not worst < (0.1 if reached else 0.9) * last:
            return reached
        if (small | (slope <= tol * (size + np.sqrt(A.ridge)) * residual)).all():
            reached = Refined(W.copy(), rounds)
        rounds, last = rounds + 1, worst
        if not by_rows:
            W += _solve(factor, gradient)
        elif A.ridge:
            step = _solve(factor, left - A.ridge * U)
            U += step
            W += A.transposed(step)
        else:
            W += A.transposed(_solve(factor, _solve(factor, A.times(gradient))))


def _solve(factor: FloatArray, right: FloatArray) -> FloatArray:
    found: FloatArray = lapack.dpotrs(factor, right, lower=1)[0]
    return found
