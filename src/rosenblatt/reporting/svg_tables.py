"""The two charts without axes: named bars that lie, and the confusion matrix."""

from __future__ import annotations

from .charts import Grid, Scale
from .svg_parts import LETTER, clean, place, told, tone_class, words
from .text import count, cut, percent

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
