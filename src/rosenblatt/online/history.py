"""A run so far: what `fit` leaves, what `partial_fit` carries from chunk to chunk, and what readings are taken from.

One pass over a stream is one cyclic pass of `fit`, bit for bit, however the stream is cut: the weights, their counts and the
clock go on, the average's sum is folded chunk by chunk in the order of the rows, and votes keep the rows that moved the
weights. A class that was not announced starts with zero weights when its first row comes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.problem import Problem, heads_of, zero_state, zero_sums
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary, Rest, State
from ..kernels.linear.walks import Moves
from .config import Plan, Result
from .pocket import Pocket, pocket
from .readings import Vote, average, ballots, births, sums_of_times
from .solver import solve
from .update_log import UpdateLog
from .walks import Walk, standing, walk_through


@dataclass(frozen=True)
class Run:
    """What is left of the rows seen so far. `learn` gives a new run, so an interrupted chunk leaves no trace."""

    classes: Any
    state: State
    dense: bool  # which of the kernels' two layouts the weights are in
    seen: int  # rows visited
    durations: Any  # of them, how many when each head ended
    sums: State | None = None  # sum of time-weighted moves, for the average
    logs: tuple[tuple[Any, UpdateLog], ...] = ()  # one, or one per chunk; with the classes known at the time
    logged: bool = True  # whether the logs hold every update

    @property
    def heads(self) -> Any:
        """The last weights as heads x features."""
        return heads_of(self.state.w, self.dense)

    def learn(self, problem: Problem, rule: Any, plan: Plan, classes: Any, keep: str) -> tuple[Run, Result]:
        """One cyclic pass over a chunk."""
        votes = keep == "vote"
        if keep != "last" and any(not log.is_compact for _, log in self.logs):
            self.check_rows()
        if votes:
            self.check_logged("vote")
        plan = replace(plan, order="cyclic", max_iter=1, since=self.seen, keep_log=votes)
        state = self._laid_out(self.state, problem, classes)
        sums = self._laid_out(self._sums(), problem, classes) if keep == "average" else None
        result = solve(problem, rule, plan, state, sums)
        logs = tuple((known, log if log.is_compact else log.compact()) for known, log in self.logs) if votes else ()
        if result.log is not None:
            logs = (*logs, (classes, result.log.compact()))
        return self._after(problem, classes, result, logs, self.logged and votes), result

    def _after(self, problem: Problem, classes: Any, result: Result, logs: Any, logged: bool) -> Run:
        # A head that had ended before this chunk ended when it did.
        before = self.durations if len(self.durations) == len(result.durations) else result.durations
        durations = np.where(result.durations == self.seen, before, result.durations)
        seen, dense = self.seen + problem.n_visited, isinstance(problem.rows, Dense)
        return Run(classes, result.state, dense, seen, durations, result.sums, logs, logged)

    def skip(self, rows: int) -> Run:
        """Rows of the only class known so far: there is no rival to tell it from."""
        return replace(self, seen=self.seen + rows, durations=self.durations + rows)

    def _laid_out(self, state: State, problem: Problem, classes: Any) -> State:
        """The weights for this chunk's container and classes; classes that are new get zeros."""
        dense = isinstance(problem.rows, Dense)
        if len(classes) == len(self.classes) and (dense == self.dense or state.w.ndim == 1):
            return state
        new = zero_state(problem, len(classes), state.w.dtype)
        if len(self.classes) < 2:
            return new
        known = np.searchsorted(classes, self.classes)
        binary = state.w.ndim == 1
        heads = np.stack([-state.w, state.w]) if binary else heads_of(state.w, self.dense)
        bias = np.array([-state.bias[0], state.bias[0]]) if binary else state.bias
        (new.w if dense else new.w.T)[known] = heads
        new.bias[known] = bias
        new.counts[known if isinstance(problem.labels, Rest) else slice(None)] = state.counts
        return new

    # --- readings ------------------------------------------------------------------------------------------------------

    def average(self) -> State:
        return average(self.state, self._sums(), self.durations, self.dense)

    def _sums(self) -> State:
        if self.sums is not None:
            return self.sums
        if self.logged and not self.logs:
            return zero_sums(self.state)  # nothing moved so far
        return sums_of_times(self._whole_log("average"))

    def pockets(self, n_jobs: int) -> list[Pocket]:
        return [pocket(run, n_jobs) for run in self._whole_log("pocket").runs()]

    def _whole_log(self, reading: str) -> UpdateLog:
        self.check_logged(reading, len(self.logs) == 1)
        return self.logs[0][1]

    def check_logged(self, reading: str, enough: bool = True) -> None:
        if not (self.logged and enough):
            raise ValueError(f"the {reading} of this run needs the log of all its updates: fit with log=True")

    def check_rows(self) -> None:
        """The log refers to the training rows; if it no longer replays to the weights, they were changed."""
        for _, log in self.logs[-1:]:
            replayed = log.state_at(log.n_updates)
            if not (np.array_equal(replayed.w, self.state.w) and np.array_equal(replayed.bias, self.state.bias)):
                raise ValueError("X was changed after fit: the log no longer replays to the weights it led to; fit again")

    def votes(self, one_each: bool, vote_count: str) -> list[Vote]:
        """The vote of each run (one, or one per class for one-vs-rest) over all hypotheses so far."""
        self.check_logged("vote")
        k = len(self.classes)
        if not self.logs:
            apart = len(self.durations) > 1
            parts = (
                zip(self.heads[:, None], self.state.bias[:, None], strict=True) if apart else [(self.heads, self.state.bias)]
            )
            return [Vote(standing(heads, bias, self.state.x0), np.array([float(self.seen)])) for heads, bias in parts]
        if one_each and k > 2:
            heads = [[_head(log, known, label) for known, log in self.logs] for label in self.classes]
            ends = self.durations
        else:
            heads = [[_walk(log, np.searchsorted(self.classes, known), k) for known, log in self.logs]]
            ends = self.durations[:1]
        return [_joined(parts, int(end), vote_count) for parts, end in zip(heads, ends, strict=True)]


