"""Curves of training: how the errors of a run change.

learning     the error of the current weights against the number of rows visited
passes       the training errors at the end of each pass, and the pocket: the hypothesis with the fewest errors of the run
mail_curve   the errors of a mail filter so far against the number of messages
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from ...array_types import FloatArray, IntArray
from ...kernels.linear.schemes import Rest
from ...online.pocket import pocket
from ..charts import Axis, Bars, Chart, Line, Mark, Marker, Rule, log_axis, nice_axis
from ..replay import EvaluationRows, choose_rows, count_curve_points, errors_along
from ..story import Facts, evenly, values_per_row
from ..text import count, join_and, percent, plural, short

# --- learning curve --------------------------------------------------------------------------------------------------------


MAX_POINTS = 64
MAX_PASSES_SHOWN = 150
# Passes up to which their updates are drawn as bars and their errors as dots.
MAX_PASSES_WITH_BARS = 60
# Multiply-adds up to which the pocket is computed: about half a second.
MAX_POCKET_WORK = 1.5e9
LOWEST_PERCENT = 0.01  # on the logarithmic axis, smaller values are drawn here
TICKS = ((LOWEST_PERCENT, f"{LOWEST_PERCENT:g} % or less"), *((10.0**power, f"{10.0**power:g} %") for power in range(-1, 3)))
# Attribute of a point, tone, and label of each line.
_LINES = (
    ("sm", "class1", "spam called ham"),
    ("hm", "class0", "ham called spam"),
    ("auc", "ink", "1 − AUC"),  # noqa: RUF001
)


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
    log = facts.log
    if log is None or not len(log) or not (facts.has_rows or facts.has_test):
        return None
    end = int(log.durations.max()) - log._record.visited_before
    visits = np.unique(np.geomspace(1, max(1, end), count_curve_points(log, MAX_POINTS)).round().astype(np.int64))
    made = log.times[log._record.edges[:-1]] - log._record.visited_before
    updates = np.searchsorted(made, visits, side="left")  # an update at time t is made when t + 1 rows were visited
    with_average = facts.story.estimator._keep in ("average", "vote")
    hypotheses, heads = len(visits) * (2 if with_average else 1), log._record.n_heads
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
    log = facts.log
    assert log is not None  # there is a curve
    steps = log._record.grouped or facts.story.estimator._order == "mistakes"
    unit = "steps made" if steps else "rows visited"
    marks: list[Mark] = []
    for p in () if steps else (1, 10, 100):
        end = log._record.n_visited * p
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
    return Chart("learning", "Learning curve", _learning_caption(curve, main, unit), tuple(marks), x, y)


def _line(curve: Curve, shares: FloatArray, tone: str, label: str, unit: str, thin: bool = False) -> Line:
    titles = [
        f"{label}: {percent(share)} wrong after {count(v)} {unit} and {plural(u, 'update')}"
        for share, v, u in zip(shares, curve.visits, curve.updates, strict=True)
    ]
    return Line(curve.visits.tolist(), (100.0 * shares).tolist(), tone, label, thin=thin, titles=() if thin else titles)


def _learning_caption(curve: Curve, main: FloatArray, unit: str) -> str:
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


# --- passes and the pocket -------------------------------------------------------------------------------------------------


class Passes(NamedTuple):
    """Errors of a run, pass by pass."""

    numbers: IntArray  # numbers of the passes shown
    errors: IntArray  # errors at the end of each pass
    updates: IntArray  # updates made until the end of each pass
    rows: int  # rows that were classified
    total: int  # all rows; `rows` may be a sample of them


class PocketPosition(NamedTuple):
    """The position of the pocket in the run."""

    errors: float
    update: int
    place: float  # position in passes: 6.4 is in the seventh pass


def errors_per_pass(facts: Facts) -> Passes | None:
    """Count the errors at the end of each pass, from the log or from the history; None without either."""
    log = facts.log
    if log is None or not log.passes or not facts.has_rows or facts.story.X is None:
        return _from_history(facts)
    shown = evenly(len(log.passes), count_curve_points(log, MAX_PASSES_SHOWN))
    entries = np.asarray(log.passes)[shown]
    updates = np.searchsorted(log._record.edges, entries)
    rows = choose_rows(facts.story.X, facts.codes, len(shown), log._record.n_heads, True)
    errors = errors_along(log, updates, updates, [rows])[0][:, 0]
    return Passes(shown + 1, errors, updates, rows.rows, rows.total)


def _from_history(facts: Facts) -> Passes | None:
    """Take the errors from the history that the run recorded."""
    history = [row for row in facts.story.history if row[2] is not None]
    if not history:
        return None
    some = [history[i] for i in evenly(len(history), MAX_PASSES_SHOWN)]
    rows = facts.story.X.shape[0] if facts.has_rows and facts.story.X is not None else 0
    numbers, updates, errors = (np.array([row[i] for row in some]) for i in range(3))
    return Passes(numbers, errors, updates, rows, rows)


def find_pocket(facts: Facts) -> PocketPosition | None:
    """Find the pocket of the run if that is cheap."""
    try:
        log = None if facts.log is None else facts.log._whole()
    except ValueError:  # the log has only the rows that moved the weights
        return None
    if log is None or not log.passes:
        return None
    problem = log._record.problem
    if isinstance(problem.labels, Rest) or problem.labels.weights.size:
        return None  # each class has its own pocket, or errors have weights
    if facts.story.X is None or problem.n_rows != facts.story.X.shape[0]:
        return None  # the rows are a sample
    work = log.n_updates * problem.n_rows * min(values_per_row(problem.matrix()), 200.0) * log._record.n_heads
    if work > MAX_POCKET_WORK:
        return None
    found = pocket(log)
    entry = int(log._record.edges[found.update])
    ends = [0, *log.passes]
    p = int(np.searchsorted(log.passes, entry))  # passes that had ended before
    if p == len(log.passes):
        return PocketPosition(found.errors, found.update, float(p))
    made = ends[p + 1] - ends[p]
    return PocketPosition(found.errors, found.update, p + ((entry - ends[p]) / made if made else 0.0))


def passes(facts: Facts) -> Chart | None:
    """Draw errors and updates pass by pass; None without a log and a history."""
    seen = errors_per_pass(facts)
    if seen is None:
        return None
    found = find_pocket(facts) if facts.has_rows else None
    errors = seen.errors * (seen.total / seen.rows if seen.rows else 1.0)
    marks: list[Mark] = [*_update_bars(seen, errors)]
    label = "errors at its end" if marks else ""
    titles = [f"pass {n}: {plural(e, 'error')} at its end" for n, e in zip(seen.numbers, errors, strict=True)]
    dots = len(errors) <= MAX_PASSES_WITH_BARS
    marks.append(Line(seen.numbers.tolist(), errors.tolist(), "training", label, dots=dots, titles=titles))
    kept = _pocket_errors(facts)
    if found is not None:
        marks.append(Marker(found.place, found.errors, f"pocket: {plural(found.errors, 'error')}", "test"))
    elif kept is not None:
        marks.append(Rule(y=kept, text=f"pocket: {plural(kept, 'error')}", tone="test"))
    tops = [errors.max(), *(float(max(mark.top)) for mark in marks if isinstance(mark, Bars))]
    x = nice_axis("pass", 0.0, float(seen.numbers[-1]), whole=True)
    x = Axis(x.label, x.low, x.high + 0.02 * x.high, tuple(tick for tick in x.ticks if tick[0] > 0))
    y_label = "rows" if isinstance(marks[0], Bars) else "training errors"
    y = nice_axis(y_label, 0.0, max(1.0, 1.06 * float(max(tops))), whole=True)
    return Chart(
        "passes", "Training errors, pass by pass", _passes_caption(facts, seen, errors, found, kept), tuple(marks), x, y
    )


def _pocket_errors(facts: Facts) -> float | None:
    """Return the errors of the estimator's pocket, if it has one for all classes together."""
    kept = getattr(facts.story.estimator, "pocket_errors_", None)
    return float(kept[0]) if kept is not None and len(kept) == 1 else None


