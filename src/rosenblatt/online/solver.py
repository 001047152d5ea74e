"""The solver of first-order online learners: sweep, log, stop.

`solve` runs a rule on a problem. `_run_online` updates the weights row by row, for one weight vector or for all one-vs-rest
heads at once. `_run_full_scans` scans every row before each update: batch steps, and updates by one misclassified row drawn
at random. One-vs-rest is k independent binary runs, so threads may share its heads, or run them one by one, with the same bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from threading import Event

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.problem import Problem, as_heads, copy_state, one_against_rest, pick_heads, select_heads, zero_sums
from ..kernels.linear.rows import CACHED_WEIGHTS_BYTES, PREFETCH_BYTES, Dense
from ..kernels.linear.schemes import Rest, State, Tape
from ..kernels.linear.sweeps import LIMIT, NORM, OVERFLOW, Pace, Passes, collect_moves, online
from ..parallel import in_order
from ..reporting.text import plural, short
from .run import Rule, RunConfig, RunResult, RunState, raise_out_of_range
from .run_record import RunRecord, apply_delta, make_moves
from .schedules import Orders
from .stopping import Stop, zero_step_stop
from .update_log import UpdateLog

# Multiply-adds per kernel call, about 0.1 s, so that Ctrl-C is handled promptly.
WORK_PER_CALL = 1 << 26
# Multiply-adds per task of one thread in a full scan.
SCAN_WORK_PER_TASK = 1 << 22
TAPE_ENTRIES = 1 << 15
# Reasons to stop that do not tell whether the rows are separated.
LIMITS = ("passes", "updates", "norm", "tolerance", "stalled")
# Rows per block of the scan at a limit: most runs on inseparable rows find a violation in the first block.
FINAL_SCAN_ROWS = 2048
# Rows whose order is drawn at once, at most: of one pass, or of several.
ORDER_ROWS = 1 << 17
MAX_ROWS_OF_PASSES = 1 << 14
MAX_PASSES_PER_ORDER = 256
# Rows between a prefetch and its use.
DENSE_ROWS_AHEAD, SPARSE_ROWS_AHEAD = 16, 8


def solve(problem: Problem, rule: Rule, config: RunConfig, start: State, sums: State | None = None) -> RunResult:
    """Run `rule` from the weights in `start`; `sums`, if given, continues the sums for the average."""
    whole = config.scans_every_row
    run_heads = _run_full_scans if whole else _run_online
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
    tape, ends, done = _tape(TAPE_ENTRIES + len(run.state.counts)), np.zeros(MAX_PASSES_PER_ORDER, np.int64), 0
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
    _find_separated(run)
    return run.result(done)


def _passes_at_once(problem: Problem, config: RunConfig, size: int, done: int) -> int:
    """Passes that one kernel call may make, up to `size` rows: on small sets a call takes longer than a pass.

    It is one where something happens after each pass. The number grows with the passes that are done, because the orders of
    passes that a run does not reach are drawn in vain.
    """
    if config.progress is not None or config.check is not None or config.may_stall or problem.pages is not None:
        return 1
    left = MAX_PASSES_PER_ORDER if config.max_iter is None else config.max_iter - done
    fitting = min(size, MAX_ROWS_OF_PASSES) // problem.n_visited
    return max(1, min(fitting, left, MAX_PASSES_PER_ORDER, max(4, 3 * done)))


def _retire_after_pass(run: RunState, done: int) -> None:
    """Stop the heads that have a reason to at the end of a pass."""
    run.copy_swept_heads()
    _retire_clean_heads(run, done)
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
        clean = [h for h in clean if _has_no_violation(run, h)]
        where = f"after pass {passes}: a full scan of {rows} found no violation"
    run.retire(dict.fromkeys(clean, _clean_stop(run, clean, where)))


def _clean_stop(run: RunState, heads: list[int], where: str) -> Stop:
    """The stop after a scan without updates. For a rule with an infinite margin, it means that all steps were zero."""
    if all(run.margin(h) < np.inf for h in heads):
        return Stop("separated", f"separated {where}")
    return Stop("vanished", f"the gradient vanished {where}")


def rows_per_call(problem: Problem, order: str) -> int:
    """Rows that one kernel call may visit, so that rows on disk fit into memory."""
    if problem.pages is None:
        return ORDER_ROWS
    return problem.pages.consecutive if order == "cyclic" else problem.pages.scattered


def check_rows(problem: Problem, order: str, some: IntArray) -> None:
    """Check rows in the order of the file, which are mapped from disk, before a kernel reads them."""
    if problem.pages is not None and order == "cyclic":
        problem.check_rows(int(some[0]), int(some[-1]) + 1)


def release_pages(problem: Problem, order: str, done: IntArray) -> None:
    """Release the memory of visited rows that are mapped from disk."""
    if problem.pages is None or not len(done):
        return
    if order == "cyclic":
        problem.release_pages(int(done[0]), int(done[-1]) + 1)
    else:
        problem.release_pages()


def prefetch_distance(problem: Problem, order: str, w: FloatArray) -> int:
    """Rows to prefetch ahead; 0: none.

    In cyclic order the hardware prefetcher is enough for long dense rows. Sparse rows are prefetched when the weights exceed
    the cache, because prefetched rows bypass the caches that the weights need.
    """
    if not isinstance(problem.rows, Dense):
        return SPARSE_ROWS_AHEAD if order != "cyclic" or w.nbytes > CACHED_WEIGHTS_BYTES else 0
    row_bytes = problem.n_features * problem.rows.values.itemsize
    return DENSE_ROWS_AHEAD if order != "cyclic" or row_bytes <= PREFETCH_BYTES else 0


def _run_full_scans(problem: Problem, rule: Rule, config: RunConfig, start: State, sums: State | None) -> RunResult:
    """Scan all rows before each update: the sum or mean of the violations (batch), or one violation drawn at random."""
    run = RunState(problem, rule, config, start, sums)
    rng = np.random.default_rng(config.seed)
    one_by_one = config.update == "online"  # order="mistakes"; batch steps have no order
    rate = problem.n_visited if one_by_one else 1  # updates that count as a pass
    scan_work = (problem.density * start.bias.size + 1) * max(1, problem.n_visited)
    scans_per_report = max(1, int(WORK_PER_CALL / scan_work))
    mean = 1.0 / problem.total_weight if config.update == "batch-mean" else 1.0
    run.retire_at_limits()
    for k in itertools.count(1):
        if not run.heads:
            _find_separated(run)
            return run.result(max(1, -(-(k - 1) // rate)))
        run.check_cancelled()
        violations, length = _one_mistake(run, rng) if one_by_one else _batch_step(run, mean)
        if not violations:
            run.clock += 1
            run.end_pass(-(-k // rate))
            where = f"after {plural(k - 1, 'update')}: a full scan of {plural(problem.n_visited, 'row')} found no violation"
            run.retire({0: _clean_stop(run, [0], where)})
            continue
        run.clock += 1
        done = k // rate
        if length == 0.0 and not one_by_one:
            run.retire({0: zero_step_stop(problem, _all_violations(run))})
        elif config.tol is not None and length < config.tol:
            left = f"{plural(violations, 'row')} violated the margin"
            sentence = f"stopped because step {k} has length {short(length)}, below tol={short(config.tol)}; {left}"
            run.retire({0: Stop("tolerance", sentence)})
        run.retire_at_limits()
        run.retire_stalled(k, math.inf if one_by_one else length)
        if config.max_iter is not None and done >= config.max_iter:
            run.retire_after(done)
        if k % rate == 0:
            run.end_pass(done)
            run.retire_checked(done)
            run.before[:] = run.state.counts
        elif one_by_one and k % scans_per_report == 0:
            run.report(done, k % rate)
    raise AssertionError("unreachable")


def _batch_step(run: RunState, mean: float) -> tuple[int, float]:
    """Make one batch step; return the number of violations and the length of the step.

    The moves are summed in the order of the rows while the scan continues.
    """
    violations, factor, delta = 0, 0.0, zero_sums(run.state)
    for scanned, found in find_violations(run.problem, run.rule, run.state, run.config.n_jobs):
        if len(found.rows):
            if not violations:
                factor = run.steps(int(run.state.counts[0]) + 1) * mean
            found.steps[:] *= factor
            run.collect(found, delta)
            run.add_to_record(found, len(found.rows))
            violations += len(found.rows)
        if scanned < run.problem.n_visited:
            run.report(run.clock - run.config.visited_before, scanned)
    if violations:
        apply_delta(run.state, delta)
    return violations, run.count_step(delta) if violations else 0.0


def _one_mistake(run: RunState, rng: np.random.Generator) -> tuple[int, float]:
    """Update by one violation drawn at random; return the number of violations and the length of the move."""
    every = _all_violations(run)
    if not len(every.rows):
        return 0, 0.0
    rho = run.steps(int(run.state.counts[0]) + 1)
    draw = int(rng.integers(len(every.rows)))
    drawn, delta = Tape._make(column[draw : draw + 1] for column in every), zero_sums(run.state)
    drawn.steps[:] *= rho
    run.collect(drawn, delta)
    make_moves(run.problem, drawn.rows, drawn.others, drawn.steps, run.state)
    run.add_to_record(drawn, 1)
    return len(every.rows), run.count_step(delta)


def _all_violations(run: RunState) -> Tape:
    found = [part for _, part in find_violations(run.problem, run.rule, run.state, run.config.n_jobs)]
    return found[0] if len(found) == 1 else Tape._make(np.concatenate(columns) for columns in zip(*found, strict=True))


def find_violations(
    problem: Problem, rule: Rule, state: State, n_jobs: int, most: int = ORDER_ROWS
) -> Iterator[tuple[int, Tape]]:
    """Scan all rows in blocks of at most `most` rows; yield the rows scanned so far and the moves of the block's violations.

    n_jobs changes no bit.
    """
    work_per_row, n = problem.density * state.bias.size + 1, problem.n_visited
    size = min(max(64, int(SCAN_WORK_PER_TASK / work_per_row)), rows_per_call(problem, "cyclic"), most)
    if problem.pages is not None or n <= size:
        n_jobs = 1

    def scan(start: int) -> tuple[IntArray, Tape]:
        stop = min(start + size, n)
        order = np.arange(start, stop) if problem.visited is None else problem.visited[start:stop]
        tape = _tape(len(order))
        check_rows(problem, "cyclic", order)
        mine = state._replace(scores=np.zeros_like(state.scores))
        _, used, why = collect_moves(problem.rows, problem.labels, order, rule, mine, tape)
        if why == OVERFLOW:
            raise_out_of_range(problem)
        return order, Tape._make(column[:used].copy() for column in tape)

    scanned = 0
    for order, found in in_order(scan, range(0, n, size), n_jobs):
        scanned += len(order)
        yield scanned, found
        release_pages(problem, "cyclic", order)


def _find_separated(run: RunState) -> None:
    """Report the heads that reached a limit as separated if a full scan finds no violation: their last update was enough."""
    if not run.config.final_scan:
        return
    rows = plural(run.problem.n_visited, "row")
    for h, stop in run.stops.items():
        if stop.reason in LIMITS and run.margin(h) < np.inf and _has_no_violation(run, h):
            made = plural(int(run.state.counts[h]), "update")
            run.stops[h] = Stop("separated", f"separated after {made}: a full scan of {rows} found no violation")


def _has_no_violation(run: RunState, h: int) -> bool:
    """Whether a full scan finds no row that violates the margin. It ends at the first block that has one."""
    problem, state = run.problem, run.state
    if isinstance(problem.labels, Rest):
        problem, state = one_against_rest(problem, h), run.binary_state(h)
    found = find_violations(problem, run.rule, state, run.config.n_jobs, FINAL_SCAN_ROWS)
    return not any(len(some.rows) for _, some in found)


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
    return RunResult(state, stops, max(result.passes for _, result in parts), durations, log, sums)


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


def _tape(size: int) -> Tape:
    return Tape(np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size))


def visited_every_row(problem: Problem, config: RunConfig, result: RunResult) -> bool:
    """Whether the run has visited every row, and so would have found a value that is not finite."""
    whole = config.scans_every_row
    enough = 1 if whole else problem.n_rows
    return problem.visited is None and (whole or config.order != "random") and int(result.durations.min()) >= enough
