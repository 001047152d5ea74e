"""The state of a run between passes: weights, log, clock, active heads, and the stops of the finished heads."""

from __future__ import annotations

import math
import sys
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import NoReturn

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.problem import Problem, as_heads, copy_state, pick_heads, read_only
from ..kernels.linear.rules import threshold
from ..kernels.linear.schemes import Joint, Rest, State, Tape
from ..progress import Progress
from ..reporting.text import plural
from .config import Rule, RunConfig, RunResult
from .moves import make_moves
from .run_record import RunRecord
from .schedules import Steps
from .stopping import Stop
from .update_log import UpdateLog


class RunState:
    """Weights, log, clock and active heads of a run; the kernel updates `active`."""

    def __init__(self, problem: Problem, rule: Rule, config: RunConfig, start: State, sums: State | None) -> None:
        self.problem, self.config = problem, config
        self.state = copy_state(start)
        self.steps = Steps(config.step)
        w_max = math.inf if config.w_max is None else float(config.w_max)
        self.keeps_norms = config.w_max is not None or reads_norms(rule)
        self.bound = min(w_max * w_max, sys.float_info.max) if self.keeps_norms else math.inf
        self.limit = np.iinfo(np.int64).max if config.max_updates is None else config.max_updates
        self.log: UpdateLog | None = None
        if config.keep_log:
            grouped = config.update != "online"
            record = RunRecord(problem, copy_state(start), grouped=grouped, visited_before=config.visited_before)
            self.log = UpdateLog(record)
        self.sums = None if sums is None else copy_state(sums)
        self.clock = config.visited_before  # rows visited; steps made by batch updates
        self.heads = list(range(len(start.counts)))
        self.stops: dict[int, Stop] = {}
        self.durations = np.zeros(len(start.counts), np.int64)
        self.active = (problem.labels, self.state, self.sums or empty_sums(self.state))
        # A stream continues the sums of the kernel, so that its chunks do not change a bit.
        if config.w_max is not None or (self.keeps_norms and not config.visited_before):
            self.state.sqnorms[:] = _squared(self._true_norms())

    def check_cancelled(self) -> None:
        """Raise if another thread has canceled the run."""
        if self.config.cancel is not None and self.config.cancel.is_set():
            raise CancelledError

    def record(self, tape: Tape, used: int) -> None:
        """Append the moves on the tape to the log."""
        if used == 0 or self.log is None:
            return
        rows, steps, times, others = (column[:used] for column in tape[:4])
        if isinstance(self.problem.labels, Rest):
            others = np.asarray(self.heads, np.int32)[others]
        self.log.record.append(rows, steps, times, others, self.clock)

    def collect(self, moves: Tape, delta: State) -> None:
        """Add moves to the step `delta`, in float64, and to the sums for the average."""
        make_moves(self.problem, moves.rows, moves.others, moves.steps, delta)
        if self.sums is not None:
            make_moves(self.problem, moves.rows, moves.others, moves.steps * self.clock, self.sums)

    def count_step(self, delta: State) -> float:
        """Count a step that was made and return its length."""
        state = self.state
        state.counts[:] += 1
        length = float(_norms(np.append(delta.w, delta.bias)[None])[0])
        if not (np.isfinite(state.w).all() and np.isfinite(state.bias).all()):
            raise_out_of_range(self.problem)
        if self.keeps_norms:
            state.sqnorms[:] = _squared(self._true_norms())
            if self.config.w_max is None and not np.isfinite(state.sqnorms).all():
                raise_out_of_range(self.problem)
        return length

    def end_pass(self, passes: int, before: IntArray) -> None:
        """Mark the end of a pass in the log and report it; `before` holds the update counts at its beginning."""
        if self.log is not None:
            self.log.passes.append(len(self.log))
        self.report(passes, before, 0)

    def report(self, passes: int, before: IntArray, visited: int) -> None:
        """Report the progress after `passes` passes, with `visited` rows of the next one."""
        config = self.config
        if config.progress is None:
            return
        if visited:
            self.copy_active_heads()
        counts = self.state.counts
        made, last, rows = int(counts.sum()), int((counts - before).sum()), self.problem.n_visited
        config.progress(Progress(passes, made, last, config.heads, visited, rows, config.max_iter))

    def retire_at_limit(self) -> None:
        """Stop the heads that have made all the updates allowed."""
        self.copy_active_heads()
        full = [h for h in self.heads if self.state.counts[h] >= self.limit]
        if full:
            self.retire(full, Stop("updates", f"stopped after {plural(self.limit, 'update')} (the limit)", limit=self.limit))

    def retire_at_norm(self) -> None:
        """Stop the heads whose weights exceed `w_max`."""
        if self.config.w_max is None:
            return
        self.copy_active_heads()
        norms = self._true_norms()  # the kernel's running sums drift, so the norm is computed again
        self.state.sqnorms[:] = _squared(norms)
        for h in [h for h in self.heads if norms[h] > self.config.w_max]:
            sentence = f"stopped because the norm of the weights is {norms[h]:.6g}, above w_max={self.config.w_max:g}"
            self.retire([h], Stop("norm", sentence, limit=self.config.w_max))
        self._select()

    def retire_checked(self, passes: int) -> None:
        """Stop the heads that the separability check ends."""
        if self.config.check is None:
            return
        for h in list(self.heads):
            stop = self.config.check(passes, self.config.heads[h] if self.config.heads else h, int(self.state.counts[h]))
            if stop is not None:
                self.retire([h], stop)

    def retire_after(self, passes: int, before: IntArray) -> None:
        """Stop all heads at the limit on passes."""
        for h in list(self.heads):
            self.retire([h], pass_limit(passes, int(self.state.counts[h] - before[h])))

    def retire(self, heads: list[int], stop: Stop) -> None:
        """Stop these heads."""
        if not heads:
            return
        self.copy_active_heads()
        for h in heads:
            self.stops[h] = stop
            self.durations[h] = self.clock
        self.heads = [h for h in self.heads if h not in self.stops]
        self._select()

    def _select(self) -> None:
        """Restrict `active` to the heads that still run, so that the kernel does not score the others."""
        labels, every = self.problem.labels, len(self.heads) == len(self.state.counts)
        sums = self.sums or empty_sums(self.state)
        if every or not isinstance(labels, Rest):
            self.active = (labels, self.state, sums)
        else:
            few, rows = np.asarray(self.heads, np.int64), self.problem.rows
            some = sums if self.sums is None else pick_heads(sums, rows, few)
            self.active = (select_heads(self.problem, few).labels, pick_heads(self.state, rows, few), some)

    def copy_active_heads(self) -> None:
        """Copy the weights of the active heads into the state of all heads."""
        few = np.asarray(self.heads, np.int64)
        for whole, part in zip((self.state, self.sums), self.active[1:], strict=True):
            if whole is None or whole is part:
                continue
            as_heads(whole.w, self.problem.rows)[few] = as_heads(part.w, self.problem.rows)
            for name in ("bias", "counts", "sqnorms"):
                getattr(whole, name)[few] = getattr(part, name)

    def _true_norms(self) -> FloatArray:
        heads = np.column_stack([as_heads(self.state.w, self.problem.rows).astype(np.float64), self.state.bias])
        if isinstance(self.problem.labels, Joint):
            heads = heads.reshape(1, -1)
        return _norms(heads)

    def result(self, passes: int) -> RunResult:
        """The result of the finished run."""
        if not (np.isfinite(self.state.w).all() and np.isfinite(self.state.bias).all()):
            raise_out_of_range(self.problem)
        if self.log is not None:
            self.log.record.durations = self.durations
        stops = [self.stops[h] for h in range(len(self.durations))]
        return RunResult(self.state, stops, passes, self.durations, self.log, self.sums)


