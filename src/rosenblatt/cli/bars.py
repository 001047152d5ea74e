"""A table of contributions with a bar of + or - for each, as explanations print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..reporting.text import fixed
from .console import out

if TYPE_CHECKING:
    from rich.table import Table

MIN_BAR_COLUMNS, MAX_BAR_COLUMNS = 3, 30
OTHER_COLUMNS = 13  # width of a line without its name and its bar


def contribution_table(
    title: str,
    rows: list[tuple[str, float]],
    rest: list[tuple[str, float]],
    styles: tuple[str, str] = ("red", "green"),
    decimals: int = 4,
) -> Table:
    """Names with their contributions and bars, then those without a bar; `styles` are those of + and -."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(title, "weight", "", box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.columns[1].justify = "right"
    largest = max((abs(weight) for _, weight in rows), default=0.0) or 1.0
    room = out().width - max((cell_len(name) for name in (title, *(name for name, _ in rows))), default=0) - OTHER_COLUMNS
    for name, weight in rows:
        size = max(int(weight != 0.0), round(min(max(room, MIN_BAR_COLUMNS), MAX_BAR_COLUMNS) * abs(weight) / largest))
        sign = weight > 0
        bar = Text(("+" if sign else "-") * size, style=styles[0] if sign else styles[1])
        table.add_row(Text(name), fixed(weight, decimals, signed=True), bar)
    for name, weight in rest:
        table.add_row(Text(name, style="dim"), fixed(round(weight, decimals) + 0.0, decimals, signed=True), "")
    return table
