"""The interior point of `svm/interior_point.py` with sums over blocks in place of sums over rows.

Update     the numbers of the rows stay where they were computed. A step of the method takes three rounds over the blocks:
           1. move, and sum the matrix of Newton's equations, the residual and the right side of the predictor,
           2. the longest step of the predictor, and sums from which both the complementarity after any step and the right side
              of the corrector for any center follow,
           3. the longest step of the corrector.
           Directions are not stored: the next task computes them again from the directions of the plane.
Guarantee  the multipliers of any step give a bound, see `svm/problem.py`.
Reference  S. Mehrotra, SIAM J. Optimization 2 (1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..array_types import BoolArray, FloatArray
from ..kernels.linear.rows import Rows
from ..kernels.linear.solver_steps import SLACK, A, E, S, finish_direction, move, right_sides, weigh_rows
from ..svm.interior_point import Point, follow_path, start_of
from ..svm.row_blocks import Blocks, add_to_diagonal, cholesky_factor, solve_factored
from .block_set import BlockSet
from .engine import Handle


@dataclass(frozen=True)
class KeptRows:
    """Some rows of a binary problem, with their signs and costs."""

    rows: Rows
    signs: FloatArray
    costs: FloatArray
    x0: float
    width: int

    def __len__(self) -> int:
        return len(self.costs)

    def __sizeof__(self) -> int:
        arrays = [*(value for value in self.rows if isinstance(value, np.ndarray)), self.signs, self.costs]
        return sum(array.nbytes for array in arrays)

    def products(self) -> Blocks:
        """Products with the rows A_i = y_i (x_i, x_0)."""
        return Blocks(self.rows, np.arange(len(self)), self.signs, self.x0, self.width)


class Step(NamedTuple):
    """The directions of the plane of a step, the complementarity that its corrector aims at, and its length."""

    predictor: FloatArray
    corrector: FloatArray
    center: float
    length: float


# --- tasks ---------------------------------------------------------------------------------------------------------------


def first_numbers(kept: KeptRows) -> FloatArray:
    """The numbers of the rows at the start."""
    return np.array(start_of(kept.costs, kept.width + 1)[1:])


class _Rows:
    """The rows of a block at a point, for one task."""

    def __init__(self, kept: KeptRows, at: FloatArray) -> None:
        self.at, self.products = at, kept.products()
        self.D, self.r_primal, self.t, self.Dt = np.empty((4, len(kept)))
        self.comp, self.infeasibility = weigh_rows(at, self.D, self.r_primal)
        self.way = np.zeros_like(at)
        self.room = np.inf

    def aim(self, center: float, second: float) -> None:
        """Set the right sides; they include the second-order terms of the previous direction if `second` is 1."""
        right_sides(self.at, self.way, center, second, self.D, self.r_primal, self.t, self.Dt)

    def change(self, dv: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A dv, and the change of the multipliers that follows from it."""
        Adv = self.products.product(dv)
        return Adv, -self.D * (Adv + self.t)

    def go(self, dv: FloatArray) -> None:
        """Set the direction of the rows."""
        self.room = finish_direction(self.at, self.way, *self.change(dv))

    def go_on(self, predictor: FloatArray, center: float) -> None:
        """Set the direction of the predictor and the right sides of the corrector."""
        self.aim(0.0, 0.0)
        self.go(predictor)
        self.aim(center, 1.0)


def moved(kept: KeptRows, at: FloatArray, step: Step) -> FloatArray:
    """The numbers of the rows after a step."""
    rows, ahead = _Rows(kept, at), at.copy()
    rows.go_on(step.predictor, step.center)
    rows.go(step.corrector)
    move(ahead, rows.way, step.length)
    return ahead


