"""The loop: sweep, log, stop.

`solve` runs a rule on a problem as a plan says. Online runs, of one weight vector or of all one-vs-rest heads at once, are
`_online`; batch steps and mistakes-only updates look at every row before they move, and are `_whole`. One-vs-rest is k
binary runs that never meet, so its heads may be shared out to threads, or run one by one, and give the same bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np

from ..data.problem import Problem, as_heads, copy_state, one_against_rest, pick_heads, zero_sums
from ..kernels.linear.rows import ASKED, FAR, Dense
from ..kernels.linear.schemes import Rest, State, Tape
from ..kernels.linear.sweeps import FULL, OVERFLOW, Pace, find, online
from ..parallel import in_order
from .config import Plan, Result
from .run_state import Underway, out_of_range, some_heads
from .schedules import AHEAD, ORDERS
from .stopping import Stop
from .update_log import UpdateLog, apply_delta, make_moves
from .zero_step_proof import why_stuck

# Multiply-adds between two looks at the keyboard: a tenth of a second or so.
WORK = 1 << 26
# Multiply-adds that one thread takes at a time where all rows are looked at before a move.
SHARE = 1 << 22
TAPE = 1 << 15
# Rows whose order is drawn at a time.
ORDER = 1 << 17


def solve(problem: Problem, rule: Any, plan: Plan, start: State, sums: State | None = None) -> Result:
    """Run `rule` from the weights in `start`; `sums`, where given, goes on summing what an average needs."""
    whole = plan.update != "online" or plan.order == "mistakes"
    if not isinstance(problem.labels, Rest):
        return _whole(problem, rule, plan, start, sums) if whole else _online(problem, rule, plan, start, sums)
    k = len(problem.labels.heads)
    groups = np.array_split(np.arange(k), k if whole else min(plan.n_jobs, k))
    if len(groups) == 1:
        return _online(problem, rule, plan, start, sums)

    cancel = Event()

    def run(heads: Any) -> Result:
        one = one_against_rest(problem, int(heads[0])) if whole else some_heads(problem, heads)
        part = pick_heads(start, problem.rows, heads, flat=whole)
        some = None if sums is None else pick_heads(sums, problem.rows, heads, flat=whole)
        return (_whole if whole else _online)(
            one, rule, replace(plan, n_jobs=1, cancel=cancel, heads=tuple(heads.tolist())), part, some
        )

    return _merge(problem, start, list(zip(groups, in_order(run, groups, plan.n_jobs, cancel), strict=True)))


def _online(problem: Problem, rule: Any, plan: Plan, start: State, sums: State | None) -> Result:
    """Visit row after row; the weights move at once."""
    run = Underway(problem, plan, start, sums)
    size = max(64, min(ORDER, int(WORK / (problem.density * run.state.bias.size + 1))))
    ahead = looking_ahead(problem, plan.order, run.state.w)
    most = rows_at_a_time(problem, plan.order)
    rng = np.random.default_rng(plan.seed)
    tape = _tape(TAPE + len(run.state.counts))
    fixed = (
        list(ORDERS["cyclic"](problem.n_visited, size, rng)) if plan.order == "cyclic" and problem.n_visited <= size else None
    )
    run.retire_at_limit()
    run.retire_at_norm()
    for passes in itertools.count(1):
        before, seen = run.state.counts.copy(), run.clock
        for order in fixed or ORDERS[plan.order](problem.n_visited, size, rng):
            order, at = order if problem.visited is None else problem.visited[order], 0
            while at < len(order) and run.heads:
                labels, state, added = run.active
                rhos, good = run.steps.table(int(state.counts.max()) + 1)
                pace = Pace(rhos, min(good, run.limit), run.bound, ahead, run.clock)
                visited, used, why = online(problem.rows, labels, order[at : at + most], rule, pace, state, added, tape)
                if why == OVERFLOW:
                    raise out_of_range(problem, int(order[at + visited]))
                run.check_cancelled()
                run.record(tape, used)
                run.clock += visited
                give_back(problem, plan.order, order[at : at + visited])
                at += visited
                if why > FULL:
                    run.retire_at_limit()
                    run.retire_at_norm()
                if run.clock - seen < problem.n_visited:
                    run.tell(passes - 1, before, run.clock - seen)
        run.put_back()
        run.end_pass(passes, before)
        clean = [h for h in run.heads if run.state.counts[h] == before[h]]
        if plan.order == "random":
            clean = [h for h in clean if _verified(problem, rule, run, h)]
        if clean:
            looked = f"after pass {passes} a look at all {problem.n_visited} rows found none to correct."
            visited_all = f"pass {passes} visited all {problem.n_visited} rows without an update."
            run.retire(clean, _clean(rule), looked if plan.order == "random" else visited_all)
        run.retire_judged(passes)
        if plan.max_iter is not None and passes >= plan.max_iter:
            run.retire_after(passes, before)
        if not run.heads:
            return run.result(passes)
    raise AssertionError("unreachable")


def rows_at_a_time(problem: Problem, order: str) -> int:
    if problem.pages is None:
        return ORDER
    return problem.pages.consecutive if order == "cyclic" else problem.pages.scattered


def give_back(problem: Problem, order: str, done: Any) -> None:
    """Give back the memory of the rows that were visited, where they lie on disk."""
    if problem.pages is None or not len(done):
        return
    if order == "cyclic":
        problem.give_back(int(done[0]), int(done[-1]) + 1)
    else:
        problem.give_back()


def _clean(rule: Any) -> str:
    """What a look without a correction means: a rule that moves every row has none left only where all steps vanished."""
    return "separated" if rule.margin < np.inf else "vanished"


def looking_ahead(problem: Problem, order: str, w: Any) -> int:
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
    run = Underway(problem, plan, start, sums)
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
        asking, length = _one_mistake(problem, rule, run, rng) if one_by_one else _batch_step(problem, rule, run, mean, before)
        if not asking:
            run.clock += 1
            run.end_pass(-(-k // rate), before)
            run.retire([0], _clean(rule), f"a look at all {problem.n_visited} rows found none to correct.")
            continue
        run.clock += 1
        done = k // rate
        if length == 0.0 and not one_by_one:
            run.retire([0], *why_stuck(problem, _all_asking(problem, rule, run)))
        elif plan.tol is not None and length < plan.tol:
            run.retire(
                [0],
                "tolerance",
                f"step {k} was {length:.3g} long, under tol={plan.tol:g}; {asking} rows asked for it.",
            )
        run.retire_at_limit()
        run.retire_at_norm()
        if plan.max_iter is not None and done >= plan.max_iter:
            run.retire_after(done, before)
        if k % rate == 0:
            run.end_pass(done, before)
            run.retire_judged(done)
            before = run.state.counts.copy()
    raise AssertionError("unreachable")


def _batch_step(problem: Problem, rule: Any, run: Underway, mean: float, before: Any) -> tuple[int, float]:
    """(rows that asked for the step, its length): their moves are summed in order while others are still looked for."""
    asking, first, factor, delta = 0, 0, 0.0, zero_sums(run.state)
    for looked_at, asked in rows_asking(problem, rule, run.state, run.plan.n_jobs):
        if len(asked.rows):
            if not asking:
                first, factor = int(asked.rows[0]), run.steps(int(run.state.counts[0]) + 1) * mean
            asked.steps[:] *= factor
            run.collect(asked, delta)
            run.record(asked, len(asked.rows))
            asking += len(asked.rows)
        if looked_at < problem.n_visited:
            run.tell(run.clock - run.plan.since, before, looked_at)
    if asking:
        apply_delta(run.state, delta)
    return asking, run.moved(delta, first) if asking else 0.0


def _one_mistake(problem: Problem, rule: Any, run: Underway, rng: np.random.Generator) -> tuple[int, float]:
    """(rows that asked for a move, the length of the one that was made)."""
    every = _all_asking(problem, rule, run)
    if not len(every.rows):
        return 0, 0.0
    rho = run.steps(int(run.state.counts[0]) + 1)
    draw = int(rng.integers(len(every.rows)))
    asked, delta = Tape(*(column[draw : draw + 1] for column in every)), zero_sums(run.state)
    asked.steps[:] *= rho
    run.collect(asked, delta)
    make_moves(problem, asked.rows, asked.others, asked.steps, run.state)
    run.record(asked, 1)
    return len(every.rows), run.moved(delta, int(asked.rows[0]))


def _all_asking(problem: Problem, rule: Any, run: Underway) -> Tape:
    found = [asked for _, asked in rows_asking(problem, rule, run.state, run.plan.n_jobs)]
    return found[0] if len(found) == 1 else Tape(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def rows_asking(problem: Problem, rule: Any, state: State, n_jobs: int) -> Iterator[tuple[int, Tape]]:
    """The moves that all rows ask for, found in fixed stretches, and how many were looked at: the same for any n_jobs."""
    size, n_jobs = max(64, int(SHARE / (problem.density * state.bias.size + 1))), n_jobs if problem.pages is None else 1
    size, n = min(size, rows_at_a_time(problem, "cyclic")), problem.n_visited

    def look(start: int) -> tuple[Any, Tape]:
        stop = min(start + size, n)
        order = np.arange(start, stop) if problem.visited is None else problem.visited[start:stop]
        tape = _tape(len(order))
        mine = state._replace(scores=np.zeros_like(state.scores))
        visited, used, why = find(problem.rows, problem.labels, order, rule, mine, tape)
        if why == OVERFLOW:
            raise out_of_range(problem, int(order[visited]))
        return order, Tape(*(column[:used].copy() for column in tape))

    looked_at = 0
    for order, asked in in_order(look, range(0, n, size), n_jobs if n > size else 1):
        looked_at += len(order)
        yield looked_at, asked
        give_back(problem, "cyclic", order)


def _verified(problem: Problem, rule: Any, run: Underway, h: int) -> bool:
    """Draws with replacement may miss a row, so a pass without an update proves nothing: look at all of them."""
    one, state = problem, run.state
    if isinstance(problem.labels, Rest):
        one, state = one_against_rest(problem, h), pick_heads(run.state, problem.rows, [h], flat=True)
    return not any(len(asked.rows) for _, asked in rows_asking(one, rule, state, run.plan.n_jobs))


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


def _tape(size: int) -> Tape:
    return Tape(np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size))


def looked_at_all(problem: Problem, plan: Plan, result: Result) -> bool:
    """Whether the run had every row before it, so that one that is not finite would have shown."""
    whole = plan.update != "online" or plan.order == "mistakes"
    enough = 1 if whole else problem.n_rows
    return problem.visited is None and (whole or plan.order != "random") and int(result.durations.min()) >= enough