def reads_norms(rule: Rule) -> bool:
    """Whether the rule has a threshold of its own, which depends on the norm of the weights and the number of updates."""
    return type(rule) in threshold.bodies


def _norms(rows: FloatArray) -> FloatArray:
    """The Euclidean norm of each row, scaled first so that squares neither overflow nor underflow."""
    scale = abs(rows).max(axis=1)
    scale[scale == 0.0] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        found: FloatArray = scale * np.sqrt(np.square(rows / scale[:, None]).sum(axis=1))
        return found


def _squared(norms: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):  # an infinite square still compares correctly
        return norms * norms


def select_heads(problem: Problem, heads: IntArray) -> Problem:
    """The one-vs-rest problem of some of the heads."""
    return replace(problem, labels=problem.labels._replace(heads=read_only(problem.labels.heads[heads])))


def empty_sums(state: State) -> State:
    """Sums of size zero: the kernel does not sum."""
    return state._replace(w=np.zeros((0,) * state.w.ndim), bias=np.zeros(0))


class OutOfRangeError(ValueError):
    """A score or a weight is not finite: X has values that are too large, infinite or NaN."""


def pass_limit(passes: int, last_updates: int) -> Stop:
    """The stop of a head at the limit on passes."""
    done, last = plural(passes, "pass", "passes"), plural(last_updates, "update")
    sentence = f"stopped after {done} (the limit); the last one made {last}"
    return Stop("passes", sentence, limit=passes, last_updates=last_updates)


def raise_out_of_range(problem: Problem) -> NoReturn:
    """Raise an error that says whether the values of X are the cause."""
    largest = _largest(problem)
    kind = problem.rows.values.dtype.name
    cause = f"X has values up to {largest:.3g}; scale the features (for example with sklearn.preprocessing.MaxAbsScaler)"
    if largest < 1e15:
        cause = f"the values of X, up to {largest:.3g}, are not the cause; check step, init, intercept_scaling and weights"
    raise OutOfRangeError(f"the weights or a score exceed the range of {kind}: {cause}")


def _largest(problem: Problem) -> float:
    """The largest absolute value, or NaN if there is one; in blocks, because |X| would be a copy of X."""
    values, size, largest = problem.rows.values.reshape(-1), 1 << 20, np.zeros(())
    with np.errstate(invalid="ignore"):
        for start in range(0, len(values), size):
            largest = np.maximum(largest, np.abs(values[start : start + size]).max())
            problem.give_back()
    return float(largest)
