"""The learning curve of a filter: what it got wrong so far, after ever more mail."""

from __future__ import annotations

import math
from typing import Any

from ..report.charts import Axis, Chart, Line, log_axis
from ..report.words import count
from .trec import Point, curve

LEAST = 0.01  # percent at the foot of the chart; what is less, or nothing, lies there
_TICKS = ((0.01, "0.01 %"), (0.1, "0.1 %"), (1.0, "1 %"), (10.0, "10 %"), (100.0, "100 %"))
_LINES = (
    ("hm", "bad", "ham called spam"),
    ("sm", "test", "spam called ham"),
    ("auc", "training", "pairs in wrong order (1-AUC)"),
)


def curve_chart(scores: Any, spam: Any) -> Chart:
    """Of the scores of a run in order, and whether the messages were spam."""
    points = curve(scores, spam)
    marks = tuple(_line(points, name, tone, label) for name, tone, label in _LINES)
    last = points[-1]
    caption = (
        f"After {count(last.messages)} mails, each classified before it was learnt: {last.hm:.2f} % of ham called spam, "
        f"{last.sm:.2f} % of spam called ham, {last.auc:.3f} % of pairs of a spam and a ham in wrong order."
    )
    x = log_axis("mails", float(points[0].messages), float(last.messages))
    return Chart("mail-curve", "Wrong so far", caption, marks, x, Axis("", LEAST, 100.0, _TICKS, log=True))


def _line(points: list[Point], name: str, tone: str, label: str) -> Line:
    seen = [(point.messages, getattr(point, name)) for point in points if not math.isnan(getattr(point, name))]
    titles = [f"{label}: {share:.3g} % after {count(messages)} mails" for messages, share in seen]
    return Line([m for m, _ in seen], [max(share, LEAST) for _, share in seen], tone, label, titles=titles)
