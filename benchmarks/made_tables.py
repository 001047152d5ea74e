"""Made tables, for choices that must not be fitted to the files of the data folder: few rows, noise, tails, rare classes."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

# Rows, numeric columns, informative ones, categorical columns, classes, share of the smallest class and of wrong labels, skew.
SHAPES: dict[str, tuple[int, int, int, int, int, float, float, bool]] = {
    "tiny": (40, 4, 2, 0, 2, 0.5, 0.05, False),
    "tiny, wide": (60, 30, 4, 0, 2, 0.4, 0.0, False),
    "tiny, classes": (90, 6, 4, 0, 4, 0.25, 0.05, False),
    "few rows, skewed": (150, 8, 5, 0, 2, 0.3, 0.1, True),
    "categories": (300, 2, 2, 4, 2, 0.4, 0.05, False),
    "categories, skewed": (600, 4, 3, 4, 3, 0.2, 0.1, True),
    "rare": (800, 10, 5, 0, 2, 0.05, 0.02, False),
    "noise": (400, 20, 0, 0, 2, 0.3, 0.0, False),
    "wide": (200, 150, 10, 0, 2, 0.5, 0.05, False),
    "wide, classes": (400, 60, 12, 0, 5, 0.1, 0.05, True),
    "clean": (1000, 10, 8, 0, 2, 0.5, 0.0, False),
    "usual": (1500, 12, 6, 2, 2, 0.3, 0.1, True),
    "many classes": (1500, 16, 12, 0, 30, 0.01, 0.0, False),
    "larger": (4000, 25, 10, 3, 3, 0.15, 0.1, True),
}


def made_tables(folder: Path, seed: int = 0) -> Iterator[tuple[str, Path]]:
    """Write the tables as CSV files; yields their names and paths."""
    for number, (name, shape) in enumerate(SHAPES.items()):
        path = folder / f"{name.replace(', ', '-').replace(' ', '-')}.csv"
        _write(path, *shape, np.random.default_rng([seed, number]))
        yield f"made: {name}", path


def _write(
    path: Path, n: int, columns: int, informative: int, words: int, k: int, least: float, wrong: float, skewed: bool,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Classes are the largest of k noisy planes, with offsets that give them their shares."""
    numbers = rng.normal(size=(n, columns)) @ (np.eye(columns) + 0.3 * rng.normal(size=(columns, columns)))
    levels = rng.integers(0, 6, size=(n, words))
    planes = rng.normal(size=(informative, k)) if informative else np.zeros((0, k))
    scores = numbers[:, :informative] @ planes + 0.7 * rng.gumbel(size=(n, k))
    for column in range(words):
        scores += rng.normal(size=(6, k))[levels[:, column]]
    shares = np.full(k, (1.0 - least) / (k - 1))
    shares[0] = least
    for _ in range(200):  # offsets for these shares
        found = np.bincount(scores.argmax(axis=1), minlength=k) / n
        scores += 0.2 * np.log((shares + 0.002) / (found + 0.002))
    labels = scores.argmax(axis=1)
    flipped = rng.random(n) < wrong
    labels[flipped] = rng.choice(k, size=int(flipped.sum()), p=shares)
    if skewed:
        numbers[:, ::2] = np.exp(numbers[:, ::2]) * 10.0 ** rng.integers(-2, 5, size=(columns + 1) // 2)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(columns)), *(f"w{j}" for j in range(words)), "label"])
        for row, some, label in zip(numbers.tolist(), levels.tolist(), labels.tolist(), strict=True):
            writer.writerow([*(f"{value:.6g}" for value in row), *(f"level{value}" for value in some), f"c{label}"])
