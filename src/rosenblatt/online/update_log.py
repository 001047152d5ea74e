"""The update log: which row moved the weights, when, by how far, and against which class."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.problem import Problem, as_heads, copy_state, one_against_rest, pick_heads, read_only, take_rows, zero_sums
from ..kernels.linear.schemes import Binary, Joint, Rest, State
from ..kernels.linear.sweeps import apply_steps, record_planes
from .moves import Entries, kernel_columns, make_moves, repeated_number


class Update(NamedTuple):
    """One entry of an `UpdateLog`."""

    row: int
    step: float
    time: int
    rival: int


class UpdateLog:
    """The updates of a run, in order.

    The fitted attribute `log_` of online learners. The log and the rows it refers to determine the whole run. The log does
    not copy training rows, so it is valid as long as X is not changed. Pickling keeps copies of the rows that moved the
    weights, and no others.

    `len(log)` is the number of entries, iteration yields `Update` tuples (row, step, time, rival), `log[i]` is one of them,
    and `log[a:b]` is the part of the run from entry a to entry b, as a log.

    Attributes
    ----------
    rows : ndarray of int, shape (n_entries,)
        The training row of each entry.
    steps : ndarray of float, shape (n_entries,)
        tau > 0, the length factor: binary weights moved by tau * y * x. It includes step size, row weight and rule.
    times : ndarray of int, shape (n_entries,)
        The number of rows visited before (online), or of steps made before (batch, mistakes).
    rivals : ndarray of int, shape (n_entries,)
        The class the row was moved away from, as a position in `classes_`; -1 is "all other classes".
    heads : ndarray of int, shape (n_entries,)
        The class whose weights moved in one-vs-rest runs; 0 in joint and binary runs.
    durations : ndarray of int, shape (n_heads,)
        The time at which each head stopped.
    passes : list of int
        The number of entries at the end of each pass.
    n_updates : int
        How often the weights moved; a batch step of several entries counts once.
    is_compact : bool
        Whether the log has its own copy of the rows that moved the weights, and no other rows.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> log = rb.Perceptron(order="cyclic", max_iter=2).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"]).log_
    >>> len(log), log[0], log.rows.tolist()
    (5, Update(row=0, step=1.0, time=0, rival=1), [0, 1, 2, 1, 2])
    >>> coef, intercept = log.weights_at(2)
    >>> coef.tolist(), intercept.tolist()
    ([[1.0]], [0.0])
    """

    def __init__(self, problem: Problem, start: State, *, grouped: bool = False) -> None:
        self._problem = problem
        self._start = start  # weights before the first update
        self._grouped = grouped  # batch: the entries of one time are one update
        self._visited_before = 0  # rows visited before the run
        self.durations: IntArray = np.zeros(len(start.counts), np.int64)
        self.passes: list[int] = []
        self._parts: list[Entries] = []  # as written by the solver
        self._count = 0
        self._row_ids: IntArray | None = None  # training rows of a compact log

    # --- writing -------------------------------------------------------------------------------------------------------

    def _append(self, rows: Any, steps: Any, times: Any, others: Any, since: int) -> None:
        """Add entries; `times` are relative to `since`."""
        if len(rows):
            self._count += len(rows)
            joint = not isinstance(self._problem.labels, Binary)
            self._parts.append(
                Entries(
                    rows.astype(np.int32 if self._problem.n_rows < 1 << 31 else np.int64),
                    steps.copy() if (steps != steps[0]).any() else repeated_number(steps[0], len(steps)),
                    times.astype(np.uint32 if times[-1] < 1 << 32 else np.int64),
                    others.astype(np.int32) if joint else repeated_number(np.int32(0), len(rows)),
                    since,
                )
            )

    # --- reading -------------------------------------------------------------------------------------------------------

    def _joined(self) -> Entries:
        """All entries as one part."""
        if len(self._parts) > 1:
            parts = self._parts
            clock = np.concatenate([part.clock for part in parts])
            rows, others = (np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "others"))
            firsts = {float(part.steps[0]) for part in parts if part.steps.strides == (0,)}
            equal = len(firsts) == 1 and all(part.steps.strides == (0,) for part in parts)
            steps = repeated_number(firsts.pop(), len(rows)) if equal else np.concatenate([part.steps for part in parts])
            self._parts = [Entries(rows, steps, clock, others, 0)]
        elif not self._parts:
            none = np.zeros(0, np.int32)
            return Entries(none, np.zeros(0), none, none, 0)
        return self._parts[0]

    def __len__(self) -> int:
        return self._count

    @property
    def _local_rows(self) -> IntArray:
        """Rows as positions in `_problem.rows`, which holds only some of the training rows if the log is compact."""
        return self._joined().rows

    @property
    def rows(self) -> IntArray:
        """The training row of each entry."""
        local = self._local_rows
        rows: IntArray = read_only(local if self._row_ids is None else self._row_ids[local])
        return rows

    @property
    def steps(self) -> FloatArray:
        """The length factor tau of each entry."""
        steps: FloatArray = read_only(self._joined().steps)
        return steps

    @property
    def times(self) -> IntArray:
        """The rows visited, or the steps made, before each entry."""
        times: IntArray = read_only(self._joined().clock)
        return times

    @property
    def _others(self) -> IntArray:
        others: IntArray = read_only(self._joined().others)
        return others

    @property
    def heads(self) -> IntArray:
        """The one-vs-rest head of each entry; else 0."""
        return self._others if isinstance(self._problem.labels, Rest) else read_only(np.zeros(len(self), np.int32))

    @property
    def rivals(self) -> IntArray:
        """The class that each row was moved away from."""
        labels, rows, others = self._problem.labels, self._local_rows, self._others
        if isinstance(labels, Binary):
            negative: IntArray = read_only((labels.signs[rows] < 0).astype(np.int32))
            return negative
        if isinstance(labels, Joint):
            return others
        own = labels.heads[others] == labels.codes[rows]
        rest: IntArray = read_only(np.where(own, np.int32(-1), labels.heads[others]))
        return rest

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
                raise IndexError(f"entry {key} is out of range: the log has {len(self)} entries")
            at = range(len(self))[key]
            return Update(int(self.rows[at]), float(self.steps[at]), int(self.times[at]), int(self.rivals[at]))
        first, last, stride = key.indices(len(self))
        if stride != 1:
            raise ValueError(f"a slice of an UpdateLog must have a step of 1, got {stride}; slice .rows instead")
        start = copy_state(self._start)
        edges = self._edges
        self._advance(start, np.append(edges[edges < first], first))
        part = UpdateLog(self._problem, start, grouped=self._grouped)
        cut = slice(first, last)
        part._append(self._local_rows[cut], self.steps[cut], self.times[cut], self._others[cut], 0)
        part.durations = part.durations + (self.times[last] if last < len(self) else self.durations.max())
        part._visited_before = int(self.times[first - 1]) + 1 if first else self._visited_before
        part._row_ids = self._row_ids
        return part

    def __repr__(self) -> str:
        kind = {Binary: "binary", Joint: "joint", Rest: "one-vs-rest"}[type(self._problem.labels)]
        visits = int(self.durations.max()) - self._visited_before
        return f"<UpdateLog of a {kind} run: {self.n_updates} updates in {visits} visits>"

    # --- replaying -----------------------------------------------------------------------------------------------------

    @property
    def _edges(self) -> IntArray:
        """The first entry of each update, and the number of entries; a batch update has all entries of one time."""
        if not (self._grouped and len(self)):
            return np.arange(len(self) + 1)
        return np.concatenate([[0], np.flatnonzero(np.diff(self.times)) + 1, [len(self)]])

    @property
    def n_updates(self) -> int:
        """How often the weights moved; a batch step of several entries counts once."""
        return len(self._edges) - 1

    def _state_at(self, t: int) -> State:
        """The state after the first t updates, in the layout of the kernels."""
        edges, t = self._edges, operator.index(t)
        if not 0 <= t < len(edges):
            raise ValueError(f"t must be between 0 and the {len(edges) - 1} updates of this log, got {t}")
        state = copy_state(self._start)
        self._advance(state, edges[: t + 1])
        return state

    def _replay(self, state: State, stretch: slice) -> None:
        """Apply the moves of some entries to `state`, in their order, so that online runs give the same bits."""
        make_moves(self._problem, self._local_rows[stretch], self._others[stretch], self.steps[stretch], state)

    def _delta(self, stretch: slice) -> State:
        """The sum of the moves of some entries, in float64."""
        delta = zero_sums(self._start)
        self._replay(delta, stretch)
        return delta

    def _advance(self, state: State, edges: Any) -> None:
        """Apply the updates between `edges` to `state` as the run did: batch steps are summed first."""
        if not self._grouped:
            self._replay(state, slice(int(edges[0]), int(edges[-1])))
            return
        self._make_steps(state, edges, np.empty((0, 0)), np.empty(0))

    def _make_steps(self, state: State, edges: Any, planes: Any, shifts: Any) -> None:
        """Apply batch steps in one kernel call: a call per step would take most of the time."""
        delta, stretch = zero_sums(state), slice(int(edges[0]), int(edges[-1]))
        moves = kernel_columns(self._local_rows[stretch], self._others[stretch], self.steps[stretch])
        weights = state.w.reshape(-1)
        assert np.shares_memory(weights, state.w) or not weights.size
        flat = weights, delta.w.reshape(-1), np.empty(1, state.w.dtype)
        edges = np.ascontiguousarray(edges, np.int64)
        apply_steps(self._problem.rows, self._problem.labels, *moves, edges, state, delta, flat, planes, shifts)

    def _planes(self, state: State, edges: Any) -> tuple[Any, Any]:
        """Planes and intercepts of a binary run, before and after each of the updates between `edges`, from `state` on."""
        planes, shifts = np.empty((len(edges), self._problem.n_features)), np.empty(len(edges))
        if not self._grouped:
            stretch = slice(int(edges[0]), int(edges[-1]))
            moves = kernel_columns(self._local_rows[stretch], self._others[stretch], self.steps[stretch])
            record_planes(self._problem.rows, self._problem.labels, *moves, state.x0, state.w, state.bias, planes, shifts)
            return planes, shifts
        self._make_steps(state, edges, planes, shifts)
        return planes, shifts

    def weights_at(self, t: int) -> tuple[FloatArray, FloatArray]:
        """Replay the run up to an update.

        Parameters
        ----------
        t : int
            The number of updates to replay, from 0 (before the run) to `n_updates` (after it).

        Returns
        -------
        coef : ndarray of float, shape (n_heads, n_features)
            The weights after the first t updates.
        intercept : ndarray of float, shape (n_heads,)
            The intercepts after the first t updates.

        Raises
        ------
        ValueError
            If t is not between 0 and `n_updates`.
        """
        state = self._state_at(t)
        coef = np.ascontiguousarray(as_heads(state.w, self._problem.rows))
        return coef, state.bias * state.x0

    def runs(self) -> list[UpdateLog]:
        """The logs of the independent runs.

        Returns
        -------
        list of UpdateLog
            For one-vs-rest, one binary log per class, in the order of the classes; else the log itself.
        """
        labels = self._problem.labels
        if not isinstance(labels, Rest):
            return [self]
        return [self._head(h) for h in range(len(labels.heads))]

    def _head(self, h: int) -> UpdateLog:
        """The binary log of one-vs-rest head h."""
        mine = self._others == h
        start = pick_heads(self._start, self._problem.rows, [h], flat=True)
        run = UpdateLog(one_against_rest(self._problem, h), start, grouped=self._grouped)
        run._append(self._local_rows[mine], self.steps[mine], self.times[mine], self._others[mine], 0)
        run._visited_before, run.durations, run._row_ids = self._visited_before, self.durations[h : h + 1], self._row_ids
        return run

    # --- exporting -----------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The columns of the log as arrays.

        Returns
        -------
        dict of str to ndarray
            The columns row, step, time, rival and head, each of shape (n_entries,).

        See Also
        --------
        UpdateLog.to_arrow : The same columns as a pyarrow table.
        """
        return {"row": self.rows, "step": self.steps, "time": self.times, "rival": self.rivals, "head": self.heads}

    def to_arrow(self) -> Any:
        """The columns of the log as a pyarrow table.

        Returns
        -------
        pyarrow.Table
            The columns row, step, time, rival and head.

        Raises
        ------
        ImportError
            If pyarrow is not installed; the extra `rosenblatt[data]` installs it.

        See Also
        --------
        UpdateLog.to_dict : The same columns as arrays.
        """
        try:
            import pyarrow
        except ImportError:
            raise ImportError("UpdateLog.to_arrow needs pyarrow: pip install 'rosenblatt[data]'") from None
        return pyarrow.table({name: np.ascontiguousarray(column) for name, column in self.to_dict().items()})

    def compact(self) -> UpdateLog:
        """Copy the log together with the rows that moved the weights.

        Returns
        -------
        UpdateLog
            A log that does not depend on the training set. Rows keep their numbers.
        """
        touched, local = np.unique(self._local_rows, return_inverse=True)
        labels = self._problem.labels
        weights = labels.weights[touched] if labels.weights.size else labels.weights
        field = "signs" if isinstance(labels, Binary) else "codes"
        few = labels._replace(**{field: read_only(getattr(labels, field)[touched]), "weights": read_only(weights)})
        log = UpdateLog(
            Problem(take_rows(self._problem.rows, touched), few, self._problem.x0), self._start, grouped=self._grouped
        )
        log._append(local, self.steps, self.times, self._others, 0)
        log._visited_before, log.durations, log.passes = self._visited_before, self.durations, self.passes
        log._row_ids = touched if self._row_ids is None else self._row_ids[touched]
        return log

    def _spread_over(self, problem: Problem) -> UpdateLog:
        """The same log on the whole training set: the inverse of `compact`."""
        log = UpdateLog(problem, self._start, grouped=self._grouped)
        log._append(self.rows, self.steps, self.times, self._others, 0)
        log._visited_before, log.durations, log.passes = self._visited_before, self.durations, self.passes
        return log

    @property
    def is_compact(self) -> bool:
        """Whether the log holds only the rows that moved the weights."""
        return self._row_ids is not None

    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self if self.is_compact else self.compact()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled arrays are writable, but kernels are compiled for read-only rows.
        problem = state["_problem"]
        rows, labels = (
            type(part)(*(read_only(field) if isinstance(field, np.ndarray) else field for field in part))
            for part in (problem.rows, problem.labels)
        )
        vars(self).update(state, _problem=replace(problem, rows=rows, labels=labels))
