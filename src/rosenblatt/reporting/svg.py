"""Charts as SVG: text at a fixed size, tones as CSS classes, values as tooltips. Needs the standard library alone.

A page contains every chart twice, narrow and wide, so that text is equally large on phones and on desktops.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import pairwise

from ..safe_text import printable
from .charts import CLASSES, Band, Bars, Chart, Grid, HorizontalBars, Line, Mark, Marker, Points, Rule, spread_apart
from .text import count, cut, percent

NARROW_PX, WIDE_PX = 330, 520  # widths of a chart
TITLE_PX = 28  # height of a title above a chart
WIDE_FROM_PX = 480  # charts of this width or more put names beside bars and lines
CHAR_PX, BOLD_CHAR_PX = 6.3, 7.6  # mean width of a character at 12 px, and of a bold one in a wide font
WIDE_FONT_FACTOR = 1.12  # width of characters in the widest of common fonts, relative to the mean
MAX_NAME_CHARS = 26  # characters of a name beside its bar
MAX_CLASSES_WITH_COUNTS, MAX_CLASSES_WITH_SHARES = 12, 4  # classes up to which the cells of a confusion matrix contain these
MAX_CELL_OPACITY = 0.46  # opacity of a cell's tone, at most, so that text on it stays readable


def svg(chart: Chart, width: int = WIDE_PX, titled: bool = False) -> str:
    """Draw a chart as an SVG element with its caption as accessible name.

    With `titled`, the title is drawn above the chart; pages have it in their text.
    """
    mark = chart.marks[0]
    if isinstance(mark, HorizontalBars):
        height, parts = _horizontal_bars(mark, width)
    elif isinstance(mark, Grid):
        height, parts = _confusion_grid(mark, width)
    else:
        plot = Plot(chart, width)
        height, parts = plot.height, list(plot.parts())
    if titled:
        title = text_element(0, 15, chart.title, tone="ink", classes="large strong")
        height, parts = height + TITLE_PX, [title, f'<g transform="translate(0 {TITLE_PX})">', *parts, "</g>"]
    label = escape_text(f"{chart.title}. {chart.caption}")
    opening = f'<svg class="chart" role="img" aria-label="{label}" viewBox="0 0 {width} {px(height)}" width="{width}"'
    return f'{opening} height="{px(height)}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'


def _horizontal_bars(bars: HorizontalBars, width: int) -> tuple[float, list[str]]:
    """Draw named bars: on one line in wide charts, with name and side above the bar in narrow ones and in both directions."""
    wide = width >= WIDE_FROM_PX and not bars.signed
    ends = list(bars.values) if bars.signed else [abs(value) for value in bars.values]
    low, high = min(0.0, *ends), max(0.0, *ends)
    names = max(len(cut(name, MAX_NAME_CHARS)) for name in bars.names) * CHAR_PX * WIDE_FONT_FACTOR + 6
    sides = max(len(side) for side in bars.sides) * CHAR_PX + 8
    pitch, unit = 25 if wide else 35, (width - names - sides - 8 if wide else width) / (high - low or 1.0)
    parts = []
    for n, (name, end, tone, side, title) in enumerate(zip(bars.names, ends, bars.tones, bars.sides, bars.titles, strict=True)):
        y, length = n * pitch, max(2.0, abs(end) * unit)
        if wide:
            left = names + 6
            texts = text_element(names - 2, y + 16, cut(name, MAX_NAME_CHARS), tone="ink", anchor="end")
            texts += text_element(left + length + 6, y + 16, side, tone=tone)
        else:
            left = -low * unit - (length if end < 0.0 else 0.0)
            fits = cut(name, max(8, int((width - sides * WIDE_FONT_FACTOR) / (CHAR_PX * WIDE_FONT_FACTOR))))
            texts = text_element(0, y + 12, fits, tone="ink") + text_element(width, y + 12, side, tone=tone, anchor="end")
        box = f'x="{px(left)}" y="{y + (6 if wide else 18)}" width="{px(length)}" height="{13 if wide else 7}"'
        zero = f'<path class="t-quiet line thin" d="M{px(-low * unit)} {y + 16}v11"/>' if bars.signed else ""
        parts.append(f'<g>{title_element(title)}<rect class="{tone_class(tone)} fill" {box} rx="2"/>{zero}{texts}</g>')
    return len(bars.names) * pitch + 2, parts


def _confusion_grid(table: Grid, width: int) -> tuple[float, list[str]]:
    """Draw a confusion matrix: the stronger a cell, the larger its share of its row; correct and wrong cells differ in tone."""
    k = len(table.names)
    longest = max(len(cut(name, 14)) for name in table.names)
    small = k > MAX_CLASSES_WITH_COUNTS
    letter = CHAR_PX * (0.8 if small else 1.0)
    gutter = min(14, longest) * letter + 26
    cell = min((width - gutter) / k, 150.0 if k <= MAX_CLASSES_WITH_SHARES else 56.0)
    tall = min(cell, 76.0) if k <= MAX_CLASSES_WITH_SHARES else cell
    upright = longest * letter * WIDE_FONT_FACTOR <= cell
    shown = max(3, int(cell / (letter * WIDE_FONT_FACTOR)) - 1) if k <= MAX_CLASSES_WITH_SHARES else 10
    turned = not upright and k > MAX_CLASSES_WITH_SHARES
    head = 20 + (min(longest, 10) * letter * WIDE_FONT_FACTOR + 8 if turned else 18)
    text_class = "small" if small or k > 7 else ""
    parts = [
        text_element(gutter + cell * k / 2, 12, table.columns_label, anchor="middle"),
        turned_element(10, head + tall * k / 2, table.rows_label),
    ]
    for c, name in enumerate(table.names):
        x, y = gutter + cell * (c + 0.5), head + tall * (c + 0.5)
        if turned:
            text = escape_text(cut(name, 10))
            at = f'x="{px(x + 4)}" y="{px(head - 5)}" transform="rotate(-90 {px(x + 4)} {px(head - 5)})"'
            parts.append(f'<text {at} class="t-ink fill {text_class}">{text}</text>')
        else:
            parts.append(text_element(x, head - 6, cut(name, shown), tone="ink", anchor="middle", classes=text_class))
        parts.append(text_element(gutter - 6, y + 4, cut(name, 14), tone="ink", anchor="end", classes=text_class))
    for r, row in enumerate(table.counts):
        total = sum(row)
        for c, value in enumerate(row):
            parts.append(_cell(table, r, c, value, total, (gutter + cell * c, head + tall * r, cell, tall), text_class))
    return head + tall * k + 4, parts


def _cell(table: Grid, r: int, c: int, value: int, total: int, box: tuple[float, float, float, float], size: str) -> str:
    x, y, w, h = box
    share, k = value / total if total else 0.0, len(table.names)
    gap = 1.0 if k > MAX_CLASSES_WITH_COUNTS else 2.0
    strength = 0.08 + (MAX_CELL_OPACITY - 0.08) * share**0.5 if value else 0.05
    tone = ("t-good" if r == c else "t-bad") if value else "t-quiet"
    frame = f'x="{px(x)}" y="{px(y)}" width="{px(w - gap)}" height="{px(h - gap)}"'
    rect = f'<rect class="{tone} fill" fill-opacity="{strength:.2f}" {frame} rx="{3 if k <= MAX_CLASSES_WITH_COUNTS else 1}"/>'
    text = ""
    middle = x + (w - gap) / 2
    if k <= MAX_CLASSES_WITH_SHARES:
        text = text_element(middle, y + h / 2 - 3, count(value), tone="ink", anchor="middle", classes="strong large")
        text += text_element(middle, y + h / 2 + 14, percent(share), tone="ink", anchor="middle", classes="small")
    elif k <= MAX_CLASSES_WITH_COUNTS and value:
        shown = count(value) if len(count(value)) * CHAR_PX * 0.8 < w - 2 else str(value)
        text = text_element(middle, y + h / 2 + 3, shown, tone="ink", anchor="middle", classes=size)
    cell = f"{table.names[r]} predicted as {table.names[c]}"
    return f"<g>{title_element(f'{cell}: {count(value)} of {count(total)} rows ({percent(share)})')}{rect}{text}</g>"


# --- charts with two axes --------------------------------------------------------------------------------------------------


class Plot:
    """Lays out and draws one chart."""

    def __init__(self, chart: Chart, width: int) -> None:
        self.chart, self.width, self.wide = chart, width, width >= WIDE_FROM_PX
        lines = [mark for mark in chart.marks if isinstance(mark, Line) and mark.label]
        bars = [mark for mark in chart.marks if isinstance(mark, Bars) and mark.label]
        self.end_labeled = lines if self.wide and not bars else []
        in_legend: list[Line | Bars] = [*bars, *([] if self.end_labeled else lines)]
        self.legend_rows = list(_legend_rows(in_legend, 0 if not chart.y.ticks else len(chart.y.label) * CHAR_PX + 18, width))
        gutter = max((len(mark.label) for mark in self.end_labeled), default=0) * BOLD_CHAR_PX + 8 if self.end_labeled else 0
        ticks = max((len(text) for _, text in chart.y.ticks), default=0)
        self.left = ticks * CHAR_PX + 10 if chart.y.ticks else 20
        self.right = width - max(12.0, gutter)
        top_bands = any(isinstance(mark, Band) and _is_full_height(mark, chart) for mark in chart.marks)
        self.top = 10 + 17 * max(len(self.legend_rows), 1 if chart.y.ticks or top_bands else 0) + 2
        body = (270 if self.wide else 250) if chart.tall else (216 if self.wide else 180)
        self.bottom = self.top + body
        self.height = self.bottom + 38
        self.rule_labels: list[tuple[float, float, float]] = []  # spans of rule labels: left, right, baseline

    def x(self, value: float) -> float:
        return self.left + (self.right - self.left) * min(1.02, max(-0.02, self.chart.x.share(value)))

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * min(1.03, max(-0.02, self.chart.y.share(value)))

    def parts(self) -> Iterator[str]:
        bands = [mark for mark in self.chart.marks if isinstance(mark, Band)]
        for band in bands:
            yield self.band(band)
        yield from self.axes()
        for mark in self.chart.marks:
            if not isinstance(mark, Band):
                yield from self.mark(mark)
        for band in bands:
            yield self.band_label(band)
        yield from self.line_labels()
        yield from self.legend()

    # --- Axes

    def axes(self) -> Iterator[str]:
        chart = self.chart
        for value, text in chart.y.ticks:
            y = self.y(value)
            yield f'<path class="gridline" d="M{px(self.left)} {px(y)}H{px(self.right)}"/>'
            yield text_element(self.left - 6, y + 4, text, anchor="end", classes="tick")
        yield f'<path class="axis" d="M{px(self.left)} {px(self.bottom)}H{px(self.right)}"/>'
        beyond = -100.0
        for value, text in chart.x.ticks:
            x, half = self.x(value), len(text) * CHAR_PX / 2
            if x - half < beyond or x - half < 0:
                continue
            x = min(x, self.width - half)
            beyond = x + half + 6
            yield f'<path class="axis" d="M{px(self.x(value))} {px(self.bottom)}v4"/>'
            yield text_element(x, self.bottom + 17, text, anchor="middle", classes="tick")
        yield text_element((self.left + self.right) / 2, self.bottom + 33, chart.x.label, anchor="middle")
        if chart.y.ticks:
            yield text_element(0, 13, chart.y.label)
        elif chart.y.label:
            yield turned_element(10, (self.top + self.bottom) / 2, chart.y.label)

    # --- Marks

    def mark(self, mark: Mark) -> Iterator[str]:
        if isinstance(mark, Line):
            yield from self.line(mark)
        elif isinstance(mark, Points):
            yield self.points(mark)
        elif isinstance(mark, Bars):
            yield from self.bars(mark)
        elif isinstance(mark, Rule):
            yield from self.rule(mark)
        elif isinstance(mark, Marker):
            yield from self.marker(mark)

    def line(self, line: Line) -> Iterator[str]:
        tone = tone_class(line.tone)
        pairs = [(self.x(x), self.y(y)) for x, y in zip(line.x, line.y, strict=True)]
        path = "L".join(f"{px(x)} {px(y)}" for x, y in pairs)
        yield f'<path class="{tone} line{" thin" if line.thin else ""}" d="M{path}"/>'
        if line.dots:
            dots = "".join(f"M{px(x)} {px(y)}h0" for x, y in pairs)
            yield f'<path class="{tone} dots large" d="{dots}"/>'
        for (x, y), text in zip(pairs, line.titles, strict=False):
            yield f'<circle class="{tone} hit" cx="{px(x)}" cy="{px(y)}" r="6">{title_element(text)}</circle>'

    def points(self, points: Points) -> str:
        pairs = ((self.x(x), self.y(y)) for x, y in zip(points.x, points.y, strict=True))
        if points.cross:
            path = "".join(f"M{px(x - 3)} {px(y - 3)}l6 6m0-6l-6 6" for x, y in pairs)
            return f'<path class="{tone_class(points.tone)} crosses" d="{path}"/>'
        path = "".join(f"M{px(x)} {px(y)}h0" for x, y in pairs)
        return f'<path class="{tone_class(points.tone)} dots{" faint" if points.faint else ""}" d="{path}"/>'

    def bars(self, bars: Bars) -> Iterator[str]:
        classes = f"{tone_class(bars.tone)} fill{' pale' if bars.faint else ''}"
        titles = [*bars.titles, *[""] * (len(bars.low) - len(bars.titles))]
        for low, high, base, top, text in zip(bars.low, bars.high, bars.base, bars.top, titles, strict=True):
            x, y = self.x(low), self.y(top)
            w, h = self.x(high) - x, max(self.y(base) - y, 1.0 if top > base else 0.0)
            box = f'x="{px(x)}" y="{px(self.y(base) - h)}" width="{px(max(0.8, w - 0.8))}" height="{px(h)}"'
            yield f'<rect class="{classes}" {box}>{title_element(text)}</rect>'

    def rule(self, rule: Rule) -> Iterator[str]:
        tone, kind = tone_class(rule.tone), "rule dashed" if rule.dashed else "rule"
        if rule.x is not None:
            x = self.x(rule.x)
            yield f'<path class="{tone} {kind}" d="M{px(x)} {px(self.top)}V{px(self.bottom)}"/>'
            if rule.text:
                yield self.rule_label(rule, x)
        if rule.y is not None:
            y = self.y(rule.y)
            yield f'<path class="{tone} {kind}" d="M{px(self.left)} {px(y)}H{px(self.right)}"/>'
            if rule.text:
                over = y - 6 if y > self.top + 24 else y + 15
                yield text_element(self.right - 2, over, rule.text, tone=rule.tone, anchor="end", classes="halo strong")

    def rule_label(self, rule: Rule, x: float) -> str:
        """Label a vertical line beside its top, below the labels of other lines that would overlap."""
        size = len(rule.text) * CHAR_PX * 0.9
        at, low, anchor = (x - 4, x - 4 - size, "end") if x + size + 4 > self.right else (x + 4, x + 4, "start")
        clashes = [height for start, end, height in self.rule_labels if start < low + size + 4 and low < end + 4]
        y = max(clashes, default=self.top - 3) + 12
        self.rule_labels.append((low, low + size, y))
        return text_element(at, y, rule.text, tone=rule.tone, anchor=anchor, classes="halo small")

    def marker(self, marker: Marker) -> Iterator[str]:
        x, y, tone = self.x(marker.x), self.y(marker.y), tone_class(marker.tone)
        yield f'<circle class="{tone} ring" cx="{px(x)}" cy="{px(y)}" r="5.5">{title_element(marker.text)}</circle>'
        spot, over = self.free_position(x, y, len(marker.text) * CHAR_PX * 1.06)
        if abs(over - y) > 24:
            end = min(max(x, spot - 20), spot + 20)
            yield f'<path class="{tone} rule" d="M{px(x)} {px(y - 8)}L{px(end)} {px(over + 4)}"/>'
        yield text_element(spot, over, marker.text, tone=marker.tone, anchor="middle", classes="halo strong")

    def free_position(self, x: float, y: float, size: float) -> tuple[float, float]:
        """Return the position near (x, y) where a text of this width hides the least of the lines."""
        drawn = [(self.x(a), self.y(b)) for line in self.chart.marks if isinstance(line, Line) for a, b in _points_along(line)]
        best = (1e9, x, y - 13)
        for up in (13.0, -24.0, 30.0, 48.0, 68.0, 90.0, 112.0, 140.0):
            for side in (0.0, -0.35, 0.35, -0.6, 0.6):
                middle = min(max(x + side * size, self.left + size / 2), self.right - size / 2)
                baseline = y - up
                if not self.top + 10 < baseline < self.bottom - 2:
                    continue
                hidden = sum(abs(a - middle) < size / 2 + 3 and baseline - 13 < b < baseline + 5 for a, b in drawn)
                ring = abs(x - middle) < size / 2 + 8 and baseline - 18 < y < baseline + 9
                best = min(best, (hidden * 40.0 + abs(up) + 20.0 * abs(side) + 1000.0 * ring, middle, baseline))
        return best[1:]

    def band(self, band: Band) -> str:
        corners = " ".join(f"{px(self.x(x))},{px(self.y(y))}" for x, y in zip(band.x, band.y, strict=True))
        return f'<polygon class="{tone_class(band.tone)} band" points="{corners}">{title_element(band.label)}</polygon>'

    # --- Labels

    def band_label(self, band: Band) -> str:
        """Label a band: above it if it extends from bottom to top, else inside it."""
        low, high = self.x(min(band.x)), self.x(max(band.x))
        if _is_full_height(band, self.chart):
            on_left = band.x[0] == self.chart.x.low
            x, anchor = (low, "start") if on_left else (high, "end")
            return text_element(x, self.top - 6, band.label, tone=band.tone, anchor=anchor, classes="strong")
        corners = [(self.x(x), self.y(y)) for x, y in zip(band.x, band.y, strict=True)]
        x, y = self.emptiest(corners, len(band.label) * CHAR_PX)
        return text_element(x, y + 4, band.label, tone=band.tone, anchor="middle", classes="halo strong")

    def emptiest(self, corners: list[tuple[float, float]], size: float) -> tuple[float, float]:
        """Return the position inside a region where a text of this width hides the fewest points."""
        clouds = [mark for mark in self.chart.marks if isinstance(mark, Points)]
        points = [(self.x(x), self.y(y)) for mark in clouds for x, y in zip(mark.x, mark.y, strict=True)]
        u, v = (sum(corner[n] for corner in corners) / len(corners) for n in (0, 1))
        spots = [(u + part * (x - u), v + part * (y - v)) for part in (0.0, 0.3, 0.5, 0.65, 0.8) for x, y in corners]
        fits = [spot for spot in spots if self.left + size / 2 < spot[0] < self.right - size / 2] or [(u, v)]
        return min(fits, key=lambda spot: sum(abs(x - spot[0]) < size / 2 + 4 and abs(y - spot[1]) < 12 for x, y in points))

    def line_labels(self) -> Iterator[str]:
        """Label lines at their right ends, without overlap."""
        ends = sorted((self.y(mark.y[-1]) + 4, mark.label, mark.tone) for mark in self.end_labeled)
        heights = spread_apart([height for height, _, _ in ends], 15.0, self.bottom + 4)
        for height, (_, text, tone) in zip(heights, ends, strict=True):
            yield text_element(self.right + 6, height, text, tone=tone, classes="strong" if tone != "quiet" else "")

    def legend(self) -> Iterator[str]:
        for n, row in enumerate(self.legend_rows):
            y = 13 + 17 * n
            for x, mark in row:
                tone = tone_class(mark.tone)
                if isinstance(mark, Bars):
                    pale = " pale" if mark.faint else ""
                    yield f'<rect class="{tone} fill{pale}" x="{px(x)}" y="{y - 9}" width="10" height="10" rx="2"/>'
                else:
                    thin = " thin" if mark.thin else ""
                    yield f'<path class="{tone} line{thin}" d="M{px(x - 2)} {y - 4}h12"/>'
                yield text_element(x + 14, y, mark.label, tone="quiet" if isinstance(mark, Bars) and mark.faint else mark.tone)


def _points_along(line: Line) -> Iterator[tuple[float, float]]:
    """Yield the points of a line and some points between them."""
    for (x, y), (u, v) in pairwise(zip(line.x, line.y, strict=True)):
        yield from ((x + (u - x) * part / 4, y + (v - y) * part / 4) for part in range(5))


def _legend_rows(marks: list[Line | Bars], taken: float, width: int) -> Iterator[list[tuple[float, Line | Bars]]]:
    """Lay out the legend in right-aligned rows; the first row shares its line with the label of the y-axis."""
    row, used = list[tuple[float, Line | Bars]](), 0.0
    for mark in marks:
        need = len(mark.label) * CHAR_PX + 30
        if row and used + need > width - taken:
            yield [(x + width - used, each) for x, each in row]
            row, used, taken = [], 0.0, 0.0
        row.append((used + 4, mark))
        used += need
    if row:
        yield [(x + width - used, each) for x, each in row]


def _is_full_height(band: Band, chart: Chart) -> bool:
    """Return whether a band is a rectangle from the bottom of the plot to its top."""
    heights = set(band.y)
    return heights == {chart.y.low, chart.y.high} and all(
        a == b or c == d for (a, c), (b, d) in pairwise(zip(band.x, band.y, strict=True))
    )


# --- elements --------------------------------------------------------------------------------------------------------------


def escape_text(text: object) -> str:
    """Escape markup, and what `printable` escapes: controls, which XML forbids, and marks that reorder the text around them."""
    return escape(re.sub("[\ufffe\uffff]", "\ufffd", printable(text, lines=True)), quote=True)


def px(number: float) -> str:
    """Write a coordinate with one decimal at most.

    >>> px(3.0), px(-2.25), px(-0.01)
    ('3', '-2.2', '0')
    """
    text = f"{number:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def tone_class(tone: str) -> str:
    """Return the CSS class of a tone."""
    if tone.startswith("class"):
        return f"t{int(tone.removeprefix('class')) % CLASSES}"
    return f"t-{tone}"


def text_element(x: float, y: float, text: str, *, tone: str = "quiet", anchor: str = "start", classes: str = "") -> str:
    """Return a text element; `classes` are CSS classes in addition to that of its tone."""
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    names = " ".join(part for part in (tone_class(tone), "fill", classes) if part)
    return f'<text x="{px(x)}" y="{px(y)}"{anchored} class="{names}">{escape_text(text)}</text>'


def turned_element(x: float, y: float, text: str) -> str:
    """Return a text element that reads upwards."""
    at = f'x="{px(x)}" y="{px(y)}" transform="rotate(-90 {px(x)} {px(y)})" text-anchor="middle"'
    return f'<text {at} class="t-quiet fill">{escape_text(text)}</text>'


def title_element(text: str) -> str:
    """Return the tooltip of an element, or nothing if the text is empty."""
    return f"<title>{escape_text(text)}</title>" if text else ""
