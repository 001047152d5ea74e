"""Reports and figures as files: the HTML report, which needs no network and no script, and single figures by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ..atomic_file import write_atomically
from ..certificates.sentences import describe_margins, describe_separation
from ..certificates.statements import Separable
from .charts import CLASSES, DARK, LIGHT, Chart, Grid, HorizontalBars, Line
from .figures.curves import learning, passes
from .figures.features import features
from .figures.plane import plane
from .figures.predictions import confusion, margins, per_class
from .figures.reliability import reliability
from .story import Facts, Story
from .svg import NARROW_PX, WIDE_PX, escape_text, svg
from .text import TIMES, count, count_bound, cut, percent, plural, short

EXTENSIONS = (".png", ".svg", ".pdf")
# Characters up to which a value of the summary is shown as a tile.
TILE_CHARS = 22
# Rows of a table under a chart, at most.
MAX_TABLE_ROWS = 24
# Classes up to which their table is shown unfolded.
MAX_UNFOLDED_CLASSES = 6
BOUND = "R\N{SUPERSCRIPT TWO}/\N{GREEK SMALL LETTER GAMMA}\N{SUPERSCRIPT TWO}"
BADGES = {
    "separable": ("t2", "Proved: separable"),
    "inseparable": ("t1", "Proved: not separable"),
    "undecided": ("t7", "Undecided"),
}

# --- Single figures


def save_chart(chart: Chart, path: str | Path) -> None:
    """Write a chart as SVG, PNG or PDF, by the extension of the path; PNG and PDF need matplotlib."""
    path = Path(path)
    extension = path.suffix.lower()
    if extension not in EXTENSIONS:
        raise ValueError(f"the file of a plot must end in {', '.join(EXTENSIONS)}, got {path.name!r}")
    if extension == ".svg":
        write_atomically(path, standalone(chart).encode())
        return
    from .png import drawn_with_matplotlib

    write_atomically(path, drawn_with_matplotlib(chart, extension.removeprefix(".")))


def standalone(chart: Chart) -> str:
    """Return an SVG file with the title and all styles, on white."""
    style = f"<style>svg{{background:#fff;{variables(LIGHT)}}}{charts_css()}</style>"
    opening, rest = svg(chart, WIDE_PX, titled=True).split(">", 1)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{opening}><desc>{escape_text(chart.caption)}</desc>{style}{rest}\n'


_FIGURES: dict[str, Callable[[Facts], Chart | None]] = {
    "learning": learning,
    "passes": passes,
    "margins": margins,
    "plane": plane,
    "features": features,
    "confusion": confusion,
    "reliability": reliability,
}
FIGURES = tuple(_FIGURES)

# What each figure requires, for error messages.
_REQUIREMENTS = {
    "learning": "the log of the run and some rows: fit with log=True",
    "passes": "the log of the run and its training rows, or a history: fit with log=True",
    "margins": "the training rows",
    "plane": "the training rows, and one plane for two classes or one per class",
    "features": "weights that are not all zero, of one plane for two classes or one per class",
    "confusion": "rows with their labels",
    "reliability": "test rows and probabilities: fit with calibrate='sigmoid'",
}


def draw(story: Story, which: str) -> Chart:
    """Draw one figure.

    Parameters
    ----------
    story : Story
    which : {"learning", "passes", "margins", "plane", "features", "confusion", "reliability"}

    Returns
    -------
    Chart

    Raises
    ------
    ValueError
        If the name is unknown, or if the story lacks what the figure requires.
    """
    if which not in _FIGURES:
        raise ValueError(f"which must be one of {', '.join(FIGURES)}, got {which!r}")
    chart = _FIGURES[which](Facts(story))
    if chart is None:
        raise ValueError(f"the plot {which!r} needs {_REQUIREMENTS[which]}")
    return chart


def all_charts(facts: Facts) -> list[Chart]:
    """Draw all figures that the story has the data for, in the order of a report."""
    found = (_FIGURES[name](facts) for name in FIGURES)
    return [chart for chart in found if chart is not None]


# --- The report


def write_report(story: Story) -> str:
    """Return the report of a run as one HTML document."""
    facts = Facts(story)
    charts = all_charts(facts)
    body = [
        *_header(story, facts),
        "<main>",
        *_summary(story.summary),
        *proof_section(story),
        '<section class="figures" aria-label="Figures">',
    ]
    body += [_figure(chart) for chart in charts]
    body += ["</section>", "</main>", *_footer(story), f"<script>{script()}</script>"]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<title>{escape_text(story.title)}</title><link rel="icon" href="data:,"><style>{page_css()}{charts_css()}</style>'
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n' + "\n".join(body) + "\n</body></html>\n"


def _header(story: Story, facts: Facts) -> Iterator[str]:
    version = f" {escape_text(story.version)}" if story.version else ""
    yield f'<header><p class="eyebrow"><span>Rosenblatt{version}: report of a run</span>'
    yield '<button id="theme" type="button" hidden>Dark</button></p>'
    yield f"<h1>{escape_text(story.title)}</h1>"
    if facts.evaluation is not None:
        kind, codes, predicted, _ = facts.evaluation
        right, rows = int((codes == predicted).sum()), len(codes)
        accuracy = f"accuracy on {plural(rows, f'{kind} row')} ({count(rows - right)} wrong)"
        yield f'<p class="headline"><b>{percent(1.0 - (rows - right) / rows)}</b><span>{accuracy}</span></p>'
    if story.warnings:
        yield '<ul class="warnings">' + "".join(f"<li>{_prose(warning)}</li>" for warning in story.warnings) + "</ul>"
    yield "</header>"


def _summary(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield short values as tiles and long ones in lines below."""
    if not pairs:
        return
    tiles = [pair for pair in pairs if len(str(pair[1])) <= TILE_CHARS]
    lines = [pair for pair in pairs if len(str(pair[1])) > TILE_CHARS]
    yield "<dl>"
    for name, value in tiles:
        yield f"<div><dt>{escape_text(name)}</dt><dd>{_prose(value)}</dd></div>"
    for name, value in lines:
        yield f'<div class="long"><dt>{escape_text(name)}</dt><dd>{_prose(value)}</dd></div>'
    yield "</dl>"


