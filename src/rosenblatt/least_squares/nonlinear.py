"""The minimum of sum 1/2 (t - h(a))^2: Newton's method for few columns, L-BFGS for many.

Problem    as in `online/rules/nonlinear_mse.py`. E is not convex: the solvers find a point where the gradient vanishes, by
           steps that decrease E, from w = 0 (or from given weights).
Solved     "newton": Levenberg's damping on the full second derivative, columns scaled by their largest value; a step that
           does not decrease E is undone and damped more. "lbfgs": SciPy's L-BFGS-B on the same scale.
Guarantee  the largest partial derivative of E, on that scale and divided by the sum of the weights, is at most `tol`, or the
           stop reports it. The scale makes both solvers independent of the units of the columns.
Reference  K. Levenberg, Quarterly of Applied Mathematics 2 (1944); R. Byrd, P. Lu, J. Nocedal and C. Zhu, SIAM J. Sci. Comput.
           16 (1995).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import Protocol

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from ..array_types import FloatArray, IntArray
from ..data.problem import Problem, one_against_rest, some_rows
from ..kernels.linear.row_blocks import add_scaled_pairs
from ..kernels.linear.rows import CSR
from ..kernels.linear.schemes import Binary, Rest
from ..kernels.linear.sweeps import loss_and_gradient
from ..online.rules.nonlinear_mse import NonlinearMSERule
from ..online.stopping import Stop
from ..parallel import in_order, one_blas_thread
from ..progress import Progress, ProgressCallback, problem_callback
from ..reporting.text import plural, short
from .moments import BLOCK_VALUES, multiply_transposed, row_blocks

# Up to this many columns the second derivative is computed, for Newton's method.
MAX_NEWTON_COLUMNS = 400
# The damping is at least this share of the gradient: with less, rounding errors determine the steps.
MIN_DAMPING = 0.001
# A misclassified row is saturated if its step is below this share of the longest step of any margin.
SATURATED_SHARE = 0.01


@dataclass(frozen=True)
class NonlinearSolution:
    """The weights of each head, and why each solver ended."""

    heads: FloatArray  # heads x features
    bias: FloatArray  # weight 0 of each head
    stops: list[Stop]
    iterations: int


def binary_problems(problem: Problem) -> list[Problem]:
    """The binary problem of each head."""
    if isinstance(problem.labels, Binary):
        return [problem]
    assert isinstance(problem.labels, Rest)
    return [one_against_rest(problem, h) for h in problem.labels.heads]


class Objective(Protocol):
    """E/C of a binary problem as a function of the scaled weights v."""

    @property
    def gradient(self) -> FloatArray:
        """The gradient of the last call."""

    def __call__(self, v: FloatArray) -> tuple[float, FloatArray]:
        """(E/C, its gradient)."""

    def second_derivative(self) -> FloatArray:
        """The second derivative of E/C at the v of the last call."""


class Descent:
    """E/C of a binary problem as a function of the scaled weights v = (bias, w) * scale, C the sum of the row weights."""

    def __init__(self, problem: Problem, rule: NonlinearMSERule, scale: FloatArray, weight: float | None = None) -> None:
        """C is `weight`, if these are some of the rows."""
        self.problem, self.rule, self.scale = problem, rule, scale
        self.margins = np.zeros(problem.n_rows)
        self.weight = problem.total_weight if weight is None else weight
        self.gradient = np.zeros(len(scale))  # of the last call

    def __call__(self, v: FloatArray) -> tuple[float, FloatArray]:
        """(E/C, its gradient)."""
        problem, labels = self.problem, self.problem.labels
        assert isinstance(labels, Binary)
        downhill, lift = np.zeros(problem.n_features), np.zeros(1)
        with np.errstate(all="ignore"):
            w = v / self.scale
            total = loss_and_gradient(problem.rows, labels, self.rule, w[1:], w[:1], problem.x0, downhill, lift, self.margins)
            gradient = -np.concatenate([lift, downhill]) / self.scale / self.weight
        if not (np.isfinite(total) and np.isfinite(gradient).all()):
            raise NonlinearOutOfRangeError("a score or the gradient exceeds the range of float64: scale the features")
        self.gradient = gradient
        return total / self.weight, gradient

    def second_derivative(self) -> FloatArray:
        """The second derivative of E/C at the v of the last call."""
        problem, d = self.problem, self.problem.n_features
        c = self._row_curvatures() / self.weight
        if problem.labels.weights.size:
            c = c * problem.labels.weights
        H, edge, units, x0 = np.zeros((d, d)), np.zeros(d), self.scale[1:], problem.x0 / self.scale[0]
        if isinstance(problem.rows, CSR):
            add_scaled_pairs(problem.rows, c, units, H)
            H = H + np.triu(H, 1).T
            edge = multiply_transposed(problem, c) / units
        else:
            rows = max(64, BLOCK_VALUES // d)
            for start in range(0, problem.n_rows, rows):
                block = problem.matrix(start, start + rows) / units
                weighted = block * c[start : start + rows, None]
                H += weighted.T @ block
                edge += weighted.sum(axis=0)
        full = np.empty((d + 1, d + 1))
        full[1:, 1:], full[0, 1:], full[0, 0] = H, edge * x0, c.sum() * x0 * x0
        full[1:, 0] = full[0, 1:]
        return full

    def _row_curvatures(self) -> FloatArray:
        """The second derivative of 1/2 (1 - h(m))^2 at every margin: H D z'^2 s (1 - s)^2 (3 s - 1)."""
        z = self.rule.speed * self.margins
        q = np.exp(-abs(z))
        s, rest = np.where(z >= 0.0, 1.0, q) / (1.0 + q), np.where(z >= 0.0, q, 1.0) / (1.0 + q)
        return self.rule.height * self.rule.slope * self.rule.speed * s * rest * rest * (3.0 * s - 1.0)


