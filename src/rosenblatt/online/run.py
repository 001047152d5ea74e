"""One run: its parameters, its step sizes and orders of rows, its state between passes, and its result.

`solver.py` makes the passes. A run has one head for two classes or for classes that compete, and one per class for one-vs-rest;
each head stops for a reason of its own.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from threading import Event
from typing import Any, NoReturn, Protocol

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.problem import Problem, as_heads, copy_state, pick_heads, select_heads
from ..kernels.linear.rules import threshold
from ..kernels.linear.schemes import Joint, Rest, State, Tape
from ..kernels.linear.sweeps import fill_windows
from ..progress import Progress, ProgressCallback
from ..reporting.text import plural, short
from .run_record import RunRecord, make_moves
from .stopping import Stop, merge_stops, pass_limit
from .update_log import UpdateLog

Step = float | Callable[[int], float]

# A permuted pass takes blocks of neighboring rows in random order and shuffles the rows of 64 blocks together. It learns as
# well as a full shuffle (a window holds 64 places of the data) and is 1.3 times as fast on 100k x 100 floats, because the
# memory pages of a window stay in the TLB.
ROWS_PER_BLOCK = 16
BLOCKS_PER_WINDOW = 64
ROWS_PER_WINDOW = BLOCKS_PER_WINDOW * ROWS_PER_BLOCK

# Rows prefetched ahead when the order is not the order in memory: 4 to 16 measured equal, 1 and 2 slower.
PREFETCH_ROWS = 8

Order = Callable[[int, int, np.random.Generator], Iterator[IntArray]]


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
    cancel: Event | None = None  # set by another thread to end the run
    visited_before: int = 0  # rows visited before this run, for a stream
    heads: tuple[int, ...] = ()  # positions of the heads that run here, when the heads are split among threads


# --- step sizes and orders -----------------------------------------------------------------------------------------------


class Steps:
    """Step sizes rho_k for k = 1, 2, ...: a number, or a callable, which is called ahead of time."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._known = np.zeros(0) if callable(step) else np.array([float(step)])

    def table(self, upto: int) -> tuple[FloatArray, int]:
        """Step sizes and the number of updates they cover, at least `upto`.

        Errors in later values are raised only when those values are reached.
        """
        if not callable(self._step):
            return self._known, np.iinfo(np.int64).max
        if upto > len(self._known):
            more = [_checked(self._step, k) for k in range(len(self._known) + 1, upto + 1)]
            with contextlib.suppress(Exception):
                for k in range(upto + 1, 2 * upto + 1):
                    more.append(_checked(self._step, k))
            self._known = np.concatenate([self._known, more])
        return self._known, len(self._known)

    def __call__(self, k: int) -> float:
        return float(self.table(k)[0][min(k, len(self._known)) - 1])


def _checked(step: Callable[[int], float], k: int) -> float:
    rho = step(k)
    try:
        value = float(rho)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"step({k}) returned {rho!r}; a step must be a number") from None
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"step({k}) returned {value!r}; a step must be finite and greater than 0")
    return value


def cyclic(n: int, size: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """The rows 0, 1, ..., n-1."""
    for start in range(0, n, size):
        yield np.arange(start, min(start + size, n))


def permuted(n: int, size: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """Every row once, in a new order each pass; up to ROWS_PER_WINDOW rows it is a uniform permutation."""
    starts = rng.permutation(-(-n // ROWS_PER_BLOCK)) * ROWS_PER_BLOCK
    seeds = rng.integers(1, 2**64, -(-len(starts) // BLOCKS_PER_WINDOW), dtype=np.uint64)
    windows = max(1, size // ROWS_PER_WINDOW)
    for first in range(0, len(seeds), windows):
        some = starts[first * BLOCKS_PER_WINDOW : (first + windows) * BLOCKS_PER_WINDOW]
        order = np.empty(len(some) * ROWS_PER_BLOCK, np.int64)
        yield order[: int(fill_windows(some, ROWS_PER_BLOCK, BLOCKS_PER_WINDOW, n, seeds[first:], order))]


def random(n: int, size: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """n rows, drawn with replacement."""
    for start in range(0, n, size):
        yield rng.integers(0, n, min(size, n - start))


# "mistakes" is not listed: the next row depends on the weights (see solver.py).
ORDERS: dict[str, Order] = {"cyclic": cyclic, "permuted": permuted, "random": random}


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

    def merged_stop(self, classes: Array) -> Stop:
        """The stop of all heads together."""
        return merge_stops(self.stops, classes)

    @property
    def updates(self) -> int:
        """Updates of all heads."""
        return int(self.state.counts.sum())


class RunState:
    """Weights, record, clock and active heads of a run; the kernel updates `active`."""

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
        most = np.iinfo(np.int64).max if config.max_updates is None else before + np.int64(config.max_updates)
        self.limits = np.broadcast_to(most, start.counts.shape)
        self.first_limit = int(self.limits.min())  # no head stops before
        self.record: RunRecord | None = None
        if config.keep_log:
            grouped = config.update != "online"
            self.record = RunRecord(problem, copy_state(start), grouped=grouped, visited_before=config.visited_before)
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

    def add_to_record(self, tape: Tape, used: int) -> None:
        """Append the moves on the tape to the record."""
        if used == 0 or self.record is None:
            return
        others = tape.others[:used]
        if isinstance(self.problem.labels, Rest):
            others = np.asarray(self.heads, np.int32)[others]
        self.record.append(tape.rows[:used], tape.steps[:used], tape.times[:used], others, self.clock)

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
        """Mark the end of a pass in the record and report it; `before` holds the update counts at its beginning."""
        if self.record is not None:
            self.record.passes.append(len(self.record))
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

    def retire_at_limits(self) -> None:
        """Stop the heads that have made all the updates allowed, and those whose weights exceed `w_max`."""
        self.copy_active_heads()
        most, full = self.config.max_updates, [h for h in self.heads if self.state.counts[h] >= self.limits[h]]
        if most is not None and full:
            self.retire(full, Stop("updates", f"stopped after {plural(most, 'update')} (the limit)", limit=most))
        if self.config.w_max is None:
            return
        norms = self._true_norms()  # the kernel's running sums drift, so the norm is computed again
        self.state.sqnorms[:] = _squared(norms)
        for h in [h for h in self.heads if norms[h] > self.config.w_max]:
            norm, limit = short(norms[h], 6), short(self.config.w_max, 6)
            sentence = f"stopped because the norm of the weights is {norm}, above w_max={limit}"
            self.retire([h], Stop("norm", sentence, limit=self.config.w_max))
        self._select()

    def margin(self, h: int) -> float:
        """The largest margin at which a row moves the weights of head h."""
        rule: Any = self.rule  # a rule without a threshold of its own has a field `margin`
        return float(threshold(rule, self.state.sqnorms[h], self.state.counts[h]) if self.reads_norms else rule.margin)

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
        log = None
        if self.record is not None:
            self.record.durations = self.durations
            log = UpdateLog(self.record)
        stops = [self.stops[h] for h in range(len(self.durations))]
        return RunResult(self.state, stops, passes, self.durations, log, self.sums)


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
