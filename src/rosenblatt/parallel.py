"""Threads: results in the order of the items, so that they do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from functools import cache
from threading import Event, Lock
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

Item = TypeVar("Item")
Found = TypeVar("Found")


def in_order(
    function: Callable[[Item], Found], items: Iterable[Item], n_jobs: int, cancel: Event | None = None
) -> Iterator[Found]:
    """Yield `function` of every item, in the order of the items; an error or an interrupt sets `cancel`."""
    if n_jobs == 1:
        yield from map(function, items)
        return
    context = copy_context()  # so that threads use the same progress callback

    def work(item: Item) -> Found:
        return context.copy().run(function, item)

    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            yield from pool.map(work, items)
        except BaseException:
            if cancel is not None:
                cancel.set()
            raise


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


class _BlasLimit:
    """The number of threads of BLAS belongs to the process: the first block limits it, and the last one restores it.

    threadpoolctl lets one thread set the number, and ignores the others. Here, the last block may end in another thread than
    the one in which the first began.
    """

    def __init__(self) -> None:
        self._lock, self._blocks = Lock(), 0
        self._limit: Any = None

    def enter(self) -> None:
        with self._lock:
            if not self._blocks:
                _take_control()
                self._limit = _libraries().limit(limits=1, user_api="blas")
                self._limit.__enter__()
            self._blocks += 1

    def leave(self) -> None:
        with self._lock:
            self._blocks -= 1
            if not self._blocks:
                _take_control()
                self._limit.__exit__(None, None, None)


def _take_control() -> None:
    """Let this thread set the number of threads of BLAS."""
    clear: Any = getattr(OpenBLASController, "clear_controlling_thread", None)  # since threadpoolctl 3.8
    if clear is not None:
        clear(force=True)


_blas_limit = _BlasLimit()


@contextmanager
def _limited() -> Iterator[None]:
    _blas_limit.enter()
    try:
        yield
    finally:
        _blas_limit.leave()


def one_blas_thread() -> AbstractContextManager[None]:
    """A context in which BLAS uses one thread, so that its results do not depend on the number of threads.

    Threads may be in such contexts at the same time.
    """
    return _limited()
