"""Threads: results in the order of the items, so that they do not depend on the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from contextvars import copy_context
from functools import cache
from threading import Event
from typing import TypeVar

from threadpoolctl import ThreadpoolController

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


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread, so that its results do not depend on the number of threads."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited
