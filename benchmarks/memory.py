"""Peak resident memory of a fit beyond its data, as a share of the size of X.

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
    for work, (X64, y) in works.items():
        for dtype in (np.float64, np.float32):
            X = X64.astype(dtype)
            with tempfile.TemporaryDirectory() as folder:
                arrays = {name: getattr(X, name) for name in PARTS} if sp.issparse(X) else {"data": X}
                for name, array in ({"y": y, "shape": np.array(X.shape)} | arrays).items():
                    np.save(Path(folder) / f"{name}.npy", array)
                size = sum(array.nbytes for array in arrays.values())
                for ours, theirs, most in (("average", "Perceptron", 0.10), ("SoftMargin", "LinearSVC", 0.15)):
                    if ours == "SoftMargin" and "10 classes" in work:
                        continue  # ten binary problems, one after the other; the other sets measure one
                    pair = {"ours": ours, "sklearn": theirs}
                    shares = {library: _in_new_process(folder, name) / size for library, name in pair.items()}
                    yield {
                        "work": f"{work}, {ours}", "dtype": dtype.__name__, "megabytes": size / 1e6, "share": shares,
                        "required": most,
                    }  # fmt: skip


def _in_new_process(folder: str, name: str) -> int:
    command = [sys.executable, "-m", "benchmarks.memory", folder, name]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return int(done.stdout)


def _growth(folder: Path, name: str) -> int:
    """Return the largest growth of this process during a fit, in bytes, from Linux's high-water mark."""
    from sklearn.linear_model import Perceptron as SklearnPerceptron
    from sklearn.svm import LinearSVC

    import rosenblatt as rb

    arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    y, shape = arrays["y"], tuple(arrays["shape"].tolist())
    X: Any = arrays["data"]
    if "indptr" in arrays:
        X = sp.csr_matrix(tuple(arrays[part] for part in PARTS), shape=shape, copy=False)
    makers: dict[str, Any] = {
        "average": lambda: rb.Perceptron(keep="average", random_state=0),
        "Perceptron": lambda: SklearnPerceptron(max_iter=10, tol=None, random_state=0),
        "SoftMargin": lambda: rb.SoftMargin(penalize_intercept=True, tol=1e-2, random_state=0),
        "LinearSVC": lambda: LinearSVC(loss="hinge", max_iter=5, random_state=0),
    }
    warnings.simplefilter("ignore")
    model = makers[name]()
    model.fit(X[:1000], y[:1000])  # loads the compiled kernels
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
