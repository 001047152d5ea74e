"""The runs that a server computes at a time: no run waits for much longer ones, and none exceeds the time limit.

Runs of few points are usually short: they have places and workers of their own, with a higher priority. How long a run takes
is not known beforehand. Each is computed first for a slice of time. If it takes longer, it moves to a place for long runs; if
none is free, it is stopped, and computed again when its turn comes. Among runs that wait, those of fewer points come first.
Workers are ready before the server accepts requests, and one that is stopped is replaced at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, NamedTuple, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from ..reporting.text import short
from .answers import Outcome
from .worker import DIED, RUN_SECONDS, STOPPED, Worker, compile_rest, prepare

# Up to this many points, runs and proofs take at most 0.2 s with the default knobs, unless columns differ in scale by far.
SHORT_REQUEST_POINTS = 10
# Priority of workers for larger requests, and of the one that compiles what no request has asked for, as of the command `nice`.
NICENESS, LOWEST_NICENESS = 5, 19
# Seconds in which a run may finish after its client has left; the page leaves when a point has moved.
LEFT_S = 0.3
# Seconds after which another worker is started if one could not start, for lack of memory.
RESTART_S = 1.0

Handle = Callable[..., Outcome]
Result = TypeVar("Result")


class Budget(NamedTuple):
    """Limits of the workers."""

    short_runs: int = 2  # runs of few points computed at a time for their first slice of time
    slices: int = 2  # other runs computed at a time for their first slice of time
    long_runs: int = 3  # runs computed at a time for longer
    short_slice_seconds: float = 0.4  # a run of few points waits for one slice at most, and is to be answered within a second
    slice_seconds: float = 0.6
    queue: int = 16  # runs of few points that wait, and others
    wait_seconds: float = 60.0  # time to wait for a place
    run_seconds: float = RUN_SECONDS  # time to compute the answer, after the slice


# --- Places


class Places:
    """A number of places, which the smallest of those that wait gets first."""

    def __init__(self, number: int) -> None:
        self._free, self._order = number, count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    def take_now(self) -> bool:
        """Take a place if one is free."""
        free = self._free > 0
        self._free -= free
        return free

    async def take(self, size: int) -> None:
        """Wait for a place."""
        if self.take_now():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (size, next(self._order), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.leave()
            raise

    def leave(self) -> None:
        """Give a place to the next that waits."""
        while self._waiting:
            *_, turn = heappop(self._waiting)
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def displace(self, size: int) -> bool:
        """Refuse the largest of those that wait, if it is larger than `size`."""
        waiting = [each for each in self._waiting if not each[-1].done()]
        largest = max(waiting, default=None)
        if largest is None or largest[0] <= size:
            return False
        largest[-1].set_exception(_full())
        return True


class Place:
    """A place that a run has: `async with Place(places, size, timeout) as place`."""

    def __init__(self, places: Places, size: int, timeout: float) -> None:
        self._places, self._size, self._timeout = places, size, timeout

    async def __aenter__(self) -> Place:
        try:
            async with asyncio.timeout(self._timeout):
                await self._places.take(self._size)
        except TimeoutError:
            raise _full() from None
        return self

    def move(self, other: Places) -> bool:
        """Change to one of the other places if one is free."""
        if not other.take_now():
            return False
        self._places.leave()
        self._places = other
        return True

    async def __aexit__(self, *_: object) -> None:
        self._places.leave()


# --- Workers


@dataclass
class Computation:
    """A job that a worker computes."""

    worker: Worker
    answer: asyncio.Future[Outcome]
    outside: bool = False  # its worker has left the team, and ends with the job


class Team:
    """Workers of one priority; there is always one in reserve for the time that replacing one takes.

    Parameters
    ----------
    handle : callable
        A function of a module, which returns the `Outcome` of a job.
    n_jobs : int
        Jobs computed at a time.
    niceness : int, default=0
        As of the command `nice`.
    """

    def __init__(self, handle: Handle, n_jobs: int, niceness: int = 0) -> None:
        self._handle, self._n_jobs, self._niceness = handle, n_jobs, niceness
        self._workers: set[Worker] = set()
        # The last one that became ready is taken first: it may have fitted the model that a proof is about.
        self._ready: asyncio.LifoQueue[Worker] = asyncio.LifoQueue()
        self._starting: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Wait until all workers are ready."""
        await asyncio.gather(*(self._start_worker() for _ in range(self._n_jobs + 1)))

    def close(self) -> None:
        """Stop all workers."""
        self._closed = True
        for worker in self._workers:
            worker.kill()
        for task in self._starting:
            task.cancel()

    @contextlib.asynccontextmanager
    async def computing(self, job: tuple[Any, ...]) -> AsyncIterator[Computation]:
        """Give a job to a worker, which is replaced if it has not answered at the end."""
        worker = await self._ready.get()
        computation = Computation(worker, _in_thread(worker.ask, job))
        answer = computation.answer
        try:
            yield computation
        finally:
            if not computation.outside and answer.done() and not answer.cancelled() and answer.exception() is None:
                self._ready.put_nowait(worker)
            else:
                answer.cancel()
                worker.kill()
                self._workers.discard(worker)
                if not computation.outside:
                    self._replace()

    def let_go(self, computation: Computation) -> None:
        """Replace a worker while it computes: it finishes its job with a lower priority, and then ends."""
        computation.outside = True
        computation.worker.lower_priority(NICENESS)
        self._replace()

    def _replace(self) -> None:
        if not self._closed:
            task = asyncio.create_task(self._keep_starting())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _keep_starting(self) -> None:
        while True:
            with contextlib.suppress(EOFError, OSError):
                return await self._start_worker()
            await asyncio.sleep(RESTART_S)

    async def _start_worker(self) -> None:
        worker = await _in_thread(Worker, self._handle, self._niceness)
        if self._closed:
            worker.kill()
            return
        self._workers.add(worker)
        self._ready.put_nowait(worker)


