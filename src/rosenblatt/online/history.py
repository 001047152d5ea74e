"""The history of a run: the weights it starts from, the state after `fit` or after each chunk of `partial_fit`, its readings.

One pass over a stream gives the same bits as one cyclic pass of `fit`, for any division into chunks: the weights,
their counts and the clock continue, the sums for the average are extended in the order of the rows, and votes keep the rows
that moved the weights. A class that was not announced starts with zero weights at its first row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..array_types import Array, FloatArray, IntArray
from ..data.problem import Problem, as_heads, heads_of, virtual_zeros, zero_state, zero_sums
from ..kernels.linear.rows import Dense
from ..kernels.linear.schemes import Binary, Joint, Rest, State
from ..kernels.linear.walks import Moves
from ..validation import ParameterError
from .pocket import Pocket, pocket
from .readings import Vote, Walk, average, births, constant_walk, sums_of_average, sums_of_times, vote_weights, walk_of_log
from .run import Rule, RunConfig, RunResult
from .solver import solve
from .training_rows import CHANGED_ROWS, ChangedRowsError, TrainingRows
from .update_log import UpdateLog

Init: TypeAlias = Literal["zeros", "sum"] | npt.ArrayLike
# Up to this size a fit keeps the sums of its average, and a later chunk continues with the same bits as a longer fit. Beyond,
# the average takes the memory of its sums; a later chunk recovers them from it, up to rounding.
MAX_EXACT_SUMS_BYTES = 1 << 22


@dataclass(frozen=True)
class History:
    """The weights, sums and logs so far. `learn` returns a new history, so an interrupted chunk has no effect."""

    classes: Array
    state: State
    dense: bool  # the layout of the weights: heads x features (dense) or features x heads
    seen: int  # rows visited
    durations: IntArray  # rows visited when each head stopped
    sums: State | None = None  # sum of time-weighted moves, for the average
    logs: tuple[tuple[Array, UpdateLog], ...] = ()  # one, or one per chunk, with the classes known at the time
    logged: bool = True  # whether the logs hold every update
    averaged: State | None = None  # the average of a fit, from which its sums are recovered; its weights are those of `coef_`

    @property
    def heads(self) -> FloatArray:
        """The last weights as heads x features."""
        heads: FloatArray = heads_of(self.state.w, self.dense)
        return heads

    def learn(self, problem: Problem, rule: Rule, config: RunConfig, classes: Array, keep: str) -> tuple[History, RunResult]:
        """Make one cyclic pass over a chunk."""
        votes = keep == "vote"
        if keep != "last" and self.needs_rows(keep):
            self.check_rows()
        before = self.holding(keep)
        config = replace(config, order="cyclic", max_iter=1, visited_before=self.seen, keep_log=votes, final_scan=False)
        state = self._converted(self.state, problem, classes)
        sums = self._converted(before._sums(), problem, classes) if keep == "average" else None
        result = solve(problem, rule, config, state, sums)
        logs = before.logs if votes else ()
        if result.log is not None:
            logs = (*logs, (classes, result.log.compact()))
        return self._after(problem, classes, result, logs, self.logged and votes), result

    def _after(
        self, problem: Problem, classes: Array, result: RunResult, logs: tuple[tuple[Array, UpdateLog], ...], logged: bool
    ) -> History:
        # A head that stopped before this chunk keeps its duration.
        before = self.durations if len(self.durations) == len(result.durations) else result.durations
        durations = np.where(result.durations == self.seen, before, result.durations)
        seen, dense = self.seen + problem.n_visited, isinstance(problem.rows, Dense)
        return History(classes, result.state, dense, seen, durations, result.sums, logs, logged)

    def skip(self, rows: int) -> History:
        """Count rows of the only class known so far; a single class has nothing to learn."""
        return replace(self, seen=self.seen + rows, durations=self.durations + rows)

    def _converted(self, state: State, problem: Problem, classes: Array) -> State:
        """The weights in the layout of this chunk's rows and for its classes; new classes get zeros."""
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
        own = known if isinstance(problem.labels, Rest) else slice(None)
        new.counts[own] = state.counts
        new.sqnorms[own] = state.sqnorms * (2.0 if binary and isinstance(problem.labels, Joint) else 1.0)
        return new

    # --- readings ------------------------------------------------------------------------------------------------------

    def needs_rows(self, keep: str) -> bool:
        """Whether a reading is computed from training rows that the history does not hold."""
        held = all(log.is_compact for _, log in self.logs)
        return keep == "pocket" or not (held or keep == "last" or (keep == "average" and self._has_average))

    def holding(self, keep: str) -> History:
        """The same history, with what predictions and later chunks of a reading need when the training rows are gone.

        The average needs its sums, or itself, which takes no more memory; a vote needs the rows that moved the weights.
        """
        if keep == "average" and not self._has_average:
            return replace(self, averaged=self.average())
        if keep == "vote":
            self.check_logged("vote")
            return replace(self, logs=tuple((known, log if log.is_compact else log.compact()) for known, log in self.logs))
        return self

    def average(self, *, in_place: bool = False) -> State:
        """The average of the weights over all rows visited; with `in_place`, in the memory of the sums of this history."""
        if self.averaged is not None:
            return self.averaged
        return average(self.state, self._sums(), self.durations, self.dense, in_place=in_place or self.sums is None)

    @property
    def _has_average(self) -> bool:
        return self.sums is not None or self.averaged is not None

    def _sums(self) -> State:
        if self.sums is not None:
            return self.sums
        if self.averaged is not None:
            return sums_of_average(self.state, self.averaged, self.durations, self.dense)
        if self.logged and not self.logs:
            return zero_sums(self.state)  # no update so far
        return sums_of_times(self._whole_log("average"))

    def pockets(self, n_jobs: int) -> list[Pocket]:
        """The pocket of each binary problem, or of the joint run."""
        return [pocket(run, n_jobs) for run in self._whole_log("pocket")._whole().runs()]

    def _whole_log(self, reading: str) -> UpdateLog:
        self.check_logged(reading, len(self.logs) == 1)
        return self.logs[0][1]

    def check_logged(self, reading: str, enough: bool = True) -> None:
        """Raise if the log does not hold every update."""
        if not (self.logged and enough):
            raise ValueError(f"the {reading} of this run needs the log of all its updates: fit with log=True")

    def check_rows(self, *, whole: bool = False) -> None:
        """Raise if the training rows are gone or were changed, so that the log no longer replays to the weights.

        With `whole`, a log that holds the rows that moved the weights is replayed on the training set, too.
        """
        for _, log in self.logs[-1:]:
            replayed = (log._record.whole() if whole else log._record.pinned()).state_at(log.n_updates)
            if not (np.array_equal(replayed.w, self.state.w) and np.array_equal(replayed.bias, self.state.bias)):
                raise ChangedRowsError(CHANGED_ROWS)

    def without_rows(self) -> History:
        """The same history, without the rows that a vote was made of."""
        if len(self.logs) != 1 or (origin := self.logs[0][1]._record.origin) is None or not self.logs[0][1].is_compact:
            return self
        return self.found_in(origin)

    def found_in(self, origin: TrainingRows) -> History:
        """The same history, whose log finds its rows by `origin`."""
        ((classes, log),) = self.logs
        return replace(self, logs=((classes, UpdateLog(log._record.found_in(origin))),))

    def votes(self, one_each: bool, vote_count: str) -> list[Vote]:
        """The vote over all hypotheses so far: one, or one per class for one-vs-rest."""
        self.check_logged("vote")
        k = len(self.classes)
        if not self.logs:
            separate = len(self.durations) > 1
            parts = (
                zip(self.heads[:, None], self.state.bias[:, None], strict=True) if separate else [(self.heads, self.state.bias)]
            )
            return [Vote(constant_walk(heads, bias, self.state.x0), np.array([float(self.seen)])) for heads, bias in parts]
        if one_each and k > 2:
            heads = [[_walk_of_head(log, known, label) for known, log in self.logs] for label in self.classes]
            ends = self.durations
        else:
            heads = [[_walk_among_classes(log, np.searchsorted(self.classes, known), k) for known, log in self.logs]]
            ends = self.durations[:1]
        return [_vote_of_parts(parts, int(end), vote_count) for parts, end in zip(heads, ends, strict=True)]