def _prose(text: str) -> str:
    """Escape text, with no line break between a number and its percent sign."""
    return escape_text(text).replace(" %", "&nbsp;%")


def _figure(chart: Chart) -> str:
    narrow, wide = svg(chart, NARROW_PX), svg(chart, WIDE_PX)
    pictures = f'<div class="narrow">{narrow}</div><div class="wide">{wide}</div>'
    return (
        f'<figure id="{chart.name}"><h2>{escape_text(chart.title)}</h2>{pictures}'
        f"<figcaption>{_prose(chart.caption)}</figcaption>{_numbers(chart)}</figure>"
    )


def _footer(story: Story) -> Iterator[str]:
    yield "<footer>"
    if story.notes:
        yield "<ul>" + "".join(f"<li>{escape_text(note)}</li>" for note in story.notes) + "</ul>"
    if story.command:
        yield f"<pre><code>{escape_text(story.command)}</code></pre>"
    yield f"<p>Written by {escape_text(f'Rosenblatt {story.version}'.strip())}. This file loads no other files.</p></footer>"


# --- Tables under charts


def _numbers(chart: Chart) -> str:
    """Return the values of a chart as a table that unfolds."""
    mark = chart.marks[0]
    if isinstance(mark, Grid):
        return _class_table(mark)
    if isinstance(mark, HorizontalBars):
        rows = [(name, short(value), side) for name, value, side in zip(mark.names, mark.values, mark.sides, strict=True)]
        return _folded("Values", ("feature", f"weight {TIMES} spread", "evidence"), rows, texts=(0, 2))
    if isinstance(mark, Line) and chart.name == "reliability":
        return _folded(
            "Values", (chart.x.label, chart.y.label), [(percent(x), percent(y)) for x, y in zip(mark.x, mark.y, strict=True)]
        )
    lines = [mark for mark in chart.marks if isinstance(mark, Line)]
    if not lines:
        return ""
    places = np.unique(np.linspace(0, len(lines[0].x) - 1, MAX_TABLE_ROWS).round().astype(int))
    table = [(count(lines[0].x[i]), *(short(float(line.y[i])) for line in lines)) for i in places]
    unit = f" in {chart.y.unit}" if chart.y.unit else ""
    return _folded(f"Values{unit}", (chart.x.label, *(line.label or chart.y.label for line in lines)), table)


