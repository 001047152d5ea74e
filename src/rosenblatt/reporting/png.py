"""Charts as PNG and PDF, drawn by matplotlib (the extra `[plot]`)."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

from .charts import CLASSES, LIGHT, Band, Bars, Chart, Grid, HorizontalBars, Line, Mark, Marker, Points, Rule, spread_apart
from .svg import MAX_CELL_OPACITY, MAX_CLASSES_WITH_COUNTS
from .text import count, cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = {"ink": "ink", "quiet": "quiet", "good": "t5", "bad": "t6", "training": "t2", "test": "t3"}
CHAR_SHARE = 0.0145  # of the width of the plot beside names, for a character beside a bar
_PLAIN: dict[str, Any] = {"parse_math": False}  # names from files may contain dollar signs


def _color(tone: str) -> str:
    return LIGHT[f"t{int(tone.removeprefix('class')) % CLASSES}"] if tone.startswith("class") else LIGHT[_NAMED[tone]]


def drawn_with_matplotlib(chart: Chart, extension: str) -> bytes:
    """Return a chart as a file: `png` or `pdf`."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(f"a plot as {extension.upper()} needs matplotlib: pip install 'rosenblatt[plot]'") from None
    mark = chart.marks[0]
    height = 0.34 * len(mark.names) + 1.1 if isinstance(mark, HorizontalBars) else 6.4 if isinstance(mark, Grid) else 4.6
    figure = Figure(figsize=(7.2, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    above = any(isinstance(each, Bars) for each in chart.marks)  # the names of bars are drawn between title and plot
    axes.set_title(chart.title, loc="left", pad=28.0 if above else 10.0, fontweight="bold", color=LIGHT["ink"], **_PLAIN)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0, colors=LIGHT["quiet"])
    if isinstance(mark, HorizontalBars):
        _horizontal_bars(axes, mark)
    elif isinstance(mark, Grid):
        _grid(axes, mark)
    else:
        _axes(axes, chart)
        for each in chart.marks:
            _mark(axes, each)
        _names(axes, chart)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # characters missing in the font are drawn as boxes
        file = io.BytesIO()
        undated = {"CreationDate": None} if extension == "pdf" else {}  # the same run gives the same file
        figure.savefig(file, format=extension, dpi=160, metadata=undated)
    return file.getvalue()


def _axes(axes: Axes, chart: Chart) -> None:
    if chart.x.log:
        axes.set_xscale("log")
    if chart.y.log:
        axes.set_yscale("log")
    for axis, put, name in ((chart.x, axes.set_xticks, axes.set_xlabel), (chart.y, axes.set_yticks, axes.set_ylabel)):
        put([value for value, _ in axis.ticks], [text for _, text in axis.ticks], minor=False)
        name(axis.label, color=LIGHT["quiet"], **_PLAIN)
    axes.minorticks_off()
    axes.set(xlim=(chart.x.low, chart.x.high), ylim=(chart.y.low, chart.y.high))
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=LIGHT["line"], linewidth=0.8)


def _mark(axes: Axes, mark: Mark) -> None:
    tone = _color(mark.tone) if not isinstance(mark, HorizontalBars | Grid) else ""
    if isinstance(mark, Line):
        width = 1.0 if mark.thin else 2.2
        axes.plot(mark.x, mark.y, color=tone, linewidth=width, marker="o" if mark.dots else None, markersize=4)
    elif isinstance(mark, Points):
        look: dict[str, Any] = (
            {"marker": "x", "s": 22, "alpha": 1.0} if mark.cross else {"marker": "o", "s": 12, "alpha": 0.45, "linewidths": 0}
        )
        axes.scatter(mark.x, mark.y, color=tone, **look)
    elif isinstance(mark, Bars):
        widths = [high - low for low, high in zip(mark.low, mark.high, strict=True)]
        heights = [top - base for base, top in zip(mark.base, mark.top, strict=True)]
        axes.bar(
            mark.low, heights, widths, bottom=mark.base, align="edge", color=tone, alpha=0.3 if mark.faint else 1.0,
            edgecolor="white", linewidth=0.5,
        )  # fmt: skip
    elif isinstance(mark, Band):
        axes.fill(mark.x, mark.y, color=tone, alpha=0.09, linewidth=0)
        over = (sum(mark.x) / len(mark.x), max(mark.y))
        axes.annotate(
            mark.label, over, (0, -14), textcoords="offset points", ha="center", color=tone, fontweight="bold", **_PLAIN
        )
    elif isinstance(mark, Rule):
        _rule(axes, mark, tone)
    elif isinstance(mark, Marker):
        from matplotlib.patheffects import withStroke

        axes.plot([mark.x], [mark.y], "o", color="white", markeredgecolor=tone, markeredgewidth=2.2, markersize=9)
        axes.annotate(
            mark.text, (mark.x, mark.y), (0, 10), textcoords="offset points", ha="center", color=tone, fontweight="bold",
            path_effects=[withStroke(linewidth=3.5, foreground="white")], **_PLAIN,
        )  # fmt: skip


def _rule(axes: Axes, rule: Rule, tone: str) -> None:
    """Draw a straight line through the plot and its label."""
    style: dict[str, Any] = {"color": tone, "linewidth": 1.0, "linestyle": (0, (3, 3)) if rule.dashed else "-"}
    label: dict[str, Any] = {"textcoords": "offset points", "color": tone, "fontsize": 9, **_PLAIN}
    if rule.x is not None:
        axes.axvline(rule.x, **style)
        if rule.text:
            axes.annotate(rule.text, (rule.x, 1.0), (3, -10), xycoords=("data", "axes fraction"), ha="left", **label)
    elif rule.y is not None:
        axes.axhline(rule.y, **style)
        if rule.text:
            axes.annotate(rule.text, (1.0, rule.y), (3, 4), xycoords=("axes fraction", "data"), ha="right", **label)


def _names(axes: Axes, chart: Chart) -> None:
    """Label lines at their right ends without overlap; in charts with bars, draw a legend above the plot."""
    bars = [mark for mark in chart.marks if isinstance(mark, Bars) and mark.label]
    lines = [mark for mark in chart.marks if isinstance(mark, Line) and mark.label]
    if bars:
        from matplotlib.patches import Patch

        named: list[Bars | Line] = [*bars, *lines]
        swatches = [Patch(color=_color(mark.tone), alpha=0.3 if getattr(mark, "faint", False) else 1.0) for mark in named]
        axes.legend(
            swatches, [mark.label for mark in named], frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2
        )
        return
    lines.sort(key=lambda line: line.y[-1])
    # Heights are shares of the axis, which may be logarithmic.
    heights = spread_apart([chart.y.share(line.y[-1]) for line in lines], 0.052, 1.0)
    for height, line in zip(heights, lines, strict=True):
        axes.annotate(
            line.label, (line.x[-1], height), (6, 0), xycoords=("data", "axes fraction"), textcoords="offset points",
            va="center", color=_color(line.tone), fontsize=9, annotation_clip=False, **_PLAIN,
        )  # fmt: skip


def _horizontal_bars(axes: Axes, bars: HorizontalBars) -> None:
    places = range(len(bars.names))
    ends = [value if bars.signed else abs(value) for value in bars.values]
    axes.barh(places, ends, color=[_color(tone) for tone in bars.tones], height=0.55)
    axes.set_yticks(places, [cut(name) for name in bars.names], color=LIGHT["ink"], **_PLAIN)
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    for n, (end, side, tone) in enumerate(zip(ends, bars.sides, bars.tones, strict=True)):
        away, align = (-5, "right") if end < 0 else (5, "left")
        axes.annotate(
            side, (end, n), (away, 0), textcoords="offset points", va="center", ha=align, color=_color(tone), fontsize=9,
            **_PLAIN,
        )  # fmt: skip
    low, high = min(0.0, *ends), max(0.0, *ends)
    share = 0.2  # of the width, for the texts beside the bars
    if bars.signed:
        axes.axvline(0.0, color=LIGHT["quiet"], linewidth=0.8)
        share = min(0.35, CHAR_SHARE * max(map(len, bars.sides)))
    room = (high - low or 1.0) * share / (1.0 - share * ((low < 0.0) + (high > 0.0 or not low)))
    axes.set_xlim(low - room if low < 0.0 else 0.0, high + room if high > 0.0 or not low else 0.0)


def _grid(axes: Axes, grid: Grid) -> None:
    k = len(grid.names)
    axes.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5), aspect="equal")
    names = [cut(name, 14) for name in grid.names]
    axes.set_xticks(range(k), names, rotation=90 if max(map(len, names)) > 40 / k else 0, **_PLAIN)
    axes.set_yticks(range(k), names, **_PLAIN)
    axes.set_xlabel(grid.columns_label, color=LIGHT["quiet"])
    axes.set_ylabel(grid.rows_label, color=LIGHT["quiet"])
    axes.spines["bottom"].set_visible(False)
    for r, row in enumerate(grid.counts):
        total = sum(row) or 1
        for c, value in enumerate(row):
            strength = 0.08 + (MAX_CELL_OPACITY - 0.08) * (value / total) ** 0.5 if value else 0.03
            axes.fill(
                [c - 0.48, c + 0.48, c + 0.48, c - 0.48], [r - 0.48, r - 0.48, r + 0.48, r + 0.48],
                color=_color("good" if r == c else "bad"), alpha=strength, linewidth=0,
            )  # fmt: skip
            if value and k <= MAX_CLASSES_WITH_COUNTS:
                axes.text(c, r, count(value), ha="center", va="center", color=LIGHT["ink"], fontsize=11 if k <= 6 else 8)