def history_of_fit(problem: Problem, classes: Array, result: RunResult) -> History:
    """The history after `fit`."""
    logs = () if result.log is None else ((classes, result.log),)
    if result.log is not None and problem.find_rows is not None:
        result.log._record.origin = TrainingRows(problem, problem.find_rows)
    seen, dense = int(result.durations.max()), isinstance(problem.rows, Dense)
    run = History(classes, result.state, dense, seen, result.durations, result.sums, logs, bool(logs))
    if result.sums is None or result.sums.w.nbytes <= MAX_EXACT_SUMS_BYTES:
        return run
    return replace(run, averaged=run.average(in_place=True), sums=None)


# --- the first weights ---------------------------------------------------------------------------------------------------


def initial_state(problem: Problem, classes: Array, init: Init, fit_intercept: bool, before: History | None) -> State:
    """Return zeros, the sum of all signed rows, a given array, or the weights the previous run ended with."""
    start = zero_state(problem, len(classes))
    if before is None and isinstance(init, str) and init == "zeros":
        return start._replace(w=virtual_zeros(start.w.shape, start.w.dtype))
    heads = as_heads(start.w, problem.rows)
    if before is not None:
        if not np.array_equal(classes, before.classes) or before.heads.shape != heads.shape:
            raise ValueError(
                f"warm_start continues a run on classes {before.classes.tolist()} and {before.heads.shape[1]} features, "
                f"got classes {classes.tolist()} and {heads.shape[1]} features"
            )
        heads[...], start.bias[...] = before.heads, before.state.bias
    elif isinstance(init, str):
        heads[...], start.bias[...] = signed_sum(problem, len(classes))
    else:
        _from_array(_as_numbers(init), heads, start, fit_intercept)
    return start