class NonlinearOutOfRangeError(ValueError):
    """A score is not finite."""


def largest_of_columns(problem: Problem) -> FloatArray:
    """The largest absolute value of each augmented column, as a power of two; 1 for a column of zeros."""
    return scale_of(column_maxima(problem))


def column_maxima(problem: Problem) -> FloatArray:
    """The largest absolute value of each augmented column."""
    d = problem.n_features
    largest = np.zeros(d)
    for _, X in row_blocks(problem):
        if isinstance(X, np.ndarray):
            np.maximum(largest, np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0)), out=largest)
        else:
            np.maximum.at(largest, X.indices, abs(X.data))
    return np.concatenate([[problem.x0], largest])


def scale_of(largest: FloatArray) -> FloatArray:
    """The scale of columns with these largest absolute values."""
    return np.where(largest > 0.0, np.exp2(np.frexp(largest)[1] - 1.0), 1.0)


def total_sqnorm(problem: Problem) -> float:
    """sum_n c_n |p_n|^2 over augmented rows; infinite if it overflows."""
    c, total = problem.labels.weights, problem.total_weight * problem.x0**2
    with np.errstate(over="ignore"):
        for some, X in row_blocks(problem):
            lengths = (X * X).sum(axis=1)
            total += float(c[some] @ lengths if c.size else lengths.sum())
    return total


def minimize_nonlinear(
    problem: Problem,
    rule: NonlinearMSERule,
    tol: float,
    max_iter: int,
    start: FloatArray,
    start_bias: FloatArray,
    n_jobs: int,
    progress: ProgressCallback | None = None,
) -> NonlinearSolution:
    """Minimize E from `start` (heads x features), each head separately."""
    scale = largest_of_columns(problem)
    parts = binary_problems(problem)
    return minimize_heads(lambda h: Descent(parts[h], rule, scale), scale, tol, max_iter, start, start_bias, n_jobs, progress)


def minimize_heads(
    objective: Callable[[int], Objective],
    scale: FloatArray,
    tol: float,
    max_iter: int,
    start: FloatArray,
    start_bias: FloatArray,
    n_jobs: int,
    progress: ProgressCallback | None,
) -> NonlinearSolution:
    """Minimize the objective of each head from `start` (heads x features)."""
    k, few = len(start), start.shape[1] <= MAX_NEWTON_COLUMNS

    def solve(h: int) -> tuple[FloatArray, Stop, int]:
        v = np.concatenate([start_bias[h : h + 1], start[h]]) * scale
        callback = problem_callback(progress, h, k)
        return (_newton if few else _lbfgs)(objective(h), v, tol, max_iter, callback)

    with one_blas_thread():
        found = list(in_order(solve, range(k), n_jobs))
    with np.errstate(over="ignore"):
        planes = np.array([v / scale for v, _, _ in found])
    if not np.isfinite(planes).all():
        raise NonlinearOutOfRangeError("the weights exceed the range of float64: scale the features")
    return NonlinearSolution(planes[:, 1:], planes[:, 0], [stop for _, stop, _ in found], max(steps for _, _, steps in found))


def _stop(gradient: float, tol: float, steps: int, method: str) -> Stop:
    done = f"{method} after {plural(steps, 'iteration')}"
    at, limit = short(gradient, 2), short(tol, 6)
    if gradient <= tol:
        return Stop("solved", f"solved by {done}: the gradient is {at}, at most tol={limit}", gap=gradient)
    return Stop("passes", f"stopped {done}: the gradient is {at}, above tol={limit}", limit=steps, gap=gradient)


