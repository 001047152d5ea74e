"""Processes that compute runs for the server: a run that takes too long, or that no client waits for, is stopped.

Threads cannot be stopped, and a long computation in exact arithmetic would hold up the server. Workers are forked from a
process that has loaded everything, so a stopped one is replaced within milliseconds; where there is no fork, within seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from ..reporting.text import short
from .answers import Outcome

# Requests of up to this many points never wait for larger ones.
SHORT_REQUEST_POINTS = 10
# Seconds in which a run may finish after its client has left; the page leaves when a point has moved.
LEFT_S = 0.3
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
PRELOADED = ["rosenblatt.studio.preload", "rosenblatt.studio.workers"]
FULL = "too many runs are waiting; try again"
STOPPED = (
    "This run was stopped after {} seconds, the time limit. Use fewer points, a lower degree or fewer updates, standardize the "
    "columns, or choose another algorithm."
)
DIED = "The process that computed this run ended unexpectedly, maybe out of memory. Use fewer points or a lower degree."

Handle = Callable[..., Outcome]
Result = TypeVar("Result")


class Budget(NamedTuple):
    """Limits of the workers."""

    workers: int = 3  # runs computed at a time
    short_workers: int = 2  # short runs computed besides, while all workers are busy
    queue: int = 16  # runs that wait
    wait_seconds: float = 60.0  # time to wait for a worker
    run_seconds: float = 20.0  # time to compute the answer


def prepare() -> None:
    """Start the process that workers are forked from; it loads its modules meanwhile."""
    if METHOD == "forkserver":
        forkserver.set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()


# --- A worker


class Worker:
    """A process that answers one job at a time with `handle`, a function of a module."""

    def __init__(self, handle: Handle) -> None:
        context = multiprocessing.get_context(METHOD)
        self._connection, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other, handle), name="studio", daemon=True)  # type: ignore[attr-defined]
        self._process.start()
        other.close()

    def ask(self, job: tuple[Any, ...]) -> Outcome:
        """Return the outcome of a job; raise EOFError or OSError if the process ends before."""
        self._connection.send(job)
        outcome: Outcome = self._connection.recv()
        return outcome

    def kill(self) -> None:
        """Stop the process; a thread that waits for its answer gets an EOFError."""
        self._process.kill()


def serve(connection: Connection, handle: Handle) -> None:
    """Answer jobs until the server closes the connection, or is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is for the server
    threading.Thread(target=_end_with_server, daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            connection.send(handle(*connection.recv()))


def _end_with_server() -> None:
    """End this process, even during a run, when the one that started it has ended."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(1)


# --- The pool


class WorkerPool:
    """Computes answers in processes. To be used in one event loop only.

    Parameters
    ----------
    budget : Budget
        How many jobs are computed at a time, and for how long.
    handle : callable
        A function of a module, which returns the `Outcome` of a job.
    """

    def __init__(self, budget: Budget, handle: Handle) -> None:
        prepare()
        self._budget, self._handle = budget, handle
        self._free, self._free_short = asyncio.Semaphore(budget.workers), asyncio.Semaphore(budget.short_workers)
        self._threads = ThreadPoolExecutor(budget.workers + budget.short_workers, "studio")
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []  # the last one may have fitted the model that a proof is about
        self.n_pending = 0  # requests that wait or are computed

    def close(self) -> None:
        """Stop all workers."""
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, request: Request, *job: Any, n_points: int) -> Outcome:
        """Return the outcome of a job; raise status 503 if too many are waiting or the time is up.

        If the client leaves, the job is stopped: the page sends a new request whenever a point moves.
        """
        if self.n_pending >= self._budget.workers + self._budget.short_workers + self._budget.queue:
            raise HTTPException(503, FULL, {"Retry-After": "1"})
        self.n_pending += 1
        work, left = asyncio.create_task(self._work(job, n_points)), asyncio.create_task(_wait_until_left(request))
        try:
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await asyncio.wait({work}, timeout=LEFT_S)
            if not work.done():
                raise ClientDisconnect
            return work.result()
        finally:
            work.cancel()
            left.cancel()
            self.n_pending -= 1

    async def _work(self, job: tuple[Any, ...], n_points: int) -> Outcome:
        """Wait for a place among the jobs that are computed, and compute."""
        is_short = n_points <= SHORT_REQUEST_POINTS and self._free.locked()
        free = self._free_short if is_short else self._free
        try:
            async with asyncio.timeout(self._budget.wait_seconds):
                await free.acquire()
        except TimeoutError:
            raise HTTPException(503, FULL, {"Retry-After": "1"}) from None
        try:
            return await self._compute(job)
        finally:
            free.release()

    async def _compute(self, job: tuple[Any, ...]) -> Outcome:
        worker = self._idle.pop() if self._idle else await self._new_worker()
        try:
            async with asyncio.timeout(self._budget.run_seconds):
                outcome = await self._in_thread(worker.ask, job)
        except BaseException as error:
            worker.kill()
            self._workers.discard(worker)
            if isinstance(error, TimeoutError):
                raise HTTPException(503, STOPPED.format(short(self._budget.run_seconds))) from None
            if isinstance(error, EOFError | OSError):
                raise HTTPException(503, DIED) from None
            raise
        self._idle.append(worker)
        return outcome

    async def _new_worker(self) -> Worker:
        starting = self._in_thread(Worker, self._handle)
        try:
            worker = await asyncio.shield(starting)
        except asyncio.CancelledError:  # the client has left meanwhile: the worker is for the next one
            starting.add_done_callback(self._keep)
            raise
        self._workers.add(worker)
        return worker

    def _keep(self, starting: asyncio.Future[Worker]) -> None:
        if starting.cancelled() or starting.exception() is not None:
            return
        if len(self._idle) < self._budget.workers:
            self._workers.add(starting.result())
            self._idle.append(starting.result())
        else:
            starting.result().kill()

    def _in_thread(self, function: Callable[..., Result], *arguments: Any) -> asyncio.Future[Result]:
        """Call a function that waits in one of the threads, of which there is one for each job that is computed."""
        return asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)


async def _wait_until_left(request: Request) -> None:
    """Wait until the client has closed the connection; the body of the request has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
