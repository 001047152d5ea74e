"""Least squares, by the way that the shape and the conditioning of the rows allow.

Problem    min sum_n c_n |t_n - W p_n|^2 + ridge |W|^2 with p = (x_0, x) and t = +1 for the row's own class, -1 for the others;
           the bias is not penalised. Where ridge = 0 leaves more than one minimum: the one of least norm, bias included,
           which is W' = pinv(P) T.
Solved     more rows than columns: from P'P by Cholesky ("normal"), where the estimated condition of P'P, columns scaled to
           length 1, is under 1/SAFE; else from the triangle of a blockwise QR decomposition, by back substitution ("qr") or,
           where it is singular to working precision, by its singular values ("svd").
           Fewer rows: from PP' by Cholesky ("rows"), where that is safe, else by the singular values of a QR decomposition
           of P' ("rows-svd").
           Sparse rows with many columns: by LSMR ("lsmr"), which starts from 0 and so tends to the least norm.
Guarantee  "normal" errs by about eps/SAFE = 2e-10 of W at most, "qr" by eps times the condition of P. A singular value counts
           as zero under eps max(n, d) times the largest, columns scaled to length 1.
Reference  A. Bjorck, Numerical Methods for Least Squares Problems (1996), ch. 2 and 3; rows: C. Paige, Math. Comp. 27 (1973);
           blockwise QR: J. Demmel, L. Grigori, M. Hoemmen, J. Langou, SIAM J. Sci. Comput. 34 (2012);
           D. Fong and M. Saunders, SIAM J. Sci. Comput. 33 (2011).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import lapack

from ..data.problem import Problem
from ..kernels.linear.rows import CSR
from ..online.stopping import Stop
from ..parallel import one_blas_thread
from .moments import far_means, squared, triangle, upper
from .solution import EPS, SAFE, Fitted, cholesky_solve
from .wide import by_lsmr, from_columns, from_products

# The smallest reciprocal condition of a triangle that is still solved by back substitution.
SAFE_TRIANGLE = 1e-11
# The largest side of a square matrix of squares that sparse rows are turned into, and of one whose singular values are found.
LARGE = 3000
HARD = 1500


class SquaresOutOfRangeError(ValueError):
    """The sums of the rows are not finite: X is too large, or never was finite."""


def least_squares(problem: Problem, ridge: float, tol: float) -> Fitted:
    n, d = problem.n_visited, problem.n_features
    side, sparse = min(n, d), isinstance(problem.rows, CSR)
    with one_blas_thread():
        found = None
        if not sparse or side <= LARGE:
            found = from_products(problem, ridge) if n <= d else _from_squares(problem, ridge)
        if found is None and sparse and side > HARD:
            found = by_lsmr(problem, ridge, tol)
        if found is None:
            found = from_columns(problem, ridge) if n <= d else from_triangle(triangle(problem), d, problem.x0, ridge, n)
    return checked(found)


def checked(found: Fitted) -> Fitted:
    if not (np.isfinite(found.heads).all() and np.isfinite(found.bias).all() and np.isfinite(found.mse)):
        raise SquaresOutOfRangeError(
            "the sums or the weights of the least squares left the range of float64: scale the features "
            "(for example with sklearn.preprocessing.MaxAbsScaler)"
        )
    return found


def _from_squares(problem: Problem, ridge: float) -> Fitted | None:
    """By Cholesky from the squared moments; None where that is not safe."""
    d, free = problem.n_features, bool(problem.x0)
    shift = far_means(problem) if free else np.zeros(d)
    total = squared(problem, shift)
    if not np.isfinite(total).all():
        if not np.isfinite(np.diag(total)[: d + 1]).all() and not _finite(problem):
            raise SquaresOutOfRangeError("X is not finite")
        return None
    gram, products, squares = total[: d + 1, : d + 1].copy(), total[: d + 1, d + 1 :], np.diag(total)[d + 1 :]
    gram[np.arange(1, d + 1), np.arange(1, d + 1)] += ridge
    lengths = np.diag(total)[: d + 1]
    used = np.flatnonzero(lengths > 0.0)
    if not free:
        used = used[used > 0]
    left_out = np.flatnonzero(lengths[1:] == 0.0)
    if not len(used) or (len(left_out) and not _all_zero(problem, left_out)):
        return None
    scale = 1.0 / np.sqrt(np.diag(gram)[used])
    solved = cholesky_solve(gram[np.ix_(used, used)] * scale * scale[:, None], products[used] * scale[:, None])
    if solved is None:
        return None
    W = np.zeros((d + 1, products.shape[1]))
    W[used] = solved * scale[:, None]
    errors = squares - 2.0 * (W * products).sum(axis=0) + (W * (total[: d + 1, : d + 1] @ W)).sum(axis=0)
    mse = max(0.0, float(errors.sum())) / total[0, 0] / products.shape[1]
    sentence = f"solved from the squared moments; their condition is under {1 / SAFE:.0e}."
    return Fitted(
        W[1:].T.copy(), W[0] - shift @ W[1:], mse, len(used), "normal", Stop("solved", sentence), total=total, shift=shift
    )


def _finite(problem: Problem) -> bool:
    values, stretch = problem.rows.values.reshape(-1), 1 << 20
    return all(np.isfinite(values[start : start + stretch]).all() for start in range(0, len(values), stretch))


def _all_zero(problem: Problem, columns: Any) -> bool:
    """Whether the columns hold nothing but zeros: the square of a small number may be zero, too."""
    return not any(abs(stretch[:, columns]).max() > 0.0 for stretch in _pieces(problem, 4096))


def _pieces(problem: Problem, rows: int) -> Iterator[Any]:
    for start in range(0, problem.n_rows, rows):
        yield problem.matrix(start, start + rows)
        problem.give_back(start, min(start + rows, problem.n_rows))


def from_triangle(R: Any, d: int, x0: float, ridge: float, n: int) -> Fitted:
    """From R with R'R = (1, X, T)'(1, X, T): back substitution, or the singular values where R is singular."""
    heads, bias, squares, rank, solver = solve_triangle(R, d, x0, ridge, n)
    weight = float(R[0, 0] ** 2)
    how = "by back substitution" if solver == "qr" else f"by its singular values, {rank} of which are not zero"
    stop = Stop("solved", f"solved from the triangle of a QR decomposition, {how}.")
    return Fitted(heads, bias, squares / weight / len(bias), rank, solver, stop, R=R)


def solve_triangle(R: Any, d: int, x0: float, ridge: float, n: int) -> tuple[Any, Any, float, int, str]:
    """(heads, bias, sum of squared errors, rank, how) of the least squares that R stands for."""
    with np.errstate(all="ignore"):
        largest = abs(R[:, : d + 1]).max(axis=0)
        used = np.flatnonzero(largest)
        used = used if x0 else used[used > 0]
        k, p = R.shape[1] - d - 1, len(used)
        penalty = np.where(used > 0, np.sqrt(ridge), 0.0)
        scale = np.exp2(np.frexp(np.maximum(largest[used], penalty))[1] - 1.0)  # a power of two: dependent columns stay so
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


def _solve_square(T: Any, right: Any, n: int) -> tuple[Any, int, str]:
    """T^+ right for a triangle with columns of length 1, its rank, and how."""
    p = len(T)
    rcond, info = lapack.dtrcon(T)
    if info == 0 and rcond >= SAFE_TRIANGLE:
        return lapack.dtrtrs(T, right)[0], p, "qr"
    U, s, Vt = np.linalg.svd(T)
    rank = int((s > EPS * max(n, p) * s[0]).sum())
    return Vt[:rank].T @ ((U[:, :rank].T @ right) / s[:rank, None]), rank, "svd"


def _shortest(T: Any, V: Any, rank: int, units: Any) -> Any:
    """Of all V + N Z, N the null space of T, the one whose columns in the units of the weights are shortest."""
    N = np.linalg.svd(T)[2][rank:].T
    units = units / units.max()
    Z = np.linalg.lstsq(N * units[:, None], -V * units[:, None], rcond=None)[0]
    return V + N @ Z
