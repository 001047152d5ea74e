"""A cost model of fits on a cluster, fitted to measured passes, and what it predicts for a terabyte on up to 1,000 workers.

A pass over n rows in B blocks on W workers takes

    seconds = max(row_s * n/W, task_s * B) + depth * (latency_s + part_bytes/link) + latency_s

row_s      seconds of a worker for one row, from passes on one worker
task_s     seconds of the scheduler and client for one task, from passes over empty blocks
depth      levels of the tree of sums, of 8 parts each; part_bytes is the size of a sum
latency_s  seconds of a pass over one empty block

row_s, task_s and latency_s are measured here, on loopback. The link between workers (10 Gbit/s) is an assumption, as is that
all workers hold their blocks in memory. `python -m benchmarks.cluster_scaling PICTURE` prints the constants and draws the
picture.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .cluster import dense_block, text_block

LINK_BYTES_S = 1.25e9
TERABYTE = 1e12
BLOCK_BYTES, LARGE_BLOCK_BYTES = 1 << 26, 1 << 30
WORKERS = np.unique(np.round(np.logspace(0, 3, 61)).astype(int))
SUMS_PER_LEVEL = 8
REPEATS = 5


def passes(client: Any, make: Callable[[int, int], Any], rows: int, blocks: int, kind: str) -> float:
    """Median seconds of one pass of a kind over blocks in the memory of the workers."""
    from dask import delayed

    from rosenblatt.cluster.block_set import open_blocks
    from rosenblatt.cluster.dask_engine import DaskEngine
    from rosenblatt.cluster.objectives import Head, hessian, value_and_gradient
    from rosenblatt.cluster.sources import sources_of
    from rosenblatt.kernels.linear.margin_losses import Logistic

    each = client.persist([delayed(make)(number, rows // blocks) for number in range(blocks)])
    with DaskEngine(client) as engine:
        some = open_blocks(engine, sources_of(each, None))
        head, v = Head(1, None, 1.0, 1.0, True), np.zeros(some.n_features + 1)

        def run() -> Any:
            if kind == "hessian":
                return some.sum(hessian, head, Logistic(), v, None, size=8 * len(v) ** 2)
            return some.sum(value_and_gradient, head, Logistic(), v, size=8 * len(v))

        seconds = []
        for _ in range(REPEATS + 1):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def measure() -> dict[str, Any]:
    """The constants of the model, and how well it predicts passes that it was not fitted to."""
    from distributed import Client, LocalCluster

    found: dict[str, Any] = {}
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, memory_limit=None, dashboard_address=None) as one,
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=None, dashboard_address=None) as two,
        Client(one, set_as_default=False) as alone,
        Client(two, set_as_default=False) as both,
    ):
        empty = {blocks: passes(both, dense_block, 4 * blocks, blocks, "gradient") for blocks in (1, 64, 256)}
        found["latency_s"], found["task_s"] = empty[1], (empty[256] - empty[64]) / 192
        for name, make, rows, kind in (
            ("dense gradient, 100 columns", dense_block, 400_000, "gradient"),
            ("dense Hessian, 100 columns", dense_block, 400_000, "hessian"),
            ("text gradient, 75 of 50,000 columns", text_block, 200_000, "gradient"),
        ):
            took = passes(alone, make, rows, 8, kind)
            row_s = (took - found["latency_s"]) / rows
            check = passes(both, make, 2 * rows, 32, kind)
            predicted = seconds(row_s, found["task_s"], found["latency_s"], 0, 2 * rows, 32, 2)
            found[name] = {"row_s": row_s, "check_s": check, "predicted_s": float(predicted)}
    return found


def seconds(row_s: float, task_s: float, latency_s: float, part_bytes: int, rows: float, blocks: float, workers: Any) -> Any:
    """The seconds of a pass."""
    depth = max(1.0, np.ceil(np.log(max(1.0, blocks)) / np.log(SUMS_PER_LEVEL)))
    sums = depth * (latency_s + SUMS_PER_LEVEL * part_bytes / LINK_BYTES_S)
    return np.maximum(row_s * rows / np.asarray(workers, float), task_s * blocks * (1.0 + 1.0 / SUMS_PER_LEVEL)) + sums


def draw(found: dict[str, Any], path: str) -> None:
    """Draw the seconds of a pass over a terabyte against the number of workers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8.0, 5.0), dpi=160)
    dense_rows, text_rows = TERABYTE / 800, TERABYTE / 900
    lines = (
        ("dense gradient, 100 columns", dense_rows, 808, "tab:blue", "gradient, dense, 100 columns (0.8 kB a sum)"),
        ("dense Hessian, 100 columns", dense_rows, 81_608, "tab:orange", "Hessian, dense, 100 columns (82 kB a sum)"),
        (
            "text gradient, 75 of 50,000 columns",
            text_rows,
            400_008,
            "tab:green",
            "gradient, text, 50,000 columns (400 kB a sum)",
        ),
    )
    for name, rows, part, color, label in lines:
        for size, style in ((BLOCK_BYTES, "-"), (LARGE_BLOCK_BYTES, "--")):
            took = seconds(found[name]["row_s"], found["task_s"], found["latency_s"], part, rows, TERABYTE / size, WORKERS)
            axes.loglog(WORKERS, took, style, color=color, label=label if style == "-" else None)
    axes.loglog([], [], "--", color="gray", label="the same with blocks of 1 GB instead of 64 MB")
    sweep = found["dense gradient, 100 columns"]["row_s"] * dense_rows
    axes.axhline(sweep, color="tab:red", linewidth=1.0, linestyle=":")
    axes.annotate("online learner in order: one row after the other", (1.2, sweep * 1.12), color="tab:red", fontsize=8)
    for workers in (10, 100, 1000):
        axes.axvline(workers, color="0.85", linewidth=0.8, zorder=0)
    axes.set_xlabel("workers, one thread each")
    axes.set_ylabel("seconds of a pass over 1 TB")
    axes.set_title("Predicted from passes measured on two cores; workers hold all blocks, links of 10 Gbit/s", fontsize=9)
    axes.legend(fontsize=8, frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    constants = measure()
    print(json.dumps(constants, indent=1))
    draw(constants, sys.argv[1])
