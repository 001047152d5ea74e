"""Fits on a cluster beside dask-ml and Spark: seconds to the same objective, and what a killed worker does to each.

All get the same rows, 2 million x 50 in 16 parts, two worker processes of one thread each. The objective is 1/2 |w|^2 + C sum
of the losses, evaluated on all rows with the weights and the intercept of each; the others run with more and more iterations
until they are within a thousandth of the least one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.array_types import Array, FloatArray

ROWS, COLUMNS, PARTS, NOISE = 2_000_000, 50, 16, 3.0
C = 1.0
WITHIN = 1e-3
ITERATIONS = (2, 5, 10, 20, 50, 100, 200)
KILL_AFTER = 0.4  # of the time of a fit without a kill
HANG_S = 180.0


def block(number: int, rows: int) -> tuple[FloatArray, Array]:
    """Normal rows with noisy labels 0 and 1."""
    rng = np.random.default_rng((3, number))
    X = rng.normal(size=(rows, COLUMNS))
    plane = np.random.default_rng(0).normal(size=COLUMNS)
    return X, (X @ plane + NOISE * rng.normal(size=rows) > 0.0).astype(np.int64)


def objective(loss: str, w: FloatArray, b: float, X: FloatArray, y: Array) -> tuple[float, float]:
    """The objective of a plane, and its accuracy."""
    scores = X @ w + b
    margins = np.where(y > 0, scores, -scores)
    losses = np.maximum(0.0, 1.0 - margins) if loss == "hinge" else np.logaddexp(0.0, -margins)
    return 0.5 * float(w @ w) + C * float(losses.sum()), float(((scores > 0.0) == (y > 0)).mean())


Plane = tuple[FloatArray, float]


def race(name: str, loss: str, fit: Callable[[int], Plane], X: FloatArray, y: Array, least: float) -> dict[str, Any]:
    """Fit with more and more iterations until the objective is within reach of the least one."""
    tries: list[dict[str, Any]] = []
    for iterations in ITERATIONS:
        start = time.perf_counter()
        try:
            w, b = fit(iterations)
        except Exception as error:
            return {"name": name, "loss": loss, "failed": f"{type(error).__name__}: {error}"[:300], "tries": tries}
        seconds = time.perf_counter() - start
        value, accuracy = objective(loss, np.asarray(w, float).ravel(), float(b), X, y)
        tries.append({"iterations": iterations, "seconds": seconds, "above": value / least - 1.0, "accuracy": accuracy})
        sys.stderr.write(f"{name} {tries[-1]}\n")
        if value <= least * (1.0 + WITHIN):
            break
    return {"name": name, "loss": loss, "tries": tries}


def with_kill(fit: Callable[[], Plane], seconds: float, kill: Callable[[], None]) -> tuple[Plane | None, str]:
    """Fit while a worker is killed; the plane, and what happened."""
    found: list[Plane] = []
    failed: list[str] = []

    def run() -> None:
        try:
            found.append(fit())
        except Exception as error:
            failed.append(f"{type(error).__name__}: {error}"[:200])

    thread = threading.Thread(target=run, daemon=True)
    start = time.perf_counter()
    thread.start()
    time.sleep(KILL_AFTER * seconds)
    kill()
    thread.join(HANG_S)
    took = time.perf_counter() - start
    if thread.is_alive():
        return None, f"hangs: not done after {took:.0f} s"
    return (None, failed[0]) if failed else (found[0], f"done after {took:.1f} s instead of {seconds:.1f} s")


def measure() -> list[dict[str, Any]]:
    """Run all of them, one after the other."""
    parts = [block(number, ROWS // PARTS) for number in range(PARTS)]
    X, y = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    del parts
    results = _dask(X, y)
    least = {each["loss"]: each["objective"] for each in results if "objective" in each}
    return results + _spark(X, y, least["hinge"])


def _dask(X: FloatArray, y: Array) -> list[dict[str, Any]]:
    import dask.array as da
    from dask import delayed
    from dask_ml.linear_model import LogisticRegression
    from dask_ml.wrappers import Incremental
    from distributed import Client, LocalCluster, wait
    from sklearn.linear_model import SGDClassifier

    import rosenblatt as rb

    results: list[dict[str, Any]] = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=None, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        both = [delayed(block)(number, ROWS // PARTS) for number in range(PARTS)]
        each = client.persist(both)
        wait(each)

        def arrays() -> tuple[Any, Any]:
            rows = ROWS // PARTS
            Xs = [da.from_delayed(delayed(_first)(part), (rows, COLUMNS), float) for part in each]
            ys = [da.from_delayed(delayed(_second)(part), (rows,), int) for part in each]
            X, y = client.persist((da.concatenate(Xs), da.concatenate(ys)))
            return X, y

        dX, dy = arrays()
        wait([dX, dy])

        def kill() -> None:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

        for loss in ("logistic", "hinge"):

            def ours(loss: Any = loss) -> Plane:
                model = rb.cluster.fit(rb.SoftMargin(loss=loss, C=C, random_state=0), each, client)
                return model.coef_[0], model.intercept_[0]

            ours()
            start = time.perf_counter()
            w, b = ours()
            seconds = time.perf_counter() - start
            value, accuracy = objective(loss, w, b, X, y)
            plane, what = with_kill(ours, seconds, kill)
            same = plane is not None and bool((plane[0] == w).all() and plane[1] == b)
            results.append({
                "name": "Rosenblatt", "loss": loss, "seconds": seconds, "objective": value, "accuracy": accuracy,
                "killed": what, "same_bits": same,
            })  # fmt: skip
            sys.stderr.write(f"{results[-1]}\n")
        least = float(results[0]["objective"])
        for solver in ("lbfgs", "admm", "newton"):

            def theirs(iterations: int, solver: str = solver) -> Plane:
                model = LogisticRegression(solver=solver, C=C, max_iter=iterations, fit_intercept=True)
                model.fit(dX, dy)
                return model.coef_, float(np.ravel(model.intercept_)[0])

            found = race(f"dask-ml LogisticRegression({solver})", "logistic", theirs, X, y, least)
            if found["tries"]:
                last = found["tries"][-1]
                plane, found["killed"] = with_kill(partial(theirs, last["iterations"]), last["seconds"], kill)
                again = theirs(last["iterations"])
                found["same_bits"] = plane is not None and bool((np.ravel(plane[0]) == np.ravel(again[0])).all())
            results.append(found)

        def incremental(iterations: int) -> Plane:
            sgd = SGDClassifier(loss="log_loss", alpha=1.0 / (C * ROWS), random_state=0)
            model = Incremental(sgd, shuffle_blocks=False)
            for _ in range(max(1, iterations // 2)):
                model.partial_fit(dX, dy, classes=[0, 1])
            return model.estimator_.coef_, float(model.estimator_.intercept_[0])

        results.append(race("dask-ml Incremental(SGDClassifier)", "logistic", incremental, X, y, least))
    return results


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _spark(X: FloatArray, y: Array, least: float) -> list[dict[str, Any]]:
    import psutil
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.ml.classification import LinearSVC
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col

    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        step = ROWS // PARTS
        for number in range(PARTS):
            some = slice(number * step, (number + 1) * step)
            rows = pa.FixedSizeListArray.from_arrays(pa.array(X[some].ravel()), COLUMNS).cast(pa.list_(pa.float64()))
            pq.write_table(
                pa.table({"x": rows, "label": pa.array(y[some].astype(float))}), Path(folder) / f"{number:02}.parquet"
            )
        session = (
            SparkSession.builder.master("local-cluster[2,1,4096]").config("spark.executor.memory", "4g")
            .config("spark.driver.memory", "4g").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
            .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
        )  # fmt: skip
        frame = session.read.parquet(folder).select(array_to_vector(col("x")).alias("features"), "label").cache()
        frame.count()

        def theirs(iterations: int) -> Plane:
            svc = LinearSVC(maxIter=iterations, regParam=1.0 / (C * ROWS), standardization=False, tol=1e-12)
            model = svc.fit(frame)
            return model.coefficients.toArray(), float(model.intercept)

        def kill() -> None:
            executors = [
                process for process in psutil.Process().children(recursive=True)
                if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline())
            ]  # fmt: skip
            executors[0].kill()

        found = race("Spark LinearSVC", "hinge", theirs, X, y, least)
        if found["tries"]:
            last = found["tries"][-1]
            plane, found["killed"] = with_kill(partial(theirs, last["iterations"]), last["seconds"], kill)
            again = theirs(last["iterations"])
            found["same_bits"] = plane is not None and bool((plane[0] == again[0]).all())
        session.stop()
    return [found]


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
