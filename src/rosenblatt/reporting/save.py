"""A single plot as a file, its kind by its ending."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .charts import Chart
from .style import LIGHT, charts_css, variables
from .svg import WIDE, svg
from .svg_parts import clean

ENDINGS = (".png", ".svg", ".pdf")


def save_chart(chart: Chart, path: Any) -> None:
    """Write a chart to `path`: SVG by ourselves, PNG and PDF through matplotlib."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"a plot is written as {', '.join(ENDINGS)}, by the ending of its name, got {path.name!r}")
    if ending == ".svg":
        path.write_text(standalone(chart), encoding="utf-8")
        return
    from .png import save_with_matplotlib

    save_with_matplotlib(chart, path)


def standalone(chart: Chart) -> str:
    """An SVG with its title and its own colours, on white."""
    style = f"<style>svg{{background:#fff;{variables(LIGHT)}}}{charts_css()}</style>"
    opening, rest = svg(chart, WIDE, titled=True).split(">", 1)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{opening}><desc>{clean(chart.caption)}</desc>{style}{rest}\n'
