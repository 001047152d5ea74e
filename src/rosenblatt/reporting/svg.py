"""A chart as an SVG: text at its own size, tones as CSS classes, values told when pointed at. Needs nothing but Python.

Pages carry every chart twice, narrow and wide, so that letters are as large on a phone as on a desk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import pairwise

from .charts import Band, Bars, Chart, Grid, Line, Mark, Marker, Points, Rule, Scale, apart
from .style import CLASSES
from .text import count, cut, percent

# --- The pieces every SVG is made of: safe text, short numbers, tones.

LETTER, BOLD = 6.3, 7.6  # the width of a letter of 12 pixels, on average, and of a bold one in a wide font


def clean(text: object) -> str:
    """Text that no file can smuggle markup into, nor what XML forbids."""
    return escape(re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", str(text)), quote=True)


def place(number: float) -> str:
    return (
        f"{number:.1f}".removesuffix(".0").replace("-0", "0", 1) if abs(number) < 0.05 else f"{number:.1f}".removesuffix(".0")
    )


def tone_class(tone: str) -> str:
    if tone.startswith("class"):
        return f"t{int(tone.removeprefix('class')) % CLASSES}"
    return f"t-{tone}"


def words(x: float, y: float, text: str, *, tone: str = "quiet", anchor: str = "start", classes: str = "") -> str:
    place_of = "" if anchor == "start" else f' text-anchor="{anchor}"'
    names = " ".join(part for part in (tone_class(tone), "fill", classes) if part)
    return f'<text x="{place(x)}" y="{place(y)}"{place_of} class="{names}">{clean(text)}</text>'


def told(text: str) -> str:
    return f"<title>{clean(text)}</title>" if text else ""


# --- The two charts without axes: named bars that lie, and the confusion matrix.

MOST_NUMBERED = 12  # classes, up to which cells have their counts written in
MOST_SHARED = 4  # and their shares
BROAD = 1.12  # how much broader letters are in the broadest of common fonts
WIDEST = 26  # letters of a name beside its bar
STRONGEST = 0.46  # how much of a cell's tone is mixed into the card at most, so that text stays readable on it


def bars_that_lie(scale: Scale, width: int) -> tuple[float, list[str]]:
    """Wide: name, bar, side in a line. Narrow: name and side above the bar."""
    wide = width >= 480
    most = max(abs(value) for value in scale.values)
    names = max(len(cut(name, WIDEST)) for name in scale.names) * LETTER * BROAD + 6
    sides = max(len(side) for side in scale.sides) * LETTER + 8
    pitch = 25 if wide else 35
    parts = []
    for n, (name, value, tone, side, title) in enumerate(
        zip(scale.names, scale.values, scale.tones, scale.sides, scale.titles, strict=True)
    ):
        y, kind = n * pitch, tone_class(tone)
        share = abs(value) / most
        if wide:
            left, length = names + 6, max(2.0, share * (width - names - sides - 8))
            texts = words(names - 2, y + 16, cut(name, WIDEST), tone="ink", anchor="end")
            texts += words(left + length + 6, y + 16, side, tone=tone)
            box = f'x="{place(left)}" y="{y + 6}" width="{place(length)}" height="13"'
        else:
            fits = cut(name, max(8, int((width - sides * BROAD) / (LETTER * BROAD))))
            texts = words(0, y + 12, fits, tone="ink") + words(width, y + 12, side, tone=tone, anchor="end")
            box = f'x="0" y="{y + 18}" width="{place(max(2.0, share * width))}" height="7"'
        parts.append(f'<g>{told(title)}<rect class="{kind} fill" {box} rx="2"/>{texts}</g>')
    return len(scale.names) * pitch + 2, parts


def grid(table: Grid, width: int) -> tuple[float, list[str]]:
    """Cells by the share of their row: right ones in one tone, mistakes in another."""
    k = len(table.names)
    longest = max(len(cut(name, 14)) for name in table.names)
    small = k > MOST_NUMBERED
    letter = LETTER * (0.8 if small else 1.0)
    gutter = min(14, longest) * letter + 26
    cell = min((width - gutter) / k, 150.0 if k <= MOST_SHARED else 56.0)
    tall = min(cell, 76.0) if k <= MOST_SHARED else cell
    upright = longest * letter * BROAD <= cell
    shown = max(3, int(cell / (letter * BROAD)) - 1) if k <= MOST_SHARED else 10
    turned = not upright and k > MOST_SHARED
    head = 20 + (min(longest, 10) * letter * BROAD + 8 if turned else 18)
    class_of_text = "small" if small or k > 7 else ""
    parts = [
        words(gutter + cell * k / 2, 12, table.columns_label, anchor="middle"),
        _turned(10, head + tall * k / 2, table.rows_label),
    ]
    for c, name in enumerate(table.names):
        x, y = gutter + cell * (c + 0.5), head + tall * (c + 0.5)
        if turned:
            text = clean(cut(name, 10))
            at = f'x="{place(x + 4)}" y="{place(head - 5)}" transform="rotate(-90 {place(x + 4)} {place(head - 5)})"'
            parts.append(f'<text {at} class="t-ink fill {class_of_text}">{text}</text>')
        else:
            parts.append(words(x, head - 6, cut(name, shown), tone="ink", anchor="middle", classes=class_of_text))
        parts.append(words(gutter - 6, y + 4, cut(name, 14), tone="ink", anchor="end", classes=class_of_text))
    for r, row in enumerate(table.counts):
        total = sum(row)
        for c, value in enumerate(row):
            parts.append(_cell(table, r, c, value, total, (gutter + cell * c, head + tall * r, cell, tall), class_of_text))
    return head + tall * k + 4, parts


def _cell(table: Grid, r: int, c: int, value: int, total: int, box: tuple[float, float, float, float], size: str) -> str:
    x, y, w, h = box
    share, k = value / total if total else 0.0, len(table.names)
    gap = 1.0 if k > MOST_NUMBERED else 2.0
    strength = 0.08 + (STRONGEST - 0.08) * share**0.5 if value else 0.05
    tone = ("t-good" if r == c else "t-bad") if value else "t-quiet"
    frame = f'x="{place(x)}" y="{place(y)}" width="{place(w - gap)}" height="{place(h - gap)}"'
    rect = f'<rect class="{tone} fill" fill-opacity="{strength:.2f}" {frame} rx="{3 if k <= MOST_NUMBERED else 1}"/>'
    text = ""
    middle = x + (w - gap) / 2
    if k <= MOST_SHARED:
        text = words(middle, y + h / 2 - 3, count(value), tone="ink", anchor="middle", classes="strong large")
        text += words(middle, y + h / 2 + 14, percent(share), tone="ink", anchor="middle", classes="small")
    elif k <= MOST_NUMBERED and value:
        fits = len(count(value)) * LETTER * 0.8 < w - 2
        text = words(middle, y + h / 2 + 3, count(value) if fits else f"{value}", tone="ink", anchor="middle", classes=size)
    said = f"{table.names[r]} taken for {table.names[c]}" if r != c else f"{table.names[r]} found"
    return f"<g>{told(f'{said}: {count(value)} of {count(total)} rows ({percent(share)})')}{rect}{text}</g>"


def _turned(x: float, y: float, text: str) -> str:
    at = f'x="{place(x)}" y="{place(y)}" transform="rotate(-90 {place(x)} {place(y)})" text-anchor="middle"'
    return f'<text {at} class="t-quiet fill">{clean(text)}</text>'


# ---

NARROW, WIDE = 330, 520
TITLE = 28  # the height of a title above a chart


def svg(chart: Chart, width: int = WIDE, titled: bool = False) -> str:
    """The whole element; `role="img"` with the caption as its name. `titled`: under the title, which pages have already."""
    mark = chart.marks[0]
    if isinstance(mark, Scale):
        height, parts = bars_that_lie(mark, width)
    elif isinstance(mark, Grid):
        height, parts = grid(mark, width)
    else:
        plot = Plot(chart, width)
        height, parts = plot.height, list(plot.parts())
    if titled:
        title = words(0, 15, chart.title, tone="ink", classes="large strong")
        height, parts = height + TITLE, [title, f'<g transform="translate(0 {TITLE})">', *parts, "</g>"]
    label = clean(f"{chart.title}. {chart.caption}")
    opening = f'<svg class="chart" role="img" aria-label="{label}" viewBox="0 0 {width} {place(height)}" width="{width}"'
    return f'{opening} height="{place(height)}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'


class Plot:
    """A chart with two axes."""

    def __init__(self, chart: Chart, width: int) -> None:
        self.chart, self.width, self.wide = chart, width, width >= 480
        lines = [mark for mark in chart.marks if isinstance(mark, Line) and mark.label]
        bars = [mark for mark in chart.marks if isinstance(mark, Bars) and mark.label]
        self.at_ends = lines if self.wide and not bars else []
        keyed: list[Line | Bars] = [*bars, *([] if self.at_ends else lines)]
        self.key = list(_key_rows(keyed, 0 if not chart.y.ticks else len(chart.y.label) * LETTER + 18, width))
        gutter = max((len(mark.label) for mark in self.at_ends), default=0) * BOLD + 8 if self.at_ends else 0
        ticks = max((len(text) for _, text in chart.y.ticks), default=0)
        self.left = ticks * LETTER + 10 if chart.y.ticks else 20
        self.right = width - max(12.0, gutter)
        top_bands = any(isinstance(mark, Band) and _upright(mark, chart) for mark in chart.marks)
        self.top = 10 + 17 * max(len(self.key), 1 if chart.y.ticks or top_bands else 0) + 2
        body = (270 if self.wide else 250) if chart.tall else (216 if self.wide else 180)
        self.bottom = self.top + body
        self.height = self.bottom + 38
        self.taken: list[tuple[float, float, float]] = []  # where rules have their words: from, to, height

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
            yield self.band_name(band)
        yield from self.line_names()
        yield from self.key_parts()

    # --- axes ----------------------------------------------------------------------------------------------------------

    def axes(self) -> Iterator[str]:
        chart = self.chart
        for value, text in chart.y.ticks:
            y = self.y(value)
            yield f'<path class="gridline" d="M{place(self.left)} {place(y)}H{place(self.right)}"/>'
            yield words(self.left - 6, y + 4, text, anchor="end", classes="tick")
        yield f'<path class="axis" d="M{place(self.left)} {place(self.bottom)}H{place(self.right)}"/>'
        beyond = -100.0
        for value, text in chart.x.ticks:
            x, half = self.x(value), len(text) * LETTER / 2
            if x - half < beyond or x - half < 0:
                continue
            x = min(x, self.width - half)
            beyond = x + half + 6
            yield f'<path class="axis" d="M{place(self.x(value))} {place(self.bottom)}v4"/>'
            yield words(x, self.bottom + 17, text, anchor="middle", classes="tick")
        yield words((self.left + self.right) / 2, self.bottom + 33, chart.x.label, anchor="middle")
        if chart.y.ticks:
            yield words(0, 13, chart.y.label)
        elif chart.y.label:
            x, y = 10, (self.top + self.bottom) / 2
            turned = f'transform="rotate(-90 {x} {place(y)})" text-anchor="middle"'
            yield f'<text x="{x}" y="{place(y)}" {turned} class="t-quiet fill">{clean(chart.y.label)}</text>'

    # --- marks ---------------------------------------------------------------------------------------------------------

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
        path = "L".join(f"{place(x)} {place(y)}" for x, y in pairs)
        yield f'<path class="{tone} line{" thin" if line.thin else ""}" d="M{path}"/>'
        if line.dots:
            dots = "".join(f"M{place(x)} {place(y)}h0" for x, y in pairs)
            yield f'<path class="{tone} dots large" d="{dots}"/>'
        for (x, y), text in zip(pairs, line.titles, strict=False):
            yield f'<circle class="{tone} hit" cx="{place(x)}" cy="{place(y)}" r="6">{told(text)}</circle>'

    def points(self, points: Points) -> str:
        pairs = ((self.x(x), self.y(y)) for x, y in zip(points.x, points.y, strict=True))
        if points.cross:
            path = "".join(f"M{place(x - 3)} {place(y - 3)}l6 6m0-6l-6 6" for x, y in pairs)
            return f'<path class="{tone_class(points.tone)} crosses" d="{path}"/>'
        path = "".join(f"M{place(x)} {place(y)}h0" for x, y in pairs)
        return f'<path class="{tone_class(points.tone)} dots{" faint" if points.faint else ""}" d="{path}"/>'

    def bars(self, bars: Bars) -> Iterator[str]:
        classes = f"{tone_class(bars.tone)} fill{' pale' if bars.faint else ''}"
        titles = [*bars.titles, *[""] * (len(bars.low) - len(bars.titles))]
        for low, high, base, top, text in zip(bars.low, bars.high, bars.base, bars.top, titles, strict=True):
            x, y = self.x(low), self.y(top)
            w, h = self.x(high) - x, max(self.y(base) - y, 1.0 if top > base else 0.0)
            box = f'x="{place(x)}" y="{place(self.y(base) - h)}" width="{place(max(0.8, w - 0.8))}" height="{place(h)}"'
            yield f'<rect class="{classes}" {box}>{told(text)}</rect>'

    def rule(self, rule: Rule) -> Iterator[str]:
        tone, kind = tone_class(rule.tone), "rule dashed" if rule.dashed else "rule"
        if rule.x is not None:
            x = self.x(rule.x)
            yield f'<path class="{tone} {kind}" d="M{place(x)} {place(self.top)}V{place(self.bottom)}"/>'
            if rule.text:
                yield self.rule_words(rule, x)
        if rule.y is not None:
            y = self.y(rule.y)
            yield f'<path class="{tone} {kind}" d="M{place(self.left)} {place(y)}H{place(self.right)}"/>'
            if rule.text:
                over = y - 6 if y > self.top + 24 else y + 15
                yield words(self.right - 2, over, rule.text, tone=rule.tone, anchor="end", classes="halo strong")

    def rule_words(self, rule: Rule, x: float) -> str:
        """Beside the line, at its top, under the words of another line that are there already."""
        size = len(rule.text) * LETTER * 0.9
        low, anchor = (x - 4 - size, "end") if x + size + 4 > self.right else (x + 4, "start")
        clashes = [height for start, end, height in self.taken if start < low + size + 4 and low < end + 4]
        y = max(clashes, default=self.top - 3) + 12
        self.taken.append((low, low + size, y))
        return words(x - 4 if anchor == "end" else x + 4, y, rule.text, tone=rule.tone, anchor=anchor, classes="halo small")

    def marker(self, marker: Marker) -> Iterator[str]:
        x, y, tone = self.x(marker.x), self.y(marker.y), tone_class(marker.tone)
        yield f'<circle class="{tone} ring" cx="{place(x)}" cy="{place(y)}" r="5.5">{told(marker.text)}</circle>'
        spot, over = self.free_place(x, y, len(marker.text) * LETTER * 1.06)
        if abs(over - y) > 24:
            end = min(max(x, spot - 20), spot + 20)
            yield f'<path class="{tone} rule" d="M{place(x)} {place(y - 8)}L{place(end)} {place(over + 4)}"/>'
        yield words(spot, over, marker.text, tone=marker.tone, anchor="middle", classes="halo strong")

    def free_place(self, x: float, y: float, size: float) -> tuple[float, float]:
        """Where words of this width hide least of the lines: as near to (x, y) as can be."""
        drawn = [(self.x(a), self.y(b)) for line in self.chart.marks if isinstance(line, Line) for a, b in along(line)]
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
        corners = " ".join(f"{place(self.x(x))},{place(self.y(y))}" for x, y in zip(band.x, band.y, strict=True))
        return f'<polygon class="{tone_class(band.tone)} band" points="{corners}">{told(band.label)}</polygon>'

    # --- names ---------------------------------------------------------------------------------------------------------

    def band_name(self, band: Band) -> str:
        """Above a band that goes from top to bottom; in the middle of other regions."""
        low, high = self.x(min(band.x)), self.x(max(band.x))
        if _upright(band, self.chart):
            on_left = band.x[0] == self.chart.x.low
            x, anchor = (low, "start") if on_left else (high, "end")
            return words(x, self.top - 6, band.label, tone=band.tone, anchor=anchor, classes="strong")
        corners = [(self.x(x), self.y(y)) for x, y in zip(band.x, band.y, strict=True)]
        x, y = self.emptiest(corners, len(band.label) * LETTER)
        return words(x, y + 4, band.label, tone=band.tone, anchor="middle", classes="halo strong")

    def emptiest(self, corners: list[tuple[float, float]], size: float) -> tuple[float, float]:
        """Inside a region, where words of this width hide the fewest points."""
        clouds = [mark for mark in self.chart.marks if isinstance(mark, Points)]
        points = [(self.x(x), self.y(y)) for mark in clouds for x, y in zip(mark.x, mark.y, strict=True)]
        u, v = (sum(corner[n] for corner in corners) / len(corners) for n in (0, 1))
        spots = [(u + part * (x - u), v + part * (y - v)) for part in (0.0, 0.3, 0.5, 0.65, 0.8) for x, y in corners]
        fits = [spot for spot in spots if self.left + size / 2 < spot[0] < self.right - size / 2] or [(u, v)]
        return min(fits, key=lambda spot: sum(abs(x - spot[0]) < size / 2 + 4 and abs(y - spot[1]) < 12 for x, y in points))

    def line_names(self) -> Iterator[str]:
        """At the right ends, pushed apart where they would touch."""
        ends = sorted((self.y(mark.y[-1]) + 4, mark.label, mark.tone) for mark in self.at_ends)
        heights = apart([height for height, _, _ in ends], 15.0, self.bottom + 4)
        for height, (_, text, tone) in zip(heights, ends, strict=True):
            yield words(self.right + 6, height, text, tone=tone, classes="strong" if tone != "quiet" else "")

    def key_parts(self) -> Iterator[str]:
        for n, row in enumerate(self.key):
            y = 13 + 17 * n
            for x, mark in row:
                tone = tone_class(mark.tone)
                if isinstance(mark, Bars):
                    pale = " pale" if mark.faint else ""
                    yield f'<rect class="{tone} fill{pale}" x="{place(x)}" y="{y - 9}" width="10" height="10" rx="2"/>'
                else:
                    thin = " thin" if mark.thin else ""
                    yield f'<path class="{tone} line{thin}" d="M{place(x - 2)} {y - 4}h12"/>'
                yield words(x + 14, y, mark.label, tone="quiet" if isinstance(mark, Bars) and mark.faint else mark.tone)


def along(line: Line) -> Iterator[tuple[float, float]]:
    """The points of a line, and some between."""
    for (x, y), (u, v) in pairwise(zip(line.x, line.y, strict=True)):
        yield from ((x + (u - x) * part / 4, y + (v - y) * part / 4) for part in range(5))


def _key_rows(marks: list[Line | Bars], taken: float, width: int) -> Iterator[list[tuple[float, Line | Bars]]]:
    """Names with a swatch, right-aligned in as many rows as they take; the first row has the y-axis' name at its left."""
    row: list[tuple[float, Line | Bars]] = []
    used = 0.0
    for mark in marks:
        need = len(mark.label) * LETTER + 30
        if row and used + need > width - taken:
            yield [(x + width - used, each) for x, each in row]
            row, used, taken = [], 0.0, 0.0
        row.append((used + 4, mark))
        used += need
    if row:
        yield [(x + width - used, each) for x, each in row]


def _upright(band: Band, chart: Chart) -> bool:
    """Whether a band is a rectangle from the bottom of the plot to its top."""
    heights = set(band.y)
    return heights == {chart.y.low, chart.y.high} and all(
        a == b or c == d for (a, c), (b, d) in pairwise(zip(band.x, band.y, strict=True))
    )
