"""Workers of Dask on this machine: processes on the loopback interface, without dashboard, which end with a block of code."""

from __future__ import annotations

import logging
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

from .console import Failure, one_line

if TYPE_CHECKING:
    from distributed import LocalCluster

HOST = "127.0.0.1"


def n_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_free(port: int) -> bool:
    """Whether nothing listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) != 0


@contextmanager
def start_workers(
    n_workers: int | None = None, threads: int = 1, memory: int | None = None, port: int = 0
) -> Iterator[LocalCluster]:
    """Start a scheduler in this process, and workers in processes of their own.

    Parameters
    ----------
    n_workers : int, optional
        The number of workers. Default: one for each core.
    threads : int, default=1
        Threads of a worker.
    memory : int, optional
        Bytes that a worker may take. Default: its share of the memory of this machine.
    port : int, default=0
        The port of the scheduler; 0: any free one.
    """
    from distributed import LocalCluster

    if port and not is_free(port):
        raise Failure(f"port {port} is in use: choose another with --port")
    with tempfile.TemporaryDirectory(prefix="rosenblatt-", ignore_cleanup_errors=True) as folder:
        try:
            with _without_interrupts():
                cluster = LocalCluster(
                    n_workers=n_workers or n_cores(), threads_per_worker=threads, memory_limit=memory or "auto", host=HOST,
                    scheduler_port=port, silence_logs=logging.CRITICAL, local_directory=folder,
                    scheduler_kwargs={"dashboard": False, "dashboard_address": f"{HOST}:0"},
                )  # fmt: skip
        except (OSError, RuntimeError) as error:
            raise Failure(f"no workers could be started on this machine: {_reason(error)}") from None
        with cluster:
            yield cluster


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C until the end, and for good in the threads that start here, and the workers that they start.

    A terminal sends it to all processes of a command; this one alone shall end, and end the workers.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it unblocks Ctrl-C in the thread that starts it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _reason(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return one_line(error)
