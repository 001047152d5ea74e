"""Exact runs of online learners: the weights travel through the blocks, one block after the other.

Update     as on one machine: a block continues the run where the block before it ended, by the same kernels.
Guarantee  with order="cyclic", the run has the bits of a run on all rows in one memory. With "permuted", each pass takes the
           blocks in a random order and permutes the rows within each; with "random", it draws rows with replacement within
           each. Both orders are given by the seed, the pass and the number of the block, and by nothing else.

Blocks work at the same time in two ways, which change no bit. Groups of one-vs-rest heads are independent runs, of which one is
in a block while another is in the next. In late passes, where few blocks move the weights, a window of blocks is swept from the
same weights: up to the first block with an update, each sweep is that of the run; the sweeps behind it are dropped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..array_types import IntArray
from ..data.problem import pick_heads
from ..kernels.linear.schemes import Rest
from ..online.run import Rule, RunConfig, RunResult, RunState
from ..online.run_point import RunPoint, move_to, point_of, run_from, visit_rows
from ..online.scans import heads_without_violation, limited_heads, mark_separated
from ..online.solver import clean_heads, merge_results, pass_is_unfinished, retire_after_pass
from ..online.stopping import unknown_outlook
from .block_set import BlockSet
from .blocks import Block
from .learner import Learner, Scheme, select_outline
from .travel import Conversation, blocks_of_pass, groups_of_heads, run_together, seed_of_block, submit_chain, submit_on

# Blocks are tried side by side in passes after one in which at most this share of the blocks moved the weights.
TRIED_SHARE = 0.25
MIN_WINDOW = 2
# What a block did that was tried: no update, updates, updates after which no head runs, or an error.
CLEAN, MOVED, ENDED, FAILED = "clean", "moved", "ended", "failed"


class Route(NamedTuple):
    """What the tasks of a run share."""

    scheme: Scheme
    rule: Rule
    config: RunConfig


def run_exact(blocks: BlockSet, learner: Learner) -> RunResult:
    """Run a learner through the blocks."""
    if not isinstance(learner.outline.labels, Rest):
        return run_together(blocks.engine, [ExactRun(blocks, learner).passes()])[0]
    groups = groups_of_heads(learner.n_heads)
    runs = [ExactRun(blocks, select_heads_of(learner, heads)).passes() for heads in groups]
    found = run_together(blocks.engine, runs)
    return merge_results(learner.outline, learner.start, list(zip(groups, found, strict=True)))


def select_heads_of(learner: Learner, heads: IntArray) -> Learner:
    """The run of some one-vs-rest heads."""
    names, rows = tuple(heads.tolist()), learner.outline.rows
    return replace(
        learner,
        outline=select_outline(learner.outline, heads),
        scheme=learner.scheme._replace(heads=names),
        config=replace(learner.config, heads=names),
        start=pick_heads(learner.start, rows, heads),
        sums=None if learner.sums is None else pick_heads(learner.sums, rows, heads),
    )


def task_config(config: RunConfig) -> RunConfig:
    """The parameters of a run as its tasks get them: without callbacks of the client."""
    return replace(config, n_jobs=1, keep_log=False, progress=None, check=None, cancel=None, outlook=unknown_outlook)


class ExactRun:
    """A run through the blocks: the client's side."""

    def __init__(self, blocks: BlockSet, learner: Learner) -> None:
        self.blocks, self.learner, config = blocks, learner, learner.config
        self.run = RunState(learner.outline, learner.rule, replace(config, keep_log=False), learner.start, learner.sums)
        self.route = Route(learner.scheme, learner.rule, task_config(config))
        self.busy = len(learner.used)  # blocks that moved the weights in the last pass

    def passes(self) -> Conversation[RunResult]:
        """Make all passes."""
        run = self.run
        run.retire_at_limits()
        while run.heads:
            point = yield from self._pass(point_of(run))
            self.busy = point.busy
            move_to(run, point)
            if run.begun:
                continue  # all heads have stopped
            clean = clean_heads(run)
            if clean and run.config.order == "random":
                clean = yield from self._without_violation(clean)
            run.report(run.passes, 0)
            retire_after_pass(run, clean)
        if pass_is_unfinished(run):
            run.report(run.passes, 0)
        limited = limited_heads(run)
        if limited:
            mark_separated(run, (yield from self._without_violation(limited)))
        return run.result(run.passes)

    def _pass(self, point: RunPoint) -> Conversation[RunPoint]:
        """The point after one pass."""
        config, used = self.run.config, self.learner.used
        order = blocks_of_pass(config.order, config.seed, point.passes, used)
        if self.busy > TRIED_SHARE * len(used):
            self.blocks.work.rows += point.pass_rows
            value = self.blocks.engine.put(point)
            (found,) = yield [submit_chain(self.blocks, order, sweep_block, value, self.route, point.passes, 0)]
            return found  # type: ignore[no-any-return]
        return (yield from self._try_blocks(point, order))

    def _try_blocks(self, point: RunPoint, order: list[int]) -> Conversation[RunPoint]:
        """The point after one pass in which few blocks move the weights: a window of blocks is swept from the same weights."""
        blocks, visited, passes = self.blocks, self.learner.visited, point.passes
        first = last = blocks.engine.put(point)  # where the last block with an update has arrived
        window, at, skipped = max(MIN_WINDOW, len(order) // (self.busy + 1)), 0, 0
        while at < len(order):
            some = order[at : at + window]
            rows = [visited[number] for number in some]
            before = np.cumsum([skipped, *rows]).tolist()
            blocks.work.rows += sum(rows)
            tried = [
                submit_on(blocks, number, try_block, last, self.route, passes, skip)
                for number, skip in zip(some, before, strict=False)
            ]
            outcomes: list[str] = yield [blocks.engine.submit(outcome, each) for each in tried]
            moved = next((i for i, found in enumerate(outcomes) if found != CLEAN), None)
            if moved is None:
                at, skipped, window = at + len(some), before[-1], 2 * window
                continue
            if outcomes[moved] == FAILED:  # sweep it again, for its error
                last = submit_on(blocks, some[moved], sweep_block, last, self.route, passes, before[moved])
            else:
                last = tried[moved]
            skipped = 0
            if outcomes[moved] == ENDED:
                break
            at, window = at + moved + 1, max(MIN_WINDOW, window // 2)
        if last is not first:
            (point,) = yield [last]
        return point.skip(skipped)

    def _without_violation(self, heads: list[int]) -> Conversation[list[int]]:
        """The heads for which a scan of all blocks finds no row that violates the margin. It ends when all have one."""
        point, left, window, at = self.blocks.engine.put(point_of(self.run)), heads, 1, 0
        used = self.learner.used
        while left and at < len(used):
            some = used[at : at + window]
            self.blocks.work.rows += sum(self.learner.visited[number] for number in some)
            found = yield [submit_on(self.blocks, number, scan_block, point, self.route, left) for number in some]
            left = [h for h in left if all(h in each for each in found)]
            at, window = at + len(some), 2 * window
        return left


# --- tasks ---------------------------------------------------------------------------------------------------------------


def sweep_block(block: Block, point: RunPoint, route: Route, passes: int, skipped: int) -> RunPoint:
    """Continue a run through a block, after `skipped` rows of other blocks that moved no head."""
    point = point.skip(skipped)
    config = replace(route.config, seed=seed_of_block(route.config.seed, passes, block.number))
    return visit_rows(route.scheme.problem(block), route.rule, config, point)


def try_block(block: Block, point: RunPoint, route: Route, passes: int, skipped: int) -> RunPoint | str:
    """The point after a block, if it moved a head; else `CLEAN`, or `FAILED`."""
    try:
        found = sweep_block(block, point, route, passes, skipped)
    except Exception:  # the run may not come to these rows with these weights
        return FAILED
    return CLEAN if found.updates == point.updates else found


def outcome(found: RunPoint | str) -> str:
    """What `try_block` found, in a word."""
    return found if isinstance(found, str) else MOVED if found.running else ENDED


def scan_block(block: Block, point: RunPoint, route: Route, heads: list[int]) -> list[int]:
    """The heads for which no row of a block violates the margin."""
    return heads_without_violation(run_from(route.scheme.problem(block), route.rule, route.config, point), heads)
