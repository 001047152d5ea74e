"""Linear least squares; the shape and the conditioning of the rows choose the method.

Problem    min sum_n c_n |t_n - W p_n|^2 + ridge |W|^2 with p = (x_0, x) and t = +1 for the row's own class, -1 for the others;
           the bias is not penalized. If ridge = 0 leaves several minima: the one of least norm, including the bias,
           which is W' = pinv(P) T.
Solved     more rows than columns: from P'P by Cholesky ("normal"), if the estimated condition of P'P, columns scaled to
           length 1, is below 1/MIN_GRAM_RCOND; else from the triangle of a blockwise QR decomposition, by back substitution
           ("qr") or, if it is singular to working precision, by its singular values ("svd").
           Fewer rows: from PP' by Cholesky ("rows"), if its condition allows, else by the singular values of a QR
           decomposition of P' ("rows-svd").
           Sparse rows with many columns: by conjugate gradients ("cgls", see `conjugate_gradients.py`), or, if these converge
           slowly and AA' or A'A is not too large, from that, refined ("rows-refined", "refined", see `refinement.py`).
Guarantee  "normal" has an error of at most about eps/MIN_GRAM_RCOND = 2e-10 of W, "qr" of eps times the condition of P. A
           singular value counts as zero below eps max(n, d) times the largest, columns scaled to length 1.
Reference  A. Bjorck, Numerical Methods for Least Squares Problems (1996), ch. 2 and 3; rows: C. Paige, Math. Comp. 27 (1973);
           blockwise QR: J. Demmel, L. Grigori, M. Hoemmen, J. Langou, SIAM J. Sci. Comput. 34 (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from ..array_types import FloatArray, IntArray, Matrix
from ..data.problem import Problem
from ..kernels.linear.rows import CSR, EPS
from ..online.stopping import Stop
from ..parallel import one_blas_thread
from ..progress import ProgressCallback
from ..reporting.text import plural, short
from .augmented_rows import AugmentedRows
from .conjugate_gradients import ConjugateGradients, System
from .moments import far_means, n_heads, squared, triangle, upper
from .refinement import refine

# The smallest reciprocal condition of a Gram matrix that is solved by Cholesky.
MIN_GRAM_RCOND = 1e-6
# The smallest reciprocal condition of a triangle that is solved by back substitution.
MIN_TRIANGLE_RCOND = 1e-11
# The largest Gram matrix of sparse rows, and the largest one whose singular values are computed.
MAX_SPARSE_GRAM = 3000
MAX_SPARSE_SVD = 1500
MAX_REFINED_GRAM = 8000  # the largest Gram matrix of sparse rows that is refined, about 500 MB
# The time to multiply a nonzero twice in an iteration, in units of one multiplication of a Cholesky decomposition (measured).
ITERATION_COST = 72.0
MAX_COPIED_VALUES = 1 << 24  # the largest X that may be copied


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


class SquaresOutOfRangeError(ValueError):
    """The sums of the rows are not finite: X has values that are too large, infinite or NaN."""


def least_squares(
    problem: Problem, ridge: float, tol: float, max_iter: int, progress: ProgressCallback | None = None
) -> LeastSquaresSolution:
    """Solve by the method for the shape of the rows, and by a slower one if its conditioning is too bad.

    max_iter : the limit on the iterations of conjugate gradients.
    progress : called in each iteration of conjugate gradients.
    """
    n, d = problem.n_visited, problem.n_features
    side, sparse = min(n, d), isinstance(problem.rows, CSR)
    with one_blas_thread():
        found = None
        if not sparse or side <= MAX_SPARSE_GRAM:
            found = from_products(problem, ridge) if n <= d else _from_squares(problem, ridge)
        if found is None and sparse and side > MAX_SPARSE_SVD:
            found = _by_iterations(problem, ridge, tol, max_iter, progress)
        if found is None:
            found = from_columns(problem, ridge) if n <= d else from_triangle(triangle(problem), d, problem.x0, ridge, n)
    return checked(found)


def checked(solution: LeastSquaresSolution) -> LeastSquaresSolution:
    """Raise if the solution is not finite."""
    if not (np.isfinite(solution.heads).all() and np.isfinite(solution.bias).all() and np.isfinite(solution.mse)):
        raise SquaresOutOfRangeError(
            "the sums or the weights of least squares exceed the range of float64: scale the features "
            "(for example with sklearn.preprocessing.MaxAbsScaler)"
        )
    return solution


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


# --- more rows than columns ----------------------------------------------------------------------------------------------


def _from_squares(problem: Problem, ridge: float) -> LeastSquaresSolution | None:
    """Solve from the squared moments by Cholesky; None if their condition is too bad."""
    d, free = problem.n_features, bool(problem.x0)
    shift = far_means(problem) if free else np.zeros(d)
    total = squared(problem, shift)
    if not np.isfinite(np.diag(total)[: d + 1]).all() and not _finite(problem):
        raise SquaresOutOfRangeError("X is not finite")
    return from_squares(total, shift, free, ridge, lambda columns: all_zero(problem, columns))


def from_squares(
    total: FloatArray, shift: FloatArray, free: bool, ridge: float, all_zero: Callable[[IntArray], bool]
) -> LeastSquaresSolution | None:
    """Solve from the squared moments of X - shift by Cholesky; None if their condition is too bad.

    free : whether there is an intercept.
    all_zero : whether some columns hold only zeros, as their squares do, which may have underflowed.
    """
    d = len(shift)
    if not np.isfinite(total).all():
        return None
    gram, products, squares = total[: d + 1, : d + 1].copy(), total[: d + 1, d + 1 :], np.diag(total)[d + 1 :]
    gram[np.arange(1, d + 1), np.arange(1, d + 1)] += ridge
    lengths = np.diag(total)[: d + 1]
    used = np.flatnonzero(lengths > 0.0)
    if not free:
        used = used[used > 0]
    left_out = np.flatnonzero(lengths[1:] == 0.0)
    if not len(used) or (len(left_out) and not all_zero(left_out)):
        return None
    scale = 1.0 / np.sqrt(np.diag(gram)[used])
    solved = cholesky_solve(gram[np.ix_(used, used)] * scale * scale[:, None], products[used] * scale[:, None])
    if solved is None:
        return None
    W = np.zeros((d + 1, products.shape[1]))
    W[used] = solved * scale[:, None]
    errors = squares - 2.0 * (W * products).sum(axis=0) + (W * (total[: d + 1, : d + 1] @ W)).sum(axis=0)
    mse = max(0.0, float(errors.sum())) / total[0, 0] / products.shape[1]
    sentence = f"solved from the normal equations (condition below {short(1 / MIN_GRAM_RCOND, 1)})"
    return LeastSquaresSolution(
        W[1:].T.copy(), W[0] - shift @ W[1:], mse, len(used), "normal", Stop("solved", sentence), total=total, shift=shift
    )


def _finite(problem: Problem) -> bool:
    values, size = problem.rows.values.reshape(-1), 1 << 20
    return all(np.isfinite(values[start : start + size]).all() for start in range(0, len(values), size))


def all_zero(problem: Problem, columns: IntArray) -> bool:
    """Whether the columns hold only zeros; the squares of small numbers may be zero, too."""
    return not any(abs(block[:, columns]).max() > 0.0 for block in _blocks(problem, 4096))


def _blocks(problem: Problem, rows: int) -> Iterator[Matrix]:
    for start in range(0, problem.n_rows, rows):
        yield problem.matrix(start, start + rows)
        problem.release_pages(start, min(start + rows, problem.n_rows))


def from_triangle(R: FloatArray, d: int, x0: float, ridge: float, n: int) -> LeastSquaresSolution:
    """Solve from R with R'R = (1, X, T)'(1, X, T): by back substitution, or by singular values if R is singular."""
    heads, bias, squares, rank, solver = solve_triangle(R, d, x0, ridge, n)
    weight = float(R[0, 0] ** 2)
    how = "back substitution" if solver == "qr" else f"singular value decomposition (rank {rank})"
    stop = Stop("solved", f"solved by QR decomposition and {how}")
    return LeastSquaresSolution(heads, bias, squares / weight / len(bias), rank, solver, stop, R=R)


def solve_triangle(R: FloatArray, d: int, x0: float, ridge: float, n: int) -> tuple[FloatArray, FloatArray, float, int, str]:
    """(heads, bias, sum of squared errors, rank, solver) of the least squares with the moments R'R."""
    with np.errstate(all="ignore"):
        largest = abs(R[:, : d + 1]).max(axis=0)
        used = np.flatnonzero(largest)
        used = used if x0 else used[used > 0]
        k, p = R.shape[1] - d - 1, len(used)
        penalty = np.where(used > 0, np.sqrt(ridge), 0.0)
        scale = np.exp2(np.frexp(np.maximum(largest[used], penalty))[1] - 1.0)  # powers of two keep dependent columns dependent
        system = np.column_stack([R[:, used] / scale, R[:, d + 1 :]])
        if ridge:
            system = np.concatenate([system, np.column_stack([np.diag(penalty / scale), np.zeros((p, k))])])
    if not np.isfinite(system).all() or not p:
        return np.full((k, d), np.nan if p else 0.0), np.zeros(k), float(np.square(R[:, d + 1 :]).sum()), 0, "svd"
    S = upper(system)
    S = np.concatenate([S, np.zeros((max(0, p - len(S)), p + k))])
    T, right = S[:p, :p], S[:p, p:]
    lengths = np.sqrt(np.square(T).sum(axis=0))
    T = T / lengths
    V, rank, how = _solve_square(np.triu(T), right, n)
    with np.errstate(over="ignore", invalid="ignore"):
        if rank < p:
            V = _shortest(T, V, rank, np.where(used > 0, 1.0, 1.0 / (x0 or 1.0)) / lengths * (scale.min() / scale))
        W = np.zeros((d + 1, k))
        W[used] = V / lengths[:, None] / scale[:, None]
        errors = R[:, d + 1 :] - R[:, used] / scale @ (V / lengths[:, None])
    return W[1:].T.copy(), W[0], float(np.square(errors).sum()), rank, how


