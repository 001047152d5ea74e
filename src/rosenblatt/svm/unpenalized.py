"""Logistic regression without a penalty: the weights of largest likelihood, with a bound from the dual.

Problem    min over w, b:  sum_i C_i log(1 + exp(-m_i)), or the multinomial loss: those of `logistic.py` and `multinomial.py`
           without |w|^2. The minimum exists exactly if the classes overlap (`certificates/likelihood.py`).
Dual       max over a:  the entropy of `logistic.py` or `multinomial.py`,  s.t.  sum_i a_i y_i (x_i, x_0) = 0.
Update     Newton's steps from zero, H d = -g. Columns that are combinations of others leave H singular: the directions in
           which no score changes are found once, and get a curvature of their own. At the end they are removed from the
           weights, so that |w| is as small as possible, as in the limit of growing C.
Guarantee  The multipliers of weights are moved by A d, along their curvatures, to the dual's constraint, again until it holds
           up to rounding errors. If that changes each by at most half, and the least curvature of the loss is more than these
           errors can hide, the classes overlap: the multipliers are positive (Stiemke). The dual's value at them, less what is
           left of the constraint for weights up to twice the length of those found, is a lower bound. Otherwise the bound is
           0, which no loss passes. Of many columns the curvature is not computed: there, no multiplier may be tiny.
Reference  A. Albert and J. A. Anderson, Biometrika 71 (1984); E. Stiemke, Math. Annalen 76 (1915).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from ..array_types import FloatArray, IntArray
from ..kernels.linear.margin_losses import add_squares
from ..kernels.linear.rows import EPS, Rows
from .limits import SolverLimits
from .logistic import BinaryLogistic, LogisticLoss, entropy
from .multinomial import Multinomial, MultinomialLoss, shannon_entropy
from .problem import Solution
from .row_blocks import Blocks, add_to_diagonal
from .truncated_newton import SPARE, Found, Smooth, Solve, conjugate_gradients, move

# Where classes are separated, each step lengthens the weights: a minimum is found in fewer steps, or rounding errors hide it.
MAX_STEPS = 40
MAX_CHANGE = 0.5  # of a multiplier, or of what is left of its cost, on the way to the constraint
MAX_CORRECTIONS = 12  # solutions for what the step before has left of the constraint
RANK_TOL = 1e-13  # eigenvalues of the matrix of products of columns of length 1 that count as zero, relative to the largest
LEAST_SHARE = 1e-8  # of a multiplier in its cost, and of the rest, if the curvature is not computed
MAX_CURVATURE_WIDTH = 2000  # of the Hessian of several classes
NEAR_GAP = 4.0  # the bound is computed once the expected decrease is below this times the tolerance


class Likelihood(Smooth[Found], Protocol[Found]):
    """A log-likelihood, without a penalty."""

    moved: FloatArray  # the multipliers of the last `at`, on their way to the constraint of the dual

    def separated(self) -> bool:
        """Whether the weights of the last `at` separate all rows, so that there is no minimum."""

    def move_multipliers(self, direction: FloatArray) -> bool:
        """Move the multipliers of the last `at` along their curvatures; False if one would change too much."""

    def excess(self) -> FloatArray:
        """What is left of the constraint of the dual at the multipliers."""

    def overlap(self) -> bool:
        """Whether the classes overlap, if all multipliers are positive: whether rounding errors cannot hide a separation."""

    def rounding_loss(self, excess: FloatArray, v: FloatArray) -> float:
        """By how much weights up to twice the length of v, in units of the columns, may pass the dual's value."""

    def bounded(self, v: FloatArray, value: float, proved: bool) -> Found:
        """The point with the bound from the multipliers; 0 if not `proved`."""