def newton_sums(kept: KeptRows, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The complementarity and the infeasibility, A^T a, the right side of the predictor, and the matrix A^T D A."""
    rows = _Rows(kept, at)
    rows.aim(0.0, 0.0)
    scalars = np.array([rows.comp, rows.infeasibility])
    return scalars, rows.products.sum(at[A]), rows.products.sum(rows.Dt), rows.products.gram(rows.D)


def predictor_sums(kept: KeptRows, at: FloatArray, predictor: FloatArray) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """The longest step; the complementarity after a step of length t as the coefficients of 1, t and t^2; and the right side of
    the corrector at center c as that of c = 0 and the factor of c."""
    rows = _Rows(kept, at)
    rows.aim(0.0, 0.0)
    rows.go(predictor)
    room, way = rows.room, rows.way
    linear = float(at[A] @ way[S] + way[A] @ at[S] + at[E] @ way[SLACK] + way[E] @ at[SLACK])
    square = float(way[A] @ way[S] + way[E] @ way[SLACK])
    rows.aim(0.0, 1.0)
    per_center = rows.D * (1.0 / at[E] - 1.0 / at[A])
    coefficients = np.array([rows.comp, linear, square])
    return float(room), coefficients, rows.products.sum(rows.Dt), rows.products.sum(per_center)


def least_and_sums(
    left: tuple[float, FloatArray, FloatArray, FloatArray], right: tuple[float, FloatArray, FloatArray, FloatArray]
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """What two neighbors have together of `predictor_sums`."""
    return min(left[0], right[0]), left[1] + right[1], left[2] + right[2], left[3] + right[3]


def predictor_change(kept: KeptRows, at: FloatArray, predictor: FloatArray) -> FloatArray:
    """A^T times the change of the multipliers that the predictor makes."""
    rows = _Rows(kept, at)
    rows.aim(0.0, 0.0)
    return rows.products.sum(rows.change(predictor)[1])


def corrector_change(kept: KeptRows, at: FloatArray, step: Step) -> FloatArray:
    """A^T times the change of the multipliers that the corrector makes."""
    rows = _Rows(kept, at)
    rows.go_on(step.predictor, step.center)
    return rows.products.sum(rows.change(step.corrector)[1])


def corrector_room(kept: KeptRows, at: FloatArray, step: Step) -> float:
    """The longest step of the corrector."""
    rows = _Rows(kept, at)
    rows.go_on(step.predictor, step.center)
    rows.go(step.corrector)
    return float(rows.room)


def multiplier_sums(kept: KeptRows, at: FloatArray) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """The sums of the multipliers, and of a_i y_i (x_i, x_0), by class (+1, -1) and by whether they are at a bound (no, yes):
    of the multipliers as they are, and of those rounded."""
    found, products = [], kept.products()
    for rounded in (False, True):
        a, between = multipliers_of(kept, at, rounded)
        sums, totals = np.zeros((2, 2)), np.zeros((2, 2, kept.width + 1))
        for i, sign in enumerate((1.0, -1.0)):
            for j, kind in enumerate((between, ~between)):
                some = np.where(kind & (kept.signs == sign), a, 0.0)
                sums[i, j], totals[i, j] = some.sum(), products.sum(some)
        found.append((sums, totals))
    return found[0], found[1]


def multipliers_of(kept: KeptRows, at: FloatArray, rounded: bool) -> tuple[FloatArray, BoolArray]:
    """The multipliers, and which of them are between their bounds; rounded: those that tend to a bound are set to it."""
    a = at[A]
    if not rounded:
        return a, np.ones(len(a), bool)
    low, high = Point(np.zeros(0), *at).at_bounds()
    return np.where(low, 0.0, np.where(high, kept.costs, a)), ~(low | high)


# --- the system ----------------------------------------------------------------------------------------------------------


class BlockSystem:
    """Newton's equations as sums over blocks of kept rows."""

    def __init__(self, kept: BlockSet, n_rows: int, penalty: FloatArray) -> None:
        self.kept, self.n_rows, self.penalty = kept, n_rows, penalty
        self.at: list[Handle] = kept.start(first_numbers)
        self.vector_bytes, self.matrix_bytes = 8 * len(penalty), 8 * len(penalty) ** 2
        self._step: Step | None = None

    def follow(self, v: FloatArray, target: float, rough: bool) -> tuple[FloatArray, int]:
        """Go on from the plane v as `interior_point` does."""
        v, steps = follow_path(self, v, self.penalty, np.zeros(len(v)), target, rough)
        self._move_now()
        return v, steps

    def weigh(self) -> tuple[FloatArray, float, float]:
        self._move_now()
        scalars, total, self._right, self._H = self.kept.sum(newton_sums, of_each=[self.at], size=self.matrix_bytes)
        return total, float(scalars[0]), float(scalars[1])

    def _move_now(self) -> None:
        if self._step is not None:
            self.at, self._step = self.kept.start(moved, self._step, of_each=[self.at]), None

    def factorize(self, r_dual: FloatArray, refinements: int) -> None:
        self._r_dual, self._refinements = r_dual, refinements
        H = self._H.copy(order="F")
        add_to_diagonal(H, self.penalty)
        self._factor = cholesky_factor(H)

    def predict(self) -> float:
        dv = solve_factored(self._factor, -self._r_dual - self._right)
        for _ in range(self._refinements):
            dv = self._refined(dv, self.kept.sum(predictor_change, dv, of_each=[self.at], size=self.vector_bytes))
        room, coefficients, self._still, self._per_center = self.kept.sum(
            predictor_sums, dv, of_each=[self.at], size=2 * self.vector_bytes, combine=least_and_sums
        )
        self._predictor, length = dv, min(room, 1.0)
        return max(0.0, float(coefficients @ np.array([1.0, length, length * length])))

    def correct(self, center: float) -> tuple[float, FloatArray]:
        dv = solve_factored(self._factor, -self._r_dual - (self._still + center * self._per_center))
        for _ in range(self._refinements):
            step = Step(self._predictor, dv, center, 0.0)
            dv = self._refined(dv, self.kept.sum(corrector_change, step, of_each=[self.at], size=self.vector_bytes))
        self._tried = Step(self._predictor, dv, center, 0.0)
        return float(self.kept.sum(corrector_room, self._tried, of_each=[self.at], combine=min)), dv

    def _refined(self, dv: FloatArray, change: FloatArray) -> FloatArray:
        """A direction after the residual, computed from the rows, has corrected its error."""
        return dv + solve_factored(self._factor, change - self.penalty * dv - self._r_dual)

    def move(self, length: float) -> None:
        self._step = self._tried._replace(length=length)
