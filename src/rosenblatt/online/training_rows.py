"""The training set of a finished run without its rows: enough to find the rows again, and to check that they are the same.

A fitted model does not keep the rows of X. Its log has the labels, the shape and a digest of the training set, and a way to
find the rows as long as the caller keeps X. Pickles drop that way; the rows then have to be given again.
"""

from __future__ import annotations

import zlib
from typing import Any, Self

import numpy as np

from ..array_types import Array, IntArray
from ..data.problem import Problem, RowFinder, one_against_rest, read_only, rows_width
from ..kernels.linear.rows import CSR, Dense, Rows
from ..kernels.linear.schemes import Binary, Labels
from ..reporting.text import plural

# Values of each array that the digest reads. A change of rows that moved the weights is found by a replay as well.
MAX_DIGEST_VALUES = 1024

CHANGED_ROWS = "X or coef_ was changed after fit, so the log no longer replays to the weights: fit again"

OTHER_VALUES = "X must be the rows of fit, in their order, but its values differ"


class MissingRowsError(ValueError):
    """Rows are needed that neither the log nor the caller holds."""


class ChangedRowsError(ValueError):
    """The rows are not those of the run."""


class TrainingRows:
    """Labels, shape and digest of a training set, and how to find its rows.

    Parameters
    ----------
    problem : Problem
        The training set. It is not kept.
    find : callable
        Returns the rows, or None if they are gone.
    """

    def __init__(self, problem: Problem, find: RowFinder) -> None:
        self.labels: Labels = problem.labels
        self.x0, self.visited = problem.x0, problem.visited
        self.n_rows, self.n_features = problem.n_rows, problem.n_features
        self.dense, self.dtype = isinstance(problem.rows, Dense), problem.rows.values.dtype
        self.digest = _digest(problem.rows)
        self._find: RowFinder | None = find

    @property
    def n_visited(self) -> int:
        return self.n_rows if self.visited is None else len(self.visited)

    def problem(self) -> Problem:
        """The training set; raises an error if its rows are gone or were changed."""
        rows = None if self._find is None else self._find()
        if rows is None:
            raise MissingRowsError(
                "this needs the training rows, which a fitted model does not keep: call reading(keep, X, y) with the X and y "
                "of fit, or keep X alive, or fit with log='rows'"
            )
        if _digest(rows) != self.digest:
            raise ChangedRowsError(CHANGED_ROWS)
        return self._with(rows)

    def found_in(self, rows: Rows, codes: Array, find: RowFinder) -> Self:
        """The same training set, with rows and class codes that the caller has given again."""
        shape = len(codes), rows_width(rows)
        if shape != (self.n_rows, self.n_features):
            raise ChangedRowsError(f"X must be the rows of fit, of shape {(self.n_rows, self.n_features)}, got shape {shape}")
        if isinstance(rows, Dense) != self.dense or rows.values.dtype != self.dtype:
            kind = f"{'an array' if self.dense else 'a sparse matrix'} of {self.dtype}"
            raise ChangedRowsError(f"X must be the rows of fit, {kind}, got {_kind(rows)} of {rows.values.dtype}")
        differing = int((self._codes() != codes).sum())
        if differing:
            raise ChangedRowsError(f"y must be the labels of fit, but {plural(differing, 'label')} of {len(codes)} differ")
        if _digest(rows) != self.digest:
            raise ChangedRowsError(OTHER_VALUES)
        found = type(self).__new__(type(self))
        vars(found).update(vars(self), _find=find)
        return found

    def head(self, h: int) -> Self:
        """Head h of a one-vs-rest training set as a binary one."""
        found = type(self).__new__(type(self))
        # `one_against_rest` reads the labels alone.
        empty = Problem(Dense(np.zeros((0, self.n_features))), self.labels, self.x0)
        vars(found).update(vars(self), labels=one_against_rest(empty, h).labels)
        return found

    def _with(self, rows: Rows) -> Problem:
        return Problem(rows, self.labels, self.x0, self.visited, find_rows=self._find)

    def _codes(self) -> IntArray:
        labels = self.labels
        return (labels.signs > 0).astype(np.int32) if isinstance(labels, Binary) else labels.codes

    # --- copies ----------------------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # nothing of it ever changes

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_find": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Unpickled arrays are writable, but kernels are compiled for read-only labels.
        vars(self).update(state, labels=read_only_fields(state["labels"]))


def read_only_fields(part: Any) -> Any:
    """Rows or labels with read-only arrays."""
    return type(part)(*(read_only(field) if isinstance(field, np.ndarray) else field for field in part))


def _kind(rows: Rows) -> str:
    return "an array" if isinstance(rows, Dense) else "a sparse matrix"


def _digest(rows: Rows) -> tuple[int, ...]:
    """Sizes and checksums of evenly spaced values."""
    arrays = (rows.values.reshape(-1), rows.indices, rows.indptr) if isinstance(rows, CSR) else (rows.values.reshape(-1),)
    return tuple(each for array in arrays for each in (array.size, _checksum(array)))


def _checksum(array: Array) -> int:
    stride = max(1, -(-array.size // MAX_DIGEST_VALUES))
    return zlib.crc32(array[::stride].tobytes())
