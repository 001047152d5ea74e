"""The hard margin: by dual coordinate descent for many sparse rows, by the active set on the dual for few rows, else by the
nearest points of the convex hulls.

Problem    min 1/2 |w|^2  s.t.  y_i (<w, x_i> + b) >= 1; its dual is that of `problem.py` without upper bounds.
Update     as in `dual_coordinates.py` and `dual_active_set.py`. The active set of `nearest_points.py` adds rows one by one,
           which is too slow for thousands of support vectors. It is used nevertheless if the others end with a large gap, and
           to prove that rows are not separable.
Guarantee  the bounds of `nearest_points.py`: the margin of the plane on all rows, and the bound from convex weights.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np

from ..array_types import FloatArray
from ..data.problem import Problem, read_only, take_rows
from ..kernels.linear.rows import CSR, EPS
from ..kernels.linear.schemes import Binary
from ..online.stopping import Stop
from ..progress import Progress, ProgressCallback
from ..reporting.text import plural, short
from .dual_active_set import EXACT_GAP, ascend_from_zero, worth_trying
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
    elif (plane := hard_margin_by_active_set(problem, tol, max_iter=max_steps, progress=progress)) is not None:
        return plane, "active-set"
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
    svm = _without_slack(problem)
    run, passes = Descent(svm, 0), 0
    while passes < min(MAX_PASSES, max_iter) and time.monotonic() < deadline:
        more = min(max(MIN_GAP_INTERVAL, int(GAP_INTERVAL_SHARE * passes)), max_iter - passes)
        run.descend(more)
        passes += more
        plane = _plane_of(svm, run.dual.multipliers)
        if plane is None:
            return None, None
        if progress is not None:
            progress(plane.progress(passes, max_iter))
        if plane.lower <= 0.0 and passes > MIN_PASSES_TO_SEPARATE:
            break
        if plane.gap <= tol:
            return plane.result(passes), None
        run.order[: len(svm.visited)], run.kept = svm.visited, len(svm.visited)
        run.dual.bounds[:] = np.inf, -np.inf
    return None, run.dual.multipliers


def hard_margin_by_active_set(
    problem: Problem, tol: float, *, max_iter: int = MAX_ACTIVE_SET_STEPS, progress: ProgressCallback | None = None
) -> Nearest | None:
    """The plane of a small problem, by the active set on the dual; None if it takes long, as if the rows are not separable, or
    if rounding errors may be as large as EXACT_GAP."""
    if not worth_trying(problem.n_visited, problem.n_features):
        return None
    seen = problem.visited
    if seen is not None:
        labels = Binary(read_only(problem.signs[seen]), read_only(np.zeros(0)))
        problem = replace(problem, rows=take_rows(problem.rows, seen), labels=labels, visited=None)
    with np.errstate(all="ignore"):  # what overflows is left to the nearest points
        svm = _without_slack(problem)
        b, steps = ascend_from_zero(svm)
        plane = None if b is None or steps > max_iter else _plane_of(svm, abs(b))
        if plane is None or not plane.gap <= min(tol, EXACT_GAP):
            return None
        # The bounds are differences of numbers as large as the longest row times |w|.
        if not 4.0 * EPS * float(np.sqrt(svm.lengths().max())) <= EXACT_GAP * plane.lower:
            return None
        found = plane.result(steps)
        if not (np.isfinite(found.coef).all() and np.isfinite(found.multipliers).all()):
            return None
    if progress is not None:
        progress(plane.progress(steps, max_iter))
    return found if seen is None else replace(found, support=seen[found.support])


def _without_slack(problem: Problem) -> BinarySVM:
    free = problem.x0 != 0
    costs = np.zeros(problem.n_rows)
    costs[slice(None) if problem.visited is None else problem.visited] = np.inf
    return BinarySVM(problem.rows, problem.signs, costs, False, float(free), free)


@dataclass(frozen=True)
class _Plane:
    """The plane of some multipliers, and its bounds on the margin."""

    w: FloatArray
    b: float
    multipliers: FloatArray
    margins: FloatArray
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        return max(0.0, 1.0 - self.lower / self.upper)

    def progress(self, steps: int, max_iter: int) -> Progress:
        text = plural(int(np.count_nonzero(self.multipliers)), "support vector")
        return Progress(steps, max_iter=max_iter, gap=self.gap, text=text)

    def result(self, steps: int) -> Nearest:
        """The plane scaled so that its smallest margin is 1."""
        scale, support = 1.0 / float(self.margins.min()), np.flatnonzero(self.multipliers)
        done = f"solved after {plural(steps, 'iteration')}"
        sentence = f"{done}: no plane has a margin larger by more than {short(self.gap, 2)} of it"
        multipliers, canonical = self.multipliers[support] * scale, self.margins * scale
        stop = Stop("tolerance", sentence, gap=self.gap)
        return Nearest(
            self.w * scale, self.b * scale, support, multipliers, canonical, self.lower, self.gap, steps, steps, stop
        )  # fmt: skip


def _plane_of(svm: BinarySVM, multipliers: FloatArray) -> _Plane | None:
    """The plane of these multipliers; None if there is none, or if it is out of the range of floats."""
    a = svm.feasible(multipliers)
    w, total = svm.weights(a), float(a.sum())
    y, plain = svm.signs[svm.seen], svm.scores(w, 0.0)
    b = -0.5 * float(plain[y > 0].min() + plain[y < 0].max()) if svm.free else 0.0
    margins, length = y * (plain + b), float(np.linalg.norm(w))
    smallest = float(margins.min())
    if not (np.isfinite(total + smallest) and 0.0 < length < np.inf):
        return None
    return _Plane(w, b, a, margins, smallest / length, length / total)
