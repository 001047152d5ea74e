"""Small pictures for the terminal, as plain strings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .text import cut

LEVELS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉█"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """Values as a row of small bars, from the lowest to the highest; longer series are thinned evenly, ends kept.

    >>> sparkline([9, 6, 4, 3, 2, 1])
    '█▆▄▃▂▁'
    >>> sparkline([5, 5, 5]), sparkline([]), sparkline([1.0, float("nan"), 2.0])
    ('▄▄▄', '', '▁ █')
    """
    values = thinned(values, width)
    seen = [value for value in values if math.isfinite(value)]
    if not seen:
        return " " * len(values)
    low, high = min(seen), max(seen)
    if low == high:
        return "".join(LEVELS[3] if math.isfinite(value) else " " for value in values)
    return "".join(LEVELS[min(7, int(8 * (value - low) / (high - low)))] if math.isfinite(value) else " " for value in values)


def thinned(values: Sequence[float], width: int) -> list[float]:
    """At most `width` of the values, evenly apart, the first and the last among them."""
    if len(values) <= width:
        return [float(value) for value in values]
    if width == 1:
        return [float(values[-1])]
    return [float(values[round(n * (len(values) - 1) / (width - 1))]) for n in range(width)]


def bar(share: float, width: int = 12) -> str:
    """A share as a bar, to an eighth of a letter.

    >>> bar(0.5, 4), bar(1.0, 4), bar(0.0, 4), bar(0.03, 4)
    ('██  ', '████', '    ', '▏   ')
    """
    eighths = round(8 * width * min(1.0, max(0.0, share)))
    if share > 0.0:
        eighths = max(1, eighths)
    whole, rest = divmod(eighths, 8)
    return (EIGHTHS[8] * whole + (EIGHTHS[rest] if rest else "")).ljust(width)


def confusion_lines(names: Sequence[str], counts: Sequence[Sequence[int]], width: int = 12) -> list[str]:
    """A line for each class: its name, a bar of how many of its rows are right, and what it is mistaken for.

    >>> for line in confusion_lines(["cat", "dog"], [[9, 1], [0, 4]], 4): print(line)
    cat  ███▋   90.0 % of 10   1 as dog
    dog  ████  100.0 % of  4
    """
    longest = min(20, max(len(str(name)) for name in names))
    digits = max(len(f"{sum(row):,}") for row in counts)
    lines = []
    for c, row in enumerate(counts):
        total = sum(row)
        share = row[c] / total if total else 0.0
        others = sorted(((n, z) for z, n in enumerate(row) if z != c and n), key=lambda pair: (-pair[0], pair[1]))[:3]
        mistakes = ", ".join(f"{n:,} as {cut(names[z], 20)}" for n, z in others)
        line = f"{cut(names[c], 20):<{longest}}  {bar(share, width)}  {100 * share:5.1f} % of {total:>{digits},}"
        lines.append(f"{line}   {mistakes}".rstrip())
    return lines
