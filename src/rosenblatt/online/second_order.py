"""The loop of a rule that keeps variances: sweep, stop. Its belief goes on from pass to pass, chunk to chunk, fit to fit.

It is `solve.py` for moves that are no multiples of rows: there is no log, and so no other reading than the last weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np

from ..data.problem import Problem, heads_of, one_against_rest, pick_heads, read_only, zero_state
from ..kernels.linear.rows import CSR, Dense
from ..kernels.linear.schemes import Rest, State
from ..kernels.linear.second_order import Spread, adapt_to
from ..kernels.linear.sweeps import OVERFLOW
from ..parallel import in_order
from ..progress import Progress
from .config import Plan
from .run_state import out_of_range, some_heads
from .schedules import ORDERS
from .solver import ORDER, WORK, give_back, looking_ahead, rows_asking, rows_at_a_time
from .stopping import Stop, together

FEW = 8  # times as many columns as nonzeros: then it pays to find those that are met


@dataclass(frozen=True)
class Belief:
    """Weights and how sure they are: one head for two classes, else one for each class; float64, and never changed in place."""

    weights: Any  # heads x features
    bias: Any  # weight 0 of each head
    variances: Any  # heads x features
    bias_variances: Any
    counts: Any  # int64, updates: one entry, or one for each one-vs-rest head

    def among(self, classes: Any, before: Any, argmax: bool) -> Belief:
        """The same among more classes; those that are new know nothing. Two classes become a head for each, the first one
        the mirror image of the second; halves of it where heads are compared with each other."""
        if len(classes) == len(before):
            return self
        new = no_belief(len(classes), self.weights.shape[1], argmax)
        if len(before) < 2:
            return new
        known, binary, share = np.searchsorted(classes, before), len(before) == 2, 0.5 if argmax else 1.0
        new.weights[known] = np.concatenate([-self.weights, self.weights]) * share if binary else self.weights
        new.bias[known] = np.concatenate([-self.bias, self.bias]) * share if binary else self.bias
        new.variances[known], new.bias_variances[known] = self.variances, self.bias_variances
        new.counts[slice(None) if argmax else known] = self.counts
        return new


def no_belief(n_classes: int, n_features: int, argmax: bool) -> Belief:
    heads = 1 if n_classes <= 2 else n_classes
    shape = (heads, n_features)
    counts = np.zeros(1 if argmax else heads, np.int64)
    return Belief(np.zeros(shape), np.zeros(heads), np.ones(shape), np.ones(heads), counts)


@dataclass(frozen=True)
class Believed:
    belief: Belief
    stops: list[Stop]  # one, or one for each one-vs-rest head
    passes: int

    @property
    def stop(self) -> Stop:
        return together(self.stops)


def believe(problem: Problem, rule: Any, plan: Plan, belief: Belief) -> Believed:
    """Run `rule` from `belief`. One-vs-rest heads never meet, so they may be shared out to threads and give the same bits."""
    rows = problem.rows
    if isinstance(rows, CSR) and FEW * len(rows.indices) < rows.width:
        return _about_few_columns(problem, rows, rule, plan, belief)
    k = len(belief.counts)
    groups = np.array_split(np.arange(k), min(plan.n_jobs, k))
    if len(groups) == 1:
        return _believe(problem, rule, plan, belief)
    cancel = Event()

    def run(heads: Any) -> Believed:
        part = Belief(*(each[heads] for each in vars(belief).values()))
        alone = replace(plan, n_jobs=1, cancel=cancel, heads=tuple(heads.tolist()))
        return _believe(some_heads(problem, heads), rule, alone, part)

    found = list(in_order(run, groups, plan.n_jobs, cancel))
    beliefs = zip(*(vars(part.belief).values() for part in found), strict=True)
    stops = [stop for part in found for stop in part.stops]
    return Believed(Belief(*map(np.concatenate, beliefs)), stops, max(part.passes for part in found))


def _about_few_columns(problem: Problem, rows: CSR, rule: Any, plan: Plan, belief: Belief) -> Believed:
    """A row of a stream meets few of a million columns: only those are laid out, learnt and put back. The same bits."""
    columns, places = np.unique(rows.indices, return_inverse=True)
    rows = rows._replace(indices=read_only(places.astype(rows.indices.dtype)), width=len(columns))
    few = replace(belief, weights=belief.weights[:, columns], variances=belief.variances[:, columns])
    found = believe(replace(problem, rows=rows), rule, plan, few)
    weights, variances = belief.weights.copy(), belief.variances.copy()
    weights[:, columns], variances[:, columns] = found.belief.weights, found.belief.variances
    return replace(found, belief=replace(found.belief, weights=weights, variances=variances))


def _believe(problem: Problem, rule: Any, plan: Plan, belief: Belief) -> Believed:
    state, spread = _laid_out(problem, belief)
    rng, ended = np.random.default_rng(plan.seed), np.zeros(len(state.counts), bool)
    stops = [Stop("passes", "")] * len(ended)
    for passes in itertools.count(1):
        before = state.counts.copy()
        for visited in _sweep(problem, rule, plan, state, spread, rng):
            if plan.cancel is not None and plan.cancel.is_set():
                raise CancelledError
            _tell(problem, plan, state, before, passes - 1, visited)
        _tell(problem, plan, state, before, passes, 0)
        last = state.counts - before
        for h in np.flatnonzero((last == 0) & ~ended):
            if plan.order != "random" or _all_right(problem, rule, state, int(h)):
                ended[h] = True
                stops[h] = Stop("separated", f"pass {passes} found all {problem.n_visited} rows at a margin of 1 or more.")
        if ended.all() or passes == plan.max_iter:
            break
    for h in np.flatnonzero(~ended):
        stops[h] = Stop("passes", f"max_iter={passes} used up; the last pass still made {last[h]} updates.")
    return Believed(_put_back(problem, state, spread), stops, passes)


def _sweep(problem: Problem, rule: Any, plan: Plan, state: State, spread: Spread, rng: Any) -> Iterator[int]:
    """One pass, a stretch of rows at a time; how many of them were visited."""
    size = max(64, min(ORDER, int(WORK / (problem.density * state.bias.size + 1))))
    ahead, most, visited = looking_ahead(problem, plan.order, state.w), rows_at_a_time(problem, plan.order), 0
    for order in ORDERS[plan.order](problem.n_visited, size, rng):
        order = order if problem.visited is None else problem.visited[order]
        for start in range(0, len(order), most):
            some = order[start : start + most]
            done, why = adapt_to(problem.rows, problem.labels, some, rule, ahead, state, spread)
            if why == OVERFLOW:
                raise out_of_range(problem, int(some[done]))
            give_back(problem, plan.order, some)
            visited += done
            yield visited


def _all_right(problem: Problem, rule: Any, state: State, h: int) -> bool:
    """Draws with replacement may miss a row, so a pass without an update proves nothing: look at all of them."""
    if isinstance(problem.labels, Rest):
        problem, state = one_against_rest(problem, h), pick_heads(state, problem.rows, [h], flat=True)
    state = state._replace(w=np.ascontiguousarray(state.w))
    return not any(len(asked.rows) for _, asked in rows_asking(problem, rule, state, 1))


def _tell(problem: Problem, plan: Plan, state: State, before: Any, passes: int, visited: int) -> None:
    if plan.watch is not None and visited < problem.n_visited:
        made, last = int(state.counts.sum()), int((state.counts - before).sum())
        plan.watch(Progress(passes, made, last, plan.heads, visited, problem.n_visited, plan.max_iter))


def _laid_out(problem: Problem, belief: Belief) -> tuple[State, Spread]:
    """A copy in the layout of the kernels."""
    dense = isinstance(problem.rows, Dense)
    state = zero_state(problem, len(belief.bias), np.float64)
    weights, variances = state.w, np.zeros_like(state.w)
    if not dense:  # features x (weights, variances) x heads
        weights, variances = np.moveaxis(np.zeros((len(state.w), 2, *state.w.shape[1:])), 1, 0)
    state, spread = state._replace(w=weights), Spread(variances, belief.bias_variances.copy())
    heads_of(state.w, dense)[:], heads_of(spread.w, dense)[:] = belief.weights, belief.variances
    state.bias[:] = belief.bias
    state.counts[:] = belief.counts
    return state, spread


def _put_back(problem: Problem, state: State, spread: Spread) -> Belief:
    for part in (state.w, state.bias, spread.w, spread.bias):
        if not np.isfinite(part).all():
            raise out_of_range(problem, 0)
    dense = isinstance(problem.rows, Dense)
    weights, variances = (np.ascontiguousarray(heads_of(each, dense)) for each in (state.w, spread.w))
    return Belief(weights, state.bias, variances, spread.bias, state.counts)
