"""How the page looks: two themes as CSS variables, one column on a phone, two on a desk, paper when printed.

Colours follow Okabe and Ito's hues, which the colour-blind tell apart, darker on light paper and lighter on dark: text in
them keeps a contrast of 4.5 (WCAG 2.2, AA). The rest of the style is in `page.css` and `charts.css`.
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


def variables(theme: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in theme.items())


CLASSES = 8  # colours there are for classes


def charts_css() -> str:
    """Of charts alone, for pictures that stand by themselves, too."""
    return "".join(f".t{n}{{--t:var(--t{n})}}" for n in range(CLASSES)) + _file("charts.css")


def page_css() -> str:
    light, dark = (f"color-scheme:{name};{variables(theme)}" for name, theme in (("light", LIGHT), ("dark", DARK)))
    themes = (
        f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}\n"
    )
    return themes + _file("page.css")


def script() -> str:
    return _file("page.js")


def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
