"""How a mail filter got better as messages came: what it got wrong so far, after more and more of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

from ..charts import Axis, Chart, Line, Mark, log_axis, nice_axis
from ..text import count, short

LOWEST = 0.01  # percent; a logarithm has no 0, so it is drawn here
TICKS = ((LOWEST, f"{LOWEST:g} % or less"), *((10.0**power, f"{10.0**power:g} %") for power in range(-1, 3)))
# What of a point is drawn, in which tone, and what it is called.
_LINES = (
    ("sm", "class1", "spam called ham"),
    ("hm", "class0", "ham called spam"),
    ("auc", "ink", "1 − AUC"),  # noqa: RUF001
)


class Point(Protocol):
    """Percent over the first `messages` messages, as `mail/trec.py` counts them; NaN where nothing can be said."""

    @property
    def messages(self) -> int: ...
    @property
    def hm(self) -> float: ...
    @property
    def sm(self) -> float: ...
    @property
    def auc(self) -> float: ...


def mail_curve(points: Iterable[Point]) -> Chart:
    """ValueError where no point has a figure to draw."""
    points = list(points)
    marks: list[Mark] = []
    highest = 1.0
    for name, tone, label in _LINES:
        known = [(point.messages, getattr(point, name)) for point in points if math.isfinite(getattr(point, name))]
        if not known:
            continue
        titles = [f"{label}: {short(value)} % of the first {count(messages)} messages" for messages, value in known]
        values = [max(value, LOWEST) for _, value in known]
        lengths = [float(messages) for messages, _ in known]
        marks.append(Line(lengths, values, tone, label, dots=len(known) == 1, titles=titles))
        highest = max(highest, *values)
    if not marks:
        raise ValueError("the plot 'mail' needs ham and spam: there is nothing to draw")
    first, last = float(min(point.messages for point in points)), float(points[-1].messages)
    few = last < 10 * first  # a logarithm would hardly have a tick
    x = nice_axis("messages so far", first, last, whole=True) if few else log_axis("messages so far", first, last)
    y = Axis("wrong so far", LOWEST, highest, tuple(tick for tick in TICKS if tick[0] <= highest), log=True)
    return Chart("mail", "How the filter learnt", _caption(points[-1]), tuple(marks), x, y)


def _caption(last: Point) -> str:
    said = f"Every message was classified before it was learnt. Of {count(last.messages)} messages"
    parts = [
        f"{short(value)} % of the {kind} was called {other}"
        for value, kind, other in ((last.hm, "ham", "spam"), (last.sm, "spam", "ham"))
        if math.isfinite(value)
    ]
    ranked = f"; a ham scored above a spam in {short(last.auc)} % of pairs" if math.isfinite(last.auc) else ""
    return f"{said}, {' and '.join(parts)}{ranked}."