def _class_table(grid: Grid) -> str:
    rows = []
    for c, total, recall, precision, rival in per_class(np.array(grid.counts)):
        often = f"{cut(grid.names[rival])} ({count(grid.counts[c][rival])})" if rival is not None else "none"
        shares = ("-" if math.isnan(share) else percent(share) for share in (recall, precision))
        rows.append((cut(grid.names[c]), count(total), *shares, often))
    return _folded(
        "Class by class",
        ("class", "rows", "recall", "precision", "most often mistaken for"),
        rows,
        texts=(0, 4),
        folded=len(grid.names) > MAX_UNFOLDED_CLASSES,
    )


def _folded(
    name: str, heads: Sequence[str], rows: Sequence[Sequence[str]], texts: tuple[int, ...] = (), folded: bool = True
) -> str:
    """Return a table that unfolds; the columns `texts` are aligned left."""

    def cells(tag: str, row: Sequence[str]) -> str:
        opened = (f'<{tag} class="text">' if n in texts else f"<{tag}>" for n in range(len(row)))
        return "".join(f"{opening}{escape_text(cell)}</{tag}>" for opening, cell in zip(opened, row, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{cells('th', heads)}</tr></thead><tbody>{body}</tbody></table>"
    opening = "<details>" if folded else "<details open>"
    return f'{opening}<summary>{escape_text(name)}</summary><div class="scroll">{table}</div></details>'


# --- The certificate


def proof_section(story: Story) -> Iterator[str]:
    """Yield the HTML of the section; nothing without a certificate."""
    certificate = story.certificate
    if certificate is None:
        return
    tone, badge = BADGES[certificate.verdict]
    yield f'<section class="card" id="certificate"><h2>Proof</h2><p class="badge {tone}">{badge}</p>'
    headline, details = certificate.headline, list[str]()
    if isinstance(certificate, Separable):
        headline = describe_separation(certificate, "rows" if story.X_test is None else "training rows")
        details = describe_margins(certificate, ratio=BOUND)
    if story.scaled and isinstance(certificate, Separable):
        details.insert(0, "these numbers are about the rows before scaling")
    for text in (headline, *details):
        yield f"<p>{escape_text(text[:1].upper() + text[1:])}</p>"
    if story.bound is not None:
        made = story.estimator.n_updates_
        share = made / story.bound
        yield f'<div class="meter" aria-hidden="true"><i style="width:{min(100.0, 100.0 * share):.2f}%"></i></div>'
        sentence = bound_sentence(made, story.bound, story.estimator._required_margin, story.scaled)
        yield f"<p>{escape_text(sentence)}</p>"
    yield "</section>"


def bound_sentence(made: int, bound: float, margin: float = 0.0, scaled: bool = False) -> str:
    """Compare the updates of a run, which may have seen scaled rows, with the bound, which an update margin widens.

    >>> bound_sentence(51, 1024.0)
    'At most 1,024 updates are possible; this run made 51 (5.0 %).'
    >>> bound_sentence(51, 2048.0, margin=0.5)
    'At most 2,048 updates are possible with the update margin 0.5; this run made 51 (2.5 %).'
    """
    possible = f"{count_bound(bound)} updates are possible{' on the scaled rows' if scaled else ''}"
    if margin > 0.0:
        possible += f" with the update margin {short(margin)}"
    return f"At most {possible}; this run made {count(made)} ({percent(made / bound)})."


# --- Styles and the script


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
