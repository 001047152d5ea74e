"""The loop: sweep, log, stop.

`solve` runs a rule on a problem as a plan says. Online runs, of one weight vector or of all one-vs-rest heads at once, are
`_online`; batch steps and mistakes-only updates look at every row before they move, and are `_whole`. One-vs-rest is k
binary runs that never meet, so its heads may be shared out to threads, or run one by one, and give the same bits.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np

from .kernels.rows import ASKED, FAR, Dense
from .kernels.schemes import Argmax, Binary, Rest, State, Tape
from .kernels.sweeps import FULL, OVERFLOW, Pace, find, online
from .log import UpdateLog, apply_delta, make_moves
from .plan import Plan, Progress, Result
from .problem import Problem, as_heads, copy_state, one_against_rest, pick_heads, read_only, zero_sums
from .schedules import AHEAD, ORDERS, Steps
from .stopping import Stop
from .threads import in_order

# Multiply-adds between two looks at the keyboard: a tenth of a second or so.
WORK = 1 << 26
# Multiply-adds that one thread takes at a time where all rows are looked at before a move.
SHARE = 1 << 22
TAPE = 1 << 15


def solve(problem: Problem, rule: Any, plan: Plan, start: State, sums: State | None = None) -> Result:
    """Run `rule` from the weights in `start`; `sums`, where given, goes on summing what an average needs without a log."""
    whole = plan.update != "online" or plan.order == "mistakes"
    if not isinstance(problem.labels, Rest):
        return _whole(problem, rule, plan, start, sums) if whole else _online(problem, rule, plan, start, sums)
    k = len(problem.labels.heads)
    groups = np.array_split(np.arange(k), k if whole else min(plan.n_jobs, k))
    if len(groups) == 1:
        return _online(problem, rule, plan, start, sums)

    cancel = Event()

    def run(heads: Any) -> Result:
        one = one_against_rest(problem, int(heads[0])) if whole else _some_heads(problem, heads)
        part = pick_heads(start, problem.rows, heads, flat=whole)
        some = None if sums is None else pick_heads(sums, problem.rows, heads, flat=whole)
        return (_whole if whole else _online)(
            one, rule, replace(plan, n_jobs=1, cancel=cancel, heads=tuple(heads.tolist())), part, some
        )

    return _merge(problem, start, list(zip(groups, in_order(run, groups, plan.n_jobs, cancel), strict=True)))


def _online(problem: Problem, rule: Any, plan: Plan, start: State, sums: State | None) -> Result:
    """Visit row after row; the weights move at once."""
    run = _Run(problem, plan, start, sums)
    size = max(64, int(WORK / (problem.density * run.state.bias.size + 1)))
    ahead = _looking_ahead(problem, plan.order, run.state.w)
    rng = np.random.default_rng(plan.seed)
    tape = _tape(TAPE + len(run.state.counts))
    fixed = list(ORDERS["cyclic"](problem.n_visited, size, rng)) if plan.order == "cyclic" else None
    run.retire_at_limit()
    run.retire_at_norm()
    for passes in itertools.count(1):
        before = run.state.counts.copy()
        for order in fixed or ORDERS[plan.order](problem.n_visited, size, rng):
            order, at = order if problem.visited is None else problem.visited[order], 0
            while at < len(order) and run.heads:
                labels, state, sums = run.active
                rhos, good = run.steps.table(int(state.counts.max()) + 1)
                pace = Pace(rhos, min(good, run.limit), run.bound, ahead, run.clock)
                visited, used, why = online(problem.rows, labels, order[at:], rule, pace, state, sums, tape)
                if why == OVERFLOW:
                    raise _overflow(problem, int(order[at + visited]))
                run.check_cancelled()
                run.record(tape, used)
                run.clock += visited
                at += visited
                if why > FULL:
                    run.retire_at_limit()
                    run.retire_at_norm()
        run.put_back()
        run.end_pass(passes, before)
        clean = [h for h in run.heads if run.state.counts[h] == before[h]]
        if plan.order == "random":
            clean = [h for h in clean if _verified(problem, rule, run, h)]
        if clean:
            looked = f"after pass {passes} a look at all {problem.n_visited} rows found none to correct."
            visited_all = f"pass {passes} visited all {problem.n_visited} rows without an update."
            run.retire(clean, "separated", looked if plan.order == "random" else visited_all)
        if plan.max_passes is not None and passes >= plan.max_passes:
            run.retire_after(passes, before)
        if not run.heads:
            return run.result(passes)
    raise AssertionError("unreachable")


def _looking_ahead(problem: Problem, order: str, w: Any) -> int:
    """How many rows ahead memory is asked for.

    The processor sees by itself how rows go on in memory order, but short ones too late; and rows that are asked for pass by
    the caches that far weights need.
    """
    if order != "cyclic":
        return AHEAD
    short = problem.n_features * problem.rows.values.itemsize <= ASKED
    return AHEAD if (short if isinstance(problem.rows, Dense) else w.nbytes > FAR) else 0


def _whole(problem: Problem, rule: Any, plan: Plan, start: State, sums: State | None) -> Result:
    """Look at all rows before each move: batch steps (the sum or the mean of the mistakes), or one mistake drawn at random."""
    run = _Run(problem, plan, start, sums)
    rng = np.random.default_rng(plan.seed)
    one_by_one = plan.update == "online"  # order="mistakes"; batch steps have no order
    rate = problem.n_visited if one_by_one else 1  # moves that make up a pass
    mean = 1.0 / problem.total_weight if plan.update == "batch-mean" else 1.0
    run.retire_at_limit()
    run.retire_at_norm()
    before = run.state.counts.copy()
    for k in itertools.count(1):
        if not run.heads:
            return run.result(max(1, -(-(k - 1) // rate)))
        run.check_cancelled()
        asked = _asking(problem, rule, run.state, plan.n_jobs)
        if not len(asked.rows):
            run.clock += 1
            run.end_pass(-(-k // rate), before)
            run.retire([0], "separated", f"a look at all {problem.n_visited} rows found none to correct.")
            continue
        rho = run.steps(int(run.state.counts[0]) + 1)
        if one_by_one:
            chosen = slice(draw := int(rng.integers(len(asked.rows))), draw + 1)
            asked = Tape(*(column[chosen] for column in asked))
        asked.steps[:] *= rho * mean
        length = run.move(asked)
        run.record(asked, len(asked.rows))
        run.clock += 1
        done = k // rate
        if length == 0.0 and not one_by_one:
            run.retire([0], *_stuck(problem, asked))
        elif plan.tol is not None and length < plan.tol:
            run.retire(
                [0],
                "tolerance",
                f"step {k} was {length:.3g} long, under tol={plan.tol:g}; {len(asked.rows)} rows asked for it.",
            )
        run.retire_at_limit()
        run.retire_at_norm()
        if plan.max_passes is not None and done >= plan.max_passes:
            run.retire_after(done, before)
        if k % rate == 0:
            run.end_pass(done, before)
            before = run.state.counts.copy()
    raise AssertionError("unreachable")


class _Run:
    """The weights on their way, the log, and which heads still run."""

    def __init__(self, problem: Problem, plan: Plan, start: State, sums: State | None) -> None:
        self.problem, self.plan = problem, plan
        self.state = copy_state(start)
        self.steps = Steps(plan.step)
        w_max = math.inf if plan.w_max is None else float(plan.w_max)
        self.bound = math.inf if plan.w_max is None else min(w_max * w_max, sys.float_info.max)
        self.limit = np.iinfo(np.int64).max if plan.max_updates is None else plan.max_updates
        self.log = UpdateLog(problem, copy_state(start), grouped=plan.update != "online") if plan.keep_log else None
        self.sums = None if sums is None else copy_state(sums)
        self.clock = plan.since
        self.heads = list(range(len(start.counts)))
        self.stops: dict[int, Stop] = {}
        self.durations = np.zeros(len(start.counts), np.int64)
        self.active = (problem.labels, self.state, self.sums or _no_sums(self.state))
        if plan.w_max is not None:
            self.state.sqnorms[:] = _squared(self._true_norms())

    def check_cancelled(self) -> None:
        if self.plan.cancel is not None and self.plan.cancel.is_set():
            raise CancelledError

    def record(self, tape: Tape, used: int) -> None:
        """Write the tape's moves into the log."""
        if used == 0 or self.log is None:
            return
        rows, steps, times, others = (column[:used] for column in tape[:4])
        if isinstance(self.problem.labels, Rest):
            others = np.asarray(self.heads, np.int32)[others]
        self.log.append(rows, steps, times, others, self.clock)

    def move(self, asked: Tape) -> float:
        """Make a step of many rows at once, summed in float64, or of one row as it is; how long it was."""
        state, delta = self.state, zero_sums(self.state)
        make_moves(self.problem, asked.rows, asked.others, asked.steps, delta)
        if self.plan.update == "online":
            make_moves(self.problem, asked.rows, asked.others, asked.steps, state)
        else:
            apply_delta(state, delta)
        if self.sums is not None:
            make_moves(self.problem, asked.rows, asked.others, asked.steps * self.clock, self.sums)
        state.counts[:] += 1
        length = float(_norms(np.append(delta.w, delta.bias)[None])[0])
        if not (np.isfinite(state.w).all() and np.isfinite(state.bias).all()):
            raise _overflow(self.problem, int(asked.rows[0]))
        if self.plan.w_max is not None:
            state.sqnorms[:] = _squared(self._true_norms())
        return length

    def end_pass(self, passes: int, before: Any) -> None:
        counts = self.state.counts
        if self.log is not None:
            self.log.passes.append(len(self.log))
        if self.plan.watch is not None:
            self.plan.watch(Progress(passes, int(counts.sum()), int((counts - before).sum()), self.plan.heads))

    def retire_at_limit(self) -> None:
        self.put_back()
        full = [h for h in self.heads if self.state.counts[h] >= self.limit]
        self.retire(full, "updates", f"max_updates={self.limit} updates were made.")

    def retire_at_norm(self) -> None:
        if self.plan.w_max is None:
            return
        self.put_back()
        norms = self._true_norms()  # the running sums drift; only the true norm decides
        self.state.sqnorms[:] = _squared(norms)
        for h in [h for h in self.heads if norms[h] > self.plan.w_max]:
            self.retire([h], "norm", f"the norm of the weights reached {norms[h]:.6g}, over w_max={self.plan.w_max:g}.")
        self._select()

    def retire_after(self, passes: int, before: Any) -> None:
        for h in list(self.heads):
            last = int(self.state.counts[h] - before[h])
            self.retire([h], "passes", f"max_passes={passes} used up; the last pass still made {last} updates.")

    def retire(self, heads: list[int], reason: str, sentence: str) -> None:
        if not heads:
            return
        self.put_back()
        for h in heads:
            self.stops[h] = Stop(reason, sentence)
            self.durations[h] = self.clock
        self.heads = [h for h in self.heads if h not in self.stops]
        self._select()

    def _select(self) -> None:
        """Heads that are done need no more scores: the kernel sees only those that still run."""
        labels, every = self.problem.labels, len(self.heads) == len(self.state.counts)
        sums = self.sums or _no_sums(self.state)
        if every or not isinstance(labels, Rest):
            self.active = (labels, self.state, sums)
        else:
            few, rows = np.asarray(self.heads, np.int64), self.problem.rows
            some = sums if self.sums is None else pick_heads(sums, rows, few)
            self.active = (_some_heads(self.problem, few).labels, pick_heads(self.state, rows, few), some)

    def put_back(self) -> None:
        """Bring what the active heads did into the state of all."""
        few = np.asarray(self.heads, np.int64)
        for whole, part in zip((self.state, self.sums), self.active[1:], strict=True):
            if whole is None or whole is part:
                continue
            as_heads(whole.w, self.problem.rows)[few] = as_heads(part.w, self.problem.rows)
            for name in ("bias", "counts", "sqnorms"):
                getattr(whole, name)[few] = getattr(part, name)

    def _true_norms(self) -> Any:
        heads = np.column_stack([as_heads(self.state.w, self.problem.rows).astype(np.float64), self.state.bias])
        if isinstance(self.problem.labels, Argmax):
            heads = heads.reshape(1, -1)
        return _norms(heads)

    def result(self, passes: int) -> Result:
        if not (np.isfinite(self.state.w).all() and np.isfinite(self.state.bias).all()):
            raise _overflow(self.problem, 0)
        if self.log is not None:
            self.log.since, self.log.durations = self.plan.since, self.durations
        stops = [self.stops[h] for h in range(len(self.durations))]
        return Result(self.state, stops, passes, self.durations, self.log, self.sums)


