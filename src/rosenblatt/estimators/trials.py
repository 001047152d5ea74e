"""The results of a search: what was tried, and the choice among it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..array_types import BoolArray, FloatArray
from ..reporting.text import percent, short

PATH_PARAMETER = "C"
LARGEST_COST = 1e300  # in place of infinity, for distances on a path
NEAR_RATIO = 10.0  # of neighbors on a path, up to which their losses are averaged


@dataclass(frozen=True)
class Trial:
    """The result of one candidate.

    Attributes
    ----------
    parameters : dict
        The parameters that were tried.
    losses : tuple of float
        The share of wrong rows of each fold, or the negated score.
    seconds : float
        The time of its fits and tests.
    """

    parameters: dict[str, Any]
    losses: tuple[float, ...]
    seconds: float

    @property
    def loss(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.losses))


def smoothed(trials: Sequence[Trial]) -> FloatArray:
    """Return the mean losses, averaged along each path with those of near neighbors: 1/4, 1/2, 1/4.

    Costs that differ by more than a factor of ten are no neighbors: they differ in truth. The errors of near ones differ by
    chance: their mean chose models with slightly fewer errors, see docs/tuning.md.
    """
    losses = np.array([trial.loss for trial in trials])
    paths: dict[str, list[int]] = {}
    for place, trial in enumerate(trials):
        rest = {name: value for name, value in trial.parameters.items() if name != PATH_PARAMETER}
        paths.setdefault(repr(rest), []).append(place)
    found = losses.copy()
    for places in paths.values():
        if len(places) > 1 and PATH_PARAMETER in trials[places[0]].parameters:
            costs = np.array([min(trials[place].parameters[PATH_PARAMETER], LARGEST_COST) for place in places])
            near = abs(np.diff(np.log(costs))) <= math.log(NEAR_RATIO) + 1e-9
            found[places] = _with_neighbors(losses[places], near) / _with_neighbors(np.ones(len(places)), near)
    return found


def _with_neighbors(line: FloatArray, near: BoolArray) -> FloatArray:
    """Twice each number and its near neighbors; `near`: whether a number is near to the next."""
    total: FloatArray = 2.0 * line
    total[:-1] += np.where(near, line[1:], 0.0)
    total[1:] += np.where(near, line[:-1], 0.0)
    return total


def best(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the smallest smoothed loss; of equals the one with C nearest to 1, the default, or the first."""
    losses = np.round(smoothed(trials), 12)
    equal = [trial for trial, loss in zip(trials, losses.tolist(), strict=True) if loss == losses.min()]
    return min(equal, key=_distance_from_default)


def _distance_from_default(trial: Trial) -> float:
    return abs(math.log(min(trial.parameters.get(PATH_PARAMETER, 1.0), LARGEST_COST)))


def describe(parameters: Mapping[str, Any]) -> str:
    """Return parameters as they are written in a call.

    >>> describe({"loss": "logistic", "C": 0.30000000000000004})
    "loss='logistic', C=0.3"
    """
    return ", ".join(
        f"{name}={short(value, 6) if isinstance(value, float) else repr(value)}" for name, value in parameters.items()
    )


def _result(loss: float, scored: bool) -> str:
    if math.isinf(loss):
        return "not fitted"
    return short(-loss) if scored else percent(loss)


def effects(trials: Sequence[Trial], *, scored: bool = False) -> list[str]:
    """Return, for each parameter that varies, its values and the best result of the trials with each: an error, or a score.

    >>> effects([Trial({"keep": "last"}, (0.2,), 0.0), Trial({"keep": "average"}, (0.1,), 0.0)])
    ["keep: 'last' 20.0 %, 'average' 10.0 %"]
    """
    lines = []
    for name in trials[0].parameters if trials else ():
        least: dict[str, float] = {}
        for trial in trials:
            value = describe({name: trial.parameters[name]}).partition("=")[2]
            least[value] = min(trial.loss, least.get(value, math.inf))
        if len(least) > 1:
            results = (f"{value} {_result(loss, scored)}" for value, loss in least.items())
            lines.append(f"{name}: {', '.join(results)}")
    return lines
