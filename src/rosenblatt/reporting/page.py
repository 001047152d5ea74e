"""The page: one HTML file that needs no network, and is readable without its few lines of script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .charts import Chart, Grid, Line, Scale
from .figures.confusion import confusion, per_class
from .figures.features import features
from .figures.learning import learning
from .figures.margins import margins
from .figures.passes import passes
from .figures.plane import plane
from .proof import proof
from .story import Facts, Story
from .style import LIGHT, charts_css, page_css, script, variables
from .svg import NARROW, WIDE, clean, svg
from .text import TIMES, count, cut, percent, plural, short

# --- A single plot as a file, its kind by its ending.

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


# --- The figures of a report by name.

_FIGURES: dict[str, Callable[[Facts], Chart | None]] = {
    "learning": learning,
    "passes": passes,
    "margins": margins,
    "plane": plane,
    "features": features,
    "confusion": confusion,
}
FIGURES = tuple(_FIGURES)

_NEEDS = {
    "learning": "the log of the run and some rows: fit with log=True",
    "passes": "the log of the run and its training rows, or a history: fit with log=True",
    "margins": "the training rows",
    "plane": "the training rows, and one plane for two classes or one for each of more",
    "features": "weights that are not all zero: one plane for two classes or one for each of more",
    "confusion": "rows with their labels",
}


def draw(story: Story, which: str) -> Chart:
    """One figure of a story; ValueError where the story has not what it takes."""
    if which not in _FIGURES:
        raise ValueError(f"which must be one of {', '.join(FIGURES)}, got {which!r}")
    chart = _FIGURES[which](Facts(story))
    if chart is None:
        raise ValueError(f"the plot {which!r} needs {_NEEDS[which]}")
    return chart


def all_charts(facts: Facts) -> list[Chart]:
    """Those that the story has what it takes for, in the order of a report."""
    found = (_FIGURES[name](facts) for name in FIGURES)
    return [chart for chart in found if chart is not None]


# ---

SHORT = 22  # letters, up to which a value of the summary is a tile
TABLE_ROWS = 24
OPEN = 6  # classes, up to which their table is not folded


def write_report(story: Story) -> str:
    """The report of a run as one HTML document."""
    facts = Facts(story)
    charts = all_charts(facts)
    body = [
        *_header(story, facts),
        "<main>",
        *_summary(story.summary),
        *proof(story),
        '<section class="figures" aria-label="Figures">',
    ]
    body += [_figure(chart) for chart in charts]
    body += ["</section>", "</main>", *_footer(story), f"<script>{script()}</script>"]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<title>{clean(story.title)}</title><link rel="icon" href="data:,"><style>{page_css()}{charts_css()}</style>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def _header(story: Story, facts: Facts) -> Iterator[str]:
    version = f" {clean(story.version)}" if story.version else ""
    yield f'<header><p class="eyebrow"><span>Rosenblatt{version}: report of a run</span>'
    yield '<button id="theme" type="button" hidden>Dark</button></p>'
    yield f"<h1>{clean(story.title)}</h1>"
    if facts.judged is not None:
        where, codes, predicted, _ = facts.judged
        wrong = int((codes != predicted).sum())
        told = f"of {plural(len(codes), f'{where} row')} right, {count(wrong) if wrong else 'none'} wrong"
        yield f'<p class="headline"><b>{percent(1.0 - wrong / len(codes))}</b><span>{told}</span></p>'
    yield "</header>"


def _summary(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Short values as tiles, long ones in lines of their own below."""
    if not pairs:
        return
    short_ones = [pair for pair in pairs if len(str(pair[1])) <= SHORT]
    long_ones = [pair for pair in pairs if len(str(pair[1])) > SHORT]
    yield "<dl>"
    for name, value in short_ones:
        yield f"<div><dt>{clean(name)}</dt><dd>{_prose(value)}</dd></div>"
    for name, value in long_ones:
        yield f'<div class="long"><dt>{clean(name)}</dt><dd>{_prose(value)}</dd></div>'
    yield "</dl>"


def _prose(text: str) -> str:
    """No line ends between a number and its per cent."""
    return clean(text).replace(" %", "&nbsp;%")


def _figure(chart: Chart) -> str:
    pictures = "".join(f'<div class="{kind}">{svg(chart, width)}</div>' for kind, width in (("narrow", NARROW), ("wide", WIDE)))
    return (
        f'<figure id="{chart.name}"><h2>{clean(chart.title)}</h2>{pictures}'
        f"<figcaption>{_prose(chart.caption)}</figcaption>{_numbers(chart)}</figure>"
    )


def _footer(story: Story) -> Iterator[str]:
    yield "<footer>"
    if story.notes:
        yield "<ul>" + "".join(f"<li>{clean(note)}</li>" for note in story.notes) + "</ul>"
    if story.command:
        yield f"<pre><code>{clean(story.command)}</code></pre>"
    yield f"<p>Written by {clean(f'Rosenblatt {story.version}'.strip())}. This file loads nothing.</p></footer>"


# --- numbers ---------------------------------------------------------------------------------------------------------------


def _numbers(chart: Chart) -> str:
    """What the picture shows, as a table to fold out."""
    mark = chart.marks[0]
    if isinstance(mark, Grid):
        return _class_table(mark)
    if isinstance(mark, Scale):
        rows = [(name, short(value), side) for name, value, side in zip(mark.names, mark.values, mark.sides, strict=True)]
        return _folded("The numbers", ("feature", f"weight {TIMES} spread", "speaks"), rows, texts=(0, 2))
    lines = [mark for mark in chart.marks if isinstance(mark, Line)]
    if not lines:
        return ""
    told: list[tuple[str, ...]]
    places = np.unique(np.linspace(0, len(lines[0].x) - 1, TABLE_ROWS).round().astype(int))
    told = [(count(lines[0].x[i]), *(short(float(line.y[i])) for line in lines)) for i in places]
    words = " in %" if chart.y.ticks and chart.y.ticks[0][1].endswith("%") else ""
    return _folded(f"The numbers{words}", (chart.x.label, *(line.label or chart.y.label for line in lines)), told)


def _class_table(grid: Grid) -> str:
    rows = []
    for c, total, _, recall, precision, rival in per_class(np.array(grid.counts)):
        often = f"{cut(grid.names[rival])} ({count(grid.counts[c][rival])})" if rival is not None else "none"
        shares = ("-" if share != share else percent(share) for share in (recall, precision))
        rows.append((cut(grid.names[c]), count(total), *shares, often))
    return _folded(
        "Class by class",
        ("class", "rows", "recall", "precision", "most taken for"),
        rows,
        texts=(0, 4),
        folded=len(grid.names) > OPEN,
    )


def _folded(
    name: str, heads: Sequence[str], rows: Sequence[Sequence[str]], texts: tuple[int, ...] = (), folded: bool = True
) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        opened = (f'<{tag} class="text">' if n in texts else f"<{tag}>" for n in range(len(row)))
        return "".join(f"{opening}{clean(cell)}</{tag}>" for opening, cell in zip(opened, row, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table>"
    return f'<details{"" if folded else " open"}><summary>{clean(name)}</summary><div class="scroll">{table}</div></details>'
