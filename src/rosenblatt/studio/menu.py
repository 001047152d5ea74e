"""The menu of algorithms: whatever is in the registry, with a sentence and its knobs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..catalog import ALGORITHMS, Algorithm
from .knobs import MOST_UPDATES, PSEUDO, knobs_of

GROUPS = {
    "Perceptron": "Perceptron",
    "PassiveAggressive": "Passive-aggressive",
    "AROW": "Passive-aggressive",
    "MaxMargin": "Margin machines",
    "SoftMargin": "Margin machines",
    "LinearMSE": "Least squares",
    "NonlinearMSE": "Least squares",
}
SUMMARIES = {
    "perceptron": "Where a row is wrong, add it to the weights or take it off; stop when none is.",
    "pocket": "The perceptron, but of all planes on the way the one with the fewest errors is kept.",
    "average": "The perceptron, but the mean of the weights over all rows visited is kept.",
    "vote": "The perceptron, but all planes on the way vote, each as often as it lived rows.",
    "margin": "The perceptron, but a row must be right by a margin b, or it is corrected.",
    "batch": "All wrong rows at once: their sum moves the weights.",
    "batch-mean": "All wrong rows at once: their sum over the number of rows moves the weights.",
    "mistakes": "Each update takes a wrong row, drawn at random.",
    "pa": "The smallest step that gives the row a margin of 1.",
    "pa-1": "The smallest step that gives the row a margin of 1, but none longer than C.",
    "pa-2": "The step towards a margin of 1, the shorter the smaller C is.",
    "arow": "Every weight has a variance: what was seen seldom still moves far.",
    "max-margin": "The plane that is farthest from the nearest rows, where one separates them.",
    "soft-margin": "A wide street, and a price C for every row that is in it or beyond.",
    "linear-mse": "The plane whose scores are nearest to −1 and +1, in squares.",
    "ridge": "Least squares, but long weights cost as well.",
    "nonlinear-mse": "Least squares of tanh(score): rows far on the right side cost nothing.",
    "logistic-mse": "Least squares of the logistic function of the score, on targets 0 and 1.",
    "nonlinear-mse-online": "Least squares of tanh(score), by a small step for each row.",
    "nonlinear-mse-batch": "Least squares of tanh(score), by gradient steps on all rows.",
}


def menu() -> list[dict[str, Any]]:
    """All algorithms, in the registry's order."""
    return [_entry(name, algorithm) for name, algorithm in ALGORITHMS.items()]


def _entry(name: str, algorithm: Algorithm) -> dict[str, Any]:
    return {
        "name": name,
        "title": algorithm.title,
        "group": GROUPS.get(algorithm.name, algorithm.name),
        "estimator": algorithm.name,
        "summary": SUMMARIES.get(name) or _first_sentence(algorithm),
        "logged": algorithm.online,
        "keep": algorithm.options.get("keep") if algorithm.online else None,
        "knobs": [knob.told() for knob in knobs_of(algorithm).values()],
    }


def _first_sentence(algorithm: Algorithm) -> str:
    return (inspect.getdoc(algorithm.estimator) or algorithm.title).splitlines()[0]


def algorithm_of(model: Any) -> str:
    """The name of a fitted model's algorithm: of those of its estimator that its parameters agree with, the most particular."""
    given = model.get_params(deep=False)
    fits = [
        name
        for name, each in ALGORITHMS.items()
        if each.name == type(model).__name__ and all(given[key] == value for key, value in _words(each).items())
    ]
    if not fits:
        raise ValueError(f"no algorithm of the studio is a {type(model).__name__} with these parameters")
    return max(fits, key=lambda name: len(_words(ALGORITHMS[name])))


def _words(algorithm: Algorithm) -> dict[str, Any]:
    return {name: value for name, value in algorithm.parameters.items() if isinstance(value, str)}


def knobs_set(model: Any) -> dict[str, Any]:
    """A model's parameters as knobs of its algorithm, those that are not what the studio takes where nothing is said; "auto"
    is what it came to, and no limit on updates the most that can be played."""
    found, given = {}, model.get_params(deep=False)
    for name, knob in _knobs(algorithm_of(model)).items():
        value = _settled(model, name, given.get(name))
        plain = name not in PSEUDO and isinstance(value, bool | int | float | str | None) and value != "auto"
        if plain and value != knob.default and (value is not None or knob.optional):
            found[name] = value
    return found | _start_of(given)


def _start_of(given: dict[str, Any]) -> dict[str, Any]:
    """Weights that a run was told to start from, as the page has them: weight 0 first, of each head."""
    if not isinstance(given.get("init"), np.ndarray):
        return {}
    start = np.atleast_2d(given["init"])
    start = start if given["fit_intercept"] else np.column_stack([np.zeros(len(start)), start])
    return {"init": "given", "start": start.ravel().tolist()}


def _settled(model: Any, name: str, value: Any) -> Any:
    if name == "max_updates":
        return MOST_UPDATES if value is None else min(value, MOST_UPDATES)
    if isinstance(value, str) and value == "auto":
        ended = getattr(model, "stop_", None)
        if name == "margin":
            return getattr(model, "_margin_used", value)
        if name == "max_iter" and ended is not None and ended.reason == "passes":
            return model.n_iter_
    return value


@cache
def _knobs(algorithm: str) -> dict[str, Any]:
    return knobs_of(ALGORITHMS[algorithm])


# --- Sets of points to begin with, made the same each time: coordinates of three decimals, about between -1 and 1.

SQUARE = (-1.25, 1.25, -1.25, 1.25)

Draw = Callable[[Any], tuple[Any, Any]]