class NullSpace:
    """The directions in which no row has a score, for columns of length 1."""

    def __init__(self, gram: FloatArray, scales: FloatArray) -> None:
        scaled = np.triu(gram) / scales / scales[:, None]
        values, vectors = np.linalg.eigh(scaled, UPLO="U")
        self.scaled = vectors[:, values <= RANK_TOL * max(1.0, float(values[-1]))]
        self.directions = self.scaled / scales[:, None]
        pushed = self.scaled * scales[:, None]
        self.curvature = pushed @ pushed.T  # added to a Hessian, with a factor

    def remove(self, v: FloatArray, counted: int) -> FloatArray:
        """The weights v without the directions, so that the length of the first `counted` ones is least."""
        if self.directions.shape[1] == 0:
            return v
        share = np.linalg.lstsq(self.directions[:counted], v[:counted], rcond=None)[0]
        left: FloatArray = v - self.directions @ share
        return left


def column_lengths(rows: Rows, wanted: IntArray, width: int, x0: float) -> FloatArray:
    """The lengths of the columns of (x, x_0); 1 for columns of zeros."""
    squares = np.zeros(width)
    add_squares(rows, wanted, np.ones(len(wanted)), squares)
    found: FloatArray = np.sqrt(np.append(squares, x0 * x0 * len(wanted)))
    found[found == 0.0] = 1.0
    return found


def least_curvature_shows(H: FloatArray, scales: FloatArray, excess: FloatArray) -> bool:
    """Whether a Hessian, given as its upper triangle, has curvatures that no direction which separates has.

    Let u be such a direction, of length 1 for columns of length 1, with products d >= 0 of a row against another class. The
    multipliers a, at least half of which are left, have sum a d <= 2 |excess|, and the curvature along u, at most sum a d^2, is
    at most that times the largest d: 2 sqrt(2 |x|^2).
    """
    scaled = np.triu(H) / scales / scales[:, None]
    values = np.linalg.eigvalsh(scaled, UPLO="U")
    hidden = float(np.linalg.norm(excess / scales)) * 2.0 * np.sqrt(2.0 * len(H))
    return bool(values[0] > hidden + len(H) * EPS * values[-1])


class BinaryLikelihood(LogisticLoss):
    """The likelihood of two classes."""

    def __init__(self, svm: BinaryLogistic, n_jobs: int) -> None:
        super().__init__(svm, svm.visited, svm.costs[svm.seen], n_jobs)
        self.penalty = np.append(np.zeros(svm.width), float(svm.x0 == 0.0))
        self.scales = column_lengths(svm.rows, self.wanted, svm.width, svm.x0)
        self.null = NullSpace(self._blocks().gram(np.ones(len(self.wanted))), self.scales) if self.has_matrix else None
        self.moved: FloatArray = np.empty(0)

    def at(self, v: FloatArray) -> tuple[float, FloatArray]:
        found = super().at(v)
        self.moved = self.pulls.copy()
        return found

    def separated(self) -> bool:
        return bool(self.margins.min() > 0.0)

    def _curvature(self) -> FloatArray:
        H = super()._curvature()
        if self.null is not None and self.null.scaled.shape[1]:
            H += float((np.diag(H) / self.scales**2).max()) * self.null.curvature
        return H

    def move_multipliers(self, direction: FloatArray) -> bool:
        change = self.bends * self._blocks().product(direction)
        self.moved = self.moved - change
        rest = self.costs - self.pulls
        return bool((abs(self.moved - self.pulls) <= MAX_CHANGE * np.minimum(self.pulls, rest)).all())

    def excess(self) -> FloatArray:
        return self._blocks().sum(self.moved)

    def rounding_loss(self, excess: FloatArray, v: FloatArray) -> float:
        return 2.0 * float(np.linalg.norm(excess / self.scales)) * float(np.linalg.norm(v * self.scales))

    def overlap(self) -> bool:
        if not self.has_matrix:
            return bool((np.minimum(self.pulls, self.costs - self.pulls) >= LEAST_SHARE * self.costs).all())
        return least_curvature_shows(self._curvature(), self.scales, self.excess())

    def bounded(self, v: FloatArray, value: float, proved: bool) -> Solution:
        svm, n = self.svm, len(self.svm.signs)
        dual = 0.0
        if proved:
            dual = max(0.0, entropy(self.moved, self.costs) - self.rounding_loss(self.excess(), v))
        if self.null is not None:
            v = self.null.remove(v, svm.width + (not svm.free))
        multipliers, margins = np.zeros(n), np.full(n, np.nan)
        multipliers[self.wanted], margins[self.wanted] = self.moved, self.margins
        return Solution(v[:-1].copy(), svm.x0 * float(v[-1]), multipliers, value, dual, margins, svm.costs)