# --- The pool


@dataclass
class Lane:
    """Requests that are computed alike: their places for the first slice of time, and their workers."""

    slices: Places
    team: Team
    slice_seconds: float
    limit: int  # requests that wait or are computed
    n_pending: int = 0

    @contextlib.contextmanager
    def entered(self, size: int) -> Iterator[None]:
        """Count a request; if too many wait, raise status 503 for this one or for a larger one."""
        if self.n_pending >= self.limit and not self.slices.displace(size):
            raise _full()
        self.n_pending += 1
        try:
            yield
        finally:
            self.n_pending -= 1


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
        self._budget, self._long_runs = budget, Places(budget.long_runs)

        def lane(n_slices: int, team: Team, seconds: float) -> Lane:
            return Lane(Places(n_slices), team, seconds, n_slices + budget.long_runs + budget.queue)

        self._short = lane(budget.short_runs, Team(handle, budget.short_runs), budget.short_slice_seconds)
        team = Team(handle, budget.slices + budget.long_runs, NICENESS)
        self._others = lane(budget.slices, team, budget.slice_seconds)
        self._compiling: asyncio.Task[None] | None = None

    @property
    def n_pending(self) -> int:
        """Number of requests that wait or are computed."""
        return self._short.n_pending + self._others.n_pending

    async def start(self) -> None:
        """Wait until all workers are ready. Another one then compiles what is not compiled yet."""
        compiler = _in_thread(Worker, compile_rest, LOWEST_NICENESS)
        await asyncio.gather(self._short.team.start(), self._others.team.start(), compiler)
        self._compiling = asyncio.create_task(self._compile(compiler.result()))

    async def _compile(self, worker: Worker) -> None:
        try:
            with contextlib.suppress(EOFError, OSError):
                await _in_thread(worker.ask, ())
        finally:
            worker.kill()

    def close(self) -> None:
        """Stop all workers."""
        if self._compiling is not None:
            self._compiling.cancel()
        self._short.team.close()
        self._others.team.close()

    async def run(self, request: Request, *job: Any, n_points: int) -> Outcome:
        """Return the outcome of a job; raise status 503 if too many are waiting or the time is up.

        If the client leaves, the job is stopped: the page sends a new request whenever a point moves.
        """
        work = asyncio.create_task(self._work(job, n_points))
        left = asyncio.create_task(_wait_until_left(request))
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

    async def _work(self, job: tuple[Any, ...], size: int) -> Outcome:
        """Compute a job: for a slice of time, and if that is not enough, in a place for long runs."""
        wait_seconds = self._budget.wait_seconds
        lane = self._short if size <= SHORT_REQUEST_POINTS else self._others
        with lane.entered(size):
            async with Place(lane.slices, size, wait_seconds) as place, lane.team.computing(job) as computation:
                finished, _ = await asyncio.wait({computation.answer}, timeout=lane.slice_seconds)
                if finished or place.move(self._long_runs):
                    if not finished and lane is self._short:
                        lane.team.let_go(computation)
                    return await self._outcome(computation.answer)
        lane = self._others
        with lane.entered(size):
            async with Place(self._long_runs, size, wait_seconds), lane.team.computing(job) as computation:
                return await self._outcome(computation.answer)

    async def _outcome(self, answer: asyncio.Future[Outcome]) -> Outcome:
        try:
            async with asyncio.timeout(self._budget.run_seconds):
                return await answer
        except TimeoutError:
            raise HTTPException(503, STOPPED.format(short(self._budget.run_seconds))) from None
        except (EOFError, OSError):
            raise HTTPException(503, DIED) from None


def _full() -> HTTPException:
    return HTTPException(503, "too many runs are waiting; try again", {"Retry-After": "1"})


def _in_thread(function: Callable[..., Result], *arguments: Any) -> asyncio.Future[Result]:
    """Call a function that waits in a thread, which does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def deliver(set_value: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_value(value)

    def work() -> None:
        try:
            call = partial(deliver, future.set_result, function(*arguments))
        except Exception as error:
            call = partial(deliver, future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the event loop has ended
            loop.call_soon_threadsafe(call)

    threading.Thread(target=work, name="studio", daemon=True).start()
    return future


async def _wait_until_left(request: Request) -> None:
    """Wait until the client has closed the connection; the body of the request has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
