"""The learning curve of a mail filter: its errors so far against the number of messages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

from ..charts import Axis, Chart, Line, Mark, log_axis, nice_axis
from ..text import count, join_and, short

LOWEST_PERCENT = 0.01  # on the logarithmic axis, smaller values are drawn here
TICKS = ((LOWEST_PERCENT, f"{LOWEST_PERCENT:g} % or less"), *((10.0**power, f"{10.0**power:g} %") for power in range(-1, 3)))
# Attribute of a point, tone, and label of each line.
_LINES = (
    ("sm", "class1", "spam called ham"),
    ("hm", "class0", "ham called spam"),
    ("auc", "ink", "1 − AUC"),  # noqa: RUF001
)


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
    return Chart("mail", "Learning curve of the filter", _caption(points[-1]), tuple(marks), x, y)


def _caption(last: Point) -> str:
    start = f"Every mail was classified before it was learned. Of {count(last.messages)} mails"
    parts = [
        f"{short(value)} % of the {kind} was called {other}"
        for value, kind, other in ((last.hm, "ham", "spam"), (last.sm, "spam", "ham"))
        if math.isfinite(value)
    ]
    ranked = f"; a ham scored above a spam in {short(last.auc)} % of pairs" if math.isfinite(last.auc) else ""
    return f"{start}, {join_and(parts)}{ranked}."