def _solve_square(T: FloatArray, right: FloatArray, n: int) -> tuple[FloatArray, int, str]:
    """T^+ right for a triangle with columns of length 1, its rank, and the solver."""
    p = len(T)
    rcond, info = lapack.dtrcon(T)
    if info == 0 and rcond >= MIN_TRIANGLE_RCOND:
        return lapack.dtrtrs(T, right)[0], p, "qr"
    U, s, Vt = np.linalg.svd(T)
    rank = int((s > EPS * max(n, p) * s[0]).sum())
    return Vt[:rank].T @ ((U[:, :rank].T @ right) / s[:rank, None]), rank, "svd"


def _shortest(T: FloatArray, V: FloatArray, rank: int, units: FloatArray) -> FloatArray:
    """The V + N Z, N the null space of T, whose columns are shortest in the units of the weights."""
    N = np.linalg.svd(T)[2][rank:].T
    units = units / units.max()
    Z = np.linalg.lstsq(N * units[:, None], -V * units[:, None], rcond=None)[0]
    found: FloatArray = V + N @ Z
    return found


# --- fewer rows than columns, or sparse rows -----------------------------------------------------------------------------


def _combined(A: AugmentedRows, U: FloatArray, rank: int, solver: str, how: str) -> LeastSquaresSolution:
    """The solution W = A'U; `how` completes the sentence of the stop."""
    heads, bias = A.weights(U)
    stop = Stop("solved", f"solved from the Gram matrix of the rows by {how}")
    return LeastSquaresSolution(heads, bias, A.mse(heads, bias), rank, solver, stop)


