"""The learning curve: the error of the current weights against the number of rows visited."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ..charts import Chart, Line, Mark, Rule, log_axis, nice_axis
from ..replay import EvaluationRows, choose_rows, count_curve_points, errors_along
from ..story import Facts
from ..text import count, join_and, percent, plural

MAX_POINTS = 64


class Curve(NamedTuple):
    """Errors along a run, on the training rows and on the test rows."""

    visits: IntArray  # rows visited (batch: steps made)
    updates: IntArray  # updates made by then
    last: FloatArray  # error of the current weights, points x sets
    average: FloatArray | None  # error of the average so far
    sets: list[EvaluationRows]
    names: list[str]


def learning_curve(facts: Facts) -> Curve | None:
    """Compute the curve; None without a log or without rows."""
    log = facts.story.estimator._update_log
    if log is None or not len(log) or not (facts.has_rows or facts.has_test):
        return None
    end = int(log.durations.max()) - log.record.visited_before
    visits = np.unique(np.geomspace(1, max(1, end), count_curve_points(log, MAX_POINTS)).round().astype(np.int64))
    made = log.times[log.record.edges[:-1]] - log.record.visited_before
    updates = np.searchsorted(made, visits, side="left")  # an update at time t is made when t + 1 rows were visited
    with_average = facts.story.estimator.keep in ("average", "vote")
    hypotheses, heads = len(visits) * (2 if with_average else 1), log.record.n_heads
    sets, names = [], []
    if facts.has_rows:
        sets.append(choose_rows(facts.story.X, facts.codes, hypotheses, heads, True))
        names.append("training")
    if facts.has_test:
        sets.append(choose_rows(facts.story.X_test, facts.codes_test, hypotheses, heads, False))
        names.append("test")
    rows = np.array([each.rows for each in sets])
    last, average = errors_along(log, updates, visits, sets, with_average)
    return Curve(visits, updates, last / rows, None if average is None else average / rows, sets, names)


def learning(facts: Facts) -> Chart | None:
    """Draw the learning curve; None without a log or without rows."""
    curve = learning_curve(facts)
    if curve is None:
        return None
    log = facts.story.estimator.log_
    steps = log.record.grouped or facts.story.estimator.order == "mistakes"
    unit = "steps made" if steps else "rows visited"
    marks: list[Mark] = []
    for p in () if steps else (1, 10, 100):
        end = log.record.problem.n_visited * p
        if end <= curve.visits[-1]:
            marks.append(Rule(x=float(end), text=f"pass {p}"))
    main = curve.last if curve.average is None else curve.average
    if curve.average is not None:
        n = len(curve.names) - 1
        marks.append(_line(curve, curve.last[:, n], "quiet", f"current weights, {curve.names[n]}", unit, thin=True))
    for n, name in enumerate(curve.names):
        label = name if curve.average is None else f"average, {name}"
        marks.append(_line(curve, main[:, n], name, label, unit))
    top = float(np.quantile(np.concatenate([main.ravel(), curve.last.ravel()]), 0.98)) * 1.08
    x = log_axis(unit, 1.0, float(curve.visits[-1]))
    y = nice_axis("rows wrong", 0.0, 100.0 * max(top, 0.01), unit="%")
    return Chart("learning", "Learning curve", _caption(curve, main, unit), tuple(marks), x, y)


def _line(curve: Curve, shares: FloatArray, tone: str, label: str, unit: str, thin: bool = False) -> Line:
    titles = [
        f"{label}: {percent(share)} wrong after {count(v)} {unit} and {plural(u, 'update')}"
        for share, v, u in zip(shares, curve.visits, curve.updates, strict=True)
    ]
    return Line(curve.visits.tolist(), (100.0 * shares).tolist(), tone, label, thin=thin, titles=() if thin else titles)


def _caption(curve: Curve, main: FloatArray, unit: str) -> str:
    ends = join_and([f"{percent(main[-1, n])} of the {name} rows" for n, name in enumerate(curve.names)])
    nearly_there = main[:, 0] <= main[-1, 0] + 0.1 * max(0.0, main[0, 0] - main[-1, 0])
    reached = int(np.flatnonzero(nearly_there)[0])
    weights = "current weights" if curve.average is None else "average of all weights"
    sentence = f"At the end, the {weights} misclassified {ends}"
    if 0 < reached < len(curve.visits) - 1:
        sentence += f"; nine tenths of the improvement was reached after {count(curve.visits[reached])} {unit}"
    notes = [
        f"{name} errors are counted on an even sample of {count(each.rows)} of {count(each.total)} rows"
        for name, each in zip(curve.names, curve.sets, strict=True)
        if each.sampled
    ]
    return f"{sentence}." + (f" To save time, {join_and(notes)}." if notes else "")
