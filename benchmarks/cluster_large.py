"""A fit on a file larger than the memory of the workers: seconds, gap, and the memory of each process over time.

`python -m benchmarks.cluster_large FOLDER` writes 22 million sparse rows as svmlight text, 20 GB, to the folder unless they
are there, starts two workers of 2 GB, and fits logistic regression to a relative gap of 1e-3.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np

from rosenblatt.array_types import Array, FloatArray

ROWS, PARTS = 22_000_000, 44
STORED, STRIDE = 75, 13  # a value in each group of 13 columns
NOISE = 3.0
ROW_BYTES = 6 + STORED * 13  # at most
WORKERS, WORKER_MEMORY = 2, "2GB"
SAMPLE_S = 0.5


@numba.njit(cache=True)
def write_rows(seed: int, rows: int, plane: FloatArray, out: Array) -> int:
    """Write rows of svmlight text into a buffer of bytes; return their length."""
    np.random.seed(seed)
    at = 0
    for _ in range(rows):
        start, score = at, np.random.normal() * NOISE
        at += 3
        for group in range(STORED):
            column = group * STRIDE + np.random.randint(STRIDE)
            value = np.random.randint(1, 100_000)
            score += plane[column] * (value / 100_000.0 - 0.5)
            out[at] = 32
            at += 1
            number, digits = column + 1, 1000
            while digits > number:
                digits //= 10
            while digits:
                out[at] = 48 + number // digits % 10
                at, digits = at + 1, digits // 10
            out[at], out[at + 1], out[at + 2] = 58, 48, 46  # ":0."
            at, digits = at + 3, 10_000
            while digits:
                out[at] = 48 + value // digits % 10
                at, digits = at + 1, digits // 10
        out[start], out[start + 1], out[start + 2] = (43 if score > 0.0 else 45), 49, 32
        out[at] = 10
        at += 1
    return at


def write_part(folder: str, part: int) -> int:
    """Write one file of the rows; return its size."""
    path = Path(folder) / f"part-{part:03}.svm"
    if path.exists():
        return path.stat().st_size
    plane, step = np.random.default_rng(0).normal(size=STORED * STRIDE), 50_000
    buffer = np.empty(step * ROW_BYTES, np.uint8)
    with path.with_suffix(".tmp").open("wb") as file:
        for number in range(ROWS // PARTS // step):
            size = write_rows(1 + part * 1000 + number, step, plane, buffer)
            file.write(buffer[:size].tobytes())
    path.with_suffix(".tmp").rename(path)
    return path.stat().st_size


def measure(folder: str) -> dict[str, Any]:
    """Fit to all files on two workers; return seconds, gap, and the largest memory of the processes."""
    import psutil
    from distributed import Client, LocalCluster

    import rosenblatt as rb

    Path(folder).mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(2) as pool:
        size = sum(pool.map(write_part, [folder] * PARTS, range(PARTS)))
    held: dict[int, list[tuple[float, int]]] = {}
    ended, started = threading.Event(), time.perf_counter()

    def watch() -> None:
        while not ended.wait(SAMPLE_S):
            for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
                try:
                    memory = process.memory_full_info().uss
                except psutil.Error:
                    continue
                held.setdefault(process.pid, []).append((time.perf_counter() - started, memory))

    rounds: list[dict[str, Any]] = []

    def report(progress: rb.Progress) -> None:
        rounds.append({"seconds": time.perf_counter() - started, "round": progress.passes, "gap": progress.gap})
        sys.stderr.write(f"{time.perf_counter() - started:7.1f} s  {progress}\n")

    cluster = LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, memory_limit=WORKER_MEMORY, dashboard_address=None, local_directory=folder
    )
    with cluster, Client(cluster) as client:
        workers = [int(pid) for pid in client.run(_pid).values()]
        threading.Thread(target=watch, daemon=True).start()
        with rb.progress_callback(report):
            model = rb.cluster.fit(
                rb.SoftMargin(loss="logistic", random_state=0), rb.cluster.read(f"{folder}/part-*.svm"), client
            )
        seconds = time.perf_counter() - started
        same = [int(pid) for pid in client.run(_pid).values()] == workers
        ended.set()
    return {
        "bytes": size, "rows": ROWS, "seconds": seconds, "gap": float(model.gap_[0]), "iterations": model.n_iter_,
        "objective": float(model.objective_[0]), "rounds": rounds, "workers_survived": same,
        "held": {str(pid): max(memory for _, memory in each) for pid, each in held.items()},
        "over_time": {str(pid): each[:: max(1, len(each) // 60)] for pid, each in held.items() if pid in workers},
    }  # fmt: skip


def _pid() -> int:
    import os

    return os.getpid()


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
