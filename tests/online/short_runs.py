"""Short runs of every kind, whose logs are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import rosenblatt as rb

RUNS: dict[str, dict[str, Any]] = {
    "binary": {"classes": 2},
    "binary-csr": {"classes": 2, "csr": True},
    "binary-weights": {"classes": 2, "weights": True},
    "binary-batch": {"classes": 2, "update": "batch"},
    "binary-batch-mean-csr": {"classes": 2, "csr": True, "update": "batch-mean", "step": 0.5},
    "joint": {"classes": 3},
    "argmax-csr": {"classes": 3, "csr": True},
    "argmax-batch": {"classes": 3, "update": "batch"},
    "ovr": {"classes": 3, "multiclass": "ovr"},
    "ovr-csr": {"classes": 3, "csr": True, "multiclass": "ovr"},
    "ovr-batch": {"classes": 3, "multiclass": "ovr", "update": "batch"},
    "ovr-threads": {"classes": 3, "multiclass": "ovr", "n_jobs": 2},
    "mistakes": {"classes": 2, "order": "mistakes", "max_iter": 1},
    "pa": {"classes": 3, "estimator": rb.PassiveAggressive, "keep": "last"},
}


def noisy_rows(classes: int, n: int = 30, d: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(classes)
    return rng.normal(size=(n, d)), np.arange(n) % classes


def fitted(classes: int, csr: bool = False, weights: bool = False, estimator: Any = rb.Perceptron, **parameters: Any) -> Any:
    """A model whose log keeps its rows."""
    X, y = noisy_rows(classes)
    c = 0.5 + np.arange(len(y)) % 3 if weights else None
    options = {"max_iter": 3, "random_state": 0, "log": "rows", **parameters}
    return estimator(**options).fit(sp.csr_array(X) if csr else X, y, sample_weight=c)
