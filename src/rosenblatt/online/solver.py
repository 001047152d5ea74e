"""The solver of first-order online learners: sweep, log, stop.

`solve` runs a rule on a problem. `_run_online` updates the weights row by row, for one weight vector or for all one-vs-rest
heads at once; `full_scans.py` has the runs that scan all rows before each update. One-vs-rest is k independent binary runs, so
threads may share its heads, or run them one by one, with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Event

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.problem import Problem, as_heads, copy_state, one_against_rest, pick_heads, select_heads, zero_sums
from ..kernels.linear.rows import CACHED_WEIGHTS_BYTES, PREFETCH_BYTES, Dense
from ..kernels.linear.schemes import Rest, State, Tape
from ..kernels.linear.sweeps import LIMIT, NORM, OVERFLOW, Pace, Passes, online
from ..parallel import in_order
from ..reporting.text import plural
from .full_scans import run_full_scans
from .run import Rule, RunConfig, RunResult, RunState, raise_out_of_range
from .run_record import RunRecord
from .scans import (
    ORDER_ROWS,
    WORK_PER_CALL,
    check_rows,
    clean_stop,
    find_separated,
    heads_without_violation,
    make_tape,
    release_pages,
    rows_per_call,
)
from .schedules import Orders
from .stopping import Stop
from .update_log import UpdateLog

TAPE_ENTRIES = 1 << 15
# Rows whose order is drawn at once, at most, if it is that of several passes.
MAX_ROWS_OF_PASSES = 1 << 14
MAX_PASSES_PER_ORDER = 256
# Rows between a prefetch and its use.
DENSE_ROWS_AHEAD, SPARSE_ROWS_AHEAD = 16, 8


def solve(problem: Problem, rule: Rule, config: RunConfig, start: State, sums: State | None = None) -> RunResult:
    """Run `rule` from the weights in `start`; `sums`, if given, continues the sums for the average."""
    whole = config.scans_every_row
    run_heads = run_full_scans if whole else _run_online
    if not isinstance(problem.labels, Rest):
        return run_heads(problem, rule, config, start, sums)
    k = len(problem.labels.heads)
    groups = np.array_split(np.arange(k), k if whole else min(config.n_jobs, k))
    if len(groups) == 1:
        return _run_online(problem, rule, config, start, sums)

    cancel = Event()

    def run(heads: IntArray) -> RunResult:
        one = one_against_rest(problem, int(heads[0])) if whole else select_heads(problem, heads)
        part = pick_heads(start, problem.rows, heads, flat=whole)
        some = None if sums is None else pick_heads(sums, problem.rows, heads, flat=whole)
        return run_heads(one, rule, replace(config, n_jobs=1, cancel=cancel, heads=tuple(heads.tolist())), part, some)

    return merge_results(problem, start, list(zip(groups, in_order(run, groups, config.n_jobs, cancel), strict=True)))


def _run_online(problem: Problem, rule: Rule, config: RunConfig, start: State, sums: State | None) -> RunResult:
    """Visit the rows one by one; each violation updates the weights immediately."""
    run = RunState(problem, rule, config, start, sums)
    size = rows_per_order(problem, run.state)
    orders = Orders(config.order, problem.n_visited, size, config.seed)
    buffers = make_buffers(run)
    run.retire_at_limits()
    while run.heads:
        for order in orders.next_passes(_passes_at_once(problem, config, size, run.passes)):
            sweep_rows(run, order, buffers, _retire_after_pass)
    if pass_is_unfinished(run):
        run.end_pass(run.passes)
    find_separated(run)
    return run.result(run.passes)


def rows_per_order(problem: Problem, state: State) -> int:
    """Rows whose order is drawn at once."""
    return max(64, min(ORDER_ROWS, int(WORK_PER_CALL / (problem.density * state.bias.size + 1))))


def make_buffers(run: RunState) -> tuple[Tape, IntArray]:
    """The tape of a sweep, and its array of the ends of passes."""
    return make_tape(TAPE_ENTRIES + len(run.state.counts)), np.zeros(MAX_PASSES_PER_ORDER, np.int64)


def sweep_rows(run: RunState, order: IntArray, buffers: tuple[Tape, IntArray], after_pass: Callable[[RunState], None]) -> None:
    """Visit rows in this order, up to the end of the run; call `after_pass` at the end of each pass."""
    problem, config, (tape, ends) = run.problem, run.config, buffers
    ahead, most = prefetch_distance(problem, config.order, run.state.w), rows_per_call(problem, config.order)
    order, at = order if problem.visited is None else problem.visited[order], 0
    while at < len(order) and run.heads:
        if not run.begun:
            run.before[:] = run.state.counts
        labels, state, added, before = run.swept
        rhos, good = run.steps.table(int(state.counts.max()) + 1)
        pace = Pace(rhos, min(good, run.first_limit), run.bound, ahead, run.clock, run.pass_rows, run.begun)
        some = order[at : at + most]
        check_rows(problem, config.order, some)
        visited, used, ended, why = online(problem.rows, labels, some, run.rule, pace, state, added, tape, Passes(before, ends))
        # Without a limit on the norm, an infinite squared norm has overflowed.
        if why == OVERFLOW or (why == NORM and config.w_max is None):
            raise_out_of_range(problem)
        run.check_cancelled()
        run.add_to_record(tape, used, ends[:ended])
        run.count_visits(visited)
        release_pages(problem, config.order, order[at : at + visited])
        at, run.passes = at + visited, run.passes + ended
        if why in (LIMIT, NORM):
            run.retire_at_limits()
        run.report(run.passes, run.begun)
        if not run.begun:
            after_pass(run)


def pass_is_unfinished(run: RunState) -> bool:
    """Whether all heads stopped before the end of a pass, which then counts as one."""
    unfinished = bool(run.begun) or not run.passes
    run.passes += unfinished
    return unfinished


def _passes_at_once(problem: Problem, config: RunConfig, size: int, done: int) -> int:
    """Passes that one kernel call may make, up to `size` rows: on small sets a call takes longer than a pass.

    It is one where something happens after each pass. The number grows with the passes that are done, because the orders of
    passes that a run does not reach are drawn in vain.
    """
    watched = config.progress is not None or config.check is not None or config.held_out is not None or config.may_stall
    if watched or problem.pages is not None:
        return 1
    left = MAX_PASSES_PER_ORDER if config.max_iter is None else config.max_iter - done
    fitting = min(size, MAX_ROWS_OF_PASSES) // problem.n_visited
    return max(1, min(fitting, left, MAX_PASSES_PER_ORDER, max(4, 3 * done)))


def _retire_after_pass(run: RunState) -> None:
    """Stop the heads that have a reason to at the end of a pass."""
    run.copy_swept_heads()
    run.score_held_out()
    clean = clean_heads(run)
    if clean and run.config.order == "random":
        clean = heads_without_violation(run, clean)
    retire_after_pass(run, clean)


def clean_heads(run: RunState) -> list[int]:
    """The running heads that made no update in this pass."""
    return [h for h in run.heads if run.state.counts[h] == run.before[h]]


def retire_after_pass(run: RunState, clean: list[int]) -> None:
    """Stop the heads that have a reason to at the end of a pass; those in `clean` have no violation left."""
    rows, passes = plural(run.problem.n_visited, "row"), run.passes
    if clean:
        where = f"in pass {passes}: {rows} visited without an update"
        if run.config.order == "random":
            where = f"after pass {passes}: a full scan of {rows} found no violation"
        run.retire(dict.fromkeys(clean, clean_stop(run, clean, where)))
    run.retire_held_out()
    run.retire_checked(passes)
    run.retire_stalled(passes)
    if run.config.max_iter is not None and passes >= run.config.max_iter:
        run.retire_after(passes)


def prefetch_distance(problem: Problem, order: str, w: FloatArray) -> int:
    """Rows to prefetch ahead; 0: none.

    In cyclic order the hardware prefetcher is enough for long dense rows. Sparse rows are prefetched when the weights exceed
    the cache, because prefetched rows bypass the caches that the weights need.
    """
    if not isinstance(problem.rows, Dense):
        return SPARSE_ROWS_AHEAD if order != "cyclic" or w.nbytes > CACHED_WEIGHTS_BYTES else 0
    row_bytes = problem.n_features * problem.rows.values.itemsize
    return DENSE_ROWS_AHEAD if order != "cyclic" or row_bytes <= PREFETCH_BYTES else 0


def merge_results(problem: Problem, start: State, parts: list[tuple[IntArray, RunResult]]) -> RunResult:
    """Merge the results of groups of heads."""
    state, durations = copy_state(start), np.zeros(len(start.counts), np.int64)
    sums = None if parts[0][1].sums is None else zero_sums(start)
    stops: list[Stop] = []
    for heads, result in parts:
        durations[heads] = result.durations
        for target, source in ((state, result.state), (sums, result.sums)):
            if target is not None and source is not None:
                vectors = source.w[None] if source.w.ndim == 1 else as_heads(source.w, problem.rows)
                as_heads(target.w, problem.rows)[heads[0] : heads[-1] + 1] = vectors
                target.bias[heads] = source.bias
        state.counts[heads], state.sqnorms[heads] = result.state.counts, result.state.sqnorms
        stops += result.stops
    logs = [(heads, result.log) for heads, result in parts if result.log is not None]
    log = _merge_logs(problem, start, logs, durations) if logs else None
    errors = [each for _, result in parts for each in result.validation_errors or []]
    return RunResult(state, stops, max(result.passes for _, result in parts), durations, log, sums, errors or None)


def _merge_logs(problem: Problem, start: State, logs: list[tuple[IntArray, UpdateLog]], durations: IntArray) -> UpdateLog:
    """Merge the logs of groups of heads in order of time, then class, as a single sweep would write them."""
    first = logs[0][1]._record
    record = RunRecord(problem, start, grouped=first.grouped, visited_before=first.visited_before)
    others = np.concatenate([heads[part.heads] for heads, part in logs])
    times = np.concatenate([part.times for _, part in logs])
    by_time = np.lexsort((others, times))
    rows = np.concatenate([part.rows for _, part in logs])[by_time]
    steps = np.concatenate([part.steps for _, part in logs])[by_time]
    record.append(rows, steps, times[by_time], others[by_time], 0)
    record.durations = durations
    ends = [[*part.passes, len(part)] for _, part in logs]
    record.passes = [sum(each[min(p, len(each) - 1)] for each in ends) for p in range(max(map(len, ends)) - 1)]
    return UpdateLog(record)


def visited_every_row(problem: Problem, config: RunConfig, result: RunResult) -> bool:
    """Whether the run has visited every row, and so would have found a value that is not finite."""
    whole = config.scans_every_row
    enough = 1 if whole else problem.n_rows
    return problem.visited is None and (whole or config.order != "random") and int(result.durations.min()) >= enough
