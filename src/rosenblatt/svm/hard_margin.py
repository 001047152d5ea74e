"""The hard margin: by dual coordinate descent for many sparse rows, else by the nearest points of the convex hulls.

Problem    min 1/2 |w|^2  s.t.  y_i (<w, x_i> + b) >= 1; its dual is that of `problem.py` without upper bounds.
Update     as in `dual_coordinates.py`. The active set of `nearest_points.py` adds rows one by one, which is too slow for
           thousands of support vectors. It is used nevertheless if the passes end with a large gap, and to prove that rows
           are not separable.
Guarantee  the bounds of `nearest_points.py`: the margin of the plane on all rows, and the bound from convex weights.
"""

from __future__ import annotations

import math
import time

import numpy as np

from ..array_types import FloatArray
from ..data.problem import Problem
from ..kernels.linear.rows import CSR
from ..online.stopping import Stop
from ..progress import Progress, ProgressCallback
from ..reporting.text import plural, short
from .dual_coordinates import GAP_INTERVAL_SHARE, MIN_GAP_INTERVAL, Descent
from .exact_separation import decide_by_equal_rows
from .limits import SolverLimits
from .nearest_points import Nearest, nearest_points
from .not_separable import NotSeparable
from .problem import BinarySVM, Solution
from .signed_rows import SignedRows

MIN_SPARSE_SIZE = 1000  # sparse rows use dual coordinate descent if they have more rows and more columns than this
MAX_PASSES = 3000
MAX_ACTIVE_SET_STEPS = 100_000
# Scales a plane so that no row is inside the margin by a rounding error, which C would multiply.
ROUNDING_MARGIN = 1.0 + 1e-12
# If no plane separates the rows after this many passes, they are probably not separable.
MIN_PASSES_TO_SEPARATE = 100

Answer = tuple[Solution, int, str]  # the solution, the number of steps, and the name of the solver


def widest_margin(
    problem: Problem,
    *,
    tol: float,
    positive: object,
    about: str,
    max_steps: int = MAX_ACTIVE_SET_STEPS,
    progress: ProgressCallback | None = None,
) -> tuple[Nearest, str]:
    """The nearest points and the name of the solver; raises `NotSeparable`."""
    start = None
    if many_and_sparse(problem):
        rows = SignedRows(problem)
        if (found := decide_by_equal_rows(rows)) is not None:  # the most common cause in real texts
            raise NotSeparable(rows.index[found.places].tolist(), found.weights, positive, rows.free, about=about)
        plane, start = hard_margin_by_coordinates(problem, tol, max_iter=max_steps, progress=progress)
        if plane is not None:
            return plane, "dual-coordinates"
    nearest = nearest_points(
        problem, tol=tol, max_steps=max_steps, start=start, positive=positive, about=about, progress=progress
    )
    return nearest, "active-set"


def hard_margin(problem: Problem, limits: SolverLimits, positive: object, about: str) -> Answer:
    """The hard margin as a `Solution`. Its gap is that of the objective 1/(2 margin^2), about twice that of the margin."""
    steps = max(MAX_ACTIVE_SET_STEPS, limits.max_iter)
    found, solver = widest_margin(
        problem, tol=0.4 * limits.tol, positive=positive, about=about, max_steps=steps, progress=limits.progress
    )
    multipliers, margins = np.zeros(problem.n_rows), np.full(problem.n_rows, np.nan)
    multipliers[found.support] = found.multipliers
    margins[slice(None) if problem.visited is None else problem.visited] = found.canonical
    primal = float(found.coef @ found.coef) / 2.0
    dual, costs = primal * (1.0 - found.gap) ** 2, np.broadcast_to(np.inf, len(margins))
    return Solution(found.coef, found.bias, multipliers, primal, dual, margins, costs), found.steps, solver


def prefer_hard_margin(problem: Problem, svm: BinarySVM, limits: SolverLimits, answer: Answer) -> Answer:
    """The hard margin, if it has a smaller gap and its multipliers are within C; else `answer`, from a solver that stalled."""
    try:
        found, steps, solver = hard_margin(problem, limits, 1, "")
    except ValueError:  # the rows are not separable, or the plane is out of the range of floats
        return answer
    if (found.multipliers > svm.costs).any():
        return answer
    hard = svm.solution(found.multipliers * ROUNDING_MARGIN)
    return (hard, steps, solver) if hard.gap < answer[0].gap else answer


def many_and_sparse(problem: Problem) -> bool:
    """Whether there are many sparse rows, for dual coordinate descent."""
    return isinstance(problem.rows, CSR) and min(problem.n_features, problem.n_visited) > MIN_SPARSE_SIZE


def hard_margin_by_coordinates(
    problem: Problem,
    tol: float,
    deadline: float = math.inf,
    *,
    max_iter: int = MAX_ACTIVE_SET_STEPS,
    progress: ProgressCallback | None = None,
) -> tuple[Nearest | None, FloatArray | None]:
    """The plane, or None if the passes did not find it, and then the multipliers so far."""
    free = problem.x0 != 0
    costs = np.zeros(problem.n_rows)
    costs[slice(None) if problem.visited is None else problem.visited] = np.inf
    svm = BinarySVM(problem.rows, problem.signs, costs, False, float(free), free)
    run, passes = Descent(svm, 0), 0
    while passes < min(MAX_PASSES, max_iter) and time.monotonic() < deadline:
        more = min(max(MIN_GAP_INTERVAL, int(GAP_INTERVAL_SHARE * passes)), max_iter - passes)
        run.descend(more)
        passes += more
        a = svm.feasible(run.dual.multipliers)
        w, total = svm.weights(a), float(a.sum())
        y, plain = svm.signs[svm.visited], svm.scores(w, 0.0)
        b = -0.5 * float(plain[y > 0].min() + plain[y < 0].max()) if free else 0.0
        margins, length = y * (plain + b), float(np.linalg.norm(w))
        if not (np.isfinite(total) and length > 0.0):
            return None, None
        upper, lower = length / total, float(margins.min()) / length
        gap = max(0.0, 1.0 - lower / upper)
        if progress is not None:
            progress(Progress(passes, max_iter=max_iter, gap=gap, text=plural(int(np.count_nonzero(a)), "support vector")))
        if lower <= 0.0 and passes > MIN_PASSES_TO_SEPARATE:
            break
        if gap <= tol:
            scale, support = 1.0 / float(margins.min()), np.flatnonzero(a)
            done = f"solved after {plural(passes, 'iteration')}"
            sentence = f"{done}: no plane has a margin larger by more than {short(gap, 2)} of it"
            stop = Stop("tolerance", sentence, gap=gap)
            multipliers, canonical = a[support] * scale, margins * scale
            return Nearest(w * scale, b * scale, support, multipliers, canonical, lower, gap, passes, passes, stop), None
        run.order[: len(svm.visited)], run.kept = svm.visited, len(svm.visited)
        run.dual.bounds[:] = np.inf, -np.inf
    return None, run.dual.multipliers
