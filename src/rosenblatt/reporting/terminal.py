"""Terminal graphics as plain strings: sparklines, bars, and a confusion matrix in lines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..probabilities.measures import ReliabilityBin
from .text import count, cut

LEVELS = "▁▂▃▄▅▆▇█"
EIGHTHS = " ▏▎▍▌▋▊▉█"
SPARKLINE_BARS = 40
NAME_CHARS = 20  # characters of a class name, at most
MISTAKES_LISTED = 3  # classes listed as mistakes of a class, at most


def sparkline(values: Sequence[float], width: int = SPARKLINE_BARS) -> str:
    """Draw values as a row of small bars, scaled from the lowest to the highest; long series are thinned evenly.

    >>> sparkline([9, 6, 4, 3, 2, 1])
    '█▆▄▃▂▁'
    >>> sparkline([5, 5, 5]), sparkline([]), sparkline([1.0, float("nan"), 2.0])
    ('▄▄▄', '', '▁ █')
    """
    values = thin(values, width)
    seen = [value for value in values if math.isfinite(value)]
    if not seen:
        return " " * len(values)
    low, high = min(seen), max(seen)
    if low == high:
        return "".join(LEVELS[3] if math.isfinite(value) else " " for value in values)
    return "".join(LEVELS[min(7, int(8 * (value - low) / (high - low)))] if math.isfinite(value) else " " for value in values)


def thin(values: Sequence[float], width: int) -> list[float]:
    """Return at most `width` evenly spaced values, including the first and the last."""
    if len(values) <= width:
        return [float(value) for value in values]
    if width == 1:
        return [float(values[-1])]
    return [float(values[round(n * (len(values) - 1) / (width - 1))]) for n in range(width)]


def bar(share: float, width: int = 12) -> str:
    """Draw a share as a bar, to an eighth of a character.

    >>> bar(0.5, 4), bar(1.0, 4), bar(0.0, 4), bar(0.03, 4)
    ('██  ', '████', '    ', '▏   ')
    """
    eighths = round(8 * width * min(1.0, max(0.0, share)))
    if share > 0.0:
        eighths = max(1, eighths)
    whole, rest = divmod(eighths, 8)
    return (EIGHTHS[8] * whole + (EIGHTHS[rest] if rest else "")).ljust(width)


def confusion_lines(names: Sequence[str], counts: Sequence[Sequence[int]], width: int = 12) -> list[str]:
    """Draw a line for each class: its name, its recall as a bar, and the classes it is most often mistaken for.

    >>> for line in confusion_lines(["cat", "dog"], [[9, 1], [0, 4]], 4): print(line)
    cat  ███▋   90.0 % of 10   1 as dog
    dog  ████  100.0 % of  4
    """
    longest = min(NAME_CHARS, max(len(str(name)) for name in names))
    digits = max(len(count(sum(row))) for row in counts)
    lines = []
    for c, row in enumerate(counts):
        total = sum(row)
        share = row[c] / total if total else 0.0
        mistaken = sorted(((n, z) for z, n in enumerate(row) if z != c and n), key=lambda pair: (-pair[0], pair[1]))
        listed = ", ".join(f"{count(n)} as {cut(names[z], NAME_CHARS)}" for n, z in mistaken[:MISTAKES_LISTED])
        line = f"{cut(names[c], NAME_CHARS):<{longest}}  {bar(share, width)}  {100 * share:5.1f} % of {count(total):>{digits}}"
        lines.append(f"{line}   {listed}".rstrip())
    return lines


def reliability_lines(bins: Sequence[ReliabilityBin], width: int = 12) -> list[str]:
    """Draw a line for each bin: the mean probability, the share of rows that have the class as a bar, and their number.

    >>> for line in reliability_lines([ReliabilityBin(40, 0.031, 0.05), ReliabilityBin(8, 0.96, 1.0)], 4): print(line)
      3.1 %  ▎       5.0 % of 40
     96.0 %  ████  100.0 % of  8
    """
    digits = max(len(count(each.rows)) for each in bins)
    lines = []
    for each in bins:
        observed = f"{100 * each.observed:5.1f} % of {count(each.rows):>{digits}}"
        lines.append(f"{100 * each.predicted:5.1f} %  {bar(each.observed, width)}  {observed}")
    return lines
