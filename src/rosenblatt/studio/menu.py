"""The menu of algorithms: whatever is in the registry, with a sentence and its knobs."""

from __future__ import annotations

import inspect
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
        if name == "max_passes" and ended is not None and ended.reason == "passes":
            return model.n_iter_
    return value


@cache
def _knobs(algorithm: str) -> dict[str, Any]:
    return knobs_of(ALGORITHMS[algorithm])
