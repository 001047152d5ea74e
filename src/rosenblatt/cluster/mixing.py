"""Mixed runs of online learners: iterative parameter mixing.

Problem    as on one machine.
Update     in each epoch, every shard of blocks makes one pass from the same weights w; the next w is the average of the weights
           of all shards, w = sum_i mu_i w_i, with mu_i = 1/S for each of the S shards.
Guarantee  perceptrons from w = 0 on separable rows: with k_{i,n} updates of shard i in epoch n, sum_n sum_i mu_i k_{i,n} is at
           most (R^2 + 2 margin/rho)/gamma^2; with k classes that compete, 2 margin/rho is halved. For each shard,
           <w_i, u> grows by at least rho gamma with an update, and |w_i|^2 by at most rho^2 R^2 + 2 rho margin; averages keep
           both, because squares are convex. So the run ends, after at most S times as many epochs with an update.
Reference  R. McDonald, K. Hall and G. Mann, Distributed training strategies for the structured perceptron, NAACL 2010,
           theorem 3.

Averaging once, after separate runs, need not separate separable rows (theorem 2 there), and is not offered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..array_types import Array, BoolArray, FloatArray, IntArray
from ..data.problem import all_finite, as_heads, zero_sums
from ..estimators.online import OnlineClassifier
from ..estimators.perceptron import Perceptron
from ..kernels.linear.schemes import Binary, Joint, Rest, State
from ..online.rules.perceptron import PerceptronRule
from ..online.run import RunResult, RunState, raise_out_of_range, reads_norms
from ..online.run_point import RunPoint, point_of
from ..online.scans import limited_heads, mark_separated
from ..online.solver import clean_heads, retire_after_pass
from ..reporting.text import short
from .block_set import BlockSet
from .blocks import Block
from .engine import Handle
from .exact import Route, scan_block, sweep_block, task_config
from .learner import Learner, Scheme, prepare_run, store_run
from .options import RunOptions
from .travel import blocks_of_pass, shards_of, submit_chain
from .tree import submit_tree


@dataclass(frozen=True)
class MixingReport:
    """The convergence of a run by iterative parameter mixing.

    Parameters
    ----------
    updates : ndarray of shape (n_epochs, n_shards, n_heads)
        The updates of each shard in each epoch: of all classes together, or of each one-vs-rest head.
    mu : ndarray of shape (n_epochs, n_shards)
        The share of each shard in the weights after each epoch.
    radius : float
        R, the length of the longest augmented row.
    slack : float or None
        What is added to R^2 in the bound: 2 margin/rho, or half of it for classes that compete. None: no bound holds, because
        the run was no perceptron of constant step from zero weights, or because rows have weights.
    margins : ndarray of shape (n_heads,)
        The margin of the plane of each head that separated the rows, with weights of length 1; NaN for the others. The gamma
        of the bound may be this or any larger one.

    See Also
    --------
    rosenblatt.cluster.fit : Fit an estimator to rows in blocks, with mode="mixed".

    Examples
    --------
    >>> import numpy as np
    >>> import rosenblatt as rb
    >>> X, y = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([0, 0, 0, 1])
    >>> model = rb.cluster.fit(rb.Perceptron(max_iter=None, random_state=0), (X, y), mode="mixed", block_rows=2)
    >>> model.stop_.reason, model.mixing_.shards, bool(model.mixing_.check())
    ('separated', 2, True)
    """

    updates: IntArray
    mu: FloatArray
    radius: float
    slack: float | None
    margins: FloatArray

    @property
    def epochs(self) -> int:
        """The number of epochs."""
        return len(self.updates)

    @property
    def shards(self) -> int:
        """The number of shards."""
        return int(self.updates.shape[1])

    @property
    def weighted_updates(self) -> FloatArray:
        """The sum over epochs and shards of mu times the updates, for each head."""
        total: FloatArray = np.einsum("es,esh->h", self.mu, self.updates)
        return total

    def bound(self, gamma: float | Array | None = None) -> FloatArray:
        """Return the largest possible sum of mu times the updates, for each head.

        Parameters
        ----------
        gamma : float or array of shape (n_heads,), default=None
            The margin of a plane that separates the rows. None: that of the plane of the run, NaN where it does not.

        Returns
        -------
        bound : ndarray of shape (n_heads,)
            (R^2 + slack)/gamma^2.
        """
        if self.slack is None:
            raise ValueError(
                "no bound holds for this run: it needs a Perceptron with init='zeros' and without warm_start and weights"
            )
        known = self.margins if gamma is None else np.broadcast_to(np.asarray(gamma, np.float64), self.margins.shape)
        found: FloatArray = (self.radius**2 + self.slack) / np.square(known)
        return found

    def check(self, gamma: float | Array | None = None) -> bool:
        """Return whether the sum of mu times the updates is at most its bound, for each head whose gamma is known.

        Parameters
        ----------
        gamma : float or array of shape (n_heads,), default=None
            The margin of a plane that separates the rows. None: that of the plane of the run.

        Returns
        -------
        holds : bool
            False would refute the theorem, or the run.
        """
        bound = self.bound(gamma)
        return bool((self.weighted_updates <= bound)[~np.isnan(bound)].all())

    def __str__(self) -> str:
        made = ", ".join(short(total, 6) for total in self.weighted_updates)
        text = f"{self.epochs} epochs of {self.shards} shards, sum of mu * updates: {made}"
        if self.slack is None or np.isnan(self.margins).all():
            return text
        return f"{text}; at most {', '.join(short(each, 6) for each in self.bound())} with the margin of the plane"


def fit_mixed(estimator: OnlineClassifier, blocks: BlockSet, options: RunOptions) -> None:
    """Run an estimator on shards of the blocks, and set the attributes."""
    check_mixes(estimator)
    learner = prepare_run(estimator, blocks)
    if reads_norms(learner.rule):
        raise ValueError(
            f"the margin of {type(estimator).__name__} depends on all updates, which shards do not know: use mode='exact'"
        )
    run = MixedRun(blocks, learner, shards_of(learner.used, options.shards))
    result = run.epochs()
    store_run(estimator, blocks, learner, result)
    slack = slack_of(estimator, learner)
    margins = np.full(learner.n_heads, np.nan)
    if slack is not None:
        separated = np.array([stop.separated for stop in result.stops])
        margins[separated] = margins_of(blocks, learner, result.state)[separated]
    radius = float(np.sqrt(blocks.facts.longest + learner.scheme.x0**2))
    updates, mu = np.array(run.updates), np.full((len(run.updates), len(run.shards)), run.mu)
    estimator.__dict__["mixing_"] = MixingReport(updates, mu, radius, slack, margins)


def check_mixes(estimator: OnlineClassifier) -> None:
    """Raise an error for a parameter that counts the updates or measures the weights of a single run."""
    for name in ("max_updates", "w_max"):
        value = getattr(estimator, name, None)
        if value is not None:
            raise ValueError(f"{name}={value!r} may end a run within a pass, which shards make separately: use mode='exact'")
    if callable(getattr(estimator, "step", None)):
        raise ValueError("step is a function of the number of updates, which shards do not know: use mode='exact' or a number")


def slack_of(estimator: OnlineClassifier, learner: Learner) -> float | None:
    """What a margin adds to R^2 in the bound on updates; None if no bound holds."""
    zero = not (learner.start.w.any() or learner.start.bias.any())
    if not (isinstance(estimator, Perceptron) and isinstance(learner.rule, PerceptronRule) and zero):
        return None
    if learner.outline.weighted:
        return None
    factor = 1.0 if isinstance(learner.outline.labels, Joint) else 2.0
    return None if callable(learner.config.step) else factor * learner.rule.margin / learner.config.step


class MixedRun:
    """A mixed run: the client's side."""

    def __init__(self, blocks: BlockSet, learner: Learner, shards: list[list[int]]) -> None:
        self.blocks, self.learner, self.shards = blocks, learner, shards
        self.mu = 1.0 / len(shards)
        self.run = RunState(learner.outline, learner.rule, replace(learner.config, keep_log=False), learner.start, None)
        self.route = Route(learner.scheme, learner.rule, task_config(learner.config))
        self.updates: list[IntArray] = []  # of each epoch: shards x heads
        # The sum of the weights after each row visited, in all shards.
        self.total = None if learner.sums is None else zero_sums(learner.start)

    def epochs(self) -> RunResult:
        """Make all epochs."""
        run = self.run
        while run.heads:
            self._epoch()
            clean = clean_heads(run)
            if clean and run.config.order == "random":
                clean = self._without_violation(clean)
            run.report(run.passes, 0)
            retire_after_pass(run, clean)
        limited = limited_heads(run)
        if limited:
            mark_separated(run, self._without_violation(limited))
        result = run.result(run.passes)
        return result if self.total is None else replace(result, sums=self._sums(result))

    def _epoch(self) -> None:
        """Run all shards from the same weights, and average theirs."""
        run, engine, config = self.run, self.blocks.engine, self.run.config
        sums = None if self.total is None else zero_sums(run.state)
        run.before = run.state.counts.copy()
        start = engine.put(replace(point_of(run), sums=sums, clock=0, begun=0))
        ends: list[Handle] = []
        for shard in self.shards:
            rows = sum(self.learner.visited[number] for number in shard)
            value = engine.submit(begin_shard, start, rows)
            order = blocks_of_pass(config.order, config.seed, run.passes, shard)
            ends.append(submit_chain(self.blocks, order, sweep_block, value, self.route, run.passes, 0))
        self.blocks.work.rows += run.pass_rows
        parts = [partial(engine.submit, part_of_mixture, end, self.mu) for end in ends]
        mixture, *made = engine.gather([submit_tree(engine, parts), *(engine.submit(updates_in_shard, end) for end in ends)])
        updates: IntArray = np.array(made)
        self.updates.append(updates)
        self._move(mixture, updates.sum(axis=0))

    def _move(self, mixture: Mixture, made: IntArray) -> None:
        """Take the averaged weights of the heads that moved, and count their updates and rows."""
        run, total = self.run, self.total
        w, bias, visited_w, visited_bias = mixture
        state, rows, visited = run.state, run.problem.rows, run.pass_rows
        moved, running = self._planes(made > 0), self._planes(np.isin(np.arange(len(made)), run.heads))
        run.state = state._replace(w=state.w.copy(), bias=state.bias.copy(), counts=state.counts + made)
        as_heads(run.state.w, rows)[moved] = as_heads(w, rows)[moved]
        run.state.bias[moved] = bias[moved]
        if not (all_finite(run.state.w) and np.isfinite(run.state.bias).all()):
            raise_out_of_range(run.problem)
        if total is not None:
            as_heads(total.w, rows)[running] += as_heads(visited_w, rows)[running]
            total.bias[running] += visited_bias[running]
        run.clock, run.passes = run.clock + visited, run.passes + 1
        run.sweep_all()

    def _planes(self, heads: BoolArray) -> BoolArray:
        """The weight vectors of heads: classes that compete are one head."""
        return np.broadcast_to(heads, self.run.state.bias.shape)

    def _without_violation(self, heads: list[int]) -> list[int]:
        """The heads for which a scan of all blocks finds no violation."""
        found = self.blocks.each(scan_block, self.blocks.engine.put(point_of(self.run)), self.route, heads)
        return [h for h in heads if all(h in each for each in found)]

    def _sums(self, result: RunResult) -> State:
        """The sums of `readings.average`, whose weights are the mean of those after each row visited in all shards."""
        assert self.total is not None
        last, total, rows = result.state, self.total, self.run.problem.rows
        times = np.broadcast_to(result.durations.astype(np.float64), last.bias.shape)
        sums = zero_sums(last)
        as_heads(sums.w, rows)[...] = as_heads(last.w, rows) * times[:, None] - as_heads(total.w, rows)
        sums.bias[:] = last.bias * times - total.bias
        return sums


