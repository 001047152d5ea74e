"""The hinge loss by Newton's method on smoothed hinges.

Problem    min over v:  1/2 <v, P v> + sum_i C_i max(0, 1 - m_i), as in `objectives.py`.
Update     the hinge is replaced by a parabola over the slack from 0 to `width` and its tangent beyond; Newton's method goes to
           the minimum, and the width shrinks. Only the rows on the parabola have a curvature.
Guarantee  the multipliers of the smoothed loss are feasible for the hinge, so that they give its gap. At the minimum of the
           smoothed problem it is sum_i C_i s_i (1 - s_i/width) over the rows on the parabola, whose slack is s_i: it falls with
           the square of the width.
Reference  O. Chapelle, Training a support vector machine in the primal, Neural Computation 19 (2007).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..array_types import FloatArray
from ..kernels.linear.margin_losses import Slack
from ..svm.limits import SolverLimits
from ..svm.problem import Solution
from ..svm.truncated_newton import minimize
from .block_set import BlockSet
from .objectives import BlockObjective, Head, dual_terms

FIRST_WIDTH = 2.0  # at w = 0 every row is on the parabola
LEAST_SHRINKING, MOST_SHRINKING = 0.5, 0.05  # factors of the width from one smoothed problem to the next
MARGIN_OF_WIDTH = 0.7  # the next width is for a gap of half the tolerance: 0.7 squared
SPARE = 0.2  # share of the gap that the solution of a smoothed problem may leave
LEAST_WIDTH = 1e-9  # rounding errors decide about narrower parabolas


def solve_hinge(blocks: BlockSet, head: Head, v: FloatArray, limits: SolverLimits) -> tuple[Solution, int, BlockObjective]:
    """The best solution found, the number of Newton steps, and the objective at its point."""
    width, steps, target = FIRST_WIDTH, 0, 0.1
    best: tuple[Solution, BlockObjective] | None = None
    while True:
        objective = BlockObjective(blocks, head, Slack(width, width))
        inner = replace(limits, tol=target, max_iter=max(1, limits.max_iter - steps), progress=None)
        _, v, more, _ = minimize(objective, v, inner)
        steps += more
        found = hinge_solution(objective, v)
        if best is None or found.gap < best[0].gap:
            best = found, objective
        limits.report(steps, best[0].gap)
        if best[0].gap <= limits.tol or steps >= limits.max_iter or width <= LEAST_WIDTH:
            return best[0], steps, best[1]
        wanted = MARGIN_OF_WIDTH * np.sqrt(limits.tol / found.gap)
        width = max(LEAST_WIDTH, width * float(np.clip(wanted, MOST_SHRINKING, LEAST_SHRINKING)))
        target = SPARE * max(limits.tol, min(target, found.gap * (wanted * wanted)))


def hinge_solution(objective: BlockObjective, v: FloatArray) -> Solution:
    """The bounds of the hinge at v; `at(v)` was called last."""
    sums, total = objective.blocks.sum(
        dual_terms, objective.head, objective.loss, v, objective.factors(), size=objective.vector_bytes
    )
    value = float(sums[2]) + 0.5 * float(v @ (objective.penalty * v))
    return objective.bounded(v, value, float(sums[0]), total)