def _newton(
    descent: Objective, v: FloatArray, tol: float, max_iter: int, progress: ProgressCallback | None
) -> tuple[FloatArray, Stop, int]:
    """(weights, stop, iterations) of Newton's method with Levenberg's damping."""
    value, gradient = descent(v)
    damping, H, steps = 1e-3, None, 0
    while steps < max_iter and abs(gradient).max() > tol:
        if H is None:
            H = descent.second_derivative()
        steps += 1
        if progress is not None:
            progress(Progress(steps, max_iter=max_iter, gap=float(abs(gradient).max()), measure="gradient"))
        move = _damped(H, gradient, damping)
        if move is not None:
            next_value, slope = descent(v + move)
            promised = -(gradient @ move + 0.5 * move @ (H @ move))
            kept = (value - next_value) / promised if promised > 0.0 else -1.0
            # At the last digits of E only the gradient shows whether a step was an improvement.
            if kept > 1e-4 or (abs(value - next_value) <= 1e-14 * value and abs(slope).max() < abs(gradient).max()):
                v, value, gradient, H = v + move, next_value, slope, None
                # The minimum keeps the matrix nonsingular if the rows are separable and E has its infimum at infinity.
                damping = max(
                    damping * (0.1 if kept > 0.75 else 1.0 if kept > 0.25 else 4.0), MIN_DAMPING * abs(gradient).max()
                )
                continue
        damping *= 8.0
        if damping > 1e15:
            break
    return v, _stop(float(abs(gradient).max()), tol, steps, "Newton's method"), steps


def _damped(H: FloatArray, gradient: FloatArray, damping: float) -> FloatArray | None:
    """The step -(H + damping)^-1 gradient; None if the matrix is not positive definite."""
    factor, info = lapack.dpotrf(H + damping * np.eye(len(H)), lower=1)
    return -lapack.dpotrs(factor, gradient, lower=1)[0] if info == 0 else None


def _lbfgs(
    descent: Objective, v: FloatArray, tol: float, max_iter: int, progress: ProgressCallback | None
) -> tuple[FloatArray, Stop, int]:
    """(weights, stop, iterations) of L-BFGS."""
    iterations = count(1)

    def report(_: FloatArray) -> None:
        if progress is not None:
            progress(Progress(next(iterations), max_iter=max_iter, gap=float(abs(descent.gradient).max()), measure="gradient"))

    options = {"gtol": tol, "ftol": 0.0, "maxiter": max_iter, "maxfun": 10 * max_iter, "maxcor": 20}
    found = minimize(descent, v, jac=True, method="L-BFGS-B", options=options, callback=report)
    return found.x, _stop(float(abs(found.jac).max()), tol, int(found.nit), "L-BFGS"), int(found.nit)


def _parts(problem: Problem) -> Iterator[tuple[slice, Problem]]:
    """The problem on all rows, or on as many rows as fit into memory."""
    size = problem.n_rows if problem.pages is None else problem.pages.consecutive
    for start in range(0, problem.n_rows, size or 1):
        some, labels = slice(start, min(start + size, problem.n_rows)), problem.labels
        part = Binary(problem.signs[some], labels.weights[some])
        yield some, replace(problem, rows=some_rows(problem.rows, some.start, some.stop), labels=part, visited=None, pages=None)
        problem.release_pages(some.start, some.stop)


def evaluate(
    problem: Problem, rule: NonlinearMSERule, heads: FloatArray, bias: FloatArray, longest: float
) -> tuple[float, float, IntArray]:
    """(E, largest relative partial derivative, saturated rows) of some weights."""
    scale = largest_of_columns(problem)
    total, slopes, quiet = measure(problem, rule, heads, bias, longest, scale, problem.total_weight)
    return total, float(abs(slopes).max()), quiet


def measure(
    problem: Problem,
    rule: NonlinearMSERule,
    heads: FloatArray,
    bias: FloatArray,
    longest: float,
    scale: FloatArray,
    weight: float,
) -> tuple[float, FloatArray, IntArray]:
    """(E, its gradient over `weight` for each head, saturated rows) of some weights."""
    total, slopes, quiet = 0.0, np.zeros((len(heads), len(scale))), np.zeros(problem.n_rows, bool)
    for h, binary in enumerate(binary_problems(problem)):
        v = np.concatenate([bias[h : h + 1], heads[h]]) * scale
        for some, part in _parts(binary):
            descent = Descent(part, rule, scale, weight)
            value, gradient = descent(v)
            total += value * weight
            slopes[h] += gradient
            z = rule.speed * descent.margins
            q = np.exp(-abs(z))
            tau = rule.height * rule.slope * q / (1.0 + q) ** 3  # where z < 0
            quiet[some] |= (z < 0.0) & (tau < SATURATED_SHARE * longest)
    if problem.labels.weights.size:
        quiet &= problem.labels.weights > 0.0
    return total, slopes, np.flatnonzero(quiet)
