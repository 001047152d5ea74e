"""Small files for the tests of training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


def noisy_rows(n: int = 120, k: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Rows of k overlapping classes of different sizes; columns in units that differ a thousandfold."""
    rng = np.random.default_rng(seed)
    names = np.array(["ash", "birch", "cedar"])[:k]
    y = names[np.sort(rng.choice(k, n, p=np.array([0.6, 0.3, 0.1])[:k] / np.array([0.6, 0.3, 0.1])[:k].sum()))]
    rng.shuffle(y)
    centers = rng.normal(size=(k, 3)) * 0.7
    X = (centers[np.searchsorted(names, y)] + rng.normal(size=(n, 3))) * [1.0, 1000.0, 0.1]
    return X.round(6), y


def separable_rows(n: int = 60) -> tuple[Any, Any]:
    """Rows of two classes with a gap between them."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.0, 1.0, (4 * n, 2)).round(6)
    X = X[abs(X[:, 0] + 0.5 * X[:, 1]) > 0.1][:n]
    return X, np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "up", "down")


def write_csv(path: Path, X: Any, y: Any) -> str:
    """Write rows with a header and the label in the last column."""
    header = ",".join([*(f"x{j}" for j in range(X.shape[1])), "label"])
    rows = [",".join([*map(repr, row), str(label)]) for row, label in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def write_svmlight(path: Path, X: Any, y: Any) -> str:
    """Write rows without their zeros."""
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v)
        for row, label in zip(X.tolist(), y, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return str(path)
