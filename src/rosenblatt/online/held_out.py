"""Early stopping: the hypothesis of a run is scored after each pass on rows that are held out of the run.

Problem    end a run when more passes do not help on rows that it has not seen, and keep its best hypothesis.
Update     after each pass, every head that still runs classifies the held-out rows by the reading that the fit keeps. A head
           stops when its error has not fallen below the smallest one for `patience` passes, and is cut back to the first pass
           of that error. A head that ends for another reason is cut back if its last error is larger than the smallest one.
Guarantee  the weights, counts, sums and the log are those of a run on the same rows with max_iter = that pass, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.problem import Problem, as_heads, copy_state, rows_as_matrix, take_rows
from ..kernels.linear.schemes import Binary, Rest, State
from ..parallel import one_blas_thread
from ..scores import linear_scores, winners
from .pocket import Pocket, pocket
from .readings import Vote, births, lifetimes, walk_of_log
from .run_record import RunRecord
from .stopping import Stop, held_out_stop
from .update_log import UpdateLog

if TYPE_CHECKING:
    from .run import RunState


@dataclass(frozen=True)
class HeldOut:
    """The rows that are held out of a run, and how it is scored on them."""

    rows: IntArray  # positions among the rows of the problem, whose weights there are 0
    weights: FloatArray | None  # of these rows; None: each has weight 1
    patience: int  # passes without a smaller error
    keep: str = "last"  # the reading that is scored
    vote_count: str = "lifetime"


class HeldOutRows:
    """Scores hypotheses on the held-out rows."""

    def __init__(self, problem: Problem, held: HeldOut) -> None:
        self.X = rows_as_matrix(take_rows(problem.rows, held.rows), 0, len(held.rows))
        self.x0, self.weights = problem.x0, held.weights
        self.total = float(len(held.rows) if held.weights is None else held.weights.sum())
        labels = problem.labels
        self.positive: IntArray | None = labels.heads if isinstance(labels, Rest) else None  # the class of each head
        codes = (labels.signs > 0) if isinstance(labels, Binary) else labels.codes
        self.codes = codes[held.rows].astype(np.intp)

    def errors_of_planes(self, vectors: FloatArray, bias: FloatArray, heads: Sequence[int]) -> list[float]:
        """The error of each of these heads, from the planes of all classes that compete or of each head."""
        with one_blas_thread():  # threads that wait for such small products slow down the passes
            scores = linear_scores(self.X, vectors, bias * self.x0)
        return self.errors_of_scores(scores, heads)

    def errors_of_scores(self, scores: FloatArray, heads: Sequence[int]) -> list[float]:
        """The share of the rows, by weight, that each head misclassifies."""
        if self.positive is None:
            return [self._share(winners(scores) != self.codes)]
        return [self._share((scores[:, j] > 0) != (self.codes == self.positive[h])) for j, h in enumerate(heads)]

    def _share(self, wrong: Array) -> float:
        return float(np.count_nonzero(wrong) if self.weights is None else self.weights[wrong].sum()) / self.total


class Scoreboard:
    """The errors of each head after each pass, and its best pass: the first one with the smallest error."""

    def __init__(self, n_heads: int, patience: int) -> None:
        self.errors: list[list[float]] = [[] for _ in range(n_heads)]
        self.best = np.full(n_heads, np.inf)
        self.best_pass = np.zeros(n_heads, np.int64)
        self._patience = patience

    def add(self, heads: Sequence[int], errors: list[float]) -> list[int]:
        """Add the errors of one more pass; return the heads that have never had so few."""
        improved = []
        for h, error in zip(heads, errors, strict=True):
            self.errors[h].append(error)
            if error < self.best[h]:
                self.best[h], self.best_pass[h] = error, len(self.errors[h])
                improved.append(h)
        return improved

    def has_lost_patience(self, h: int) -> bool:
        """Whether the last `patience` passes of a head brought no smaller error."""
        return len(self.errors[h]) - int(self.best_pass[h]) >= self._patience

    def is_cut_back(self, h: int) -> bool:
        """Whether a head that has ended takes the weights of an earlier pass."""
        return self.has_lost_patience(h) or self.errors[h][-1] > self.best[h]

    def stop(self, h: int, n_rows: int) -> Stop:
        """Why a head is cut back."""
        return held_out_stop(len(self.errors[h]), int(self.best_pass[h]), float(self.best[h]), n_rows)

    def passes(self, h: int) -> int:
        """The passes that the weights of a head are made of."""
        return int(self.best_pass[h]) if self.is_cut_back(h) else len(self.errors[h])


class HeldOutWatch:
    """Scores the heads of a run after each pass, and cuts them back to their best pass at its end."""

    def __init__(self, run: RunState, held: HeldOut) -> None:
        self.rows, self.keep = HeldOutRows(run.problem, held), held.keep
        self.board = Scoreboard(len(run.durations), held.patience)
        self._n_rows, self._scored_at = len(held.rows), np.full(len(run.durations), -1)
        self._best: State | None = None
        self._best_sums: State | None = None
        self._best_clock = np.zeros(len(run.durations), np.int64)
        self._log: _Votes | _Pockets | None = None
        if held.keep in ("vote", "pocket"):
            self._log = _Votes(run, self.rows, held.vote_count) if held.keep == "vote" else _Pockets(run, self.rows)

    def score(self, run: RunState) -> None:
        """Score the heads that run, or have just ended: those whose weights may have changed since the last time."""
        run.copy_swept_heads()
        ends = np.where(np.isin(np.arange(len(run.durations)), run.heads), run.clock, run.durations)
        heads = [h for h in range(len(ends)) if ends[h] != self._scored_at[h]]
        if not heads:
            return
        if self._log is not None:
            errors = self._log.errors(heads, ends)
        else:
            errors = self.rows.errors_of_planes(*self._planes(run, heads, ends), heads)
        improved = self.board.add(heads, errors)
        self._scored_at[heads] = ends[heads]
        if improved:
            self._best_clock[improved] = ends[improved]
            self._best = _with_heads(self._best, run, run.state, improved)
            if run.sums is not None:
                self._best_sums = _with_heads(self._best_sums, run, run.sums, improved)

    def stops(self, run: RunState) -> dict[int, Stop]:
        """The stops of the heads that are out of patience."""
        return {h: self.board.stop(h, self._n_rows) for h in run.heads if self.board.has_lost_patience(h)}

    def finish(self, run: RunState) -> int:
        """Cut back the heads that were better in an earlier pass; return the passes of the run. The heads are in order."""
        back = [h for h in range(len(run.durations)) if self.board.is_cut_back(h)]
        passes = max(self.board.passes(h) for h in range(len(run.durations)))
        if back and self._best is not None:
            run.durations[back] = self._best_clock[back]
            _copy_heads(run, self._best, run.state, back)
            if run.sums is not None and self._best_sums is not None:
                _copy_heads(run, self._best_sums, run.sums, back)
            run.stops.update({h: self.board.stop(h, self._n_rows) for h in back})
            if run.record is not None:
                run.record.cut_back(run.durations, passes)
        return passes

    def _planes(self, run: RunState, heads: list[int], ends: IntArray) -> tuple[FloatArray, FloatArray]:
        """The planes of the last or average weights, and their biases."""
        places: IntArray | slice = slice(None)  # of all heads in their order, or of classes that compete
        wanted: list[int] | slice = slice(None)
        if isinstance(run.problem.labels, Rest) and (len(heads) < len(run.places) or (np.diff(run.places) < 0).any()):
            places, wanted = np.argsort(run.places)[heads], heads
        vectors, bias = as_heads(run.state.w, run.problem.rows)[places], run.state.bias[wanted]
        if self.keep != "average" or run.sums is None:
            return vectors, bias
        shares = 1.0 / np.maximum(ends[heads], 1)
        sums = as_heads(run.sums.w, run.problem.rows)[places]
        return (vectors - sums * shares[:, None]).astype(vectors.dtype), bias - run.sums.bias[wanted] * shares


def _with_heads(best: State | None, run: RunState, now: State, heads: list[int]) -> State:
    """The best weights so far, with those of some heads replaced; the heads are in their original order."""
    if best is None:
        best = copy_state(now)
    target, source = as_heads(best.w, run.problem.rows), as_heads(now.w, run.problem.rows)
    if isinstance(run.problem.labels, Rest):
        target[heads] = source[np.argsort(run.places)[heads]]
        _copy_numbers(now, best, heads)
    else:
        target[...] = source
        _copy_numbers(now, best, slice(None))
    return best


def _copy_heads(run: RunState, best: State, now: State, heads: list[int]) -> None:
    """Replace the weights of some heads by their best ones. All heads are in their original order."""
    if isinstance(run.problem.labels, Rest):
        as_heads(now.w, run.problem.rows)[heads] = as_heads(best.w, run.problem.rows)[heads]
        _copy_numbers(best, now, heads)
    else:
        now.w[...] = best.w
        _copy_numbers(best, now, slice(None))


def _copy_numbers(source: State, target: State, heads: list[int] | slice) -> None:
    target.bias[heads] = source.bias[heads]
    for name in ("counts", "sqnorms"):
        getattr(target, name)[heads] = getattr(source, name)[heads]


# --- readings that are made of the log ---------------------------------------------------------------------------------------


class _LogParts:
    """The log of a run since the last score, as the log of a run of its own that begins with the weights of that time."""

    def __init__(self, run: RunState, rows: HeldOutRows) -> None:
        self.run, self.rows = run, rows
        self._start, self._clock, self._parts = copy_state(run.state), run.clock, 0

    def next_logs(self, heads: list[int], ends: IntArray) -> dict[int, UpdateLog]:
        """The next part of the log of each head; of one head for classes that compete."""
        run = self.run
        assert run.record is not None  # a fit that keeps such a reading keeps the log
        record = RunRecord(run.problem, self._start, grouped=run.record.grouped, visited_before=self._clock)
        record.extend(run.record.parts[self._parts :])
        record.durations = ends
        self._start, self._clock, self._parts = self._copied_state(), run.clock, len(run.record.parts)
        if isinstance(run.problem.labels, Rest):
            return {h: UpdateLog(record.head(h)) for h in heads}
        return {0: UpdateLog(record)}

    def _copied_state(self) -> State:
        state, rows = copy_state(self.run.state), self.run.problem.rows
        if isinstance(self.run.problem.labels, Rest):
            as_heads(state.w, rows)[self.run.places] = as_heads(self.run.state.w, rows)
        return state


class _Votes(_LogParts):
    """The votes of all hypotheses so far on the held-out rows."""

    def __init__(self, run: RunState, rows: HeldOutRows, vote_count: str) -> None:
        super().__init__(run, rows)
        self._vote_count = vote_count
        self._votes = np.zeros((rows.X.shape[0], len(run.state.bias)))

    def errors(self, heads: list[int], ends: IntArray) -> list[float]:
        begin, rest = self._clock, isinstance(self.run.problem.labels, Rest)
        for h, log in self.next_logs(heads, ends).items():
            counts = lifetimes(births(log), begin, int(ends[h]), self._vote_count)
            votes = Vote(walk_of_log(log), counts).votes(self.rows.X, self.run.config.n_jobs)
            self._votes[:, h : h + 1 if rest else None] += votes
        return self.rows.errors_of_scores(self._votes[:, heads] if rest else self._votes, heads)


class _Pockets(_LogParts):
    """The pocket so far of each head."""

    def __init__(self, run: RunState, rows: HeldOutRows) -> None:
        super().__init__(run, rows)
        self._pockets: dict[int, Pocket] = {}

    def errors(self, heads: list[int], ends: IntArray) -> list[float]:
        for h, log in self.next_logs(heads, ends).items():
            beat = self._pockets[h].errors if h in self._pockets else np.inf
            found = pocket(log, self.run.config.n_jobs, beat)
            if found.errors < beat:
                self._pockets[h] = found
        states = [self._pockets[h].state for h in heads]
        vectors = np.concatenate([as_heads(state.w, self.run.problem.rows) for state in states])
        return self.rows.errors_of_planes(vectors, np.concatenate([state.bias for state in states]), heads)
