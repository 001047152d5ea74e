"""The record of a run: first weights, moves and training rows, from which the run can be replayed.

An `UpdateLog` shows it to users. The solver writes it, and readings, proofs, reports and the page replay it. A move adds one
row to the weights; `make_moves` applies moves, to replay a run and to sum a step or an average. While a run lasts, the record
holds the training set. Afterwards it holds all rows, those that moved the weights (compact), or none; see `training_rows.py`.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.problem import Problem, copy_state, heads_of, one_against_rest, read_only, take_rows, virtual_zeros, zero_sums
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary, Labels, State
from ..kernels.linear.sweeps import apply_moves, apply_steps, record_planes
from ..reporting.text import plural
from .training_rows import MissingRowsError, TrainingRows, read_only_fields


class Entries(NamedTuple):
    """A part of the log. Whole numbers have the smallest type that holds them; equal steps share one number."""

    rows: IntArray
    steps: FloatArray
    times: IntArray  # relative to `since`
    others: IntArray  # Joint: the rival class; Rest: the head; Binary: zeros
    since: int

    @property
    def clock(self) -> IntArray:
        """The times of the entries, from the beginning of the run."""
        clock: IntArray = self.times.astype(np.int64) + self.since
        return clock


def repeated_number(number: float | np.generic, count: int) -> Array:
    """An array of one repeated number, like np.broadcast_to but faster."""
    return np.ndarray(count, buffer=(one := np.array([number])), dtype=one.dtype, strides=(0,))


class RunRecord:
    """The moves of a run, in order, with the rows that moved the weights and the weights before the first move.

    Attributes
    ----------
    rows_source : Problem or TrainingRows
        The rows: held here, or found in the X of the caller. Only those that moved the weights, if the record is compact.
    origin : TrainingRows or None
        The whole training set, once the run has ended.
    start : State
        The weights before the first update.
    grouped : bool
        Batch: the entries of one time are one update.
    visited_before : int
        The rows visited before the run.
    durations : ndarray of int, shape (n_heads,)
        The time at which each head stopped.
    passes : list of int
        The number of entries at the end of each pass.
    parts : list of Entries
        The entries, as written by the solver.
    row_ids : ndarray of int or None
        The training rows of a compact record; None if it has all rows.
    """

    def __init__(
        self, rows_source: Problem | TrainingRows, start: State, *, grouped: bool = False, visited_before: int = 0
    ) -> None:
        self.rows_source = rows_source
        self.origin = rows_source if isinstance(rows_source, TrainingRows) else None
        self.start = start
        self.grouped = grouped
        self.visited_before = visited_before
        self.durations: IntArray = np.zeros(len(start.counts), np.int64)
        self.passes: list[int] = []
        self.parts: list[Entries] = []
        self.row_ids: IntArray | None = None
        self._count = 0

    def append(self, rows: IntArray, steps: FloatArray, times: IntArray, others: IntArray, since: int) -> None:
        """Add entries; `times` are relative to `since`."""
        if len(rows):
            self._count += len(rows)
            joint = not isinstance(self.labels, Binary)
            self.parts.append(
                Entries(
                    rows.astype(np.min_scalar_type(self.rows_source.n_rows)),
                    steps.copy() if (steps != steps[0]).any() else repeated_number(steps[0], len(steps)),
                    times.astype(np.min_scalar_type(times[-1])),
                    others.astype(np.min_scalar_type(self.n_heads)) if joint else repeated_number(np.int8(0), len(rows)),
                    since,
                )
            )

    def extend(self, parts: list[Entries]) -> None:
        """Add entries of another record on the same rows."""
        self.parts.extend(parts)
        self._count += sum(len(part.rows) for part in parts)

    def cut_back(self, durations: IntArray, passes: int) -> None:
        """Drop the entries of each head from its duration on, and all passes but the first ones."""
        rows, steps, _, others, _ = joined = self._joined()
        clock = joined.clock
        kept = clock < (durations[0] if len(durations) == 1 else durations[others])
        self.passes = [int(np.count_nonzero(kept[:end])) for end in self.passes[:passes]]
        self.durations, self.parts, self._count = durations, [], 0
        self.append(rows[kept], steps[kept], clock[kept], others[kept], 0)

    @property
    def n_heads(self) -> int:
        """The number of weight vectors."""
        return len(self.start.bias)

    # --- rows ------------------------------------------------------------------------------------------------------------

    @property
    def labels(self) -> Labels:
        """The labels of the rows."""
        return self.rows_source.labels

    @property
    def n_features(self) -> int:
        """The number of columns of the rows."""
        return self.rows_source.n_features

    @property
    def n_training_rows(self) -> int:
        """The number of rows of the training set, if it is known; else of those that moved the weights."""
        return (self.origin or self.rows_source).n_rows

    @property
    def total_weight(self) -> float:
        """The sum of the weights of the training set, if it is known."""
        source = self.origin or self.rows_source
        return float(source.labels.weights.sum()) if source.labels.weights.size else float(source.n_rows)

    @property
    def n_visited(self) -> int:
        """The number of rows of a pass, if it is known."""
        return (self.origin or self.rows_source).n_visited

    @property
    def problem(self) -> Problem:
        """The rows with their labels. Use `pinned` to find them once for several steps."""
        return self.rows_source if isinstance(self.rows_source, Problem) else self.rows_source.problem()

    def heads_of(self, w: Array) -> Array:
        """A view of weights in the layout of the run as heads x features."""
        source = self.rows_source
        return heads_of(w, isinstance(source.rows, Dense) if isinstance(source, Problem) else source.dense)

    def pinned(self) -> Self:
        """The same record, holding its rows; raises `MissingRowsError` if they are gone."""
        return self if isinstance(self.rows_source, Problem) else self._with(rows_source=self.problem)

    def whole(self) -> RunRecord:
        """The same record, holding all rows; raises `MissingRowsError` if they are gone."""
        if self.row_ids is None:
            return self.pinned()
        if self.origin is None:
            raise MissingRowsError("this needs all training rows, but this log has only those that moved the weights: use fit")
        return self.spread_over(self.origin.problem())

    def release_rows(self) -> None:
        """Hold no rows from now on, except those of a compact record, if they can be found again."""
        if self.origin is not None and self.row_ids is None:
            self.rows_source = self.origin

    def found_in(self, origin: TrainingRows) -> RunRecord:
        """The same run, whose rows are found by `origin`."""
        if self.row_ids is None:
            return self._with(rows_source=origin, origin=origin)
        return self._on(origin, self.rows)

    def _with(self, **changed: Any) -> Self:
        self._joined()  # once for both records
        copied = type(self).__new__(type(self))
        vars(copied).update(vars(self), **changed)
        return copied

    # --- columns ---------------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._count

    def _joined(self) -> Entries:
        """All entries as one part, rows and others as int32 if they fit."""
        parts = self.parts
        if not parts:
            none = np.zeros(0, np.int32)
            return Entries(none, np.zeros(0), none, none, 0)
        if len(parts) > 1 or parts[0].rows.dtype.kind == "u":
            alone = len(parts) == 1
            times = parts[0].times if alone else np.concatenate([part.clock for part in parts])
            wide = np.int32 if self.rows_source.n_rows < 1 << 31 else np.int64
            rows: IntArray = np.concatenate([part.rows for part in parts], dtype=wide)
            firsts = {float(part.steps[0]) for part in parts if part.steps.strides == (0,)}
            equal = len(firsts) == 1 and all(part.steps.strides == (0,) for part in parts)
            steps = repeated_number(firsts.pop(), len(rows)) if equal else np.concatenate([part.steps for part in parts])
            others = repeated_number(np.int32(0), len(rows))
            if not isinstance(self.labels, Binary):
                others = np.concatenate([part.others for part in parts], dtype=np.int32)
            self.parts = [Entries(rows, steps, times, others, parts[0].since if alone else 0)]
        return self.parts[0]

    @property
    def local_rows(self) -> IntArray:
        """Rows as positions in `problem.rows`."""
        return self._joined().rows

    @property
    def rows(self) -> IntArray:
        """The training row of each entry."""
        local = self.local_rows
        return read_only(local if self.row_ids is None else self.row_ids[local])

    @property
    def steps(self) -> FloatArray:
        """The length factor tau of each entry."""
        return read_only(self._joined().steps)

    @property
    def times(self) -> IntArray:
        """The rows visited, or the steps made, before each entry."""
        return read_only(self._joined().clock)

    @property
    def others(self) -> IntArray:
        """Joint: the rival class of each entry; one-vs-rest: the head; binary: zeros."""
        return read_only(self._joined().others)

    @property
    def edges(self) -> IntArray:
        """The first entry of each update, and the number of entries; a batch update has all entries of one time."""
        if not (self.grouped and len(self)):
            return np.arange(len(self) + 1)
        return np.concatenate([[0], np.flatnonzero(np.diff(self.times)) + 1, [len(self)]])

    # --- replaying -------------------------------------------------------------------------------------------------------

    def state_at(self, t: int) -> State:
        """The state after the first t updates, in the layout of the kernels."""
        edges, t = self.edges, operator.index(t)
        if not 0 <= t < len(edges):
            raise ValueError(f"t must be between 0 and the {plural(len(edges) - 1, 'update')} of this log, got {t}")
        state = copy_state(self.start)
        self.advance(state, edges[: t + 1])
        return state

    def apply(self, state: State, stretch: slice) -> None:
        """Apply the moves of some entries to `state`, in their order, so that online runs give the same bits."""
        make_moves(self.problem, self.local_rows[stretch], self.others[stretch], self.steps[stretch], state)

    def delta(self, stretch: slice) -> State:
        """The sum of the moves of some entries, in float64."""
        delta = zero_sums(self.start)
        self.apply(delta, stretch)
        return delta

    def advance(self, state: State, edges: IntArray) -> None:
        """Apply the updates between `edges` to `state` as the run did: batch steps are summed first."""
        if edges[0] == edges[-1]:
            return
        if not self.grouped:
            self.apply(state, slice(int(edges[0]), int(edges[-1])))
            return
        self._make_steps(state, edges, np.empty((0, 0)), np.empty(0))

    def _make_steps(self, state: State, edges: IntArray, planes: FloatArray, shifts: FloatArray) -> None:
        """Apply batch steps in one kernel call: a call per step would take most of the time."""
        delta, stretch = zero_sums(state), slice(int(edges[0]), int(edges[-1]))
        moves = kernel_columns(self.local_rows[stretch], self.others[stretch], self.steps[stretch])
        weights = state.w.reshape(-1)
        assert np.shares_memory(weights, state.w) or not weights.size
        flat = weights, delta.w.reshape(-1), np.empty(1, state.w.dtype)
        edges = np.ascontiguousarray(edges, np.int64)
        problem = self.problem
        apply_steps(problem.rows, problem.labels, *moves, edges, state, delta, flat, planes, shifts)

    def planes(self, state: State, edges: IntArray) -> tuple[FloatArray, FloatArray]:
        """Planes and intercepts of a binary run, before and after each of the updates between `edges`, from `state` on."""
        planes, shifts, problem = np.empty((len(edges), self.n_features)), np.empty(len(edges)), self.problem
        if not self.grouped:
            stretch = slice(int(edges[0]), int(edges[-1]))
            moves = kernel_columns(self.local_rows[stretch], self.others[stretch], self.steps[stretch])
            record_planes(problem.rows, problem.labels, *moves, state.x0, state.w, state.bias, planes, shifts)
            return planes, shifts
        self._make_steps(state, edges, planes, shifts)
        return planes, shifts

    # --- parts and copies ------------------------------------------------------------------------------------------------

    def cut(self, first: int, last: int) -> RunRecord:
        """The part of the run from entry `first` to entry `last`."""
        start, edges = copy_state(self.start), self.edges
        self.advance(start, np.append(edges[edges < first], first))
        before = int(self.times[first - 1]) + 1 if first else self.visited_before
        part = RunRecord(self.rows_source, start, grouped=self.grouped, visited_before=before)
        here = slice(first, last)
        part.append(self.local_rows[here], self.steps[here], self.times[here], self.others[here], 0)
        part.durations = part.durations + (self.times[last] if last < len(self) else self.durations.max())
        part.row_ids = self.row_ids
        return part

    def head(self, h: int) -> RunRecord:
        """The binary run of one-vs-rest head h."""
        mine, start, source = self.others == h, self.start, self.rows_source
        one = slice(h, h + 1)
        alone = State(
            np.array(self.heads_of(start.w)[h]), start.bias[one].copy(), start.counts[one].copy(), start.sqnorms[one].copy(),
            np.zeros(1), start.x0,
        )  # fmt: skip
        own = one_against_rest(source, h) if isinstance(source, Problem) else source.head(h)
        run = RunRecord(own, alone, grouped=self.grouped, visited_before=self.visited_before)
        run.append(self.local_rows[mine], self.steps[mine], self.times[mine], self.others[mine], 0)
        run.durations, run.row_ids = self.durations[h : h + 1], self.row_ids
        run.origin = None if self.origin is None else self.origin.head(h)
        return run

    def compact(self) -> RunRecord:
        """A copy with the rows that moved the weights, and no others. Rows keep their numbers."""
        touched, local = np.unique(self.local_rows, return_inverse=True)
        problem, labels = self.problem, self.labels
        weights = labels.weights[touched] if labels.weights.size else labels.weights
        field = "signs" if isinstance(labels, Binary) else "codes"
        few = labels._replace(**{field: read_only(getattr(labels, field)[touched]), "weights": read_only(weights)})
        copied = self._on(Problem(take_rows(problem.rows, touched), few, problem.x0), local)
        copied.row_ids = touched if self.row_ids is None else self.row_ids[touched]
        copied.origin = self.origin
        return copied

    def spread_over(self, problem: Problem) -> RunRecord:
        """The same run on the whole training set: the inverse of `compact`."""
        return self._on(problem, self.rows)

    def _on(self, source: Problem | TrainingRows, rows: IntArray) -> RunRecord:
        """The same run on another set of rows, with these positions."""
        copied = RunRecord(source, self.start, grouped=self.grouped, visited_before=self.visited_before)
        copied.append(rows, self.steps, self.times, self.others, 0)
        copied.durations, copied.passes = self.durations, self.passes
        return copied

    def __getstate__(self) -> dict[str, Any]:
        # Numbers are stored in the fewest bytes: times as differences, equal steps as one number.
        rows, steps, times, others, since = self._joined()
        clock = np.diff(times.astype(np.int64) + since, prepend=self.visited_before)
        entries = tuple(_narrow(column) for column in (rows, _one_if_equal(steps), clock, _one_if_equal(others)))
        w, passes = self.start.w, _narrow(np.diff(self.passes, prepend=0))
        zeros = (w.shape, w.dtype) if w.size and not any(w.strides) else None  # they take no memory, and none in a pickle
        start = self.start if zeros is None else self.start._replace(w=w.reshape(-1)[:1].copy())
        return vars(self) | {"parts": entries, "passes": passes, "start": start, "zeros": zeros}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows, steps, clock, others = state["parts"]
        source, n = state["rows_source"], len(rows)
        if isinstance(source, Problem):  # unpickled arrays are writable, but kernels are compiled for read-only rows
            source = replace(source, rows=read_only_fields(source.rows), labels=read_only_fields(source.labels))
        start, zeros = state["start"], state.pop("zeros")
        start = start if zeros is None else start._replace(w=virtual_zeros(*zeros))
        passes = np.cumsum(state["passes"], dtype=np.int64).tolist()
        vars(self).update(state, rows_source=source, start=start, parts=[], passes=passes, _count=0)
        times = np.cumsum(clock, dtype=np.int64) + self.visited_before
        self.append(rows, np.broadcast_to(steps, n), times, np.broadcast_to(others, n), 0)


def _narrow(numbers: Array) -> Array:
    """Whole numbers in the smallest type that holds them."""
    if numbers.dtype.kind not in "iu" or not numbers.size:
        return numbers
    return numbers.astype(np.promote_types(np.min_scalar_type(numbers.min()), np.min_scalar_type(numbers.max())))


def _one_if_equal(numbers: Array) -> Array:
    return numbers[:1] if len(numbers) and (numbers == numbers[0]).all() else numbers


# --- moves ---------------------------------------------------------------------------------------------------------------


def make_moves(problem: Problem, rows: IntArray, others: IntArray, steps: FloatArray, state: State) -> None:
    """Apply the moves of some rows to the weights of `state`, in order."""
    apply_moves(problem.rows, problem.labels, *kernel_columns(rows, others, steps), state.x0, state.w, state.bias)


def kernel_columns(rows: IntArray, others: IntArray, steps: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The columns in the types that kernels are compiled for."""
    moved, against = rows.astype(np.int64, copy=False), others.astype(np.int32, copy=False)
    return (
        read_only(np.ascontiguousarray(moved)),
        read_only(np.ascontiguousarray(against)),
        read_only(np.ascontiguousarray(steps)),
    )


def apply_delta(state: State, delta: State) -> None:
    """Add a batch step to the weights."""
    with np.errstate(over="ignore", invalid="ignore"):  # the caller checks that the weights are finite
        state.w[...] += delta.w.astype(state.w.dtype)
        state.bias[...] += delta.bias
