"""What `compare` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..training.compare import Entry, best_marks, chosen, compare, prepared_for, verdict
from .console import bar, note, out, print_json

if TYPE_CHECKING:
    from ..training.request import Request

# Columns of a terminal from which on intervals have room.
WIDE = 100


def run(request: Request, names: list[str] | None, as_json: bool) -> None:
    prepared = prepared_for(request)
    names, late = chosen(prepared, names)
    if not as_json:
        for sentence in prepared.notes:
            note(sentence)
        if late:
            note(f"left out, as they look at all rows before every update: {', '.join(late)}; --algorithms asks for them")
    with bar("comparing") as watch:
        entries = list(compare(request, prepared, names, lambda name: watch))
    winner, why = verdict(entries)
    if as_json:
        told = {"entries": [entry.to_dict() for entry in entries], "winner": winner and winner.algorithm, "why": why}
        print_json(told)
        return
    console = out()
    console.print(table_of(entries, winner, console.width))
    for sentence in failures(entries):
        console.print(f"   {sentence}", style="dim", markup=False, soft_wrap=True)
    console.print(f"\n{why}.", markup=False, soft_wrap=True)


def table_of(entries: list[Entry], winner: Entry | None, width: int = 120) -> Any:
    """The best first; those that failed are not in it. Narrow terminals get no intervals."""
    from rich.table import Table
    from rich.text import Text

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

    for entry in sorted((entry for entry in entries if entry.train is not None), key=lambda entry: entry.merit):
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
