"""Least squares of sparse rows from a Gram matrix whose condition is bad: Cholesky decomposition and refinement.

Problem    min over W  |T - A W|^2 + ridge |W|^2; the W of least norm if there are several (A: `augmented_rows.py`).
Update     with fewer columns than rows: W += (A'A + ridge + delta)^-1 g, g = A'(T - A W) - ridge W. With fewer rows:
           W += A' (AA' + ridge + delta)^-1 (T - A W - ridge U), W = A'U; without a ridge W += A' (AA' + delta)^-2 A g, because
           the part of T that no W reaches would be divided by delta. delta is a small shift that makes the factor exist, or
           the error of a factor in float32.
Guarantee  the errors of directions with a singular value s shrink by about delta/(s^2 + ridge + delta) in each round, and
           directions outside the rows of A stay at zero, so that the limit is the minimum of least norm. Rounds end when the
           tolerance is reached and they no longer gain a digit.
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
# A factor in float32 takes half the time. Its error must be small beside the ridge, or rounds gain little.
EPS_FLOAT32 = float(np.finfo(np.float32).eps)
MAX_FLOAT32_ERROR = 0.1


@dataclass(frozen=True)
class Refined:
    """The weights, one column for each head, and the number of rounds."""

    W: FloatArray
    rounds: int


def refine(A: AugmentedRows, tol: float) -> Refined | None:
    """Solve at least to the tolerance; None if the rounds do not reach it."""
    by_rows = A.problem.n_rows <= A.problem.n_features
    shifts = SHIFTS if A.ridge else SHIFTS_WITHOUT_RIDGE
    attempts: list[tuple[float, type[np.floating]]] = [(shift, np.float64) for shift in shifts]
    if EPS_FLOAT32 * A.norm**2 <= MAX_FLOAT32_ERROR * A.ridge:
        attempts.insert(0, (0.0, np.float32))
    for shift, number in attempts:
        gram = A.products() if by_rows else A.squares()
        if not np.isfinite(gram.sum()):
            return None
        diagonal = np.einsum("ii->i", gram)
        diagonal += shift * EPS * float(diagonal.sum())
        del diagonal
        # Passed as its transpose, in Fortran's order, the matrix is overwritten by the factor.
        gram = (gram if gram.flags.f_contiguous else gram.T).astype(number, copy=False)
        factor, failed = (lapack.dpotrf if number is np.float64 else lapack.spotrf)(gram, lower=1, overwrite_a=1, clean=0)
        del gram
        if not failed:
            found = _rounds(A, factor, tol, by_rows)
            if found is not None:
                return found
    return None


def _rounds(A: AugmentedRows, factor: FloatArray, tol: float, by_rows: bool) -> Refined | None:
    T = A.right
    W, U = np.zeros((A.problem.n_features + 1, T.shape[1])), np.zeros_like(T)
    rounds, last, reached = 0, np.inf, None
    while True:
        left = T - A.times(W)
        gradient = A.transposed(left) - A.ridge * W
        worst = float(np.sqrt(np.square(gradient).sum(axis=0)).max())
        # Rounds go on while they gain a digit: they take little time, and small singular values need them.
        if rounds >= MAX_ROUNDS or not worst < (0.1 if reached else 0.9) * last:
            return reached
        if (A.excess(left, gradient, W, tol) <= 1.0).all():
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
    if factor.dtype == np.float64:
        found: FloatArray = lapack.dpotrs(factor, right, lower=1)[0]
        return found
    return np.asarray(lapack.spotrs(factor, right.astype(np.float32), lower=1)[0], dtype=np.float64)
