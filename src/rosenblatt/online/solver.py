"""The solver of first-order online learners: sweep, log, stop.

`solve` runs a rule on a problem. `_run_online` updates the weights row by row, for one weight vector or for all one-vs-rest
heads at once; `full_scans.py` has the runs that scan all rows before each update. One-vs-rest is k independent binary runs, so
threads may share its heads, or run them one by one, with the same bits.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.problem import Problem, as_heads, copy_state, one_against_rest, pick_heads, select_heads, zero_sums
from ..kernels.linear.rows import CACHED_WEIGHTS_BYTES, PREFETCH_BYTES, Dense
from ..kernels.linear.schemes import Rest, State
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

    return _merge(problem, start, list(zip(groups, in_order(run, groups, config.n_jobs, cancel), strict=True)))


def _run_online(problem: Problem, rule: Rule, config: RunConfig, start: State, sums: State | None) -> RunResult:
    """Visit the rows one by one; each violation updates the weights immediately."""
    run = RunState(problem, rule, config, start, sums)
    size = max(64, min(ORDER_ROWS, int(WORK_PER_CALL / (problem.density * run.state.bias.size + 1))))
    ahead = prefetch_distance(problem, config.order, run.state.w)
    most = rows_per_call(problem, config.order)
    orders = Orders(config.order, problem.n_visited, size, config.seed)
    tape, ends, done = make_tape(TAPE_ENTRIES + len(run.state.counts)), np.zeros(MAX_PASSES_PER_ORDER, np.int64), 0
    run.retire_at_limits()
    while run.heads:
        for order in orders.next_passes(_passes_at_once(problem, config, size, done)):
            order, at = order if problem.visited is None else problem.visited[order], 0
            while at < len(order) and run.heads:
                if not run.begun:
                    run.before[:] = run.state.counts
                labels, state, added, before = run.swept
                rhos, good = run.steps.table(int(state.counts.max()) + 1)
                pace = Pace(rhos, min(good, run.first_limit), run.bound, ahead, run.clock, problem.n_visited, run.begun)
                some = order[at : at + most]
                check_rows(problem, config.order, some)
                visited, used, ended, why = online(
                    problem.rows, labels, some, rule, pace, state, added, tape, Passes(before, ends)
                )
                # Without a limit on the norm, an infinite squared norm has overflowed.
                if why == OVERFLOW or (why == NORM and config.w_max is None):
                    raise_out_of_range(problem)
                run.check_cancelled()
                run.add_to_record(tape, used, ends[:ended])
                run.count_visits(visited)
                release_pages(problem, config.order, order[at : at + visited])
                at, done = at + visited, done + ended
                if why in (LIMIT, NORM):
                    run.retire_at_limits()
                run.report(done, run.begun)
                if not run.begun:
                    _retire_after_pass(run, done)
    if run.begun or not done:  # the heads stopped before the end of the pass
        done += 1
        run.end_pass(done)
    find_separated(run)
    return run.result(done)


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


def _retire_after_pass(run: RunState, done: int) -> None:
    """Stop the heads that have a reason to at the end of a pass."""
    run.copy_swept_heads()
    run.score_held_out()
    _retire_clean_heads(run, done)
    run.retire_held_out()
    run.retire_checked(done)
    run.retire_stalled(done)
    if run.config.max_iter is not None and done >= run.config.max_iter:
        run.retire_after(done)


def _retire_clean_heads(run: RunState, passes: int) -> None:
    """Stop the heads that made no update in this pass."""
    clean = [h for h in run.heads if run.state.counts[h] == run.before[h]]
    if not clean:
        return
    rows = plural(run.problem.n_visited, "row")
    where = f"in pass {passes}: {rows} visited without an update"
    if run.config.order == "random":
        clean = heads_without_violation(run, clean)
        where = f"after pass {passes}: a full scan of {rows} found no violation"
    run.retire(dict.fromkeys(clean, clean_stop(run, clean, where)))


def prefetch_distance(problem: Problem, order: str, w: FloatArray) -> int:
    """Rows to prefetch ahead; 0: none.

    In cyclic order the hardware prefetcher is enough for long dense rows. Sparse rows are prefetched when the weights exceed
    the cache, because prefetched rows bypass the caches that the weights need.
    """
    if not isinstance(problem.rows, Dense):
        return SPARSE_ROWS_AHEAD if order != "cyclic" or w.nbytes > CACHED_WEIGHTS_BYTES else 0
    row_bytes = problem.n_features * problem.rows.values.itemsize
    return DENSE_ROWS_AHEAD if order != "cyclic" or row_bytes <= PREFETCH_BYTES else 0


def _merge(problem: Problem, start: State, parts: list[tuple[IntArray, RunResult]]) -> RunResult:
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
