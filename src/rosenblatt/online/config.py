"""What a run is asked to do, and what it leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Any

from ..kernels.linear.schemes import State
from ..progress import Watch
from .schedules import Step
from .stopping import Stop, together
from .update_log import UpdateLog


@dataclass(frozen=True)
class Plan:
    """Everything that decides a run besides the data and the rule."""

    update: str = "online"
    order: str = "permuted"
    step: Step = 1.0
    max_iter: int | None = 10
    max_updates: int | None = None
    w_max: float | None = None
    tol: float | None = None
    seed: int = 0
    keep_log: bool = True
    n_jobs: int = 1
    watch: Watch | None = None  # told after every pass and, in long ones, every stretch
    judge: Callable[[int, int, int], Stop | None] | None = None  # whether to stop: asked after each pass of each head that runs
    cancel: Event | None = None  # set from outside to end a run on another thread
    since: int = 0  # rows visited before this run: a stream goes on where it was
    heads: tuple[int, ...] = ()  # for `watch`


@dataclass
class Result:
    state: State
    stops: list[Stop]  # of each run: one, or one per class for one-vs-rest
    passes: int
    durations: Any  # rows visited (batch: steps made) when each run ended
    log: UpdateLog | None
    sums: State | None  # sum of tau * time * y * x over the updates, in float64; see readings.average

    @property
    def stop(self) -> Stop:
        return together(self.stops)

    @property
    def updates(self) -> int:
        return int(self.state.counts.sum())
