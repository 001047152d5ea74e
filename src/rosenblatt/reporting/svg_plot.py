"""Charts with two axes as SVG: axes, marks, labels and the legend."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from .charts import Band, Bars, Chart, Line, Mark, Marker, Points, Rule, spread_apart
from .svg_elements import BOLD_CHAR_PX, CHAR_PX, WIDE_FROM_PX, escape_text, px, text_element, title_element, tone_class


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
            x, y = 10, (self.top + self.bottom) / 2
            turned = f'transform="rotate(-90 {x} {px(y)})" text-anchor="middle"'
            yield f'<text x="{x}" y="{px(y)}" {turned} class="t-quiet fill">{escape_text(chart.y.label)}</text>'

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
        low, anchor = (x - 4 - size, "end") if x + size + 4 > self.right else (x + 4, "start")
        clashes = [height for start, end, height in self.rule_labels if start < low + size + 4 and low < end + 4]
        y = max(clashes, default=self.top - 3) + 12
        self.rule_labels.append((low, low + size, y))
        return text_element(
            x - 4 if anchor == "end" else x + 4, y, rule.text, tone=rule.tone, anchor=anchor, classes="halo small"
        )

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
    row: list[tuple[float, Line | Bars]] = []
    used = 0.0
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