def _update_bars(seen: Passes, errors: FloatArray) -> Iterator[Bars]:
    """Yield the updates of each pass as bars, if every pass is shown and they are not much higher than the errors."""
    made = np.diff(seen.updates, prepend=0)
    every_pass = len(seen.numbers) == int(seen.numbers[-1])
    if every_pass and len(made) <= MAX_PASSES_WITH_BARS and made.max() <= 4.0 * max(1.0, errors.max()):
        titles = [f"pass {n}: {plural(m, 'update')}" for n, m in zip(seen.numbers, made, strict=True)]
        low, high = (seen.numbers - 0.92).tolist(), (seen.numbers - 0.08).tolist()
        yield Bars(low, high, [0.0] * len(made), made.tolist(), "quiet", "updates made in the pass", titles, faint=True)


def _passes_caption(
    facts: Facts, seen: Passes, errors: FloatArray, pocket: PocketPosition | None, pocket_errors: float | None
) -> str:
    last, total = int(seen.numbers[-1]), seen.total
    share = f" ({percent(errors[-1] / total)} of the rows)" if total else ""
    which = "The only pass" if last == 1 else f"The last of {count(last)} passes"
    end = f"with {plural(errors[-1], 'training error')}{share}" if errors[-1] else "without a training error"
    keep = facts.story.estimator._keep
    caption = f"{which} ended {end}."
    if pocket is not None:
        inside = min(last, int(np.ceil(pocket.place)) or 1)
        what = "The pocket was" if keep == "pocket" else "The best weights of the run were"
        caption += (
            f" {what} found at update {count(pocket.update)} with {plural(pocket.errors, 'error')},"
            f" in pass {count(inside)} of {count(last)}."
        )
    elif pocket_errors is not None:
        caption += f" The pocket contains the weights with the fewest errors, {count(pocket_errors)}."
    if keep == "average" and facts.has_rows:
        wrong = int((facts.predicted != facts.codes).sum())
        caption += f" The average, which is the model, makes {plural(wrong, 'error')}."
    if seen.rows < seen.total:
        caption += f" Errors are estimated from an even sample of {count(seen.rows)} rows."
    return caption


