"""Training errors at the end of each pass, and the pocket: the hypothesis with the fewest errors of the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...array_types import FloatArray, IntArray
from ...kernels.linear.schemes import Rest
from ...online.pocket import pocket
from ..charts import Axis, Bars, Chart, Line, Mark, Marker, Rule, nice_axis
from ..replay import choose_rows, count_curve_points, errors_along
from ..story import Facts, evenly, values_per_row
from ..text import count, percent, plural

MAX_PASSES_SHOWN = 150
# Passes up to which their updates are drawn as bars and their errors as dots.
MAX_PASSES_WITH_BARS = 60
# Multiply-adds up to which the pocket is computed: about half a second.
MAX_POCKET_WORK = 1.5e9


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
    log = facts.story.estimator._update_log
    if log is None or not log.passes or not facts.has_rows or facts.story.X is None:
        return _from_history(facts)
    shown = evenly(len(log.passes), count_curve_points(log, MAX_PASSES_SHOWN))
    entries = np.asarray(log.passes)[shown]
    updates = np.searchsorted(log.record.edges, entries)
    rows = choose_rows(facts.story.X, facts.codes, len(shown), log.record.n_heads, True)
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
    log = facts.story.estimator._update_log
    if log is None or log.is_compact or not log.passes:
        return None
    problem = log.record.problem
    if isinstance(problem.labels, Rest) or problem.labels.weights.size:
        return None  # each class has its own pocket, or errors have weights
    if facts.story.X is None or problem.n_rows != facts.story.X.shape[0]:
        return None  # the rows are a sample
    work = log.n_updates * problem.n_rows * min(values_per_row(problem.matrix()), 200.0) * log.record.n_heads
    if work > MAX_POCKET_WORK:
        return None
    found = pocket(log)
    entry = int(log.record.edges[found.update])
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
    return Chart("passes", "Training errors, pass by pass", _caption(facts, seen, errors, found, kept), tuple(marks), x, y)


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


def _caption(facts: Facts, seen: Passes, errors: FloatArray, pocket: PocketPosition | None, pocket_errors: float | None) -> str:
    last, total = int(seen.numbers[-1]), seen.total
    share = f" ({percent(errors[-1] / total)} of the rows)" if total else ""
    which = "The only pass" if last == 1 else f"The last of {count(last)} passes"
    end = f"with {plural(errors[-1], 'training error')}{share}" if errors[-1] else "without a training error"
    keep = facts.story.estimator.keep
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
