"""Peak resident memory of a fit beyond its data, as a share of the size of X, or of the weights if these are larger.

Each fit runs in a new process, which reads its rows from a file: in a process with earlier fits, memory that they freed would
be reused and not counted.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import workloads

PARTS = ("data", "indices", "indptr")


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    part = 10 if quick else 1
    works = {
        "dense 400k x 100": workloads.dense(400_000 // part, 100),
        "dense 60k x 784, 10 classes": workloads.dense(60_000 // part, 784, 10),
        "CSR 200k x 50k": workloads.sparse(200_000 // part, 50_000 // part),
    }
    # The average needs sums beside the weights, each as large as `coef_`; it may take 1.3 times their size.
    many = {
        "CSR 50k x 200k, 50 classes": workloads.sparse(50_000 // part, 200_000 // part, 75, 50),
        "CSR 6,500 x 2^20, 52 classes": workloads.sparse(6_500 // part, (1 << 20) // part, 100, 52),
    }
    for work, (X, y) in many.items():
        size = X.shape[1] * (int(y.max()) + 1) * X.dtype.itemsize
        with tempfile.TemporaryDirectory() as folder:
            _save(folder, X, y)
            for ours, theirs, most in (("one-vs-rest", "Perceptron", 1.1), ("joint average", "averaged", 2.6)):
                pair = {"ours": ours, "sklearn": theirs}
                shares = {library: _in_new_process(folder, name) / size for library, name in pair.items()}
                yield {
                    "work": f"{work}, {ours}: of the weights", "dtype": X.dtype.name, "megabytes": size / 1e6, "share": shares,
                    "required": most,
                }  # fmt: skip
    for work, (X64, y) in works.items():
        for dtype in (np.float64, np.float32):
            X = X64.astype(dtype)
            with tempfile.TemporaryDirectory() as folder:
                size = _save(folder, X, y)
                for ours, theirs, most in (("average", "Perceptron", 0.10), ("SoftMargin", "LinearSVC", 0.15)):
                    if ours == "SoftMargin" and "10 classes" in work:
                        continue  # ten binary problems, one after the other; the other sets measure one
                    pair = {"ours": ours, "sklearn": theirs}
                    shares = {library: _in_new_process(folder, name) / size for library, name in pair.items()}
                    yield {
                        "work": f"{work}, {ours}", "dtype": dtype.__name__, "megabytes": size / 1e6, "share": shares,
                        "required": most,
                    }  # fmt: skip


def _save(folder: str, X: Any, y: Any) -> int:
    """Save rows and labels for another process; return the size of X in bytes."""
    arrays = {name: getattr(X, name) for name in PARTS} if sp.issparse(X) else {"data": X}
    for name, array in ({"y": y, "shape": np.array(X.shape)} | arrays).items():
        np.save(Path(folder) / f"{name}.npy", array)
    return sum(array.nbytes for array in arrays.values())


def _in_new_process(folder: str, name: str) -> int:
    command = [sys.executable, "-m", "benchmarks.memory", folder, name]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return int(done.stdout)


def _growth(folder: Path, name: str) -> int:
    """Return the largest growth of this process during a fit, in bytes, from Linux's high-water mark."""
    from sklearn.linear_model import Perceptron as SklearnPerceptron
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC

    import rosenblatt as rb

    arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    y, shape = arrays["y"], tuple(arrays["shape"].tolist())
    X: Any = arrays["data"]
    if "indptr" in arrays:
        X = sp.csr_matrix(tuple(arrays[part] for part in PARTS), shape=shape, copy=False)
    makers: dict[str, Any] = {
        "average": lambda: rb.Perceptron(keep="average", random_state=0),
        "one-vs-rest": lambda: rb.Perceptron(multiclass="ovr", max_iter=10, random_state=0),
        "joint average": lambda: rb.Perceptron(keep="average", max_iter=10, random_state=0),
        "averaged": lambda: SGDClassifier(
            loss="perceptron", learning_rate="constant", eta0=1.0, penalty=None, average=True, max_iter=10, tol=None
        ),
        "Perceptron": lambda: SklearnPerceptron(max_iter=10, tol=None, random_state=0),
        "SoftMargin": lambda: rb.SoftMargin(penalize_intercept=True, tol=1e-2, random_state=0),
        "LinearSVC": lambda: LinearSVC(loss="hinge", max_iter=5, random_state=0),
    }
    warnings.simplefilter("ignore")
    model = makers[name]()
    makers[name]().fit(X[:1000, :1000], y[:1000])  # loads the compiled kernels
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    model.fit(X, y)
    return _status("VmHWM") - before


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024


if __name__ == "__main__":
    print(_growth(Path(sys.argv[1]), sys.argv[2]))
