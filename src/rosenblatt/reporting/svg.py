"""Charts as SVG: text at a fixed size, tones as CSS classes, values as tooltips. Needs the standard library alone.

A page contains every chart twice, narrow and wide, so that text is equally large on phones and on desktops.
"""

from __future__ import annotations

from .charts import Chart, Grid, HorizontalBars
from .svg_elements import CHAR_PX, WIDE_FROM_PX, escape_text, px, text_element, title_element, tone_class
from .svg_plot import Plot
from .text import count, cut, percent

NARROW_PX, WIDE_PX = 330, 520  # widths of a chart
TITLE_PX = 28  # height of a title above a chart
# Numbers of classes up to which the cells of a confusion matrix contain counts, and shares.
MAX_CLASSES_WITH_COUNTS, MAX_CLASSES_WITH_SHARES = 12, 4
# Opacity of a cell's tone, at most, so that text on it stays readable.
MAX_CELL_OPACITY = 0.46
# Width of characters in the widest of common fonts, relative to the mean.
WIDE_FONT_FACTOR = 1.12
# Characters of a name beside its bar.
MAX_NAME_CHARS = 26


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
    """Draw named bars: on one line in wide charts, with name and side above the bar in narrow ones."""
    wide = width >= WIDE_FROM_PX
    most = max(abs(value) for value in bars.values)
    names = max(len(cut(name, MAX_NAME_CHARS)) for name in bars.names) * CHAR_PX * WIDE_FONT_FACTOR + 6
    sides = max(len(side) for side in bars.sides) * CHAR_PX + 8
    pitch = 25 if wide else 35
    parts = []
    for n, (name, value, tone, side, title) in enumerate(
        zip(bars.names, bars.values, bars.tones, bars.sides, bars.titles, strict=True)
    ):
        y, kind = n * pitch, tone_class(tone)
        share = abs(value) / most
        if wide:
            left, length = names + 6, max(2.0, share * (width - names - sides - 8))
            texts = text_element(names - 2, y + 16, cut(name, MAX_NAME_CHARS), tone="ink", anchor="end")
            texts += text_element(left + length + 6, y + 16, side, tone=tone)
            box = f'x="{px(left)}" y="{y + 6}" width="{px(length)}" height="13"'
        else:
            fits = cut(name, max(8, int((width - sides * WIDE_FONT_FACTOR) / (CHAR_PX * WIDE_FONT_FACTOR))))
            texts = text_element(0, y + 12, fits, tone="ink") + text_element(width, y + 12, side, tone=tone, anchor="end")
            box = f'x="0" y="{y + 18}" width="{px(max(2.0, share * width))}" height="7"'
        parts.append(f'<g>{title_element(title)}<rect class="{kind} fill" {box} rx="2"/>{texts}</g>')
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
        _turned(10, head + tall * k / 2, table.rows_label),
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
        fits = len(count(value)) * CHAR_PX * 0.8 < w - 2
        text = text_element(
            middle, y + h / 2 + 3, count(value) if fits else f"{value}", tone="ink", anchor="middle", classes=size
        )
    cell = f"{table.names[r]} predicted as {table.names[c]}"
    return f"<g>{title_element(f'{cell}: {count(value)} of {count(total)} rows ({percent(share)})')}{rect}{text}</g>"


def _turned(x: float, y: float, text: str) -> str:
    at = f'x="{px(x)}" y="{px(y)}" transform="rotate(-90 {px(x)} {px(y)})" text-anchor="middle"'
    return f'<text {at} class="t-quiet fill">{escape_text(text)}</text>'
