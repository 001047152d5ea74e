"""The presets of the page: sets of points with three decimals, roughly between -1 and 1, the same in every version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array_types import FloatArray, IntArray

SQUARE = (-1.25, 1.25, -1.25, 1.25)

Sample = tuple[FloatArray, IntArray]  # points and labels
Draw = Callable[[np.random.RandomState], Sample]


@dataclass(frozen=True)
class Preset:
    """A named set of points, with the degree at which a boundary separates its classes, if any does."""

    name: str
    title: str
    about: str
    points: tuple[tuple[float, float], ...]
    labels: tuple[int, ...]
    box: tuple[float, float, float, float] = SQUARE
    degree: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return the preset for the page."""
        return {
            "name": self.name, "title": self.title, "about": self.about, "points": [list(point) for point in self.points],
            "labels": list(self.labels), "names": list("ABCDEF"[: max(self.labels) + 1]), "box": list(self.box),
            "degree": self.degree,
        }  # fmt: skip


def presets() -> list[dict[str, Any]]:
    """Return all presets for the page."""
    return [preset.to_json() for preset in PRESETS.values()]


def _drawn(name: str, title: str, about: str, draw: Draw, seed: int, degree: int = 1) -> Preset:
    points, labels = draw(np.random.RandomState(seed))  # the same numbers in every version of NumPy
    order = np.random.RandomState(seed + 1).permutation(len(labels))
    rounded = (np.round(points[order], 3) + 0.0).tolist()
    return Preset(name, title, about, tuple((x, y) for x, y in rounded), tuple(labels[order].tolist()), degree=degree)


def _beside(rng: np.random.RandomState, n: int, gap: float) -> Sample:
    """Draw points on both sides of a slanted line, at a distance of at least the gap."""
    normal, along = np.array([0.6, 0.8]), np.array([0.8, -0.6])
    labels = np.arange(n) % 2
    away = (gap + 0.62 * rng.beta(1.3, 1.7, n)) * (2 * labels - 1)
    return away[:, None] * normal + rng.uniform(-0.85, 0.85, n)[:, None] * along, labels


def _separable(rng: np.random.RandomState) -> Sample:
    points, labels = _beside(rng, 60, 0.11)
    return points + np.array([0.12, 0.16]), labels


def _nearly(rng: np.random.RandomState) -> Sample:
    points, labels = _beside(rng, 80, 0.08)
    for row, away in ((3, -0.16), (10, 0.2), (41, -0.3)):
        normal = np.array([0.6, 0.8])
        points[row] += (away - points[row] @ normal) * normal
        labels[row] = away < 0
    return points, labels


def _outlier(rng: np.random.RandomState) -> Sample:
    points, labels = _beside(rng, 60, 0.3)
    normal, along = np.array([0.6, 0.8]), np.array([0.8, -0.6])
    points[7], labels[7] = -0.27 * normal - 0.1 * along, 1  # very close to the other class
    return points, labels


def _xor(rng: np.random.RandomState) -> Sample:
    n = 80
    corners = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])[np.arange(n) % 4]
    return corners * rng.uniform(0.13, 0.98, (n, 2)), (np.arange(n) % 4) // 2


def _rings(rng: np.random.RandomState) -> Sample:
    n = 100
    labels = np.arange(n) % 2
    angle, radius = (
        rng.uniform(0, 2 * np.pi, n),
        np.where(labels, rng.uniform(0.75, 1.05, n), 0.5 * np.sqrt(rng.uniform(0, 1, n))),
    )
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), labels


def _moons(rng: np.random.RandomState) -> Sample:
    n = 100
    labels = np.arange(n) % 2
    angle = np.pi * rng.uniform(0.02, 0.98, n)
    radius = rng.uniform(0.56, 0.82, n)
    arc = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    upper, lower = arc - (0.35, 0.2), arc * (1.0, -1.0) + (0.35, 0.2)
    return np.where(labels[:, None] == 1, lower, upper), labels


def _around(rng: np.random.RandomState, classes: int, n: int, radius: float, spread: float, turn: float) -> Sample:
    """Draw round clouds on a circle."""
    labels = np.arange(n) % classes
    angle = 2 * np.pi * (labels / classes + turn)
    away, way = spread * np.sqrt(rng.uniform(0, 1, n)), rng.uniform(0, 2 * np.pi, n)
    centers = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return centers + away[:, None] * np.column_stack([np.cos(way), np.sin(way)]), labels


def _three(rng: np.random.RandomState) -> Sample:
    return _around(rng, 3, 75, 0.62, 0.42, 0.25)


def _six(rng: np.random.RandomState) -> Sample:
    return _around(rng, 6, 108, 0.78, 0.3, 0.05)


PRESETS = {
    preset.name: preset
    for preset in (
        _drawn("separable", "Separable", "Two classes with a gap between them: a line separates them.", _separable, 22),
        _drawn("nearly", "Nearly separable", "Three points are among the other class: no line separates them.", _nearly, 12),
        _drawn("xor", "XOR", "Opposite corners have the same class: a curve of degree 2 separates them.", _xor, 13, 2),
        _drawn("rings", "Rings", "One class around the other: a circle (degree 2) separates them.", _rings, 14, 2),
        _drawn("moons", "Moons", "Two interlocking crescents: a curve of degree 3 separates them.", _moons, 15, 3),
        _drawn("outlier", "Outlier", "Separable, but one point leaves only a narrow margin.", _outlier, 16),
        _drawn("three", "Three classes", "Three clouds: each class has its own weight vector.", _three, 17),
        _drawn("six", "Six classes", "Six clouds on a circle: each class has its own weight vector.", _six, 18),
        Preset(
            "lecture", "Four points", "Small integers: follow the perceptron with pencil and paper.",
            ((2, 1), (3, 0), (2, 2), (-2, 0)), (1, 1, 0, 0), (-3.0, 4.0, -3.0, 4.0),
        ),
    )
}  # fmt: skip
