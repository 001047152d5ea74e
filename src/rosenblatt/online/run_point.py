"""A run between two of its rows, as a value: what the rows after them need.

The rows of a run may be in several parts, such as blocks on a cluster. `visit_rows` continues a run from a point through the
rows of one part; the point that it returns is where the next part continues. Nothing else passes from part to part, so that
the result has the bits of a run on all rows in one memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.problem import Problem, copy_state
from ..kernels.linear.schemes import State
from .run import Rule, RunConfig, RunState
from .schedules import Orders
from .solver import make_buffers, rows_per_order, sweep_rows
from .stopping import Stop


@dataclass(frozen=True)
class RunPoint:
    """A run between two of its rows. Never changed in place."""

    state: State
    sums: State | None  # of the time-weighted moves, for the average
    clock: int  # rows visited
    pass_rows: int  # rows of a pass
    begun: int  # those of the current pass that were visited
    passes: int  # passes made
    before: IntArray  # the updates of each head at the beginning of the pass
    limits: IntArray  # the updates of each head at which it stops
    durations: IntArray  # rows visited when each head stopped
    stops: dict[int, Stop]  # of the heads that have stopped
    rhos: FloatArray  # the step sizes that were computed so far
    busy: int = 0  # parts in which heads moved

    @property
    def updates(self) -> int:
        """Updates of all heads."""
        return int(self.state.counts.sum())

    @property
    def running(self) -> bool:
        """Whether a head runs."""
        return len(self.stops) < len(self.durations)

    def skip(self, rows: int) -> RunPoint:
        """The point after rows that move no head, up to the end of the pass."""
        if not rows or not self.running:
            return self
        begun, before = self.begun + rows, self.before if self.begun else self.state.counts
        return replace(
            self,
            clock=self.clock + rows,
            begun=begun % self.pass_rows,
            passes=self.passes + begun // self.pass_rows,
            before=before,
        )


def point_of(run: RunState) -> RunPoint:
    """Where a run is, for a run that ends here or has no rows. It shares its arrays with the point."""
    run.copy_swept_heads()
    run.restore_places()
    return RunPoint(
        run.state, run.sums, run.clock, run.pass_rows, run.begun, run.passes, run.before, np.array(run.limits), run.durations,
        dict(run.stops), run.steps.known,
    )  # fmt: skip


def move_to(run: RunState, point: RunPoint) -> None:
    """Continue a run from a point, which stays as it is."""
    run.state = copy_state(point.state)
    run.sums = None if point.sums is None else copy_state(point.sums)
    run.clock, run.pass_rows, run.begun, run.passes = point.clock, point.pass_rows, point.begun, point.passes
    _continue_heads(run, point)


def run_from(problem: Problem, rule: Rule, config: RunConfig, point: RunPoint) -> RunState:
    """A run on a part of the rows from a point on."""
    run = RunState(problem, rule, config, point.state, point.sums)
    run.state.sqnorms[:] = point.state.sqnorms
    run.clock, run.pass_rows, run.begun, run.passes = point.clock, point.pass_rows, point.begun, point.passes
    _continue_heads(run, point)
    return run


def _continue_heads(run: RunState, point: RunPoint) -> None:
    run.before, run.limits, run.durations = point.before.copy(), point.limits, point.durations.copy()
    run.first_limit = int(point.limits.min())
    run.stops = dict(point.stops)
    run.heads = [h for h in range(len(point.durations)) if h not in point.stops]
    run.steps.continue_from(point.rhos)
    run.sweep_all()


def visit_rows(problem: Problem, rule: Rule, config: RunConfig, point: RunPoint) -> RunPoint:
    """Continue a run from a point through all rows of a part, in the order and with the seed of `config`."""
    if not point.running:
        return point
    run = run_from(problem, rule, config, point)
    orders = Orders(config.order, problem.n_visited, rows_per_order(problem, run.state), config.seed)
    buffers = make_buffers(run)
    for order in orders.next_passes(1):
        sweep_rows(run, order, buffers, _continue)
    found = point_of(run)
    return replace(found, busy=point.busy + (found.updates > point.updates))


def _continue(run: RunState) -> None:
    """The caller ends the pass, which has rows elsewhere."""
