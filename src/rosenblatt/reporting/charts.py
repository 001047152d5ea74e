"""What is drawn, and nothing about how: a chart is two axes and marks on them, in the data's own numbers.

Tones are names, not colours, so that a page can have two themes: "ink", "quiet", "good", "bad",
"training", "test", and "class0", "class1", ...
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .text import MINUS, short

Numbers = Sequence[float]


@dataclass(frozen=True)
class Axis:
    """From `low` to `high`; `ticks` are places with their words, none: the axis goes unmarked."""

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()
    log: bool = False

    def share(self, value: float) -> float:
        """Where a value lies: 0 at `low`, 1 at `high`."""
        if self.log:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Line:
    x: Numbers
    y: Numbers
    tone: str
    label: str = ""  # stands at its right end
    thin: bool = False
    dots: bool = False
    titles: Sequence[str] = ()  # said when a point is pointed at


@dataclass(frozen=True)
class Points:
    x: Numbers
    y: Numbers
    tone: str
    label: str = ""  # said in a line above the plot
    cross: bool = False
    faint: bool = False


@dataclass(frozen=True)
class Bars:
    """Upright bars from `low` to `high` on the x-axis, and from `base` to `top` on the y-axis."""

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
    """A region, as the corners of a convex polygon."""

    x: Numbers
    y: Numbers
    tone: str
    label: str = ""


@dataclass(frozen=True)
class Marker:
    """One place, pointed out in words."""

    x: float
    y: float
    text: str
    tone: str = "ink"


@dataclass(frozen=True)
class Rule:
    """A straight line through the whole plot, at one x or at one y, and words at its end."""

    x: float | None = None
    y: float | None = None
    text: str = ""
    dashed: bool = True
    tone: str = "quiet"


@dataclass(frozen=True)
class Scale:
    """Named bars that lie, each from 0 to its value: one a line, the name above it."""

    names: Sequence[str]
    values: Numbers
    tones: Sequence[str]
    sides: Sequence[str]  # what each value says, such as "for spam"
    titles: Sequence[str]


@dataclass(frozen=True)
class Grid:
    """A table of shares: rows are what is, columns what is said; right on the diagonal."""

    names: Sequence[str]
    counts: Sequence[Sequence[int]]
    rows_label: str
    columns_label: str


Mark = Line | Points | Bars | Band | Marker | Rule | Scale | Grid
NO_AXIS = Axis("", 0.0, 1.0)


@dataclass(frozen=True)
class Chart:
    """`caption` is one or two sentences on what is seen in this run; `square`: one unit is as long in x as in y."""

    name: str
    title: str
    caption: str
    marks: tuple[Mark, ...]
    x: Axis = NO_AXIS
    y: Axis = NO_AXIS
    tall: bool = False


def nice_axis(label: str, low: float, high: float, most: int = 5, whole: bool = False, words: str = "") -> Axis:
    """An axis with round ticks; `whole`: at whole numbers only; `words` is appended to every tick.

    >>> [text for _, text in nice_axis("x", 0.0, 23.0).ticks]
    ['0', '5', '10', '15', '20']
    """
    if not high > low:
        room = abs(low) * 0.1 or 1.0
        low, high = low - (0.0 if low == 0.0 else room), high + room
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0) if m * power >= raw * 0.999)
    if whole:
        step = max(1.0, step if step != int(step) and step > 2.5 else math.ceil(step))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = [k * step for k in range(first, last + 1)]
    return Axis(label, low, high, tuple((place, tick_words(place, step) + words) for place in places))


def tick_words(place: float, step: float) -> str:
    if abs(place) >= 1e6 or 0.0 < abs(step) < 1e-4:
        return short(place)
    digits = max(
        0, -math.floor(math.log10(step) + 1e-9) + (1 if 2.4 < step / 10.0 ** math.floor(math.log10(step)) < 2.6 else 0)
    )
    return f"{place:,.{digits}f}".replace("-", MINUS)


def log_axis(label: str, low: float, high: float) -> Axis:
    """Ticks at powers of ten, as many as there is room for."""
    high = max(high, low * 10.0)
    powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    every = max(1, math.ceil(len(powers) / 6))
    return Axis(label, low, high, tuple((10.0**p, _power_words(p)) for p in powers if p % every == 0), log=True)


def _power_words(power: int) -> str:
    if 0 <= power < 6:
        return f"{10**power:,}"
    return f"{10 ** (power % 3)} {'M' if power < 9 else 'G'}" if 6 <= power < 12 else f"1e{power}"


def apart(places: Sequence[float], gap: float, most: float) -> list[float]:
    """Ascending places of names, moved as little as need be for a gap between any two and none beyond `most`.

    >>> apart([1.0, 5.0, 5.5], 2.0, 6.0), apart([1.0, 4.0], 2.0, 6.0)
    ([1.0, 4.0, 6.0], [1.0, 4.0])
    """
    found = list(places)
    for n in range(1, len(found)):
        found[n] = max(found[n], found[n - 1] + gap)
    for n in reversed(range(len(found))):
        found[n] = min(found[n], most if n == len(found) - 1 else found[n + 1] - gap)
    return found
