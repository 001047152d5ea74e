"""A worker pool for computing runs: a few threads at a time, and a queue of limited length."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request


class WorkerPool:
    """Computes answers in threads. To be used in one event loop only.

    Parameters
    ----------
    workers : int
        Threads that compute at a time.
    queue : int
        Requests that may wait for a thread.
    timeout_s : float
        Seconds until a request is answered with status 503.
    """

    def __init__(self, workers: int, queue: int, timeout_s: float) -> None:
        self._free, self._capacity, self._timeout_s = asyncio.Semaphore(workers), workers + queue, timeout_s
        self.n_pending = 0  # requests that wait or are computed

    async def run(self, request: Request, work: Callable[..., bytes], *arguments: Any) -> bytes:
        """Return or raise the outcome of `work`; raise status 503 if the queue is full or the time is up.

        Requests whose client has disconnected while waiting are dropped: the page sends a new one whenever a point moves.
        """
        if self.n_pending >= self._capacity:
            raise HTTPException(503, "too many runs are waiting; try again", {"Retry-After": "1"})
        self.n_pending += 1
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._free.acquire()
                if await request.is_disconnected():
                    self._free.release()
                    raise ClientDisconnect
                running = _run_in_thread(lambda: work(*arguments))
                running.add_done_callback(self._release)
                return await asyncio.shield(running)
        except TimeoutError:
            raise HTTPException(503, f"the run took longer than {self._timeout_s:g} seconds") from None
        finally:
            self.n_pending -= 1

    def _release(self, running: asyncio.Future[bytes]) -> None:
        """Free the worker when its thread ends; a thread cannot be stopped, even if no client waits for it any more."""
        self._free.release()
        if not running.cancelled():
            running.exception()


def _run_in_thread(work: Callable[[], bytes]) -> asyncio.Future[bytes]:
    """Run work in a daemon thread, so that Python can exit before it ends; threads of an executor would be joined."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[bytes] = loop.create_future()

    def settle(setter: Callable[[Any], None], value: Any) -> None:
        if not outcome.done():
            setter(value)

    def run() -> None:
        try:
            ending: tuple[Callable[[Any], None], Any] = (outcome.set_result, work())
        except Exception as error:
            ending = (outcome.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(settle, *ending)

    threading.Thread(target=run, name="studio", daemon=True).start()
    return outcome
