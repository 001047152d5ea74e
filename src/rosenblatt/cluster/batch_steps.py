"""Batch steps on blocks: the sum of the moves of all violations is a sum over blocks.

Update     as in `online/full_scans.py`: w += rho_k sum_i tau_i y_i x_i over the rows that violate the margin, or that over
           sum_n c_n. Tasks sum the moves of a block in float64, in the order of its rows; the sums go up the tree.
Guarantee  the run has the bits of the run on one machine if all sums are exact, as for rows of small integers; else it equals
           it up to rounding. A step of exactly zero is a proof that no plane separates the rows (Gordan): the signed rows are
           added without rounding, block by block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..array_types import FloatArray
from ..data.problem import Problem, copy_state, one_against_rest, pick_heads, zero_sums
from ..estimators.online import OnlineClassifier
from ..kernels.linear.schemes import Rest, State, Tape
from ..online.full_scans import count_passes, settle_update
from ..online.run import Rule, RunResult, RunState, length_of
from ..online.run_record import apply_delta, make_moves
from ..online.scans import find_violations, limited_heads, mark_separated
from ..online.solver import merge_results
from ..online.stopping import Stop, proved_zero_step, signed_columns, signs_of_planes, unproved_zero_step
from .block_set import BlockSet
from .blocks import Block
from .learner import Learner, Scheme, prepare_run, store_run
from .options import RunOptions

# Beyond, float64 does not hold every integer: nothing is proved about rows that may have been rounded.
MAX_EXACT = 2.0**53


def fit_batch_steps(estimator: OnlineClassifier, blocks: BlockSet, options: RunOptions) -> None:
    """Run the estimator on the blocks, and set the attributes."""
    if options.mode != "exact" or options.shards is not None:
        raise ValueError("mode='mixed' and shards are for learners that go row by row: leave them out for batch steps")
    learner = prepare_run(estimator, blocks)
    store_run(estimator, blocks, learner, run_batch_steps(blocks, learner, estimator._rounded))


def run_batch_steps(blocks: BlockSet, learner: Learner, rounded: str | None) -> RunResult:
    """Make the steps of all heads side by side: one sum over the blocks for each step."""
    one_vs_rest = isinstance(learner.outline.labels, Rest)
    heads = [BatchRun(blocks, learner, h, one_vs_rest, rounded) for h in range(learner.n_heads)]
    while running := [head for head in heads if head.run.heads]:
        steps = sum_steps(blocks, learner, [head.request() for head in running], summed=True)
        for head, step in zip(running, steps, strict=True):
            head.take(step)
    limited = [head for head in heads if limited_heads(head.run)]
    if limited:
        scans = sum_steps(blocks, learner, [head.request() for head in limited], summed=False)
        for head, scan in zip(limited, scans, strict=True):
            if not scan.violations:
                mark_separated(head.run, [0])
    results = [head.result() for head in heads]
    if not one_vs_rest:
        return results[0]
    return merge_results(learner.outline, learner.start, [(np.array([h]), found) for h, found in enumerate(results)])


class Request(NamedTuple):
    """The weights of a head before a step, and the length of a step of a row."""

    head: int
    state: State
    rho: float


class Step(NamedTuple):
    """The sum of the moves of all violations, in float64, and their number."""

    w: FloatArray
    bias: FloatArray
    violations: int


def sum_steps(blocks: BlockSet, learner: Learner, requests: list[Request], *, summed: bool) -> list[Step]:
    """The steps of some heads; without `summed`, only the violations are counted."""
    size = sum(8 * request.state.w.size for request in requests) if summed else 0
    found = blocks.sum(steps_of_block, learner.scheme, learner.rule, tuple(requests), summed, size=size)
    return [Step(*step) for step in found]


class BatchRun:
    """The run of one head: the client's side. It counts updates as `Scans` do."""

    rate = per_report = 1

    def __init__(self, blocks: BlockSet, learner: Learner, head: int, one_vs_rest: bool, rounded: str | None) -> None:
        self.blocks, self.learner, self.head, self.rounded = blocks, learner, head, rounded
        start, sums, config = learner.start, learner.sums, replace(learner.config, keep_log=False)
        outline: Problem = learner.outline
        if one_vs_rest:
            rows, own = outline.rows, np.array([head])
            outline, config = one_against_rest(outline, head), replace(config, heads=(head,))
            start = pick_heads(start, rows, own, flat=True)
            sums = None if sums is None else pick_heads(sums, rows, own, flat=True)
        self.run = RunState(outline, learner.rule, config, start, sums)
        self.first, self.updates, self.violations = start.counts.copy(), 0, 1
        self.mean = 1.0 / outline.total_weight if config.update == "batch-mean" else 1.0
        self.run.retire_at_limits()

    def request(self) -> Request:
        """What the tasks of the next step need."""
        state = self.run.state
        return Request(self.head, state, self.run.steps(int(state.counts[0]) + 1) * self.mean)

    def take(self, step: Step) -> None:
        """Make a step; stop if there is a reason to."""
        run, delta = self.run, zero_sums(self.run.state)
        self.violations, length = step.violations, 0.0
        if step.violations:
            delta.w[...], delta.bias[:] = step.w, step.bias
            state = run.state._replace(w=run.state.w.copy(), bias=run.state.bias.copy(), counts=run.state.counts + 1)
            run.state = state._replace(sqnorms=state.sqnorms.copy())
            run.sweep_all()
            if run.sums is not None:
                run.sums.w[...] += delta.w * run.clock
                run.sums.bias[:] += delta.bias * run.clock
            apply_delta(run.state, delta)
            self.updates, run.clock = self.updates + 1, run.clock + 1
            run.check_weights()
            length = length_of(delta)
        settle_update(run, self, step.violations, length)

    def zero_step_stop(self) -> Stop:
        """Why the run ends with a step of length zero although rows violate the margin."""
        if self.learner.outline.weighted:
            return unproved_zero_step(self.violations)
        # The step was zero, so these are the weights before it.
        request = Request(self.head, self.run.state, 1.0)
        size = 8 * request.state.w.size
        exact = self.blocks.sum(exact_sums, self.learner.scheme, self.learner.rule, request, size=size, combine=add_exactly)
        if exact is None or exact.any():
            return unproved_zero_step(self.violations)
        if self.rounded is not None:
            return unproved_zero_step(self.violations, ValueError(self.rounded))
        return proved_zero_step(self.violations)

    def result(self) -> RunResult:
        """The result of the finished run."""
        return self.run.result(count_passes(self.run, self, self.violations))


# --- tasks ---------------------------------------------------------------------------------------------------------------


def steps_of_block(block: Block, scheme: Scheme, rule: Rule, requests: tuple[Request, ...], summed: bool) -> tuple[Step, ...]:
    """The moves of the rows of a block, summed for each head."""
    steps = []
    for head, given, rho in requests:
        problem, state, violations = scheme.binary_problem(block, head), copy_state(given), 0
        delta = zero_sums(state) if summed else state._replace(w=np.zeros(0), bias=np.zeros(0))
        for _, found in find_violations(problem, rule, state, 1):
            violations += len(found.rows)
            if summed:
                make_moves(problem, found.rows, found.others, found.steps * rho, delta)
        steps.append(Step(delta.w, delta.bias, violations))
    return tuple(steps)


def exact_sums(block: Block, scheme: Scheme, rule: Rule, request: Request) -> FloatArray | None:
    """The sums of the signed rows that violate the margin, as numbers whose sum is exact: terms x planes x columns.

    None if rows may have been rounded before.
    """
    problem, k = scheme.binary_problem(block, request.head), len(request.state.bias)
    found = [tape for _, tape in find_violations(problem, rule, copy_state(request.state), 1)]
    terms: list[list[list[float]]] = [[[] for _ in range(block.width + 1)] for _ in range(k)]
    if found:
        every = Tape._make(np.concatenate(columns) for columns in zip(*found, strict=True))
        values: Any = problem.matrix()[every.rows]
        if abs(values.data if hasattr(values, "indptr") else values).max(initial=0.0) >= MAX_EXACT:
            return None
        for plane, signs in signs_of_planes(problem, every):
            terms[plane][-1] = expand([float(signs.sum(dtype=np.int64))] if problem.x0 else [])
            for column, signed in signed_columns(values, signs):
                terms[plane][column] = expand(signed.astype(np.float64))
    return _padded(terms)


def expand(numbers: Iterable[float]) -> list[float]:
    """A few numbers with exactly the same sum; none if it is zero."""
    rest, terms = list(numbers), []
    while rest and (total := math.fsum(rest)) != 0.0:
        terms.append(total)
        rest.append(-total)
    return terms


def add_exactly(left: FloatArray | None, right: FloatArray | None) -> FloatArray | None:
    """The sums of two blocks together."""
    if left is None or right is None:
        return None
    both = np.concatenate([left, right])
    return _padded([[expand(both[:, p, j]) for j in range(both.shape[2])] for p in range(both.shape[1])])


def _padded(terms: list[list[list[float]]]) -> FloatArray:
    most = max((len(each) for plane in terms for each in plane), default=0)
    padded = np.zeros((most, len(terms), len(terms[0])))
    for p, plane in enumerate(terms):
        for j, each in enumerate(plane):
            padded[: len(each), p, j] = each
    return padded