class SeveralLikelihood(MultinomialLoss):
    """The likelihood of several classes."""

    def __init__(self, rows: Rows, codes: IntArray, k: int, costs: FloatArray, x0: float, free: bool, n_jobs: int,
        longest: float,
    ) -> None:  # fmt: skip
        super().__init__(rows, codes, k, costs, x0, free, n_jobs, longest)
        self.penalty = np.zeros(self.shape)
        self.of_classes(self.penalty)[:, -1] = float(x0 == 0.0)
        self.scales = column_lengths(rows, self.wanted, self.width, x0)
        ones = np.ones(len(self.wanted))
        blocks = Blocks(rows, self.wanted, ones, x0, self.width)
        self.null = NullSpace(blocks.gram(ones), self.scales) if self.blocked else None
        self.moved: FloatArray = np.empty(0)

    def at(self, v: FloatArray) -> tuple[float, FloatArray]:
        found = super().at(v)
        self.moved = self.shares.copy()
        return found

    def separated(self) -> bool:
        own = self.shares[np.arange(len(self.codes)), self.codes]
        others = self.shares.copy()
        others[np.arange(len(self.codes)), self.codes] = 0.0
        return bool((own > others.max(axis=1)).all())

    def _curvature(self, blocks: Blocks, bends: FloatArray, penalty: FloatArray) -> FloatArray:
        H = super()._curvature(blocks, bends, penalty)
        if self.null is not None and self.null.scaled.shape[1]:
            H += float((np.diag(H) / self.scales**2).max()) * self.null.curvature
        return H

    def move_multipliers(self, direction: FloatArray) -> bool:
        W, b = self._split(direction)
        along = self._scores(W, b)
        along -= np.einsum("rm,rm->r", self.shares, along)[:, None]
        self.moved = self.moved + self.shares * along
        return bool((abs(self.moved - self.shares) <= MAX_CHANGE * self.shares).all())

    def excess(self) -> FloatArray:
        signed, found = self._signed(self.moved), np.empty(self.shape)
        for column, out in zip(np.ascontiguousarray(signed.T), self.of_classes(found), strict=True):
            ones = np.ones(len(column))
            out[:] = Blocks(self.rows, self.wanted, ones, self.x0, self.width).sum(column)
        return found.ravel()

    def overlap(self) -> bool:
        side = self.width + 1
        if self.null is None or (self.k - 1) * side > MAX_CURVATURE_WIDTH:
            return bool((self.shares >= LEAST_SHARE).all())
        # Without the first class, whose weights may be zero: only differences between classes count.
        blocks = Blocks(self.rows, self.wanted, np.ones(len(self.wanted)), self.x0, self.width)
        H = np.empty(((self.k - 1) * side, (self.k - 1) * side))
        for m in range(1, self.k):
            for z in range(m, self.k):
                p = self.shares[:, m] * (1.0 - self.shares[:, m] if z == m else self.shares[:, z])
                part = np.triu(blocks.gram(self.costs * p, self.n_jobs))
                if z == m:
                    add_to_diagonal(part, self.of_classes(self.penalty)[m])
                    part += float((np.diag(part) / self.scales**2).max()) * np.triu(self.null.curvature)
                part = part + np.triu(part, 1).T
                H[(m - 1) * side : m * side, (z - 1) * side : z * side] = part if z == m else -part
        excess = self.of_classes(self.excess().reshape(self.shape))[1:]
        return least_curvature_shows(H, np.tile(self.scales, self.k - 1), excess.ravel())

    def rounding_loss(self, excess: FloatArray, v: FloatArray) -> float:
        E, V = self.of_classes(excess.reshape(self.shape)), self.of_classes(v.reshape(self.shape))
        return 2.0 * float(np.linalg.norm(E / self.scales)) * float(np.linalg.norm((V - V.mean(axis=0)) * self.scales))

    def bounded(self, v: FloatArray, value: float, proved: bool) -> Multinomial:
        dual = 0.0
        if proved:
            dual = max(0.0, shannon_entropy(self.moved, self.costs) - self.rounding_loss(self.excess(), v))
        V = self.of_classes(v.reshape(self.shape))
        V = np.asarray(V - V.mean(axis=0))  # a change of all classes alike changes nothing
        if self.null is not None:
            V = np.stack([self.null.remove(each, self.width + (not self.free)) for each in V])
        multipliers = np.zeros((self.n, self.k))
        multipliers[self.wanted] = self._signed(self.moved)
        return Multinomial(np.ascontiguousarray(V[:, :-1]), self.x0 * V[:, -1], multipliers, value, dual, 0)


