"""The run as the list of its updates: which row moved the weights, when, by how much, against which class."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np

from ..data.problem import Problem, as_heads, copy_state, one_against_rest, pick_heads, read_only, take_rows, zero_sums
from ..kernels.linear.schemes import Binary, Joint, Rest, State
from ..kernels.linear.sweeps import add, add_steps, trail


class Update(NamedTuple):
    row: int
    step: float
    time: int
    rival: int


class Entries(NamedTuple):
    """A stretch of the log. Rows and times are kept in as few bytes as they need, equal steps as one number."""

    rows: Any
    steps: Any
    times: Any  # counted from `since`
    others: Any  # Joint: the rival class; Rest: the head; Binary: zeros
    since: int

    @property
    def clock(self) -> Any:
        return self.times.astype(np.int64) + self.since


class UpdateLog:
    """The updates of a run, in order; with the rows they speak of, everything about the run can be had from it.

    rows    which training row moved the weights
    steps   tau > 0: how far, so that binary weights moved by tau * y * x (step size, row weight and rule included)
    times   when: the number of rows visited before (online), of steps made before (batch, mistakes)
    rivals  the class the row was moved away from, as its position in `classes_`; -1 stands for "the rest"
    heads   whose weights moved: one-vs-rest, the class; joint and binary runs, always 0

    The log refers to the training rows and copies none of them, so it is valid as long as X is not changed; pickling it
    keeps the rows that moved the weights, and only those. `log[a:b]` is the run from its a-th entry to its b-th.
    """

    def __init__(self, problem: Problem, start: State, *, grouped: bool = False) -> None:
        self.problem = problem
        self.start = start  # weights before the first update
        self.grouped = grouped  # batch: the updates of one time are one step
        self.since = 0  # rows visited before the first
        self.durations = np.zeros(len(start.counts), np.int64)  # when each head's run ended
        self.passes: list[int] = []  # number of updates at the end of each pass
        self.parts: list[Entries] = []  # as they were written
        self._count = 0
        self._row_ids: Any | None = None  # set where only some of the training rows are held

    # --- writing -------------------------------------------------------------------------------------------------------

    def append(self, rows: Any, steps: Any, times: Any, others: Any, since: int) -> None:
        if len(rows):
            self._count += len(rows)
            joint = not isinstance(self.problem.labels, Binary)
            self.parts.append(
                Entries(
                    rows.astype(np.int32 if self.problem.n_rows < 1 << 31 else np.int64),
                    steps.copy() if (steps != steps[0]).any() else _repeated(steps[0], len(steps)),
                    times.astype(np.uint32 if times[-1] < 1 << 32 else np.int64),
                    others.astype(np.int32) if joint else _repeated(np.int32(0), len(rows)),
                    since,
                )
            )

    # --- reading -------------------------------------------------------------------------------------------------------

    def _joined(self) -> Entries:
        if len(self.parts) > 1:
            parts = self.parts
            clock = np.concatenate([part.clock for part in parts])
            rows, others = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "others"))
            firsts = {float(part.steps[0]) for part in parts if part.steps.strides == (0,)}
            equal = len(firsts) == 1 and all(part.steps.strides == (0,) for part in parts)
            steps = _repeated(firsts.pop(), len(rows)) if equal else np.concatenate([part.steps for part in parts])
            self.parts = [Entries(rows, steps, clock, others, 0)]
        elif not self.parts:
            none = np.zeros(0, np.int32)
            return Entries(none, np.zeros(0), none, none, 0)
        return self.parts[0]

    def __len__(self) -> int:
        return self._count

    @property
    def local_rows(self) -> Any:
        """Rows by their position in `problem.rows`, which a pickled log holds only in part."""
        return self._joined().rows

    @property
    def rows(self) -> Any:
        local = self.local_rows
        return read_only(local if self._row_ids is None else self._row_ids[local])

    @property
    def steps(self) -> Any:
        return read_only(self._joined().steps)

    @property
    def times(self) -> Any:
        return read_only(self._joined().clock)

    @property
    def others(self) -> Any:
        return read_only(self._joined().others)

    @property
    def heads(self) -> Any:
        return self.others if isinstance(self.problem.labels, Rest) else read_only(np.zeros(len(self), np.int32))

    @property
    def rivals(self) -> Any:
        labels, rows, others = self.problem.labels, self.local_rows, self.others
        if isinstance(labels, Binary):
            return read_only((labels.signs[rows] < 0).astype(np.int32))
        if isinstance(labels, Joint):
            return others
        own = labels.heads[others] == labels.codes[rows]
        return read_only(np.where(own, np.int32(-1), labels.heads[others]))

    def __iter__(self) -> Iterator[Update]:
        for row, tau, time, rival in zip(self.rows, self.steps, self.times, self.rivals, strict=True):
            yield Update(int(row), float(tau), int(time), int(rival))

    @overload
    def __getitem__(self, key: int) -> Update: ...
    @overload
    def __getitem__(self, key: slice) -> UpdateLog: ...
    def __getitem__(self, key: int | slice) -> Update | UpdateLog:
        if not isinstance(key, slice):
            if not -len(self) <= operator.index(key) < len(self):
                raise IndexError(f"the log has {len(self)} entries, got {key}")
            at = range(len(self))[key]
            return Update(int(self.rows[at]), float(self.steps[at]), int(self.times[at]), int(self.rivals[at]))
        first, last, stride = key.indices(len(self))
        if stride != 1:
            raise ValueError(f"a slice of an UpdateLog is a stretch of the run, got a stride of {stride}; slice .rows instead")
        start = copy_state(self.start)
        edges = self.edges
        self.advance(start, np.append(edges[edges < first], first))
        part = UpdateLog(self.problem, start, grouped=self.grouped)
        cut = slice(first, last)
        part.append(self.local_rows[cut], self.steps[cut], self.times[cut], self.others[cut], 0)
        part.durations = part.durations + (self.times[last] if last < len(self) else self.durations.max())
        part.since = int(self.times[first - 1]) + 1 if first else self.since
        part._row_ids = self._row_ids
        return part

    def __repr__(self) -> str:
        kind = type(self.problem.labels).__name__.lower()
        return f"<UpdateLog of a {kind} run: {self.n_updates} updates in {int(self.durations.max()) - self.since} visits>"

    # --- replaying -----------------------------------------------------------------------------------------------------

    @property
    def edges(self) -> Any:
        """Where each update starts among the entries, and the end: online every entry, batch every new time."""
        if not (self.grouped and len(self)):
            return np.arange(len(self) + 1)
        return np.concatenate([[0], np.flatnonzero(np.diff(self.times)) + 1, [len(self)]])

    @property
    def n_updates(self) -> int:
        """How often the weights moved; in batch runs a step of many entries counts once."""
        return len(self.edges) - 1

    def state_at(self, t: int) -> State:
        """The state after the first t updates, in the layout of the kernels."""
        edges, t = self.edges, operator.index(t)
        if not 0 <= t < len(edges):
            raise ValueError(f"t must be between 0 and the {len(edges) - 1} updates of this log, got {t}")
        state = copy_state(self.start)
        self.advance(state, edges[: t + 1])
        return state

    def replay(self, state: State, stretch: slice) -> None:
        """Make the updates of a stretch on `state`: the same moves in the same order, so online runs give the same bits."""
        make_moves(self.problem, self.local_rows[stretch], self.others[stretch], self.steps[stretch], state)

    def delta(self, stretch: slice) -> State:
        """The sum of the moves of a stretch, in float64."""
        delta = zero_sums(self.start)
        self.replay(delta, stretch)
        return delta

    def advance(self, state: State, edges: Any) -> None:
        """Make the updates between `edges` on `state` as the run made them: batch steps are summed before they are made."""
        if not self.grouped:
            self.replay(state, slice(int(edges[0]), int(edges[-1])))
            return
        self._make_steps(state, edges, np.empty((0, 0)), np.empty(0))

    def _make_steps(self, state: State, edges: Any, planes: Any, shifts: Any) -> None:
        """Batch steps, all of them in one call: each alone is little beside calling it."""
        delta, stretch = zero_sums(state), slice(int(edges[0]), int(edges[-1]))
        moves = _columns(self.local_rows[stretch], self.others[stretch], self.steps[stretch])
        weights = state.w.reshape(-1)
        assert np.shares_memory(weights, state.w) or not weights.size
        flat = weights, delta.w.reshape(-1), np.empty(1, state.w.dtype)
        edges = np.ascontiguousarray(edges, np.int64)
        add_steps(self.problem.rows, self.problem.labels, *moves, edges, state, delta, flat, planes, shifts)

    def planes(self, state: State, edges: Any) -> tuple[Any, Any]:
        """(planes, intercepts) of a binary run from `state` on: before the first of the updates between `edges`, after each."""
        planes, shifts = np.empty((len(edges), self.problem.n_features)), np.empty(len(edges))
        if not self.grouped:
            stretch = slice(int(edges[0]), int(edges[-1]))
            moves = _columns(self.local_rows[stretch], self.others[stretch], self.steps[stretch])
            trail(self.problem.rows, self.problem.labels, *moves, state.x0, state.w, state.bias, planes, shifts)
            return planes, shifts
        self._make_steps(state, edges, planes, shifts)
        return planes, shifts

    def weights_at(self, t: int) -> tuple[Any, Any]:
        """(coef, intercept) after the first t updates; 0 is before the run, `n_updates` after it."""
        state = self.state_at(t)
        coef = np.ascontiguousarray(as_heads(state.w, self.problem.rows))
        return coef, state.bias * state.x0

    def runs(self) -> list[UpdateLog]:
        """The log of each weight vector that ran on its own: one-vs-rest as binary logs, class by class; else itself."""
        labels = self.problem.labels
        if not isinstance(labels, Rest):
            return [self]
        return [self.head(h) for h in range(len(labels.heads))]

    def head(self, h: int) -> UpdateLog:
        """The binary log of one-vs-rest head h."""
        mine = self.others == h
        start = pick_heads(self.start, self.problem.rows, [h], flat=True)
        run = UpdateLog(one_against_rest(self.problem, h), start, grouped=self.grouped)
        run.append(self.local_rows[mine], self.steps[mine], self.times[mine], self.others[mine], 0)
        run.since, run.durations, run._row_ids = self.since, self.durations[h : h + 1], self._row_ids
        return run

    # --- exporting -----------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The columns as arrays: row, step, time, rival, head."""
        return {"row": self.rows, "step": self.steps, "time": self.times, "rival": self.rivals, "head": self.heads}

    def to_arrow(self) -> Any:
        """The columns as a `pyarrow.Table` (needs the extra `rosenblatt[data]`)."""
        try:
            import pyarrow
        except ImportError:
            raise ImportError("UpdateLog.to_arrow needs pyarrow: pip install 'rosenblatt[data]'") from None
        return pyarrow.table({name: np.ascontiguousarray(column) for name, column in self.to_dict().items()})

    def compact(self) -> UpdateLog:
        """The same log with a copy of just the rows that moved the weights, independent of the training set."""
        touched, local = np.unique(self.local_rows, return_inverse=True)
        labels = self.problem.labels
        weights = labels.weights[touched] if labels.weights.size else labels.weights
        field = "signs" if isinstance(labels, Binary) else "codes"
        few = labels._replace(**{field: read_only(getattr(labels, field)[touched]), "weights": read_only(weights)})
        log = UpdateLog(Problem(take_rows(self.problem.rows, touched), few, self.problem.x0), self.start, grouped=self.grouped)
        log.append(local, self.steps, self.times, self.others, 0)
        log.since, log.durations, log.passes = self.since, self.durations, self.passes
        log._row_ids = touched if self._row_ids is None else self._row_ids[touched]
        return log

    def spread_over(self, problem: Problem) -> UpdateLog:
        """The same log on the whole training set again: what `compact` undid."""
        log = UpdateLog(problem, self.start, grouped=self.grouped)
        log.append(self.rows, self.steps, self.times, self.others, 0)
        log.since, log.durations, log.passes = self.since, self.durations, self.passes
        return log

    @property
    def is_compact(self) -> bool:
        return self._row_ids is not None

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self if self.is_compact else self.compact()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled arrays are writeable, and kernels are compiled for read-only rows.
        problem = state["problem"]
        rows, labels = (
            type(part)(*(read_only(field) if isinstance(field, np.ndarray) else field for field in part))
            for part in (problem.rows, problem.labels)
        )
        vars(self).update(state, problem=replace(problem, rows=rows, labels=labels))


def make_moves(problem: Problem, rows: Any, others: Any, steps: Any, state: State) -> None:
    """Make the moves of some rows, in order, on the weights of `state`."""
    add(problem.rows, problem.labels, *_columns(rows, others, steps), state.x0, state.w, state.bias)


def _columns(rows: Any, others: Any, steps: Any) -> tuple[Any, Any, Any]:
    """In one type each, for the kernels."""
    moved, against = rows.astype(np.int64, copy=False), others.astype(np.int32, copy=False)
    return (
        read_only(np.ascontiguousarray(moved)),
        read_only(np.ascontiguousarray(against)),
        read_only(np.ascontiguousarray(steps)),
    )


def apply_delta(state: State, delta: State) -> None:
    with np.errstate(over="ignore", invalid="ignore"):  # whoever moves weights looks whether they are finite
        state.w[...] += delta.w.astype(state.w.dtype)
        state.bias[...] += delta.bias


def _repeated(number: Any, count: int) -> Any:
    """One number that stands for many: np.broadcast_to, without the time it takes."""
    return np.ndarray(count, buffer=(one := np.array([number])), dtype=one.dtype, strides=(0,))
