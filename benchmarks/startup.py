"""Time before the first fit: importing, compiling, and loading compiled code from the cache."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

FIT = "import rosenblatt as rb; rb.Perceptron().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])"
CODE = {
    "python itself": "pass",
    "import rosenblatt": "import rosenblatt",
    "import sklearn.linear_model": "import sklearn.linear_model",
    "import numba": "import numba",
    "import and fit a tiny Perceptron": FIT,
}


def measure(repeats: int) -> dict[str, float]:
    """Seconds of wall time of whole processes, medians; the first fit with an empty cache is taken once."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        found = {"first fit ever (compiles)": _run(FIT, environment)}
        for name, code in CODE.items():
            found[name] = statistics.median(_run(code, environment) for _ in range(repeats))
    return found


def _run(code: str, environment: dict[str, str]) -> float:
    timed = f"import time; start = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"
    done: Any = subprocess.run([sys.executable, "-c", timed], env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)
