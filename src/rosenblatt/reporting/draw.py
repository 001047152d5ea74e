"""The figures of a report by name."""

from __future__ import annotations

from collections.abc import Callable

from .charts import Chart
from .facts import Facts
from .figures.confusion import confusion
from .figures.features import features
from .figures.learning import learning
from .figures.margins import margins
from .figures.passes import passes
from .figures.plane import plane
from .story import Story

_FIGURES: dict[str, Callable[[Facts], Chart | None]] = {
    "learning": learning,
    "passes": passes,
    "margins": margins,
    "plane": plane,
    "features": features,
    "confusion": confusion,
}
FIGURES = tuple(_FIGURES)

_NEEDS = {
    "learning": "the log of the run and some rows: fit with log=True",
    "passes": "the log of the run and its training rows, or a history: fit with log=True",
    "margins": "the training rows",
    "plane": "the training rows, and one plane for two classes or one for each of more",
    "features": "weights that are not all zero: one plane for two classes or one for each of more",
    "confusion": "rows with their labels",
}


def draw(story: Story, which: str) -> Chart:
    """One figure of a story; ValueError where the story has not what it takes."""
    if which not in _FIGURES:
        raise ValueError(f"which must be one of {', '.join(FIGURES)}, got {which!r}")
    chart = _FIGURES[which](Facts(story))
    if chart is None:
        raise ValueError(f"the plot {which!r} needs {_NEEDS[which]}")
    return chart


def all_charts(facts: Facts) -> list[Chart]:
    """Those that the story has what it takes for, in the order of a report."""
    found = (_FIGURES[name](facts) for name in FIGURES)
    return [chart for chart in found if chart is not None]
