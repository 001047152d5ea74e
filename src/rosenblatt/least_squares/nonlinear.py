"""The minimum of sum 1/2 (t - h(a))^2: Newton's method where columns are few, L-BFGS where they are many.

Problem    as in `rules/nonlinear_mse.py`. E is not convex: what is found is a point where the gradient vanishes, reached by
           steps that only go down, from w = 0 (or from the weights given).
Solved     "newton": Levenberg's damping on the whole second derivative, columns scaled by their largest value; a step that
           does not go down is taken back and damped more. "lbfgs": SciPy's L-BFGS-B on the same scale.
Guarantee  the largest partial derivative of E, on that scale and over the sum of the weights, is `tol` at most, or the stop
           says how far it is. The scale makes both blind to the units of the columns.
Reference  K. Levenberg, Quarterly of Applied Mathematics 2 (1944); R. Byrd, P. Lu, J. Nocedal and C. Zhu, SIAM J. Sci. Comput.
           16 (1995).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from ..data.problem import Problem, one_against_rest, some_rows
from ..kernels.linear.gradient import descend
from ..kernels.linear.moments import add_pairs
from ..kernels.linear.rows import CSR, Dense
from ..kernels.linear.schemes import Binary
from ..online.stopping import Stop
from ..parallel import in_order, one_blas_thread
from ..progress import told
from .moments import BLOCK, back, stretches

# Columns up to which the second derivative is made and solved with.
FEW = 400
# Newton's damping is at least this share of the gradient: under it, rounding decides where steps lead.
FLOOR = 0.001
# A row gave up where it is on the wrong side and its step is under this share of the longest that any margin gives.
GAVE_UP = 0.01


@dataclass(frozen=True)
class Minimum:
    heads: Any  # heads x features
    bias: Any  # weight 0 of each head
    stops: list[Stop]
    iterations: int


def heads_of_problem(problem: Problem) -> list[Problem]:
    """One binary problem for each head."""
    return [problem] if isinstance(problem.labels, Binary) else [one_against_rest(problem, h) for h in problem.labels.heads]


class Descent:
    """E/C of a binary problem as a function of the scaled weights v = (bias, w) * scale, C the sum of the row weights."""

    def __init__(self, problem: Problem, rule: Any, scale: Any) -> None:
        self.problem, self.rule, self.scale = problem, rule, scale
        self.margins = np.zeros(problem.n_rows)
        self.weight = problem.total_weight

    def __call__(self, v: Any) -> tuple[float, Any]:
        """(E/C, its gradient)."""
        problem = self.problem
        downhill, lift = np.zeros(problem.n_features), np.zeros(1)
        with np.errstate(all="ignore"):
            w = v / self.scale
            total = descend(problem.rows, problem.labels, self.rule, w[1:], w[:1], problem.x0, downhill, lift, self.margins)
            gradient = -np.concatenate([lift, downhill]) / self.scale / self.weight
        if not (np.isfinite(total) and np.isfinite(gradient).all()):
            raise NonlinearOutOfRangeError("a score or the gradient left the range of float64: scale the features")
        return total / self.weight, gradient

    def bend(self) -> Any:
        """The second derivative of E/C at the margins of the last call."""
        problem, d = self.problem, self.problem.n_features
        c = self._bends() / self.weight
        if problem.labels.weights.size:
            c = c * problem.labels.weights
        H, edge, units, x0 = np.zeros((d, d)), np.zeros(d), self.scale[1:], problem.x0 / self.scale[0]
        if isinstance(problem.rows, CSR):
            add_pairs(problem.rows, c, units, H)
            H = H + np.triu(H, 1).T
            edge = back(problem, c) / units
        else:
            rows = max(64, BLOCK // d)
            for start in range(0, problem.n_rows, rows):
                block = problem.matrix(start, start + rows) / units
                weighted = block * c[start : start + rows, None]
                H += weighted.T @ block
                edge += weighted.sum(axis=0)
        whole = np.empty((d + 1, d + 1))
        whole[1:, 1:], whole[0, 1:], whole[0, 0] = H, edge * x0, c.sum() * x0 * x0
        whole[1:, 0] = whole[0, 1:]
        return whole

    def _bends(self) -> Any:
        """The second derivative of 1/2 (1 - h(m))^2 at every margin: H D z'^2 s (1 - s)^2 (3 s - 1)."""
        z = self.rule.speed * self.margins
        q = np.exp(-abs(z))
        s, rest = np.where(z >= 0.0, 1.0, q) / (1.0 + q), np.where(z >= 0.0, q, 1.0) / (1.0 + q)
        return self.rule.height * self.rule.slope * self.rule.speed * s * rest * rest * (3.0 * s - 1.0)


class NonlinearOutOfRangeError(ValueError):
    """A score is not finite."""


def largest_of_columns(problem: Problem) -> Any:
    """The largest value of each augmented column, as a power of two; 1 where there is none."""
    d = problem.n_features
    largest = np.zeros(d)
    for _, X in stretches(problem):
        if isinstance(problem.rows, Dense):
            np.maximum(largest, np.maximum(X.max(axis=0), -X.min(axis=0)), out=largest)
        else:
            np.maximum.at(largest, X.indices, abs(X.data))
    largest = np.concatenate([[problem.x0], largest])
    return np.where(largest > 0.0, np.exp2(np.frexp(largest)[1] - 1.0), 1.0)


