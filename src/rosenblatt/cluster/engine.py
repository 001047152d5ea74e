"""Where tasks run: an engine has `put`, `submit` and `gather`. The engine of this module runs them in the calling process.

A task is a pure function of its arguments. An argument may be a handle, which stands for the result of another task, or a list
with handles. All tasks run with one thread of BLAS, so that their bits depend on their arguments alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..data.readers.limits import free_memory
from ..parallel import one_blas_thread

# What stands for the result of a task. Engines return objects of their own; `put` values are handles, too.
Handle: TypeAlias = Any


class Traffic(NamedTuple):
    """What the client has sent to the tasks and received from them, in bytes of arrays."""

    sent: int = 0
    received: int = 0


class Engine(Protocol):
    """Runs tasks."""

    @property
    def slots(self) -> int:
        """The number of tasks that run at the same time."""

    @property
    def traffic(self) -> Traffic:
        """What was sent and received so far."""

    @property
    def memory(self) -> int:
        """Bytes that the results of tasks may take; more are spilled to disk."""

    def put(self, value: Any) -> Handle:
        """Make a value available to all tasks, as a handle."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        """Start a task."""

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        """Return the results of tasks; an error in one of them is raised."""

    def compute(self, collections: Sequence[Any]) -> list[Handle]:
        """Start the tasks of Dask's delayed objects."""


def run_task(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task: with one thread of BLAS, and without warnings about numbers, which the caller finds in the result."""
    with one_blas_thread(), np.errstate(all="ignore"):
        return function(*arguments)


def size_in_bytes(value: Any) -> int:
    """The bytes of the arrays of a value."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, tuple | list):
        return sum(map(size_in_bytes, value))
    return (
        8 if isinstance(value, int | float) else size_in_bytes(tuple(vars(value).values())) if hasattr(value, "__dict__") else 0
    )


class _Value:
    """The handle of a value in this process, or of one that a thread computes."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self) -> Any:
        return self._value.result() if isinstance(self._value, Future) else self._value


class InProcess:
    """Runs tasks in this process, one after the other, or in `n_jobs` threads. The bits do not depend on `n_jobs`.

    With one job, a task runs when it is submitted.
    """

    traffic = Traffic()

    def __init__(self, n_jobs: int = 1) -> None:
        self.slots = n_jobs
        self._pool = ThreadPoolExecutor(n_jobs) if n_jobs > 1 else None

    @property
    def memory(self) -> int:
        return int(0.5 * free_memory())

    def put(self, value: Any) -> Handle:
        return _Value(value)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        if self._pool is None:
            return _Value(_run_with_values(function, arguments))
        # A task waits for tasks that were submitted before it, which the pool starts before it.
        return _Value(self._pool.submit(_run_with_values, function, arguments))

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        return [handle.get() for handle in handles]

    def compute(self, collections: Sequence[Any]) -> list[Handle]:
        return [self.submit(_compute, collection) for collection in collections]


def _compute(collection: Any) -> Any:
    return collection.compute(scheduler="synchronous")


def _run_with_values(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return run_task(function, *map(_resolve, arguments))


def _resolve(argument: Any) -> Any:
    if isinstance(argument, _Value):
        return argument.get()
    if isinstance(argument, list):
        return [_resolve(each) for each in argument]
    return argument
