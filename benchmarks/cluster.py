"""Fits on blocks: one worker and two beside the fit in memory, and the bytes of a round.

The same rows are in the memory of this process, of one worker, and of two other workers, each with one thread. The three fit in
turns; seconds are medians. Bytes are those that crossed the loopback interface, which no other program may use meanwhile.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.array_types import Array, Matrix

DENSE_ROWS, DENSE_COLUMNS, DENSE_BLOCKS = 4_000_000, 100, 64
TEXT_ROWS, TEXT_COLUMNS, TEXT_STORED, TEXT_BLOCKS = 2_000_000, 50_000, 75, 32
NOISE = 3.0
BATCH_STEPS = 20


def dense_block(number: int, rows: int) -> tuple[Matrix, Array]:
    """Normal rows with noisy labels."""
    rng = np.random.default_rng((1, number))
    X = rng.normal(size=(rows, DENSE_COLUMNS))
    plane = np.random.default_rng(0).normal(size=DENSE_COLUMNS)
    return X, (X @ plane + NOISE * rng.normal(size=rows) > 0.0).astype(np.int64)


def text_block(number: int, rows: int) -> tuple[Matrix, Array]:
    """Rows like tf-idf: some columns are in many rows, most in few; each row has length 1."""
    import scipy.sparse as sp

    rng = np.random.default_rng((2, number))
    columns = np.sort((TEXT_COLUMNS * rng.random((rows, TEXT_STORED)) ** 3).astype(np.int32), axis=1)
    values = rng.exponential(size=(rows, TEXT_STORED)) + 0.1
    values /= np.sqrt(np.square(values).sum(axis=1, keepdims=True))
    plane = np.random.default_rng(0).normal(size=TEXT_COLUMNS)
    scores = (values * plane[columns]).sum(axis=1)
    X = sp.csr_array((values.ravel(), columns.ravel(), np.arange(0, values.size + 1, TEXT_STORED)), shape=(rows, TEXT_COLUMNS))
    X.sum_duplicates()
    return X, (scores + 0.5 * rng.normal(size=rows) > 0.0).astype(np.int64)


def works(
    quick: bool,
) -> Iterator[tuple[str, Callable[[int, int], tuple[Matrix, Array]], int, int, dict[str, Callable[[], Any]]]]:
    """The name, maker of blocks, rows, blocks and estimators of each piece of work."""
    import rosenblatt as rb

    divisor = 20 if quick else 1
    yield f"dense {DENSE_ROWS // divisor:,} x {DENSE_COLUMNS}", dense_block, DENSE_ROWS // divisor, DENSE_BLOCKS, {
        "logistic, Newton": lambda: rb.SoftMargin(loss="logistic", random_state=0),
        "squared hinge, Newton": lambda: rb.SoftMargin(loss="squared_hinge", random_state=0),
        "hinge, interior point": lambda: rb.SoftMargin(loss="hinge", random_state=0),
        f"batch perceptron, {BATCH_STEPS} steps": lambda: rb.Perceptron(update="batch", max_iter=BATCH_STEPS, log=False),
        "least squares": lambda: rb.LinearMSE(),
    }  # fmt: skip
    yield f"text {TEXT_ROWS // divisor:,} x {TEXT_COLUMNS:,}", text_block, TEXT_ROWS // divisor, TEXT_BLOCKS, {
        "logistic, Newton": lambda: rb.SoftMargin(loss="logistic", random_state=0),
        "squared hinge, Newton": lambda: rb.SoftMargin(loss="squared_hinge", solver="newton", random_state=0),
        f"batch perceptron, {BATCH_STEPS} steps": lambda: rb.Perceptron(update="batch", max_iter=BATCH_STEPS, log=False),
    }  # fmt: skip


def measure(repeats: int, quick: bool) -> Iterator[dict[str, Any]]:
    """Fit in memory, on one worker and on two, in turns."""
    import scipy.sparse as sp
    from dask import delayed
    from distributed import Client, LocalCluster, wait

    for name, make, rows, blocks, estimators in works(quick):
        with ExitStack() as stack:
            clients = {}
            for workers in (1, 2):
                cluster = stack.enter_context(LocalCluster(
                    n_workers=workers, threads_per_worker=1, memory_limit=None, dashboard_address=None
                ))  # fmt: skip
                clients[workers] = stack.enter_context(Client(cluster, set_as_default=False))
            each = [delayed(make)(number, rows // blocks) for number in range(blocks)]
            held = {workers: client.persist(each) for workers, client in clients.items()}
            for workers, client in clients.items():
                with client.as_current():
                    wait(held[workers])
            parts = [make(number, rows // blocks) for number in range(blocks)]
            stack_rows: Any = sp.vstack if sp.issparse(parts[0][0]) else np.concatenate
            X, y = stack_rows([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
            X = X.tocsr() if sp.issparse(X) else X
            del parts
            for work, estimator in estimators.items():
                yield _measure(f"{name}, {work}", estimator, (X, y), clients, held, repeats)


def _measure(
    work: str, estimator: Callable[[], Any], data: tuple[Any, Any], clients: dict[int, Any], held: dict[int, Any],
    repeats: int,
) -> dict[str, Any]:  # fmt: skip
    models: dict[str, Any] = {}
    seconds: dict[str, list[float]] = {"memory": [], "1 worker": [], "2 workers": []}
    moved: dict[str, list[int]] = {name: [] for name in seconds}

    def run(name: str, fit: Callable[[], Any]) -> None:
        before, start = loopback_bytes(), time.perf_counter()
        models[name] = fit()
        seconds[name].append(time.perf_counter() - start)
        moved[name].append(loopback_bytes() - before)

    for _ in range(repeats + 1):  # the first turn warms up
        run("memory", lambda: estimator().fit(*data))
        for workers, client in clients.items():
            name = f"{workers} worker{'s' if workers > 1 else ''}"
            run(name, partial(_fit_on, client, held[workers], estimator))
    one, two = models["1 worker"], models["2 workers"]
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    rounds = max(1, int(one.n_iter_))
    plain = models["memory"]
    return {
        "work": work, "seconds": medians, "speedup": medians["1 worker"] / medians["2 workers"],
        "overhead": medians["1 worker"] / medians["memory"] - 1.0, "rounds": rounds,
        "bytes_per_round": statistics.median(moved["2 workers"][1:]) / rounds, "weight_bytes": one.coef_.nbytes,
        "same_bits": bool((one.coef_ == two.coef_).all() and (one.intercept_ == two.intercept_).all()),
        "objective": _objective(one, plain), "gap": [float(getattr(model, "gap_", [np.nan])[0]) for model in (plain, one)],
    }  # fmt: skip


def _fit_on(client: Any, blocks: Any, estimator: Callable[[], Any]) -> Any:
    import rosenblatt as rb

    return rb.cluster.fit(estimator(), blocks, client)


def _objective(one: Any, plain: Any) -> float:
    """The relative difference of the objectives, or of the weights if there is none."""
    if hasattr(one, "objective_"):
        return float(one.objective_[0] / plain.objective_[0] - 1.0)
    return float(abs(one.coef_ - plain.coef_).max() / abs(plain.coef_).max())


def loopback_bytes() -> int:
    """Bytes received by the loopback interface so far."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "lo":
            return int(numbers.split()[0])
    return 0
