"""How much a fit needs beside the data: resident memory at its highest, over the size of X."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as SklearnPerceptron

import rosenblatt as rb

from . import workloads
from .measure import peak_memory


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
            size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if hasattr(X, "indptr") else X.nbytes
            models = {
                "ours": rb.Perceptron("average", random_state=0),
                "sklearn": SklearnPerceptron(max_iter=10, tol=None, random_state=0),
            }
            small = slice(0, 1000)
            for model in models.values():
                model.fit(X[small], y[small])
            shares = {name: peak_memory(partial(model.fit, X, y)) / size for name, model in models.items()}
            yield {"work": work, "dtype": dtype.__name__, "megabytes": size / 1e6, "share": shares, "required": 0.10}
