"""Streams of rows, and models that are fed with them chunk by chunk."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

READINGS = ["last", "average", "vote"]


def stream(classes: int = 3, n: int = 40, d: int = 4, seed: int = 0) -> tuple[Any, Any]:
    """Noisy rows whose first two belong to different classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    return X, np.concatenate([[0, 1], rng.integers(0, classes, n - 2)])


def chunks(n: int, size: int) -> Any:
    return [slice(start, start + size) for start in range(0, n, size)]


def container(X: Any, kind: str, at: int) -> Any:
    sparse = kind == "csr" or (kind == "alternating" and at % 2 == 1)
    return sp.csr_array(X) if sparse else X


def feed(model: Any, X: Any, y: Any, size: int, kind: str = "dense", classes: Any = None, weights: Any = None) -> Any:
    for at, part in enumerate(chunks(len(y), size)):
        c = None if weights is None else weights[part]
        model.partial_fit(container(X[part], kind, at), y[part], classes=classes if at == 0 else None, sample_weight=c)
    return model


def assert_same(a: Any, b: Any, X: Any) -> None:
    np.testing.assert_array_equal(a.classes_, b.classes_)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    assert hasattr(a, "coef_") == hasattr(b, "coef_")
    if hasattr(a, "coef_"):
        np.testing.assert_array_equal(a.coef_, b.coef_)
        np.testing.assert_array_equal(a.intercept_, b.intercept_)
    assert a.n_updates_ == b.n_updates_
