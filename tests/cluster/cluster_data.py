"""Rows, engines and digests that the tests of blocks share."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from rosenblatt.array_types import Array, FloatArray


def noisy_rows(n: int, d: int, classes: int = 2, seed: int = 0) -> tuple[FloatArray, Array]:
    """Rows of which a plane, or several, separate most."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes))
    return X, scores.argmax(axis=1)


def digest(model: Any) -> str:
    """SHA-256 of the weights, intercepts and gaps of a fitted estimator."""
    found = hashlib.sha256()
    for name in ("coef_", "intercept_", "gap_", "dual_gap_", "objective_", "mse_", "loss_", "n_iter_", "n_updates_"):
        if hasattr(model, name):
            found.update(name.encode() + np.ascontiguousarray(getattr(model, name)).tobytes())
    return found.hexdigest()
