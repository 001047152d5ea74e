"""A run underway: the weights on their way, the log, and which heads still run, and why the others do not."""

from __future__ import annotations

import math
import sys
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.problem import Problem, as_heads, copy_state, pick_heads, read_only
from ..kernels.linear.schemes import Joint, Rest, State, Tape
from ..progress import Progress
from .config import Plan, Result
from .schedules import Steps
from .stopping import Stop
from .update_log import UpdateLog, make_moves


class Underway:
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
        self.active = (problem.labels, self.state, self.sums or no_sums(self.state))
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

    def collect(self, asked: Tape, delta: State) -> None:
        """Add moves to a step, in float64, and to what an average needs."""
        make_moves(self.problem, asked.rows, asked.others, asked.steps, delta)
        if self.sums is not None:
            make_moves(self.problem, asked.rows, asked.others, asked.steps * self.clock, self.sums)

    def moved(self, delta: State, row: int) -> float:
        """Count a step that was made; how long it was. `row` is the first that asked for it."""
        state = self.state
        state.counts[:] += 1
        length = float(_norms(np.append(delta.w, delta.bias)[None])[0])
        if not (np.isfinite(state.w).all() and np.isfinite(state.bias).all()):
            raise out_of_range(self.problem, row)
        if self.plan.w_max is not None:
            state.sqnorms[:] = _squared(self._true_norms())
        return length

    def end_pass(self, passes: int, before: Any) -> None:
        if self.log is not None:
            self.log.passes.append(len(self.log))
        self.tell(passes, before, 0)

    def tell(self, passes: int, before: Any, visited: int) -> None:
        """Tell whoever watches: after a pass, or of the rows visited in the one after."""
        plan = self.plan
        if plan.watch is None:
            return
        if visited:
            self.put_back()
        counts = self.state.counts
        made, last, rows = int(counts.sum()), int((counts - before).sum()), self.problem.n_visited
        plan.watch(Progress(passes, made, last, plan.heads, visited, rows, plan.max_iter))

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

    def retire_judged(self, passes: int) -> None:
        if self.plan.judge is None:
            return
        for h in list(self.heads):
            stop = self.plan.judge(passes, self.plan.heads[h] if self.plan.heads else h, int(self.state.counts[h]))
            if stop is not None:
                self.retire([h], stop.reason, stop.sentence, stop.certificate)

    def retire_after(self, passes: int, before: Any) -> None:
        for h in list(self.heads):
            last = int(self.state.counts[h] - before[h])
            self.retire([h], "passes", f"max_iter={passes} used up; the last pass still made {last} updates.")

    def retire(self, heads: list[int], reason: str, sentence: str, certificate: Any = None) -> None:
        if not heads:
            return
        self.put_back()
        for h in heads:
            self.stops[h] = Stop(reason, sentence, certificate=certificate)
            self.durations[h] = self.clock
        self.heads = [h for h in self.heads if h not in self.stops]
        self._select()

    def _select(self) -> None:
        """Heads that are done need no more scores: the kernel sees only those that still run."""
        labels, every = self.problem.labels, len(self.heads) == len(self.state.counts)
        sums = self.sums or no_sums(self.state)
        if every or not isinstance(labels, Rest):
            self.active = (labels, self.state, sums)
        else:
            few, rows = np.asarray(self.heads, np.int64), self.problem.rows
            some = sums if self.sums is None else pick_heads(sums, rows, few)
            self.active = (some_heads(self.problem, few).labels, pick_heads(self.state, rows, few), some)

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
        if isinstance(self.problem.labels, Joint):
            heads = heads.reshape(1, -1)
        return _norms(heads)

    def result(self, passes: int) -> Result:
        if not (np.isfinite(self.state.w).all() and np.isfinite(self.state.bias).all()):
            raise out_of_range(self.problem, 0)
        if self.log is not None:
            self.log.since, self.log.durations = self.plan.since, self.durations
        stops = [self.stops[h] for h in range(len(self.durations))]
        return Result(self.state, stops, passes, self.durations, self.log, self.sums)


def _norms(rows: Any) -> Any:
    """The length of each row, scaled on the way: squares of large and small numbers leave the range."""
    scale = abs(rows).max(axis=1)
    scale[scale == 0.0] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        return scale * np.sqrt(np.square(rows / scale[:, None]).sum(axis=1))


def _squared(norms: Any) -> Any:
    with np.errstate(over="ignore"):  # only ever compared
        return norms * norms


def some_heads(problem: Problem, heads: Any) -> Problem:
    return replace(problem, labels=problem.labels._replace(heads=read_only(problem.labels.heads[heads])))


def no_sums(state: State) -> State:
    """No room for sums, in the type that sums have."""
    return state._replace(w=np.zeros((0,) * state.w.ndim), bias=np.zeros(0))


class OutOfRangeError(ValueError):
    """A score or a weight is not finite any more: X is too large, or never was finite."""


def out_of_range(problem: Problem, row: int) -> ValueError:
    largest = _largest(problem)
    kind = problem.rows.values.dtype.name
    cause = f"X has values up to {largest:.3g}; scale the features (for example with sklearn.preprocessing.MaxAbsScaler)"
    if largest < 1e15:
        cause = f"X is not to blame, with values up to {largest:.3g}; look at step, init, intercept_scaling and weights"
    return OutOfRangeError(f"the weights or the score of row {row} left the range of {kind}: {cause}")


def _largest(problem: Problem) -> float:
    """The largest value, NaN where there is one; a stretch at a time, because |X| would be a copy of X."""
    values, stretch, largest = problem.rows.values.reshape(-1), 1 << 20, np.zeros(())
    with np.errstate(invalid="ignore"):
        for start in range(0, len(values), stretch):
            largest = np.maximum(largest, np.abs(values[start : start + stretch]).max())
            problem.give_back()
    return float(largest)
