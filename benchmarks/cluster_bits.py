"""The same bits on any cluster: SHA-256 of fitted models, in this process, on 1, 2 and 4 workers, and while workers are killed.

`python -m benchmarks.cluster_bits` prints the table; `tests/cluster/test_dask_bits.py` runs a part of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

import rosenblatt as rb
from rosenblatt.array_types import Array

ATTRIBUTES = (
    "coef_", "intercept_", "gap_", "dual_gap_", "objective_", "mse_", "loss_", "gradient_norm_", "n_iter_", "n_updates_",
)  # fmt: skip
SECONDS_BETWEEN_KILLS = 3.0  # a nanny gives up on workers that do not live to start

Data = tuple[Any, Array]


def dense(classes: int, columns: int = 12, rows: int = 900) -> Data:
    """Normal rows of which planes separate most."""
    rng = np.random.default_rng((1, classes))
    X = rng.normal(size=(rows, columns))
    return X, (X @ rng.normal(size=(columns, classes)) + rng.normal(size=(rows, classes))).argmax(axis=1)


def sparse(classes: int, columns: int, rows: int = 600) -> Data:
    """Sparse rows with 15 values each."""
    rng = np.random.default_rng((2, classes))
    X = sp.random_array((rows, columns), density=15 / columns, rng=rng, format="csr")
    scores = X @ rng.normal(size=(columns, classes))
    return X, (scores + 0.1 * rng.normal(size=scores.shape)).argmax(axis=1)


# The name of each algorithm, its estimator, its rows, and options of the fit.
ALGORITHMS: dict[str, tuple[Callable[[], Any], Callable[[], Data], dict[str, Any]]] = {
    "logistic, Newton": (lambda: rb.SoftMargin(loss="logistic", random_state=0), lambda: dense(2), {}),
    "logistic, Newton-CG, sparse": (lambda: rb.SoftMargin(loss="logistic", random_state=0), lambda: sparse(2, 3000), {}),
    "multinomial logistic": (lambda: rb.SoftMargin(loss="logistic", random_state=0), lambda: dense(3), {}),
    "squared hinge, Newton": (lambda: rb.SoftMargin(loss="squared_hinge", random_state=0), lambda: dense(2), {}),
    "hinge, interior point": (lambda: rb.SoftMargin(random_state=0), lambda: dense(2), {}),
    "hinge, pairs of 3 classes": (lambda: rb.SoftMargin(random_state=0), lambda: dense(3), {}),
    "hinge, dual coordinates, sparse": (
        lambda: rb.SoftMargin(solver="dual-coordinates", random_state=0), lambda: sparse(2, 3000), {},
    ),
    "least squares": (lambda: rb.LinearMSE(), lambda: dense(3), {}),
    "least squares, conjugate gradients": (lambda: rb.LinearMSE(alpha=1.0), lambda: sparse(2, 4000), {}),
    "tanh squared error, Newton": (lambda: rb.NonlinearMSE(solver="minimum"), lambda: dense(2), {}),
    "tanh squared error, batch": (lambda: rb.NonlinearMSE(solver="batch", max_iter=15), lambda: dense(2), {}),
    "batch perceptron": (lambda: rb.Perceptron(update="batch", max_iter=15), lambda: dense(2), {}),
    "batch perceptron, mean": (lambda: rb.Perceptron(update="batch-mean", max_iter=15), lambda: dense(3), {}),
    "perceptron, in order": (lambda: rb.Perceptron(order="cyclic", max_iter=4, random_state=0), lambda: dense(2), {}),
    "averaged perceptron, permuted": (
        lambda: rb.Perceptron(keep="average", max_iter=4, random_state=0), lambda: dense(3), {},
    ),
    "perceptron, each against the rest": (
        lambda: rb.Perceptron(multiclass="ovr", order="cyclic", max_iter=4, random_state=0), lambda: sparse(4, 500), {},
    ),
    "perceptron, mixed": (lambda: rb.Perceptron(max_iter=5, random_state=0), lambda: dense(2), {"mode": "mixed", "shards": 4}),
    "passive-aggressive": (lambda: rb.PassiveAggressive(max_iter=3, random_state=0), lambda: dense(2), {}),
    "AROW": (lambda: rb.AROW(max_iter=3, random_state=0), lambda: sparse(2, 500), {}),
}  # fmt: skip


def digest(model: Any) -> str:
    """SHA-256 of the weights, intercepts, gaps and counts of a fitted estimator."""
    found = hashlib.sha256()
    for name in ATTRIBUTES:
        if hasattr(model, name):
            found.update(name.encode() + np.ascontiguousarray(getattr(model, name)).tobytes())
    return found.hexdigest()


def fit(name: str, client: Any, block_rows: int = 80, **more: Any) -> Any:
    """An algorithm of the table, fitted in blocks."""
    make, rows, options = ALGORITHMS[name]
    return rb.cluster.fit(make(), rows(), client, block_rows=block_rows, **options, **more)


@contextmanager
def killing(client: Any, seconds: float = SECONDS_BETWEEN_KILLS) -> Iterator[list[int]]:
    """Kill random workers of a local cluster, whose nannies start others; yields a list that grows with the kills."""
    ended, rng, kills = threading.Event(), np.random.default_rng(0), list[int]()
    cluster = client.cluster

    def kill() -> None:
        while not ended.wait(float(rng.uniform(0.5, 1.5)) * seconds):
            nannies = list(cluster.workers.values())
            pid = nannies[int(rng.integers(len(nannies)))].pid if nannies else None
            if pid is not None:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                kills.append(pid)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        yield kills
    finally:
        ended.set()
        killer.join()


def measure() -> dict[str, Any]:
    """The digests of all algorithms on all engines, the plain fit beside them, and the number of kills."""
    from distributed import Client, LocalCluster

    from rosenblatt.cluster.engine import InProcess

    table: dict[str, dict[str, str]] = {name: {} for name in ALGORITHMS}
    for name, row in table.items():
        make, rows, _ = ALGORITHMS[name]
        model = fit(name, InProcess())
        row["in-process"], row["3 threads"] = digest(model), digest(fit(name, InProcess(3)))
        plain = make().fit(*rows())
        same = np.array_equal(model.coef_, plain.coef_) and np.array_equal(model.intercept_, plain.intercept_)
        difference = float(abs(model.coef_ - plain.coef_).max() / abs(plain.coef_).max())
        row["fit"] = "same bits" if same else f"weights within {difference:.0e}"
    kills = 0
    for workers in (1, 2, 4):
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, memory_limit=None, dashboard_address=None) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            for name, row in table.items():
                row[f"{workers} workers"] = digest(fit(name, client))
                if workers == 2:
                    with killing(client) as made:
                        row["killed"] = digest(fit(name, client))
                        row["killed again"] = digest(fit(name, client))
                    kills += len(made)
                sys.stderr.write(f"{workers} workers, {name}: {row}\n")
    return {"table": table, "kills": kills}


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
