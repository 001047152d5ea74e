"""Runs that scan all rows before each update: batch steps, and updates by one misclassified row drawn at random.

If one thread scans the rows at once, a kernel call makes many updates, up to the next one after which the run may end. Larger
sets are scanned in blocks, which threads share; the bits are the same.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from ..array_types import IntArray
from ..data.problem import Problem, zero_sums
from ..kernels.linear.full_scans import ScanPace, make_batch_steps, update_by_mistakes
from ..kernels.linear.schemes import State, Tape
from ..kernels.linear.sweeps import OVERFLOW
from ..reporting.text import plural, short
from .run import Rule, RunConfig, RunResult, RunState, empty_sums, length_of, raise_out_of_range
from .run_record import apply_delta, make_moves
from .scans import WORK_PER_CALL, all_violations, clean_stop, find_separated, find_violations, make_tape, rows_per_task
from .schedules import SPARE_NUMBERS, Draws
from .stopping import Stop, zero_step_stop

# Moves that a kernel call may make, apart from those of its last update, and its updates.
TAPE_ENTRIES = 1 << 15
MAX_UPDATES_PER_CALL = 1 << 12
# An upper bound on the relative error of norms in the kernel. The caller computes those near a limit again.
NORM_ERROR = 1e-6


class Scans(Protocol):
    """Makes the updates of a run, with a scan of all rows before each."""

    first: IntArray  # updates before the run
    updates: int  # made in the run
    rate: int  # updates that count as a pass
    per_report: int  # updates between two reports

    def zero_step_stop(self) -> Stop:
        """Why the run ends with a step of length zero although rows violate the margin."""


def run_full_scans(problem: Problem, rule: Rule, config: RunConfig, start: State, sums: State | None) -> RunResult:
    """Scan all rows before each update: the sum or mean of the violations (batch), or one violation drawn at random."""
    run, violations = RunState(problem, rule, config, start, sums), 1
    scans = _FullScans(run)
    run.retire_at_limits()
    while run.heads:
        run.check_cancelled()
        violations, length = scans.update()
        settle_update(run, scans, violations, length)
    passes = count_passes(run, scans, violations)
    find_separated(run)
    return run.result(passes)


def settle_update(run: RunState, scans: Scans, violations: int, length: float) -> None:
    """Stop the run if it has a reason to after an update, or after a scan without violations.

    violations, length : of the last scan and the last step, see `_FullScans.update`.
    """
    config, first, k, rate = run.config, scans.first, scans.updates, scans.rate
    if not violations:
        run.before[:] = first + k // rate * rate
        run.clock += 1
        run.end_pass(-(-(k + 1) // rate))
        where = f"after {plural(k, 'update')}: a full scan of {plural(run.problem.n_visited, 'row')} found no violation"
        run.retire({0: clean_stop(run, [0], where)})
        return
    run.before[:] = first + (k - 1) // rate * rate
    done = k // rate
    if length == 0.0:
        run.retire({0: scans.zero_step_stop()})
    elif config.tol is not None and length < config.tol:
        left = f"{plural(violations, 'row')} violated the margin"
        sentence = f"stopped because step {k} has length {short(length)}, below tol={short(config.tol)}; {left}"
        run.retire({0: Stop("tolerance", sentence)})
    run.retire_at_limits()
    if k % rate == 0:
        run.score_held_out()
        run.retire_held_out()
    run.retire_stalled(k, length)
    if config.max_iter is not None and done >= config.max_iter:
        run.retire_after(done)
    if k % rate == 0:
        run.report(done, 0)
        run.retire_checked(done)
    elif not run.heads:  # the run stopped before the end of the pass
        run.end_pass(done + 1)
    elif k % scans.per_report == 0:
        run.report(done, k % rate)


def count_passes(run: RunState, scans: Scans, violations: int) -> int:
    """The passes of a finished run, given the number of violations that its last scan found."""
    if violations and not scans.updates:  # the first weights were at a limit
        run.end_pass(1)
    return max(1, -(-(scans.updates + (not violations)) // scans.rate))


class _FullScans:
    """Makes the updates of a run, with a scan of all rows before each."""

    def __init__(self, run: RunState) -> None:
        problem, state, config = run.problem, run.state, run.config
        self.run, self.draws, self.first, self.updates = run, Draws(config.seed), run.state.counts.copy(), 0
        self.one_by_one = config.update == "online"  # order="mistakes"; batch steps have no order
        self.rate = problem.n_visited if self.one_by_one else 1  # updates that count as a pass
        self.mean = 1.0 / problem.total_weight if config.update == "batch-mean" else 1.0
        scan_work = (problem.density * state.bias.size + 1) * max(1, problem.n_visited)
        self.per_report = max(1, int(WORK_PER_CALL / scan_work))
        self.in_kernel = problem.pages is None and problem.n_visited <= rows_per_task(problem, state)
        if self.in_kernel:
            self.order = np.arange(problem.n_visited) if problem.visited is None else problem.visited
            self.tape, self.ends = make_tape(TAPE_ENTRIES + problem.n_visited), np.zeros(MAX_UPDATES_PER_CALL, np.int64)
            # Updates by single rows need no step of their own.
            self.delta = empty_sums(state) if self.one_by_one else zero_sums(state)
            self.flat = state.w.reshape(-1), self.delta.w.reshape(-1), np.empty(1, state.w.dtype)

    def update(self) -> tuple[int, float]:
        """Make at least one update, unless the scan finds no violation.

        Returns the violations of the last scan and the length of the last step, which is infinite for single rows.
        """
        run, made, violations = self.run, 0, 1
        if self.in_kernel:
            while violations and not made:
                made, violations = self._call_kernel()
        else:
            violations = self._mistake() if self.one_by_one else self._batch_step()
            if violations:
                self._count(1)
                if run.record is not None and self.updates % self.rate == 0:
                    run.record.passes.append(len(run.record))
        if not violations:
            return 0, 0.0
        run.check_weights()
        return violations, math.inf if self.one_by_one else length_of(self.delta)

    def zero_step_stop(self) -> Stop:
        return zero_step_stop(self.run.problem, all_violations(self.run))

    def _count(self, made: int) -> None:
        """Count updates, also on the clock."""
        self.updates += made
        self.run.clock += made

    # --- many updates in a kernel call -----------------------------------------------------------------------------------

    def _call_kernel(self) -> tuple[int, int]:
        """Make up to as many updates as possible; return their number and the violations of the last scan."""
        run, problem, pace = self.run, self.run.problem, self._pace()
        sums, k = run.sums or empty_sums(run.state), self.updates
        shared = problem.rows, problem.labels, self.order, run.rule, pace, run.state, sums
        if self.one_by_one:
            raw = self.draws.raw(pace.updates + SPARE_NUMBERS)
            made, violations, why = update_by_mistakes(*shared, self.flat[0], self.tape, raw, self.draws.place)
            ends = np.arange(1, made + 1)
        else:
            made, violations, why = make_batch_steps(*shared, self.delta, self.flat, self.tape, self.ends)
            ends = self.ends[:made]
        if why == OVERFLOW:
            raise_out_of_range(problem)
        if made:
            run.add_to_record(self.tape, int(ends[-1]), ends[self.rate - 1 - k % self.rate :: self.rate])
            self._count(made)
        return made, violations

    def _pace(self) -> ScanPace:
        """The limits of a kernel call: it ends at the next update after which the run may stop, or reports its progress."""
        run, config, k = self.run, self.run.config, self.updates
        made = int(run.state.counts[0])
        rhos, good = run.steps.table(made + 1)
        most = min(MAX_UPDATES_PER_CALL, good - made, run.first_limit - made, self.per_report - k % self.per_report)
        if config.max_iter is not None:
            most = min(most, config.max_iter * self.rate - k)
        if config.progress is not None or config.check is not None or config.held_out is not None:
            most = min(most, self.rate - k % self.rate)
        norm, length = math.inf if config.w_max is None else float(config.w_max), config.tol or 0.0
        if run.stall is not None:
            left, grown, shorter = run.stall.bounds(k)
            most, norm, length = min(most, left), min(norm, grown), max(length, shorter)
        if run.reads_norms:
            most = 1  # the norm of the weights is computed after each update
        return ScanPace(rhos, self.mean, most, run.clock, float(length * (1.0 + NORM_ERROR)), float(norm * (1.0 - NORM_ERROR)))

    # --- one update, by a scan in blocks ---------------------------------------------------------------------------------

    def _batch_step(self) -> int:
        """Make one batch step; return the number of violations. Moves are summed in the order of the rows during the scan."""
        run, violations, rho = self.run, 0, 0.0
        self.delta = zero_sums(run.state)
        for scanned, found in find_violations(run.problem, run.rule, run.state, run.config.n_jobs):
            if len(found.rows):
                if not violations:
                    rho = run.steps(int(run.state.counts[0]) + 1) * self.mean
                found.steps[:] *= rho
                run.collect(found, self.delta)
                run.add_to_record(found, len(found.rows))
                violations += len(found.rows)
            if scanned < run.problem.n_visited:
                run.report(run.clock - run.config.visited_before, scanned)
        if violations:
            apply_delta(run.state, self.delta)
            run.state.counts[:] += 1
        return violations

    def _mistake(self) -> int:
        """Update by one violation drawn at random; return the number of violations."""
        run, every = self.run, all_violations(self.run)
        if not len(every.rows):
            return 0
        draw = int(self.draws.rng.integers(len(every.rows)))
        drawn = Tape._make(column[draw : draw + 1] for column in every)
        drawn.steps[:] *= run.steps(int(run.state.counts[0]) + 1)
        run.add_to_sums(drawn)
        make_moves(run.problem, drawn.rows, drawn.others, drawn.steps, run.state)
        run.add_to_record(drawn, 1)
        run.state.counts[:] += 1
        return len(every.rows)
