"""Styles of reports and charts: two themes as CSS variables; the rest is in `page.css` and `charts.css`.

Colors follow the hues of Okabe and Ito, which color-blind readers can distinguish. They are darker on light ground and lighter
on dark ground, so that text has a contrast of at least 4.5 (WCAG 2.2, AA).
"""

from __future__ import annotations

from pathlib import Path

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


def variables(theme: dict[str, str]) -> str:
    """Return a theme as CSS variables."""
    return "".join(f"--{name}:{color};" for name, color in theme.items())


def charts_css() -> str:
    """Return the styles of charts, in pages and in SVG files."""
    return "".join(f".t{n}{{--t:var(--t{n})}}" for n in range(CLASSES)) + _file("charts.css")


def page_css() -> str:
    """Return the themes and the styles of a page."""
    light, dark = (f"color-scheme:{name};{variables(theme)}" for name, theme in (("light", LIGHT), ("dark", DARK)))
    themes = (
        f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}\n"
    )
    return themes + _file("page.css")


def script() -> str:
    """Return the script of a page."""
    return _file("page.js")


def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