# --- mail filter -----------------------------------------------------------------------------------------------------------


class Point(Protocol):
    """Errors in percent over the first `messages` messages, as in `mail/evaluation.py`; NaN if undefined."""

    @property
    def messages(self) -> int: ...
    @property
    def hm(self) -> float: ...
    @property
    def sm(self) -> float: ...
    @property
    def auc(self) -> float: ...


def mail_curve(points: Iterable[Point]) -> Chart:
    """Draw the curve; raise ValueError if no point has a defined value."""
    points = list(points)
    marks: list[Mark] = []
    highest = 1.0
    for name, tone, label in _LINES:
        known = [(point.messages, getattr(point, name)) for point in points if math.isfinite(getattr(point, name))]
        if not known:
            continue
        titles = [f"{label}: {short(value)} % of the first {count(messages)} mails" for messages, value in known]
        values = [max(value, LOWEST_PERCENT) for _, value in known]
        lengths = [float(messages) for messages, _ in known]
        marks.append(Line(lengths, values, tone, label, dots=len(known) == 1, titles=titles))
        highest = max(highest, *values)
    if not marks:
        raise ValueError("the plot 'mail' needs both ham and spam")
    first, last = float(min(point.messages for point in points)), float(points[-1].messages)
    few = last < 10 * first  # a logarithmic axis would have almost no ticks
    x = nice_axis("mails so far", first, last, whole=True) if few else log_axis("mails so far", first, last)
    y = Axis("wrong so far", LOWEST_PERCENT, highest, tuple(tick for tick in TICKS if tick[0] <= highest), log=True, unit="%")
    return Chart("mail", "Learning curve of the filter", _mail_caption(points[-1]), tuple(marks), x, y)


def _mail_caption(last: Point) -> str:
    start = f"Every mail was classified before it was learned. Of {count(last.messages)} mails"
    parts = [
        f"{short(value)} % of the {kind} was called {other}"
        for value, kind, other in ((last.hm, "ham", "spam"), (last.sm, "spam", "ham"))
        if math.isfinite(value)
    ]
    ranked = f"; a ham scored above a spam in {short(last.auc)} % of pairs" if math.isfinite(last.auc) else ""
    return f"{start}, {join_and(parts)}{ranked}."
