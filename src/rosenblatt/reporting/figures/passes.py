"""Training errors at the end of each pass, and the pocket: the hypothesis that had the fewest of all."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...kernels.linear.schemes import Rest
from ...online.pocket import pocket
from ..charts import Axis, Bars, Chart, Line, Mark, Marker, Rule, nice_axis
from ..replay import affordable, errors_along, judges
from ..story import Facts, density, evenly
from ..text import count, percent, plural

MOST = 150
# Multiply-adds that looking for the pocket may take: about half a second.
POCKET_WORK = 1.5e9


class Passes(NamedTuple):
    numbers: Any  # of the passes shown
    errors: Any  # at their ends
    updates: Any  # updates made up to their ends
    rows: int  # that were judged
    total: int


class Found(NamedTuple):
    errors: float
    update: int
    place: float  # in passes: 6.4 is in the seventh


def errors_per_pass(facts: Facts) -> Passes | None:
    log = getattr(facts.story.estimator, "log_", None)
    if log is None or not log.passes or not facts.has_rows:
        return _told(facts)
    shown = evenly(len(log.passes), affordable(log, MOST))
    entries = np.asarray(log.passes)[shown]
    updates = np.searchsorted(log._edges, entries)
    rows = judges(facts.story.X, facts.codes, len(shown), len(log._start.bias), True)
    errors = errors_along(log, updates, updates, [rows])[0][:, 0]
    return Passes(shown + 1, errors, updates, rows.rows, rows.total)


def _told(facts: Facts) -> Passes | None:
    """From the history that the run itself kept."""
    history = [row for row in facts.story.history if row[2] is not None]
    if not history:
        return None
    some = [history[i] for i in evenly(len(history), MOST)]
    rows = facts.story.X.shape[0] if facts.has_rows else 0
    numbers, updates, errors = (np.array([row[i] for row in some]) for i in range(3))
    return Passes(numbers, errors, updates, rows, rows)


def find_pocket(facts: Facts) -> Found | None:
    """The pocket of the run, where it is cheap to find."""
    log = getattr(facts.story.estimator, "log_", None)
    if log is None or log.is_compact or not log.passes or log._problem.labels.weights.size:
        return None
    if isinstance(log._problem.labels, Rest) or log._problem.n_rows != facts.story.X.shape[0]:
        return None  # each class has a pocket of its own; or the errors shown are of a sample
    work = log.n_updates * log._problem.n_rows * min(density(log._problem.matrix()), 200.0) * len(log._start.bias)
    if work > POCKET_WORK:
        return None
    found = pocket(log)
    entry = int(log._edges[found.update])
    ends = [0, *log.passes]
    p = int(np.searchsorted(log.passes, entry))  # how many passes had ended before
    if p == len(log.passes):
        return Found(found.errors, found.update, float(p))
    made = ends[p + 1] - ends[p]
    return Found(found.errors, found.update, p + ((entry - ends[p]) / made if made else 0.0))


def passes(facts: Facts) -> Chart | None:
    seen = errors_per_pass(facts)
    if seen is None:
        return None
    found = find_pocket(facts) if facts.has_rows else None
    marks: list[Mark] = []
    scale = seen.total / seen.rows if seen.rows else 1.0
    errors = seen.errors * scale
    made = np.diff(seen.updates, prepend=0)
    every_pass = len(seen.numbers) == int(seen.numbers[-1])
    if every_pass and len(made) <= 60 and made.max() <= 4.0 * max(1.0, errors.max()):
        titles = [f"pass {n}: {plural(m, 'update')} on the way" for n, m in zip(seen.numbers, made, strict=True)]
        places = seen.numbers.astype(float)
        marks.append(
            Bars(
                (places - 0.92).tolist(), (places - 0.08).tolist(), [0.0] * len(made), made.tolist(), "quiet",
                "updates made in the pass", titles, faint=True,
            )
        )  # fmt: skip
    titles = [f"pass {n}: {plural(e, 'error')} at its end" for n, e in zip(seen.numbers, errors, strict=True)]
    marks.append(
        Line(
            seen.numbers.tolist(),
            errors.tolist(),
            "training",
            "errors at its end" if marks else "",
            dots=len(errors) <= 60,
            titles=titles,
        )
    )
    kept = getattr(facts.story.estimator, "pocket_errors_", None)
    if found is not None:
        marks.append(Marker(found.place, found.errors, f"pocket: {plural(found.errors, 'error')}", "test"))
    elif kept is not None and len(kept) == 1:
        marks.append(Rule(y=float(kept[0]), text=f"pocket: {plural(kept[0], 'error')}", tone="test"))
    tops = [errors.max(), *(float(max(mark.top)) for mark in marks if isinstance(mark, Bars))]
    x = nice_axis("pass", 0.0, float(seen.numbers[-1]), whole=True)
    x = Axis(x.label, x.low, x.high + 0.02 * x.high, tuple(tick for tick in x.ticks if tick[0] > 0))
    y = nice_axis(
        "rows" if isinstance(marks[0], Bars) else "training errors", 0.0, max(1.0, 1.06 * float(max(tops))), whole=True
    )
    return Chart("passes", "Training errors, pass by pass", _caption(facts, seen, errors, found, kept), tuple(marks), x, y)


def _caption(facts: Facts, seen: Passes, errors: Any, found: Found | None, kept: Any) -> str:
    last, total = int(seen.numbers[-1]), seen.total
    share = f" ({percent(errors[-1] / total)} of the rows)" if total else ""
    which = "The only pass" if last == 1 else f"The last of {count(last)} passes"
    end = f"with {plural(errors[-1], 'training error')}{share}" if errors[-1] else "without a training error"
    sentence = f"{which} ended {end}."
    if found is not None:
        inside = min(last, int(np.ceil(found.place)) or 1)
        what = "The pocket" if getattr(facts.story.estimator, "keep", "") == "pocket" else "The best weights on the way"
        verb = "was" if what == "The pocket" else "were"
        sentence += (
            f" {what} {verb} found at update {count(found.update)} with {plural(found.errors, 'error')},"
            f" in pass {count(inside)} of {count(last)}."
        )
    elif isinstance(kept, int | float):
        sentence += f" The pocket kept the weights with the fewest errors of all, {count(kept)}."
    if getattr(facts.story.estimator, "keep", "") == "average" and facts.has_rows:
        wrong = int((facts.predicted != facts.codes).sum())
        sentence += f" The average, which was kept, has {count(wrong)}."
    if seen.rows < seen.total:
        sentence += f" Errors are estimated from an even sample of {count(seen.rows)} rows."
    return sentence
