"""Tasks on a Dask cluster: `put`, `submit` and `gather` by `dask.distributed`.

Every handle is a future whose task Dask can run again, so that the loss of a worker costs time and nothing else: results that
it held are computed again, blocks are read again from their source.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import dask.config
from distributed import Client, Future, KilledWorker, wait
from distributed.comm.core import CommClosedError
from distributed.scheduler import NoValidWorkerError, NoWorkerError

from ..kernels.compile import digest_of_sources
from .engine import Handle, Traffic, run_task, size_in_bytes

# Workers that may be lost while they run a task before the task counts as their killer. Dask's default is 3, which random
# losses reach in long runs.
ALLOWED_LOSSES = 10
WORKERS_TIMEOUT_S = 30  # for the first worker
NO_WORKERS_TIMEOUT_S = 120  # without any worker during a fit
CONNECT_TIMEOUT_S = 10
MAX_WAITING_TASKS = 2000  # are sent together, at most
# What the client embeds in tasks is meant to be there: weights, and rows that the caller has in memory.
SETTINGS = {"distributed.admin.large-graph-warning-threshold": "1TB"}


class ClusterError(RuntimeError):
    """A cluster that cannot run tasks: no scheduler, no workers, other versions, or workers that die."""


@contextmanager
def connected(client: Client | str) -> Iterator[Client]:
    """The client, or one for the scheduler at an address."""
    if not isinstance(client, str):
        if getattr(client, "status", None) is None or client.asynchronous:
            raise TypeError(f"client must be a dask.distributed.Client that is not asynchronous, got {type(client).__name__}")
        yield client
        return
    try:
        made = Client(client, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        sentence = f"no scheduler answers at {client}: start one with `dask scheduler`, or check the address"
        raise ClusterError(sentence) from error
    with made:
        yield made


class DaskEngine:
    """Runs tasks on the workers of a Dask client.

    Use it as a context manager: at the end, its tasks and results are released, so that the cluster is left as it was.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self.address = "an unknown address" if client.scheduler is None else str(client.scheduler.address)
        self._sent = self._received = 0
        self._futures: weakref.WeakSet[Future] = weakref.WeakSet()
        self._waiting: dict[str, tuple[weakref.ref[Later], tuple[Any, ...]]] = {}  # tasks that were not sent yet
        self._losses: int | None = None
        self._settings: Any = None
        self._workers: Mapping[str, Any] = {}

    def __enter__(self) -> DaskEngine:
        try:
            found: dict[str, Any] = {}
            while not found:
                if not self.client.scheduler_info(n_workers=-1)["workers"]:
                    self.client.wait_for_workers(1, timeout=WORKERS_TIMEOUT_S)
                answers = self.client.run(describe_installation, on_error="return")
                found = {worker: each for worker, each in answers.items() if not isinstance(each, OSError)}  # lost meanwhile
            check_workers(found)
            self._workers = self.client.scheduler_info(n_workers=-1)["workers"]
            self._losses = self.client.run_on_scheduler(_allow_losses, ALLOWED_LOSSES)
        except TimeoutError:
            raise ClusterError(f"the scheduler at {self.address} has no workers: start some with `dask worker`") from None
        except (OSError, CommClosedError) as error:
            raise ClusterError(f"the scheduler at {self.address} does not answer: {error}") from None
        self._settings = dask.config.set(SETTINGS)
        return self

    def __exit__(self, *_: object) -> None:
        if self._settings is not None:
            self._settings.__exit__(None, None, None)
        with suppress(OSError, CommClosedError, RuntimeError, AttributeError):  # a lost scheduler has nothing to clean
            # An error may still refer to futures. Released tasks are forgotten, whether they run or not; to cancel them by
            # force can make the scheduler drop the connection.
            for future in list(self._futures):
                future.release()
            if self._losses is not None:
                self.client.run_on_scheduler(_allow_losses, self._losses)

    @property
    def slots(self) -> int:
        return sum(int(each["nthreads"]) for each in self._workers.values()) or 1

    @property
    def memory(self) -> int:
        return sum(int(each["memory_limit"] or 0) for each in self._workers.values())

    @property
    def traffic(self) -> Traffic:
        return Traffic(self._sent, self._received)

    def put(self, value: Any) -> Handle:
        # A value that is scattered is lost with the workers that hold it; the argument of a task is kept by the scheduler.
        return self.submit(_same, value)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        about = arguments[0] if function.__name__ == "run_on_block" else function
        name = getattr(about, "__name__", function.__name__).strip("_")
        self._sent += sum(size_in_bytes(each) for each in arguments if not isinstance(each, Later | Future | list))
        later = Later(f"{name}-{uuid4().hex}")
        self._waiting[later.key] = (weakref.ref(later), _pack(function, arguments))
        if len(self._waiting) >= MAX_WAITING_TASKS:
            self._send()
        return later

    def _send(self) -> None:
        """Send the tasks that were submitted since the last time as one graph; the scheduler takes it faster than single tasks.

        Results that no handle stands for any more are released as soon as other tasks have used them.
        """
        graph = {key: task for key, (_, task) in self._waiting.items()}
        wanted = [later for reference, _ in self._waiting.values() if (later := reference()) is not None]
        self._waiting = {}
        if wanted:
            futures = self.client.get(graph, [later.key for later in wanted], sync=False)
            self._futures.update(futures)
            for later, future in zip(wanted, futures, strict=True):
                later.future = future

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        try:
            self._send()
            futures = [handle.future if isinstance(handle, Later) else handle for handle in handles]
            self._wait(futures)
            found = self.client.gather(futures)
        except KilledWorker as error:
            task = str(error.task).rpartition("-")[0]
            raise ClusterError(
                f"{ALLOWED_LOSSES} workers died while they ran the task {task!r}, probably for lack of memory: use smaller "
                "blocks, or workers with more memory"
            ) from None
        except (NoValidWorkerError, NoWorkerError) as error:
            raise ClusterError(f"no worker can run the tasks: {error}") from None
        except (CommClosedError, OSError, CancelledError) as error:
            if getattr(error, "filename", None) is not None:  # a file of the data, in a task
                raise
            raise ClusterError(
                f"the scheduler at {self.address} was lost: start a new one, and use checkpoint= to continue fits"
            ) from error
        self._received += size_in_bytes(found)
        return list(found)

    def _wait(self, futures: list[Any]) -> None:
        """Wait for results; raise an error if all workers are gone for long, for which Dask would wait forever."""
        while True:
            try:
                with self.client.as_current():
                    wait(futures, timeout=NO_WORKERS_TIMEOUT_S)
                return
            except TimeoutError:
                if not self.client.scheduler_info(n_workers=-1)["workers"]:
                    raise ClusterError(
                        f"all workers of the scheduler at {self.address} are gone: start some with `dask worker`"
                    ) from None

    def compute(self, collections: Sequence[Any]) -> list[Handle]:
        found = list(self.client.compute(list(collections)))
        self._futures.update(found)
        return found


