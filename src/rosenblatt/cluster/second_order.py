"""`AROW` on blocks: exact runs, whose means and variances travel through the blocks, and mixed ones.

Update     exact: as on one machine, a block continues where the block before it ended. Mixed: every shard of blocks makes a
           pass from the same N(w, S); the next one has the precisions 1/s = sum_i mu_i/s_i and the means
           w = s sum_i mu_i w_i/s_i, the average of the natural parameters: a shard counts most in the weights that it has
           learned most about.
Guarantee  exact runs in cyclic order have the bits of a run on all rows in one memory. The average minimizes
           sum_i mu_i KL(N, N_i) over all N with a diagonal S. No bound on the updates of mixed runs is known.
Reference  K. Crammer, A. Kulesza and M. Dredze, NIPS 22 (2009).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..array_types import FloatArray, IntArray
from ..estimators.arow import AROW
from ..online.rules.arow import AROWRule, arow_rule
from ..online.run import RunConfig
from ..online.second_order import (
    GaussianWeights,
    SecondOrderResult,
    clean_pass_stop,
    fit_second_order,
    join_results,
    without_violation,
)
from ..online.stopping import Stop, pass_limit
from ..progress import Progress
from .block_set import BlockSet
from .blocks import Block
from .exact import task_config
from .learner import Scheme, check_runs_on_blocks, count_visited, make_outline
from .mixing import MixingReport
from .options import RunOptions
from .travel import (
    Conversation,
    blocks_of_pass,
    groups_of_heads,
    run_together,
    seed_of_block,
    shards_of,
    submit_chain,
    submit_on,
)
from .tree import submit_tree


def fit_arow(estimator: AROW, blocks: BlockSet, options: RunOptions) -> None:
    """Run AROW on the blocks, and set the attributes."""
    check_runs_on_blocks(estimator)
    visited = blocks.each(count_visited)
    if not any(visited):
        raise ValueError("the weights of all rows are zero: there is nothing to learn from")
    scheme = Scheme(estimator.multiclass, estimator._x0)
    outline = make_outline(blocks, *scheme[:2], sum(visited))
    start = estimator._start(outline, blocks.classes)
    route = GaussianRoute(scheme, arow_rule(float(estimator.r)), estimator._config(estimator.order, estimator._passes()))
    used = [number for number, rows in enumerate(visited) if rows]
    report = None
    if options.mode == "mixed":
        run = GaussianRun(blocks, route, used, sum(visited), start)
        shards = shards_of(used, options.shards)
        found = run.mixed(shards)
        mu, unknown = np.full((found.passes, len(shards)), 1.0 / len(shards)), np.full(len(start.counts), np.nan)
        radius = float(np.sqrt(blocks.facts.longest + scheme.x0**2))
        report = MixingReport(np.array(run.made), mu, radius, None, unknown)
    else:
        groups = groups_of_heads(len(start.counts))
        parts = [(route, start)] if len(groups) == 1 else [(route.select(heads), start.select(heads)) for heads in groups]
        runs = [GaussianRun(blocks, part, used, sum(visited), weights).exact() for part, weights in parts]
        found = join_results(run_together(blocks.engine, runs))
    estimator._classes_fixed = True
    estimator._set(found.weights, blocks.classes, found.merged_stop(blocks.classes), found.passes)
    estimator._set_validation_errors(None)
    if report is not None:
        estimator.__dict__["mixing_"] = report


class GaussianRoute(NamedTuple):
    """What the tasks of a run share."""

    scheme: Scheme
    rule: AROWRule
    config: RunConfig

    def select(self, heads: IntArray) -> GaussianRoute:
        """The run of some one-vs-rest heads."""
        names = tuple(heads.tolist())
        return self._replace(scheme=self.scheme._replace(heads=names), config=replace(self.config, heads=names))


class GaussianRun:
    """A run of some heads: the client's side."""

    def __init__(self, blocks: BlockSet, route: GaussianRoute, used: list[int], rows: int, start: GaussianWeights) -> None:
        self.blocks, self.config, self.used, self.rows, self.weights = blocks, route.config, used, rows, start
        self.route = route._replace(config=task_config(route.config))
        self.stops: dict[int, Stop] = {}
        self.passes = 0
        self.made: list[IntArray] = []  # of each epoch of a mixed run: shards x heads

    def exact(self) -> Conversation[SecondOrderResult]:
        """Make all passes through the blocks in order."""
        while True:
            order = blocks_of_pass(self.config.order, self.config.seed, self.passes, self.used)
            value = self.blocks.engine.put(self.weights)
            (weights,) = yield [submit_chain(self.blocks, order, adapt_block, value, self.route, self.passes)]
            found = yield from self._end_pass(weights)
            if found is not None:
                return found

    def mixed(self, shards: list[list[int]]) -> SecondOrderResult:
        """Make all epochs: a pass of each shard from the same weights, and the average of its natural parameters."""
        return run_together(self.blocks.engine, [self._epochs(shards)])[0]

    def _epochs(self, shards: list[list[int]]) -> Conversation[SecondOrderResult]:
        engine, config, mu = self.blocks.engine, self.config, 1.0 / len(shards)
        while True:
            before, value = self.weights, engine.put(self.weights)
            orders = [blocks_of_pass(config.order, config.seed, self.passes, shard) for shard in shards]
            ends = [submit_chain(self.blocks, order, adapt_block, value, self.route, self.passes) for order in orders]
            parts = [partial(engine.submit, natural_parameters, end, mu) for end in ends]
            sums, *counts = yield [submit_tree(engine, parts), *(engine.submit(counts_of, end) for end in ends)]
            self.made.append(np.array(counts) - before.counts)
            found = yield from self._end_pass(average_weights(before, Natural(*sums), self.made[-1].sum(axis=0)))
            if found is not None:
                return found

    def _end_pass(self, weights: GaussianWeights) -> Conversation[SecondOrderResult | None]:
        """The result, if the pass that led to these weights was the last one."""
        last, config = weights.counts - self.weights.counts, self.config
        self.weights, self.passes = weights, self.passes + 1
        self.blocks.work.rows += self.rows
        if config.progress is not None:
            made = int(weights.counts.sum()), int(last.sum())
            config.progress(Progress(self.passes, *made, config.heads, 0, self.rows, config.max_iter))
        clean = [h for h in np.flatnonzero(last == 0).tolist() if h not in self.stops]
        if clean and config.order == "random":
            value = self.blocks.engine.put(weights)
            scans = yield [submit_on(self.blocks, number, scan_block, value, self.route, clean) for number in self.used]
            clean = [h for h in clean if all(h in each for each in scans)]
        self.stops.update(dict.fromkeys(clean, clean_pass_stop(self.passes, self.rows)))
        if len(self.stops) < len(last) and self.passes != config.max_iter:
            return None
        stops = [self.stops.get(h) or pass_limit(self.passes, int(last[h])) for h in range(len(last))]
        return SecondOrderResult(weights, stops, self.passes)


