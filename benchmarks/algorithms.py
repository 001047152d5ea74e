"""Every algorithm of the catalog on the same rows: seconds and training errors."""

from __future__ import annotations

import time
import warnings
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rosenblatt.catalog import ALGORITHMS

ROWS, COLUMNS, FLIPPED = 20_000, 50, 0.03
FEW_ROWS = 500  # for algorithms whose time is quadratic: on 20,000 noisy rows they take minutes


def rows_and_labels(rows: int, columns: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    return X, (X @ rng.normal(size=columns) > 0) ^ (rng.random(rows) < FLIPPED)


def measure(rows: int = ROWS, columns: int = COLUMNS, repeats: int = 3) -> list[dict[str, Any]]:
    table = []
    for name, algorithm in ALGORITHMS.items():
        options = {"inseparable": "soft"} if "inseparable" in algorithm.options else {}
        quadratic = algorithm.make(**options)._has_quadratic_time
        X, y = rows_and_labels(min(rows, FEW_ROWS) if quadratic else rows, columns)
        seconds = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for _ in range(repeats + 1):
                started = time.thread_time()
                model = algorithm.make(**options).fit(X, y)
                seconds.append(time.thread_time() - started)
        errors = float((model.predict(X) != y).mean())
        table.append({"algorithm": name, "rows": len(y), "seconds": median(seconds[1:]), "errors": errors})  # without compiling
    return table