def signed_sum(problem: Problem, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Return sum_n y_n x_n for each head, with y_n = +1 on rows of the head's class and -1 on the others."""
    labels = problem.labels
    codes = (labels.signs > 0).astype(np.int64) if isinstance(labels, Binary) else labels.codes
    own = np.arange(1, 2) if isinstance(labels, Binary) else np.arange(n_classes)
    signs = np.where(codes == own[:, None], 1.0, -1.0)
    if labels.weights.size:
        signs = signs * labels.weights
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.asarray(signs @ problem.matrix())
    if not (abs(total) <= np.finfo(problem.rows.values.dtype).max).all():
        raise ValueError("init='sum' overflowed: scale the features")
    return total, signs.sum(axis=1) * problem.x0


def _as_numbers(init: Init) -> Array:
    try:
        array = np.asarray(init)
    except ValueError:
        requirement = "'zeros', 'sum' or an array with rows of one length"
        raise ParameterError("init", requirement, init, f"{init!r:.80}") from None
    if array.dtype.kind not in "biuf":
        raise ParameterError("init", "'zeros', 'sum' or an array of real numbers", init, f"{array.tolist()!r:.80}")
    return array


def _from_array(init: Array, heads: FloatArray, start: State, fit_intercept: bool) -> None:
    k, d = heads.shape
    if not (abs(init) <= np.finfo(heads.dtype).max).all():
        requirement = f"'zeros', 'sum' or an array of finite {heads.dtype.name} numbers"
        raise ParameterError("init", requirement, init, f"{init.tolist()!r:.80}")
    full = init[None] if init.ndim == 1 else init
    if full.shape == (k, d + 1) and fit_intercept:
        start.bias[...], full = full[:, 0], full[:, 1:]
    if full.shape != (k, d):
        with_bias = f" or {(k, d + 1)} with weight 0 first" if fit_intercept else ""
        raise ValueError(f"init must have shape {(k, d)}{with_bias}, got {init.shape}")
    heads[...] = full


# --- votes ---------------------------------------------------------------------------------------------------------------


def _vote_of_parts(parts: list[tuple[Walk, IntArray] | None], end: int, vote_count: str) -> Vote:
    found = [part for part in parts if part is not None]
    born = np.concatenate([part[1] for part in found])
    return Vote(_join_walks([part[0] for part in found]), vote_weights(born, end, vote_count))


def _walk_among_classes(log: UpdateLog, known: IntArray, k: int) -> tuple[Walk, IntArray]:
    """The walk of a log, its classes renumbered; a binary walk among more classes moves two heads in opposite directions."""
    walk = walk_of_log(log)
    if isinstance(log._record.labels, Binary):
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


def _walk_of_head(log: UpdateLog, known: Array, label: object) -> tuple[Walk, IntArray] | None:
    """The walk of one class against the rest; None if the log is older than the class."""
    where = np.flatnonzero(known == label)
    if not len(where):
        return None
    if isinstance(log._record.labels, Binary):
        walk = walk_of_log(log)
        if where[0] == 0:
            against = walk.moves._replace(coefs=-walk.moves.coefs, shifts=-walk.moves.shifts)
            walk = replace(walk, start=-walk.start, start_bias=-walk.start_bias, moves=against)
        return walk, births(log)
    run = UpdateLog(log._record.head(int(where[0])))
    return walk_of_log(run), births(run)


def _join_walks(walks: list[Walk]) -> Walk:
    """Concatenate walks: each starts where the previous one ended, so only the first start and the moves are kept."""
    offsets = np.cumsum([0, *(walk.vectors.shape[0] for walk in walks[:-1])])
    shifted = [walk.moves._replace(vectors=walk.moves.vectors + offset) for walk, offset in zip(walks, offsets, strict=True)]
    later = [shifted[0], *(Moves._make(column[1:] for column in moves) for moves in shifted[1:])]
    sparse = any(sp.issparse(walk.vectors) for walk in walks)
    vectors = [walk.vectors for walk in walks]
    return replace(
        walks[0],
        vectors=sp.vstack(vectors, format="csr") if sparse else np.concatenate(vectors),
        moves=Moves(*(np.concatenate(columns) for columns in zip(*later, strict=True))),
    )
