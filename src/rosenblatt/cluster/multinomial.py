"""The multinomial logistic loss of several classes on blocks, for Newton's method in `svm/truncated_newton.py`.

Problem    as in `svm/multinomial.py`.
Update     the objective, its gradient and products with its Hessian are sums over blocks. The probabilities of the rows stay
           where they were computed, for the products of a step.
Guarantee  dual(p) <= optimum <= primal(W, b): the probabilities are moved to the sums that a free intercept requires, by sums
           over all rows, and both sides are evaluated on all rows in float64; where rounding errors would count, the sums of
           the dual have twice the digits.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..array_types import FloatArray
from ..estimators.row_weights import check_every_class_has_weight
from ..estimators.soft_margin import SoftMargin
from ..estimators.svm_base import margin_of
from ..kernels.linear.row_blocks import combine_twice
from ..kernels.linear.rows import EPS
from ..svm.balanced_shares import (
    balancing_mixture,
    balancing_shift,
    least_factor,
    mixed,
    normalized,
    sums_curvature,
)
from ..svm.limits import SolverLimits
from ..svm.multinomial import JOINT_SAMPLE_TOL, JointObjective, Multinomial, MultinomialLoss, shannon_entropy
from ..svm.row_blocks import MAX_LOST_SHARE, add_to_diagonal, cholesky_factor
from ..svm.stored_solution import StoredSolution
from ..svm.truncated_newton import Solve, minimize
from .block_set import BlockSet
from .blocks import Block
from .engine import Handle
from .sample import draw, join, sample_size


def fit_multinomial(estimator: SoftMargin, blocks: BlockSet, limits: SolverLimits) -> None:
    """Solve the problem of all classes, and set the attributes. Those with a number for each row stay unset."""
    k = len(blocks.classes)
    joint = Joint(k, float(estimator.C), estimator._x0, estimator._free)
    before = estimator._before(blocks.classes, blocks.n_features, blocks.n_rows, "multinomial")
    totals: FloatArray = blocks.sum(totals_of_block, joint)
    check_every_class_has_weight(totals, np.arange(k), blocks.classes)
    start = before[0] if before and before[0].W.shape == (k, blocks.n_features) else None
    found = solve_multinomial(blocks, joint, totals, limits, start)
    none = np.zeros(0)
    stored = StoredSolution(blocks.n_rows, np.zeros(0, np.int64), np.zeros((0, k)), replace(found, multipliers=none))
    attributes: dict[str, Any] = {
        "_scheme": "multinomial",
        "margin_": np.array([margin_of(found.W * np.sqrt(2.0))]),
        "gap_": np.array([found.gap]),
        "dual_gap_": np.array([max(0.0, found.primal - found.dual)]),
        "objective_": np.array([found.primal]),
        "n_iter_": found.n_iter,
        "solver_": ["newton"],
        "coef_": found.W,
        "intercept_": found.bias,
        "_solutions": [stored],
        "_n_rows": blocks.n_rows,
    }
    for name in ("support_", "multipliers_", "_margins", "_margin_rows", "_support_rows"):
        estimator.__dict__.pop(name, None)
    estimator.__dict__.update(attributes)
    estimator._end([(found.gap, found.n_iter)], limits)


class Joint(NamedTuple):
    """A problem of k classes: the cost of a row of weight 1, x_0, and whether the intercept has no penalty."""

    k: int
    C: float
    x0: float
    free: bool


def solve_multinomial(
    blocks: BlockSet, joint: Joint, totals: FloatArray, limits: SolverLimits, start: Multinomial | None = None
) -> Multinomial:
    """The solution; the gap is at most `limits.tol`, or as small as float64 allows."""
    objective = BlockMultinomial(blocks, joint, totals)
    v: FloatArray = np.zeros(objective.shape)
    wanted = sample_size(blocks)
    if start is not None:
        objective.of_classes(v)[:] = np.column_stack([start.W, start.bias / (joint.x0 or 1.0)])
    elif wanted is not None:
        parts = blocks.start(draw, wanted / blocks.n_rows, limits.seed)
        v = blocks.engine.gather([blocks.engine.submit(solve_sample, parts, joint, totals)])[0]
    found, _, steps, _ = minimize(objective, v.ravel(), limits)
    return replace(found, n_iter=steps)


# --- tasks ---------------------------------------------------------------------------------------------------------------


def loss_of(block: Block, joint: Joint, shares: FloatArray | None = None) -> MultinomialLoss:
    """The losses of the rows of a block, without penalty, and with their probabilities if they are known."""

    def make() -> MultinomialLoss:
        costs = joint.C * block.weights if block.weights.size else np.full(block.n_rows, joint.C)
        return MultinomialLoss(block.rows, block.codes, joint.k, costs, joint.x0, joint.free, 1, penalized=False)

    found: MultinomialLoss = copy(block.derived(joint, make))
    found.shares = np.empty_like(found.shares) if shares is None else shares
    return found


def solve_sample(parts: list[Block], joint: Joint, totals: FloatArray) -> FloatArray:
    """The weights of a sample, whose classes cost what they cost in all rows; zeros if the sample lacks a class."""
    block = join(parts)
    costs = block.weights if block.weights.size else np.ones(block.n_rows)
    sums = np.bincount(block.codes, costs, joint.k)
    if not sums.min() > 0.0:
        return np.zeros_like(loss_of(block, joint).penalty)
    loss = MultinomialLoss(block.rows, block.codes, joint.k, costs * (totals / sums)[block.codes], joint.x0, joint.free, 1)
    v: FloatArray = minimize(loss, np.zeros(loss.penalty.size), SolverLimits(JOINT_SAMPLE_TOL))[1]
    return v


def totals_of_block(block: Block, joint: Joint) -> FloatArray:
    """The cost of the rows of each class."""
    return loss_of(block, joint).totals.copy()  # sums may be made in place


def value_and_gradient(block: Block, joint: Joint, v: FloatArray) -> tuple[float, FloatArray]:
    """The loss of the rows at v, and its gradient."""
    return loss_of(block, joint).at(v)


def shares_of_block(block: Block, joint: Joint, v: FloatArray) -> FloatArray:
    """The probabilities of the classes of each row at v."""
    loss = loss_of(block, joint)
    loss.at(v)
    return loss.shares


def hessian_product(block: Block, shares: FloatArray, joint: Joint, p: FloatArray) -> FloatArray:
    """The Hessian of the loss times p."""
    return loss_of(block, joint, shares).product(p)


def diagonal(block: Block, shares: FloatArray, joint: Joint) -> FloatArray:
    """The diagonal of the Hessian of the loss."""
    return loss_of(block, joint, shares).diagonal()


def mean_curvature(block: Block, shares: FloatArray, joint: Joint, step: int) -> tuple[FloatArray, float]:
    """The mean block of the Hessian on its diagonal, of one row in `step` of all blocks, and the cost of these rows."""
    loss = loss_of(block, joint, shares)
    some = np.flatnonzero((block.start + loss.wanted) % step == 0)
    if not len(some):
        return np.zeros((loss.width + 1, loss.width + 1), order="F"), 0.0
    return loss.mean_curvature(some, 1.0), float(loss.costs[some].sum())


def sums_of_shares(block: Block, shares: FloatArray, joint: Joint) -> tuple[FloatArray, FloatArray]:
    """The sums of the probabilities of each class, and how they change with a shift of the scores."""
    costs = loss_of(block, joint, shares).costs
    return costs @ shares, sums_curvature(shares, costs)


def sums_of_moved_shares(
    block: Block, shares: FloatArray, joint: Joint, shift: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """The least factor of a shift, and the sums of the probabilities after it and without it."""
    costs = loss_of(block, joint, shares).costs
    return least_factor(shares, shift), costs @ normalized(shares, shift), costs @ normalized(shares, None)


Moved = tuple[float, FloatArray, FloatArray]


def _least_and_sums(a: Moved, b: Moved) -> Moved:
    return min(a[0], b[0]), a[1] + b[1], a[2] + b[2]


class Balance(NamedTuple):
    """How probabilities become feasible multipliers: a shift, a mixture, and a factor that makes the multipliers shorter."""

    shift: FloatArray  # empty: none
    share: float
    added: FloatArray
    factor: float = 1.0


def _feasible(loss: MultinomialLoss, joint: Joint, balance: Balance) -> FloatArray:
    """The probabilities of the multipliers of a block."""
    shares = loss.shares.copy()
    if joint.free:
        shares = mixed(normalized(shares, balance.shift if balance.shift.size else None), balance.share, balance.added)
    if balance.factor < 1.0:
        loss.shorten(shares, balance.factor)
    return shares


def entropy(block: Block, shares: FloatArray, joint: Joint, balance: Balance) -> float:
    """The entropy of the multipliers."""
    loss = loss_of(block, joint, shares)
    return shannon_entropy(_feasible(loss, joint, balance), loss.costs)


class DualTerms(NamedTuple):
    """Of the multipliers a: their entropy, sum_i |a_i|, sum_i a_i, and sum_i a_i x_i in the layout of the rows."""

    entropy: float
    size: float
    intercepts: FloatArray
    columns: FloatArray


def dual_terms(block: Block, shares: FloatArray, joint: Joint, balance: Balance) -> DualTerms:
    """What the dual objective has of the rows of a block."""
    loss = loss_of(block, joint, shares)
    feasible = _feasible(loss, joint, balance)
    signed = loss._signed(feasible)
    return DualTerms(shannon_entropy(feasible, loss.costs), float(abs(signed).sum()), signed.sum(axis=0), loss.sums(signed))


def sums_twice(block: Block, shares: FloatArray, joint: Joint, balance: Balance) -> tuple[FloatArray, FloatArray]:
    """sum_i a_i x_i of each class as the sum of two arrays, with twice the digits."""
    loss = loss_of(block, joint, shares)
    total, rest = np.zeros((2, joint.k, loss.width))
    for m, own in enumerate(np.ascontiguousarray(loss._signed(_feasible(loss, joint, balance)).T)):
        combine_twice(loss.rows, loss.wanted, own, total[m], rest[m])
    return total, rest


Twice = tuple[FloatArray, FloatArray]


def add_twice(a: Twice, b: Twice) -> Twice:
    """The sum of two numbers of twice the digits (Knuth's two-sum)."""
    total = a[0] + b[0]
    other = total - a[0]
    return total, a[1] + b[1] + ((a[0] - (total - other)) + (b[0] - other))


# --- the objective -------------------------------------------------------------------------------------------------------


class BlockMultinomial(JointObjective):
    """The objective on the rows of all blocks."""

    def __init__(self, blocks: BlockSet, joint: Joint, totals: FloatArray) -> None:
        facts = blocks.facts
        super().__init__(facts.width, joint.k, facts.sparse, joint.x0, joint.free, facts.rows, float(facts.stored))
        self.blocks, self.joint, self.totals = blocks, joint, totals
        self._v: FloatArray = np.zeros(self.penalty.size)
        self._kept: list[Handle] | None = None

    def at(self, v: FloatArray) -> tuple[float, FloatArray]:
        """The objective and its gradient at v, which becomes the point of the other methods."""
        self._v, self._kept = v, None
        loss, gradient = self.blocks.sum(value_and_gradient, self.joint, v, size=v.nbytes)
        penalty = self.penalty.ravel() * v
        return float(loss) + 0.5 * float(v @ penalty), gradient + penalty

    def _shares(self) -> list[Handle]:
        if self._kept is None:
            self._kept = self.blocks.start(shares_of_block, self.joint, self._v)
        return self._kept

    def _sum(self, task: Any, *arguments: Any, size: int = 0, **options: Any) -> Any:
        return self.blocks.sum(task, self.joint, *arguments, of_each=[self._shares()], size=size, **options)

    def product(self, p: FloatArray) -> FloatArray:
        """The Hessian times p."""
        found: FloatArray = self._sum(hessian_product, p, size=p.nbytes)
        return found + self.penalty.ravel() * p

    def precondition(self) -> Solve:
        """As for rows in memory; the rows that show the products of columns are spread over all blocks."""
        if not self.blocked:
            squares = self._sum(diagonal, size=self._v.nbytes) + self.of_classes(self.penalty)
            inverse = 1.0 / self.of_classes(squares).ravel()
            return lambda right: right * inverse
        size, step = 8 * (self.width + 1) ** 2, self.matrix_step
        H, cost = self._sum(mean_curvature, step, size=size)
        if not cost > 0.0:
            H, cost = self._sum(mean_curvature, 1, size=size)
        H = H * (float(self.totals.sum()) / cost)
        add_to_diagonal(H, self.of_classes(self.penalty)[0])
        return partial(self._solve, cholesky_factor(H))

    def solution(self, v: FloatArray, value: float) -> Multinomial:
        """The weights and the bounds; `at(v)` was called last."""
        balance = self._balance() if self.free else Balance(np.zeros(0), 0.0, np.zeros(0))
        terms: DualTerms = self._sum(dual_terms, balance, size=v.nbytes)
        gain, loss = terms.entropy, 0.5 * self._length(terms, balance, value)
        if 2.0 * loss > gain:  # shorter multipliers have a better bound, above 0
            factor = 0.5 * gain / loss
            gain, loss = self._sum(entropy, balance._replace(factor=factor)), loss * factor * factor
        return self.found(v, np.zeros((0, self.k)), value, gain - loss)

    def _balance(self) -> Balance:
        sums, curvature = self._sum(sums_of_shares, size=8 * self.k**2)
        shift = balancing_shift(sums, curvature, self.totals)
        least, after, without = self._sum(sums_of_moved_shares, shift, combine=_least_and_sums)
        if least > 0.0:
            return Balance(shift, *balancing_mixture(after, self.totals))
        return Balance(np.zeros(0), *balancing_mixture(without, self.totals))

    def _length(self, terms: DualTerms, balance: Balance, value: float) -> float:
        """sum_m |sum_i a_im p_i|^2"""
        total = 0.0 if self.free else self.x0**2 * float(np.square(terms.intercepts).sum())
        lost = float(np.sqrt(self.blocks.n_rows * self.blocks.facts.longest)) * EPS * terms.size
        if lost * (float(np.sqrt(value)) + lost) <= MAX_LOST_SHARE * value:
            return total + float(np.square(terms.columns).sum())
        sums, rest = self._sum(sums_twice, balance, size=2 * self._v.nbytes, combine=add_twice)
        return total + float(np.square(sums + rest).sum())
