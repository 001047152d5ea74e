"""`rosenblatt compare`: all algorithms on one file, in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..catalog import ALGORITHMS
from .console import bar, note, out, print_json
from .options import about_data, as_json, data_argument, holdout, options_of, seed, test_file

if TYPE_CHECKING:
    from ..training.compare import Entry
    from ..training.request import Request


def _names(ctx: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    names = list(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    if not names:
        raise click.BadParameter("name at least one algorithm")
    for name in names:
        if name not in ALGORITHMS:
            raise click.BadParameter(f"no algorithm is called {name!r}; there are {', '.join(ALGORITHMS)}")
    return names


@click.command("compare")
@data_argument
@click.option("--algorithms", callback=_names, metavar="NAME,NAME", help="Only these.  [default: all that the data allows]")
@click.option("--degree", type=click.IntRange(1, 20), default=1, show_default=True, help="Polynomials of the features.")
@click.option("--scale", type=click.Choice(["auto", "none", "max", "standard"]), default="auto", show_default=True,
              help="Scale features; auto: where their ranges differ wildly.")  # fmt: skip
@test_file
@holdout
@about_data
@seed
@as_json
def command(data: str, algorithms: list[str] | None, as_json: bool, **given: Any) -> None:
    """Try all algorithms on the same rows, in one table: training error, test error, margin, updates, time.

    The winner has the smallest test error; among equals the smaller training error, then the shorter time, decides. Whether
    the second best is really worse is said with the test of McNemar on the rows that only one of them gets right.

    \b
    Examples:
      rosenblatt compare spambase.data
      rosenblatt compare a9a --test a9a.t --algorithms average,pa-1,soft-margin
    """
    from ..training.request import Request

    options = options_of(given)
    run(Request(data=data, options=options, **given), algorithms, as_json)


# --- What `compare` prints.

# Columns of a terminal from which on intervals have room.
WIDE = 100


def run(request: Request, names: list[str] | None, as_json: bool) -> None:
    from ..training.compare import choose_algorithms, choose_winner, compare, prepare_comparison

    prepared = prepare_comparison(request)
    names, late = choose_algorithms(prepared, names)
    if not as_json:
        for sentence in prepared.notes:
            note(sentence)
        if late:
            note(f"left out, as they look at all rows before every update: {', '.join(late)}; --algorithms asks for them")
    with bar("comparing") as watch:
        entries = list(compare(request, prepared, names, lambda name: watch))
    verdict = choose_winner(entries)
    winner, why = verdict.winner, verdict.sentence
    if as_json:
        told = {"entries": [entry.to_dict() for entry in entries], "winner": winner and winner.algorithm, "why": why}
        print_json(told)
        return
    console = out()
    console.print(table_of(entries, winner, console.width))
    for sentence in failures(entries):
        console.print(f"   {sentence}", style="dim", markup=False, soft_wrap=True)
    console.print(f"\n{why}", markup=False, soft_wrap=True)


def table_of(entries: list[Entry], winner: Entry | None, width: int = 120) -> Any:
    """The best first; those that failed are not in it. Narrow terminals get no intervals."""

    from rich.table import Table
    from rich.text import Text

    from ..training.compare import best_marks

    wide = width >= WIDE
    columns = [
        "",
        "algorithm",
        "training",
        "test",
        *(["95 % interval"] if wide else []),
        "margin",
        "updates",
        "time",
        "stopped",
    ]
    table = Table(*columns, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[2:-1]:
        column.justify = "right"
    marks = best_marks(entries)

    def cell(text: str, best: bool = False) -> Text:
        return Text(text, style="bold green" if best else "")

    for entry in sorted((entry for entry in entries if entry.train is not None), key=lambda entry: entry.rank_key):
        assert entry.train is not None
        margin = "" if entry.margin is None else f"{entry.margin:.3g}" if entry.margin > 0.0 else "none"
        cells = [
            cell("*" if entry is winner else "", True),
            cell(entry.algorithm, entry is winner),
            cell(f"{entry.train.error:.2%}", entry.train.errors == marks["train"]),
            cell(""),
            cell(margin, entry.margin is not None and 0.0 < entry.margin == marks["margin"]),
            cell(f"{entry.updates:,}" if entry.updates else ""),
            cell(f"{entry.seconds:.3f} s"),
            cell(entry.stop),
        ]
        if entry.test is not None:
            low, high = entry.test.interval
            cells[3] = cell(f"{entry.test.error:.2%}", entry.test.errors == marks["test"])
            cells[4:4] = [cell(f"{low:.1%} - {high:.1%}")] if wide else []
        elif wide:
            cells[4:4] = [cell("")]
        table.add_row(*cells)
    return table


def failures(entries: list[Entry]) -> list[str]:
    return [f"{entry.algorithm}: {entry.failed}" for entry in entries if entry.failed]
