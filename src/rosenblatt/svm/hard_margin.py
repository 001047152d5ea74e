"""The widest margin of many sparse rows, by dual coordinates; of all others, by their nearest points.

Problem    min 1/2 |w|^2  s.t.  y_i (<w, x_i> + b) >= 1; its dual is that of `machine.py` with no upper limit on multipliers.
Update     as in `coordinates.py`. An active set (`nearest.py`) takes rows in one by one, which is too slow where thousands of
           them hold the plane. It is asked all the same where rows that no plane separates need a proof, or where passes end
           before the gap is small.
Guarantee  the two sides of `nearest.py`: what the plane has on all rows, and what convex weights leave possible.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from ..data.problem import Problem
from ..kernels.linear.rows import CSR
from ..online.stopping import Stop
from .dual_coordinates import BETWEEN, LEAST, Descent
from .exact_separation import twins
from .nearest_points import Nearest, nearest_points
from .not_separable import NotSeparable
from .problem import Effort, Machine, Solution
from .signed_rows import SignedRows

MANY = 1000  # rows and columns: with more of both, sparse ones go by coordinates
PASSES = 3000
MOST_STEPS = 100_000  # of an active set
JUST_OUTSIDE = 1.0 + 1e-12  # a plane scaled so that no row is inside the margin by a rounding error, which C would multiply
HOPELESS = 100  # passes after which there should be a plane that separates, if there is one

Answer = tuple[Solution, int, str]  # what was found, in how many steps, by whom


def widest_margin(problem: Problem, *, tol: float, positive: Any, about: str, **options: Any) -> tuple[Nearest, str]:
    """The nearest points and who found them; raises `NotSeparable`."""
    start = None
    if many_and_sparse(problem):
        rows = SignedRows(problem)
        if (found := twins(rows)) is not None:  # the commonest reason why no plane separates real texts
            raise NotSeparable(rows.index[found.places].tolist(), found.weights, positive, rows.free, about=about)
        plane, start = by_coordinates(problem, tol)
        if plane is not None:
            return plane, "dual-coordinates"
    return nearest_points(problem, tol=tol, start=start, positive=positive, about=about, **options), "active set"


def hard_margin(problem: Problem, effort: Effort, positive: Any, about: str) -> Answer:
    """The same as a `Solution`, whose gap is that of the objective: 1/(2 margin^2), and so about twice that of the margin."""
    steps = max(MOST_STEPS, effort.max_iter)
    found, solver = widest_margin(problem, tol=0.4 * effort.tol, positive=positive, about=about, max_steps=steps)
    multipliers, margins = np.zeros(problem.n_rows), np.full(problem.n_rows, np.nan)
    multipliers[found.support] = found.multipliers
    margins[slice(None) if problem.visited is None else problem.visited] = found.canonical
    primal = float(found.coef @ found.coef) / 2.0
    dual, costs = primal * (1.0 - found.gap) ** 2, np.broadcast_to(np.inf, len(margins))
    return Solution(found.coef, found.bias, multipliers, primal, dual, margins, costs), found.steps, solver


def unless_hard(problem: Problem, machine: Machine, effort: Effort, answer: Answer) -> Answer:
    """Where slack is so dear that a solver got stuck, the widest margin is the answer, if its multipliers are in range."""
    try:
        found, steps, solver = hard_margin(problem, effort, 1, "")
    except ValueError:  # no plane separates the rows, or floats do not hold it
        return answer
    if (found.multipliers > machine.costs).any():
        return answer
    hard = machine.solution(found.multipliers * JUST_OUTSIDE)
    return (hard, steps, solver) if hard.gap < answer[0].gap else answer


def many_and_sparse(problem: Problem) -> bool:
    return isinstance(problem.rows, CSR) and min(problem.n_features, problem.n_visited) > MANY


def by_coordinates(problem: Problem, tol: float, deadline: float = math.inf) -> tuple[Nearest | None, Any]:
    """The plane, if passes find it; and the multipliers they have found."""
    free = problem.x0 != 0
    costs = np.zeros(problem.n_rows)
    costs[slice(None) if problem.visited is None else problem.visited] = np.inf
    machine = Machine(problem.rows, problem.labels.signs, costs, False, float(free), free)
    run, passes = Descent(machine, 0), 0
    while passes < PASSES and time.monotonic() < deadline:
        more = max(LEAST, int(BETWEEN * passes))
        run.descend(more)
        passes += more
        a = machine.feasible(run.dual.multipliers)
        w, total = machine.weights(a), float(a.sum())
        y, plain = machine.signs[machine.visited], machine.scores(w, 0.0)
        b = -0.5 * float(plain[y > 0].min() + plain[y < 0].max()) if free else 0.0
        margins, length = y * (plain + b), float(np.linalg.norm(w))
        if not (np.isfinite(total) and length > 0.0):
            return None, None
        upper, lower = length / total, float(margins.min()) / length
        gap = max(0.0, 1.0 - lower / upper)
        if lower <= 0.0 and passes > HOPELESS:
            break
        if gap <= tol:
            scale, support = 1.0 / float(margins.min()), np.flatnonzero(a)
            stop = Stop("tolerance", f"after {passes} passes no plane can have a margin wider by more than {gap:.2g} of it.")
            multipliers, canonical = a[support] * scale, margins * scale
            return Nearest(w * scale, b * scale, support, multipliers, canonical, lower, gap, passes, passes, stop), None
        run.order[: len(machine.visited)], run.kept = machine.visited, len(machine.visited)
        run.dual.bounds[:] = np.inf, -np.inf
    return None, run.dual.multipliers