def from_products(problem: Problem, ridge: float) -> LeastSquaresSolution | None:
    """Solve from the Gram matrix of the rows by Cholesky; None if its condition is too bad."""
    with np.errstate(all="ignore"):
        A = AugmentedRows(problem, ridge)
        K = A.products()
        scale = 1.0 / np.sqrt(np.diag(K))
        if not np.isfinite(scale).all():
            return None
        U = cholesky_solve(K * scale * scale[:, None], A.right * scale[:, None])
        return None if U is None else _combined(A, U * scale[:, None], problem.n_rows, "rows", "Cholesky decomposition")


def from_columns(problem: Problem, ridge: float) -> LeastSquaresSolution:
    """Solve by singular values: of the rows if they may be copied, else of a QR decomposition of the transposed rows, which
    squares the condition number when the weights are computed."""
    with np.errstate(all="ignore"):
        A = AugmentedRows(problem, ridge)
        if problem.n_rows * (problem.n_features + 1) <= MAX_COPIED_VALUES:
            return _from_rows(A)
        R, U, rank = A.triangle(), np.full_like(A.right, np.nan), 0
        if np.isfinite(R).all():
            _, s, Vt = np.linalg.svd(R, full_matrices=False)
            rank = int((s > EPS * max(problem.n_features, len(s)) * s[0]).sum())
            V = Vt[:rank].T / s[:rank]
            U = V @ (V.T @ A.right)
        return _combined(A, U, rank, "rows-svd", f"singular value decomposition (rank {rank})")


