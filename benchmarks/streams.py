"""Fits from a cache on disk: speed relative to a fit in memory on the same rows, and peak memory.

`python -m benchmarks.streams 5` writes caches of 5 GB to a temporary folder and prints the peak memory of a process that fits a
model to them, including imports and mapped pages. The files are read from the page cache if they fit into it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

DISK = Path("/var/tmp") if Path("/var/tmp").is_dir() else None  # the system's temporary folder is often in memory
ROWS_PER_BLOCK = 1 << 14
WORKLOADS: dict[str, dict[str, int]] = {
    "CSR, 100 of 100k columns": {"stored": 100, "columns": 100_000, "classes": 2},
    "CSR, 100 of 1k columns, 10 classes": {"stored": 100, "columns": 1000, "classes": 10},
    "dense, 100 columns": {"stored": 100, "columns": 100, "classes": 2},
    "dense, 784 columns, 10 classes": {"stored": 784, "columns": 784, "classes": 10},
}


def write(path: Path, size: float, stored: int, columns: int, classes: int) -> None:
    """Write a cache of about `size` bytes: the same rows repeated, with noisy labels."""
    from rosenblatt.data.cache_writer import CacheWriter
    from rosenblatt.data.csr import CSRMatrix

    rng, sparse, n = np.random.default_rng(0), stored < columns, max(256, ROWS_PER_BLOCK * 100 // stored)
    values, each = rng.normal(size=(n, stored)), columns // stored
    indices = (np.arange(stored) * each + rng.integers(0, each, (n, stored))).astype(np.int32)
    planes = rng.normal(size=(classes, columns))
    scores = np.column_stack([(values * plane[indices]).sum(axis=1) for plane in planes])
    rows: Any = CSRMatrix(values.ravel(), indices.ravel(), np.arange(0, values.size + 1, stored), columns) if sparse else values
    with CacheWriter(path, sparse=sparse) as writer:
        while writer.stored * (12 if sparse else 8) < size:
            writer.append(rows, (scores + rng.normal(scale=0.3 * np.sqrt(stored), size=scores.shape)).argmax(axis=1))
        writer.close(np.arange(classes))


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Five passes of the averaged perceptron, alternately in memory and from a cache."""
    import scipy.sparse as sp

    import rosenblatt as rb
    from rosenblatt.data.cache import Cache
    from rosenblatt.training.cached_fits import fit_from_cache

    from .measure import interleave

    for work, shape in WORKLOADS.items():
        with tempfile.TemporaryDirectory(dir=DISK) as folder:
            write(Path(folder) / "cache", 4e7 if quick else 4e8, **shape)
            cache = Cache.open(Path(folder) / "cache")
            parts: list[Any] = [np.array(part) for part in cache.rows[:3]]
            X = sp.csr_array(tuple(parts), shape=cache.shape) if cache.header.sparse else parts[0]
            y = np.array(cache.codes)
            models = [rb.Perceptron(keep="average", order="cyclic", max_iter=5) for _ in range(2)]

            def in_memory(model: Any = models[0], X: Any = X, y: Any = y) -> None:
                model.fit(X, y)

            def from_cache(model: Any = models[1], cache: Cache = cache) -> None:
                fit_from_cache(model, cache)

            seconds = interleave({"memory": in_memory, "cache": from_cache}, repeats)
            yield {
                "work": f"{work}, average", "dtype": "float64", "seconds": seconds,
                "ratio": seconds["memory"] / seconds["cache"], "required": 0.7,
                "agree": float(abs(models[0].coef_ - models[1].coef_).max()),
            }  # fmt: skip


def memory(size: float) -> Iterator[dict[str, Any]]:
    """Peak memory of a process by algorithm; the second run is measured, when everything is compiled."""
    for work, shape in WORKLOADS.items():
        with tempfile.TemporaryDirectory(dir=DISK) as folder:
            write(Path(folder) / "cache", size, **shape)
            for name in ("average", "batch", "pa", "linear-mse"):
                if name == "linear-mse" and shape["columns"] > 3000:
                    continue
                command = [sys.executable, "-m", "benchmarks.streams", "fit", str(Path(folder) / "cache"), name]
                for _ in range(2):
                    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
                yield {"work": f"{work}, {name}", "gigabytes": size / 1e9, "required": 300} | json.loads(done.stdout)


def _fit(path: str, name: str) -> dict[str, Any]:
    from rosenblatt.cli.train import without_pandas

    with without_pandas():
        import rosenblatt as rb
        from rosenblatt.data.cache import Cache
        from rosenblatt.training.cached_fits import confusion_from_cache, fit_from_cache

        models: dict[str, Any] = {
            "average": rb.Perceptron(keep="average", order="cyclic", max_iter=3),
            "batch": rb.Perceptron(update="batch", order="cyclic", max_iter=2),
            "pa": rb.PassiveAggressive(keep="average", order="cyclic", max_iter=2, class_weight="balanced"),
            "linear-mse": rb.LinearMSE(),
        }
    cache, begun = Cache.open(path), time.perf_counter()
    model = fit_from_cache(models[name], cache)
    seconds = time.perf_counter() - begun
    _, counts = confusion_from_cache(model.predict, cache)
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {
        "megabytes": int(lines["VmHWM"].split()[0]) / 1024, "seconds": seconds, "rows": cache.shape[0],
        "passes": model.n_iter_, "error": 1.0 - float(np.trace(counts) / counts.sum()),
    }  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1] == "fit":
        print(json.dumps(_fit(*sys.argv[2:])))
    elif sys.argv[1] == "speed":
        for row in measure(int(sys.argv[2]), quick=False):
            print(f"{row['work']:50} {row['ratio']:.2f} of the speed in memory, difference {row['agree']:g}", row["seconds"])
    else:
        for row in memory(float(sys.argv[1]) * 1e9):
            print(f"{row['work']:50} {row['gigabytes']:g} GB: {row['megabytes']:.0f} MB, {row['seconds']:.1f} s", flush=True)
