"""One run: its parameters, its state between passes, and its result.

`solver.py` makes the passes. A run has one head for two classes or for classes that compete, and one per class for one-vs-rest;
each head stops for a reason of its own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass
from threading import Event
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.problem import (
    Problem,
    all_finite,
    as_heads,
    copy_state,
    first_heads,
    read_only,
    reorder_heads,
)
from ..kernels.linear.rules import threshold
from ..kernels.linear.schemes import STOPPED, Joint, Labels, Rest, State, Tape
from ..progress import Progress, ProgressCallback
from ..reporting.text import plural, short
from .held_out import HeldOut, HeldOutWatch
from .run_record import RunRecord, make_moves
from .schedules import MAX_COUNT, Step, Steps
from .stopping import Outlook, StallWatch, Stop, merge_stops, pass_limit, unknown_outlook
from .update_log import UpdateLog

# --- parameters ----------------------------------------------------------------------------------------------------------


class Rule(Protocol):
    """A rule of `online/rules`: a NamedTuple of its parameters. The bodies of its operations are found by its type."""

    @property
    def _fields(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class RunConfig:
    """The parameters of a run, apart from the data and the rule."""

    update: str = "online"  # "online", "batch" or "batch-mean"
    order: str = "permuted"  # "cyclic", "permuted", "random" or "mistakes"
    step: Step = 1.0
    max_iter: int | None = 10
    max_updates: int | None = None
    w_max: float | None = None
    tol: float | None = None
    seed: int = 0
    keep_log: bool = True
    n_jobs: int = 1
    progress: ProgressCallback | None = None  # called after every pass and, in long passes, after every kernel call
    # Separability check, run after each pass for each active head: (passes, head, updates) -> the reason to stop, or None.
    check: Callable[[int, int, int], Stop | None] | None = None
    outlook: Callable[[int], Outlook] = unknown_outlook  # of a head that makes no progress toward `w_max` and `tol`
    cancel: Event | None = None  # set by another thread to end the run
    visited_before: int = 0  # rows visited before this run, for a stream
    heads: tuple[int, ...] = ()  # positions of the heads that run here, when the heads are split among threads
    held_out: HeldOut | None = None  # rows on which the heads are scored after each pass, to stop them early
    final_scan: bool = True  # whether a run that reached a limit scans all rows, to find out if it has separated them

    @property
    def scans_every_row(self) -> bool:
        """Whether every update follows a scan of all rows."""
        return self.update != "online" or self.order == "mistakes"

    @property
    def may_stall(self) -> bool:
        """Whether `w_max` and `tol` are the only limits."""
        endless = self.max_iter is None and self.max_updates is None and self.check is None and self.held_out is None
        return endless and not (self.w_max is None and self.tol is None)


# --- state and result ----------------------------------------------------------------------------------------------------


@dataclass
class RunResult:
    """The weights after a run, why it ended, and its log."""

    state: State
    stops: list[Stop]  # one, or one per class for one-vs-rest
    passes: int
    durations: IntArray  # rows visited (batch: steps made) when each head stopped
    log: UpdateLog | None
    sums: State | None  # sum of tau * time * y * x over the updates, in float64; see readings.average
    validation_errors: list[FloatArray] | None = None  # of each head after each pass, if rows are held out

    def merged_stop(self, classes: Array) -> Stop:
        """The stop of all heads together."""
        return merge_stops(self.stops, classes)

    @property
    def updates(self) -> int:
        """Updates of all heads."""
        return int(self.state.counts.sum())


class Swept(NamedTuple):
    """What the kernel sweeps: all heads, or the first ones, with copies of all their arrays but the weights."""

    labels: Labels
    state: State
    sums: State
    before: IntArray  # the updates of each head at the beginning of the pass


class RunState:
    """Weights, record, clock and running heads of a run; the kernel updates `swept`.

    The kernel skips a head that has stopped. When the time to score it exceeds that of moving its weights, they are moved
    behind those of the running heads, in place, and `result` moves them back.
    """

    def __init__(self, problem: Problem, rule: Rule, config: RunConfig, start: State, sums: State | None) -> None:
        self.problem, self.rule, self.config = problem, rule, config
        self.state = copy_state(start)
        self.steps = Steps(config.step)
        w_max = math.inf if config.w_max is None else float(config.w_max)
        self.reads_norms = reads_norms(rule)
        self.keeps_norms = config.w_max is not None or self.reads_norms
        self.bound = min(w_max * w_max, sys.float_info.max) if self.keeps_norms else math.inf
        # The counts at which heads stop. A fit counts its own updates, a stream those of all its chunks.
        before = 0 if config.visited_before else start.counts
        most = MAX_COUNT if config.max_updates is None else before + np.int64(config.max_updates)
        self.limits = np.broadcast_to(most, start.counts.shape)
        self.first_limit = int(self.limits.min())  # no head stops before
        self.record: RunRecord | None = None
        if config.keep_log:
            grouped = config.update != "online"
            self.record = RunRecord(problem, start, grouped=grouped, visited_before=config.visited_before)
        self.sums = None if sums is None else copy_state(sums)
        self.clock = config.visited_before  # rows visited; steps made by batch updates
        self.passes = 0  # passes made
        self.pass_rows = problem.n_visited  # rows of a pass; more than there are here if others are elsewhere
        self.begun = 0  # rows visited of the current pass
        self.before: IntArray = start.counts.copy()  # the updates of each head at the beginning of the pass
        self.heads = list(range(len(start.counts)))
        self.places = np.arange(len(start.counts))  # the heads in the order of their weights, the swept ones first
        self.stops: dict[int, Stop] = {}
        self.durations: IntArray = np.zeros(len(start.counts), np.int64)
        self.swept = Swept(problem.labels, self.state, self.sums or empty_sums(self.state), self.before)
        unit = "step" if config.update != "online" else "update" if config.scans_every_row else "pass"
        self.stall = StallWatch(len(start.counts), unit, config.w_max, config.tol) if config.may_stall else None
        # A stream continues the sums of the kernel, so that its chunks do not change a bit.
        if config.w_max is not None or (self.keeps_norms and not config.visited_before):
            self.state.sqnorms[:] = _squared(self._true_norms())
        self.held_out = None if config.held_out is None else HeldOutWatch(self, config.held_out)

    def check_cancelled(self) -> None:
        """Raise if another thread has canceled the run."""
        if self.config.cancel is not None and self.config.cancel.is_set():
            raise CancelledError

    def count_visits(self, visited: int) -> None:
        """Advance the clock by rows that were visited."""
        self.clock += visited
        self.begun = (self.begun + visited) % self.pass_rows

    def add_to_record(self, tape: Tape, used: int, ends: IntArray | None = None) -> None:
        """Append the moves on the tape to the record, and the ends of passes, as numbers of moves."""
        if self.record is None:
            return
        if ends is not None:
            self.record.passes.extend((ends + len(self.record)).tolist())
        if used:
            others = tape.others[:used]
            if isinstance(self.problem.labels, Rest):
                others = self.places.astype(np.int32)[others]
            self.record.append(tape.rows[:used], tape.steps[:used], tape.times[:used], others, self.clock)

    def collect(self, moves: Tape, delta: State) -> None:
        """Add moves to the step `delta`, in float64, and to the sums for the average."""
        make_moves(self.problem, moves.rows, moves.others, moves.steps, delta)
        self.add_to_sums(moves)

    def add_to_sums(self, moves: Tape) -> None:
        """Add moves that are made now to the sums for the average."""
        if self.sums is not None:
            make_moves(self.problem, moves.rows, moves.others, moves.steps * self.clock, self.sums)

    def check_weights(self) -> None:
        """Raise if a full scan led to weights that are not finite; else compute their norm, if it is read."""
        state = self.state
        if not (all_finite(state.w) and np.isfinite(state.bias).all()):
            raise_out_of_range(self.problem)
        if self.keeps_norms:
            state.sqnorms[:] = _squared(self._true_norms())
            if self.config.w_max is None and not np.isfinite(state.sqnorms).all():
                raise_out_of_range(self.problem)

    def end_pass(self, passes: int) -> None:
        """Mark the end of a pass in the record and report it."""
        if self.record is not None:
            self.record.passes.append(len(self.record))
        self.report(passes, 0)

    def report(self, passes: int, visited: int) -> None:
        """Report the progress after `passes` passes, with `visited` rows of the next one."""
        config = self.config
        if config.progress is None:
            return
        self.copy_swept_heads()
        counts = self.state.counts
        made, last, rows = int(counts.sum()), int((counts - self.before).sum()), self.pass_rows
        config.progress(Progress(passes, made, last, config.heads, visited, rows, config.max_iter))

    # --- stops -----------------------------------------------------------------------------------------------------------

    def retire_at_limits(self) -> None:
        """Stop the heads that have made all the updates allowed, and those whose weights exceed `w_max`."""
        self.copy_swept_heads()
        most, full = self.config.max_updates, [h for h in self.heads if self.state.counts[h] >= self.limits[h]]
        if most is not None and full:
            stop = Stop("updates", f"stopped after {plural(most, 'update')} (the limit)", limit=most)
            self.retire(dict.fromkeys(full, stop))
        if self.config.w_max is None:
            return
        norms = self._true_norms()  # the kernel's running sums drift, so the norm is computed again
        self.state.sqnorms[:] = _squared(norms)
        limit = short(self.config.w_max, 6)
        sentences = {
            h: f"stopped because the norm of the weights is {short(norms[h], 6)}, above w_max={limit}"
            for h in self.heads
            if norms[h] > self.config.w_max
        }
        self._stop({h: Stop("norm", sentence, limit=self.config.w_max) for h, sentence in sentences.items()})
        self._select()

    def margin(self, h: int) -> float:
        """The largest margin at which a row moves the weights of head h."""
        rule: Any = self.rule  # a rule without a threshold of its own has a field `margin`
        return float(threshold(rule, self.state.sqnorms[h], self.state.counts[h]) if self.reads_norms else rule.margin)

    def retire_checked(self, passes: int) -> None:
        """Stop the heads that the separability check ends."""
        if self.config.check is None:
            return
        found = {h: self.config.check(passes, self._name(h), int(self.state.counts[h])) for h in self.heads}
        self.retire({h: stop for h, stop in found.items() if stop is not None})

    def score_held_out(self) -> None:
        """Score the heads on the held-out rows at the end of a pass, or of the run."""
        if self.held_out is not None:
            self.held_out.score(self)

    def retire_held_out(self) -> None:
        """Stop the heads whose error on the held-out rows has not become smaller for long."""
        if self.held_out is not None:
            self.retire(self.held_out.stops(self))

    def retire_stalled(self, passes: int, step: float = math.inf) -> None:
        """Stop the heads that come no nearer to their only limits, `w_max` and `tol`."""
        if self.stall is not None:
            norms, names = self._true_norms(), {h: self._name(h) for h in self.heads}
            self.retire(self.stall.stops(passes, names, norms, step, self.config.outlook))

    def _name(self, h: int) -> int:
        """The position of head h among all heads, of which some may run elsewhere."""
        return self.config.heads[h] if self.config.heads else h

    def retire_after(self, passes: int) -> None:
        """Stop all heads at the limit on passes."""
        self.retire({h: pass_limit(passes, int(self.state.counts[h] - self.before[h])) for h in self.heads})

    def retire(self, stops: dict[int, Stop]) -> None:
        """Stop these heads."""
        if stops:
            self.copy_swept_heads()
            self._stop(stops)
            self._select()

    def _stop(self, stops: dict[int, Stop]) -> None:
        self.stops.update(stops)
        self.durations[list(stops)] = self.clock
        self.heads = [h for h in self.heads if h not in self.stops]

    # --- the heads that are swept ----------------------------------------------------------------------------------------

    def _select(self) -> None:
        """Restrict `swept` to the heads that still run."""
        labels, n_swept = self.problem.labels, len(self.swept.before)
        if not isinstance(labels, Rest) or not self.heads:
            return
        saved_per_pass = self.problem.rows.values.size * (n_swept - len(self.heads))
        if saved_per_pass > self.state.w.size:
            running = np.isin(self.places[:n_swept], self.heads)
            first, n_swept = np.argsort(~running, kind="stable"), len(self.heads)
            self._reorder(np.concatenate([first, np.arange(len(first), len(self.places))]))
        few = self.places[:n_swept]
        marked = np.where(np.isin(few, self.heads), labels.heads[few], np.int32(STOPPED))
        labels, state, sums = labels._replace(heads=read_only(marked)), self.state, self.sums
        if n_swept == len(self.places):
            self.swept = Swept(labels, state, sums or empty_sums(state), self.before)
        else:
            some = first_heads(state, self.problem.rows, few)
            added = empty_sums(some) if sums is None else first_heads(sums, self.problem.rows, few)
            self.swept = Swept(labels, some, added, self.before[few])

    def restore_places(self) -> None:
        """Put the weights of all heads back into the order of the heads, at the end."""
        if (np.diff(self.places) < 0).any():
            self._reorder(np.argsort(self.places))

    def sweep_all(self) -> None:
        """Sweep the heads that run, after a change of the state of all."""
        self.places = np.arange(len(self.state.counts))
        self.swept = Swept(self.problem.labels, self.state, self.sums or empty_sums(self.state), self.before)
        if self.stops:
            self._select()

    def _reorder(self, order: IntArray) -> None:
        """Put the weights of the heads into another order."""
        for part in (self.state, self.sums):
            if part is not None:
                reorder_heads(part.w, self.problem.rows, order)
        self.places = self.places[order]

    def copy_swept_heads(self) -> None:
        """Copy what the kernel has changed, apart from the weights, into the state of all heads."""
        if self.swept.state is self.state:
            return
        few = self.places[: len(self.swept.before)]
        for name in ("bias", "counts", "sqnorms"):
            getattr(self.state, name)[few] = getattr(self.swept.state, name)
        if self.sums is not None:
            self.sums.bias[few] = self.swept.sums.bias
        self.before[few] = self.swept.before

    def scanned_heads(self, heads: list[int]) -> tuple[Rest, State]:
        """Labels and state in the order of the weights, for a scan that proposes moves of these one-vs-rest heads only."""
        labels = self.problem.labels
        assert isinstance(labels, Rest)
        marked = np.where(np.isin(self.places, heads), labels.heads[self.places], np.int32(STOPPED))
        return labels._replace(heads=read_only(marked)), first_heads(self.state, self.problem.rows, self.places)

    def _true_norms(self) -> FloatArray:
        weights, bias = as_heads(self.state.w, self.problem.rows).astype(np.float64), self.state.bias
        if isinstance(self.problem.labels, Joint):
            return _norms(np.column_stack([weights, bias]).reshape(1, -1))
        norms = np.empty(len(self.places))
        norms[self.places] = _norms(np.column_stack([weights, bias[self.places]]))
        return norms

    def result(self, passes: int) -> RunResult:
        """The result of the finished run."""
        self.score_held_out()
        self.restore_places()
        if not (all_finite(self.state.w) and np.isfinite(self.state.bias).all()):
            raise_out_of_range(self.problem)
        errors = None
        if self.held_out is not None:
            passes = self.held_out.finish(self)
            errors = [np.array(each) for each in self.held_out.board.errors]
        log = None
        if self.record is not None:
            self.record.durations = self.durations
            log = UpdateLog(self.record)
        stops = [self.stops[h] for h in range(len(self.durations))]
        return RunResult(self.state, stops, passes, self.durations, log, self.sums, errors)


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


def length_of(step: State) -> float:
    """The Euclidean length of a step, the biases included."""
    return float(_norms(np.append(step.w, step.bias)[None])[0])


def _squared(norms: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):  # an infinite square still compares correctly
        return norms * norms


def empty_sums(state: State) -> State:
    """Sums of size zero: the kernel does not sum."""
    return state._replace(w=np.zeros((0,) * state.w.ndim), bias=np.zeros(0))


class OutOfRangeError(ValueError):
    """A score or a weight is not finite: X has values that are too large, infinite or NaN.

    `problem` is the cause, `advice` what to do about it.
    """

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(problem, advice)
        self.problem, self.advice = problem, advice

    def __str__(self) -> str:
        return f"{self.problem}; {self.advice}" if self.advice else self.problem


def raise_out_of_range(problem: Problem) -> NoReturn:
    """Raise an error that says whether the values of X are the cause."""
    largest = _largest(problem)
    kind = problem.rows.values.dtype.name
    cause = f"X has values up to {short(largest)}"
    advice = "scale the features (for example with sklearn.preprocessing.MaxAbsScaler)"
    if largest < 1e15:
        cause = f"the values of X, up to {short(largest)}, are not the cause"
        advice = "check step, init, intercept_scaling and weights"
    raise OutOfRangeError(f"the weights or a score exceed the range of {kind}: {cause}", advice)


def _largest(problem: Problem) -> float:
    """The largest absolute value, or NaN if there is one; in blocks, because |X| would be a copy of X."""
    values, size, largest = problem.rows.values.reshape(-1), 1 << 20, np.zeros(())
    with np.errstate(invalid="ignore"):
        for start in range(0, len(values), size):
            largest = np.maximum(largest, np.abs(values[start : start + size]).max())
            problem.release_pages()
    return float(largest)