# --- tasks ---------------------------------------------------------------------------------------------------------------


class Mixture(NamedTuple):
    """Sums over shards, in float64: of their weights times mu, and of their weights after each row (empty: no average)."""

    w: FloatArray
    bias: FloatArray
    visited_w: FloatArray
    visited_bias: FloatArray


def begin_shard(point: RunPoint, rows: int) -> RunPoint:
    """The first point of a shard, which has this number of rows."""
    return replace(point, pass_rows=rows)


def part_of_mixture(end: RunPoint, mu: float) -> Mixture:
    """What a shard contributes at the end of its pass."""
    state, sums = end.state, end.sums
    w = state.w.astype(np.float64)
    if sums is None:
        return Mixture(mu * w, mu * state.bias, np.zeros(0), np.zeros(0))
    # A move made after t rows of the shard is missing from the weights after the first t rows.
    return Mixture(mu * w, mu * state.bias, end.pass_rows * w - sums.w, end.pass_rows * state.bias - sums.bias)


def updates_in_shard(end: RunPoint) -> IntArray:
    """The updates of each head in the pass of a shard."""
    return end.state.counts - end.before


def margins_of(blocks: BlockSet, learner: Learner, state: State) -> FloatArray:
    """The smallest margin of a row for each head, over the length of the weights; sqrt(2) of it for classes that compete."""
    rows = learner.outline.rows
    heads, bias = as_heads(state.w, rows).astype(np.float64), state.bias
    least: FloatArray = blocks.sum(least_margins, learner.scheme, heads, bias, combine=np.minimum)
    planes = np.column_stack([heads, bias])
    joint = isinstance(learner.outline.labels, Joint)
    lengths = np.sqrt(2.0) * np.linalg.norm(planes) if joint else np.linalg.norm(planes, axis=1)
    found: FloatArray = least / lengths
    return found


def least_margins(block: Block, scheme: Scheme, heads: FloatArray, bias: FloatArray) -> FloatArray:
    """The smallest margin of a row of a block, for each head."""
    problem: Any = scheme.problem(block)
    labels = problem.labels
    if not problem.n_rows:
        return np.full(1 if isinstance(labels, Joint) else len(heads), np.inf)
    scores = np.asarray(problem.matrix() @ heads.T) + problem.x0 * bias
    if isinstance(labels, Binary):
        return np.array([(labels.signs[:, None] * scores).min()])
    own = labels.codes[:, None] == np.arange(len(heads))
    if isinstance(labels, Rest):
        signed: FloatArray = np.where(own, scores, -scores).min(axis=0)
        return signed
    lead = scores[own] - np.where(own, -np.inf, scores).max(axis=1)
    return np.array([lead.min()])
