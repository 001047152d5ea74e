"""Full scans: all rows are scored with the same weights, and the rows that violate the margin are found.

A run makes one before each batch step, and before it reports that it has separated the rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..array_types import IntArray
from ..data.problem import Problem
from ..kernels.linear.schemes import Rest, State, Tape
from ..kernels.linear.sweeps import OVERFLOW, collect_moves
from ..parallel import in_order
from ..reporting.text import plural
from .run import Rule, RunState, raise_out_of_range
from .stopping import Stop

# Multiply-adds per kernel call, about 0.1 s, so that Ctrl-C is handled promptly.
WORK_PER_CALL = 1 << 26
# Multiply-adds per task of one thread in a full scan.
SCAN_WORK_PER_TASK = 1 << 22
# Rows whose order is drawn at once, at most.
ORDER_ROWS = 1 << 17
# Rows per block of the scan at a limit: most runs on inseparable rows find a violation in the first block.
FINAL_SCAN_ROWS = 2048
MIN_SCAN_ROWS = 64
# Reasons to stop that do not tell whether the rows are separated.
LIMITS = ("passes", "updates", "norm", "tolerance", "stalled")


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


def make_tape(size: int) -> Tape:
    return Tape(np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.int64), np.zeros(size, np.int32), np.zeros(size))


def rows_per_task(problem: Problem, state: State, most: int = ORDER_ROWS) -> int:
    """Rows that one thread scans at a time."""
    work_per_row = problem.density * state.bias.size + 1
    return min(max(64, int(SCAN_WORK_PER_TASK / work_per_row)), rows_per_call(problem, "cyclic"), most)


def find_violations(
    problem: Problem, rule: Rule, state: State, n_jobs: int, most: int = ORDER_ROWS
) -> Iterator[tuple[int, Tape]]:
    """Scan all rows in blocks of at most `most` rows; yield the rows scanned so far and the moves of the block's violations.

    n_jobs changes no bit.
    """
    n, size = problem.n_visited, rows_per_task(problem, state, most)
    if problem.pages is not None or n <= size:
        n_jobs = 1

    def scan(start: int) -> tuple[IntArray, Tape]:
        stop = min(start + size, n)
        order = np.arange(start, stop) if problem.visited is None else problem.visited[start:stop]
        tape = make_tape(len(order))
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


def all_violations(run: RunState) -> Tape:
    """The moves of all violations."""
    found = [part for _, part in find_violations(run.problem, run.rule, run.state, run.config.n_jobs)]
    return found[0] if len(found) == 1 else Tape._make(np.concatenate(columns) for columns in zip(*found, strict=True))


def heads_without_violation(run: RunState, heads: list[int]) -> list[int]:
    """The heads for which a full scan finds no row that violates the margin. It ends when all have one."""
    problem, state, left = run.problem, run.state, heads
    if not isinstance(problem.labels, Rest):
        found = find_violations(problem, run.rule, state, run.config.n_jobs, FINAL_SCAN_ROWS)
        return [] if any(len(some.rows) for _, some in found) else left
    order = np.arange(problem.n_rows) if problem.visited is None else problem.visited
    at = 0
    while left and at < len(order):
        labels, state = run.scanned_heads(left)
        block = order[at : at + max(MIN_SCAN_ROWS, FINAL_SCAN_ROWS // len(left))]
        tape = make_tape(len(block) * len(left))
        check_rows(problem, "cyclic", block)
        _, used, why = collect_moves(problem.rows, labels, block, run.rule, state, tape)
        if why == OVERFLOW:
            raise_out_of_range(problem)
        release_pages(problem, "cyclic", block)
        violated = set(run.places[tape.others[:used]].tolist())
        left, at = [h for h in left if h not in violated], at + len(block)
    return left


def clean_stop(run: RunState, heads: list[int], where: str) -> Stop:
    """The stop after a scan without updates. For a rule with an infinite margin, it means that all steps were zero."""
    if all(run.margin(h) < np.inf for h in heads):
        return Stop("separated", f"separated {where}")
    return Stop("vanished", f"the gradient vanished {where}")


def find_separated(run: RunState) -> None:
    """Report the heads that reached a limit as separated if a full scan finds no violation: their last update was enough."""
    limited = limited_heads(run)
    mark_separated(run, heads_without_violation(run, limited) if limited else [])


def limited_heads(run: RunState) -> list[int]:
    """The heads that a full scan may find to be separated, although they stopped at a limit."""
    if not run.config.final_scan:
        return []
    return [h for h, stop in run.stops.items() if stop.reason in LIMITS and run.margin(h) < np.inf]


def mark_separated(run: RunState, heads: list[int]) -> None:
    """Report heads at a limit as separated."""
    rows = plural(run.problem.n_visited, "row")
    for h in heads:
        made = plural(int(run.state.counts[h]), "update")
        run.stops[h] = Stop("separated", f"separated after {made}: a full scan of {rows} found no violation")