def total_sqnorm(problem: Problem) -> float:
    """sum_n c_n |p_n|^2, augmented rows; infinite where it overflows."""
    c, total = problem.labels.weights, problem.total_weight * problem.x0**2
    with np.errstate(over="ignore"):
        for some, X in stretches(problem):
            lengths = (X * X).sum(axis=1)
            total += float(c[some] @ lengths if c.size else lengths.sum())
    return total


def minimum(problem: Problem, rule: Any, tol: float, most: int, start: Any, start_bias: Any, n_jobs: int) -> Minimum:
    """Where the gradient vanishes, from `start` (heads x features); each head by itself."""
    scale = largest_of_columns(problem)
    parts = heads_of_problem(problem)
    few = problem.n_features <= FEW

    def solve(h: int) -> tuple[Any, Stop, int]:
        v = np.concatenate([start_bias[h : h + 1], start[h]]) * scale
        return (_newton if few else _lbfgs)(Descent(parts[h], rule, scale), v, tol, most)

    with one_blas_thread():
        found = list(in_order(solve, range(len(parts)), n_jobs))
    with np.errstate(over="ignore"):
        planes = np.array([v / scale for v, _, _ in found])
    if not np.isfinite(planes).all():
        raise NonlinearOutOfRangeError("the weights left the range of float64: scale the features")
    return Minimum(planes[:, 1:], planes[:, 0], [stop for _, stop, _ in found], max(steps for _, _, steps in found))


def _told(gradient: float, tol: float, steps: int, how: str) -> Stop:
    if gradient <= tol:
        return Stop("solved", f"{how} reached a gradient of {gradient:.2g}, under tol={tol:g}, in {steps} iterations.")
    return Stop("passes", f"{how} made {steps} iterations; the gradient is {gradient:.2g}, over tol={tol:g}.")


def _newton(descent: Descent, v: Any, tol: float, most: int) -> tuple[Any, Stop, int]:
    value, gradient = descent(v)
    damping, H, steps = 1e-3, None, 0
    while steps < most and abs(gradient).max() > tol:
        if H is None:
            H = descent.bend()
        steps += 1
        told(steps, float(abs(gradient).max()))
        move = _damped(H, gradient, damping)
        if move is not None:
            there, slope = descent(v + move)
            promised = -(gradient @ move + 0.5 * move @ (H @ move))
            kept = (value - there) / promised if promised > 0.0 else -1.0
            # At the last digits of E only the gradient tells whether a step was good.
            if kept > 1e-4 or (abs(value - there) <= 1e-14 * value and abs(slope).max() < abs(gradient).max()):
                v, value, gradient, H = v + move, there, slope, None
                # The floor keeps the matrix away from singular where rows are separable and the minimum is at infinity.
                damping = max(damping * (0.1 if kept > 0.75 else 1.0 if kept > 0.25 else 4.0), FLOOR * abs(gradient).max())
                continue
        damping *= 8.0
        if damping > 1e15:
            break
    return v, _told(float(abs(gradient).max()), tol, steps, "Newton's method"), steps


def _damped(H: Any, gradient: Any, damping: float) -> Any | None:
    """The step -(H + damping)^-1 gradient, or None where that matrix is not positive definite."""
    factor, info = lapack.dpotrf(H + damping * np.eye(len(H)), lower=1)
    return -lapack.dpotrs(factor, gradient, lower=1)[0] if info == 0 else None


def _lbfgs(descent: Descent, v: Any, tol: float, most: int) -> tuple[Any, Stop, int]:
    options = {"gtol": tol, "ftol": 0.0, "maxiter": most, "maxfun": 10 * most, "maxcor": 20}
    found = minimize(descent, v, jac=True, method="L-BFGS-B", options=options)
    return found.x, _told(float(abs(found.jac).max()), tol, int(found.nit), "L-BFGS"), int(found.nit)


def _parts(problem: Problem) -> Iterator[tuple[slice, Problem]]:
    """The rows as they are, or as many at a time as should be in memory."""
    size = problem.n_rows if problem.pages is None else problem.pages.consecutive
    for start in range(0, problem.n_rows, size):
        some, labels = slice(start, min(start + size, problem.n_rows)), problem.labels
        part = Binary(labels.signs[some], labels.weights[some])
        yield some, replace(problem, rows=some_rows(problem.rows, some.start, some.stop), labels=part, visited=None, pages=None)
        problem.give_back(some.start, some.stop)


def judged(problem: Problem, rule: Any, heads: Any, bias: Any, longest: float) -> tuple[float, float, Any]:
    """(E, largest relative partial derivative, rows that gave up) of some weights."""
    scale, total, steepest, quiet = largest_of_columns(problem), 0.0, 0.0, np.zeros(problem.n_rows, bool)
    for h, whole in enumerate(heads_of_problem(problem)):
        v, slope, weight = np.concatenate([bias[h : h + 1], heads[h]]) * scale, np.zeros(len(scale)), whole.total_weight
        for some, part in _parts(whole):
            descent = Descent(part, rule, scale)
            value, gradient = descent(v)
            total, slope = total + value * descent.weight, slope + gradient * (descent.weight / weight)
            z = rule.speed * descent.margins
            q = np.exp(-abs(z))
            tau = rule.height * rule.slope * q / (1.0 + q) ** 3  # where z < 0
            quiet[some] |= (z < 0.0) & (tau < GAVE_UP * longest)
        steepest = max(steepest, float(abs(slope).max()))
    if problem.labels.weights.size:
        quiet &= problem.labels.weights > 0.0
    return total, steepest, np.flatnonzero(quiet)
