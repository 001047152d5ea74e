"""The menu of algorithms, made from the catalog, and the entry that belongs to a fitted model."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..catalog import ALGORITHMS, Algorithm
from .knobs import EXTRA_KNOBS, MAX_UPDATES, knobs_of


class MenuText(NamedTuple):
    """Group and one-line summary of an algorithm in the menu."""

    group: str
    summary: str


PERCEPTRON, PASSIVE_AGGRESSIVE, MARGINS, LEAST_SQUARES = "Perceptron", "Passive-aggressive", "Widest margins", "Least squares"

# By name of the algorithm in the catalog; algorithms without an entry get the first line of their docstring.
MENU_TEXTS = {
    "perceptron": MenuText(
        PERCEPTRON,
        "Look at the points one by one. If one is on the wrong side, add it to w (class B) or subtract it (class A). "
        "Stop when none is wrong.",
    ),
    "pocket": MenuText(PERCEPTRON, "The perceptron; the line with the fewest errors so far is kept."),
    "average": MenuText(PERCEPTRON, "The perceptron; the result is the mean of the weights over all visited points."),
    "vote": MenuText(
        PERCEPTRON, "The perceptron; all lines of the run vote, and a line that survived more points counts more."
    ),
    "margin": MenuText(PERCEPTRON, "The perceptron; a point triggers an update unless it is right by more than a margin b."),
    "batch": MenuText(PERCEPTRON, "All misclassified points at once: each update adds their sum to the weights."),
    "batch-mean": MenuText(
        PERCEPTRON, "All misclassified points at once: each update adds their sum, divided by the number of points."
    ),
    "mistakes": MenuText(PERCEPTRON, "The perceptron; each update uses a misclassified point drawn at random."),
    "pa": MenuText(PASSIVE_AGGRESSIVE, "The smallest step that gives the point a margin of 1."),
    "pa-1": MenuText(PASSIVE_AGGRESSIVE, "The smallest step that gives the point a margin of 1, with a factor of at most C."),
    "pa-2": MenuText(PASSIVE_AGGRESSIVE, "A step toward a margin of 1; a smaller C makes it shorter."),
    "arow": MenuText(PASSIVE_AGGRESSIVE, "Every weight has a variance; weights of rarely seen features move farther."),
    "max-margin": MenuText(MARGINS, "The line with the largest distance to the nearest points, if one separates them."),
    "soft-margin": MenuText(MARGINS, "A wide margin, with a cost C for every point inside it or on the wrong side."),
    "linear-mse": MenuText(LEAST_SQUARES, "The line whose scores are closest to −1 and +1 in the sum of squares."),
    "ridge": MenuText(LEAST_SQUARES, "Least squares with an additional cost for long weight vectors."),
    "nonlinear-mse": MenuText(LEAST_SQUARES, "Least squares of tanh(score): points far on the right side cost nothing."),
    "logistic-mse": MenuText(LEAST_SQUARES, "Least squares of the logistic function of the score, with targets 0 and 1."),
    "nonlinear-mse-online": MenuText(LEAST_SQUARES, "Least squares of tanh(score), by a small step for each point."),
    "nonlinear-mse-batch": MenuText(LEAST_SQUARES, "Least squares of tanh(score), by gradient steps over all points."),
}


def menu() -> list[dict[str, Any]]:
    """Return all algorithms for the page, in the order of the catalog."""
    return [_entry(name, algorithm) for name, algorithm in ALGORITHMS.items()]


def _entry(name: str, algorithm: Algorithm) -> dict[str, Any]:
    text = MENU_TEXTS.get(name) or MenuText(algorithm.name, _docstring_summary(algorithm))
    return {
        "name": name,
        "title": algorithm.title,
        "group": text.group,
        "estimator": algorithm.name,
        "summary": text.summary,
        "logged": algorithm.online,
        "keep": algorithm.options.get("keep") if algorithm.online else None,
        "knobs": [knob.to_json() for knob in knobs_of(algorithm).values()],
    }


def _docstring_summary(algorithm: Algorithm) -> str:
    return (inspect.getdoc(algorithm.estimator) or algorithm.title).splitlines()[0]


def algorithm_of(model: Any) -> str:
    """Return the name of a fitted model's algorithm: the most specific catalog entry that its parameters match."""
    given = model.get_params(deep=False)
    matches = [
        name
        for name, entry in ALGORITHMS.items()
        if entry.name == type(model).__name__ and all(given[key] == value for key, value in _fixed_choices(entry).items())
    ]
    if not matches:
        raise ValueError(f"the studio has no algorithm for a {type(model).__name__} with these parameters")
    return max(matches, key=lambda name: len(_fixed_choices(ALGORITHMS[name])))


def _fixed_choices(algorithm: Algorithm) -> dict[str, str]:
    """Return the parameters that the catalog fixes to a string."""
    return {name: value for name, value in algorithm.parameters.items() if isinstance(value, str)}


def knobs_set(model: Any) -> dict[str, Any]:
    """Return a model's parameters as knobs that differ from the defaults of the page.

    "auto" becomes the value that was used, and no limit of updates becomes the maximum that the page plays.
    """
    found, given = {}, model.get_params(deep=False)
    for name, knob in _knobs(algorithm_of(model)).items():
        value = _resolve(model, name, given.get(name))
        plain = name not in EXTRA_KNOBS and isinstance(value, bool | int | float | str | None) and value != "auto"
        if plain and value != knob.default and (value is not None or knob.optional):
            found[name] = value
    return found | _first_weights(given)


def _first_weights(given: dict[str, Any]) -> dict[str, Any]:
    """Return an `init` array as knobs: the weights of all heads in one list, each with weight 0 first."""
    if not isinstance(given.get("init"), np.ndarray):
        return {}
    start = np.atleast_2d(given["init"])
    start = start if given["fit_intercept"] else np.column_stack([np.zeros(len(start)), start])
    return {"init": "given", "start": start.ravel().tolist()}


def _resolve(model: Any, name: str, value: Any) -> Any:
    """Return the value of a parameter that was used."""
    if name == "max_updates":
        return MAX_UPDATES if value is None else min(value, MAX_UPDATES)
    if isinstance(value, str) and value == "auto":
        if name == "margin":
            return vars(model).get("_margin_used", value)
        stop = vars(model).get("stop_")
        if name == "max_iter" and stop is not None and stop.reason == "passes":
            return model.n_iter_
    return value


@cache
def _knobs(algorithm: str) -> dict[str, Any]:
    return knobs_of(ALGORITHMS[algorithm])
