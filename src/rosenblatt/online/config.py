"""The configuration and the result of an online run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Protocol

from ..array_types import Array, IntArray
from ..kernels.linear.schemes import State
from ..progress import ProgressCallback
from .schedules import Step
from .stopping import Stop, merge_stops
from .update_log import UpdateLog


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
