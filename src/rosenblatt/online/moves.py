"""Moves of the weights: how they are stored in a log, and how they are applied to weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..array_types import Array, FloatArray, IntArray
from ..data.problem import Problem, read_only
from ..kernels.linear.schemes import State
from ..kernels.linear.sweeps import apply_moves


class Entries(NamedTuple):
    """A part of the log. Rows and times have the smallest integer type that holds them; equal steps share one number."""

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
