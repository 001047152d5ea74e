"""The hard margin: the nearest points of the convex hulls of two classes.

Problem    min 1/2 |sum_i a_i y_i x_i|^2  s.t.  a >= 0, the a_i of each class sum to 1. The plane of the largest margin is the
           perpendicular bisector of the nearest points. With v = sum_i a_i y_i x_i, the solution of
           min 1/2 |w|^2 s.t. y_i (w.x_i + b) >= 1 is w = 2 v/|v|^2, with multipliers 2 a_i/|v|^2. Without a bias, all a_i
           sum to 1 and w = v/|v|^2.
Update     one pass over all rows finds those that violate the margin most and adds them to a working set, on which
           `active_set.py` finds the nearest points. If these coincide up to rounding, `exact_separation.py` decides in
           fractions whether the hulls meet.
Guarantee  any convex weights and any plane have  min_i y_i (w.x_i + b)/|w|  <=  margin  <=  |v|/2  (without a bias |v|).
           Both sides are computed in float64 on all rows in one pass; `gap` is their relative difference.
Reference  K. P. Bennett and E. J. Bredensteiner, Duality and geometry in SVM classifiers, ICML (2000); S. S. Keerthi et al.,
           A fast iterative nearest point algorithm, IEEE Trans. Neural Networks 11 (2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpstrf

from ..array_types import FloatArray, IntArray, Matrix
from ..certificates.time_limit import check_time
from ..data.problem import Problem
from ..kernels.linear.rows import EPS
from ..online.stopping import Stop
from ..parallel import one_blas_thread
from ..progress import Progress, ProgressCallback
from ..reporting.text import plural, short
from .active_set import Corral, CorralEnd
from .exact_separation import Decision, WorkBudget, decide, point
from .not_separable import NotSeparable
from .signed_rows import MAX_DENSE_COLUMNS, SignedRows

# A pass adds up to this many rows of each class to the working set, and more if the rows have more columns.
MIN_ROWS_PER_PASS = 64
# The working set is reduced to the corral when it exceeds this size and a tenth of the size of all rows.
WORKING_SET_BYTES = 1 << 25
# Up to this many dense rows are solved at once from their Gram matrix, if they have more than twice as many columns as rows.
MAX_GRAM_ROWS = 4000

# With slack, shorter weights are rounding errors of rows whose largest value is about 1, and are set to zero.
ZERO_LENGTH = 1e-13

# Why a run ended. "met": the hulls meet, up to rounding; "time": the deadline has passed; the others are as in `Stop`.
EndReason = Literal["tolerance", "met", "rounding", "steps", "time"]


@dataclass(frozen=True)
class Nearest:
    """The plane of the largest margin, with a bound on its relative error."""

    coef: FloatArray  # w, scaled so that the smallest y_i (w.x_i + b) is 1
    bias: float
    support: IntArray  # the support vectors, as positions in the problem
    multipliers: FloatArray  # alpha_i > 0 of the support vectors: w = sum_i alpha_i y_i x_i; with a bias, sum_i alpha_i y_i = 0
    canonical: FloatArray  # y_i (w.x_i + b) of the rows with positive weight, in order
    margin: float  # 1/|w|
    gap: float  # no plane has a margin above margin/(1 - gap)
    steps: int
    passes: int
    stop: Stop


def nearest_points(
    problem: Problem, *, tol: float = 1e-6, max_steps: int = 100_000, start: FloatArray | None = None, positive: object = 1,
    about: str = "", price: float = 0.0, progress: ProgressCallback | None = None,
) -> Nearest:  # fmt: skip
    """Solve a binary problem. There is a bias, which is not penalized, unless x0 = 0.

    start : multipliers of another solver to start from, one per row of the problem.
    positive, about : for the message of `NotSeparable`: the label that counts as +1, and a clause about the problem.
    price : if above 0, solve the squared hinge, which is always separable. Each row gets one more coordinate of squared length
        q_i = price * (largest centered value)^2 / (weight of the row), so that C_i = 1/q_i.
    progress : called after each pass over all rows, with the number of steps so far.
    """
    with one_blas_thread():
        rows = SignedRows(problem)
        end = approach(rows, tol=tol, max_steps=max_steps, start=start, price=price, progress=progress)
        if end.decision is not None and not end.decision.apart:
            proof = sorted(zip(rows.index[end.decision.places].tolist(), end.decision.weights, strict=True))
            bound = end.decision.bound_squared
            raise NotSeparable([i for i, _ in proof], [a for _, a in proof], positive, rows.free, bound, about)
        reason = end.reason if end.decision is None else end.run.adopt(end.decision)
        return end.run.result(reason)


@dataclass(frozen=True)
class End:
    """The end of a run: its state, the reason, and the decision in fractions if floats could not decide."""

    run: _Run
    reason: EndReason
    decision: Decision | None = None

    @property
    def weights(self) -> tuple[IntArray, FloatArray]:
        """The positions of the corral's rows and their convex weights."""
        held = self.run.corral.places
        return self.run.places[held], self.run.corral.a[held]