# --- tasks ---------------------------------------------------------------------------------------------------------------


class Natural(NamedTuple):
    """Sums over shards of natural parameters times mu: precisions, and means times precisions."""

    means: FloatArray
    bias: FloatArray
    precisions: FloatArray
    bias_precisions: FloatArray


def adapt_block(block: Block, weights: GaussianWeights, route: GaussianRoute, passes: int) -> GaussianWeights:
    """Continue a run through a block."""
    config = replace(route.config, seed=seed_of_block(route.config.seed, passes, block.number), max_iter=1)
    return fit_second_order(route.scheme.problem(block), route.rule, config, weights).weights


def scan_block(block: Block, weights: GaussianWeights, route: GaussianRoute, heads: list[int]) -> list[int]:
    """The heads for which no row of a block violates the margin."""
    return without_violation(route.scheme.problem(block), route.rule, weights, heads)


def natural_parameters(end: GaussianWeights, mu: float) -> Natural:
    """What a shard contributes at the end of its pass."""
    precisions, bias_precisions = mu / end.variances, mu / end.bias_variances
    return Natural(end.weights * precisions, end.bias * bias_precisions, precisions, bias_precisions)


def counts_of(end: GaussianWeights) -> IntArray:
    """The updates of each head so far."""
    return end.counts


def average_weights(before: GaussianWeights, sums: Natural, made: IntArray) -> GaussianWeights:
    """The weights after an epoch in which the heads made these updates; those without updates stay."""
    moved = np.broadcast_to(made > 0, before.bias.shape)
    rows = moved[:, None]
    return GaussianWeights(
        np.where(rows, sums.means / sums.precisions, before.weights),
        np.where(moved, sums.bias / sums.bias_precisions, before.bias),
        np.where(rows, 1.0 / sums.precisions, before.variances),
        np.where(moved, 1.0 / sums.bias_precisions, before.bias_variances),
        before.counts + made,
    )
