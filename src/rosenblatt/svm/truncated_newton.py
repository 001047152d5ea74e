"""Newton's method for smooth convex objectives, with the steps computed by preconditioned conjugate gradients.

Update     H d = -g, H the Hessian at v and g the gradient;  v += t d, t = 1 unless the objective would not decrease enough.
           If the preconditioner is H itself, d is exact. A preconditioner from an earlier point, or from a sample of the rows,
           is kept as long as the products with H that it leaves to make take less time than a new one, and used in place of H
           as long as its steps leave little of the gradient.
Guarantee  the objective decreases with every step; near the minimum, the error of a step is the square of that before it.
Reference  R. Dembo, S. Eisenstat and T. Steihaug, SIAM J. Numer. Anal. 19 (1982); S. Nash, J. Comput. Appl. Math. 124 (2000).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

import numpy as np

from ..array_types import FloatArray
from ..kernels.linear.solver_steps import advance, redirect
from .limits import SolverLimits

Solve: TypeAlias = Callable[[FloatArray], FloatArray]

SUFFICIENT = 1e-3  # share of the expected decrease that a full step must reach
FORCING = 0.1  # a step leaves at most this share of the gradient
CHORD_SHARE = 0.25  # the preconditioner is used without products as long as the remainder falls to this share
SPARE = 0.1  # share of the tolerated gap that a step may leave
MAX_PRODUCTS = 400  # products with the Hessian in one step
ROUNDING_SHARE = 1e-15  # decreases below this share of the objective are rounding errors
MAX_SEARCH_TURNS, SEARCH_ACCURACY = 30, 0.01  # of a search along a line
MAX_LOST_STEPS = 3  # steps that decrease neither the objective nor the gap, within rounding errors, before the end
LESS = 0.9  # a gap has decreased if it is at most this share of the least one before


class Certified(Protocol):
    """What is known of a point: the relative gap."""

    @property
    def gap(self) -> float: ...


Found = TypeVar("Found", bound=Certified, covariant=True)


class Smooth(Protocol[Found]):
    """A smooth convex objective."""

    matrix_passes: float  # the work of `precondition`, in products
    has_matrix: bool  # whether the preconditioner is the inverse of the Hessian

    def at(self, v: FloatArray) -> tuple[float, FloatArray]:
        """The objective and the gradient at v, which the other methods use then."""

    def product(self, p: FloatArray) -> FloatArray:
        """The Hessian times p."""

    def precondition(self) -> Solve:
        """A function that multiplies by the inverse of the Hessian, or of something near it."""

    def line_search(self, v: FloatArray, direction: FloatArray) -> float:
        """The best step along a direction."""

    def gap_at(self, gradient: FloatArray) -> float:
        """An estimate of the gap."""

    def solution(self, v: FloatArray, value: float) -> Found:
        """The point with its proved gap."""


def minimize(
    function: Smooth[Found], v: FloatArray, limits: SolverLimits, solve: Solve | None = None
) -> tuple[Found, FloatArray, int, Solve | None]:
    """The solution, its point, the number of steps, and the last preconditioner."""
    value, gradient = function.at(v)
    best: Found | None = None
    steps = lost = products = 0
    size = np.inf  # of the gradient, squared, in the norm of the preconditioner
    while True:
        gap, done, enough = function.gap_at(gradient), steps >= limits.max_iter, limits.tol * value
        if done or lost or gap <= enough:
            found = function.solution(v, value)
            if best is None or found.gap < best.gap:
                lost = 0 if best is None or found.gap <= LESS * best.gap else lost
                best = found
            limits.report(steps, best.gap)
            if best.gap <= limits.tol or done or lost > MAX_LOST_STEPS:
                return best, v, steps, solve
        else:
            limits.report(steps, gap / value)
        fresh = solve is None or products > function.matrix_passes
        if fresh:
            solve, size = function.precondition(), np.inf
        assert solve is not None
        exact, products = function.has_matrix and not lost, 0
        if exact:
            direction = -solve(gradient)
            before, size = size, -float(gradient @ direction)
            exact = size <= CHORD_SHARE**2 * before
        if not exact:
            direction, products = conjugate_gradients(function.product, gradient, solve, SPARE * enough)
        decrease, last = -float(gradient @ direction), value
        v, value, gradient = move(function, v, value, direction, decrease)
        lost += not (decrease > ROUNDING_SHARE * last and value < last)
        steps += 1


def move(
    function: Smooth[Found], v: FloatArray, value: float, direction: FloatArray, decrease: float
) -> tuple[FloatArray, float, FloatArray]:
    """Make a full step, or one to the minimum on the line if that does not decrease the objective enough."""
    ahead = v + direction
    after, gradient = function.at(ahead)
    if not after <= value - SUFFICIENT * decrease + ROUNDING_SHARE * abs(value):
        ahead = ahead - function.line_search(ahead, -direction) * direction
        after, gradient = function.at(ahead)
    return ahead, after, gradient


def search_line(derivatives: Callable[[float], tuple[float, float]], linear: float, square: float) -> float:
    """The t > 0 where a loss plus `linear` t + `square` t^2/2 is least, by Newton's method inside a bracket.

    derivatives : returns the first two derivatives of the loss at t.
    """
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(MAX_SEARCH_TURNS):
        slope, curvature = derivatives(t)
        slope, curvature = slope + linear + t * square, curvature + square
        low, high = (t, high) if slope < 0.0 else (low, t)
        after = t - slope / curvature if curvature > 0.0 else np.inf
        if not low < after < high:
            after = 0.5 * (low + high) if high < np.inf else 2.0 * t
        if abs(after - t) <= SEARCH_ACCURACY * t:
            return float(after)
        t = after
    return float(low)


def conjugate_gradients(
    product: Callable[[FloatArray], FloatArray], gradient: FloatArray, solve: Solve, enough: float
) -> tuple[FloatArray, int]:
    """An approximate solution d of H d = -g, and the number of products made.

    It ends when the remainder r = -g - H d has |r|^2/2 <= `enough`, or at most the share FORCING of g in the norm of the
    preconditioner.
    """
    d, r = np.zeros_like(gradient), -gradient
    p = solve(r)
    size = float(r @ p)
    least = FORCING**2 * size
    for made in range(1, MAX_PRODUCTS + 1):
        Hp = product(p)
        curvature = float(p @ Hp)
        if not curvature > 0.0:
            return (d if made > 1 else p), made
        left = advance(size / curvature, p, Hp, d, r)
        z = solve(r)
        size, before = float(r @ z), size
        if size <= least or 0.5 * left <= enough:
            break
        redirect(size / before, z, p)
    return d, made
