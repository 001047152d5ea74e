"""Soft margin with the hinge loss and few rows: an active-set method on the products of rows.

Problem    the dual of `problem.py`; its steps are in `kernels/linear/dual_active_set.py`.
Update     from zero, until the optimality conditions hold to rounding. Only products with rows that move are computed. On few
           rows that takes less time than the first step of an interior point. If classes overlap, the steps grow with the
           number of rows inside the margin: a limit of work, a share of what the interior point would need, ends the method.
Guarantee  the solution is used only if its gap, on all rows, is that of the optimum up to rounding errors.
"""

from __future__ import annotations

import numpy as np

from ..array_types import FloatArray
from ..kernels.linear.dual_active_set import STEPS, Ascent, ascend
from ..kernels.linear.rows import CSR
from .problem import BinarySVM, Solution

# Rows up to which the method is tried: so many, or so many per column, but never so many that a sample is drawn.
MAX_ROWS, MAX_ROWS_PER_COLUMN, MAX_ROWS_AT_ALL = 500, 30, 4000
MAX_PRODUCTS = 1 << 22  # numbers in memory
# Work of an interior point, measured in the products of `ascend`: in all, for each row, and for each row and pair of columns.
INTERIOR_POINT_WORK, WORK_PER_ROW, WORK_PER_PAIR_OF_COLUMNS = 4e6, 6e3, 10.0
SHARE_OF_WORK = 0.5
VIOLATION = 1e-9  # of the optimality conditions, relative to the width of the margin
EXACT_GAP = 1e-10  # a larger gap shows that rounding errors have ended the method


def worth_trying(n: int, width: int) -> bool:
    """Whether n rows of this width are so few that the method is tried."""
    return width <= n and (n <= MAX_ROWS or n <= min(MAX_ROWS_PER_COLUMN * width, MAX_ROWS_AT_ALL))


def dual_active_set(svm: BinarySVM, tol: float = np.inf) -> tuple[Solution, int] | None:
    """The solution and the number of steps; None if its gap is above `tol`, or the method takes too long."""
    b, steps = ascend_from_zero(svm)
    if b is None:
        return None
    found = svm.solution(abs(b))
    return (found, steps) if found.gap <= min(tol, EXACT_GAP) else None


def ascend_from_zero(svm: BinarySVM) -> tuple[FloatArray | None, int]:
    """The multipliers with the signs of their rows, or None if the method takes too long, and the number of steps."""
    n, width = len(svm.signs), svm.width
    x0 = 0.0 if svm.free else svm.x0
    diagonal = svm.lengths()
    diagonal += x0 * x0
    per_row = svm.rows.values.size / n if isinstance(svm.rows, CSR) else width
    work = INTERIOR_POINT_WORK + n * (WORK_PER_ROW + WORK_PER_PAIR_OF_COLUMNS * per_row * per_row)
    y, C = svm.signs.astype(np.float64), svm.costs
    positive, most = y > 0.0, min(n, width + 16)
    numbers = np.empty((most + 2, most))
    at = Ascent(
        low=np.where(positive, 0.0, -C),
        high=np.where(positive, C, 0.0),
        b=np.zeros(n),
        s=y,
        diagonal=diagonal,
        products=np.empty((max(2, min(n, MAX_PRODUCTS // n)), n)),
        line=np.full(n, -1),
        row=np.empty(width),
        between=np.empty(most, np.int64),
        listed=np.zeros(n, np.int8),
        factor=numbers[2:],
        half=numbers[0],
        move=numbers[1],
        counts=np.zeros(4, np.int64),
    )
    violation = ascend(svm.rows, at, svm.free, x0, VIOLATION, SHARE_OF_WORK * work)
    return at.b if violation <= VIOLATION else None, int(at.counts[STEPS])
