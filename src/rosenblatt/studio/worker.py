"""A process that computes runs for the page: a run that takes too long, or that no client waits for, is stopped.

Threads cannot be stopped, and a long computation in exact arithmetic would hold up the server. Workers are forked from a
process that has loaded everything, so a stopped one is replaced within milliseconds; where there is no fork, within seconds.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

RUN_SECONDS = 20.0  # time to compute an answer
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
PRELOAD = "rosenblatt.studio.preload"
PRELOADED = [PRELOAD, __name__, "rosenblatt.cli"]  # workers import the main module of the server again: the command line
STOPPED = (
    "This run was stopped after {} seconds, the time limit. Use fewer points, a lower degree or fewer updates, standardize the "
    "columns, or choose another algorithm."
)
DIED = "The process that computed this run ended unexpectedly, maybe out of memory. Use fewer points or a lower degree."


def prepare() -> None:
    """Start the process that workers are forked from; it loads its modules meanwhile."""
    if METHOD == "forkserver":
        forkserver.set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()


class Worker:
    """A process that has loaded everything, and answers one job at a time with `handle`, a function of a module."""

    def __init__(self, handle: Callable[..., Any], niceness: int = 0) -> None:
        context = multiprocessing.get_context(METHOD)
        self._connection, other = context.Pipe()
        arguments = (other, handle, niceness)
        self._process = context.Process(target=serve, args=arguments, name="studio", daemon=True)  # type: ignore[attr-defined]
        self._process.start()
        other.close()
        self._connection.recv()

    def ask(self, job: tuple[Any, ...], timeout: float | None = None) -> Any:
        """Return the answer to a job; raise EOFError or OSError if the process ends before, TimeoutError if time is up."""
        self._connection.send(job)
        if not self._connection.poll(timeout):
            raise TimeoutError
        return self._connection.recv()

    def lower_priority(self, niceness: int) -> None:
        """Set the priority of the process, as of the command `nice`."""
        if hasattr(os, "setpriority"):
            with contextlib.suppress(OSError):  # the process has ended
                os.setpriority(os.PRIO_PROCESS, self._process.pid, niceness)

    def kill(self) -> None:
        """Stop the process; a thread that waits for its answer gets an EOFError."""
        self._process.kill()


def serve(connection: Connection, handle: Callable[..., Any], niceness: int = 0) -> None:
    """Report that this process is ready, and answer jobs until the server closes the connection, or is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is for the server
    threading.Thread(target=_end_with_server, daemon=True).start()
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
    from . import preload  # noqa: F401 -- a spawned process has not loaded it

    with contextlib.suppress(EOFError, OSError):
        connection.send("ready")
        while True:
            connection.send(handle(*connection.recv()))


def compile_rest() -> None:
    """Compile what the time at the start did not suffice for; called in a worker."""
    from . import preload

    preload.load_rest()


def _end_with_server() -> None:
    """End this process, even during a run, when the one that started it has ended."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(1)
