"""`rosenblatt compare`: all algorithms on one file, in one table."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from .options import (
    AlgorithmName,
    NumberOrWord,
    WholeNumber,
    about_training_data,
    as_json,
    data_argument,
    options_of,
    seed,
    text_features,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ..training.compare import Entry
    from ..training.verdict import Verdict

# Terminal width from which on the table shows intervals.
WIDE_COLUMNS = 100
TYPED = "rosenblatt.compare.typed"  # the arguments, in the context of the command


def _parse_algorithms(ctx: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    names = list(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    if not names:
        raise click.BadParameter("name at least one algorithm")
    return [AlgorithmName().convert(name, parameter, ctx) for name in names]


class _Command(click.Command):
    """A command that remembers what was typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[TYPED] = tuple(args)
        return super().parse_args(ctx, args)


@click.command("compare", cls=_Command)
@data_argument
@click.option("--algorithms", callback=_parse_algorithms, metavar="NAME,NAME", help="Algorithms to compare.  [default: all]")
@click.option("--degree", type=WholeNumber(1, 20), default=1, show_default=True, help="Degree of polynomial features.")
@click.option("--scale", type=click.Choice(["auto", "none", "max", "standard"]), default="auto", show_default=True,
              help="Scaling of features; auto: standard (mean 0, deviation 1).")  # fmt: skip
@text_features
@click.option("--cv", type=WholeNumber(2), metavar="K", help="Folds of the cross-validation.  [default: 10; of large files 5]")
@click.option("--test", metavar="FILE", help="Test on this file instead of folds.")
@click.option("--holdout", type=NumberOrWord(float), metavar="SHARE",
              help="Test on this share of the rows instead of folds; 0: count training errors alone.")  # fmt: skip
@about_training_data
@seed
@as_json
def command(data: str, algorithms: list[str] | None, as_json: bool, **given: Any) -> None:
    """Compare all algorithms on the same rows by cross-validation: error, difference from the best, margin, updates, time.

    The best algorithm has the fewest errors on rows it was not trained on; ties are broken by training error, then by time. The
    intervals of the differences are corrected for the number of algorithms, and with folds for the choice of the training rows.
    The last line trains the winner.

    \b
    Examples:
      rosenblatt compare spambase.data
      rosenblatt compare a9a --test a9a.t --algorithms average,pa-1,soft-margin
    """
    from ..training.compare import choose_algorithms, compare, prepare_comparison
    from ..training.request import Request
    from ..training.verdict import choose_winner, judge_winner
    from .console import bar, note, out, print_json

    request = Request(data=data, options=options_of(given), **given)
    rows = prepare_comparison(request)
    names, skipped = choose_algorithms(rows, algorithms)
    if not as_json:
        for sentence in rows.whole.notes:
            note(sentence)
        if skipped:
            note(f"skipped, because every update takes a full scan: {', '.join(skipped)} (include with --algorithms)")
    with bar("comparing") as watch:
        entries = list(compare(request, rows, names, lambda name: watch))
    verdict = choose_winner(entries, rows.fold)
    judgment = judge_winner(rows, verdict.winner)
    train = None if verdict.winner is None else training_command(data, verdict.winner.algorithm)
    if as_json:
        listed = [entry.to_dict() for entry in entries]
        judged = {} if judgment is None else judgment.to_dict()
        noticed = {"notes": list(rows.whole.notes), "findings": [finding.to_dict() for finding in rows.findings]}
        print_json({**noticed, "entries": listed, **verdict.to_dict(), "command": train, **judged})
        return
    console = out()
    console.print(comparison_table(entries, verdict, len(rows.folds), console.width))
    for entry in entries:
        if entry.failed:
            console.print(f"   {entry.algorithm}: {entry.failed}", style="dim", soft_wrap=True)
    console.print(f"\n{verdict.sentence}", soft_wrap=True)
    for sentence in verdict.remarks:
        console.print(sentence, soft_wrap=True)
    if judgment is not None:
        console.print(f"baseline: {judgment.baseline_text}", soft_wrap=True)
        for sentence in judgment.warnings:
            console.print(f"warning: {sentence}", soft_wrap=True)
    if train is not None:
        console.print(f"train it: {train}", soft_wrap=True, markup=False)


def training_command(data: str, algorithm: str) -> str:
    """The command that trains an algorithm as it was compared, with the options as they were typed."""
    context = click.get_current_context()
    given, _, order = context.command.make_parser(context).parse_args(list(context.meta[TYPED]))
    words = ["rosenblatt", "train", data if data == "-" or data[:1] != "-" else f"./{data}", "--algorithm", algorithm]
    for parameter in dict.fromkeys(order):
        name = parameter.name or ""
        if name in ("algorithms", "as_json") or not isinstance(parameter, click.Option):
            continue
        value = given[name]
        if parameter.is_flag:
            words.append(parameter.opts[0] if value else parameter.secondary_opts[0])
            continue
        for each in value if isinstance(value, list) else (value,):
            words += [parameter.opts[0], each]
    return shlex.join(words)


def comparison_table(entries: list[Entry], verdict: Verdict, folds: int = 0, width: int = 120) -> Table:
    """Return the table of a comparison, best first, without failed algorithms; narrow terminals get no intervals."""
    from rich.table import Table

    from ..training.verdict import best_marks

    wide = width >= WIDE_COLUMNS
    interval = ["95 % interval"] if wide else []
    tested = f"{folds} folds" if folds else "test"
    columns = ["", "algorithm", tested, "difference", *interval, "training", "margin", "updates", "time", "stopped"]
    table = Table(*columns, box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[2:-1]:
        column.justify = "right"
    marks = best_marks(entries)
    for entry in sorted((entry for entry in entries if entry.train is not None), key=lambda entry: entry.rank_key):
        table.add_row(*_cells(entry, verdict, marks, wide))
    return table


def _cells(entry: Entry, verdict: Verdict, marks: dict[str, Any], wide: bool) -> list[Text]:
    """The cells of one algorithm; the best value of each column is emphasized."""
    from rich.text import Text

    from ..reporting.text import count, duration, fixed, percent, short

    def points(share: float) -> str:
        return fixed(100.0 * share, 2, signed=True)

    def cell(text: str, emphasized: bool = False) -> Text:
        return Text(text, style="bold green" if emphasized else "")

    train, test, margin, best = entry.train, entry.test, entry.margin, entry is verdict.winner
    assert train is not None
    behind = verdict.differences.get(entry.algorithm)
    cells = [
        cell("*" if best else "", True),
        cell(entry.algorithm, best),
        cell("") if test is None else cell(percent(test.error, decimals=2), test.errors == marks["test"]),
        cell("" if behind is None else points(behind.share)),
    ]
    if wide:
        cells.append(cell("" if behind is None else f"{points(behind.low)} to {points(behind.high)}"))
    return [
        *cells,
        cell(percent(train.error, decimals=2), train.errors == marks["train"]),
        cell(
            "" if margin is None else short(margin) if margin > 0.0 else "none",
            margin is not None and 0.0 < margin == marks["margin"],
        ),
        cell(count(entry.updates) if entry.updates else ""),
        cell(duration(entry.seconds)),
        cell(entry.stop),
    ]