@dataclass(frozen=True)
class Preset:
    name: str
    title: str
    about: str
    points: tuple[tuple[float, float], ...]
    labels: tuple[int, ...]
    box: tuple[float, float, float, float] = SQUARE
    degree: int = 1  # of features that part its classes, if any do

    def told(self) -> dict[str, Any]:
        """For the page."""
        return {
            "name": self.name, "title": self.title, "about": self.about, "points": [list(point) for point in self.points],
            "labels": list(self.labels), "names": list("ABCDEF"[: max(self.labels) + 1]), "box": list(self.box),
            "degree": self.degree,
        }  # fmt: skip


def presets() -> list[dict[str, Any]]:
    return [preset.told() for preset in PRESETS.values()]


def _drawn(name: str, title: str, about: str, draw: Draw, seed: int, degree: int = 1) -> Preset:
    points, labels = draw(np.random.RandomState(seed))  # whose numbers are the same in every version of NumPy
    order = np.random.RandomState(seed + 1).permutation(len(labels))
    rounded = (np.round(points[order], 3) + 0.0).tolist()
    return Preset(name, title, about, tuple((x, y) for x, y in rounded), tuple(labels[order].tolist()), degree=degree)


def _beside(rng: Any, n: int, gap: float) -> tuple[Any, Any]:
    """Points on both sides of a slanting line, none nearer to it than the gap."""
    normal, along = np.array([0.6, 0.8]), np.array([0.8, -0.6])
    labels = np.arange(n) % 2
    away = (gap + 0.62 * rng.beta(1.3, 1.7, n)) * (2 * labels - 1)
    return away[:, None] * normal + rng.uniform(-0.85, 0.85, n)[:, None] * along, labels


def _separable(rng: Any) -> tuple[Any, Any]:
    points, labels = _beside(rng, 60, 0.11)
    return points + np.array([0.12, 0.16]), labels


def _nearly(rng: Any) -> tuple[Any, Any]:
    points, labels = _beside(rng, 80, 0.08)
    for row, away in ((3, -0.16), (10, 0.2), (41, -0.3)):
        normal = np.array([0.6, 0.8])
        points[row] += (away - points[row] @ normal) * normal
        labels[row] = away < 0
    return points, labels


def _outlier(rng: Any) -> tuple[Any, Any]:
    points, labels = _beside(rng, 60, 0.3)
    normal, along = np.array([0.6, 0.8]), np.array([0.8, -0.6])
    points[7], labels[7] = -0.27 * normal - 0.1 * along, 1  # a hair from the others' nearest
    return points, labels


def _xor(rng: Any) -> tuple[Any, Any]:
    n = 80
    corners = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])[np.arange(n) % 4]
    return corners * rng.uniform(0.13, 0.98, (n, 2)), (np.arange(n) % 4) // 2


def _rings(rng: Any) -> tuple[Any, Any]:
    n = 100
    labels = np.arange(n) % 2
    angle, radius = (
        rng.uniform(0, 2 * np.pi, n),
        np.where(labels, rng.uniform(0.75, 1.05, n), 0.5 * np.sqrt(rng.uniform(0, 1, n))),
    )
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), labels


def _moons(rng: Any) -> tuple[Any, Any]:
    n = 100
    labels = np.arange(n) % 2
    angle = np.pi * rng.uniform(0.02, 0.98, n)
    radius = rng.uniform(0.56, 0.82, n)
    arc = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    upper, lower = arc - (0.35, 0.2), arc * (1.0, -1.0) + (0.35, 0.2)
    return np.where(labels[:, None] == 1, lower, upper), labels


def _around(rng: Any, classes: int, n: int, radius: float, spread: float, turn: float) -> tuple[Any, Any]:
    """Round clouds on a circle."""
    labels = np.arange(n) % classes
    angle = 2 * np.pi * (labels / classes + turn)
    away, way = spread * np.sqrt(rng.uniform(0, 1, n)), rng.uniform(0, 2 * np.pi, n)
    centres = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return centres + away[:, None] * np.column_stack([np.cos(way), np.sin(way)]), labels


def _three(rng: Any) -> tuple[Any, Any]:
    return _around(rng, 3, 75, 0.62, 0.42, 0.25)


def _six(rng: Any) -> tuple[Any, Any]:
    return _around(rng, 6, 108, 0.78, 0.3, 0.05)


PRESETS = {
    preset.name: preset
    for preset in (
        _drawn("separable", "Separable", "Two classes, and room for a line between them.", _separable, 22),
        _drawn("nearly", "Nearly separable", "Three points are on the wrong side: no line gets all right.", _nearly, 12),
        _drawn("xor", "XOR", "Opposite corners belong together: no line will do, a curve of degree 2 does.", _xor, 13, 2),
        _drawn("rings", "Rings", "One class around the other: no line will do, a circle (degree 2) does.", _rings, 14, 2),
        _drawn("moons", "Moons", "Two crescents in each other's arms: a curve of degree 3 parts them.", _moons, 15, 3),
        _drawn("outlier", "Outlier", "Separable, but because of one point only by a narrow margin.", _outlier, 16),
        _drawn("three", "Three classes", "Three clouds: one weight vector for each.", _three, 17),
        _drawn("six", "Six classes", "Six clouds on a circle, as many classes as the studio has colours.", _six, 18),
        Preset(
            "lecture", "Four patterns", "Small whole numbers: follow the perceptron with pencil and paper.",
            ((2, 1), (3, 0), (2, 2), (-2, 0)), (1, 1, 0, 0), (-3.0, 4.0, -3.0, 4.0),
        ),
    )
}  # fmt: skip