def _asking(problem: Problem, rule: Any, state: State, n_jobs: int) -> Tape:
    """The moves that all rows ask for, found in fixed stretches: the same for any number of threads."""
    size = max(64, int(SHARE / (problem.density * state.bias.size + 1)))
    stretches = list(_stretches(problem, size))

    def look(order: Any) -> Tape:
        tape = _tape(len(order))
        mine = state._replace(scores=np.zeros_like(state.scores))
        visited, used, why = find(problem.rows, problem.labels, order, rule, mine, tape)
        if why == OVERFLOW:
            raise _overflow(problem, int(order[visited]))
        return Tape(*(column[:used].copy() for column in tape))

    found = list(in_order(look, stretches, n_jobs if len(stretches) > 1 else 1))
    return found[0] if len(found) == 1 else Tape(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _stretches(problem: Problem, size: int) -> Iterator[Any]:
    for start in range(0, problem.n_visited, size):
        stop = min(start + size, problem.n_visited)
        yield np.arange(start, stop) if problem.visited is None else problem.visited[start:stop]


def _verified(problem: Problem, rule: Any, run: _Run, h: int) -> bool:
    """Draws with replacement may miss a row, so a pass without an update proves nothing: look at all of them."""
    one, state = problem, run.state
    if isinstance(problem.labels, Rest):
        one, state = one_against_rest(problem, h), pick_heads(run.state, problem.rows, [h], flat=True)
    return not len(_asking(one, rule, state, run.plan.n_jobs).rows)


def _norms(rows: Any) -> Any:
    """The length of each row, scaled on the way: squares of large and small numbers leave the range."""
    scale = abs(rows).max(axis=1)
    scale[scale == 0.0] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        return scale * np.sqrt(np.square(rows / scale[:, None]).sum(axis=1))


def _squared(norms: Any) -> Any:
    with np.errstate(over="ignore"):  # only ever compared
        return norms * norms


def _stuck(problem: Problem, asked: Tape) -> tuple[str, str]:
    """A step of length zero with mistakes left: if the mistakes' exact sum is zero, no plane separates them (Gordan)."""
    exact = isinstance(problem.labels, Binary) and not problem.labels.weights.size and _sum_is_exactly_zero(problem, asked.rows)
    rows = len(asked.rows)
    if exact:
        return "impossible", f"the {rows} signed rows at or under the margin sum to exactly zero, so no plane separates them."
    return "tolerance", f"the step was zero while {rows} rows still asked for one; it will not change."


def _sum_is_exactly_zero(problem: Problem, rows: Any) -> bool:
    """math.fsum rounds the exact sum once, so it is zero only where the sum is."""
    signs = problem.labels.signs[rows]
    if problem.x0 and int(signs.sum(dtype=np.int64)) != 0:
        return False
    values = problem.matrix()[rows]
    signed = values * signs[:, None] if isinstance(problem.rows, Dense) else values.multiply(signs[:, None]).tocsc()
    columns = signed.T if isinstance(problem.rows, Dense) else np.split(signed.data, signed.indptr[1:-1])
    try:
        return all(math.fsum(column) == 0.0 for column in columns)
    except OverflowError:
        return False


def _some_heads(problem: Problem, heads: Any) -> Problem:
    return replace(problem, labels=problem.labels._replace(heads=read_only(problem.labels.heads[heads])))


def _merge(problem: Problem, start: State, parts: list[tuple[Any, Result]]) -> Result:
    """One result from the results of groups of heads; the log in order of time, then class, as one sweep would write it."""
    state, durations = copy_state(start), np.zeros(len(start.counts), np.int64)
    log = UpdateLog(problem, copy_state(start)) if parts[0][1].log is not None else None
    sums = None if parts[0][1].sums is None else zero_sums(start)
    stops: list[Stop] = []
    for heads, result in parts:
        durations[heads] = result.durations
        for target, source in ((state, result.state), (sums, result.sums)):
            if target is not None and source is not None:
                vectors = source.w[None] if source.w.ndim == 1 else as_heads(source.w, problem.rows)
                as_heads(target.w, problem.rows)[heads] = vectors
                target.bias[heads] = source.bias
        state.counts[heads], state.sqnorms[heads] = result.state.counts, result.state.sqnorms
        stops += result.stops
    if log is not None:
        logs = [(heads, result.log) for heads, result in parts if result.log is not None]
        others = np.concatenate([heads[part.heads] for heads, part in logs])
        times = np.concatenate([part.times for _, part in logs])
        by_time = np.lexsort((others, times))
        rows = np.concatenate([part.rows for _, part in logs])[by_time]
        steps = np.concatenate([part.steps for _, part in logs])[by_time]
        log.grouped = logs[0][1].grouped
        log.append(rows, steps, times[by_time], others[by_time], 0)
        log.since, log.durations = logs[0][1].since, durations
        ends = [[*part.passes, len(part)] for _, part in logs]
        log.passes = [sum(each[min(p, len(each) - 1)] for each in ends) for p in range(max(map(len, ends)) - 1)]
    return Result(state, stops, max(result.passes for _, result in parts), durations, log, sums)


def _no_sums(state: State) -> State:
    """No room for sums, in the type that sums have."""
    return state._replace(w=np.zeros((0,) * state.w.ndim), bias=np.zeros(0))


def _tape(size: int) -> Tape:
    return Tape(np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size))


def looked_at_all(problem: Problem, plan: Plan, result: Result) -> bool:
    """Whether the run had every row before it, so that one that is not finite would have shown."""
    whole = plan.update != "online" or plan.order == "mistakes"
    enough = 1 if whole else problem.n_rows
    return problem.visited is None and (whole or plan.order != "random") and int(result.durations.min()) >= enough


class OutOfRangeError(ValueError):
    """A score or a weight is not finite any more: X is too large, or never was finite."""


def _overflow(problem: Problem, row: int) -> ValueError:
    with np.errstate(invalid="ignore"):
        largest = float(np.abs(problem.rows.values).max(initial=0.0))
    kind = problem.rows.values.dtype.name
    cause = f"X has values up to {largest:.3g}; scale the features (for example with sklearn.preprocessing.MaxAbsScaler)"
    if largest < 1e15:
        cause = f"X is not to blame, with values up to {largest:.3g}; look at step, init, intercept_scaling and weights"
    return OutOfRangeError(f"the weights or the score of row {row} left the range of {kind}: {cause}")
