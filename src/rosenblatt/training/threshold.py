"""The threshold between two classes: given as a probability, or chosen for a cost, an F-measure, a precision or a recall.

Problem    a plane puts its threshold where it makes few errors, which is not where they cost least.
Update     each row is scored by a model that has not seen it, by cross-fitting; of all thresholds between two scores, the one
           that serves the goal best is taken, and of equals the one nearest to that of the fit. The plane is then shifted, so
           that scores, explanations and exports need no rule of their own.
Guarantee  on the cross-fitted scores no threshold serves the goal better. Probabilities stay those of the unshifted plane.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..array_types import BoolArray, FloatArray, IntArray
from ..estimators.base import LinearClassifier
from ..estimators.calibration import cross_fitted_scores
from ..probabilities.maps import ProbabilityMap
from ..reporting.text import percent, quoted_list, short
from .metrics import wilson
from .preparation import Prepared

FORMS = "a probability such as 0.3, cost=10:1, f1, f2, precision=0.9 or recall=0.95"
F_MEASURE = re.compile(r"f(\d+\.?\d*|\.\d+)")
BISECTIONS = 200
LARGEST_SCORE = 1e6  # where every map ends; a shift by much more would round the scores


@dataclass(frozen=True)
class Goal:
    """What a threshold is chosen for.

    Parameters
    ----------
    kind : {"probability", "cost", "f", "precision", "recall"}
        "probability": predict the positive class from this probability on. "cost": the least cost, if a missed row of it costs
        the first number and a false alarm the second. "f": the greatest F-measure of this beta. "precision", "recall": at least
        so much of it, and the most of the other.
    numbers : tuple of float

    Examples
    --------
    >>> Goal.parse("cost=10:1"), Goal.parse("f2")
    (Goal(kind='cost', numbers=(10.0, 1.0)), Goal(kind='f', numbers=(2.0,)))
    """

    kind: Literal["probability", "cost", "f", "precision", "recall"]
    numbers: tuple[float, ...]

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Read a goal as it is written on the command line."""
        name, _, rest = text.strip().lower().partition("=")
        try:
            if not rest and F_MEASURE.fullmatch(name):
                return cls("f", (_positive(name[1:], "the beta of an F-measure"),))
            if not rest:
                return cls("probability", (_share(name, "a threshold"),))
            if name == "cost":
                missed, _, alarm = rest.partition(":")
                return cls("cost", (_positive(missed, "a cost"), _positive(alarm or "1", "a cost")))
            if name == "precision":
                return cls("precision", (_share(rest, "a precision"),))
            if name == "recall":
                return cls("recall", (_share(rest, "a recall"),))
        except _NotANumberError:
            pass
        raise ValueError(f"--threshold must be {FORMS}, got {text!r}")

    def values(self, hits: FloatArray, alarms: FloatArray, positives: float) -> FloatArray:
        """How well thresholds serve the goal, from their hits and false alarms: greater is better."""
        first = self.numbers[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            precision, recall = np.where(hits + alarms > 0, hits / (hits + alarms), 0.0), hits / positives
        found: FloatArray
        if self.kind == "cost":
            found = -(first * (positives - hits) + self.numbers[1] * alarms)
        elif self.kind == "f":
            square = first * first
            found = (1.0 + square) * hits / (square * positives + hits + alarms)
        elif self.kind == "precision":
            found = np.where(precision >= first, recall, precision - 2.0)
        else:
            found = np.where(recall >= first, precision, recall - 2.0)
        return found

    def cost(self, missed: int, alarms: int) -> float:
        """The cost of missed rows and false alarms, if costs are the goal."""
        return self.numbers[0] * missed + self.numbers[1] * alarms

    def missed(self, hits: int, alarms: int, positives: int) -> float | None:
        """The precision or recall on a test, if it is below the goal by more than chance; None if the goal is reached."""
        if self.kind not in ("precision", "recall"):
            return None
        rows = hits + alarms if self.kind == "precision" else positives
        return hits / rows if rows and wilson(hits, rows)[1] < self.numbers[0] else None

    def describe(self, hits: float, alarms: float, positives: float) -> str:
        """What a threshold reaches, in words."""
        precision, recall = hits / (hits + alarms) if hits + alarms else 0.0, hits / positives
        reached = f"precision {percent(precision)}, recall {percent(recall)}"
        if self.kind == "cost":
            missed, alarm = (short(number) for number in self.numbers)
            total = short(-float(self.values(np.array([hits]), np.array([alarms]), positives)[0]))
            return f"the least cost, {total}, at {missed} for a missed row and {alarm} for a false alarm ({reached})"
        if self.kind == "f":
            value = float(self.values(np.array([hits]), np.array([alarms]), positives)[0])
            return f"the greatest F{short(self.numbers[0])}, {short(value)} ({reached})"
        other = "recall" if self.kind == "precision" else "precision"
        within = (precision if self.kind == "precision" else recall) >= self.numbers[0]
        wanted = f"the highest {other} with a {self.kind} of at least {percent(self.numbers[0])}"
        return f"{wanted} ({reached})" if within else f"the highest {self.kind}, because {wanted} is out of reach ({reached})"


class _NotANumberError(ValueError):
    pass


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _NotANumberError from None


def _positive(text: str, what: str) -> float:
    value = _number(text)
    if not 0.0 < value < float("inf"):
        raise ValueError(f"--threshold: {what} must be more than 0, got {text}")
    return value


def _share(text: str, what: str) -> float:
    value = _number(text)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"--threshold: {what} must be from 0 to 1, got {text}")
    return value