def approach(
    rows: SignedRows, *, tol: float, max_steps: int, start: FloatArray | None = None, price: float = 0.0,
    progress: ProgressCallback | None = None, budget: WorkBudget | None = None,
) -> End:  # fmt: skip
    """Run until the gap is small or the hulls meet. If floats cannot decide, continue in fractions."""
    budget = budget or WorkBudget()
    run, steps = _Run(rows, tol, max_steps, price, progress, budget.deadline), 0
    if start is None and rows.dense and len(rows) <= MAX_GRAM_ROWS and rows.n_features > 2 * len(rows):
        if run.solve_gram() == "tolerance":
            return End(run, "tolerance")
        start, steps = run.multipliers(), run.corral.steps
    run.begin(start, steps)
    end = End(run, run.run())
    if end.reason in ("met", "rounding") and not price:
        apart = end.reason == "rounding" and run.lower > 0
        return End(run, end.reason, decide(rows, *end.weights, apart=apart, budget=budget.reduced() if apart else budget))
    return end


class _Run:
    """The working set, its corral, and the bounds on the margin."""

    def __init__(
        self,
        rows: SignedRows,
        tol: float,
        max_steps: int,
        price: float,
        progress: ProgressCallback | None,
        deadline: float,
    ) -> None:
        self.rows, self.tol, self.max_steps, self.deadline = rows, tol, max_steps, deadline
        self.progress = progress
        largest = np.ldexp(rows.extent, rows.exponent) or 1.0
        self.price = np.full(len(rows), price * largest**2) / (rows.weights[rows.index] if rows.weights.size else 1.0)
        self.passes = 0
        self.places: IntArray  # positions of the working rows
        self.corral: Corral  # set by `begin` or `solve_gram`
        self.v: FloatArray
        self.products: FloatArray
        self.upper, self.lower = np.inf, -np.inf
        row_bytes = 8.0 * (
            rows.n_features if rows.n_features <= MAX_DENSE_COLUMNS else max(1.0, rows.density) * (1 if rows.dense else 2)
        )
        self.max_rows = int(max(WORKING_SET_BYTES, 0.1 * rows.nbytes) / row_bytes)

    # --- the working set -------------------------------------------------------------------------------------------------

    def begin(self, start: FloatArray | None, steps: int) -> None:
        """Choose the first working rows: one per side, or those with positive multipliers in `start`, found in some steps."""
        check_time()
        rows = self.rows
        if start is None:
            products = rows.products(rows.mean())
            first = [int(np.flatnonzero(rows.side == k)[products[rows.side == k].argmin()]) for k in range(rows.n_sides)]
            weights = np.ones(len(first))
        else:
            given = np.asarray(start, np.float64)[rows.index]
            heaviest = np.argsort(-given, kind="stable")[: self.max_rows]
            first = [int(place) for place in heaviest if given[place] > 0]
            for k in set(range(rows.n_sides)) - set(rows.side[first].tolist()):
                first.append(int(np.flatnonzero(rows.side == k)[0]))
            weights = np.maximum(given[first], EPS)
        self._make_corral(np.array(first), weights, steps)

    def solve_gram(self) -> EndReason | CorralEnd:
        """Solve for all rows at once, with the rows of the Cholesky factor of their Gram matrix as coordinates."""
        rows = self.rows
        L, order, rank, _ = dpstrf(rows.gram(), lower=1)
        Z = np.empty((len(rows), rank))
        Z[order - 1] = np.tril(L[:, :rank])
        self.places = np.arange(len(rows))
        self.corral = Corral(Z, rows.side, rows.n_sides, self.price, _lengths(Z, self.price))
        self.corral.begin(np.array([np.flatnonzero(rows.side == k)[0] for k in range(rows.n_sides)]), np.ones(rows.n_sides))
        end, corral = self.corral.solve(self.tol, self.max_steps, self.deadline), self.corral
        if end != "least":
            return end
        held = np.array(corral.places)
        v = rows.combine(held, corral.a[held])
        for _ in range(3):
            self._measure(v, float(np.sqrt(corral.square(rows.combine(held, corral.a[held])))))
            if self.gap <= self.tol:
                return "tolerance"
            more = corral.correct(self.products[held])
            if not (corral.a[held] + more > 0).all():
                break
            corral.a[held] += more
            v = v + rows.combine(held, more)
        return "rounding"

    def multipliers(self) -> FloatArray:
        """The current weights, one per row of the problem, from which another run can start."""
        out = np.zeros(self.rows.n_rows)
        out[self.rows.index[self.places]] = np.maximum(self.corral.a, 0.0)
        return out

    def _make_corral(self, places: IntArray, weights: FloatArray, steps: int) -> None:
        self.places, self.corral = places, self._corral(places, steps)
        self.corral.begin(np.arange(len(places)), weights)

    def _corral(self, places: IntArray, steps: int) -> Corral:
        Z, price = self.rows.take(places), self.price[places]
        corral = Corral(Z, self.rows.side[places], self.rows.n_sides, price, _lengths(Z, price))
        corral.steps = steps
        return corral

    def _join(self, new: IntArray) -> None:
        """Add rows to the working set."""
        check_time()
        corral = self.corral
        if len(self.places) + len(new) > max(self.max_rows, 4 * len(corral.places) + len(new)):
            kept = np.array(corral.places)
            self._make_corral(self.places[kept], corral.a[kept], corral.steps)
            corral = self.corral
        Z = self.rows.take(new)
        self.places = np.concatenate([self.places, new])
        lengths = np.concatenate([corral.lengths, _lengths(Z, self.price[new])])
        working = np.concatenate([corral.Z, Z]) if isinstance(Z, np.ndarray) else sp.vstack([corral.Z, Z], format="csr")
        corral.grow(working, self.rows.side[self.places], self.price[self.places], lengths)

    # --- rounds ----------------------------------------------------------------------------------------------------------

    def run(self) -> EndReason:
        """Alternate between the working set and passes over all rows."""
        stalled, batch = 0, max(MIN_ROWS_PER_PASS, min(self.rows.n_features, 512))
        while True:
            end = self.corral.solve(self.tol, self.max_steps, self.deadline)
            if end == "met":
                return "met"
            before = self.upper
            self._measure()
            if self.gap <= self.tol:
                return "tolerance"
            if end == "steps" or end == "time":
                return end
            stalled = stalled + 1 if self.upper >= before * (1.0 - EPS) else 0
            new = self._worst(batch)
            if not len(new) or stalled > 2:
                return "rounding"
            self._join(new)

    def _measure(self, v: FloatArray | None = None, length: float | None = None) -> None:
        """Compute both bounds on the margin in one pass.

        v, length : the combination of the rows with the current weights and its norm, if they are known more precisely.
        """
        corral, rows = self.corral, self.rows
        self.v = corral.v if v is None else v
        self.products = rows.products(self.v)
        self.products[self.places] += corral.price * corral.a
        self.length = length or float(np.sqrt(corral.square(corral.point())))
        self.smallest = np.array([self.products[rows.side == k].min() for k in range(rows.n_sides)])
        self.upper = self.length / rows.n_sides
        self.lower = float(self.smallest.sum()) / rows.n_sides / self.length if self.length else 0.0
        self.passes += 1
        if self.progress is not None:
            text = plural(len(corral.places), "support vector")
            self.progress(Progress(corral.steps, max_iter=self.max_steps, gap=self.gap, text=text))

    @property
    def gap(self) -> float:
        """The relative difference of the bounds on the margin."""
        return max(0.0, 1.0 - self.lower / self.upper) if self.upper > 0 else 1.0

    def _worst(self, batch: int) -> IntArray:
        """Up to `batch` rows per side that violate the margin most and are not in the working set."""
        corral, rows = self.corral, self.rows
        level = corral.sums(corral.a * self.products[self.places])
        behind = level[rows.side] - self.products
        behind[self.places] = -np.inf
        floor = max(0.1 * self.tol * self.length**2, 2 * EPS * corral.radius * self.length)
        chosen = []
        for k in range(rows.n_sides):
            worst = np.flatnonzero((rows.side == k) & (behind > floor))
            if len(worst) > batch:
                worst = np.sort(worst[np.argpartition(-behind[worst], batch)[:batch]])
            chosen.append(worst)
        return np.concatenate(chosen)

    # --- the end ---------------------------------------------------------------------------------------------------------

    def adopt(self, decision: Decision) -> EndReason:
        """Replace the nearest points by those that were computed in fractions."""
        self.places = np.array(decision.places)
        v = point(self.rows, decision)
        self.corral = self._corral(self.places, self.corral.steps)
        self.corral.hold(np.array([float(a) for a in decision.weights]), v)
        self._measure(v, float(np.linalg.norm(v)))
        return "tolerance" if self.gap <= self.tol else "rounding"

    def result(self, reason: EndReason) -> Nearest:
        """The result, with the plane in the coordinates of the original rows."""
        rows, corral = self.rows, self.corral
        if not self.length > 0:
            raise ValueError("the rows of X differ in size by more than the range of floats: scale the features")
        total = float(self.smallest.sum())
        if not total > 0:
            total = self.length**2  # in floats the plane does not separate the rows, so it is scaled by |v|
        scale = rows.n_sides / total
        threshold = (self.smallest[0] - self.smallest[1]) / 2 * scale if rows.free else 0.0
        held = np.sort(np.array(corral.places))
        flat = bool(self.price.any()) and float(np.linalg.norm(self.v)) <= ZERO_LENGTH
        w = np.zeros_like(self.v) if flat else self.v * scale
        if flat and abs(threshold) <= ZERO_LENGTH * scale:
            threshold = 0.0
        with np.errstate(over="ignore"):
            coef, bias = rows.unscaled(w, threshold)
            multipliers = np.ldexp(corral.a * scale, 2 * rows.exponent)
        if not (np.isfinite(coef).all() and np.isfinite(bias) and (flat or abs(coef).max() > np.finfo(np.float64).tiny)):
            raise ValueError(
                f"values of about {short(rows.extent, 1)} in X give weights out of the range of floats: scale the features"
            )
        self.products[self.places] -= corral.price * corral.a
        canonical = self.products * scale
        if rows.free:
            canonical -= rows.signs * threshold
        margin = np.inf if flat else float(np.ldexp(1.0 / np.linalg.norm(w), -rows.exponent))
        if not rows.near and not self.price.any():
            # Weights and bias of a plane far from the origin lose digits, so the margins are computed from them again.
            canonical = rows.canonical(coef, bias)
            self.lower = min(self.lower, float(canonical.min()) / float(np.linalg.norm(w)))
            reason = "rounding" if reason == "tolerance" and self.gap > self.tol else reason
        order = np.argsort(self.places[held])
        held = held[order]
        return Nearest(
            coef, float(bias), rows.index[self.places[held]], multipliers[held], canonical, margin,
            self.gap, corral.steps, self.passes, self._stop(reason),
        )  # fmt: skip

    def _stop(self, reason: EndReason) -> Stop:
        gap = f"a gap of {short(self.gap, 2)}, above tol={short(self.tol, 6)}"
        done = f"after {plural(self.corral.steps, 'iteration')}"
        if reason == "tolerance":
            sentence = f"solved {done}: the margin is below the largest one by a relative {short(self.gap, 2)} at most"
            return Stop("tolerance", sentence, gap=self.gap)
        if reason == "steps":
            unsolved = "" if self.lower > 0 else "; the plane does not separate the rows"
            sentence = f"stopped after {plural(self.max_steps, 'iteration')} (the limit) with {gap}{unsolved}"
            return Stop("steps", sentence, limit=self.max_steps, gap=self.gap)
        return Stop("rounding", f"stopped by rounding errors {done} with {gap}: center and scale the features", gap=self.gap)


def _lengths(Z: Matrix, price: FloatArray) -> FloatArray:
    squares = np.einsum("ij,ij->i", Z, Z) if isinstance(Z, np.ndarray) else np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
    return np.sqrt(squares + price)
