"""Separable rows."""

from __future__ import annotations

from typing import Any

import numpy as np


def apart(n: int, d: int, k: int, gap: float, seed: int) -> tuple[Any, Any]:
    """Rows that k random weight vectors separate."""
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(8 * n, d)), rng.normal(size=(k, d))
    scores = np.sort(X @ W.T, axis=1)
    clear = np.flatnonzero(scores[:, -1] - scores[:, -2] > gap)[:n]
    return X[clear], (X @ W.T).argmax(axis=1)[clear]