def best_threshold(goal: Goal, scores: FloatArray, positive: BoolArray) -> tuple[float, str]:
    """Return the threshold above which rows are predicted positive, and what it reaches on these rows."""
    order = np.argsort(-scores, kind="stable")
    ranked, hit = scores[order], positive[order]
    ends = np.append(np.flatnonzero(ranked[:-1] > ranked[1:]), len(ranked) - 1) + 1  # rows above each threshold
    above = np.concatenate([[0], ends])
    hits = np.concatenate([[0.0], np.cumsum(hit)[ends - 1]])
    values = goal.values(hits, above - hits, float(positive.sum()))
    over, under = ranked[ends[:-1] - 1], ranked[ends[:-1]]
    middle = under + (over - under) / 2.0
    middle = np.where(middle < over, middle, under)  # between neighbors there is no other number
    thresholds = np.concatenate([[ranked[0] + 1.0], middle, [ranked[-1] - 1.0]])
    best = np.flatnonzero(values == values.max())
    place = best[np.argmin(np.abs(thresholds[best]))]
    return float(thresholds[place]), goal.describe(float(hits[place]), float(above[place] - hits[place]), float(positive.sum()))


def apply_threshold(estimator: LinearClassifier, goal: Goal, prepared: Prepared, positive: str | None, seed: int) -> str:
    """Shift the plane of a fitted estimator of two classes to the threshold of a goal, and return a note about it.

    `positive` is the label of the positive class; by default, it is the one with fewer training rows.
    """
    code = positive_code(prepared, positive)
    sign, label = (1.0 if code == 1 else -1.0), repr(str(prepared.classes.tolist()[code]))
    if "coef_" not in estimator.__dict__:
        raise ValueError("--threshold shifts a plane, which a vote does not have: use --algorithm average")
    found = estimator._probability_map
    if goal.kind == "probability":
        if found is None:
            raise ValueError(
                "--threshold as a probability needs probabilities: add --calibrate sigmoid, or use --algorithm logistic"
            )
        threshold, reached = _score_of(found, goal.numbers[0], code), f"probability {short(goal.numbers[0], 6)}"
        threshold *= sign
    else:
        scores = cross_fitted_scores(estimator, prepared.X, prepared.codes, None, seed)[:, 0]
        threshold, reached = best_threshold(goal, sign * scores, prepared.codes == code)
        reached += " on cross-fitted training rows"
    estimator.intercept_ = estimator.intercept_ - sign * threshold
    estimator._offset = sign * threshold
    place = ""
    if found is not None and goal.kind != "probability":
        place = f" from probability {short(float(found.probabilities(np.array([[sign * threshold]]))[0, code]))} on"
    return (
        f"{label} is predicted{place} for {reached}."
        if goal.kind != "probability"
        else f"{label} is predicted from {reached} on."
    )


def positive_code(prepared: Prepared, positive: str | None) -> int:
    """The class code of the positive label; by default of the class with fewer training rows, of equal ones the second."""
    names = [str(label) for label in prepared.classes.tolist()]
    if len(names) != 2:
        raise ValueError(f"--threshold needs two classes, and the file has {len(names)}: {quoted_list(names)}")
    if positive is not None:
        if positive not in names:
            raise ValueError(f"--positive must be {' or '.join(map(repr, names))}, got {positive!r}")
        return names.index(positive)
    sizes: IntArray = np.bincount(prepared.codes, minlength=2)
    return 0 if sizes[0] < sizes[1] else 1


def _score_of(found: ProbabilityMap, probability: float, code: int) -> float:
    """The score, signed toward the class, from which on the class has at least a probability."""
    sign = 1.0 if code == 1 else -1.0

    def reached(score: float) -> bool:
        return bool(found.probabilities(np.array([[sign * score]]))[0, code] >= probability)

    low, high = -1.0, 1.0
    while reached(low) and low > -LARGEST_SCORE:
        low *= 4.0
    while not reached(high) and high < LARGEST_SCORE:
        high *= 4.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if reached(middle) else (middle, high)
    return low