def run_after(problem: Problem, classes: Any, result: Result) -> Run:
    """The run that `fit` leaves."""
    logs = () if result.log is None else ((classes, result.log),)
    seen, dense = int(result.durations.max()), isinstance(problem.rows, Dense)
    return Run(classes, result.state, dense, seen, result.durations, result.sums, logs, bool(logs))


def _joined(parts: list[tuple[Walk, Any] | None], end: int, vote_count: str) -> Vote:
    found = [part for part in parts if part is not None]
    born = np.concatenate([part[1] for part in found])
    return Vote(_join([part[0] for part in found]), ballots(born, end, vote_count))


def _walk(log: UpdateLog, known: Any, k: int) -> tuple[Walk, Any]:
    """A log's walk, its classes renumbered; a binary walk among more classes moves the two of them apart."""
    walk = walk_through(log)
    if isinstance(log.problem.labels, Binary):
        if k == 2:
            return walk, births(log)
        moving = walk.moves.coefs != 0.0
        moves = walk.moves._replace(
            plus=np.full(len(moving), known[1], np.int32), minus=np.where(moving, known[0], -1).astype(np.int32)
        )
        pair, pair_bias = np.concatenate([-walk.start, walk.start]), np.concatenate([-walk.start_bias, walk.start_bias])
    else:
        renumber = np.append(known, -1).astype(np.int32)
        moves = walk.moves._replace(plus=renumber[walk.moves.plus], minus=renumber[walk.moves.minus])
        pair, pair_bias = walk.start, walk.start_bias
    start, bias = np.zeros((k, pair.shape[1])), np.zeros(k)
    start[known], bias[known] = pair, pair_bias
    return replace(walk, start=start, start_bias=bias, moves=moves), births(log)


def _head(log: UpdateLog, known: Any, label: Any) -> tuple[Walk, Any] | None:
    """The walk of one class against the rest; None where the log is older than the class."""
    where = np.flatnonzero(known == label)
    if not len(where):
        return None
    if isinstance(log.problem.labels, Binary):
        walk = walk_through(log)
        if where[0] == 0:
            against = walk.moves._replace(coefs=-walk.moves.coefs, shifts=-walk.moves.shifts)
            walk = replace(walk, start=-walk.start, start_bias=-walk.start_bias, moves=against)
        return walk, births(log)
    run = log.head(int(where[0]))
    return walk_through(run), births(run)


def _join(walks: list[Walk]) -> Walk:
    """One walk after another: each starts where the one before ended, so only the first start and the moves count."""
    offsets = np.cumsum([0, *(walk.vectors.shape[0] for walk in walks[:-1])])
    shifted = [walk.moves._replace(vectors=walk.moves.vectors + offset) for walk, offset in zip(walks, offsets, strict=True)]
    later = [shifted[0], *(Moves(*(column[1:] for column in moves)) for moves in shifted[1:])]
    sparse = any(sp.issparse(walk.vectors) for walk in walks)
    vectors = [walk.vectors for walk in walks]
    return replace(
        walks[0],
        vectors=sp.vstack(vectors, format="csr") if sparse else np.concatenate(vectors),
        moves=Moves(*(np.concatenate(columns) for columns in zip(*later, strict=True))),
    )
