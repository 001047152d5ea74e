"""The solver of second-order learners, which keep a mean and a variance for each weight (AROW).

It corresponds to `solver.py`. Its moves are not multiples of rows, so there is no log and no reading other than the last
weights. Means and variances carry over from pass to pass, from chunk to chunk, and to a warm start.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from threading import Event

import numpy as np

from ..array_types import Array, BoolArray, FloatArray, IntArray
from ..data.problem import (
    Problem,
    heads_of,
    one_against_rest,
    pick_heads,
    read_only,
    select_heads,
    take_summed_rows,
    with_repeated_columns,
    zero_state,
)
from ..kernels.linear.rows import CSR, Dense, Rows
from ..kernels.linear.schemes import Binary, Labels, Rest, State
from ..kernels.linear.second_order import Spread, adapt_to
from ..kernels.linear.sweeps import OVERFLOW
from ..parallel import in_order
from ..progress import Progress
from ..reporting.text import plural
from .held_out import HeldOut, HeldOutRows, Scoreboard
from .rules.arow import AROWRule
from .run import RunConfig, raise_out_of_range
from .scans import ORDER_ROWS, WORK_PER_CALL, check_rows, find_violations, release_pages, rows_per_call
from .schedules import ORDERS, Draws
from .solver import prefetch_distance
from .stopping import Stop, merge_stops, pass_limit

# With this many times more columns than nonzeros, only the columns that occur are copied.
COLUMNS_PER_NONZERO = 8
# Rows with repeated columns, which have to be summed before they are learned, that are copied at a time.
ROWS_PER_COPY = 1024


@dataclass(frozen=True)
class GaussianWeights:
    """Mean and variance of each weight, float64: one head for two classes, else one per class. Never changed in place."""

    weights: FloatArray  # means, heads x features
    bias: FloatArray  # mean of weight 0 of each head
    variances: FloatArray  # heads x features
    bias_variances: FloatArray
    counts: IntArray  # updates: one entry, or one for each one-vs-rest head

    def select(self, heads: IntArray) -> GaussianWeights:
        """The weights of some one-vs-rest heads."""
        return GaussianWeights(*(each[heads] for each in vars(self).values()))

    def extended(self, classes: Array, before: Array, joint: bool) -> GaussianWeights:
        """The same weights among more classes; new classes start at mean 0 and variance 1.

        The single head of two classes becomes two: the second is the same and the first its negative. Heads that are
        compared with each other (`joint`) get half of it each.
        """
        if len(classes) == len(before):
            return self
        new = initial_gaussian(len(classes), self.weights.shape[1], joint)
        if len(before) < 2:
            return new
        known, binary, share = np.searchsorted(classes, before), len(before) == 2, 0.5 if joint else 1.0
        new.weights[known] = np.concatenate([-self.weights, self.weights]) * share if binary else self.weights
        new.bias[known] = np.concatenate([-self.bias, self.bias]) * share if binary else self.bias
        new.variances[known], new.bias_variances[known] = self.variances, self.bias_variances
        new.counts[slice(None) if joint else known] = self.counts
        return new


def initial_gaussian(n_classes: int, n_features: int, joint: bool) -> GaussianWeights:
    """Mean 0 and variance 1 for every weight."""
    heads = 1 if n_classes <= 2 else n_classes
    shape = (heads, n_features)
    counts = np.zeros(1 if joint else heads, np.int64)
    return GaussianWeights(np.zeros(shape), np.zeros(heads), np.ones(shape), np.ones(heads), counts)


@dataclass(frozen=True)
class SecondOrderResult:
    """The weights after a run, and why it ended."""

    weights: GaussianWeights
    stops: list[Stop]  # one, or one for each one-vs-rest head
    passes: int
    validation_errors: list[FloatArray] | None = None  # of each head after each pass, if rows are held out

    def merged_stop(self, classes: Array) -> Stop:
        """The stop of all heads together."""
        return merge_stops(self.stops, classes)


def fit_second_order(problem: Problem, rule: AROWRule, config: RunConfig, start: GaussianWeights) -> SecondOrderResult:
    """Run `rule` from the weights `start`. One-vs-rest heads are independent; threads that share them give the same bits."""
    rows = problem.rows
    if isinstance(rows, CSR) and COLUMNS_PER_NONZERO * len(rows.indices) < rows.width:
        return _fit_occurring_columns(problem, rows, rule, config, start)
    k = len(start.counts)
    groups = np.array_split(np.arange(k), min(config.n_jobs, k))
    if len(groups) == 1:
        return _fit_second_order(problem, rule, config, start)
    cancel = Event()

    def run(heads: IntArray) -> SecondOrderResult:
        alone = replace(config, n_jobs=1, cancel=cancel, heads=tuple(heads.tolist()))
        return _fit_second_order(select_heads(problem, heads), rule, alone, start.select(heads))

    return join_results(list(in_order(run, groups, config.n_jobs, cancel)))


def join_results(found: list[SecondOrderResult]) -> SecondOrderResult:
    """The result of groups of one-vs-rest heads, in order."""
    weights = zip(*(vars(part.weights).values() for part in found), strict=True)
    stops = [stop for part in found for stop in part.stops]
    errors = [each for part in found for each in part.validation_errors or []]
    together = GaussianWeights(*map(np.concatenate, weights))
    return SecondOrderResult(together, stops, max(part.passes for part in found), errors or None)


def _fit_occurring_columns(
    problem: Problem, rows: CSR, rule: AROWRule, config: RunConfig, start: GaussianWeights
) -> SecondOrderResult:
    """Fit only the columns that occur in these rows, with the same bits: a chunk of a stream has few of a million columns."""
    columns, places = np.unique(rows.indices, return_inverse=True)
    rows = rows._replace(indices=read_only(places.astype(rows.indices.dtype)), width=len(columns))
    few = replace(start, weights=start.weights[:, columns], variances=start.variances[:, columns])
    found = fit_second_order(replace(problem, rows=rows), rule, config, few)
    weights, variances = start.weights.copy(), start.variances.copy()
    weights[:, columns], variances[:, columns] = found.weights.weights, found.weights.variances
    return replace(found, weights=replace(found.weights, weights=weights, variances=variances))


def _fit_second_order(problem: Problem, rule: AROWRule, config: RunConfig, start: GaussianWeights) -> SecondOrderResult:
    """Run all heads in this thread."""
    state, spread = _kernel_arrays(problem, start)
    draws, ended = Draws(config.seed), np.zeros(len(state.counts), bool)
    stops = [Stop("passes", "")] * len(ended)
    watch = None if config.held_out is None else _HeldOutWatch(problem, config.held_out, state, spread)
    for passes in itertools.count(1):
        before = state.counts.copy()
        for visited in _sweep(problem, rule, config, state, spread, draws):
            if config.cancel is not None and config.cancel.is_set():
                raise CancelledError
            _report(problem, config, state, before, passes - 1, visited)
        _report(problem, config, state, before, passes, 0)
        last, running = state.counts - before, np.flatnonzero(~ended)
        for h in np.flatnonzero((last == 0) & ~ended):
            if config.order != "random" or _has_no_violation(problem, rule, state, int(h)):
                ended[h], stops[h] = True, clean_pass_stop(passes, problem.n_visited)
        if watch is not None:
            watch.score(running)
            ended |= watch.has_lost_patience()
        if ended.all() or passes == config.max_iter:
            break
    for h in np.flatnonzero(~ended):
        stops[h] = pass_limit(passes, int(last[h]))
    errors = None
    if watch is not None:
        passes, errors = watch.finish(stops), [np.array(each) for each in watch.board.errors]
    return SecondOrderResult(_from_kernel_arrays(problem, state, spread), stops, passes, errors)


def clean_pass_stop(passes: int, rows: int) -> Stop:
    """The stop of a head that made no update in a pass."""
    return Stop("separated", f"separated in pass {passes}: {plural(rows, 'row')} visited, all at a margin of 1 or more")


def without_violation(problem: Problem, rule: AROWRule, weights: GaussianWeights, heads: list[int]) -> list[int]:
    """The heads for which a full scan finds no row that violates the margin."""
    state, _ = _kernel_arrays(problem, weights)
    return [h for h in heads if _has_no_violation(problem, rule, state, h)]


class _HeldOutWatch:
    """Scores the heads after each pass, and cuts them back to their best pass at the end; see `held_out.py`."""

    def __init__(self, problem: Problem, held: HeldOut, state: State, spread: Spread) -> None:
        self.rows, self.board = HeldOutRows(problem, held), Scoreboard(len(state.counts), held.patience)
        dense = isinstance(problem.rows, Dense)
        self._now = (heads_of(state.w, dense), state.bias, heads_of(spread.w, dense), spread.bias, state.counts)
        self._best = tuple(each.copy() for each in self._now)
        self._n_rows = len(held.rows)

    def score(self, running: IntArray) -> None:
        """Score the heads that had not ended before this pass."""
        heads = running.tolist()
        planes = heads if self.rows.positive is not None else slice(None)
        errors = self.rows.errors_of_planes(self._now[0][planes], self._now[1][planes], heads)
        self._copy(self._now, self._best, self.board.add(heads, errors))

    def _copy(self, source: tuple[Array, ...], target: tuple[Array, ...], heads: list[int]) -> None:
        """Copy the weights of some heads; those of classes that compete have one head."""
        alone = self.rows.positive is not None
        for one, other in zip(source, target, strict=True):
            if heads:
                chosen = heads if alone else slice(None)
                other[chosen] = one[chosen]

    def has_lost_patience(self) -> BoolArray:
        return np.array([self.board.has_lost_patience(h) for h in range(len(self.board.errors))])

    def finish(self, stops: list[Stop]) -> int:
        """Cut back the heads that were better in an earlier pass; return the passes of the run."""
        heads = range(len(stops))
        back = [h for h in heads if self.board.is_cut_back(h)]
        self._copy(self._best, self._now, back)
        for h in back:
            stops[h] = self.board.stop(h, self._n_rows)
        return max(self.board.passes(h) for h in heads)


def _sweep(problem: Problem, rule: AROWRule, config: RunConfig, state: State, spread: Spread, draws: Draws) -> Iterator[int]:
    """Make one pass in several kernel calls; yield the number of rows visited so far."""
    size = max(64, min(ORDER_ROWS, int(WORK_PER_CALL / (problem.density * state.bias.size + 1))))
    ahead, most, visited = prefetch_distance(problem, config.order, state.w), rows_per_call(problem, config.order), 0
    if with_repeated_columns(problem.rows):
        most = min(most, ROWS_PER_COPY)
    for order in ORDERS[config.order](problem.n_visited, size, draws, 1):
        order = order if problem.visited is None else problem.visited[order]
        for start in range(0, len(order), most):
            some = order[start : start + most]
            check_rows(problem, config.order, some)
            done, why = adapt_to(*_canonical(problem, some), rule, ahead, state, spread)
            if why == OVERFLOW:
                raise_out_of_range(problem)
            release_pages(problem, config.order, some)
            visited += done
            yield visited


def _canonical(problem: Problem, order: IntArray) -> tuple[Rows, Labels, IntArray]:
    """Rows without repeated columns, their labels and their order: those of the problem, or copies of these rows."""
    rows, labels = problem.rows, problem.labels
    if not with_repeated_columns(rows):
        return rows, labels, order
    field = "signs" if isinstance(labels, Binary) else "codes"
    weights = labels.weights[order] if labels.weights.size else labels.weights
    few = labels._replace(**{field: read_only(getattr(labels, field)[order]), "weights": read_only(weights)})
    return take_summed_rows(rows, order), few, np.arange(len(order))


def _has_no_violation(problem: Problem, rule: AROWRule, state: State, h: int) -> bool:
    """Whether a full scan finds no row that violates the margin: rows drawn with replacement may miss one."""
    if isinstance(problem.labels, Rest):
        problem, state = one_against_rest(problem, h), pick_heads(state, problem.rows, [h], flat=True)
    state = state._replace(w=np.ascontiguousarray(state.w))
    return not any(len(found.rows) for _, found in find_violations(problem, rule, state, 1))


def _report(problem: Problem, config: RunConfig, state: State, before: IntArray, passes: int, visited: int) -> None:
    if config.progress is not None and visited < problem.n_visited:
        made, last = int(state.counts.sum()), int((state.counts - before).sum())
        config.progress(Progress(passes, made, last, config.heads, visited, problem.n_visited, config.max_iter))


def _kernel_arrays(problem: Problem, start: GaussianWeights) -> tuple[State, Spread]:
    """A copy of the weights in the layout of the kernels."""
    dense = isinstance(problem.rows, Dense)
    state = zero_state(problem, len(start.bias), np.float64)
    weights, variances = state.w, np.zeros_like(state.w)
    if not dense:  # features x (weights, variances) x heads
        weights, variances = np.moveaxis(np.zeros((len(state.w), 2, *state.w.shape[1:])), 1, 0)
    state, spread = state._replace(w=weights), Spread(variances, start.bias_variances.copy())
    heads_of(state.w, dense)[:], heads_of(spread.w, dense)[:] = start.weights, start.variances
    state.bias[:] = start.bias
    state.counts[:] = start.counts
    return state, spread


def _from_kernel_arrays(problem: Problem, state: State, spread: Spread) -> GaussianWeights:
    for part in (state.w, state.bias, spread.w, spread.bias):
        if not np.isfinite(part).all():
            raise_out_of_range(problem)
    dense = isinstance(problem.rows, Dense)
    weights, variances = (np.ascontiguousarray(heads_of(each, dense)) for each in (state.w, spread.w))
    return GaussianWeights(weights, state.bias, variances, spread.bias, state.counts)
