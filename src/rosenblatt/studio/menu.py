"""The menu of algorithms, made from the catalog, and the entry that belongs to a fitted model."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..catalog import ALGORITHMS, Algorithm
from ..estimators.base import LinearClassifier
from .knobs import EXTRA_KNOBS, MAX_UPDATES, knobs_of


def menu() -> list[dict[str, Any]]:
    """Return all algorithms for the page, in the order of the catalog."""
    return [_entry(name, algorithm) for name, algorithm in ALGORITHMS.items()]


def _entry(name: str, algorithm: Algorithm) -> dict[str, Any]:
    return {
        "name": name,
        "title": algorithm.title,
        "group": algorithm.entry.group,
        "estimator": algorithm.name,
        "summary": algorithm.summary,
        "logged": algorithm.logged,
        "margin": algorithm.entry.margin,
        "keep": algorithm.options.get("keep") if algorithm.logged else None,
        "knobs": [knob.to_json() for knob in knobs_of(algorithm).values()],
    }


def algorithm_of(model: LinearClassifier) -> str:
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


def knobs_set(model: LinearClassifier) -> dict[str, Any]:
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


def _resolve(model: LinearClassifier, name: str, value: Any) -> Any:
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
