"""A real scheduler and real workers, as processes on the loopback interface that tests may kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

START_TIMEOUT_S = 60.0


class DaskProcesses:
    """A scheduler, and workers without a nanny, in a folder."""

    def __init__(self, folder: Path, name: str = "scheduler") -> None:
        self.folder, self._file = folder, folder / f"{name}.json"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._nannies: list[subprocess.Popen[bytes]] = []
        self.started = 0
        self.scheduler = self._start("scheduler", ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show"])
        ends = time.monotonic() + START_TIMEOUT_S
        while not self._file.exists() and time.monotonic() < ends:
            time.sleep(0.02)
        self.address: str = json.loads(self._file.read_text())["address"]

    def _start(self, kind: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(self._file), *arguments]
        self.started += 1
        log = (self.folder / f"{kind}{self.started}.log").open("wb")
        variables = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_TRIM_THRESHOLD_": "65536"}
        variables.pop("NUMBA_DISABLE_JIT", None)
        with log:
            return subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=variables, cwd=self.folder)

    def start_worker(self, *arguments: str, nanny: bool = False) -> subprocess.Popen[bytes]:
        """Start a worker with one thread."""
        place = ["--nthreads", "1", "--local-directory", str(self.folder), "--no-dashboard"]
        place += ["--nanny" if nanny else "--no-nanny", *(["--memory-limit", "0"] if "--memory-limit" not in arguments else [])]
        worker = self._start("worker", [*place, *arguments])
        self.workers.append(worker)
        if nanny:
            self._nannies.append(worker)
        return worker

    def kill_worker(self, number: int = 0) -> None:
        """Kill a worker with SIGKILL."""
        worker = self.workers.pop(number)
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def kill_scheduler(self) -> None:
        """Kill the scheduler with SIGKILL."""
        self.scheduler.send_signal(signal.SIGKILL)
        self.scheduler.wait()

    def stop(self) -> None:
        """End all processes; workers with a nanny end with it."""
        for process in [*self.workers, self.scheduler]:
            process.send_signal(signal.SIGTERM if process in self._nannies else signal.SIGKILL)
            process.wait()


@contextmanager
def dask_processes(folder: Path, workers: int, name: str = "scheduler") -> Iterator[DaskProcesses]:
    """A scheduler with some workers, which end with the block."""
    processes = DaskProcesses(folder, name)
    try:
        for _ in range(workers):
            processes.start_worker()
        yield processes
    finally:
        processes.stop()