def _from_rows(A: AugmentedRows) -> LeastSquaresSolution:
    values = A.matrix()
    if not np.isfinite(values).all():
        return _combined(A, np.full_like(A.right, np.nan), 0, "rows-svd", "singular value decomposition, which overflowed")
    left, s, right = np.linalg.svd(values, full_matrices=False)
    kept = s > EPS * max(values.shape) * s[0]
    filtered = np.where(kept, s / np.where(kept, np.square(s) + A.ridge, 1.0), 0.0)
    W = right.T @ (filtered[:, None] * (left.T @ A.right)) / A.unit
    heads, bias = A.finished(W[1:].T, W[0])
    rank = int(kept.sum())
    stop = Stop("solved", f"solved by singular value decomposition of the rows (rank {rank})")
    return LeastSquaresSolution(heads, bias, A.mse(heads, bias), rank, "rows-svd", stop)


def _by_iterations(
    problem: Problem, ridge: float, tol: float, max_iter: int, progress: ProgressCallback | None
) -> LeastSquaresSolution:
    """Solve by conjugate gradients, or by refinement if that is possible and they would take longer."""
    with np.errstate(all="ignore"):
        A, side = AugmentedRows(problem, ridge), min(problem.n_visited, problem.n_features)
        gradients = ConjugateGradients(A, tol)
        if side <= MAX_REFINED_GRAM:
            multiplied = problem.rows.values.size + problem.n_rows + problem.n_features
            worth = side**3 / 3.0 / (ITERATION_COST * multiplied * n_heads(problem))
            refined = None if gradients.run(max_iter, progress, worth) else refine(A, tol)
            if refined is not None:
                how = f"Cholesky decomposition and {plural(refined.rounds, 'refinement')}, with tol={short(tol, 6)}"
                solver = "rows-refined" if problem.n_rows <= problem.n_features else "refined"
                return _iterated(A, refined.W, solver, Stop("solved", f"solved by {how}"), refined.rounds)
        return run_to_end(A, gradients, tol, max_iter, progress)


def run_to_end(
    A: System, gradients: ConjugateGradients, tol: float, max_iter: int, progress: ProgressCallback | None
) -> LeastSquaresSolution:
    """Run conjugate gradients until the tolerance or the limit is reached."""
    if gradients.run(max_iter, progress):
        made = plural(gradients.iterations, "iteration")
        stop = Stop("solved", f"solved by conjugate gradients after {made}, with tol={short(tol, 6)}")
    else:
        limit = plural(max_iter, "iteration")
        sentence = f"stopped conjugate gradients after {limit} (the limit), before tol={short(tol, 6)}"
        stop = Stop("passes", sentence, limit=max_iter)
    return _iterated(A, gradients.W, "cgls", stop, gradients.iterations)


def _iterated(A: System, W: FloatArray, solver: str, stop: Stop, iterations: int) -> LeastSquaresSolution:
    heads, bias = A.finished(W[1:].T / A.unit, W[0] / A.unit)
    return LeastSquaresSolution(heads, bias, A.mse(heads, bias), None, solver, stop, iterations=iterations)
