"""The learning curve: the share of rows that the hypothesis at hand gets wrong, after more and more rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..charts import Chart, Line, Mark, Rule, log_axis, nice_axis
from ..replay import Judges, affordable, errors_along, judges
from ..story import Facts
from ..text import count, join_and, percent, plural

POINTS = 64


class Curve(NamedTuple):
    visits: Any  # rows visited (batch: steps made)
    updates: Any  # updates made by then
    last: Any  # shares of errors of the last weights, points x sets
    average: Any | None  # of the average so far
    sets: list[Judges]
    names: list[str]


def learning_curve(facts: Facts) -> Curve | None:
    """None where there is no log or nothing to judge."""
    log = getattr(facts.story.estimator, "log_", None)
    if log is None or not len(log) or not (facts.has_rows or facts.has_test):
        return None
    end = int(log.durations.max()) - log._visited_before
    visits = np.unique(np.geomspace(1, max(1, end), affordable(log, POINTS)).round().astype(np.int64))
    made = log.times[log._edges[:-1]] - log._visited_before
    updates = np.searchsorted(made, visits, side="left")  # an update at time t is made when t + 1 rows were visited
    averaged = facts.votes or getattr(facts.story.estimator, "keep", "") == "average"
    hypotheses, heads = len(visits) * (2 if averaged else 1), len(log._start.bias)
    sets, names = [], []
    if facts.has_rows:
        sets.append(judges(facts.story.X, facts.codes, hypotheses, heads, True))
        names.append("training")
    if facts.has_test:
        sets.append(judges(facts.story.X_test, facts.codes_test, hypotheses, heads, False))
        names.append("test")
    rows = np.array([each.rows for each in sets])
    last, average = errors_along(log, updates, visits, sets, averaged)
    return Curve(visits, updates, last / rows, average / rows if averaged else None, sets, names)


def learning(facts: Facts) -> Chart | None:
    curve = learning_curve(facts)
    if curve is None:
        return None
    log = facts.story.estimator.log_
    steps = log._grouped or getattr(facts.story.estimator, "order", "") == "mistakes"
    unit = "steps made" if steps else "rows visited"
    marks: list[Mark] = []
    pass_ends = (
        [] if steps else [log._problem.n_visited * p for p in (1, 10, 100) if log._problem.n_visited * p <= curve.visits[-1]]
    )
    for p, end in zip((1, 10, 100), pass_ends, strict=False):
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
    y = nice_axis("rows wrong", 0.0, 100.0 * max(top, 0.01), words=" %")
    return Chart("learning", "Learning curve", _caption(curve, main, unit), tuple(marks), x, y)


def _line(curve: Curve, shares: Any, tone: str, label: str, unit: str, thin: bool = False) -> Line:
    titles = [
        f"{label}: {percent(share)} wrong after {count(v)} {unit} and {plural(u, 'update')}"
        for share, v, u in zip(shares, curve.visits, curve.updates, strict=True)
    ]
    return Line(curve.visits.tolist(), (100.0 * shares).tolist(), tone, label, thin=thin, titles=() if thin else titles)


def _caption(curve: Curve, main: Any, unit: str) -> str:
    ends = join_and([f"{percent(main[-1, n])} of the {name} rows" for n, name in enumerate(curve.names)])
    who = "The average of all weights so far" if curve.average is not None else "The weights of the moment"
    half = main[:, 0] <= main[-1, 0] + 0.1 * max(0.0, main[0, 0] - main[-1, 0])
    reached = int(np.flatnonzero(half)[0])
    sentence = f"{who} ends with {ends} wrong" if curve.average is not None else f"{who} end with {ends} wrong"
    if 0 < reached < len(curve.visits) - 1:
        sentence += f"; nine tenths of the way there was made in the first {count(curve.visits[reached])} {unit}"
    notes = [
        f"{name} errors are counted on an even sample of {count(each.rows)} of {count(each.total)} rows"
        for name, each in zip(curve.names, curve.sets, strict=True)
        if each.sampled
    ]
    return f"{sentence}." + (f" To save time, {join_and(notes)}." if notes else "")
