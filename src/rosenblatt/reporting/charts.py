"""Charts, independent of how they are drawn: two axes and marks on them, in the units of the data.

Tones are names, not colors, so that a page can have two themes: "ink", "quiet", "good", "bad", "training", "test", and
"class0", "class1", ... `svg.py` and `png.py` draw charts. The colors of both themes follow the hues of Okabe and Ito, which
color-blind readers can distinguish. They are darker on light ground and lighter on dark ground, so that text has a contrast of
at least 4.5 (WCAG 2.2, AA).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .text import MINUS, short

Numbers = Sequence[float]

LIGHT = {
    "page": "#f6f5f1", "card": "#ffffff", "ink": "#1d1e22", "quiet": "#5f6168", "line": "#e3e1da", "rule": "#b9b7b0",
    "t0": "#0068a8", "t1": "#b4450a", "t2": "#00735a", "t3": "#8b3a87", "t4": "#7a5d00", "t5": "#006c7d", "t6": "#a4284e",
    "t7": "#565a62",
}  # fmt: skip
DARK = {
    "page": "#121417", "card": "#1a1d22", "ink": "#ecebe6", "quiet": "#a4a7ae", "line": "#2d3138", "rule": "#50555e",
    "t0": "#6cb6f2", "t1": "#ff9c62", "t2": "#54cfa3", "t3": "#de9fdb", "t4": "#e0bb4e", "t5": "#62ccd8", "t6": "#ff8fab",
    "t7": "#b6bac3",
}  # fmt: skip
CLASSES = 8  # number of colors for classes


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`; `ticks` are values with their labels, none for an axis without marks."""

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()
    log: bool = False
    unit: str = ""  # unit of the values, such as "%"

    def share(self, value: float) -> float:
        """Return the position of a value: 0 at `low`, 1 at `high`."""
        if self.log:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Line:
    """A line through points."""

    x: Numbers
    y: Numbers
    tone: str
    label: str = ""  # drawn at its right end
    thin: bool = False
    dots: bool = False
    titles: Sequence[str] = ()  # tooltips of the points


@dataclass(frozen=True)
class Points:
    """A cloud of dots or crosses."""

    x: Numbers
    y: Numbers
    tone: str
    label: str = ""  # drawn above the plot
    cross: bool = False
    faint: bool = False


@dataclass(frozen=True)
class Bars:
    """Vertical bars from `low` to `high` on the x-axis and from `base` to `top` on the y-axis."""

    low: Numbers
    high: Numbers
    base: Numbers
    top: Numbers
    tone: str
    label: str = ""
    titles: Sequence[str] = ()
    faint: bool = False


@dataclass(frozen=True)
class Band:
    """A region, given by the corners of a convex polygon."""

    x: Numbers
    y: Numbers
    tone: str
    label: str = ""


@dataclass(frozen=True)
class Marker:
    """A point with a label."""

    x: float
    y: float
    text: str
    tone: str = "ink"


@dataclass(frozen=True)
class Rule:
    """A straight line through the whole plot, at one x or at one y, with a label at its end."""

    x: float | None = None
    y: float | None = None
    text: str = ""
    dashed: bool = True
    tone: str = "quiet"


@dataclass(frozen=True)
class HorizontalBars:
    """Named horizontal bars, each from 0 to its value; `signed` draws negative ones to the left, else all to the right."""

    names: Sequence[str]
    values: Numbers
    tones: Sequence[str]
    sides: Sequence[str]  # the meaning of each value, such as "for spam"
    titles: Sequence[str]
    signed: bool = False


@dataclass(frozen=True)
class Grid:
    """A confusion matrix: rows are true classes, columns predicted ones."""

    names: Sequence[str]
    counts: Sequence[Sequence[int]]
    rows_label: str
    columns_label: str


Mark = Line | Points | Bars | Band | Marker | Rule | HorizontalBars | Grid
NO_AXIS = Axis("", 0.0, 1.0)


@dataclass(frozen=True)
class Chart:
    """A figure: marks on two axes, a title, and a caption of one or two sentences about this run."""

    name: str
    title: str
    caption: str
    marks: tuple[Mark, ...]
    x: Axis = NO_AXIS
    y: Axis = NO_AXIS
    tall: bool = False


def nice_axis(label: str, low: float, high: float, ticks: int = 5, whole: bool = False, unit: str = "") -> Axis:
    """Make an axis with about `ticks` round ticks, at whole numbers only if `whole`; the labels end in the unit.

    >>> [text for _, text in nice_axis("x", 0.0, 23.0).ticks]
    ['0', '5', '10', '15', '20']
    """
    if not high > low:
        padding = abs(low) * 0.1 or 1.0
        low, high = low - (0.0 if low == 0.0 else padding), high + padding
    raw = (high - low) / ticks
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0) if m * power >= raw * 0.999)
    if whole:
        step = max(1.0, step if step != int(step) and step > 2.5 else math.ceil(step))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = [k * step for k in range(first, last + 1)]
    suffix = f" {unit}" if unit else ""
    return Axis(label, low, high, tuple((place, _tick_label(place, step) + suffix) for place in places), unit=unit)


def _tick_label(place: float, step: float) -> str:
    if abs(place) >= 1e6 or 0.0 < abs(step) < 1e-4:
        return short(place)
    digits = max(
        0, -math.floor(math.log10(step) + 1e-9) + (1 if 2.4 < step / 10.0 ** math.floor(math.log10(step)) < 2.6 else 0)
    )
    return f"{place:,.{digits}f}".replace("-", MINUS)


def log_axis(label: str, low: float, high: float) -> Axis:
    """Make a logarithmic axis with up to six ticks at powers of ten."""
    high = max(high, low * 10.0)
    powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    every = max(1, math.ceil(len(powers) / 6))
    return Axis(label, low, high, tuple((10.0**p, _power_label(p)) for p in powers if p % every == 0), log=True)


def _power_label(power: int) -> str:
    if 0 <= power < 6:
        return f"{10**power:,}"
    return f"{10 ** (power % 3)} {'M' if power < 9 else 'G'}" if 6 <= power < 12 else f"1e{power}"


def spread_apart(places: Sequence[float], gap: float, limit: float) -> list[float]:
    """Move ascending positions of labels as little as necessary for a gap between neighbors and none beyond `limit`.

    >>> spread_apart([1.0, 5.0, 5.5], 2.0, 6.0), spread_apart([1.0, 4.0], 2.0, 6.0)
    ([1.0, 4.0, 6.0], [1.0, 4.0])
    """
    found = list(places)
    for n in range(1, len(found)):
        found[n] = max(found[n], found[n - 1] + gap)
    for n in reversed(range(len(found))):
        found[n] = min(found[n], limit if n == len(found) - 1 else found[n + 1] - gap)
    return found
