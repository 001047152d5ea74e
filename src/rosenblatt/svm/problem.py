"""The binary SVM problem, the bounds that any multipliers give for its optimum, and reductions of several classes to it.

Problem    min over w, b, xi:  1/2 |w|^2 + sum_i C_i xi_i   (hinge; sum_i C_i xi_i^2 for its square)
           s.t.  y_i (<w, x_i> + b) >= 1 - xi_i,  xi_i >= 0.
           A penalized intercept is one more weight, b = x_0 v with v^2/2 added to |w|^2/2; a free one has no penalty.
Dual       max over a:  sum_i a_i - 1/2 |sum_i a_i y_i p_i|^2   (- sum_i a_i^2/(4 C_i) for the square)
           s.t.  0 <= a_i <= C_i (no upper limit for the square), and sum_i a_i y_i = 0 if the intercept is free.
Guarantee  For every w, b and every feasible a: dual(a) <= optimum <= primal(w, b). Their difference is the gap; both are
           evaluated on all rows in float64.
Reduction  each class against the rest, or each pair of classes (S. Knerr, L. Personnaz and G. Dreyfus, Single-layer learning
           revisited, 1990); the votes of pairs are counted in `scores.py`.
Reference  C. Cortes and V. Vapnik, Machine Learning 20 (1995).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from ..array_types import Array, BoolArray, FloatArray, IntArray, Matrix
from ..data.problem import Problem, make_rows, read_only, rows_width, take_rows
from ..kernels.linear.hinge_sums import squared_hinge_pull
from ..kernels.linear.row_blocks import combine, lengths, score
from ..kernels.linear.rows import CSR, EPS, Dense, Rows
from ..kernels.linear.schemes import Binary

# A plane is a candidate for zero if the sum of its multipliers times its rows cancels to this share of the terms.
CANCELLATION = 1e-9
# With more rows, only those near the best intercept are sorted; a sample of this size finds them.
MAX_SORTED_ROWS, SAMPLED_ROWS = 4096, 512
MAX_NEWTON_STEPS = 30


@dataclass(frozen=True)
class Solution:
    """A plane, its multipliers, and the bounds on the optimum."""

    w: FloatArray  # sum a_i y_i x_i
    intercept: float
    multipliers: FloatArray  # one per row
    primal: float
    dual: float
    margins: FloatArray  # y_i (<w, x_i> + b)
    costs: FloatArray  # C_i
    # Of weights that are all zero because of the L1 penalty: the factor of the costs above which one of them is not.
    growth: float = np.nan

    @property
    def n_rows(self) -> int:
        return len(self.multipliers)

    @property
    def gap(self) -> float:
        """(primal - dual)/primal, a bound on the relative distance of the objective from its minimum."""
        if not np.isfinite(self.primal):
            return np.inf
        return max(0.0, self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0

    def at(self, places: IntArray) -> Solution:
        """The same plane for some of the rows; a loaded solution has no margins."""
        margins = self.margins[places] if len(self.margins) else self.margins
        return replace(self, multipliers=self.multipliers[places], margins=margins, costs=self.costs[places])

    def among(self, places: IntArray, n: int) -> Solution:
        """The same plane for n rows, of which these are at `places`; the others have no cost."""
        multipliers, margins, costs = np.zeros(n), np.full(n, np.nan), np.zeros(n)
        multipliers[places], margins[places], costs[places] = self.multipliers, self.margins, self.costs
        return replace(self, multipliers=multipliers, margins=margins, costs=costs)


@dataclass(frozen=True)
class BinarySVM:
    """A binary SVM problem: rows, labels, costs, loss and intercept."""

    rows: Rows
    signs: IntArray  # int8
    costs: FloatArray  # C_i; rows of cost 0 are ignored
    squared: bool  # the squared hinge
    x0: float  # 0: no intercept
    free: bool  # the intercept has no penalty
    squares: FloatArray | None = None  # the squared lengths of the rows, if they are known

    @cached_property
    def visited(self) -> IntArray:
        """The rows of positive cost, in order."""
        return np.flatnonzero(self.costs > 0.0)

    @cached_property
    def seen(self) -> IntArray | slice:
        """`visited` as an index: a slice if it is all rows, so that indexing gives a view."""
        return slice(None) if len(self.visited) == len(self.signs) else self.visited

    @property
    def width(self) -> int:
        """The number of features."""
        return rows_width(self.rows)

    def lengths(self) -> FloatArray:
        """The squared length of every row x, in an array of its own."""
        if self.squares is not None:
            return self.squares.copy()
        return squared_lengths(self.rows, len(self.signs))

    def scores(self, w: FloatArray, shift: float, wanted: IntArray | None = None) -> FloatArray:
        """<w, x_i> + shift for the visited rows, or for those in `wanted`."""
        wanted = self.visited if wanted is None else wanted
        out = np.empty(len(wanted))
        score(self.rows, wanted, w, float(shift), out)
        return out

    def weights(self, multipliers: FloatArray) -> FloatArray:
        """sum_i a_i y_i x_i"""
        w = np.zeros(self.width)
        combine(self.rows, self.visited, multipliers[self.seen] * self.signs[self.seen], w)
        return w

    def feasible(self, multipliers: FloatArray) -> FloatArray:
        """Multipliers that are feasible for a free intercept: both classes have the same sum.

        The class of the larger sum is scaled down: the multipliers strictly between their bounds if they are large enough,
        so that the others stay at their bounds, else all multipliers of the class.
        """
        if not self.free:
            return multipliers
        excess = float(multipliers @ self.signs)
        if excess == 0.0:
            return multipliers
        heavier = self.signs > 0 if excess > 0.0 else self.signs < 0
        between = heavier & (multipliers < self.costs) if not self.squared else heavier
        carried = float(multipliers[between].sum())
        if carried < 2.0 * abs(excess):
            between, carried = heavier, float(multipliers[heavier].sum())
        if not carried > 0.0:
            return np.zeros_like(multipliers)
        scaled = multipliers.copy()
        scaled[between] *= max(0.0, 1.0 - abs(excess) / carried)
        return scaled

    def intercept(self, scores: FloatArray) -> float:
        """The best intercept for these scores of the visited rows; rarely worse than the intercept given by the multipliers."""
        if self.x0 == 0.0:
            return 0.0
        stiffness = 0.0 if self.free else 1.0 / self.x0**2
        return best_intercept(scores, self.signs[self.seen], self.costs[self.seen], self.squared, stiffness)

    def norm(self, w: FloatArray, intercept: float) -> float:
        """|w|^2, plus the squared weight of a penalized intercept."""
        return float(w @ w) + (0.0 if self.free or self.x0 == 0.0 else (intercept / self.x0) ** 2)

    def losses(self, margins: FloatArray) -> float:
        """The total loss of the visited rows at these margins."""
        slack = 1.0 - margins
        np.maximum(slack, 0.0, out=slack)
        if self.squared:
            slack *= slack
        return float(self.costs[self.seen] @ slack)

    def solution(self, multipliers: FloatArray) -> Solution:
        """The weights of these multipliers, the best intercept for them, and the primal and dual objectives.

        Weights that are zero up to rounding errors are set to zero: their directions would be those of the errors.
        """
        multipliers = self.feasible(multipliers)
        w, y, a = self.weights(multipliers), self.signs[self.seen], multipliers[self.seen]
        v = self.x0 * float(a @ y)
        scores = self.scores(w, 0.0)
        intercept, margins, primal = self._primal(w, scores)
        # |w|^2 = sum_i a_i y_i <w, x_i>, whose terms cancel if w is the rest of a sum that should be zero.
        if 0.0 < float(w @ w) <= CANCELLATION * float(a @ abs(scores)):
            nothing = np.zeros_like(w), np.zeros_like(scores)
            flat = self._primal(*nothing)
            if flat[2] <= primal * (1.0 + 4.0 * EPS):
                w, (intercept, margins, primal) = nothing[0], flat
        dual = float(a.sum()) - (float(w @ w) + (0.0 if self.free else v * v)) / 2.0
        if self.squared:
            dual -= float((a * a / self.costs[self.seen]).sum()) / 4.0
        if len(margins) < len(self.signs):
            margins, seen = np.full(len(self.signs), np.nan), margins
            margins[self.visited] = seen
        return Solution(w, intercept, multipliers, primal, dual, margins, self.costs)

    def _primal(self, w: FloatArray, scores: FloatArray) -> tuple[float, FloatArray, float]:
        """The best intercept for these weights, the margins and the primal objective."""
        intercept = self.intercept(scores)
        margins: FloatArray = (scores + intercept) * self.signs[self.seen]
        return intercept, margins, self.norm(w, intercept) / 2.0 + self.losses(margins)


def squared_lengths(rows: Rows, n: int) -> FloatArray:
    """The squared lengths of n rows."""
    out = np.empty(n)
    lengths(rows, 0.0, out)
    return out


def best_intercept(scores: FloatArray, y: Array, costs: FloatArray, squared: bool, stiffness: float) -> float:
    """The b that minimizes stiffness b^2/2 plus the loss of the rows, given their scores without b; the middle of an interval
    of minima.

    The sum is convex in b. Its slope is linear between the places b = y - score, where rows enter or leave the margin: sort
    these places and find the zero of the slope.
    """
    places = y - scores
    weight_around, moment_around = stiffness, 0.0
    if len(places) > MAX_SORTED_ROWS:
        if squared and (found := _by_newton(places, y, costs, stiffness)) is not None:
            return found
        places, y, costs, more, moment_around = _near_zero(places, y, costs, squared, stiffness)
        weight_around += more
    order = np.argsort(places)
    t, C, right = places[order], costs[order], y[order] < 0
    # Positive rows have a loss C (t - b) left of their place, negative ones C (b - t) right of it; or C times the square.
    down, up = np.where(right, C, 0.0), np.where(right, 0.0, C)
    left_of, right_of = np.concatenate([[0.0], np.cumsum(down)]), np.concatenate([np.cumsum(up[::-1])[::-1], [0.0]])
    if squared:
        # On piece j, between t[j-1] and t[j], the slope is weight b - moment.
        weight = 2.0 * (left_of + right_of) + weight_around
        moment = moment_around + 2.0 * np.concatenate([[0.0], np.cumsum(down * t)])
        moment[:-1] += 2.0 * np.cumsum((up * t)[::-1])[::-1]
    else:
        weight, moment = np.full(len(t) + 1, weight_around), right_of - left_of + moment_around
    slopes = weight[1:] * t - moment[1:]  # just right of each place
    rounding = 1e-13 * (abs(weight).max() * abs(t).max() + abs(moment).max())
    first, last = int(np.searchsorted(slopes, -rounding)), int(np.searchsorted(slopes, rounding, side="right"))
    low, high = t[min(first, len(t) - 1)], t[min(last, len(t) - 1)]
    if weight[first] > 0.0:
        # The slope rises on the piece that ends at `first`, and its zero may be inside.
        inside = float(moment[first] / weight[first])
        floor = t[first - 1] if first > 0 else -np.inf
        return float(min(max(inside, floor), low)) if first < len(t) else inside
    return float(0.5 * low + 0.5 * high)


def _by_newton(places: FloatArray, y: Array, costs: FloatArray, stiffness: float) -> float | None:
    """The minimum for the squared hinge, by Newton's method within a bracket; None if it is not found in a few steps.

    A step goes to the minimum of the parabola at b. It is that of the sum if the same rows have a loss there.
    """
    positive, costs, low, high, b, before = y > 0, np.ascontiguousarray(costs), -np.inf, np.inf, 0.0, np.nan
    for _ in range(MAX_NEWTON_STEPS):
        pull, moment, changed = squared_hinge_pull(places, positive, costs, b, before)
        weight = stiffness + pull
        if not weight > 0.0 or not np.isfinite(moment):
            return None
        if not changed and not np.isnan(before):
            return b
        low, high = (b, high) if weight * b < moment else (low, b)
        b, before = moment / weight, b
        if not low <= b <= high:
            b, before = (low + high) / 2.0, np.nan
    return None


def _near_zero(
    places: FloatArray, y: FloatArray, costs: FloatArray, squared: bool, stiffness: float
) -> tuple[FloatArray, FloatArray, FloatArray, float, float]:
    """The rows between a place of negative slope and one of positive slope, and the slope of the others as weight b - moment.

    Sorting these rows is faster than sorting all rows, and takes less memory.
    """
    low, high = -np.inf, np.inf
    marks = np.sort(places[:: max(1, len(places) // SAMPLED_ROWS)])
    first, last = 0, len(marks) - 1
    while first <= last:
        middle = (first + last) // 2
        b = float(marks[middle])
        active = (y > 0) == (places > b)
        pull = (b - places[active]) * 2.0 if squared else -y[active].astype(np.float64)
        pull *= costs[active]
        slope, size = stiffness * b + float(pull.sum()), float(abs(pull).sum()) + abs(stiffness * b)
        if slope < -1e-9 * size:
            low, first = b, middle + 1
        elif slope > 1e-9 * size:
            high, last = b, middle - 1
        else:
            break
    inside = (places >= low) & (places <= high)
    active = ~inside & ((y > 0) == (places > high))
    if squared:
        weight, moment = 2.0 * float(costs[active].sum()), 2.0 * float((costs[active] * places[active]).sum())
    else:
        weight, moment = 0.0, float((y[active] * costs[active]).sum())
    return places[inside], y[inside], costs[inside], weight, moment


# --- several classes -----------------------------------------------------------------------------------------------------


# "auto" takes pairs of classes, whose planes exist where one class against the rest has none, except for wide sparse rows, such
# as words: there each class against the rest has fewer errors and takes less time.
MAX_SPARSE_PAIR_COLUMNS = 1000
MAX_PAIR_WEIGHTS = 1 << 26  # numbers in the planes of all pairs: half a gigabyte


def choose_scheme(rows: Rows, n_classes: int) -> str:
    """The scheme for `multiclass="auto"`, "ovr" or "ovo"."""
    width, pairs = rows_width(rows), n_classes * (n_classes - 1) // 2
    wide = isinstance(rows, CSR) and width > MAX_SPARSE_PAIR_COLUMNS
    return "ovr" if n_classes == 2 or wide or pairs * width > MAX_PAIR_WEIGHTS else "ovo"


@dataclass(frozen=True)
class Head:
    """A binary problem; `positive` and `negative` are class codes, and `negative` is None for "the rest"."""

    rows: Rows
    codes: IntArray
    weights: FloatArray  # empty: every row has weight 1
    x0: float
    positive: int
    negative: int | None
    pair: bool  # only rows of these two classes count

    def _counts(self) -> BoolArray:
        counts: BoolArray = self.weights > 0 if self.weights.size else np.ones(len(self.codes), bool)
        return counts & ((self.codes == self.positive) | (self.codes == self.negative)) if self.pair else counts

    def rows_that_count(self) -> IntArray:
        """The rows of positive weight, of a pair only those of its classes."""
        return np.flatnonzero(self._counts())

    @property
    def problem(self) -> Problem:
        """All rows, with the labels of this problem. Each call makes a new one, so that many pairs take little memory."""
        signs, counts = np.where(self.codes == self.positive, 1, -1).astype(np.int8), self._counts()
        visited = None if counts.all() else np.flatnonzero(counts)
        return Problem(self.rows, Binary(read_only(signs), read_only(self.weights)), self.x0, visited)

    def alone(self, places: IntArray) -> Head:
        """The problem on a copy of some rows."""
        weights = self.weights[places] if self.weights.size else self.weights
        return replace(self, rows=take_rows(self.rows, places), codes=self.codes[places], weights=weights)

    def about(self, classes: Array) -> str:
        """A clause for error messages; empty if there are only two classes."""
        if len(classes) == 2:
            return ""
        other = "the rest" if self.negative is None else f"class {classes[self.negative]!s}"
        return f" of class {classes[self.positive]!s} from {other}"


def heads(
    X: Matrix | Rows, codes: IntArray, n_classes: int, scheme: str, *, weights: FloatArray | None = None, x0: float = 1.0
) -> list[Head]:
    """The binary problems of a scheme, "ovr" or "ovo", on the same rows. Two classes give one problem."""
    rows = X if isinstance(X, Dense | CSR) else make_rows(X)
    shared = (rows, codes, np.zeros(0) if weights is None else np.ascontiguousarray(weights, np.float64), x0)
    if n_classes == 2:
        return [Head(*shared, 1, 0, False)]
    if scheme == "ovr":
        return [Head(*shared, h, None, False) for h in range(n_classes)]
    return [Head(*shared, j, i, True) for i, j in combinations(range(n_classes), 2)]