class Later:
    """The handle of a task: its key and, once the task was sent, its future."""

    __slots__ = ("__weakref__", "future", "key")

    def __init__(self, key: str) -> None:
        self.key, self.future = key, None


class _Argument:
    """The place of an argument of a task among the results that it depends on."""

    def __init__(self, place: int) -> None:
        self.place = place


class _Call:
    """A function and its arguments, which Dask does not look into, but for those that are results of other tasks."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self, *results: Any) -> Any:
        return run_task(self.function, *(_fill(each, results) for each in self.arguments))


def _pack(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """A task of a graph: the call, and what it depends on."""
    needed: list[Any] = []

    def take(argument: Any) -> Any:
        if isinstance(argument, list):
            return [take(each) for each in argument]
        if isinstance(argument, Later):
            needed.append(argument.key if argument.future is None else argument.future)
            return _Argument(len(needed) - 1)
        if isinstance(argument, Future):
            needed.append(argument)
            return _Argument(len(needed) - 1)
        return argument

    return (_Call(function, tuple(map(take, arguments))), *needed)


def _fill(argument: Any, results: tuple[Any, ...]) -> Any:
    if isinstance(argument, list):
        return [_fill(each, results) for each in argument]
    return results[argument.place] if isinstance(argument, _Argument) else argument


def _same(value: Any) -> Any:
    return value


def _allow_losses(losses: int, dask_scheduler: Any = None) -> int:
    before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, losses
    return int(before)


# --- what is installed on the workers --------------------------------------------------------------------------------------


def describe_installation() -> dict[str, str]:
    """What the bits of a task depend on, besides its arguments: versions, kernels and the processor."""
    import llvmlite.binding as llvm
    import numpy
    import scipy

    from .. import __version__

    return {
        "rosenblatt": __version__,
        "kernels": digest_of_sources()[:12],
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "processor": str(llvm.get_host_cpu_name()),
    }


class ProcessorWarning(UserWarning):
    """Workers with processors of several kinds, whose last bits may differ."""


def check_workers(found: Mapping[str, dict[str, str] | Exception]) -> None:
    """Raise an error if a worker lacks the package, or has another version than the client; warn about other processors."""
    own = describe_installation()
    for worker, each in found.items():
        if isinstance(each, Exception) and "No module named" in str(each):  # Dask sends some errors as text
            raise ClusterError(f"worker {worker} lacks rosenblatt ({each}): install rosenblatt[dask] where the workers run")
        if isinstance(each, Exception):
            raise ClusterError(f"worker {worker} cannot load rosenblatt: {type(each).__name__}: {each}")
        for name, what in (("rosenblatt", "rosenblatt"), ("kernels", "the kernels of rosenblatt")):
            if each[name] != own[name]:
                raise ClusterError(
                    f"worker {worker} has {what} {each[name]}, but this process has {own[name]}: install the same version"
                )
    for name in ("numpy", "scipy", "processor"):
        kinds = sorted({each[name] for each in found.values() if isinstance(each, dict)})
        if len(kinds) > 1:
            what = "processors of several kinds" if name == "processor" else f"several versions of {name}"
            warnings.warn(
                ProcessorWarning(
                    f"the workers have {what} ({', '.join(kinds)}): a lost block that another worker computes again may "
                    "differ in its last bits"
                ),
                stacklevel=4,
            )