def maximize(likelihood: Likelihood[Found], v: FloatArray, limits: SolverLimits) -> tuple[Found, int]:
    """The solution and the number of steps; its gap is 1 if the classes are separated, or if that could not be excluded."""
    value, gradient = likelihood.at(v)
    most = min(limits.max_iter, MAX_STEPS)
    steps = 0
    while steps < most and not likelihood.separated():
        solve = likelihood.precondition()
        direction = _solve(likelihood, solve, gradient)
        decrease = -float(gradient @ direction)
        if not decrease >= 0.0:
            break
        if 0.5 * decrease <= NEAR_GAP * limits.tol * value:
            found = _bound(likelihood, solve, v, value, direction, SPARE * limits.tol * value)
            limits.report(steps, found.gap)
            if found.gap <= limits.tol:
                return found if likelihood.overlap() else likelihood.bounded(v, value, False), steps
        else:
            limits.report(steps, min(1.0, 0.5 * decrease / value))
        v, value, gradient = move(likelihood, v, value, direction, decrease)
        steps += 1
    return likelihood.bounded(v, value, False), steps


def _solve(likelihood: Likelihood[Found], solve: Solve, right: FloatArray) -> FloatArray:
    """The solution d of H d = -right, or near it."""
    return -solve(right) if likelihood.has_matrix else conjugate_gradients(likelihood.product, right, solve, 0.0)[0]


def _bound(
    likelihood: Likelihood[Found], solve: Solve, v: FloatArray, value: float, direction: FloatArray, enough: float
) -> Found:
    """The point with the bound from its multipliers, moved to the constraint until rounding errors cost at most `enough`."""
    least = np.inf
    for _ in range(MAX_CORRECTIONS):
        before = likelihood.moved
        if not likelihood.move_multipliers(direction):
            return likelihood.bounded(v, value, False)
        left = likelihood.excess()
        lost = likelihood.rounding_loss(left, v)
        if not lost < least:
            likelihood.moved = before
            break
        if lost <= enough:
            break
        least, direction = lost, _solve(likelihood, solve, -left)
    return likelihood.bounded(v, value, True)


def solve_binary_likelihood(svm: BinaryLogistic, limits: SolverLimits, start: Solution | None = None) -> tuple[Solution, int]:
    """The weights of largest likelihood of two classes, and the number of steps."""
    v: FloatArray = np.zeros(svm.width + 1)
    if start is not None:
        v[:-1], v[-1] = start.w, start.intercept / (svm.x0 or 1.0)
    return maximize(BinaryLikelihood(svm, limits.n_jobs), v, limits)


def solve_multinomial_likelihood(
    rows: Rows, codes: IntArray, k: int, costs: FloatArray, *, x0: float, free: bool, longest: float,
    limits: SolverLimits, start: Multinomial | None = None,
) -> Multinomial:  # fmt: skip
    """The weights of largest likelihood of several classes."""
    likelihood = SeveralLikelihood(rows, codes, k, costs, x0, free, limits.n_jobs, longest)
    v = np.zeros(likelihood.shape)
    if start is not None:
        likelihood.of_classes(v)[:] = np.column_stack([start.W, start.bias / (x0 or 1.0)])
    found, steps = maximize(likelihood, v.ravel(), limits)
    return replace(found, n_iter=steps)
