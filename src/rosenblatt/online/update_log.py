"""The update log: which row moved the weights, when, by how far, and against which class."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from ..array_types import FloatArray, IntArray
from ..data.problem import Problem, read_only
from ..kernels.linear.schemes import Binary, Joint, Rest
from .run_record import RunRecord

if TYPE_CHECKING:
    import pyarrow


class Update(NamedTuple):
    """One entry of an `UpdateLog`: a row that moved the weights.

    Parameters
    ----------
    row : int
        The training row.
    step : float
        The length factor tau > 0: binary weights moved by tau * y * x.
    time : int
        The number of rows visited before (online), or of steps made before (batch, mistakes).
    rival : int
        The class that the row was moved away from, as a position in `classes_`; -1 is "all other classes".

    See Also
    --------
    UpdateLog : All updates of a run.

    Examples
    --------
    >>> import rosenblatt as rb
    >>> rb.Perceptron(order="cyclic").fit([[0.0], [1.0]], ["a", "b"]).log_[0]
    Update(row=0, step=1.0, time=0, rival=1)
    """

    row: int
    step: float
    time: int
    rival: int


class UpdateLog:
    """The updates of a run, in order.

    The fitted attribute `log_` of online learners. The log and the rows it refers to determine the whole run. The log holds no
    rows: it finds them in the X of `fit` as long as the caller keeps X and does not change it. Lists, which Python cannot refer
    to weakly, are kept as an array. Pickles and files never hold rows, except those of a compact log.

    Without rows, the log has its columns, its length, its entries and the independent runs. `weights_at`, slices and `compact`
    need the rows that moved the weights. If X is gone, `model.reading(keep, X, y).log_` is the log with its rows, after a check
    that they are the same. `compact` copies the rows that moved the weights; `log="rows"` of an estimator keeps X alive.

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

    See Also
    --------
    Perceptron : An online learner, whose fits write a log.
    Stop : Why the run ended.

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

    def __init__(self, record: RunRecord) -> None:
        self._record = record  # what the rest of the package replays

    def __len__(self) -> int:
        return len(self._record)

    @property
    def rows(self) -> IntArray:
        """The training row of each entry."""
        return self._record.rows

    @property
    def steps(self) -> FloatArray:
        """The length factor tau of each entry."""
        return self._record.steps

    @property
    def times(self) -> IntArray:
        """The rows visited, or the steps made, before each entry."""
        return self._record.times

    @property
    def heads(self) -> IntArray:
        """The one-vs-rest head of each entry; else 0."""
        if isinstance(self._record.labels, Rest):
            return self._record.others
        return read_only(np.zeros(len(self), np.int32))

    @property
    def rivals(self) -> IntArray:
        """The class that each row was moved away from."""
        labels, rows, others = self._record.labels, self._record.local_rows, self._record.others
        if isinstance(labels, Binary):
            return read_only((labels.signs[rows] < 0).astype(np.int32))
        if isinstance(labels, Joint):
            return others
        own = labels.heads[others] == labels.codes[rows]
        return read_only(np.where(own, np.int32(-1), labels.heads[others]))

    @property
    def durations(self) -> IntArray:
        """The time at which each head stopped."""
        return self._record.durations

    @property
    def passes(self) -> list[int]:
        """The number of entries at the end of each pass."""
        return self._record.passes

    @property
    def n_updates(self) -> int:
        """How often the weights moved; a batch step of several entries counts once."""
        return len(self._record.edges) - 1

    @property
    def is_compact(self) -> bool:
        """Whether the log holds only the rows that moved the weights."""
        return self._record.row_ids is not None

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
        return UpdateLog(self._record.cut(first, last))

    def __repr__(self) -> str:
        kind = {Binary: "binary", Joint: "joint", Rest: "one-vs-rest"}[type(self._record.labels)]
        visits = int(self.durations.max()) - self._record.visited_before
        return f"<UpdateLog of a {kind} run: {self.n_updates} updates in {visits} visits>"

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
            If t is not between 0 and `n_updates`, or if X is gone or was changed.
        """
        state = self._record.state_at(t)
        return np.ascontiguousarray(self._record.heads_of(state.w)), state.bias * state.x0

    def runs(self) -> list[UpdateLog]:
        """The logs of the independent runs.

        Returns
        -------
        list of UpdateLog
            For one-vs-rest, one binary log per class, in the order of the classes; else the log itself.
        """
        labels = self._record.labels
        if not isinstance(labels, Rest):
            return [self]
        return [UpdateLog(self._record.head(h)) for h in range(len(labels.heads))]

    def to_dict(self) -> dict[str, FloatArray | IntArray]:
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

    def to_arrow(self) -> pyarrow.Table:
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
            A log that does not depend on the training set. Rows keep their numbers. Its pickles hold these rows.
        """
        return UpdateLog(self._record.compact())

    def _pinned(self) -> UpdateLog:
        """The log, holding the rows that moved the weights; raises `MissingRowsError` if they are gone."""
        return UpdateLog(self._record.pinned())

    def _whole(self) -> UpdateLog:
        """The log with all training rows; raises `MissingRowsError` if they are gone."""
        return UpdateLog(self._record.whole())

    def __getstate__(self) -> dict[str, RunRecord]:
        holds_all = isinstance(self._record.rows_source, Problem) and not self.is_compact
        return {"_record": self._record.compact() if holds_all else self._record}
