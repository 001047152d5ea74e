"""Small stories for the tests of reports."""

from __future__ import annotations

from typing import Any

import numpy as np

import rosenblatt as rb
from rosenblatt.reporting.story import Story


def rows(n: int = 60, d: int = 4, k: int = 2, seed: int = 0, spread: float = 1.6) -> tuple[Any, Any]:
    """Clouds around k centers, which overlap."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    centers = rng.normal(size=(k, d)) * 2.0
    return centers[y] + spread * rng.normal(size=(n, d)), y


def story(estimator: Any = None, n: int = 60, d: int = 4, k: int = 2, **more: Any) -> Story:
    X, y = rows(n + 20, d, k)
    estimator = rb.Perceptron(random_state=0, max_iter=6) if estimator is None else estimator
    estimator.fit(X[:n], y[:n])
    return Story(**{"title": "A run", "estimator": estimator, "X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]} | more)
